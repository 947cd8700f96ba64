"""Methods of a fitted ridge model that rest on its whole Gram matrix."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks.errors import peer_class
from mlcore.checks.penalties import as_penalties, by_penalty
from mlcore.estimator.derived import cached
from mlcore.estimator.printed import fields_as_table
from mlcore.kernel_ridge.alpha_path.alpha_path import CRITERIA, AlphaPath
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.alpha_path.factor_path import (
    EIGEN_BYTES,
    FACTOR_BYTES,
    by_eigenvectors,
    path_for,
)
from mlcore.kernel_ridge.alpha_path.gradient_path import GradientPath
from mlcore.kernel_ridge.linear_system.partial_cholesky import partial_factor
from mlcore.kernel_ridge.problem import Problem
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.kernel_model import kept_samples
from mlcore.runtime.memory import free_bytes, require_memory


class RidgePath(NamedTuple):
    """Ridge functions for m penalties.

    With several targets, every array but `alphas` has an axis of targets more. With an intercept
    and the linear kernel the functions are of ``X - origin_``, as those of the model. The criteria
    count samples, whatever their weights: copies are samples of their own.

    Parameters
    ----------
    alphas : (m,)
    dual_coef : (m, n_samples)
    intercept : (m,)
    effective_dimension : (m,)
    loo : (m,)
        Weighted mean of the squared leave-one-out errors; with solver "nystroem" of the samples
        that `path` was given, NaN without.
    gcv : (m,)
        Generalised cross-validation.
    likelihood : (m,)
        -2 log p of the targets as a Gaussian process, less a constant that does not depend on
        alpha; the least is best.

    Examples
    --------
    >>> from mlcore.kernel_ridge import KernelRidge
    >>> model = KernelRidge().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0])
    >>> model.path([0.5, 1.0]).effective_dimension.round(4)
    array([0.9655, 0.9333])
    """

    alphas: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    effective_dimension: np.ndarray
    loo: np.ndarray
    gcv: np.ndarray
    likelihood: np.ndarray

    __repr__ = fields_as_table


@dataclass
class _Derived:
    """Values that later calls of a fitted model need, each made when first asked for."""

    expansion: Expansion | None = None
    problem: Problem | None = None
    path: AlphaPath | None = None


class _Scale(NamedTuple):
    """The weight that divides a variance, ``divisor 4^power``."""

    divisor: float
    power: int


class Diagnostics:
    """Mixin of ridge models: leave-one-out errors, the path over alpha, deviations."""

    def leave_one_out(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Return y_i less the prediction of the fit without sample i, for every sample.

        A sample is left out whole, whatever its weight; NaN where the weight is 0. It may stay a
        centre of solver "nystroem".

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Only with solver "nystroem", which does not keep the samples: some of those of the fit.

        Returns
        -------
        errors : float64 (n_samples,) or (n_samples, n_targets)
            In the units of `y`.

        Raises
        ------
        ValueError
            For ``alpha=0``; for samples that are not of the fit, as far as its sums tell.
        MemoryError
            If the Gram matrix and a factor of it do not fit.

        Notes
        -----
        No refits: the error is a_i / M_ii, M the inverse of K + alpha/w; with an intercept that of
        ``M - M 1 1' M / 1' M 1``. O(n³) time for the first call after a fit, O(n²) later; where
        solver "cg" fitted more samples than a factor has memory for, each M_ii by conjugate
        gradients, to 1e-10: O(n³) time a step. In the
        span of m centres it is ``r_i / (1 - h_i)``, r the residual and h the derivative of the
        fitted value by its own target: O(n m²) time.

        References
        ----------
        .. [1] G. Golub, C. Van Loan, *Matrix Computations*, 4th ed., 2013, section 6.1.
        """
        self._check_ready()
        if self._in_span:
            return self._leave_one_out_in_span(X, y, sample_weight)
        self._refuse_samples("leave_one_out", X, y, sample_weight)
        kept = np.flatnonzero(self.sample_weight_)
        if self.fit_intercept and len(kept) < 2:
            self._refuse_to_leave_out()
        problem, path = self._path()
        errors = np.full((len(self.sample_weight_), len(problem.units.penalties)), np.nan)
        for alpha, columns in by_penalty(problem.units.penalties):
            found = path.fitted(alpha, columns)
            scale = problem.system.u * found.inverse_diagonal
            errors[np.ix_(kept, columns)] = found.coef / scale[:, None]
        errors = np.ldexp(errors, problem.units.target_power)
        return errors if self.y_fit_.ndim == 2 else errors[:, 0]

    def path(
        self, alphas: Any, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> RidgePath:
        """Return the functions for many alphas, from one eigendecomposition.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            All above 0.
        X, y, sample_weight : as in `fit`
            Only with solver "nystroem", which does not keep the samples: those of which `loo` is
            computed.

        Returns
        -------
        path : RidgePath
            One function for each alpha.

        Raises
        ------
        TypeError, ValueError
            For other alphas, and where the model has ``alpha=0``.
        MemoryError
            If the Gram matrix and its eigenvectors do not fit.

        Notes
        -----
        Up to six alphas (nine from 3000 samples on) are factored one by one, in O(n³) time each.
        More take the eigenvectors of the Gram matrix, in O(n³) time for the first call after a fit,
        and O(n²) for each alpha. In the span of c centres it is the c x c matrix of the sums: O(c³)
        time and O(c²) for each alpha, and O(n c²) for `loo`.
        """
        self._check_ready()
        alphas = as_penalties(alphas, "alphas", type(self).__name__)
        if not alphas.min() > 0:
            raise ValueError(f"{type(self).__name__}: alphas holds 0, but all must be above 0.")
        if self._in_span:
            return self._path_in_span(alphas, X, y, sample_weight)
        self._refuse_samples("path", X, y, sample_weight)
        problem, path = self._path(alphas)
        units, several = problem.units, self.y_fit_.ndim == 2
        kept, every = np.flatnonzero(self.sample_weight_), np.arange(len(units.penalties))
        m, k = len(alphas), len(every)
        dual = np.zeros((m, len(self.sample_weight_), k))
        intercept, loo, gcv, likelihood, freedom = (np.empty((m, k)) for _ in range(5))
        for i, alpha in enumerate(np.ldexp(alphas, -units.penalty_power)):
            found = path.fitted(alpha, every)
            dual[i, kept] = problem.dual(found.coef)
            intercept[i] = found.intercept + problem.system.center
            freedom[i] = path.degrees_of_freedom(alpha, found)
            loo[i], gcv[i], likelihood[i] = (path.criterion_of(name, found) for name in CRITERIA)
        square = 2 * units.target_power
        found = (
            dual, np.ldexp(intercept, units.target_power), freedom, np.ldexp(loo, square),
            np.ldexp(gcv, square), likelihood,
        )  # fmt: skip
        return RidgePath(alphas, *(v if several else v[..., 0] for v in found))

    @property
    def effective_dimension_(self) -> Any:
        """Trace of the map from targets to fitted values, computed when it is asked for."""
        self._check_ready()
        if self._in_span:
            return self._effective_dimension_in_span()
        problem, path = self._path()
        dimension = np.empty(len(problem.units.penalties))
        for alpha, columns in by_penalty(problem.units.penalties):
            dimension[columns] = path.degrees_of_freedom(alpha, path.fitted(alpha, columns))
        return dimension if self.y_fit_.ndim == 2 else float(dimension[0])

    # ---- after a fit

    @property
    def _in_span(self):
        """True if the function is one of few centres, and the samples are not kept."""
        return getattr(self, "solver_", None) == "nystroem"

    def _refuse_samples(self, method, *samples):
        if any(given is not None for given in samples):
            raise ValueError(
                f"{type(self).__name__}: {method} takes samples only with "
                'solver="nystroem", which does not keep those of the fit.'
            )

    def _refuse_to_leave_out(self):
        raise ValueError(
            f"{type(self).__name__}: n_samples=1, but with fit_intercept=True to leave one out "
            "needs at least 2."
        )

    def _check_ready(self):
        self._check_fitted()
        if "dual_coef_" not in vars(self):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but call "
                "'update' before using this estimator."
            )

    @property
    def _derived(self):
        arrays = [self.X_fit_]
        if not self._in_span:
            arrays += [self.y_fit_, self.sample_weight_]
        return cached(self, arrays, (self._fitted_kernel, self.fit_intercept), _Derived)

    @property
    def _expansion(self):
        kernel = self._fitted_kernel
        if kernel.precomputed:
            return Expansion(self._centers, kernel)
        derived = self._derived
        if derived.expansion is None:
            derived.expansion = Expansion(self._images(self.X_fit_), kernel)
        return derived.expansion

    def _path(self, alphas=None):
        """The problem of the fit and a path for these alphas, by default those of the fit."""
        derived = self._derived
        count = len(np.unique(self.alpha_ if alphas is None else alphas))
        known = derived.path
        if known is None and alphas is None and self._too_large:
            derived.problem = self._problem(stored=False)
            factor = partial_factor(derived.problem.system.S, np.random.default_rng(0))
            derived.path = GradientPath(derived.problem.system, factor)
        elif known is None or (alphas is not None and isinstance(known, GradientPath)):
            require_path(np.count_nonzero(self.sample_weight_), count)
            derived.problem = self._problem(stored=True)
            derived.path = path_for(derived.problem.system, count)
        elif by_eigenvectors(derived.problem.system.S.n, count) and not isinstance(
            derived.path, EigenPath
        ):
            require_path(derived.problem.system.S.n, count)
            derived.path = None  # its factor is freed before the eigenvectors are computed
            derived.path = path_for(derived.problem.system, count)
        return derived.problem, derived.path

    @property
    def _too_large(self):
        """True if the fit was without the Gram matrix, and a factor of it does not fit."""
        n = np.count_nonzero(self.sample_weight_)
        return getattr(self, "solver_", None) == "cg" and FACTOR_BYTES * n**2 > free_bytes()

    def _problem(self, stored):
        kernel, weight = self._fitted_kernel, self.sample_weight_
        kept = np.flatnonzero(weight)
        samples = self._images(kept_samples(self.X_fit_, kept, kernel.precomputed))
        y = self.y_fit_
        y = y.reshape(len(y), -1)
        alphas = np.broadcast_to(self.alpha_, y.shape[1:]).astype(np.float64)
        if not alphas.min() > 0:
            raise ValueError(f"{type(self).__name__}: this needs alpha > 0, not alpha=0.")
        return Problem.of(
            kernel, samples, y[kept], weight[kept], alphas, self.fit_intercept, stored,
            type(self).__name__,
        )  # fmt: skip

    def _deviations(self, X):
        problem, path = self._path()
        kernel, units = self._fitted_kernel, problem.units
        kept = np.flatnonzero(self.sample_weight_)
        own = np.ldexp(kernel.diagonal(X), -units.kernel_power)
        found = np.empty((X.shape[0], len(units.penalties)))
        scale = self._scale_of(problem.system.total, units.weight_power)
        for alpha, columns in by_penalty(units.penalties):
            variance = np.maximum(path.energy(alpha, columns), 0.0) / scale.divisor
            for rows, values in self._expansion.blocks(X):
                k = np.ldexp(values[:, kept], -units.kernel_power)
                left = np.maximum(own[rows] - path.explained(k, alpha), 0.0)
                found[rows, columns] = np.sqrt(np.outer(left, variance))
        found = np.ldexp(found, units.target_power - scale.power)
        return found if self.y_fit_.ndim == 2 else found[:, 0]

    def _scale_of(self, total, weight_power):
        """Return what divides y'a in s²: the weight of all samples, 2^weight_power `total`."""
        power, odd = divmod(weight_power, 2)
        one = np.ldexp(1.0, -weight_power) if self.fit_intercept else 0.0
        if total <= one * (1 + 1e-10):  # the sum of many weights is rounded
            raise ValueError(
                f"{type(self).__name__}: return_std=True needs, with fit_intercept=True, weights "
                f"that sum to more than 1, not {np.ldexp(total, weight_power):.6g}: a weight of 2 "
                "is the sample twice, and one sample has no deviation from its own mean."
            )
        return _Scale(np.ldexp(total - one, odd), power)


def require_path(n: int, n_alphas: float) -> None:
    """Raise MemoryError if the path of so many alphas does not fit."""
    eigen = by_eigenvectors(n, n_alphas)
    what = "its eigenvectors" if eigen else "a factor of it"
    require_memory(
        n, n, EIGEN_BYTES if eigen else FACTOR_BYTES,
        what=f"the Gram matrix, with {what} and work memory,",
        instead="fit fewer samples, or choose alpha by held-out ones",
    )  # fmt: skip
