"""Methods of a fitted ridge model that rest on the eigenvectors of its Gram matrix."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_real, require_memory
from mlcore.checks.arrays import real_array
from mlcore.kernel_ridge.eigen_path import CRITERIA, EigenPath
from mlcore.kernel_ridge.problem import Problem
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.kernel import as_double
from mlcore.kernels.kernel_model import kept_samples
from mlcore.model_cache import cached

_EIGEN_BYTES = 40  # of each entry of K: its value, those of the eigenvectors, and what LAPACK needs


class RidgePath(NamedTuple):
    """Ridge functions for m penalties; with several targets, every array but `alphas` has an axis
    of targets more.

    Attributes
    ----------
    alphas : (m,)
    dual_coef : (m, n_samples)
    intercept : (m,)
    effective_dimension : (m,)
    loo : (m,)
        Weighted mean of the squared leave-one-out errors.
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


class Diagnostics:
    """Mixin of ridge models: leave-one-out errors, the path over alpha, deviations."""

    def leave_one_out(self) -> np.ndarray:
        """Return y_i less the prediction of the fit without sample i, for every sample.

        A sample is left out whole, whatever its weight; NaN where the weight is 0.

        Returns
        -------
        errors : float64 (n_samples,) or (n_samples, n_targets)

        Raises
        ------
        ValueError
            For ``alpha=0``.
        MemoryError
            If the Gram matrix and its eigenvectors do not fit.

        Notes
        -----
        No refits: the error is a_i / M_ii, M the inverse of K + alpha/w; with an intercept that of
        ``M - M 1 1' M / 1' M 1``. O(n³) time for the first call after a fit, O(n²) later.

        References
        ----------
        .. [1] G. Golub, C. Van Loan, *Matrix Computations*, 4th ed., 2013, section 6.1.
        """
        self._check_fitted()
        problem, path = self._path
        kept = np.flatnonzero(self.sample_weight_)
        errors = np.full((len(self.sample_weight_), len(problem.units.penalties)), np.nan)
        for j, alpha in enumerate(problem.units.penalties):
            found = path.at(alpha, j)
            errors[kept, j] = found.coef / (problem.system.u * found.inverse_diagonal)
        errors = np.ldexp(errors, problem.units.target_power)
        return errors if self.y_fit_.ndim == 2 else errors[:, 0]

    def path(self, alphas: Any) -> RidgePath:
        """Return the functions for many alphas, from one eigendecomposition.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            All above 0.

        Returns
        -------
        path : RidgePath

        Raises
        ------
        TypeError, ValueError
            For other alphas, and where the model has ``alpha=0``.
        MemoryError
            If the Gram matrix and its eigenvectors do not fit.

        Notes
        -----
        O(n³) time for the first call after a fit, then O(n²) for each alpha.
        """
        self._check_fitted()
        alphas = as_alphas(alphas, "alphas", type(self).__name__)
        if not alphas.min() > 0:
            raise ValueError(f"{type(self).__name__}: alphas holds 0, but all must be above 0.")
        problem, path = self._path
        units, several = problem.units, self.y_fit_.ndim == 2
        kept = np.flatnonzero(self.sample_weight_)
        m, k = len(alphas), len(units.penalties)
        dual = np.zeros((m, len(self.sample_weight_), k))
        intercept, loo, gcv, likelihood, freedom = (np.empty((m, k)) for _ in range(5))
        for i, alpha in enumerate(np.ldexp(alphas, -units.penalty_power)):
            for j in range(k):
                found = path.at(alpha, j)
                dual[i, kept, j] = problem.dual(found.coef[:, None])[:, 0]
                intercept[i, j] = found.intercept + problem.system.center[j]
                freedom[i, j] = found.degrees_of_freedom
                loo[i, j], gcv[i, j], likelihood[i, j] = (
                    path.criterion(name, alpha, j) for name in CRITERIA
                )
        square = 2 * units.target_power
        found = (
            dual, np.ldexp(intercept, units.target_power), freedom, np.ldexp(loo, square),
            np.ldexp(gcv, square), likelihood,
        )  # fmt: skip
        return RidgePath(alphas, *(v if several else v[..., 0] for v in found))

    @property
    def effective_dimension_(self) -> Any:
        self._check_fitted()
        problem, path = self._path
        found = [
            path.at(alpha, j).degrees_of_freedom for j, alpha in enumerate(problem.units.penalties)
        ]
        return np.array(found) if self.y_fit_.ndim == 2 else found[0]

    # ---- after a fit

    @property
    def _path(self):
        """The problem of the fit and the eigenvectors of its Gram matrix, cached."""
        arrays = self.X_fit_, self.y_fit_, self.sample_weight_
        return cached(self, arrays, (self._fitted_kernel, self.fit_intercept), self._eigen_path)

    def _eigen_path(self):
        kernel, weight = self._fitted_kernel, self.sample_weight_
        kept = np.flatnonzero(weight)
        self._require_eigen(len(kept))
        samples, y = kept_samples(self.X_fit_, kept, kernel.precomputed), self.y_fit_
        y = y.reshape(len(y), -1)
        alphas = np.broadcast_to(self.alpha_, y.shape[1:]).astype(np.float64)
        if not alphas.min() > 0:
            raise ValueError(f"{type(self).__name__}: this needs alpha > 0, not alpha=0.")
        problem = Problem.of(
            kernel, samples, y[kept], weight[kept], alphas, self.fit_intercept, True,
            type(self).__name__,
        )  # fmt: skip
        return problem, EigenPath(problem.system)

    def _deviations(self, X):
        problem, path = self._path
        kernel, units = self._fitted_kernel, problem.units
        kept = np.flatnonzero(self.sample_weight_)
        expansion = Expansion(as_double(self.X_fit_), kernel)
        own = np.ldexp(kernel.diagonal(X), -units.kernel_power)
        variances = [path.variance(a, j) for j, a in enumerate(units.penalties)]
        found = np.empty((X.shape[0], len(variances)))
        for rows, values in expansion.blocks(X):
            k = np.ldexp(values[:, kept], -units.kernel_power)
            for alpha in np.unique(units.penalties):
                same = units.penalties == alpha
                left = own[rows] - path.explained(k, alpha)
                found[rows, same] = np.sqrt(np.maximum(left, 0.0))[:, None]
        found *= np.ldexp(np.sqrt(variances), units.target_power)
        return found if self.y_fit_.ndim == 2 else found[:, 0]

    def _require_eigen(self, n):
        require_memory(
            n, n, _EIGEN_BYTES, what="the Gram matrix, with its eigenvectors and work memory,",
            instead="fit fewer samples, or choose alpha by held-out ones",
        )  # fmt: skip


def as_alphas(alphas, name, owner):
    """Return penalties as float64 (m,), each at least 0."""
    alphas = real_array(alphas, name).astype(np.float64)
    if alphas.ndim != 1 or len(alphas) == 0:
        raise ValueError(f"{owner}: {name} has shape {alphas.shape}, but must be of shape (m,).")
    for alpha in alphas:
        as_real(float(alpha), name, owner=owner, at_least=0)
    return alphas
