"""Report of a certificate, as text for a terminal or paper and as HTML for a notebook."""

import html
import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from mlcore.estimator.tables import table, text

_WIDTH = 92
_PLACES = Decimal("0.00001")
_CLASSES = 20  # largest number shown
_IID = (
    "Examples are independent draws from the distribution on which the error counts: no time "
    "series, no groups, no sample weights."
)
_NO_GUARANTEE = "Cross-validation, too, has no general bound at 1 - delta."


def in_words(certificate: Any) -> str:
    """Return the guarantee in a few sentences."""
    best = certificate.best
    words = "" if certificate.unsure is None else f"{certificate.unsure} "
    words += (
        f"{certificate.estimator}: {_confidence(certificate)} the true {_what(certificate)} is at "
        f"most {rounded(best)} ({best.name}; {_seen(certificate)})."
    )
    if best.vacuous:
        words += " That is no information."
    elif best.trivial:
        words += " That is no better than a coin."
    if not certificate.simultaneous:
        words += (
            f" It is the smallest of {len(certificate.bounds)}, chosen after the fact, and so not "
            "a statement at that confidence."
        )
    return words


def as_text(certificate: Any) -> str:
    """Return the report: a table of bounds, their assumptions, and estimates without guarantee."""
    lines = _wrapped(in_words(certificate)) + [""]
    lines.append(f"{'bound':<44}{'at most':>10}{'delta':>12}  on")
    for i, bound in enumerate(certificate.bounds, 1):
        flag = ", vacuous" if bound.vacuous else ", trivial" if bound.trivial else ""
        line = f"[{i}] {bound.name}"
        lines.append(f"{line:<44}{rounded(bound):>10}{bound.delta:>12.3g}  {bound.sample}{flag}")
    for sentence in _notes(certificate):
        lines += _wrapped(sentence)
    if certificate.metrics:
        lines += ["", text(_metric_columns(certificate)), *_wrapped(_of_metrics(certificate))]
    lines += _per_class(certificate)
    lines += ["", "Assumptions", *_wrapped(_IID, "  all: ")]
    for i, bound in enumerate(certificate.bounds, 1):
        lines += _wrapped(" ".join((*bound.assumptions, bound.reference)), f"  [{i}] ")
    if certificate.heuristics:
        lines += ["", "Not guarantees"]
        for bound in certificate.heuristics:
            lines += _wrapped(_heuristic(bound), "  - ")
        lines += _wrapped(_NO_GUARANTEE, "  - ")
    if certificate.left_out:
        lines += ["", "Left out"]
        for sentence in certificate.left_out:
            lines += _wrapped(sentence, "  - ")
    return "\n".join(lines)


def as_html(certificate: Any) -> str:
    """Return the report as HTML, every string escaped."""
    rows = []
    for bound in certificate.bounds:
        flag = " (vacuous)" if bound.vacuous else " (trivial)" if bound.trivial else ""
        why = " ".join((*bound.assumptions, bound.reference))
        rows.append((bound.name + flag, rounded(bound), f"{bound.delta:.3g}", bound.sample, why))
    head = ("bound", "at most", "delta", "on", "assumes")
    parts = [
        f"<p>{html.escape(in_words(certificate))}</p>",
        table({name: [row[place] for row in rows] for place, name in enumerate(head)}),
        *(f"<p>{html.escape(sentence)}</p>" for sentence in (*_notes(certificate), _IID)),
    ]
    if certificate.metrics:
        parts.append(table(_metric_columns(certificate)))
        parts.append(f"<p>{html.escape(_of_metrics(certificate))}</p>")
    if certificate.classes:
        rates = html.escape("\n".join(_per_class(certificate)[1:]))
        parts.append(f"<pre>{rates}</pre>")
    heuristics = [_heuristic(bound) for bound in certificate.heuristics]
    if heuristics:
        heuristics.append(_NO_GUARANTEE)
    for title, sentences in (("Not guarantees", heuristics), ("Left out", certificate.left_out)):
        if sentences:
            entries = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
            parts.append(f"<p>{title}</p><ul>{entries}</ul>")
    return "<div>" + "".join(parts) + "</div>"


def rounded(bound: Any) -> str:
    """Return the value of a bound to five places, rounded to the safe side."""
    return to_safe_side(float(bound), down=bound.kind == "lower")


def to_safe_side(value: float, *, down: bool) -> str:
    """Return a number to five places, rounded down or up."""
    value = Decimal(value)
    rounding = ROUND_FLOOR if down else ROUND_CEILING
    # Above a billion the float itself has few decimals, if any.
    return f"{value.quantize(_PLACES, rounding=rounding):f}" if abs(value) < 10**9 else f"{value}"


