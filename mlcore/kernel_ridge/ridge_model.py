"""Samples, predictions and fitted attributes that ridge models share."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from mlcore.checks import as_bool, as_targets, as_weights, scaled_weights
from mlcore.checks.penalties import by_penalty
from mlcore.estimator.mixins import Regressor
from mlcore.kernel_ridge.diagnostics import Diagnostics
from mlcore.kernel_ridge.evidence import evidence
from mlcore.kernel_ridge.linear_system.system import RidgeSystem, Solution, together
from mlcore.kernel_ridge.problem import Problem
from mlcore.kernel_ridge.verification import RidgeVerification, verified
from mlcore.kernels.kernel import (
    Kernel,
    copied,
    differences,
    mean_if_free,
    of_numbers,
    precision,
)
from mlcore.kernels.kernel_model import KernelModel, kept_samples
from mlcore.kernels.resolve import resolve_gamma


class RidgeData(NamedTuple):
    """Checked arguments of a fit.

    Attributes
    ----------
    samples : as checked, all of them
    used : the samples of positive weight, less `origin_` if there is one
    y : float64 (n,) or (n, k)
    weight : float64 (n,)
    kept : (m,) intp
        Indices of the samples of positive weight.
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

    def problem(
        self, kernel: Kernel, alphas: np.ndarray | str, fit_intercept: bool, stored: bool, name: str
    ) -> Problem:
        """Return the problem of these data, as `Problem.of`."""
        weight = self.weight[self.kept]
        return Problem.of(
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


class RidgeModel(Diagnostics, Regressor, KernelModel):
    """Base of models whose function is ``sum_i a_i k(x_i, x) + b`` over all samples."""

    _tags: ClassVar[dict[str, Any]] = {**KernelModel._tags, "target_tags.multi_output": True}

    dual_coef_: np.ndarray
    intercept_: float | np.ndarray
    alpha_: float | np.ndarray
    duality_gap_: float | np.ndarray
    objective_: float | np.ndarray
    prediction_bound_: float | np.ndarray
    X_fit_: Any
    origin_: np.ndarray | None
    y_fit_: np.ndarray
    sample_weight_: np.ndarray
    _stored = {
        "dual_coef_": "float64 m | float64 m q",
        "intercept_": "float | float64 q",
        "alpha_": "float | float64 q",
        "duality_gap_": "float | float64 q",
        "objective_": "float | float64 q",
        "prediction_bound_": "float | float64 q",
        "X_fit_": "rows m f",
        "origin_": "none | float f",
        "y_fit_": "float64 m | float64 m q",
        "sample_weight_": "float64 m",
    }

    _no_blocks = 'blocks need its solver="nystroem"'
    _instead = {
        "kernel_params": "give a function of your own with its parameters bound",
    }

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

        With solver "nystroem" the process has, between samples of the fit, the covariance
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
        std = self._deviations_in_span(X) if self._in_span else self._deviations(X)
        return values, std.astype(dtype, copy=False)

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
        self._check_ready()
        owner = type(self).__name__
        samples = self._later_samples(X, self.X_fit_)
        n = samples.shape[0]
        y = as_targets(y, n, owner=owner, several=True)
        several = self.dual_coef_.ndim == 2
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
        weight = as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        alphas = np.broadcast_to(self.alpha_, beta.shape[1:]).astype(np.float64)
        if not alphas.min() > 0:
            raise ValueError(f"{owner}: this needs alpha > 0, not alpha=0.")
        used = self._images(kept_samples(samples, kept, self._precomputed))
        data = RidgeData(samples, used, y, weight, kept)
        kernel = self._fitted_kernel
        problem = data.problem(kernel, alphas, self.fit_intercept, False, owner)
        rows = samples[kept] if self._precomputed else data.used
        offset = np.atleast_1d(self.intercept_)
        found = verified(problem, kernel, self._centers, beta, offset, rows)
        return found if several else RidgeVerification(*(float(v[0]) for v in found))

    @property
    def _centers(self):
        """Samples of the function's terms, as the kernel takes them; else their columns."""
        if not self._precomputed:
            return self._images(self.X_fit_)
        return getattr(self, "center_indices_", np.arange(len(self.dual_coef_)))

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
        given = isinstance(gamma, str) and (self._precomputed or not of_numbers(data.used))
        return 0.0 if given else resolve_gamma(gamma, data.used, data.weight[data.kept])

    def _attributes(self, data, problem, found, penalties):
        """Return the fitted attributes of a solution for these penalties."""
        units = problem.units
        shown = evidence(problem.system, found, penalties, problem.rounding)
        dual = np.zeros((len(data.weight), len(penalties)))
        dual[data.kept] = problem.dual(found.coef)
        several = data.y.ndim == 2
        value = (lambda v: v) if several else (lambda v: float(v[0]))
        return {
            "dual_coef_": dual if several else dual[:, 0],
            "intercept_": value(np.ldexp(found.intercept, units.target_power)),
            "alpha_": value(np.ldexp(penalties, units.penalty_power)),
            "duality_gap_": value(np.ldexp(shown.gap, units.square_power)),
            "objective_": value(np.ldexp(found.objective, units.square_power)),
            "prediction_bound_": value(
                np.ldexp(shown.prediction, units.target_power - units.kernel_power // 2)
            ),
        }


def data_attributes(data: RidgeData) -> dict[str, Any]:
    """Return copies of the data that a fitted model keeps; call it when its matrices are freed."""
    return {
        "X_fit_": copied(data.samples),
        "y_fit_": data.y.copy(),
        "sample_weight_": data.weight.copy(),
    }


def solved(
    system: RidgeSystem, penalties: np.ndarray, solve: Callable[[float, np.ndarray], Solution]
) -> Solution:
    """Return the solution of all targets, those of one alpha solved together by `solve`."""
    parts = [(columns, solve(alpha, columns)) for alpha, columns in by_penalty(penalties)]
    return together(parts, system.right.shape[1])


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
