"""Reports: several statements that hold at once, from one probability of failure."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_delta, as_positive, as_reals, is_single, refuse
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.certificates.certificate import Bound, Certificate
from mlcore.bounds.certificates.report import for_terminal, to_safe_side
from mlcore.bounds.held_out import clopper_pearson
from mlcore.bounds.metrics.metric_intervals import auc_interval, f1_interval, pairs_won
from mlcore.checks import as_labels
from mlcore.checks.arrays import plain_array
from mlcore.estimator.tables import frame, table, text
from mlcore.estimator.verification import Verification

_KINDS = (
    "a function of delta or a pair (estimate, function of delta); a conformal threshold; or a "
    "Verification, which is certain"
)


@dataclass(frozen=True)
class Statement:
    """One line of a `Report`: a number is between two ends.

    Parameters
    ----------
    name : str
        Name of the number.
    lower, upper : float
        Ends; one of them may be that of all possible numbers, or infinite.
    delta : float
        Probability that it is outside, 0 for what is certain.
    estimate : float or None
        Value on the examples, if it is known.
    unsure : str or None
        Doubts of a certificate or comparison whether its examples are fresh.

    Examples
    --------
    >>> from mlcore.bounds import f1_interval, report
    >>> found = report({"F1": lambda delta: f1_interval(80, 10, 10, delta)})
    >>> statement = found["F1"]
    >>> round(statement.lower, 5), round(statement.upper, 5), statement.delta
    (0.82915, 0.93239, 0.05)
    >>> print(statement)
    F1: 0.82914 to 0.93240
    """

    name: str
    lower: float
    upper: float
    delta: float
    estimate: float | None = None
    unsure: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {_end(self.lower, down=True)} to {_end(self.upper, down=False)}"


@dataclass(frozen=True)
class Report:
    """Statements that all hold together, made by `report`.

    Parameters
    ----------
    delta : float
        Probability that any of them fails, at least the sum of theirs.
    statements : tuple of Statement
        In the order in which they were given. ``report["AUC"]`` is one of them.

    Examples
    --------
    >>> from mlcore.bounds import classification_statements, report
    >>> y, predicted = [0, 1] * 50, [0, 1] * 45 + [1, 0] * 5
    >>> report(classification_statements(y, predicted), delta=0.1)
      statement  observed  at least  at most  delta
          error       0.1   0.04383  0.18778  0.025
         recall       0.9   0.76396  0.97218  0.025
      precision       0.9   0.76396  0.97218  0.025
             F1       0.9   0.80421  0.95758  0.025
    With probability at least 0.9 all statements hold together, whatever they have in common (a
    union bound). Each assumes what its function does: in general examples that are independent
    and took no part in fitting or choosing.
    """

    delta: float
    statements: tuple[Statement, ...]

    def __getitem__(self, name: str) -> Statement:
        for statement in self.statements:
            if statement.name == name:
                return statement
        raise KeyError(name)

    def summary(self) -> str:
        """Return the guarantee in a few sentences.

        Returns
        -------
        text : str
            Plain sentences.
        """
        doubts = (f"{s.name}: {s.unsure} " for s in self.statements if s.unsure)
        words = "".join(doubts) + (
            f"With probability at least {1 - self.delta:.6g} all statements hold together, "
            "whatever they have in common (a union bound)."
        )
        certain = [s.name for s in self.statements if s.delta == 0]
        if certain:
            words += f" Certain, without examples: {', '.join(certain)}."
        if len(certain) < len(self.statements):
            words += (
                f" Each{' of the others' if certain else ''} assumes what its function does: in "
                "general examples that are independent and took no part in fitting or choosing."
            )
        return words

    def __repr__(self) -> str:
        return text(self._columns()) + "\n" + for_terminal(self.summary())

    def _repr_html_(self) -> str:
        return table(self._columns(), title=for_terminal(self.summary()))

    def to_frame(self) -> Any:
        """Return the statements as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            Columns "estimate", "lower", "upper" and "delta", indexed by the names.
        """
        rows = self.statements
        columns = {
            "statement": [s.name for s in rows],
            "estimate": [math.nan if s.estimate is None else s.estimate for s in rows],
            "lower": [s.lower for s in rows],
            "upper": [s.upper for s in rows],
            "delta": [s.delta for s in rows],
        }
        return frame(columns, index="statement")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings, as JSON takes them.

        Returns
        -------
        plain : dict
            By the names of the attributes.
        """
        return {"delta": self.delta, "statements": [asdict(s) for s in self.statements]}

    def _columns(self):
        rows = self.statements
        return {
            "statement": [s.name for s in rows],
            "observed": ["" if s.estimate is None else f"{s.estimate:.6g}" for s in rows],
            "at least": [_end(s.lower, down=True) for s in rows],
            "at most": [_end(s.upper, down=False) for s in rows],
            "delta": [f"{s.delta:.3g}" for s in rows],
        }


