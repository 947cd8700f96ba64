"""Metrics of predicted numbers, under scikit-learn's names: the mean over targets of each.

Targets and predictions are (n,) or (n, n_targets); weights (n,) are all positive.
"""

from collections.abc import Callable

import numpy as np


def _mean(loss: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    """Return minus the weighted mean of a loss, for each target."""
    return lambda y, p, weight: -np.average(loss(y, p), axis=0, weights=weight)


def _squares(y, p):
    return np.square(y - p)


def _power(values):
    """Return the powers of two (n_targets,) that take squares into the range of floats."""
    return np.frexp(np.abs(values).max(axis=0))[1]


def _root_mean_square(y, p, weight):
    error = y - p
    power = _power(error)
    square = np.average(np.square(np.ldexp(error, -power)), axis=0, weights=weight)
    return -np.ldexp(np.sqrt(square), power)


def _absolutes(y, p):
    return np.abs(y - p)


def _squared_logarithms(y, p):
    _require(min(y.min(), p.min()) > -1, "targets and predictions above -1")
    return np.square(np.log1p(y) - np.log1p(p))


def _root_mean_square_logarithm(y, p, weight):
    return -np.sqrt(-_mean(_squared_logarithms)(y, p, weight))


def _relative(y, p):
    return np.abs(y - p) / np.maximum(np.abs(y), np.finfo(np.float64).eps)


def _poisson(y, p):
    _require(y.min() >= 0 and p.min() > 0, "targets of at least 0 and predictions above 0")
    ratio = np.where(y > 0, y, p) / p
    return 2 * (y * np.log(ratio) - y + p)


def _gamma(y, p):
    _require(y.min() > 0 and p.min() > 0, "targets and predictions above 0")
    return 2 * (np.log(p / y) + y / p - 1)


def _require(holds, what):
    if not holds:
        raise ValueError(f"this score needs {what}.")


def median(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted median of each column, the middle of two where both halves are equal."""
    out = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        order = np.argsort(column, kind="stable")
        sums = weight[order].cumsum()
        half = 0.5 * sums[-1]
        first = min(int(np.searchsorted(sums, half)), len(order) - 1)
        last = first
        if sums[first] - half <= np.finfo(np.float64).eps * sums[-1]:
            last = min(first + 1, len(order) - 1)
        out[j] = 0.5 * (column[order[first]] + column[order[last]])
    return out


def _explained(error, total):
    """Return 1 - error / total; where total is 0, 1 for no error and else 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1 - error / total
    return np.where(total > 0, share, np.where(error > 0, 0.0, 1.0))


def _r2(y, p, weight):
    """The share of the variance of y that predictions explain; NaN for one sample."""
    if len(y) < 2:
        return np.full(y.shape[1], np.nan)
    power = _power(y - y.mean(axis=0))
    with np.errstate(over="ignore"):
        y, p = np.ldexp(y, -power), np.ldexp(p, -power)
        total = weight @ np.square(y - np.average(y, axis=0, weights=weight))
        return _explained(weight @ np.square(y - p), total)


def _explained_variance(y, p, weight):
    power = _power(y - y.mean(axis=0))

    def variance(values):
        values = np.ldexp(values, -power)
        middle = np.average(values, axis=0, weights=weight)
        return np.average(np.square(values - middle), axis=0, weights=weight)

    with np.errstate(over="ignore"):
        return _explained(variance(y - p), variance(y))


def _d2_absolute(y, p, weight):
    if len(y) < 2:
        return np.full(y.shape[1], np.nan)
    return _explained(weight @ np.abs(y - p), weight @ np.abs(y - median(y, weight)))


def _largest(y, p, weight):
    return -np.abs(y - p).max(axis=0)


METRICS: dict[str, Callable[..., np.ndarray]] = {
    "r2": _r2,
    "explained_variance": _explained_variance,
    "d2_absolute_error_score": _d2_absolute,
    "neg_mean_squared_error": _mean(_squares),
    "neg_root_mean_squared_error": _root_mean_square,
    "neg_mean_absolute_error": _mean(_absolutes),
    "neg_median_absolute_error": lambda y, p, weight: -median(np.abs(y - p), weight),
    "neg_mean_absolute_percentage_error": _mean(_relative),
    "neg_mean_squared_log_error": _mean(_squared_logarithms),
    "neg_root_mean_squared_log_error": _root_mean_square_logarithm,
    "neg_mean_poisson_deviance": _mean(_poisson),
    "neg_mean_gamma_deviance": _mean(_gamma),
    "neg_max_error": _largest,
    "max_error": _largest,
}


def score(name: str, y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean over targets of a metric."""
    y, predicted = (np.asarray(a, np.float64).reshape(len(a), -1) for a in (y, predicted))
    return float(METRICS[name](y, predicted, weight).mean())
