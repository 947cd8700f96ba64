"""Linear regression by least squares, with or without a ridge."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_real, as_targets, as_weights, scaled_weights
from mlcore.checks.arrays import require_finite
from mlcore.checks.errors import peer_class
from mlcore.checks.penalties import as_target_penalties
from mlcore.estimator.mixins import Regressor
from mlcore.estimator.model import Model, warn
from mlcore.linear_model.regression.diagnostics import LinearDiagnostics
from mlcore.linear_model.regression.fitted import Fit, solved
from mlcore.linear_model.regression.least_squares import EPS, NormalEquations, Triangle
from mlcore.linear_model.regression.linear_blocks import LinearBlocks, frame_attributes
from mlcore.linear_model.regression.rows import Frame, Rows
from mlcore.linear_model.regression.widrow_hoff import WidrowHoff
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.threads import single_threaded_blas


class LinearRegression(LinearDiagnostics, LinearBlocks, WidrowHoff, Regressor, Model):
    r"""Least squares with a linear function, and with a penalty on its coefficients on request.

    .. math:: \min_{w, b} \sum_i s_i (y_i - w^T x_i - b)^2 + \alpha |w|^2,

    s the sample weights. The intercept b is never penalised; where features depend on each other,
    w is the shortest of all minimisers. Several targets are fitted each on its own.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=0.0
        Penalty, at least 0: least squares at 0, else ridge regression; or one for each target.
    fit_intercept : bool, default=True
        False is b = 0.
    solver : {"auto", "lms"}, default="auto"
        The minimum; or one step of Widrow and Hoff's rule with each sample, in their order and
        without a penalty: w += 2 step s r x and b += 2 step s r, r = y - w'x - b. A weight
        multiplies the step, which is not that of copies.
    step : float, optional
        For "lms", at most 1 / s(|x|² + 1) for every sample (s|x|² without an intercept). By default
        a quarter of that: the sum of the squared r is then at most twice that of any (w, b),
        plus (|w|² + b²) / step.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features), in the type of the training data
    intercept_ : float or (n_targets,) float64
    rank_ : int
        That of the features, less their mean if there is an intercept. This and what follows, up
        to `total_weight_`, are absent with solver="lms".
    objective_ : float or (n_targets,) float64
        The minimum.
    gradient_norm_ : float
        Largest product of the gradient's half with a feature, both of unit length (the feature less
        its mean), targets of unit length too: 0 at the minimum, whatever the units.
    duality_gap_ : float or (n_targets,) float64
        At alpha > 0 an upper bound of the objective less its minimum, ``|X's r - alpha w|² /
        alpha`` with an allowance for rounding; infinite at 0.
    rcond_ : float
        Reciprocal condition of the problem in features of unit length, at the least alpha.
    total_weight_ : float
        Sum of the weights.
    solver_ : str
        "cholesky" of the normal equations, "qr" of the rows where these lose digits, or "lms".
    step_ : float
        With solver="lms", as what follows.
    loss_ : float or (n_targets,) float64
        Sum of s r² over the rounds, before each step; beside `observed_bound`.
    n_rounds_ : int
    origin_ : (n_features,)
        A point near the samples, in their type; zeros without an intercept.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    UserWarning
        In `update` and `partial_fit`, if features depend on each other so nearly that sums of
        squares do not tell: `fit` reads the rows again.

    Notes
    -----
    O(n d²) time for n samples of d features, data + O(d²) memory; with more features than samples
    O(n² d) time and O(n d) memory. A model is a `RowSums`: its fit may be computed from blocks of
    rows, or by `partial_fit`. A weight of 2 is a copy of a sample.

    References
    ----------
    Å. Björck, *Numerical Methods for Least Squares Problems*, SIAM 1996.
    A. Hoerl, R. Kennard, *Ridge regression*, Technometrics 12, 1970.
    B. Widrow, M. Hoff, *Adaptive switching circuits*, IRE WESCON Convention Record, 1960.
    N. Cesa-Bianchi, P. Long, M. Warmuth, *Worst-case quadratic loss bounds for prediction using
    linear functions and gradient descent*, IEEE Transactions on Neural Networks 7, 1996.

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_, round(model.intercept_, 12)
    (array([2.]), 1.0)
    """

    coef_: np.ndarray
    intercept_: float | np.ndarray
    rank_: int
    objective_: float | np.ndarray
    gradient_norm_: float
    duality_gap_: float | np.ndarray
    rcond_: float
    solver_: str
    step_: float
    loss_: float | np.ndarray
    n_rounds_: int
    _gradients_: np.ndarray  # (k,), sums of their squared norms
    total_weight_: float
    origin_: np.ndarray
    _powers_: np.ndarray  # of the Frame
    _target_origin_: np.ndarray
    _target_powers_: np.ndarray
    _center_: np.ndarray  # of the Fit
    _target_mean_: np.ndarray  # (k,)
    _system_: tuple  # arrays of the NormalEquations or the Triangle
    _squares_: np.ndarray  # (2, k): of the residuals and of the targets, in the units of the Frame
    _weight_power_: int
    _alpha_: np.ndarray  # (k,)
    _intercepted_: bool
    _several_: bool
    # By `partial_fit`: the Scatter of all rows so far, or () after rounds.
    _statistics: tuple | None = None

    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True, "target_tags.multi_output": True}
    _stored = {
        "coef_": "float f | float q f",
        "intercept_": "float | float64 q",
        "rank_": "count",
        "objective_": "float | float64 q",
        "gradient_norm_": "float | float64 q",
        "duality_gap_": "float | float64 q",
        "rcond_": "float",
        "solver_": "text",
        "step_": "float",
        "loss_": "float | float64 q",
        "n_rounds_": "count",
        "_gradients_": "float64 q",
        "total_weight_": "float",
        "origin_": "float f",
        "_powers_": "int f",
        "_target_origin_": "float64 q",
        "_target_powers_": "int q",
        "_center_": "float64 f",
        "_target_mean_": "float64 q",
        "_system_": (
            "|",
            ("float64 f f", "float64 f q", "float"),
            ("float64 t f", "float64 t q", "count", "float"),
        ),
        "_squares_": "float64 2 q",
        "_weight_power_": "int",
        "_alpha_": "float64 q",
        "_intercepted_": "bool",
        "_several_": "bool",
        "_statistics": ("float", "float64 f+q", "float64 f+q f+q"),
    }

    _instead = {
        "normalize": "drop it: coefficients do not depend on the units of X, but with alpha > 0",
        "copy_X": "drop it: X is never changed",
        "tol": "drop it: the solution is exact to rounding, also of sparse data",
        "positive": "drop it: coefficients of any sign; scipy.optimize.nnls has those at least 0",
    }

    def __init__(
        self,
        *,
        alpha: Any = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        step: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.step = step

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the linear function.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
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
            For parameters or data out of range, before any work.
        MemoryError
            If the sums of products, or a copy of the rows, do not fit.
        """
        fit_intercept = self._checked_parameters()
        owner = type(self).__name__
        if self.solver == "lms":
            self._set_fitted(X, **self._play(X, y, sample_weight, fit_intercept, anew=True))
            return self
        checked, Y, weight, several = self._checked_rows(X, y, sample_weight, reset=True)
        weight, power = scaled_weights(weight)
        alphas = np.ldexp(self._alphas(Y), -power)
        frame = Frame.of(checked, Y, fit_intercept)
        rows, sums = Rows.of(checked, Y, weight, frame), None
        if checked.shape[0] > checked.shape[1]:
            sums = rows.sums(owner)
            outside = rows.out_of_range(sums, fit_intercept)
            if outside.any():
                frame = frame.with_powers(checked, alphas.max(), outside)
                rows = rows._replace(frame=frame)
                sums = rows.sums(owner)
        else:
            if not sp.issparse(checked):
                require_finite(checked, "X", owner)
            frame = frame.with_powers(checked, alphas.max())
            rows = rows._replace(frame=frame)
        found = self._found(rows, sums, frame, alphas, fit_intercept, checked.dtype, power)
        begun = frame_attributes(frame, checked.dtype, several)
        self._set_fitted(X, **begun, **found)
        return self

    def _checked_parameters(self):
        owner = type(self).__name__
        if np.ndim(self.alpha) == 0:
            as_real(self.alpha, "alpha", owner=owner, at_least=0)
        as_choice(self.solver, "solver", ("auto", "lms"), owner=owner)
        if self.step is not None:
            as_real(self.step, "step", owner=owner, above=0)
        return as_bool(self.fit_intercept, "fit_intercept", owner=owner)

    def _alphas(self, Y):
        return as_target_penalties(self.alpha, Y.shape[1], type(self).__name__)

    def _checked_rows(self, X, y, sample_weight, reset, check_finite=False):
        """Return samples, targets (n, k) and weights of positive weight, and if y has columns."""
        like = None if reset else getattr(self, "origin_", None)
        check_finite |= sample_weight is not None  # else NaN shows in the sums
        checked = self._check_X(X, reset=reset, like=like, check_finite=check_finite)
        n = checked.shape[0]
        y = as_targets(y, n, owner=type(self).__name__, several=True)
        several = y.ndim == 2
        Y = y if several else y[:, None]
        if sample_weight is None:
            return checked, Y, None, several
        weight = as_weights(sample_weight, n)
        present = np.flatnonzero(weight)
        if len(present) < n:
            checked, Y, weight = checked[present], Y[present], weight[present]
        return checked, Y, weight, several

    def _found(self, rows, sums, frame, alphas, fit_intercept, dtype, weight_power=0):
        """Return the fitted attributes."""
        with single_threaded_blas():
            fit = solved(rows, sums, frame.power, alphas, fit_intercept, dtype)
        if fit.from_sums:
            warn(
                "UserWarning",
                f"{type(self).__name__}: features depend on each other, or nearly "
                f"(rcond {fit.rcond:.0e}), which sums of squares show to half the digits "
                "only: fit to all rows at once.",
            )
        found = self._in_units_of_the_data(fit, frame, dtype)
        gap = np.ldexp(fit.gap, 2 * frame.target_power + weight_power)
        if fit_intercept:  # rounding of the intercept, and of the mean of the targets
            far = np.abs(frame.origin + np.ldexp(fit.center, frame.power))
            error = 4 * EPS * (np.abs(found["_target_mean_"]) + np.abs(found["coef_"]) @ far)
            n = fit.total if rows is None else rows.X.shape[0]
            size = np.ldexp(np.sqrt(fit.target_squares / fit.total), frame.target_power)
            error += 2 * EPS * np.sqrt(max(n, 4)) * size
            gap = gap + np.ldexp(fit.total * error**2, weight_power)
        return found | {
            "rank_": fit.rank,
            "gradient_norm_": fit.gradient_norm,
            "rcond_": fit.rcond,
            "solver_": "qr" if fit.by_rows else "cholesky",
            "total_weight_": float(np.ldexp(fit.total, weight_power)),
            "objective_": np.ldexp(fit.objective, 2 * frame.target_power + weight_power),
            "duality_gap_": gap,
            "_center_": fit.center,
            "_system_": tuple(fit.system),
            "_squares_": np.stack((fit.squares, fit.target_squares)),
            "_weight_power_": weight_power,
            "_alpha_": np.ldexp(alphas, weight_power),
            "_intercepted_": fit_intercept,
        }

    def _in_units_of_the_data(self, fit: Fit, frame, dtype):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            power = frame.target_power - frame.power[:, None]
            coef = np.ldexp(fit.coef, power).astype(dtype)
            mean = frame.target_origin + np.ldexp(fit.offset, frame.target_power)
            intercept = mean - (frame.origin + np.ldexp(fit.center, frame.power)) @ coef
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: the coefficients overflow {np.dtype(dtype).name}: rescale "
                "the features of X, or y."
            )
        if not self._checked_parameters():
            intercept = np.zeros(len(intercept))
        return {
            "coef_": np.ascontiguousarray(coef.T),
            "intercept_": intercept.astype(np.float64),
            "_target_mean_": mean,
        }

    def _several_or_one(self, found, several):
        """Return attributes of one target without the axis of targets."""
        if several:
            return found
        one = ("objective_", "duality_gap_", "intercept_")
        return found | {"coef_": found["coef_"][0]} | {name: float(found[name][0]) for name in one}

    def _set_fitted(self, X_original, **attributes):
        self.__dict__.pop("_statistics", None)
        if "_system_" in attributes:
            attributes = self._several_or_one(attributes, attributes["_several_"])
        super()._set_fitted(X_original, **attributes)

    # ---- later calls

    def predict(self, X: Any) -> np.ndarray:
        """Return ``w'x + b`` of each row, (n_samples,) or.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        y : (n_samples,) or (n_samples, n_targets)
            In the precision of the fit.
        """
        self._check_ready()
        checked = self._check_X(X, reset=False, like=self.origin_)
        coef = self.coef_.T.astype(np.float64)
        with single_threaded_blas():
            if sp.issparse(checked):
                found = checked @ coef + self.intercept_
            else:
                shift = np.ldexp(self._center_, self._powers_)
                origin = self.origin_.astype(np.float64)
                found = np.empty((len(checked), *coef.shape[1:]))
                for rows, block in row_blocks(checked):
                    np.matmul(block - origin - shift, coef, out=found[rows])
                found += self._target_mean_ if self._several_ else self._target_mean_[0]
        return found.astype(checked.dtype, copy=False)

    @property
    def _frame(self):
        origin = self.origin_.astype(np.float64)
        return Frame(origin, self._powers_, self._target_origin_, self._target_powers_)

    @property
    def _system(self):
        arrays = self._system_
        kind = Triangle if len(arrays) == len(Triangle._fields) else NormalEquations
        return kind(*arrays)

    def _later_rows(self, X, y, sample_weight, check_finite=False):
        checked, Y, weight, several = self._checked_rows(X, y, sample_weight, False, check_finite)
        self._require_targets(Y, several)
        return Rows.of(checked, Y, weight, self._frame)

    def _require_targets(self, Y, several):
        if several != self._several_ or Y.shape[1] != len(self._target_powers_):
            raise ValueError(
                f"y has {Y.shape[1]} columns, but {type(self).__name__} was fitted to "
                f"{len(self._target_powers_)}{' in columns' if self._several_ else ''}."
            )

    def _check_ready(self):
        self._check_fitted()
        if not hasattr(self, "coef_"):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but call "
                "'update' before using this estimator."
            )
