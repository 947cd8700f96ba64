"""Samples, predictions and diagnostics that ridge models share."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, overload

import numpy as np
from scipy import sparse

from mlcore.checks import as_bool, as_choice, as_real, as_targets, as_weights, scaled_weights
from mlcore.checks.penalties import as_penalties, as_target_penalties, by_penalty
from mlcore.estimator.derived import cached
from mlcore.estimator.mixins import Regressor
from mlcore.kernel_ridge.alpha_path.alpha_path import CRITERIA, AlphaPath, RidgePath
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.alpha_path.factor_path import (
    FACTOR_BYTES,
    by_eigenvectors,
    path_for,
    require_path,
)
from mlcore.kernel_ridge.alpha_path.gradient_path import GradientPath
from mlcore.kernel_ridge.linear_system.partial_cholesky import partial_factor
from mlcore.kernel_ridge.linear_system.system import RidgeSystem
from mlcore.kernel_ridge.verification import RidgeVerification, verified
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.kernel import Kernel, copied, differences, mean_if_free, of_numbers, precision
from mlcore.kernels.kernel_model import KernelModel, kept_samples
from mlcore.kernels.vector_kernels import resolve_gamma
from mlcore.runtime.memory import free_bytes


class RidgeData(NamedTuple):
    """Checked arguments of a fit: all `samples`, y (n,) or (n, k), and `weight` (n,), in float64.

    `used` are the samples of positive weight, at the indices `kept`, less `origin_`.
    """

    samples: Any
    used: Any
    y: np.ndarray
    weight: np.ndarray
    kept: np.ndarray

    @property
    def columns(self) -> np.ndarray:
        """Targets of the samples of positive weight, (m, k)."""
        return (self.y if self.y.ndim == 2 else self.y[:, None])[self.kept]

    def system(
        self, kernel: Kernel, alphas: np.ndarray | str, fit_intercept: bool, stored: bool, name: str
    ) -> RidgeSystem:
        """Return the linear system of these data; the arguments are those of `RidgeSystem`."""
        weight = self.weight[self.kept]
        return RidgeSystem(
            kernel, self.used, self.columns, weight, alphas, fit_intercept, stored, name
        )

    def first_copies(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of the copies of each sample, as indices of `used`, and their weights.

        Copies have the same features (kernel values) and targets; objects are not compared.
        """
        weight = self.weight[self.kept]
        if not of_numbers(self.used):
            return np.arange(len(weight)), weight
        first, copy_of = _first_of_equal_rows(self.used, self.columns)
        return first, np.bincount(copy_of, weight)

    def distinct(self, precomputed: bool) -> Self:
        """Return data with one sample, of the sum of the weights, for all copies of one.

        So a weight of 2 is a copy also where samples are left out: all copies together.
        """
        first, weight = self.first_copies()
        if len(first) == len(self.kept):
            return self
        used = kept_samples(self.used, first, precomputed)
        y = self.columns[first]
        return type(self)(used, used, y, weight, np.arange(len(first)))


def require_two(n_samples: int, owner: str) -> None:
    """Refuse data of one sample, copies apart, of which none can be left out."""
    if n_samples < 2:
        raise ValueError(f"{owner}: n_samples=1, but to leave one out needs at least 2.")


@dataclass
class _Derived:
    """Values that later calls of a fitted model need, each made when first asked for."""

    expansion: Expansion | None = None
    path: AlphaPath | None = None


class _Scale(NamedTuple):
    """The weight that divides a variance, ``divisor 4^power``."""

    divisor: float
    power: int


# Lines of the targets and weights, which models keep whose functions are of all samples.
STORED_DATA = {"y_fit_": "float64 m | float64 m q", "sample_weight_": "float64 m"}


