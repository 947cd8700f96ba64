"""Methods of a fitted linear regression: leave-one-out errors, the path over alpha, inference."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_weights
from mlcore.checks.penalties import as_penalties, by_penalty
from mlcore.estimator.printed import fields_as_table
from mlcore.linear_model.regression.least_squares import Units
from mlcore.linear_model.regression.linear_inference import LinearInference, linear_inference
from mlcore.runtime.threads import single_threaded_blas

_SAME = 1e-7  # gradient, relative to its terms, beyond which rows are not those of a fit
_DEPENDENT = 1e-10  # one less a leverage, below which a row alone determines a direction


class LinearPath(NamedTuple):
    """Linear models for m penalties.

    With several targets, arrays but `alphas` and `effective_dimension` have an axis of targets
    more, after the first.

    Parameters
    ----------
    alphas : (m,)
    coef : (m, n_features)
    intercept : (m,)
    effective_dimension : (m,)
        Trace of the map from targets to fitted values, the intercept included.
    gcv : (m,)
        Generalised cross-validation ``W |r|² / (W - effective_dimension)²``, W the sum of the
        weights and ``|r|²`` the weighted squares of the residuals; the least is best.

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    >>> model.path([0.0, 2.0]).coef.ravel()
    array([1.5 , 0.75])
    """

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    effective_dimension: np.ndarray
    gcv: np.ndarray

    __repr__ = fields_as_table


class LinearDiagnostics:
    """Mixin of LinearRegression: what follows from the sums of its fit."""

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return y_i less the prediction of the fit without sample i, for every sample.

        No refits: r / (1 - h), r the residual and h the leverage; where h is 1, so that only this
        sample determines some direction, that of the shortest coefficients of the others.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            The samples of the fit, as `y` and `sample_weight`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        errors : float64 (n_samples,) or (n_samples, n_targets)
            NaN where the weight is 0.

        Raises
        ------
        ValueError
            For other samples than those of the fit, and for a single one.

        Notes
        -----
        O(n d² + d³) time.
        """
        self._check_ready()
        self._require_sums(self.solver_)
        rows = self._later_rows(X, y, sample_weight, check_finite=True)
        n = len(y)  # also those of weight 0, which `rows` leaves out
        weight = None if sample_weight is None else as_weights(sample_weight, n)
        if not np.isclose(rows.total, self.total_weight_, rtol=1e-9, atol=0):
            raise ValueError(
                f"leave_one_out needs the samples of the fit: their weight is "
                f"{self.total_weight_:g}, not {rows.total:g}."
            )
        if self._intercepted_ and rows.X.shape[0] < 2:
            raise ValueError(f"{type(self).__name__}: n_samples=1, but to leave one out needs 2.")
        power = self._weight_power_
        s = np.ones(rows.X.shape[0]) if rows.weight is None else np.ldexp(rows.weight, -power)
        frame = self._frame
        coef = np.ldexp(
            self.coef_.reshape(len(frame.target_power), -1).T.astype(np.float64),
            frame.power[:, None] - frame.target_power,
        )
        offset = np.ldexp(self._target_mean_ - frame.target_origin, -frame.target_power)
        self._require_optimum(rows, s, coef, offset)
        errors = np.empty((len(s), coef.shape[1]))
        fitted = []  # with one penalty: targets, and roots in units of the frame and in one unit
        for alpha, targets in by_penalty(np.ldexp(self._alpha_, -power)):
            units = Units(frame.power, alpha)
            root = self._system.of_targets(targets).solve(units).root
            fitted.append((targets, root, np.ldexp(root, -units.shift[:, None])))
        shift = Units(frame.power, 0.0).shift[:, None]
        with single_threaded_blas():
            for block, Z in rows.blocks(self._center_):
                r = rows.Y[block] - offset - Z @ coef
                for targets, root, in_one_unit in fitted:
                    projected = Z @ root
                    h = s[block] * np.einsum("ij,ij->i", projected, projected)
                    if self._intercepted_:
                        h += s[block] / np.ldexp(self.total_weight_, -power)
                    lone = 1 - h < _DEPENDENT
                    found = r[:, targets] / np.where(lone, 1.0, 1 - h)[:, None]
                    if lone.any():  # "shortest" is meant in one unit of all features
                        squares = np.square(projected[lone] @ in_one_unit.T).sum(axis=1)
                        right = in_one_unit.T @ np.ldexp(coef[:, targets], -shift)
                        own = projected[lone] @ right
                        found[lone] = own / (s[block][lone] * squares)[:, None]
                    errors[block, targets] = found
        full = np.full((n if weight is not None else len(s), coef.shape[1]), np.nan)
        full[slice(None) if weight is None else weight > 0] = errors
        full = np.ldexp(full, frame.target_power)
        return full if self._several_ else full[:, 0]

    def _require_optimum(self, rows, s, coef, offset):
        """Refuse rows of which the coefficients, in units of the frame, are not the optimum.

        Their gradient may be ten times that of the fit, and what rounding of coefficients and
        means does to it.
        """
        power = self._frame.power[:, None]
        gradient = -np.ldexp(np.ldexp(self._alpha_, -self._weight_power_), -2 * power) * coef
        sums, size, target = np.zeros(coef.shape[1]), np.zeros(len(coef)), np.zeros(coef.shape[1])
        for block, Z in rows.blocks(self._center_):
            y, weight = rows.Y[block] - offset, s[block]
            left = weight[:, None] * (y - Z @ coef)
            gradient += Z.T @ left
            sums += left.sum(axis=0)
            size += weight @ Z**2
            target += weight @ y**2
        size, total, eps = np.sqrt(size), s.sum(), float(np.finfo(self.coef_.dtype).eps)
        near = (10 * self.gradient_norm_ + _SAME) * np.sqrt(target)
        mean = np.ldexp(np.abs(self._target_mean_), -self._frame.target_power)
        near += 16 * eps * (size @ np.abs(coef) + np.sqrt(total) * mean)
        off = (np.abs(gradient) > np.outer(size, near)).any()
        if self._intercepted_:
            off |= (np.abs(sums) > np.sqrt(total) * near).any()
        if off:
            raise ValueError(
                "leave_one_out needs the samples of the fit: its coefficients are not the best for "
                "these X, y and sample_weight."
            )

    def path(self, alphas: Any) -> LinearPath:
        """Return the models of many penalties, from one decomposition.

        Parameters
        ----------
        alphas : array-like of shape (m,)
            Each at least 0.

        Returns
        -------
        path : LinearPath
            One model for each penalty.

        Notes
        -----
        O(d³) time and O(d²) for each penalty. Directions in which the features vary by less than
        rounding are left out, for every penalty.
        """
        self._check_ready()
        self._require_sums(self.solver_)
        alphas = as_penalties(alphas, "alphas", type(self).__name__)
        frame, units = self._frame, Units(self._powers_, 0.0)
        with single_threaded_blas():
            values, V, projected = self._system.spectrum(units)
            total = np.ldexp(self.total_weight_, -self._weight_power_)
            left = self._squares_[1] - np.square(projected / np.sqrt(values)[:, None]).sum(axis=0)
            left = np.maximum(left, np.where(self._alpha_ == 0, self._squares_[0], 0.0))
            coefs, dimensions, gcv = [], [], []
            for alpha in alphas:
                own = units._replace(alpha=float(np.ldexp(alpha, -self._weight_power_)))
                penalty = own.common_alpha
                shrunk = values + penalty
                coefs.append(V @ (projected / shrunk[:, None]))
                share = (penalty / shrunk)[:, None] / np.sqrt(values)[:, None]
                squares = left + np.square(share * projected).sum(axis=0)
                dimension = float((values / shrunk).sum()) + float(self._intercepted_)
                dimensions.append(dimension)
                with np.errstate(divide="ignore", invalid="ignore"):
                    gcv.append(total * squares / max(total - dimension, 0.0) ** 2)
        coef = np.ldexp(np.stack(coefs), frame.target_power - int(frame.power.max()))
        coef = coef.swapaxes(1, 2)
        intercept = np.zeros(coef.shape[:2])
        if self._intercepted_:
            center = frame.origin + np.ldexp(self._center_, frame.power)
            intercept = self._target_mean_ - coef @ center
        gcv = np.ldexp(np.stack(gcv), 2 * frame.target_power + self._weight_power_)
        if not self._several_:
            coef, intercept, gcv = coef[:, 0], intercept[:, 0], gcv[:, 0]
        return LinearPath(alphas, coef, intercept, np.array(dimensions), gcv)

    def inference(self) -> LinearInference:
        """Return standard errors, tests and intervals of the coefficients of least squares.

        Returns
        -------
        inference : LinearInference
            Of all coefficients.

        Raises
        ------
        ValueError
            For ``alpha > 0``: penalised estimates are biased, so that their errors are not these;
            and for no more samples than parameters.
        """
        self._check_ready()
        self._require_sums(self.solver_)
        return linear_inference(self)
