"""Kernel ridge regression in the span of some samples, from sums over rows: Nyström's method."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_integer,
    as_random_state,
    as_targets,
    as_weights,
    require_random_state,
)
from mlcore.checks.arrays import Numbers
from mlcore.checks.penalties import by_penalty
from mlcore.kernel_ridge.alpha_path.alpha_path import Criterion, RidgePath
from mlcore.kernel_ridge.alpha_path.span_path import SpanPath
from mlcore.kernel_ridge.ridge_model import (
    RidgeData,
    RidgeModel,
    alpha_of_targets,
    as_targets_are,
    checked_alpha,
    require_two,
)
from mlcore.kernel_ridge.span_system import (
    RowUnits,
    SpanSums,
    SpanSystem,
    merged_sums,
    sums_of,
    units_of,
)
from mlcore.kernels.kernel import Kernel, as_double, copied
from mlcore.kernels.kernel_model import kept_samples
from mlcore.kernels.span import Span, SpanBasis, span_of
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.row_sums import OnePass

_CENTERS = 500
_SAME = 1e-7  # share to which sums over the samples of a fit are known
# Of `KernelRidge` in 0.2, which held this model too.
_OF_KERNEL_RIDGE = ("solver", "tol", "max_iter", "solver_", "n_iter_", "converged_")


class _Settings(NamedTuple):
    """Checked parameters; alpha for one target or all, or its criterion."""

    alpha: Any
    kernel: Kernel
    gamma: float | GammaRule
    fit_intercept: bool
    n_centers: int


def _older_basis(triangle, units):
    return SpanBasis(triangle, *units)


def _older_units(units, several):
    return RowUnits(*units, several)


class NystroemRidge(OnePass, RidgeModel):
    r"""`KernelRidge` among the functions of few samples, from sums over rows: Nyström's method.

    .. math:: \min_{a, b} \sum_i w_i (y_i - f(x_i) - b)^2 + \alpha |f|^2,
        \quad f(x) = \sum_j a_j k(c_j, x),

    for the centres c_j, which are chosen among the samples; b = 0 unless `fit_intercept`.
    `verify` tells how far the function is from the best of all. A model is a `RowSums`: it is
    fitted to blocks of rows of any number, and has `partial_fit`.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,), or {"loo", "gcv", "likelihood"}, default=1.0
        Penalty, above 0; or the criterion whose minimum chooses it for each target, as in
        `KernelRidge`, for the function in the span. From blocks of rows "gcv" and "likelihood"
        alone, which know copies only within a block.
    kernel : str, callable or Kernel, default="linear"
        As in `KernelRidge`, and so `gamma`, `degree`, `coef0` and `fit_intercept`.
    gamma : float, "scale" or "auto", optional
    degree : int, default=3
    coef0 : float, default=1
    fit_intercept : bool, default=False
    n_centers : int, optional
        Largest number of centres, 500 by default. Those nearly in the span of others are left out.
    random_state : None, int, Generator or RandomState, default=None
        Draws the centres.

    Attributes
    ----------
    dual_coef_ : (n_centers,) or (n_centers, n_targets) float64
        a.
    intercept_ : float or (n_targets,) float64
    origin_ : (n_features,) float64 or None
        As in `KernelRidge`.
    alpha_ : float or (n_targets,) float64
    duality_gap_ : float or (n_targets,) float64
        Upper bound of the objective less its minimum in the span of the centres.
    objective_ : float or (n_targets,) float64
        The minimised sum.
    prediction_bound_ : float or (n_targets,) float64
        As in `KernelRidge`, for the minimiser in the span of the centres.
    X_fit_ : (n_centers, n_features)
        The centres; with ``kernel="precomputed"`` the kernel values between them.
    center_indices_ : (n_centers,) intp
        Indices of the centres among the samples of `fit` or `begin`.
    effective_dimension_ : float or (n_targets,) float64
        Trace of the map from targets to fitted values.
    gamma_ : float
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    See Also
    --------
    KernelRidge : The best function of all samples.

    Notes
    -----
    O(n m (d + m)) time and O(m²) memory for n samples of d features and m centres. The centres are
    the pivots of a randomly pivoted Cholesky factor [1]_.

    References
    ----------
    .. [1] Y. Chen, E. Epperly, J. Tropp, R. Webber, *Randomly pivoted Cholesky*, Communications on
       Pure and Applied Mathematics 78, 2025 (arXiv:2207.06503).
    .. [2] C. Williams, M. Seeger, *Using the Nyström method to speed up kernel machines*, NIPS
       2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernel_ridge import NystroemRidge
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = NystroemRidge(1e-3, kernel="rbf", n_centers=20, random_state=0)
    >>> round(model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])), 4)
    1.0
    """

    center_indices_: np.ndarray
    _view_: SpanBasis
    _units_: RowUnits
    _sums_: SpanSums

    _kept = ("X_fit_",)
    start_rows = "sample"  # of which some are the centres
    _result, _Statistics = "dual_coef_", SpanSums
    _stored = {
        "center_indices_": "int m < _",
        "_view_": SpanBasis,
        "_units_": RowUnits,
        "_sums_": SpanSums,
    }
    _older = {
        "_view_": (_older_basis, "triangle", "span_units"),
        "_units_": (_older_units, "row_units", "several"),
        **dict.fromkeys(_OF_KERNEL_RIDGE),
    }

    def __init__(
        self,
        alpha: float | Numbers | Criterion = 1.0,
        *,
        kernel: KernelName | Callable[..., Any] | Kernel = "linear",
        gamma: float | GammaRule | None = None,
        degree: int = 3,
        coef0: float = 1,
        fit_intercept: bool = False,
        n_centers: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.n_centers = n_centers
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose centres among the samples, and fit the function.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; and where the kernel is not
            positive semi-definite on the samples.
        MemoryError
            If what must be held does not fit.
        """
        settings = self._settings()
        data = self._checked_data(X, y, sample_weight)
        begun, span, data = self._begun(settings, data)
        units = begun["_units_"]
        sums = self._sums_over(span, units, data)
        self._set_fitted(X, **begun, **self._solved_sums(span, units, sums, data))
        return self

    # ---- fit from blocks of rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose centres and units from first rows, which `n_centers` samples should represent.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        self._refuse_blocks_for_loo()
        if self._precomputed:
            raise ValueError(
                f"{type(self).__name__}: kernel='precomputed' needs all rows at once: use fit."
            )
        data = self._checked_data(X, y, sample_weight)
        self._set_fitted(X, **self._begun(settings, data)[0])
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> SpanSums:
        """Return the sums over the rows of `X` and `y`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : SpanSums
            Sums over these rows.
        """
        data = self._later_data(X, y, sample_weight)
        return self._sums_over(self._span, self._units_, data)

    def merge(self, a: SpanSums, b: SpanSums) -> SpanSums:
        """Return the sums over the rows of both.

        Parameters
        ----------
        a, b : SpanSums
            Sums over different rows.

        Returns
        -------
        statistics : SpanSums
            Their sums.
        """
        return merged_sums(a, b)

    def update(self, statistics: SpanSums) -> Self:
        """Fit the function to the sums over all rows: the whole fit.

        Parameters
        ----------
        statistics : SpanSums
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        self._settings()
        self._refuse_blocks_for_loo()
        self._check_fitted()
        self._update_state(self._solved_sums(self._span, self._units_, statistics))
        return self

    # ---- the fit

    def _settings(self):
        owner, count = type(self).__name__, self.n_centers
        settings = _Settings(
            alpha=checked_alpha(self.alpha, owner),
            kernel=self._checked_kernel(),
            gamma="auto" if self.gamma is None else self._checked_gamma(self.gamma),
            fit_intercept=as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            n_centers=_CENTERS
            if count is None
            else as_integer(count, "n_centers", owner=owner, at_least=1),
        )
        require_random_state(self.random_state, owner=owner)
        return settings

    def _refuse_blocks_for_loo(self):
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError(
                f"{type(self).__name__}: alpha='loo' needs all rows again, after their sums: use "
                "fit, or alpha='gcv'."
            )

    def _begun(self, settings, data):
        """Return the attributes that come before the sums, the span, and data less `origin_`."""
        owner = type(self).__name__
        alphas = alpha_of_targets(settings.alpha, data.columns.shape[1], owner)
        if not isinstance(alphas, str) and not alphas.min() > 0:
            raise ValueError(
                f'{owner}: alpha=0 needs KernelRidge with solver="cholesky", whose function is one '
                "of all samples."
            )
        data, origin = self._about_mean(data, settings.kernel, settings.fit_intercept)
        gamma = self._number_of(settings.gamma, data)
        kernel, rng = settings.kernel.with_gamma(gamma), as_random_state(self.random_state)
        span, chosen = span_of(kernel, data.used, settings.n_centers, rng, self._precomputed)
        weight, several = data.weight[data.kept], data.y.ndim == 2
        begun = {
            "X_fit_": copied(kept_samples(data.samples, data.kept[chosen], self._precomputed)),
            "center_indices_": data.kept[chosen],
            "gamma_": gamma,
            "origin_": origin,
            "_view_": span.basis,
            "_units_": units_of(span, self._rows_for_span(data), data.columns, weight, several),
        }
        return begun, span, data

    def _rows_for_span(self, data):
        """Samples of positive weight; of a precomputed kernel their rows, all columns."""
        return data.samples[data.kept] if self._precomputed else data.used

    def _sums_over(self, span, units, data):
        rows = self._rows_for_span(data), data.columns, data.weight[data.kept]
        if isinstance(self.alpha, str):  # the criteria count samples
            rows = self._rows(data)
        return sums_of(span, units, *rows)

    def _rows(self, data):
        """Return rows for the span, targets and weights, copies as one sample."""
        X, y = self._rows_for_span(data), data.columns
        first, weight = data.first_copies()
        return (X, y, weight) if len(first) == len(y) else (X[first], y[first], weight)

    def _later_data(self, X, y, sample_weight):
        """Return checked rows of a later call."""
        samples = self._later_samples(X, self.X_fit_)
        n = samples.shape[0]
        y = as_targets(y, n, owner=type(self).__name__, several=True)
        count, several = self._n_targets, self._units_.several
        if (y.ndim == 2) != several or (several and y.shape[1] != count):
            raise ValueError(
                f"y has shape {y.shape}, but {type(self).__name__} began with "
                f"{f'{count} targets' if several else 'a vector'}."
            )
        weight = as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        used = self._images(kept_samples(samples, kept, False))
        return RidgeData(samples, used, y, weight, kept)

    def _solved_sums(self, span, units, sums, data=None):
        """Return the attributes of the function that fits the sums; `data` are for "loo" alone."""
        k = len(units.origin) - span.m
        system = SpanSystem(sums, units.origin, span.m, self.fit_intercept)
        alphas = alpha_of_targets(self.alpha, k, type(self).__name__)
        penalty_power = span.power + units.weight_power
        if isinstance(alphas, str):
            require_two(system.n_samples, type(self).__name__)
            blocks = None
            if alphas == "loo":
                blocks = partial(_row_blocks, span, units, self._rows(data))
            penalties = SpanPath(system).best_alphas(alphas, blocks)
            alphas = np.ldexp(penalties, penalty_power)
        else:
            penalties = np.ldexp(alphas, -penalty_power)
        theta, of_targets = np.empty((span.m, k)), np.empty((4, k))
        for alpha, columns in by_penalty(penalties):
            solved = system.solve(alpha, columns, span)
            theta[:, columns], of_targets[:, columns] = solved.theta, np.array(solved[1:])
        intercept, gap, objective, distance = of_targets
        power, square = units.target_power, units.weight_power + 2 * units.target_power
        beta = np.ldexp(span.coefficients(theta), power - span.power)
        of_targets = {
            "intercept_": np.ldexp(intercept, power),
            "alpha_": alphas,
            "duality_gap_": np.ldexp(gap, square),
            "objective_": np.ldexp(objective, square),
            "prediction_bound_": np.ldexp(distance, power - span.power // 2),
        }
        return {**as_targets_are(units.several, beta, of_targets), "_sums_": sums}

    # ---- after a fit

    @property
    def _n_targets(self):
        return len(self._units_.origin) - len(self._view_.triangle)

    @property
    def _centers(self):
        return self.center_indices_ if self._precomputed else self._images(self.X_fit_)

    @property
    def _span(self):
        return Span(self._fitted_kernel, self._centers, *self._view_)

    @property
    def _span_system(self):
        m = len(self._view_.triangle)
        return SpanSystem(self._sums_, self._units_.origin, m, self.fit_intercept)

    @property
    def _penalties(self):
        """Penalties of the targets in the units of the sums, (k,)."""
        alphas = np.broadcast_to(self.alpha_, self._n_targets)
        return np.ldexp(alphas, -self._view_.power - self._units_.weight_power)

    @property
    def effective_dimension_(self) -> float | np.ndarray:
        """Trace of the map from targets to fitted values, computed when it is asked for."""
        self._check_ready()
        system = self._span_system
        dimensions = [system.effective_dimension(alpha) for alpha in self._penalties]
        return self._value(np.array(dimensions))

    def path(
        self, alphas: Any, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> RidgePath:
        """Return the functions for many alphas, from one eigendecomposition.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            All above 0.
        X, y, sample_weight : as in `fit`, optional
            Samples of the fit, which the model does not keep: those of which `loo` is computed.

        Returns
        -------
        path : RidgePath
            One function for each alpha.

        Raises
        ------
        TypeError, ValueError
            For other alphas; for samples that are not of the fit, as far as its sums tell.

        Notes
        -----
        O(c³) time for c centres and O(c²) for each alpha, and O(n c²) for `loo` of n samples.
        """
        self._check_ready()
        alphas = self._positive(alphas)
        system, units, span = self._span_system, self._units_, self._span
        path = SpanPath(system)
        m, every = len(alphas), np.arange(self._n_targets)
        power, square = units.target_power, 2 * units.target_power
        penalties = np.ldexp(alphas, -span.power - units.weight_power)
        dual = np.empty((m, span.m, len(every)))
        intercept = np.zeros((m, len(every)))
        freedom, gcv, likelihood = (np.empty((m, len(every))) for _ in range(3))
        for i, alpha in enumerate(penalties):
            theta = path.theta(alpha)
            dual[i] = np.ldexp(span.coefficients(theta), power - span.power)
            if self.fit_intercept:
                intercept[i] = system.mean[span.m :] - system.mean[: span.m] @ theta
            freedom[i] = path.degrees_of_freedom(alpha)
            gcv[i] = path.criterion("gcv", alpha, every)
            likelihood[i] = path.criterion("likelihood", alpha, every)
        loo = np.full((m, len(every)), np.nan)
        if X is not None:
            data = self._later_data(X, y, sample_weight)
            self._require_of_fit(data, "path")
            rows = self._rows_for_span(data), data.columns, data.weight[data.kept]
            loo = path.left_out(_row_blocks(span, units, rows, m), [(penalties, every)])[0]
        columns = (
            dual, np.ldexp(intercept, power), freedom, np.ldexp(loo, square),
            np.ldexp(gcv, square), likelihood,
        )  # fmt: skip
        return RidgePath(alphas, *map(self._by_target, columns))

    def _deviations(self, X):
        system, units, span = self._span_system, self._units_, self._span
        penalties = self._penalties
        own = np.ldexp(span.kernel.diagonal(X), -span.power)
        std = np.empty((X.shape[0], len(penalties)))
        factors = [(alpha, system.factor(alpha), c) for alpha, c in by_penalty(penalties)]
        energies = [system.energy(*one) for one in factors]
        scale = self._scale_of(system.total, units.weight_power)
        for rows, phi in span.features(X):
            left = np.maximum(own[rows] - np.einsum("ij,ij->i", phi, phi), 0.0)
            for (alpha, factor, columns), energy in zip(factors, energies, strict=True):
                size = left + alpha * system.leverages(factor, phi, np.ones(1))
                std[rows, columns] = np.sqrt(np.outer(size, energy / scale.divisor))
        return self._by_target(np.ldexp(std, units.target_power - scale.power))

    def _require_of_fit(self, data, method):
        """Refuse samples that cannot be some of those of the fit, by their weight and targets."""
        system, units = self._span_system, self._units_
        m = system.m
        w = np.ldexp(data.weight[data.kept], -units.weight_power)
        y = np.ldexp(data.columns, -units.target_power)
        mean, total = system.mean[m:], float(w.sum())
        squares = system.squares + system.total * mean**2 * self.fit_intercept
        slack = _SAME * np.sqrt(system.total * squares)
        foreign = total > (1 + _SAME) * system.total
        foreign |= bool((w @ y**2 > (1 + _SAME) * squares).any())
        every = not isinstance(self.alpha, str) and len(w) >= system.n_samples
        if every or total >= (1 - _SAME) * system.total:  # all of them, in the same weights
            foreign |= len(w) > system.n_samples and every
            foreign |= total < (1 - _SAME) * system.total
            foreign |= bool((np.abs(w @ y - system.total * mean) > slack).any())
        if foreign:
            raise _other_samples(method)

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return y_i less the prediction of the fit without sample i, for samples of the fit.

        A sample is left out whole, whatever its weight; NaN where the weight is 0. It may stay a
        centre.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
            Some of the samples of the fit, which the model does not keep.

        Returns
        -------
        errors : float64 (n_samples,) or (n_samples, n_targets)
            In the units of `y`.

        Raises
        ------
        ValueError
            For samples that are not of the fit, as far as its sums tell.

        Notes
        -----
        The error is ``r_i / (1 - h_i)``, r the residual and h the derivative of the fitted value by
        its own target: O(n m²) time for m centres.
        """
        self._check_ready()
        data = self._later_data(X, y, sample_weight)
        self._require_of_fit(data, "leave_one_out")
        system, units = self._span_system, self._units_
        targets = data.y if data.y.ndim == 2 else data.y[:, None]
        scaled = np.ldexp(data.weight, -units.weight_power)
        if self.fit_intercept and scaled.max() >= system.total:
            self._refuse_to_leave_out()
        predicted = self.predict(X)
        errors = targets - (predicted if predicted.ndim == 2 else predicted[:, None])
        factors = [
            (system.factor(alpha), columns) for alpha, columns in by_penalty(self._penalties)
        ]
        for rows, phi in self._span.features(self._images(data.samples)):
            for factor, columns in factors:
                h = system.leverages(factor, phi, scaled[rows])
                if not (h < 1).all():
                    raise _other_samples("leave_one_out")
                errors[rows, columns] /= (1 - h)[:, None]
        errors[data.weight == 0] = np.nan
        return self._by_target(errors)

    def _from_older_state(self, state):
        if type(state.get("_sums_")) is tuple:  # of 0.2
            state["_sums_"] = SpanSums(*state["_sums_"])
        return super()._from_older_state(state)


def _row_blocks(span, units, rows, width):
    """Yield features, targets and weights of blocks of rows, in the units of the sums."""
    X, y, weight = rows
    y, weight = np.ldexp(y, -units.target_power), np.ldexp(weight, -units.weight_power)
    for rows, phi in span.features(as_double(X), width):
        yield phi, y[rows], weight[rows]


def _other_samples(method):
    return ValueError(
        f"{method} needs samples of the fit: these have another weight or other targets, or are "
        "farther from the others than any of the fit."
    )