def report(
    statements: Mapping[str, Any],
    *,
    delta: float = 0.05,
    shares: Mapping[str, float] | None = None,
) -> Report:
    r"""Make several statements with one probability of failure, shared as you say.

    Each statement is computed at its share of :math:`\delta`, so that all hold together with
    probability at least :math:`1 - \delta`, whatever they have in common: one may read the whole
    report and quote any line.

    Parameters
    ----------
    statements : mapping of str to object
        By name, in the order of the report: a function of delta, such as
        ``lambda delta: f1_interval(80, 10, 10, delta)``; a pair (value on the examples, such a
        function); conformal sets, intervals or thresholds, whose groups divide the share; or what
        ``verify`` of a fitted model returns, whose duality gap is certain. A function returns
        (lower, upper), or a `Bound`, `Certificate` or `Comparison`, which must not use more than it
        was given.
        `classification_statements` makes those of a classifier.
    delta : float in (0, 1), default=0.05
        Probability that any statement fails.
    shares : mapping of str to float, optional
        Parts of `delta` by name, positive, of any sum; equal by default.

    Returns
    -------
    report : Report
        Prints as a table.

    Raises
    ------
    ValueError
        For arguments out of range, shares of other names, and statements that are none.

    References
    ----------
    C. E. Bonferroni, *Teoria statistica delle classi e calcolo delle probabilita*, 1936.

    Examples
    --------
    >>> from functools import partial
    >>> from mlcore.bounds import clopper_pearson, mean_loss_interval, report
    >>> losses = [0.0, 0.1, 0.2, 0.1] * 100
    >>> found = report(
    ...     {
    ...         "error": (30 / 1000, partial(clopper_pearson, 30, 1000)),
    ...         "mean loss": (0.1, partial(mean_loss_interval, losses)),
    ...     },
    ...     shares={"error": 4, "mean loss": 1},
    ... )
    >>> [(s.name, s.delta, round(s.upper, 4)) for s in found.statements]
    [('error', 0.04, 0.0432), ('mean loss', 0.01, 0.1374)]
    """
    delta = as_delta(delta)
    if not isinstance(statements, Mapping) or not statements:
        refuse("statements", statements, "a mapping of at least one name to a statement")
    for name in statements:
        if not isinstance(name, str):
            refuse("statements", name, "a mapping whose keys are names")
    uncertain = [name for name, given in statements.items() if not isinstance(given, Verification)]
    parts = _divided(delta, uncertain, shares)
    found = tuple(
        _stated(name, given, parts[name]) if name in parts else _certain(name, given)
        for name, given in statements.items()
    )
    warn_of_confidence(delta)
    return Report(delta, found)


def classification_statements(
    y: Any, predicted: Any, *, scores: Any = None, positive: Any = None
) -> dict[str, Any]:
    """Return the statements on a classifier's predictions of fresh examples, for `report`.

    They are "error"; for two classes or a given `positive` one also "recall", "precision" and "F1",
    and with scores "AUC". All but the AUC are exact: see `clopper_pearson` and `f1_interval`, and
    `auc_interval`.

    Parameters
    ----------
    y, predicted : array-like of shape (m,)
        True and predicted labels of examples that took no part in fitting or choosing.
    scores : array-like of shape (m,), optional
        Scores, larger for the positive class.
    positive : label, optional
        The class of recall, precision, F1 and AUC; by default the greater of two.

    Returns
    -------
    statements : dict of str to (estimate, function of delta)
        To be merged with others by ``|``. An estimate is None where it has no meaning, and its
        interval is then from 0 to 1.

    Raises
    ------
    ValueError
        For labels of other lengths or types, a `positive` class that is none, and scores without
        examples of both classes.

    Examples
    --------
    >>> from mlcore.bounds import classification_statements, report
    >>> y, scores = [0, 0, 0, 1, 1] * 40, [0.1, 0.2, 0.6, 0.4, 0.9] * 40
    >>> statements = classification_statements(y, [s > 0.5 for s in scores], scores=scores)
    >>> [(s.name, round(s.lower, 2)) for s in report(statements).statements]
    [('error', 0.31), ('recall', 0.35), ('precision', 0.35), ('F1', 0.37), ('AUC', 0.67)]
    """
    shape = plain_array(y, "y").shape
    m = shape[0] if shape else 0
    if m == 0:
        refuse("y", y, "the true labels of at least one example")
    (own, codes), (others, guess_codes) = (
        as_labels(given, m, name=name) for given, name in ((y, "y"), (predicted, "predicted"))
    )
    try:
        classes = sorted({*own.tolist(), *others.tolist()})
    except TypeError:
        refuse("predicted", predicted, "labels of the type of y")
    labels, guesses = own[codes], others[guess_codes]
    statements: dict[str, Any] = {"error": _rate(int((labels != guesses).sum()), m)}
    # The positive class.
    if positive is None and len(classes) != 2:
        if scores is not None:
            refuse("positive", positive, f"one of the {len(classes)} classes, for the AUC")
        return statements
    if positive is None:
        positive = classes[1]
    elif not is_single(positive) or positive not in classes:
        refuse("positive", positive, "one of the classes of y or of the predictions")
    truth, named = labels == positive, guesses == positive
    hits = int((truth & named).sum())
    missed, false = int(truth.sum()) - hits, int(named.sum()) - hits
    statements["recall"] = _rate(hits, hits + missed)
    statements["precision"] = _rate(hits, hits + false)
    any_positive = 2 * hits + missed + false
    statements["F1"] = (
        2 * hits / any_positive if any_positive else None,
        partial(f1_interval, hits, false, missed),
    )
    if scores is not None:
        scores = as_reals(scores, "scores")
        if scores.shape != (m,):
            refuse("scores", f"of shape {scores.shape}", f"one for each of {m} examples")
        if not 0 < truth.sum() < m:
            refuse("y", y, "of examples of both classes, without which the AUC has no meaning")
        high, low = scores[truth], scores[~truth]
        won, pairs = pairs_won(high, low)
        statements["AUC"] = (won / pairs, partial(auc_interval, high, low))
    return statements


