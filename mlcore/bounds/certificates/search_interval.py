"""An interval for the score that a search by cross-validation chose, which pays for the choice."""

import math
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_counts, as_range, as_real, refuse
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.metrics.metric_intervals import rate_interval


def search_interval(
    search: Any,
    delta: float,
    *,
    metric: str = "score",
    value_range: tuple[float, float] = (0.0, 1.0),
    n_test_samples: Any = None,
) -> tuple[float, float]:
    r"""Interval for the expected score of the models that cross-validation chose.

    It holds with probability at least :math:`1 - \delta` the mean over folds of what the fold's
    model of the chosen candidate scores on new examples, whatever candidate was chosen and how:

    .. math:: \frac1K \sum_k \Bigl[ L\bigl(\hat s_k, n_k, \tfrac{\delta}{2 K N}\bigr),
        U\bigl(\hat s_k, n_k, \tfrac{\delta}{2 K N}\bigr) \Bigr],

    with K folds of :math:`n_k` test samples, N candidates, :math:`\hat s_k` the score on fold k and
    ends by `hoeffding_bentkus_bound`. Given its training samples each fold is a fresh test set, and
    a union bound is over folds, candidates and ends. Assumes independent examples without weights,
    a grid that does not depend on them (gamma="scale" does), and a score that is a mean over
    examples of values in a known range, as accuracy, minus the Brier score, or the mean of a
    bounded error; not AUC, F1, R² or balanced accuracy. Stratified folds are of independent
    examples given the numbers of classes: the interval is for these shares of the classes then. The
    model refitted to all samples, which saw more, is not what it speaks of.

    Parameters
    ----------
    search : fitted search of mlcore, or of scikit-learn
        With `cv_results_` and `best_index_`.
    delta : float in (0, 1)
        Probability that the interval fails.
    metric : str, default="score"
        Name of the score, of several.
    value_range : (float, float), default=(0.0, 1.0)
        Least and largest value of the score of one example, known beforehand.
    n_test_samples : int or array-like of shape (n_folds,), optional
        Test samples of each fold; searches of mlcore know them.

    Returns
    -------
    lower, upper : float
        Ends of the interval, in units of the score.

    Raises
    ------
    ValueError
        If the search has no such score or used weights, or a score is outside `value_range`.

    References
    ----------
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. I. Jordan, *Distribution-free, risk-controlling
    prediction sets*, Journal of the ACM 68, 2021.

    Examples
    --------
    >>> from mlcore.bounds import search_interval
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.svm import SVCCV
    >>> search = SVCCV(Cs=[1.0, 10.0], gammas=[5e-4]).fit(*load_digits())
    >>> lower, upper = search_interval(search, 0.05)
    >>> bool(0.9 < lower < search.best_score_ < upper)
    True
    """
    delta = as_real(delta, "delta", at_least=2.0**-1000, below=1)
    warn_of_confidence(delta)
    scores, n_candidates = _scores(search, metric)
    sizes = _sizes(search, n_test_samples, len(scores))
    low, high = as_range(value_range, "value_range")
    if not ((scores >= low) & (scores <= high)).all():
        refuse(
            "value_range", value_range, f"around all scores of {metric!r}, found {scores.tolist()}"
        )
    share = math.nextafter(delta / (2 * len(scores) * n_candidates), 0)
    # A mean of zeros and ones, which was rounded, is that of their number again.
    totals = sizes * ((scores - low) / (high - low))
    whole = np.rint(totals)
    totals = np.where(np.abs(totals - whole) < 1e-12 * sizes, whole, totals)
    ends = [
        rate_interval(float(total / size), float((size - total) / size), int(size), share)
        for total, size in zip(totals, sizes, strict=True)
    ]
    lower, upper = np.mean(ends, axis=0)
    rounding = 8 * len(scores) * 2.0**-52
    return (
        float(low + (high - low) * max(0.0, lower - rounding)),
        float(low + (high - low) * min(1.0, upper + rounding)),
    )


def _scores(search, metric):
    """Return the scores of the chosen candidate on each fold, and the number of candidates."""
    results, best = getattr(search, "cv_results_", None), getattr(search, "best_index_", None)
    if not isinstance(results, dict) or best is None:
        refuse("search", search, "a fitted search with cv_results_ and best_index_")
    scores = []
    while (key := f"split{len(scores)}_test_{metric}") in results:
        scores.append(results[key][best])
    if not scores:
        names = [name.removeprefix("mean_test_") for name in results if "mean_test_" in name]
        refuse("metric", metric, f"one of {', '.join(map(repr, names))}")
    return np.array(scores, dtype=np.float64), len(results[f"mean_test_{metric}"])


def _sizes(search, given, n_folds):
    sizes = getattr(search, "n_test_samples_", None) if given is None else given
    if sizes is None:
        refuse(
            "n_test_samples", None, "the numbers of test samples, for a search without weights "
            "that does not know them",
        )  # fmt: skip
    sizes = as_counts(sizes, "n_test_samples", at_least=1)
    if sizes.shape not in ((), (n_folds,)):
        refuse("n_test_samples", sizes.tolist(), f"one number, or one for each of {n_folds} folds")
    return np.broadcast_to(sizes, n_folds)