class RidgeModel(Regressor, KernelModel):
    """Base of models whose function is ``sum_i a_i k(x_i, x) + b``, by default over all samples."""

    _tags: ClassVar[dict[str, Any]] = {**KernelModel._tags, "target_tags.multi_output": True}

    # Names of the data that a model keeps, from which later calls derive values.
    _kept: ClassVar[tuple[str, ...]] = ("X_fit_", "y_fit_", "sample_weight_")

    dual_coef_: np.ndarray
    intercept_: float | np.ndarray
    alpha_: float | np.ndarray
    duality_gap_: float | np.ndarray
    objective_: float | np.ndarray
    prediction_bound_: float | np.ndarray
    X_fit_: Any
    origin_: np.ndarray | None
    _stored = {
        "dual_coef_": "float64 m | float64 m q",
        "intercept_": "float | float64 q",
        "alpha_": "float | float64 q",
        "duality_gap_": "float | float64 q",
        "objective_": "float | float64 q",
        "prediction_bound_": "float | float64 q",
        "X_fit_": "rows m f",
        "origin_": "none | float f",
    }

    _no_blocks = "its Gram matrix is of all pairs of rows: use NystroemRidge"
    _instead = {"kernel_params": "give a function of your own with its parameters bound"}

    @overload
    def predict(self, X: Any, return_std: Literal[False] = ...) -> np.ndarray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(self, X: Any, return_std: bool) -> Any: ...

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return f(x) + b for each row of `X`, in the precision of the samples of the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features)
            With a precomputed kernel: the values against the training samples, (n_new, n_samples);
            they do not tell k(x, x), which deviations need.
        return_std : bool, default=False
            Return the deviations of f(x) + b too, where the targets are a Gaussian process of
            covariance ``s² k`` with noise of variance ``s² alpha / w``, and s² is the likeliest.

        Returns
        -------
        y : ndarray of shape (n_new,) or (n_new, n_targets)
            In the units of the `y` of the fit.
        std : ndarray of the same shape, only with `return_std`
            Standard deviations of the predictions.

        Raises
        ------
        ValueError
            For deviations with ``kernel="precomputed"`` or ``alpha=0``; and with an intercept where
            the weights sum to 1 or less.

        Notes
        -----
        ``std² = s² (k(x, x) - k' M k)``, M the inverse of K + alpha/w and s² = y'a / W, W the sum
        of the weights, as these are copies; with an intercept, of no known size before the fit,
        ``(1 - k' M 1)² / 1' M 1`` more, and s² has the divisor W - 1, which must be positive. The
        first call with `return_std` takes the time of `leave_one_out`.

        The process of `NystroemRidge` has, between samples of the fit, the covariance
        ``s² phi(x)'phi(z)`` of features phi in the span of the centres: ``std² = s² (k(x, x) -
        |phi|² + alpha phi' (sum_i w_i phi_i phi_i' + alpha I)^-1 phi)``, of which the first two
        terms are the squared distance of x from the span (projected process, [1]_ section 8.3.4).
        In O(m²) time for each new sample.

        References
        ----------
        .. [1] C. Rasmussen, C. Williams, *Gaussian Processes for Machine Learning*, 2006.
        """
        self._check_ready()
        as_bool(return_std, "return_std", owner=type(self).__name__)
        X = self._later_samples(X, self.X_fit_)
        if return_std and self._precomputed:
            raise ValueError(
                f"{type(self).__name__}: return_std=True needs k(x, x) of new samples, which "
                "kernel='precomputed' does not have."
            )
        X, dtype = self._images(X), precision(self.X_fit_)
        coef = self.dual_coef_
        sums = self._expansion.sums(X, coef.reshape(len(coef), -1))
        values = (sums + self.intercept_).astype(dtype, copy=False)
        values = values if coef.ndim == 2 else values[:, 0]
        if not return_std:
            return values
        return values, self._deviations(X).astype(dtype, copy=False)

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> RidgeVerification:
        """Return the objective of the function on these samples, and its distance from the least.

        On the samples of the fit this proves how near any solver came to the minimum over all
        functions, also those out of the span of few centres.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With a precomputed kernel: the matrix of the fit.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        RidgeVerification
            Objective, and bounds on its distance from the least.

        Raises
        ------
        ValueError
            For ``alpha=0``, which bounds no distance.

        Notes
        -----
        One product with the Gram matrix of X, computed in blocks: O(n² d) time, O(n) memory.
        """
        # Check the data against those of the fit.
        self._check_ready()
        owner = type(self).__name__
        samples = self._later_samples(X, self.X_fit_)
        n = samples.shape[0]
        y = as_targets(y, n, owner=owner, several=True)
        several = self._several
        beta = self.dual_coef_ if several else self.dual_coef_[:, None]
        if y.shape[1:] != self.dual_coef_.shape[1:]:
            raise ValueError(
                f"y has shape {y.shape}, but {owner} was fitted to "
                f"{f'{beta.shape[1]} targets' if several else 'a vector'}."
            )
        if self._precomputed and samples.shape[0] != samples.shape[1]:
            raise ValueError(
                f"X has shape {samples.shape}, but verify with kernel='precomputed' needs the "
                "square matrix of the fit."
            )
        # Form the system of the samples that have weight.
        weight = as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        alphas = self._positive_alphas(beta.shape[1])
        used = self._images(kept_samples(samples, kept, self._precomputed))
        data = RidgeData(samples, used, y, weight, kept)
        kernel = self._fitted_kernel
        system = data.system(kernel, alphas, self.fit_intercept, False, owner)
        # Verify the fitted function against it.
        rows = samples[kept] if self._precomputed else data.used
        offset = np.atleast_1d(self.intercept_)
        verification = verified(system, kernel, self._centers, beta, offset, rows)
        if several:
            return verification
        return RidgeVerification(*(float(value[0]) for value in vars(verification).values()))

    def leave_one_out(self) -> np.ndarray:
        """Return y_i less the prediction of the fit without sample i, for every sample.

        A sample is left out whole, whatever its weight; NaN where the weight is 0.

        Returns
        -------
        errors : float64 (n_samples,) or (n_samples, n_targets)
            In the units of `y`.

        Raises
        ------
        ValueError
            For ``alpha=0``.
        MemoryError
            If the Gram matrix and a factor of it do not fit.

        Notes
        -----
        No refits: the error is a_i / M_ii, M the inverse of K + alpha/w; with an intercept that of
        ``M - M 1 1' M / 1' M 1``. O(n³) time for the first call after a fit, O(n²) later; where
        solver "cg" fitted more samples than a factor has memory for, each M_ii by conjugate
        gradients, to 1e-10: O(n³) time a step.

        References
        ----------
        .. [1] G. Golub, C. Van Loan, *Matrix Computations*, 4th ed., 2013, section 6.1.
        """
        self._check_ready()
        kept = np.flatnonzero(self.sample_weight_)
        if self.fit_intercept and len(kept) < 2:
            self._refuse_to_leave_out()
        path = self._path()
        system, units = path.system, path.system.units
        errors = np.full((len(self.sample_weight_), len(units.penalties)), np.nan)
        for alpha, columns in by_penalty(units.penalties):
            fitted = path.fitted(alpha, columns)
            scale = system.u * fitted.inverse_diagonal
            errors[np.ix_(kept, columns)] = fitted.coef / scale[:, None]
        return self._by_target(np.ldexp(errors, units.target_power))

    def path(self, alphas: Any) -> RidgePath:
        """Return the functions for many alphas, from one eigendecomposition.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            All above 0.

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
        and O(n²) for each alpha.
        """
        self._check_ready()
        alphas = self._positive(alphas)
        path = self._path(alphas)
        system, units = path.system, path.system.units
        kept, every = np.flatnonzero(self.sample_weight_), np.arange(len(units.penalties))
        m, k = len(alphas), len(every)
        dual = np.zeros((m, len(self.sample_weight_), k))
        intercept, loo, gcv, likelihood, freedom = (np.empty((m, k)) for _ in range(5))
        for i, alpha in enumerate(np.ldexp(alphas, -units.penalty_power)):
            fitted = path.fitted(alpha, every)
            dual[i, kept] = system.dual(fitted.coef)
            intercept[i] = fitted.intercept + system.center
            freedom[i] = path.degrees_of_freedom(alpha, fitted)
            loo[i], gcv[i], likelihood[i] = (path.criterion_of(name, fitted) for name in CRITERIA)
        power = units.target_power
        columns = (
            dual, np.ldexp(intercept, power), freedom, np.ldexp(loo, 2 * power),
            np.ldexp(gcv, 2 * power), likelihood,
        )  # fmt: skip
        return RidgePath(alphas, *map(self._by_target, columns))

    @property
    def effective_dimension_(self) -> float | np.ndarray:
        """Trace of the map from targets to fitted values, computed when it is asked for."""
        self._check_ready()
        path = self._path()
        penalties = path.system.units.penalties
        dimension = np.empty(len(penalties))
        for alpha, columns in by_penalty(penalties):
            dimension[columns] = path.degrees_of_freedom(alpha, path.fitted(alpha, columns))
        return self._value(dimension)

    @property
    def _centers(self):
        """Samples of the function's terms, as the kernel takes them; else their columns."""
        if self._precomputed:
            return np.arange(len(self.dual_coef_))
        return self._images(self.X_fit_)

    def _images(self, samples):
        """Return checked samples in float64 as the kernel takes them."""
        return differences(samples, self.origin_)

    def _about_mean(self, data, kernel, fit_intercept):
        """Return the data, their samples less the mean if an intercept makes up for it, and it."""
        if not fit_intercept:
            return data, None
        weight = scaled_weights(data.weight[data.kept])[0]
        origin = mean_if_free(data.used, kernel, weight)
        if origin is not None:
            data = data._replace(used=differences(data.used, origin))
        return data, origin

    def _checked_data(self, X, y, sample_weight):
        samples = self._training_samples(X)
        n = samples.shape[0]
        y = as_targets(y, n, owner=type(self).__name__, several=True)
        weight = as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        return RidgeData(samples, kept_samples(samples, kept, self._precomputed), y, weight, kept)

    def _number_of(self, gamma, data):
        """Return the number that `gamma` means for these data; 0 where kernels have no width."""
        no_width = isinstance(gamma, str) and (self._precomputed or not of_numbers(data.used))
        return 0.0 if no_width else resolve_gamma(gamma, data.used, data.weight[data.kept])

    # ---- after a fit

    def _check_ready(self):
        """Raise NotFittedError before the first fit; models of sums, also before `update`."""
        self._check_fitted()

    @property
    def _several(self):
        """True if the targets are columns, False if they are a vector."""
        return self.dual_coef_.ndim == 2

    def _by_target(self, array):
        """Return an array of k targets, its last axis, as the targets are."""
        return array if self._several else array[..., 0]

    def _value(self, values):
        """Return one value for each target, (k,), as the targets are."""
        return values if self._several else float(values[0])

    def _refuse_to_leave_out(self):
        raise ValueError(
            f"{type(self).__name__}: n_samples=1, but with fit_intercept=True to leave one out "
            "needs at least 2."
        )

    @property
    def _derived(self):
        arrays = [getattr(self, name) for name in self._kept]
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
        """Return a path for these alphas, by default those of the fit; the next call has it too."""
        derived = self._derived
        last = derived.path
        count = len(np.unique(self.alpha_ if alphas is None else alphas))
        if last is None and alphas is None and self._too_large:
            system = self._system(stored=False)
            factor = partial_factor(system.S, system.S.n, np.random.default_rng(0))
            derived.path = GradientPath(system, factor)
        elif last is None or (alphas is not None and isinstance(last, GradientPath)):
            require_path(np.count_nonzero(self.sample_weight_), count)
            derived.path = path_for(self._system(stored=True), count)
        elif by_eigenvectors(last.system.S.n, count) and not isinstance(last, EigenPath):
            require_path(last.system.S.n, count)
            system = last.system
            last = derived.path = None  # its factor is freed before the eigenvectors are computed
            derived.path = path_for(system, count)
        return derived.path

    @property
    def _too_large(self):
        """True if the fit was without the Gram matrix, and a factor of it does not fit."""
        n = np.count_nonzero(self.sample_weight_)
        return getattr(self, "solver_", None) == "cg" and FACTOR_BYTES * n**2 > free_bytes()

    def _system(self, stored):
        """Return the linear system of the fit."""
        kernel, weight = self._fitted_kernel, self.sample_weight_
        kept = np.flatnonzero(weight)
        samples = self._images(kept_samples(self.X_fit_, kept, kernel.precomputed))
        data = RidgeData(self.X_fit_, samples, self.y_fit_, weight, kept)
        alphas = self._positive_alphas(data.columns.shape[1])
        return data.system(kernel, alphas, self.fit_intercept, stored, type(self).__name__)

    def _positive_alphas(self, n_targets):
        """Return alpha of each target, (n_targets,); refuse 0."""
        alphas = np.broadcast_to(self.alpha_, (n_targets,)).astype(np.float64)
        if not alphas.min() > 0:
            raise ValueError(f"{type(self).__name__}: this needs alpha > 0, not alpha=0.")
        return alphas

    def _positive(self, alphas):
        """Return the penalties of a path or a search, checked."""
        alphas = as_penalties(alphas, "alphas", type(self).__name__)
        if not alphas.min() > 0:
            raise ValueError(f"{type(self).__name__}: alphas holds 0, but all must be above 0.")
        return alphas

    def _deviations(self, X):
        """Return the standard deviations of predictions of samples as the kernel takes them."""
        path = self._path()
        kernel, system, units = self._fitted_kernel, path.system, path.system.units
        kept = np.flatnonzero(self.sample_weight_)
        own = np.ldexp(kernel.diagonal(X), -units.kernel_power)
        std = np.empty((X.shape[0], len(units.penalties)))
        scale = self._scale_of(system.total, units.weight_power)
        for alpha, columns in by_penalty(units.penalties):
            variance = np.maximum(path.energy(alpha, columns), 0.0) / scale.divisor
            for rows, values in self._expansion.blocks(X):
                k = np.ldexp(values[:, kept], -units.kernel_power)
                left = np.maximum(own[rows] - path.explained(k, alpha), 0.0)
                std[rows, columns] = np.sqrt(np.outer(left, variance))
        return self._by_target(np.ldexp(std, units.target_power - scale.power))

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

    def _attributes(self, data, system, solution, penalties):
        """Return the fitted attributes of a solution for these penalties."""
        units, evidence = system.units, system.evidence(solution, penalties)
        dual = np.zeros((len(data.weight), len(penalties)))
        dual[data.kept] = system.dual(solution.coef)
        power = units.target_power
        of_targets = {
            "intercept_": np.ldexp(solution.intercept, power),
            "alpha_": np.ldexp(penalties, units.penalty_power),
            "duality_gap_": np.ldexp(evidence.gap, units.square_power),
            "objective_": np.ldexp(solution.objective, units.square_power),
            "prediction_bound_": np.ldexp(evidence.prediction, power - units.kernel_power // 2),
        }
        return as_targets_are(data.y.ndim == 2, dual, of_targets)


def checked_alpha(alpha: Any, owner: str) -> Any:
    """Return the parameter alpha, checked as far as that needs no targets."""
    if isinstance(alpha, str):
        return as_choice(alpha, "alpha", CRITERIA, owner=owner)
    return as_real(alpha, "alpha", owner=owner, at_least=0) if np.ndim(alpha) == 0 else alpha


def alpha_of_targets(alpha: Any, n_targets: int, owner: str) -> np.ndarray | str:
    """Return alpha of each target, float64 (n_targets,), or the criterion that chooses it."""
    if isinstance(alpha, str):
        return alpha
    if np.ndim(alpha) == 0:
        return np.full(n_targets, alpha)
    return as_target_penalties(alpha, n_targets, owner)


def as_targets_are(
    several: bool, dual: np.ndarray, of_targets: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return fitted attributes of k targets: arrays for several, numbers for a vector."""
    if several:
        return {"dual_coef_": dual, **of_targets}
    numbers = {name: float(values[0]) for name, values in of_targets.items()}
    return {"dual_coef_": dual[:, 0], **numbers}


def data_attributes(data: RidgeData) -> dict[str, Any]:
    """Return copies of the data that a fitted model keeps; call it when its matrices are freed."""
    return {
        "X_fit_": copied(data.samples),
        "y_fit_": data.y.copy(),
        "sample_weight_": data.weight.copy(),
    }


def _first_of_equal_rows(X, y):
    """Return the first of each set of equal rows of [X y], and the set of each row."""
    y = np.ascontiguousarray(y + 0.0)  # -0 is 0
    if sparse.issparse(X):
        indptr, values = X.indptr, X.data + 0.0
        keys = [
            (X.indices[a:b].tobytes(), values[a:b].tobytes(), target.tobytes())
            for a, b, target in zip(indptr[:-1], indptr[1:], y, strict=True)
        ]
    else:
        keys = [(row + 0.0).tobytes() + target.tobytes() for row, target in zip(X, y, strict=True)]
    numbers = {}
    copy_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    return np.unique(copy_of, return_index=True)[1], copy_of
