"""Tables of results: as text, as HTML for notebooks, and as frames of pandas."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["frame", "table", "text"]


def search_table(search: Any) -> str:
    """Return the candidates of a search, and means and deviations of their scores, as HTML."""
    results = getattr(search, "cv_results_", {})
    columns = {
        name: values.tolist()
        for name, values in results.items()
        if name.startswith(("param_", "mean_test_", "std_test_"))
    }
    return table(columns, title=repr(search), best=getattr(search, "best_index_", None))


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


def text(
    columns: Mapping[str, Sequence[Any]], *, best: int | None = None, most: int | None = None
) -> str:
    """Return columns of one length, by their headings, as lines with a mark at row `best`.

    Fractions have six digits; of more than `most` rows the first are shown.
    """
    n_rows = len(next(iter(columns.values()), ()))
    if most is not None and n_rows > most:
        head = text({name: column[:most] for name, column in columns.items()})
        return f"{head}\n... and {n_rows - most} more rows: see to_frame()"
    cells = [
        [name, *(f"{value:.6g}" if isinstance(value, float) else str(value) for value in column)]
        for name, column in columns.items()
    ]
    widths = [max(map(len, column)) + 2 for column in cells]
    lines = [
        "".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in zip(*cells, strict=True)
    ]
    if best is not None:
        lines[best + 1] += " <- best"
    return "\n".join(lines)


def frame(columns: Mapping[str, Sequence[Any]], *, index: str) -> Any:
    """Return columns of one length as a pandas DataFrame, with column `index` as its index."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame() returns a frame of pandas, which cannot be imported: "
            "python -m pip install pandas."
        ) from error
    return pd.DataFrame(dict(columns)).set_index(index)


def _shown(value):
    return f"{value:.5g}" if isinstance(value, float) else str(value)
