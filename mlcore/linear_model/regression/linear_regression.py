"""Linear regression by least squares, with or without a ridge."""

import inspect
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_real, as_weights, scaled_weights
from mlcore.checks.arrays import require_finite
from mlcore.checks.penalties import as_penalties, as_target_penalties
from mlcore.estimator.mixins import Regressor
from mlcore.estimator.model import Model
from mlcore.linear_model.regression.diagnostics import LinearPath, leave_one_out, path
from mlcore.linear_model.regression.fitted import (
    OLDER,
    LinearSolution,
    fit_in_span,
    in_units_of_the_data,
    predictions,
    solved,
    warn_of_sums,
)
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.linear_inference import LinearInference, linear_inference
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.numerics.scatter import (
    Scatter,
    in_larger_units,
    merged_scatter,
    require_in_units,
)
from mlcore.online.gradient_descent.widrow_hoff import WidrowHoff
from mlcore.row_sums import OnePass
from mlcore.runtime.threads import single_threaded_blas

_SMALLEST = np.finfo(np.float64).smallest_normal  # below it, evidence loses digits, or is 0
_LEAST = np.finfo(np.float64).smallest_subnormal


class Settings(NamedTuple):
    """Checked parameters of a `LinearRegression`; penalties of targets are checked with these."""

    alpha: Any
    fit_intercept: bool
    tol: float


def _rank(model):
    """Return the rank of the features of a fit that has not told it."""
    if "_solution_" not in vars(model):
        raise AttributeError(f"{type(model).__name__} has no rank_ before it is fitted")
    return model._solution_.system.rank()