def _rate(k, m):
    if m == 0:
        return None, lambda delta: (0.0, 1.0)
    return k / m, partial(clopper_pearson, k, m)


def _divided(delta, names, shares):
    """Return the part of each name; their exact sum is at most delta."""
    if shares is None:
        weights = dict.fromkeys(names, Fraction(1))
    else:
        if not isinstance(shares, Mapping):
            refuse("shares", shares, "a mapping of the names of statements to positive numbers")
        if set(shares) != set(names):
            wanted = ", ".join(map(repr, names))
            refuse("shares", list(shares), f"of the names that need a share: {wanted}")
        weights = {name: Fraction(as_positive(shares[name], f"shares[{name!r}]")) for name in names}
    total = sum(weights.values())
    parts = {}
    for name, weight in weights.items():
        exact = Fraction(delta) * weight / total
        parts[name] = float(exact)
        if Fraction(parts[name]) > exact:
            parts[name] = math.nextafter(parts[name], 0)
        if parts[name] <= 0:
            refuse(f"shares[{name!r}]", float(weight), "a larger part: its delta is below 5e-324")
    return parts


def _stated(name, given, part):
    """Return the statement that a function, or what has a guarantee, makes at its share."""
    estimate = unsure = None
    if isinstance(given, tuple) and len(given) == 2 and callable(given[1]):
        estimate, given = given
        if estimate is not None:
            estimate = float(as_reals(estimate, f"statements[{name!r}][0]"))
    threshold = getattr(given, "threshold", given)
    if callable(getattr(threshold, "guarantee", None)):
        groups = len(threshold.guarantee(part))
        ends = float(threshold.guarantee(part / groups * (1 - 2.0**-52)).min()), 1.0
    elif callable(given) and not isinstance(given, type):
        result = given(part)
        ends, own = _ends(name, result, part)
        unsure = getattr(result, "unsure", None)
        estimate = own if estimate is None else estimate
    else:
        refuse(f"statements[{name!r}]", given, _KINDS)
    return Statement(name, *ends, part, estimate, unsure)


def _ends(name, result, part):
    """Return the two ends of a result, and its estimate if it has one."""
    where, estimate = f"statements[{name!r}]", None
    charged = getattr(result, "delta", part)
    if charged is None or charged > part:
        refuse(where, result, f"charged at most its share, {part:.6g}: pass it the delta it gets")
    if isinstance(result, Bound):
        low, high = result.inputs.get("value_range", (0.0, 1.0))
        if result.kind not in ("upper", "lower"):
            refuse(
                where, result.kind, 'a Bound of kind "upper" or "lower": others are no guarantee'
            )
        pair = (result.value, high) if result.kind == "lower" else (low, result.value)
    elif isinstance(result, Certificate):
        if result.interval is not None:
            pair = tuple(map(float, result.interval))
        elif result.simultaneous:
            pair = result.best.inputs.get("value_range", (0.0,))[0], result.best.value
        else:
            refuse(where, "a Certificate", "made with simultaneous=True")
        if "k" in result.inputs:
            estimate = result.inputs["k"] / result.inputs["m"]
        else:
            estimate = result.inputs.get("mean_loss")
    elif hasattr(result, "lower") and hasattr(result, "upper"):
        pair, estimate = (result.lower, result.upper), getattr(result, "difference", None)
    else:
        pair = result
    allowed = "a function whose result is a pair (lower, upper), lower <= upper"
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        refuse(where, result, allowed)
    lower, upper = (as_reals(end, f"{where} at delta", allow_inf=True) for end in pair)
    if lower.ndim or upper.ndim or lower > upper:
        refuse(where, result, allowed)
    return (float(lower), float(upper)), estimate


def _certain(name, verification):
    gap = float(np.max(verification.duality_gap))
    if math.isnan(gap):
        refuse(f"statements[{name!r}]", verification, "of a duality gap that is a number")
    return Statement(name, min(0.0, gap), gap, 0.0)


def _end(value, *, down):
    if value == 0 or 1e-4 <= abs(value) < math.inf:
        return to_safe_side(value, down=down)
    safe = Context(prec=3, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    return f"{float(safe.create_decimal(value)):.3g}"
