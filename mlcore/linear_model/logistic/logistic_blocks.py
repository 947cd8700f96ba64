"""Logistic regression from blocks of rows: sums of each block, merged, and steps from them."""

import math
from typing import Any, Self

import numpy as np

from mlcore.checks import as_class_weights, as_weights
from mlcore.estimator.model import Classifier, Model, warn
from mlcore.linear_model.logistic.evidence import LARGEST_SYSTEM
from mlcore.linear_model.logistic.logistic_pass import Columns, LogisticRows, LogisticSums
from mlcore.linear_model.logistic.objective import NewtonSystem, Penalised
from mlcore.linear_model.logistic.separation import separated
from mlcore.linear_model.logistic.steps.lbfgs import inverse_product
from mlcore.linear_model.logistic.steps.newton import ARMIJO, ROUNDING
from mlcore.row_sums import RowSums, without

_PAIRS = 20  # of L-BFGS
_SATURATED = 1e-10  # gradient, beyond which its part without curvature is no rounding
_SLOW = 0.3  # factor of the decrement: near a minimum its square, without one exp(-1/2)


class LogisticBlocks(RowSums, Classifier, Model):
    """Base of a logistic regression whose steps follow from sums over rows: a `RowSums`."""

    C: float
    l1_ratio: float
    tol: float
    class_weight: Any
    fit_intercept: bool
    coef_: np.ndarray
    intercept_: np.ndarray
    _weight_: float | None  # of the rows of the fit
    _columns_: tuple[np.ndarray, np.ndarray]
    _theta_: np.ndarray
    _line_: tuple | None  # where the steps are, where they go, and if it seems without end
    _gradient_: np.ndarray | None  # there, and the pairs of L-BFGS
    _pairs_: np.ndarray | None
    _stored = {
        "intercept_": "float c'",
        "_columns_": ("float64 f", "float64 f"),
        "_theta_": "float64 c' f+1",
        "_line_": ("float64 c' f+1", "float", "float64 c' f+1", "float", "float", "bool"),
        "_weight_": "none | float",
        "_gradient_": "none | float64 c' f+1",
        "_pairs_": "none | float64 2 l? c' f+1",
    }

    def _from_older_state(self, state):
        if "coef_" in state:  # 0.2 kept no weight of the fit
            state.setdefault("_weight_", None)
        return super()._from_older_state(state)

    def _checked_parameters(self) -> dict[str, Any]:
        """Return the parameters, checked."""
        raise NotImplementedError

    def for_workers(self) -> Self:
        """Return the model that workers need for sums: without what stays in this process.

        Returns
        -------
        model
            This model, or a copy without what its next step is taken from.
        """
        return without(self, "callback", "_line_", "_gradient_", "_pairs_")

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set classes, shift and scale from `X` and `y`, and the coefficients to 0.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            If a class of the data is not among those of `y`: later blocks are of these classes.
        """
        how = self._checked_parameters()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: give blocks a dict."
            )
        if how["l1_ratio"] > 0:
            raise ValueError(
                f"l1_ratio={self.l1_ratio:g} needs all rows at once: blocks take l1_ratio=0."
            )
        checked = self._check_X(X, reset=True)
        classes, codes, weight, _ = self._weighted_labels(y, sample_weight, checked.shape[0])
        n_scores = 1 if len(classes) == 2 else len(classes)
        shape = n_scores, checked.shape[1] + 1
        rows = LogisticRows(
            checked, np.zeros(len(weight), int), weight, None, n_scores, how["fit_intercept"]
        )
        state = self._coefficients(np.zeros(shape), rows, checked.dtype)
        columns = rows.shift, rows.scale
        state |= {"n_iter_": np.zeros(1, np.int32), "converged_": False}
        state |= {"objective_trace_": np.empty(0), "_columns_": columns, "_line_": None}
        state |= {"_gradient_": None, "_pairs_": None, "_weight_": None}
        self._set_fitted(X, classes_=classes, **state)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticSums:
        """Return weight, loss, gradient and Hessian of these rows at the present coefficients.

        There is no Hessian of more than 2000 parameters.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : LogisticSums
            Sums over these rows.
        """
        how = self._checked_parameters()
        X = self._check_X(X, reset=False, like=getattr(self, "coef_", None))
        codes = self._known_codes(y, X.shape[0])
        weight = as_weights(sample_weight, X.shape[0])
        weight = weight * as_class_weights(self.class_weight, self.classes_, codes, weight)[codes]
        rows = LogisticRows(
            X, codes, weight, None, len(self._theta_), how["fit_intercept"],
            Columns(*self._columns_),
        )  # fmt: skip
        return rows.sums(self._theta_, hessian=self._theta_.size <= LARGEST_SYSTEM)

    def merge(self, a: LogisticSums, b: LogisticSums) -> LogisticSums:
        """Return the sums over the rows of both.

        Parameters
        ----------
        a, b : LogisticSums
            Sums over different rows.

        Returns
        -------
        statistics : LogisticSums
            Their sums.
        """
        if a.gradient.shape != b.gradient.shape:
            raise ValueError(
                f"statistics of shapes {a.gradient.shape} and {b.gradient.shape} cannot be merged: "
                "they come from different models."
            )
        sums = (None if one is None else one + other for one, other in zip(a, b, strict=True))
        return LogisticSums(*sums)

    def update(self, statistics: LogisticSums) -> Self:
        """Take a step of Newton's method, or halve the last one if it was too long.

        With more than 2000 parameters it is a step of L-BFGS, and the decrement its estimate.
        `converged_` tells when the decrement is at most `tol`; the step that follows is taken.

        Parameters
        ----------
        statistics : LogisticSums
            Sums over all rows.

        Returns
        -------
        self
            This model.

        Raises
        ------
        SeparatedClasses
            Without penalty, once the coefficients give all rows their classes.

        Warns
        -----
        ConvergenceWarning
            Without penalty, if the decrement is at most `tol` but falls by a constant factor, not
            by its square: as it does if some rows are separated from the others, which sums cannot
            prove. `converged_` is then False; `fit` to all rows decides.
        """
        how = self._checked_parameters()
        self._check_fitted()
        columns, theta = Columns(*self._columns_), self._theta_
        total = statistics.weight
        unpenalised = how["C"] == math.inf
        if unpenalised and statistics.n_wrong == 0:
            names = getattr(self, "feature_names_in_", None)
            u = theta / np.abs(theta).max()
            raise separated("complete", u, columns, names, type(self).__name__)
        objective = Penalised(columns.scale, 1 / how["C"] / total)
        point = objective.point(theta, statistics)
        line = self._line_
        if line is not None:
            start, value, direction, slope, length, endless = line
            rounding = 10 * ROUNDING * abs(value)
            if point.value > value + ARMIJO * length * slope + rounding:
                line = start, value, direction, slope, length / 2, endless
                state = self._coefficients(start + length / 2 * direction, columns)
                self._update_state(state | {"_line_": line})
                return self
        pairs, gradient, saturated = None, point.gradient, False
        if statistics.hessian is None:
            pairs = self._with_this_step(point)
            direction = _quasi_newton(point, objective.penalty, pairs)
        else:
            system = NewtonSystem(objective.hessian(point), len(theta))
            direction = -system.solve(gradient.ravel()).reshape(theta.shape)
            saturated = system.misses(gradient.ravel(), np.full(theta.size, _SATURATED))
        slope = min(0.0, float((gradient * direction).sum()))
        factor = total * (1.0 if unpenalised else how["C"])
        decrement = math.inf if saturated else math.sqrt(-slope)
        endless = False
        if pairs is None and unpenalised and line is not None and line[4] == 1:
            if -line[3] > 100 * ROUNDING * point.value:
                endless = slope < _SLOW**2 * line[3]
            else:  # rounding decides nothing
                endless = line[5]
        state = self._coefficients(theta + direction, columns)
        trace = np.append(self.objective_trace_, factor * point.value)
        state |= {
            "n_iter_": np.array([len(trace) - 1], np.int32),
            "objective_trace_": trace,
            "_line_": (theta, point.value, direction, slope, 1.0, endless),
            "_weight_": total,
            "_gradient_": None if pairs is None else gradient,
            "_pairs_": pairs,
            "objective_": factor * point.value,
            "newton_decrement_": math.sqrt(factor) * decrement,
            "converged_": bool(decrement <= how["tol"] and not endless),
        }
        self._update_state(state)
        if endless and decrement <= how["tol"]:
            warn(
                "ConvergenceWarning",
                f"{type(self).__name__}: the Newton decrement of {decrement:.2g} per unit of weight"
                f" is at most tol={how['tol']:g}, but falls by a constant factor: it seems that the"
                " classes are separated in part, and coefficients grow without end. Use a finite C,"
                " or fit all rows at once, which decides.",
            )
        return self

    def _with_this_step(self, point):
        """Return the last steps and changes of the gradient, (2, m, n_scores, d + 1)."""
        pairs = self._pairs_
        if self._line_ is None:
            return np.empty((2, 0, *point.theta.shape))
        pair = np.stack([point.theta - self._line_[0], point.gradient - self._gradient_])
        if not (pair[0] * pair[1]).sum() > 0:  # rounding
            return pairs
        return np.concatenate([pairs[:, -_PAIRS + 1 :], pair[:, None]], axis=1)

    def _coefficients(self, theta, columns, dtype=None):
        """Return the attributes that are the parameters."""
        with np.errstate(over="ignore", under="ignore"):
            coef = theta[:, :-1] * columns.scale
            intercept = theta[:, -1] - coef @ columns.shift
            dtype = self.coef_.dtype if dtype is None else dtype
            return {
                "coef_": coef.astype(dtype),
                "intercept_": intercept.astype(dtype),
                "_theta_": theta,
            }


def _quasi_newton(point, penalty, pairs):
    """Return the direction of L-BFGS, in the metric of columns of unit mean square."""
    share = 1 / max(2, len(point.theta))
    diagonal = share * (1 - share) + penalty

    def inverse(g):
        return g / diagonal

    known = [(s, y, 1 / float((s * y).sum())) for s, y in zip(*pairs, strict=True)]
    gamma = 1.0
    if known:
        s, y, rho = known[-1]
        gamma = 1 / (rho * float((y * inverse(y)).sum()))
    return -inverse_product(point.gradient, known, gamma, inverse)
