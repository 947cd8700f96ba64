"""Kernel ridge regression in the span of some samples, from sums over rows: Nyström's method."""

import copy
from functools import partial
from typing import Any, Self

import numpy as np

from mlcore.checks import as_random_state, as_targets, as_weights
from mlcore.checks.penalties import by_penalty
from mlcore.estimator.mixins import only_with
from mlcore.kernel_ridge.alpha_path.span_path import SpanPath
from mlcore.kernel_ridge.diagnostics import RidgePath
from mlcore.kernel_ridge.ridge_model import RidgeData, require_two
from mlcore.kernel_ridge.span_system import (
    RowUnits,
    SpanSums,
    SpanSystem,
    merged_sums,
    sums_of,
    units_of,
)
from mlcore.kernels.kernel import as_double, copied
from mlcore.kernels.kernel_model import kept_samples
from mlcore.kernels.span import Span, span_of
from mlcore.row_sums import RowSums

_CENTERS = 500
_SAME = 1e-7  # share to which sums over the samples of a fit are known


class Nystroem(RowSums):
    """Mixin of `KernelRidge` for solver="nystroem": a fit from sums over rows, and what follows."""

    center_indices_: np.ndarray
    _triangle_: np.ndarray  # of the Span
    _span_units_: tuple[int, float]  # power and rounding of the Span
    _row_units_: tuple
    _sums_: tuple  # the SpanSums of the fit
    _several_: bool  # targets

    _stored = {
        "center_indices_": "int m < _",
        "_triangle_": "float64 m m",
        "_span_units_": ("int", "float"),
        "_row_units_": ("int", "int", "float64 w"),
        "_sums_": ("float", "float64 w", "float64 w w", "count"),
        "_several_": "bool",
    }

    # ---- fit from blocks of rows

    @only_with("solver", "nystroem")
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
        self._set_fitted(X, **self._begun(settings, data))
        return self

    @only_with("solver", "nystroem")
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
        return self._sums_over(data)

    @only_with("solver", "nystroem")
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

    @only_with("solver", "nystroem")
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
        self._update_state(self._solved_sums(statistics))
        return self

    @only_with("solver", "nystroem")
    def needs_another_pass(self) -> bool:
        """Return True after `begin`, False after `update`: sums over all rows are the whole fit.

        Returns
        -------
        needed : bool
            Whether to sum over all rows.
        """
        self._check_fitted()
        return not hasattr(self, "dual_coef_")

    @only_with("solver", "nystroem")
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add the rows of `X` to those of `fit` or earlier calls, and fit the function to all.

        The first call chooses centres among its rows, where there was no `begin` or `fit`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            For ``alpha="loo"``, which needs all rows again: give them to `fit`.
        """
        self._refuse_blocks_for_loo()
        model = copy.copy(self)
        if not self._in_span:
            model.begin(X, y, sample_weight)
        total = model.partial_statistics(X, y, sample_weight)
        if "_sums_" in vars(model):
            total = merged_sums(SpanSums(*model._sums_), total)
        model.update(total)
        self._update_state(vars(model), forget=vars(self).keys() - vars(model).keys())
        return self

    # ---- the fit

    def _fit_in_span(self, X, settings, data):
        begun = self._begun(settings, data)
        model = copy.copy(self)
        model.__dict__ = vars(self) | begun
        if begun["origin_"] is not None:
            data = data._replace(used=model._images(data.used))
        solved = model._solved_sums(model._sums_over(data), data)
        self._set_fitted(X, **begun, **solved)

    def _refuse_blocks_for_loo(self):
        if isinstance(self.alpha, str) and self.alpha == "loo":
            raise ValueError(
                f"{type(self).__name__}: alpha='loo' needs all rows again, after their sums: use "
                "fit, or alpha='gcv'."
            )

    def _begun(self, settings, data):
        """Return the attributes that come before the sums."""
        alphas = self._alphas(data.columns.shape[1])
        if not isinstance(alphas, str) and not alphas.min() > 0:
            raise ValueError(
                f'{type(self).__name__}: alpha=0 needs solver="cholesky", not "nystroem".'
            )
        data, origin = self._about_mean(data, settings.kernel, settings.fit_intercept)
        gamma = self._number_of(settings.gamma, data)
        kernel = settings.kernel.with_gamma(gamma)
        count = _CENTERS if settings.n_centers is None else settings.n_centers
        rng = as_random_state(self.random_state)
        span, chosen = span_of(kernel, data.used, count, rng, self._precomputed)
        weight = data.weight[data.kept]
        return {
            "X_fit_": copied(kept_samples(data.samples, data.kept[chosen], self._precomputed)),
            "center_indices_": data.kept[chosen],
            "gamma_": gamma,
            "origin_": origin,
            "solver_": "nystroem",
            "n_iter_": 1,
            "converged_": True,
            "_triangle_": span.L,
            "_span_units_": (span.power, span.rounding),
            "_row_units_": tuple(units_of(span, self._rows_for_span(data), data.columns, weight)),
            "_several_": data.y.ndim == 2,
        }

    def _rows_for_span(self, data):
        """Samples of positive weight; of a precomputed kernel their rows, all columns."""
        return data.samples[data.kept] if self._precomputed else data.used

    def _sums_over(self, data):
        rows = self._rows_for_span(data), data.columns, data.weight[data.kept]
        if isinstance(self.alpha, str):  # the criteria count samples
            rows = self._rows(data)
        return sums_of(self._span, RowUnits(*self._row_units_), *rows)

    def _rows(self, data):
        """Return rows for the span, targets and weights, copies as one sample."""
        X, y = self._rows_for_span(data), data.columns
        first, weight = data.first_copies()
        return (X, y, weight) if len(first) == len(y) else (X[first], y[first], weight)

    def _row_blocks(self, rows, width):
        """Yield features, targets and weights of blocks of rows, in the units of the sums."""
        X, y, weight = rows
        units = RowUnits(*self._row_units_)
        y, weight = np.ldexp(y, -units.target_power), np.ldexp(weight, -units.weight_power)
        for rows, phi in self._span.features(as_double(X), width):
            yield phi, y[rows], weight[rows]

    def _later_data(self, X, y, sample_weight):
        """Return checked rows of a later call."""
        samples = self._later_samples(X, self.X_fit_)
        n = samples.shape[0]
        y = as_targets(y, n, owner=type(self).__name__, several=True)
        count = len(self._row_units_[2]) - len(self._triangle_)
        if (y.ndim == 2) != self._several_ or (y.ndim == 2 and y.shape[1] != count):
            raise ValueError(
                f"y has shape {y.shape}, but {type(self).__name__} began with "
                f"{f'{count} targets' if self._several_ else 'a vector'}."
            )
        weight = as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        used = self._images(kept_samples(samples, kept, False))
        return RidgeData(samples, used, y, weight, kept)

    def _solved_sums(self, sums, data=None):
        """Return the attributes of the function that fits the sums; `data` are for "loo" alone."""
        span, units = self._span, RowUnits(*self._row_units_)
        m, k = span.m, len(units.origin) - span.m
        system, alphas = SpanSystem(sums, units.origin, m, self.fit_intercept), self._alphas(k)
        theta, arrays = np.empty((m, k)), np.empty((4, k))
        penalty_power = span.power + units.weight_power
        if isinstance(alphas, str):
            penalties = self._chosen_in_span(system, alphas, data)
            alphas = np.ldexp(penalties, penalty_power)
        else:
            penalties = np.ldexp(alphas, -penalty_power)
        for alpha, columns in by_penalty(penalties):
            found = system.solve(alpha, columns, span)
            theta[:, columns], arrays[:, columns] = found.theta, np.array(found[1:])
        power, square = units.target_power, units.weight_power + 2 * units.target_power
        beta = np.ldexp(span.coefficients(theta), power - span.power)
        value = (lambda v: v) if self._several_ else (lambda v: float(v[0]))
        return {
            "dual_coef_": beta if self._several_ else beta[:, 0],
            "intercept_": value(np.ldexp(arrays[0], power)),
            "alpha_": value(alphas),
            "duality_gap_": value(np.ldexp(arrays[1], square)),
            "objective_": value(np.ldexp(arrays[2], square)),
            "prediction_bound_": value(np.ldexp(arrays[3], power - span.power // 2)),
            "_sums_": tuple(sums),
        }

    def _chosen_in_span(self, system, criterion, data):
        """Return the penalties of the least criterion, (k,)."""
        require_two(system.n_samples, type(self).__name__)
        blocks = partial(self._row_blocks, self._rows(data)) if criterion == "loo" else None
        return SpanPath(system).best_alphas(criterion, blocks)

    # ---- after a fit

    @property
    def _span(self):
        kernel = self._fitted_kernel
        centers = self.center_indices_ if kernel.precomputed else self._images(self.X_fit_)
        return Span(kernel, centers, self._triangle_, *self._span_units_)

    @property
    def _span_system(self):
        units = RowUnits(*self._row_units_)
        sums, m = SpanSums(*self._sums_), len(self._triangle_)
        return SpanSystem(sums, units.origin, m, self.fit_intercept), units

    def _penalties(self, units):
        alphas = np.broadcast_to(self.alpha_, len(units.origin) - len(self._triangle_))
        return np.ldexp(alphas, -self._span_units_[0] - units.weight_power)

    def _effective_dimension_in_span(self):
        system, units = self._span_system
        found = [system.effective_dimension(alpha) for alpha in self._penalties(units)]
        return np.array(found) if self._several_ else found[0]

    def _path_in_span(self, alphas, X, y, sample_weight):
        system, units = self._span_system
        path, span, several = SpanPath(system), self._span, self._several_
        m, every = len(alphas), np.arange(len(units.origin) - span.m)
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
            loo = path.left_out(self._row_blocks(rows, m), [(penalties, every)])[0]
        found = (
            dual, np.ldexp(intercept, power), freedom, np.ldexp(loo, square),
            np.ldexp(gcv, square), likelihood,
        )  # fmt: skip
        return RidgePath(alphas, *(v if several else v[..., 0] for v in found))

    def _deviations_in_span(self, X):
        system, units = self._span_system
        span = self._span
        penalties = self._penalties(units)
        own = np.ldexp(span.kernel.diagonal(X), -span.power)
        found = np.empty((X.shape[0], len(penalties)))
        factors = [(alpha, system.factor(alpha), c) for alpha, c in by_penalty(penalties)]
        energies = [system.energy(*one) for one in factors]
        scale = self._scale_of(system.total, units.weight_power)
        for rows, phi in span.features(X):
            left = np.maximum(own[rows] - np.einsum("ij,ij->i", phi, phi), 0.0)
            for (alpha, factor, columns), energy in zip(factors, energies, strict=True):
                size = left + alpha * system.leverages(factor, phi, np.ones(1))
                found[rows, columns] = np.sqrt(np.outer(size, energy / scale.divisor))
        found = np.ldexp(found, units.target_power - scale.power)
        return found if self._several_ else found[:, 0]

    def _require_of_fit(self, data, method):
        """Refuse samples that cannot be some of those of the fit, by their weight and targets."""
        system, units = self._span_system
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

    def _leave_one_out_in_span(self, X, y, sample_weight):
        data = self._later_data(X, y, sample_weight)
        self._require_of_fit(data, "leave_one_out")
        system, units = self._span_system
        targets = data.y if data.y.ndim == 2 else data.y[:, None]
        scaled = np.ldexp(data.weight, -units.weight_power)
        if self.fit_intercept and scaled.max() >= system.total:
            self._refuse_to_leave_out()
        predicted = self.predict(X)
        errors = targets - (predicted if predicted.ndim == 2 else predicted[:, None])
        penalties = by_penalty(self._penalties(units))
        factors = [(system.factor(alpha), columns) for alpha, columns in penalties]
        for rows, phi in self._span.features(self._images(data.samples)):
            for factor, columns in factors:
                h = system.leverages(factor, phi, scaled[rows])
                if not (h < 1).all():
                    raise _other_samples("leave_one_out")
                errors[rows, columns] /= (1 - h)[:, None]
        errors[data.weight == 0] = np.nan
        return errors if self._several_ else errors[:, 0]


def _other_samples(method):
    return ValueError(
        f"{method} needs samples of the fit: these have another weight or other targets, or are "
        "farther from the others than any of the fit."
    )