def _metric_columns(certificate):
    """Return the intervals of metrics by the headings of their table, rounded outwards."""
    rows = certificate.metrics
    columns = {"metric": [row.name for row in rows]}
    if any(row.label is not None for row in rows):
        labels = ["" if row.label is None else str(row.label) for row in rows]
        columns["class"] = [name if len(name) <= 25 else name[:22] + "..." for name in labels]
    estimates = ["" if row.estimate is None else f"{row.estimate:.5f}" for row in rows]
    return columns | {
        "observed": estimates,
        "at least": [to_safe_side(row.lower, down=True) for row in rows],
        "at most": [to_safe_side(row.upper, down=False) for row in rows],
        "from": [row.m for row in rows],
    }


def _of_metrics(certificate):
    held = 1 - certificate.delta
    references = dict.fromkeys(row.reference for row in certificate.metrics)
    return (
        f"Instead of all other bounds: these hold together with probability at least {held:.6g}, "
        f"each at delta = {certificate.metrics[0].delta:.3g}. " + " ".join(references)
    )


def _per_class(certificate):
    """Return a table of the classes, if they are many only of those with the lowest recall."""
    if not certificate.classes:
        return []
    shown = certificate.classes
    if len(shown) > _CLASSES:
        shown = sorted(shown, key=lambda rates: rates.recall)[:_CLASSES]
    lines = ["", f"{'class':<26}{'right':>8}{'of':>8}{'recall':>10}{'error':>10}{'named':>8}"
             f"{'precision':>11}"]  # fmt: skip
    lines.append(f"{'':<42}{'at least':>10}{'at most':>10}{'':>8}{'at least':>11}")
    for rates in shown:
        label = str(rates.label)
        label = label if len(label) <= 25 else label[:22] + "..."
        lines.append(
            f"{label:<26}{rates.right:>8}{rates.examples:>8}"
            f"{to_safe_side(rates.recall, down=True):>10}"
            f"{to_safe_side(rates.error, down=False):>10}"
            f"{rates.predicted:>8}{to_safe_side(rates.precision, down=True):>11}"
        )
    if len(shown) < len(certificate.classes):
        lines.append(f"and {len(certificate.classes) - len(shown)} classes of higher recall")
    held = 1 - certificate.delta
    return lines + _wrapped(
        f"Instead of the bounds above: these hold together with probability at least {held:.6g}. "
        "Given the labels, the right ones of a class are binomial, and given the predictions those "
        "of a label; each half of delta is shared by the classes (Clopper, Pearson, 1934)."
    )


def _notes(certificate):
    # Say which deltas the lines hold at.
    if certificate.n_candidates > 1:
        yield (
            f"delta is {certificate.delta:g} over {certificate.n_candidates} candidates: each is "
            f"charged {certificate.delta / certificate.n_candidates:.3g}."
        )
    if certificate.simultaneous:
        yield f"All lines hold together with probability at least {1 - certificate.delta:.6g}."
    else:
        yield (
            "Each line holds at its own delta, but not all together: the smallest of them is not a "
            f"statement at confidence {1 - certificate.delta:.6g}."
        )
    # Add the interval and the sample size for a target.
    if certificate.interval is not None:
        lower, upper = certificate.interval
        yield (
            f"Instead of these, from below and above at once: {rounded(lower)} to "
            f"{rounded(upper)}, each end at delta = {lower.delta:.3g}."
        )
    if certificate.target is not None:
        target = certificate.target
        persisting = certificate.required(target)
        yield (
            f"For a binomial bound of {target:g}: "
            + (
                "no number of fresh examples suffices while the observed error rate persists"
                if persisting == float("inf")
                else f"{persisting} fresh examples if the observed error rate persists"
            )
            + f", {certificate.required(target, error_rate=0)} without errors."
        )


def _heuristic(bound):
    return f"{bound.name}: {float(bound):.5f}. {' '.join(bound.assumptions)} {bound.reference}"


def _confidence(certificate):
    if certificate.simultaneous:
        return f"with probability at least {1 - certificate.delta:.6g}"
    return f"by a bound that alone would hold with probability {1 - certificate.best.delta:.6g}"


def _what(certificate):
    if "rejected" in certificate.inputs:
        return "error where it answers"
    return "error" if "k" in certificate.inputs else "expected loss"


def _seen(certificate):
    inputs = certificate.inputs
    kind = {"test": "fresh", "validation": "validation", "train": "training"}[certificate.role]
    if "k" in inputs:
        plural = "" if inputs["k"] == 1 else "s"
        of = f", of {inputs['m'] + inputs['rejected']}" if "rejected" in inputs else ""
        return f"{inputs['k']} error{plural} on {inputs['m']} {kind} examples{of}"
    return f"mean loss {inputs['mean_loss']:.6g} on {inputs['m']} {kind} examples"


def for_terminal(*paragraphs: str) -> str:
    """Return paragraphs wrapped to the width of a terminal."""
    return "\n".join(line for text in paragraphs for line in _wrapped(text))


def _wrapped(text, first=""):
    return textwrap.wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
    )