class LinearRegression(OnePass, Regressor, Model):
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
    tol : float, default=1e-10
        Share of the right-hand side of its equations, in length, at which "cg" ends, above 0. With
        no more samples than features the right-hand side is the targets less their mean, times the
        roots of the weights, and the objective exceeds its minimum by at most ``tol²`` times their
        squares. With more samples it is the gradient at coefficients of 0, in features of unit
        length. At 1e-16 it ends at rounding, as all other solvers do whatever `tol`.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features), in the type of the training data
    intercept_ : float or (n_targets,) float64
    rank_ : int
        That of the features, less their mean if there is an intercept. Where the solver does not
        tell it, it is computed when first read, by the smaller matrix of products.
    objective_ : float or (n_targets,) float64
        The minimum.
    gradient_norm_ : float
        Largest product of the gradient's half with a feature, both of unit length (the feature less
        its mean), targets of unit length too: 0 at the minimum, whatever the units.
    duality_gap_ : float or (n_targets,) float64
        At alpha > 0 an upper bound of the objective less its minimum, ``|X's r - alpha w|² /
        alpha`` with an allowance for rounding; infinite at 0.
    rcond_ : float
        Reciprocal condition of the problem in features of unit length, at the least alpha; with
        "dual" and "cg" that of the matrix they solve, scaled to a diagonal of 1 and without the
        null vector that an intercept gives it, an estimate.
    total_weight_ : float
        Sum of the weights.
    solver_ : str
        "cholesky" of the normal equations; "dual", that of the products of samples, with no more
        samples than features; "cg", conjugate gradients on sparse samples, with alpha > 0, at least
        300 samples and 1000 features, or more than 300 samples and no fewer features; or "qr" of
        the rows where all these lose digits.
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
    O(n d²) time for n samples of d features, data + O(d²) memory; with no more samples than
    features O(n² d) time and O(n d + n²) memory, of which the model keeps n d numbers, or the
    sparse rows. So it does for one target with alpha > 0, at least 700 features, and at most twice
    as many samples. Large products of one target may be in float32 where their condition is
    good: corrections by residuals in float64 then lead to the same digits. "cg" takes about 12
    steps times the root of the condition at most, 18 to rounding, each O(z) time for z values that
    are not 0, and O(z) memory. A model is a `RowSums`: its fit may be computed from blocks of rows,
    or by
    `partial_fit`. A weight of 2 is a copy of a sample.

    References
    ----------
    Å. Björck, *Numerical Methods for Least Squares Problems*, SIAM 1996.
    A. Hoerl, R. Kennard, *Ridge regression*, Technometrics 12, 1970.
    C. Saunders, A. Gammerman, V. Vovk, *Ridge regression learning algorithm in dual variables*,
    ICML 1998.

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_, round(model.intercept_, 12)
    (array([2.]), 1.0)
    """

    coef_: np.ndarray
    intercept_: float | np.ndarray
    rank_: int = cast(int, cached_property(_rank))
    objective_: float | np.ndarray
    gradient_norm_: float
    duality_gap_: float | np.ndarray
    rcond_: float
    solver_: str
    total_weight_: float
    origin_: np.ndarray
    _units_: DataUnits  # of features and targets, also of the sums
    _solution_: LinearSolution
    _sums_: tuple[float, np.ndarray, np.ndarray] | None  # a Scatter

    _result = "coef_"
    _Statistics = Scatter
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
        "total_weight_": "float",
        "origin_": "float f",
        "_units_": DataUnits,
        "_solution_": LinearSolution,
        "_sums_": ("float", "float64 f+q", "float64 f+q f+q"),
    }
    _older = OLDER
    _instead = {
        "normalize": "drop it: coefficients do not depend on the units of X, but with alpha > 0",
        "copy_X": "drop it: X is never changed",
        "positive": "drop it: coefficients of any sign; scipy.optimize.nnls has those at least 0",
        "solver": "drop it: the normal equations are solved, or the rows; mlcore.online.WidrowHoff "
        "is what 'lms' was",
        "step": "use mlcore.online.WidrowHoff",
    }

    def __new__(cls, *args: Any, **params: Any) -> Any:
        if cls is LinearRegression and params.get("solver") == "lms":
            return WidrowHoff(**_of_widrow_hoff(params))
        return super().__new__(cls, *args, **params)

    def __init__(self, *, alpha: Any = 0.0, fit_intercept: bool = True, tol: float = 1e-10) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol

    __new__.__signature__ = inspect.signature(__init__)

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
        settings, owner = self._settings(), type(self).__name__
        checked, Y, weight, several = self._checked_rows(X, y, sample_weight, reset=True)
        weight, power = scaled_weights(weight)
        alphas = np.ldexp(as_target_penalties(settings.alpha, Y.shape[1], owner), -power)
        wide = checked.shape[0] <= checked.shape[1]
        data_units = DataUnits.of(checked, Y, settings.fit_intercept, several, zeros=not wide)
        rows, sums = Rows.of(checked, Y, weight, data_units), None
        fit = fit_in_span(rows, alphas, settings.fit_intercept, settings.tol)
        if fit is None and not wide:
            rows, sums = rows.sums_in_range(owner, settings.fit_intercept, alphas.max())
        elif fit is None:
            if not sp.issparse(checked):
                require_finite(checked, "X", owner)
            rows = rows._replace(data_units=data_units.with_powers(checked, alphas.max()))
        data_units = rows.data_units
        origin = data_units.origin.astype(checked.dtype)
        if fit is None:
            fit = self._solved(rows, sums, data_units, alphas, settings, checked.dtype)
        attributes = self._attributes(fit, rows, data_units, alphas, settings, checked.dtype, power)
        self._set_fitted(X, origin_=origin, _units_=data_units, **attributes)
        return self

    def _settings(self) -> Settings:
        owner = type(self).__name__
        if np.ndim(self.alpha) == 0:
            as_real(self.alpha, "alpha", owner=owner, at_least=0)
        return Settings(
            self.alpha,
            as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            as_real(self.tol, "tol", owner=owner, above=0),
        )

    def _checked_rows(self, X, y, sample_weight, reset, check_finite=False):
        """Return samples, targets (n, k) and weights of positive weight; True if y has columns."""
        like = None if reset else getattr(self, "origin_", None)
        check_finite |= sample_weight is not None  # else NaN shows in the sums
        checked = self._check_X(X, reset=reset, like=like, check_finite=check_finite)
        return self._weighted_targets(checked, y, sample_weight)

    def _solved(self, rows, sums, data_units, alphas, settings, dtype):
        """Return the fit from the sums or the rows; warn if sums were not enough."""
        with single_threaded_blas():
            fit = solved(rows, sums, data_units.power, alphas, settings.fit_intercept, dtype)
        warn_of_sums(fit, type(self).__name__)
        return fit

    def _attributes(self, fit, rows, data_units, alphas, settings, dtype, weight_power=0):
        """Return the fitted attributes, in the units of the data.

        Penalties and weights are in units of 2^weight_power.
        """
        owner = type(self).__name__
        coef, intercept, mean = in_units_of_the_data(fit, data_units, dtype, owner)
        gap = np.ldexp(fit.gap, 2 * data_units.target_power + weight_power)
        if settings.fit_intercept:  # rounding of the intercept, and of the mean of the targets
            far = np.abs(data_units.point(fit.center))
            error = 4 * EPS * (np.abs(mean) + np.abs(coef) @ far)
            n = fit.total if rows is None else rows.X.shape[0]
            size = np.ldexp(np.sqrt(fit.target_squares / fit.total), data_units.target_power)
            error += 2 * EPS * np.sqrt(max(n, 4)) * size
            gap = gap + np.ldexp(fit.total * error**2, weight_power)
        else:
            intercept = np.zeros(len(intercept))
        gap = np.where((fit.gap > 0) & (gap < _SMALLEST), gap + 2 * _LEAST, gap)
        objective = np.ldexp(fit.objective, 2 * data_units.target_power + weight_power)
        several = data_units.several
        return ({"rank_": fit.rank} if fit.rank >= 0 else {}) | {
            "coef_": coef if several else coef[0],
            "intercept_": intercept if several else float(intercept[0]),
            "objective_": objective if several else float(objective[0]),
            "duality_gap_": gap if several else float(gap[0]),
            "gradient_norm_": fit.gradient_norm,
            "rcond_": fit.rcond,
            "solver_": fit.solver,
            "total_weight_": float(np.ldexp(fit.total, weight_power)),
            "_solution_": LinearSolution(
                center=fit.center,
                target_mean=mean,
                system=fit.system,
                squares=np.stack((fit.squares, fit.target_squares)),
                weight_power=weight_power,
                alpha=np.ldexp(alphas, weight_power),
                intercept=settings.fit_intercept,
            ),
        }

    # ---- later calls

    def predict(self, X: Any) -> np.ndarray:
        """Return ``w'x + b`` for each row: (n_samples,), or (n_samples, n_targets).

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
        at = self._solution_
        return predictions(
            checked, self.coef_, self.intercept_, self._units_, at.center, at.target_mean
        )

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
        O(n d² + d³) time, O(n² d + n³) with no more samples than features.
        """
        self._check_ready()
        rows = self._later_rows(X, y, sample_weight, check_finite=True)
        weight = None if sample_weight is None else as_weights(sample_weight, len(y))
        errors = leave_one_out(self, rows, weight)
        return errors if self._units_.several else errors[:, 0]

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
        O(d³) time and O(d²) for each penalty; with no more samples than features O(n² d + n³) time
        and O(n d) for each penalty. Directions in which the features vary by less than
        rounding are left out, for every penalty.
        """
        self._check_ready()
        return path(self, as_penalties(alphas, "alphas", type(self).__name__))

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
        return linear_inference(self)

    # ---- a fit by sums over rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the origin and the units of the sums from first rows.

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
        settings, owner = self._settings(), type(self).__name__
        checked, Y, _, several = self._checked_rows(X, y, sample_weight, True, True)
        largest = as_target_penalties(settings.alpha, Y.shape[1], owner).max()
        data_units = DataUnits.of(checked, Y, settings.fit_intercept, several).with_powers(
            checked, largest
        )
        self._set_fitted(X, origin_=data_units.origin.astype(checked.dtype), _units_=data_units)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Scatter:
        """Return weight, mean and scatter of features and targets of the rows, side by side.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Scatter
            Sums over these rows.
        """
        self._check_fitted()
        owner = type(self).__name__
        return require_in_units(self._later_rows(X, y, sample_weight).sums(owner), owner)

    def merge(self, a: Scatter, b: Scatter) -> Scatter:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : Scatter
            Sums over different rows.

        Returns
        -------
        statistics : Scatter
            Their sums.
        """
        return merged_scatter(a, b)

    def update(self, statistics: Scatter) -> Self:
        """Fit the function to the statistics of all rows: the whole fit.

        Parameters
        ----------
        statistics : Scatter
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        settings, owner = self._settings(), type(self).__name__
        self._check_fitted()
        data_units, n_targets = self._units_, len(self._units_.target_power)
        width = len(data_units.power) + n_targets
        if not isinstance(statistics, Scatter) or len(statistics.mean) != width:
            raise ValueError(
                f"{owner}: statistics must come from partial_statistics of a model "
                "that has begun with as many features and targets."
            )
        alphas = as_target_penalties(settings.alpha, n_targets, owner)
        dtype = self.origin_.dtype
        if not settings.fit_intercept:  # which `begin` may have had
            data_units, statistics = data_units.about_zero(statistics)
        fit = self._solved(None, statistics, data_units, alphas, settings, dtype)
        state = self._attributes(fit, None, data_units, alphas, settings, dtype)
        state |= {"origin_": data_units.origin.astype(dtype), "_units_": data_units}
        self._update_state(state | {"_sums_": tuple(statistics)})
        return self

    def _sums_so_far(self):
        """Return the sums over the rows so far: those of a fit follow from its system."""
        if self._sums_ is None and "coef_" in vars(self):
            return self._solution_.sums(self._units_, self.total_weight_)
        return super()._sums_so_far()

    def _in_larger_units(self, sums, X, y, sample_weight):
        """Take larger units, as these rows need them, and return the sums in those."""
        checked, Y, _, _ = self._checked_rows(X, y, sample_weight, False)
        self._units_, more = self._units_.larger(checked, Y)
        return None if sums is None else in_larger_units(sums, more)

    # ---- checks

    def _later_rows(self, X, y, sample_weight, check_finite=False):
        """Return the checked rows of a later call, whose targets are as many as those before."""
        checked, Y, weight, several = self._checked_rows(X, y, sample_weight, False, check_finite)
        self._units_.require_targets(Y, several, type(self).__name__)
        return Rows.of(checked, Y, weight, self._units_)

    def _from_older_state(self, state):
        # 0.2 had the parameters of Widrow and Hoff's rule.
        if state.get("solver_", state.get("solver")) == "lms":
            self.__class__ = WidrowHoff
            return self._from_older_state(state)
        if state.get("rank_", 0) is None:
            del state["rank_"]
        return super()._from_older_state(state)


def _of_widrow_hoff(params):
    """Return the parameters of `WidrowHoff` among those of 0.2 for ``solver="lms"``."""
    alpha = params.get("alpha", 0.0)
    if np.any(np.asarray(alpha) != 0):
        raise ValueError(
            f"LinearRegression: alpha={alpha} must be 0 with solver='lms', which is "
            "mlcore.online.WidrowHoff and has no penalty."
        )
    return {name: value for name, value in params.items() if name not in ("alpha", "solver")}
