"""Intervals from leave-one-out errors, which need no calibration set and no refits."""

import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_real, refuse
from mlcore.bounds.certificates.classifiers import as_table
from mlcore.bounds.certificates.report import for_terminal
from mlcore.checks import as_targets
from mlcore.checks.errors import warn
from mlcore.conformal.coverage import conformal_rank, least_size
from mlcore.estimator.tables import table

_VALUES = 2**22  # of influences at a time, 32 MB


@dataclass(frozen=True)
class JackknifeIntervals:
    """Intervals of a ridge regression, made by `jackknife_plus`.

    Parameters
    ----------
    model : object
        The fitted model.
    influences : tuple of objects
        Fits to unit targets: their predictions are the derivatives of those of `model` by each
        target.
    errors : float64 (n,)
        Leave-one-out errors of the samples of the fit.
    coverage : float
        1 - alpha: the coverage that intervals have in most cases.
    rank : int
        Rank of the upper ends; n + 1 where n is too small: then intervals are infinite.

    Examples
    --------
    >>> from mlcore.conformal import jackknife_plus
    >>> from mlcore.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 3.0, 3.0]
    >>> found = jackknife_plus(LinearRegression().fit(X, y), X, y, 0.8)
    >>> found.rank, found.guaranteed_coverage
    (4, 0.6)
    """

    model: Any
    influences: tuple[Any, ...]
    errors: np.ndarray
    coverage: float
    rank: int

    @property
    def guaranteed_coverage(self) -> float:
        """1 - 2 alpha, which holds for every distribution; 0 says nothing."""
        return guaranteed(self.coverage, self.rank, len(self.errors))

    def predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the intervals.

        Parameters
        ----------
        X : array-like or sparse of shape (m, n_features)
            New samples.

        Returns
        -------
        lower, upper : float64 (m,)
            Infinite where the samples of the fit are too few. O(m n) time, and that of predicting
            n targets.

        Raises
        ------
        ValueError
            For samples that the model refuses.
        """
        predicted = np.asarray(self.model.predict(X), dtype=np.float64)
        m, n = len(predicted), len(self.errors)
        lower, upper = np.full(m, -math.inf), np.full(m, math.inf)
        if self.rank > n:
            return lower, upper
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        size = np.abs(self.errors)
        step = max(1, _VALUES // n)
        for start in range(0, m, step):
            rows = slice(start, start + step)
            part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            # Row by row, the predictions of the n fits without one sample.
            left_out = -self.errors * np.hstack([fit.predict(part) for fit in self.influences])
            left_out += predicted[rows, None]
            place = n - self.rank
            lower[rows] = np.partition(left_out - size, place, axis=1)[:, place]
            place = self.rank - 1
            upper[rows] = np.partition(left_out + size, place, axis=1)[:, place]
        return lower, upper

    def _sentences(self):
        n = len(self.errors)
        yield (
            f"Jackknife+ intervals of {type(self.model).__name__} from {n} leave-one-out errors, "
            f"ends of rank {self.rank}. A new target is inside with probability at least "
            f"{self.guaranteed_coverage:g} on average over samples of the fit, if all are "
            f"exchangeable; in most cases with about {self.coverage:g}."
        )
        if self.rank > n:
            yield too_few(n, self.coverage, "intervals are infinite")

    def __repr__(self) -> str:
        return for_terminal(*self._sentences())

    def _repr_html_(self) -> str:
        return table({}, title=for_terminal(*self._sentences()))


def jackknife_plus(model: Any, X: Any, y: Any, coverage: float = 0.9) -> JackknifeIntervals:
    r"""Return intervals around the predictions of a ridge regression, from its own samples.

    With :math:`\alpha` one minus `coverage`, f without i the fit without sample i, and R_i its
    absolute leave-one-out error, the interval at x goes from the
    :math:`\lfloor \alpha (n + 1) \rfloor`-th smallest of :math:`f_{-i}(x) - R_i` to the
    :math:`\lceil (1 - \alpha) (n + 1) \rceil`-th smallest of :math:`f_{-i}(x) + R_i`. If samples
    and new ones are exchangeable, it holds a new target with probability at least
    :math:`1 - 2 \alpha`, whatever the distribution; in most cases with about :math:`1 - \alpha`.

    No refits without a sample: :math:`f_{-i}(x) = f(x) - (y_i - f_{-i}(x_i)) \, \partial f(x) /
    \partial y_i`, since the fit to all samples with target :math:`f_{-i}(x_i)` for i is the fit
    without i. The derivatives are the fits to unit targets, and the errors are those of
    `leave_one_out`.

    Parameters
    ----------
    model : fitted `LinearRegression` or `KernelRidge`
        With one number as `alpha`, above 0 where features depend on each other, no sample weights,
        and a kernel that was chosen without these samples. `NystroemRidge` is refused: samples that
        its centres are drawn from are not exchangeable with new ones.
    X, y : array-like
        The samples of the fit, and one target for each.
    coverage : float in (0, 1), default=0.9
        1 - alpha; the guarantee is 2 * coverage - 1.

    Returns
    -------
    intervals : JackknifeIntervals
        Its `predict` returns both ends.

    Raises
    ------
    ValueError
        For other models, other samples than those of the fit, and fits whose leave-one-out errors
        do not follow from the derivatives.

    Warns
    -----
    UserWarning
        If the samples are too few: intervals are infinite.

    Notes
    -----
    O(n² d) time and O(n d) memory for linear models, O(n³) and O(n²) for kernels: that of one fit
    with n targets.

    References
    ----------
    R. Barber, E. Candès, A. Ramdas, R. Tibshirani, *Predictive inference with the jackknife+*,
    Annals of Statistics 49, 2021, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.conformal import jackknife_plus
    >>> from mlcore.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X @ [1, 2, 3] + rng.normal(size=600)
    >>> model = LinearRegression(alpha=1.0).fit(X[:100], y[:100])
    >>> lower, upper = jackknife_plus(model, X[:100], y[:100]).predict(X[100:])
    >>> bool(abs(((lower <= y[100:]) & (y[100:] <= upper)).mean() - 0.9) < 0.05)
    True
    """
    coverage = as_real(coverage, "coverage", above=0, below=1)
    _require_ridge(model)
    X = X if hasattr(X, "shape") and np.ndim(X) else as_table(X)
    y = as_targets(y, X.shape[0])
    given = () if not inspect.signature(model.leave_one_out).parameters else (X, y)
    errors = np.asarray(model.leave_one_out(*given), dtype=np.float64)
    if errors.shape != y.shape:
        raise ValueError(
            f"X, y: {len(y)} samples of one target must be those of the fit, whose leave-one-out "
            f"errors are of shape {errors.shape}."
        )
    n = len(y)
    rank = conformal_rank(n, coverage)
    influences = _influences(model, X, y, errors)
    if rank > n:
        warn("UserWarning", too_few(n, coverage, "intervals are infinite"))
    return JackknifeIntervals(model, influences, errors, coverage, rank)


def _require_ridge(model):
    """Refuse what is not a fitted least-squares model whose penalty and kernel are numbers."""
    allowed = "a fitted LinearRegression or KernelRidge"
    if isinstance(model, type) or not hasattr(model, "leave_one_out"):
        raise ValueError(f"model={type(model).__name__}(...) must be {allowed}.")
    parameters = model.get_params()
    if hasattr(model, "classes_") or "alpha" not in parameters or "n_centers" in parameters:
        raise ValueError(f"model={type(model).__name__}(...) must be {allowed}.")
    for name in ("alpha", "gamma"):
        value = parameters.get(name)
        if isinstance(value, str) or np.ndim(value):
            refuse(f"model.{name}", value, "one number, chosen without these samples")


def _influences(model, X, y, errors):
    """Return fits to blocks of unit targets; refuse a fit whose errors do not follow from them."""
    n, fits = len(y), []
    predicted = np.asarray(model.predict(X))
    rounding = math.sqrt(np.finfo(predicted.dtype).eps) * np.abs(y).max()
    own, summed = np.empty(n), np.zeros(n)
    # A kernel machine factors an n x n matrix for each block: it takes all targets at once.
    step = n if hasattr(model, "dual_coef_") else max(1, _VALUES // n)
    for start in range(0, n, step):
        columns = slice(start, min(n, start + step))
        targets = np.zeros((n, columns.stop - start))
        targets[np.arange(start, columns.stop), np.arange(columns.stop - start)] = 1
        fit = type(model)(**model.get_params()).fit(X, targets)
        values = np.asarray(fit.predict(X)).reshape(n, -1)
        own[columns] = np.diagonal(values[columns])
        summed += values @ y[columns]
        fits.append(fit)
    if not (np.abs(summed - predicted) <= rounding).all():
        raise ValueError("X, y must be the samples of the fit, in weights of 1.")
    if not (np.abs(errors * (1 - own) - (y - predicted)) <= rounding).all() or not (own < 1).all():
        raise ValueError(
            f"model={type(model).__name__}(...) must have a fit without each sample that is unique:"
            " give it an alpha above 0."
        )
    return tuple(fits)


def guaranteed(coverage: float, rank: int, n: int) -> float:
    """Return the coverage 1 - 2 alpha that n samples guarantee, or 1 if their rank is n + 1."""
    return 1.0 if rank > n else max(0.0, float(2 * Fraction(repr(coverage)) - 1))


def too_few(n: int, coverage: float, then: str) -> str:
    """Return the sentence on too few samples, and what follows."""
    needed = least_size(coverage, None)
    return f"Too few samples: {n}, of at least {needed} needed for coverage={coverage:g}: {then}."
