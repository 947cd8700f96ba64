"""Widrow and Hoff's rule: least squares by a step against the gradient of one sample at a time."""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore._ext.online import widrow_hoff as _ext
from mlcore.checks import as_bool, as_real
from mlcore.checks.arrays import as_floats, real_array
from mlcore.checks.stored import stored
from mlcore.estimator.mixins import Regressor
from mlcore.estimator.model import Model
from mlcore.kernels.packed import row_sums
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.threads import pieces, single_threaded_blas


class Settings(NamedTuple):
    """Checked parameters of `WidrowHoff`."""

    fit_intercept: bool
    step: float | None


@stored(version=1)
class Rounds(NamedTuple):
    """State of the rounds beside the coefficients, for later rounds and for bounds on earlier ones.

    `squares` (n_targets,) sum squared norms of gradients; `several`: targets have an axis.
    """

    squares: np.ndarray
    intercept: bool
    several: bool
    _stored = {"squares": "float64 q", "intercept": "bool", "several": "bool"}


_UNUSED = "center", "powers", "target_mean", "target_powers", "statistics"  # of 0.2


def _older_rounds(squares, intercept, several, *_):
    return Rounds(squares, intercept, several)


class WidrowHoff(Regressor, Model):
    r"""Linear regression by Widrow and Hoff's rule: one step of least squares with each sample.

    In a round with a sample x of target y, :math:`r = y - w^T x - b` and then

    .. math:: w \leftarrow w + 2 \eta s r x, \qquad b \leftarrow b + 2 \eta s r,

    s the weight of the sample. It is online gradient descent on the squared loss with steps of one
    size, for dense and sparse rows and for several targets at once, each on its own.

    Parameters
    ----------
    fit_intercept : bool, default=True
        False is b = 0.
    step : float, optional
        :math:`\eta`, at most 1 / s(|x|² + 1) for every sample (s|x|² without an intercept). By
        default a quarter of that for the first samples: the sum of the squared r is then at most
        twice that of any (w, b), plus (|w|² + b²) / step.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features), in the type of the training data
        w.
    intercept_ : float or (n_targets,) float64
        b.
    loss_ : float or (n_targets,) float64
        Sum of s r² over the rounds, before each step; beside `observed_bound`.
    n_rounds_ : int
        Samples of positive weight.
    step_ : float
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n d) time, O(nnz) for sparse data. A weight multiplies the step, which is not that of copies.

    References
    ----------
    B. Widrow, M. Hoff, *Adaptive switching circuits*, IRE WESCON Convention Record, 1960.
    N. Cesa-Bianchi, P. Long, M. Warmuth, *Worst-case quadratic loss bounds for prediction using
    linear functions and gradient descent*, IEEE Transactions on Neural Networks 7, 1996.

    Examples
    --------
    >>> from mlcore.online import WidrowHoff
    >>> model = WidrowHoff(step=0.1).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(4), round(model.loss_, 4)
    (array([1.808]), 18.5744)
    >>> model.loss_ <= model.observed_bound([2.0], 1.0)
    True
    """

    coef_: np.ndarray
    intercept_: float | np.ndarray
    loss_: float | np.ndarray
    n_rounds_: int
    step_: float
    _run_: Rounds

    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True, "target_tags.multi_output": True}
    _stored = {
        "coef_": "float f | float q f",
        "intercept_": "float | float64 q",
        "loss_": "float | float64 q",
        "n_rounds_": "count",
        "step_": "float",
        "_run_": Rounds,
    }
    _older = {  # LinearRegression(solver="lms")
        "_run_": (_older_rounds, "gradients", "intercepted", "several", *_UNUSED),
        **dict.fromkeys(("alpha", "solver", "solver_", "origin_")),
    }

    def __init__(self, *, fit_intercept: bool = True, step: float | None = None) -> None:
        self.fit_intercept = fit_intercept
        self.step = step

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Play a round with each sample in its order, from coefficients of 0.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the steps; 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, and a step that is too large for them.
        """
        settings = self._settings()
        X_checked, Y, weight, several = self._checked_rows(X, y, sample_weight, None)
        zeros = np.zeros(Y.shape[1])
        run = Rounds(zeros, settings.fit_intercept, several)
        coef = np.zeros((Y.shape[1], X_checked.shape[1]), X_checked.dtype)
        start = coef, zeros, zeros, 0
        self._set_fitted(X, **self._played(X_checked, Y, weight, run, start, settings.step))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Play a round with each sample in its order, after those of `fit` and of earlier calls.

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
        TypeError, ValueError
            As `fit`; the model stays as it was.
        """
        if "_run_" not in vars(self):
            return self.fit(X, y, sample_weight)
        self._settings()
        X, Y, weight, _ = self._checked_rows(X, y, sample_weight, self._run_)
        coef = self.coef_.reshape(-1, self.coef_.shape[-1])
        sums = np.atleast_1d(self.intercept_), np.atleast_1d(self.loss_)
        start = coef, *sums, self.n_rounds_
        self._update_state(self._played(X, Y, weight, self._run_, start, self.step_))
        return self

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
        self._check_fitted()
        checked = self._check_X(X, reset=False, like=self.coef_)
        coef = self.coef_.T.astype(np.float64)
        with single_threaded_blas():
            if sp.issparse(checked):
                scores = checked @ coef
            else:
                scores = np.empty((len(checked), *coef.shape[1:]))
                for rows, block in row_blocks(checked):
                    np.matmul(block, coef, out=scores[rows])
        scores += self.intercept_
        return scores.astype(checked.dtype, copy=False)

    def observed_bound(self, coef: Any, intercept: Any = 0.0) -> Any:
        r"""Return by how much `loss_` can exceed the loss of other coefficients.

        Both at the same samples, whatever these are. It is the regret bound of online gradient
        descent with steps of one size, :math:`(|u|^2 + c^2) / 2 \eta + \eta / 2 \sum_t |v_t|^2`,
        for coefficients u, intercept c, steps :math:`\eta` and the gradients v_t of the rounds.

        Parameters
        ----------
        coef : array-like of the shape of `coef_`
            u, such as the coefficients of least squares.
        intercept : float or array-like of shape (n_targets,), default=0.0
            c, 0 if the fit has no intercept.

        Returns
        -------
        bound : float or (n_targets,) float64
            For each target.

        Raises
        ------
        ValueError
            For wrong shapes, and numbers that are not finite.
        """
        self._check_fitted()
        owner, (k, d) = type(self).__name__, self.coef_.reshape(-1, self.coef_.shape[-1]).shape
        u = as_floats(real_array(coef, "coef"), np.float64)
        c = as_floats(real_array(np.atleast_1d(intercept), "intercept"), np.float64)
        if u.size != k * d or u.shape[-1:] != (d,) or c.size not in (1, k):
            raise ValueError(
                f"{owner}: coef of shape {u.shape} and intercept of shape {c.shape} must have those"
                f" of coef_ and intercept_, {d} features and {k} targets."
            )
        if not (np.isfinite(u).all() and np.isfinite(c).all()):
            raise ValueError(f"{owner}: coef and intercept must be finite.")
        if c.any() and not self._run_.intercept:
            raise ValueError(f"{owner}: intercept must be 0 with fit_intercept=False.")
        squares = np.square(u.reshape(k, d)).sum(axis=1) + c.ravel() ** 2
        bound = squares / (2 * self.step_) + self.step_ / 2 * self._run_.squares
        return bound if self._run_.several else float(bound[0])

    def _settings(self) -> Settings:
        owner = type(self).__name__
        if self.step is not None:
            as_real(self.step, "step", owner=owner, above=0)
        return Settings(as_bool(self.fit_intercept, "fit_intercept", owner=owner), self.step)

    def _checked_rows(self, X, y, sample_weight, run):
        """Return samples, targets (n, k) and weights of positive weight; True if y has columns."""
        owner = type(self).__name__
        like = None if run is None else self.coef_
        X = self._check_X(X, reset=run is None, like=like)
        X, Y, weight, several = self._weighted_targets(X, y, sample_weight)
        if run is not None and (several != run.several or Y.shape[1] != len(run.squares)):
            raise ValueError(
                f"y has {Y.shape[1]} columns, but {owner} was fitted to "
                f"{len(run.squares)}{' in columns' if run.several else ''}."
            )
        return X, Y, weight, several

    def _played(self, X, Y, weight, run, start, step):
        """Return the attributes after a round with each row, from coefficients and sums so far."""
        owner, (n, d) = type(self).__name__, X.shape
        with np.errstate(over="ignore"):
            squared_norms = row_sums(X, "squares")
            sizes = squared_norms + run.intercept
            sizes = sizes if weight is None else sizes * weight
        step = _step_for(float(sizes.max()), step, owner)
        *arrays, n_rounds = start
        coef, intercept, loss, squares = (values.copy() for values in (*arrays, run.squares))
        rows = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        rounds = _ext.sparse_rounds if sp.issparse(X) else _ext.dense_rounds
        arguments = (
            np.ascontiguousarray(Y, dtype=np.float64), np.empty(0) if weight is None else weight,
            squared_norms, step, run.intercept, coef, intercept, loss, squares,
        )  # fmt: skip
        with single_threaded_blas():
            for first, last in pieces(n, 20 + 4 * d * len(coef)):
                rounds(*rows, *arguments, first, last)
        if not (np.isfinite(coef).all() and np.isfinite(squares).all()):
            raise ValueError(f"{owner}: the steps overflow: rescale the features of X, or y.")
        return {
            "coef_": coef if run.several else coef[0],
            "intercept_": intercept if run.several else float(intercept[0]),
            "loss_": loss if run.several else float(loss[0]),
            "n_rounds_": n_rounds + n,
            "step_": step,
            "_run_": run._replace(squares=squares),
        }


def _step_for(size, step, owner):
    """Return the size of the steps for samples of at most this squared size, weights included."""
    if step is None:
        step = 0.25 / size if size > 0 else 1.0
    if not (0 < step < np.inf and np.isfinite(size)):
        raise ValueError(f"{owner}: squares of the samples over- or underflow: rescale X.")
    if step * size > 1 + 1e-9:
        raise ValueError(
            f"{owner}: step={step:g} must be at most 1 / |x|² of every sample, a constant of 1 and "
            f"its weight included, here {1 / size:g}: larger steps overshoot."
        )
    return step
