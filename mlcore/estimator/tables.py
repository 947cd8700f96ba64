"""Tables for notebooks: what certificates, selections and searches show of themselves."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["table"]


def table(columns: Mapping[str, Sequence[Any]], *, title: str = "", best: int | None = None) -> str:
    """Return columns of one length, by their headings, as HTML, every string escaped.

    Fractions have five digits; `title` is shown above, as it is, and row `best` in bold.
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = ""
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        cells = "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row)
        style = ' style="font-weight: bold"' if number == best else ""
        body += f"<tr{style}>{cells}</tr>"
    above = f"<pre>{html.escape(title)}</pre>" if title else ""
    if not columns:
        return above
    return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value):
    return f"{value:.5g}" if isinstance(value, float) else str(value)
