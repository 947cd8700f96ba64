"""Logistic regression of two or more classes."""

import copy
import math
from typing import Any, Literal, Self, get_args

import numpy as np

from mlcore.checks import as_class_weights, as_integer, as_real, as_weights
from mlcore.checks.arrays import column_names
from mlcore.checks.parameters import as_bool, as_choice
from mlcore.estimator.model import warn
from mlcore.estimator.progress import Progress
from mlcore.linear_model.inference import Inference
from mlcore.linear_model.logistic.evidence import LARGEST_SYSTEM
from mlcore.linear_model.logistic.logistic_classifier import LogisticClassifier, TrainingRows
from mlcore.linear_model.logistic.logistic_inference import logistic_inference, require_optimum
from mlcore.linear_model.logistic.logistic_pass import (
    Columns,
    LogisticRows,
    LogisticSums,
    n_scores_of,
    parameters_of,
)
from mlcore.linear_model.logistic.logistic_path import (
    LogisticPath,
    as_costs,
    fit_paths,
    grid_of_costs,
    least_cost,
    warn_of_ends,
)
from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.separation import require_overlap, separated
from mlcore.linear_model.logistic.solution import (
    Settings,
    evidence_attributes,
    scaled_objective,
    solve,
)
from mlcore.linear_model.logistic.steps.from_sums import Line, Run, next_step
from mlcore.row_sums import RowSums

_Solver = Literal["auto", "newton", "lbfgs", "gradient"]
_Peer = Literal["newton-cg", "newton-cholesky", "liblinear", "sag", "saga"]  # scikit-learn's names


def _older_run(theta, columns, line, gradient, pairs):
    if line is not None:
        start, value, *others = line
        line = Line(start, value, gradient, *others)
    return Run(theta, Columns(*columns), line, pairs)


def _without_rows(_):
    return TrainingRows(None, False)


class LogisticRegression(RowSums, LogisticClassifier):
    r"""Classify by probabilities whose log odds are linear in the features.

    Minimises

    .. math:: P(W, b) = C \sum_i s_i l_i + \tfrac12 (1 - r) \|W\|^2 + r \sum |w|, \qquad
        l_i = \ln \sum_k e^{z_{ik}} - z_{i y_i}, \quad z_i = W x_i + b,

    with weights s of the samples and the share r of absolute values in the penalty, 0 by default;
    for two classes :math:`l = \ln(1 + e^{-y z})` with one score z and y = ±1. The intercepts b are
    not penalised. The fit converges on data of any scale, and bounds its distance from the minimum.

    Parameters
    ----------
    C : float > 0, default=1.0
        Weight of the losses; infinity is no penalty.
    l1_ratio : float in [0, 1], default=0.0
        r: above 0 many coefficients are exactly 0, the more the smaller C is (lasso at 1, elastic
        net between).
    fit_intercept : bool, default=True
        False for b = 0.
    solver : "auto", "newton", "lbfgs" or "gradient", default="auto"
        "newton" computes the whole Hessian, "lbfgs" approximates it, "gradient" scales the columns
        alone; "auto" takes Newton's method up to 480 parameters, beyond them that by conjugate
        gradients for sparse data, else L-BFGS, and with ``l1_ratio > 0`` proximal Newton steps, as
        "newton" does. scikit-learn's other names, "newton-cg", "newton-cholesky", "liblinear",
        "sag" and "saga", are taken for "auto": all solvers have the same result.
    tol : float > 0, default=1e-4
        Largest component of the gradient of P / (C sum s), in columns centred and scaled to unit
        mean square, and largest Newton decrement per unit of weight, at which the fit ends, once
        the decrement shows that P is within 1e-9 of its minimum, or 1e-5 tol.
    max_iter : int, default=200
        Largest number of iterations; 0 leaves the coefficients where they start.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class; "balanced" gives all classes the same weight.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if it had the same classes and features and P
        is lower there than at coefficients of 0.
    verbose : bool or int, default=False
        Print progress.
    callback : callable or None, default=None
        Called as ``callback(step=, objective=, change=, seconds=)`` in every iteration; the change
        is the gradient's largest component.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    coef_ : (1, n_features) or (n_classes, n_features), in the type of the training data
        W; one row for two classes.
    intercept_ : (1,) or (n_classes,), in the type of the training data
    n_iter_ : (1,) int32
    n_passes_ : float
        Readings of the data.
    converged_ : bool
    objective_ : float
        P; without penalty, the sum of the weighted losses.
    objective_trace_ : (n_iter_[0] + 1,) float64
        P after each iteration, at last `objective_`; it rises by rounding alone.
    gradient_norm_ : float
        What `tol` bounds.
    newton_decrement_ : float
        ``sqrt(g' H^-1 g)`` of gradient and Hessian of P, for L-BFGS in its metric instead of H, for
        conjugate gradients up to the rest that their least Ritz value leaves; with ``l1_ratio > 0``
        the root of the fall that the next step promises.
    duality_gap_ : float
        P is at most this much above its minimum, rounding included; infinite without penalty.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ends the fit.

    Notes
    -----
    A pass of Newton's method takes O(n d² k (k + 1)) time for k scores, one of L-BFGS O(n d k),
    both O(nnz) instead of n d for sparse data in L-BFGS; memory is O(d² k²) or O(d²) beside the
    data. Sparse data are copied to a dense array if a quarter of the values or more are not 0.
    Newton's method starts from a fit to a part of the rows and takes a few passes. L-BFGS works in
    the metric of the covariance of the features, where d is at most 4000, so that correlated
    features do not slow it down; fits that it does not end in 100 to 150 steps, of classes that
    the features nearly separate, go on by damped Newton steps with conjugate gradients. With more
    features than samples, these at most 4000, a dense fit takes place in the span of the samples,
    whose coordinates keep the penalty as it is. Sparse data of more than 480 parameters and a
    finite C take Newton steps by conjugate gradients, whose products read the data once for all
    classes, in the metric of the Hessian's diagonal and of the block of the 256 columns, at most,
    that a sixteenth of the rows or more have; each ends once its rest is small beside what `tol`
    allows. With ``l1_ratio > 0`` and more than 200 parameters a step changes
    those of the columns in use and of others that promise most, and reads all columns once; where
    these are half of the columns or more, and up to 3000 parameters, it changes all.

    The gap is that to residuals which sum to 0, and so are feasible in the dual: ``1/2 |grad_W
    P|²`` by the equality of Fenchel and Young, once the intercepts are solved for, and where
    saturated probabilities hide their gradient, relative entropies more. With offsets a fit starts
    from the intercepts that are best without features.

    References
    ----------
    D. Cox, *The regression analysis of binary sequences*, Journal of the Royal Statistical Society
    B 20, 1958.
    D. Marquardt, *An algorithm for least-squares estimation of nonlinear parameters*, Journal of
    the Society for Industrial and Applied Mathematics 11, 1963.
    J. Nocedal, *Updating quasi-Newton matrices with limited storage*, Mathematics of Computation
    35, 1980.
    J. Friedman, T. Hastie, R. Tibshirani, *Regularization paths for generalized linear models via
    coordinate descent*, Journal of Statistical Software 33, 2010.
    T. Steihaug, *The conjugate gradient method and trust regions in large scale optimization*, SIAM
    Journal on Numerical Analysis 20, 1983.
    F. Bach, *Self-concordant analysis for logistic regression*, Electronic Journal of Statistics 4,
    2010.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.linear_model import LogisticRegression
    >>> X, y = load_iris()
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.objective_, 6)
    28.886317
    >>> model.duality_gap_ < 1e-6 * model.objective_
    True
    """

    _run_: Run  # parameters in scaled columns, and the steps of a fit by sums
    _stored = {"_run_": Run}
    _older = {
        "_run_": (_older_run, "theta", "columns", "line", "gradient", "pairs"),
        "_solution_": (_without_rows, "coef_"),
        "random_state": None,
    }

    _instead = {
        "random_state": "drop it: nothing is drawn at random",
        "dual": "drop it: every solver shows its duality gap, in duality_gap_",
        "intercept_scaling": "drop it: intercepts are not penalised",
        "multi_class": "drop it: several classes are one softmax",
        "penalty": "use l1_ratio=0 for l2, 1 for l1, a share for elasticnet, C=numpy.inf for None",
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: _Solver | _Peer = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Self:
        """Minimise P.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 stands for two copies of a sample, 0 for its absence.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the scores. Later predictions need offsets too: a UserWarning says so where
            there are none.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            For NaN and infinity, fewer than two classes of positive weight, and parameters out of
            range.
        SeparatedClasses
            At ``C=inf`` for classes that a linear function separates: the error names its features,
            and holds the `verdict`, "complete" or "quasi-complete", and the `direction`.
        """
        settings, owner = self._settings(), type(self).__name__
        data, classes, with_offset = self._training_rows(X, y, sample_weight, offset, settings)
        objective, factor = scaled_objective(data, settings)
        start = self._start(data, classes)

        def fitted(theta):
            return {
                "classes_": classes,
                "n_features_in_": data.d,
                "_solution_": TrainingRows(data.total, with_offset),
            } | self._parameters(Run(theta, data.columns), data.X.dtype)

        with Progress(settings.verbose, self.callback, owner, self) as progress:
            solution = solve(objective, factor, start, settings, progress, fitted)
        if settings.C == math.inf and settings.max_iter > 0:
            require_overlap(objective, solution.theta, column_names(X), owner)
        found = evidence_attributes(solution, objective, factor)
        self._set_fitted(X, **fitted(solution.theta), **found)
        if not solution.converged:
            self._warn_of_end(solution, settings, factor, self.solver)
        return self

    def path(self, X: Any, y: Any, sample_weight: Any = None, *, Cs: Any = 100) -> LogisticPath:
        """Return the models of many costs; the `C` of this model does not count.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 stands for two copies of a sample, 0 for its absence.
        Cs : int or array-like of shape (m,), default=100
            Weights of the losses, above 0; or their number, in equal ratios from 1e-4 to 1e4, or
            with ``l1_ratio > 0`` from the largest without coefficients to 1000 times that.

        Returns
        -------
        path : LogisticPath
            One model for each C, in the order of `Cs`.

        Raises
        ------
        SeparatedClasses
            As in `fit`, if one of `Cs` is infinite.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` ends the fit for any C.

        Notes
        -----
        Each C starts from the coefficients of the next smaller one. Fits of two classes to dense
        data of at most 256 features take one to three passes each, keep the Hessian while it
        serves, and end at a duality gap of ``tol / 100`` of the objective. So do those to sparse
        data or more features with ``l1_ratio > 0`` and up to 512 of them in use, which are copied,
        and proven by one product with all (Tibshirani et al., *Strong rules for discarding
        predictors in lasso-type problems*, 2012), and ridges of more features than samples, these
        at most 256, in the span of the samples. Others take the steps of `fit`; `solver` counts
        for these.

        Examples
        --------
        >>> from mlcore.datasets import load_iris
        >>> X, y = load_iris()
        >>> path = LogisticRegression().path(X, y, Cs=[0.1, 1.0])
        >>> path.objective.round(4)
        array([ 6.4018, 28.8863])
        """
        settings, owner = self._settings(), type(self).__name__
        costs = as_costs(Cs, owner)
        l1_ratio = as_real(self.l1_ratio, "l1_ratio", owner=owner, at_least=0, at_most=1)
        settings = settings._replace(C=1.0, l1_ratio=l1_ratio)
        data, _, _ = self._training_rows(X, y, sample_weight, None, settings)
        if isinstance(costs, int):
            costs = grid_of_costs(costs, least_cost(data, l1_ratio))
        paths = fit_paths(data, data.weight[None], costs, settings, owner, column_names(X))
        warn_of_ends(paths, settings, owner)
        coef, intercept = (v[0].astype(data.X.dtype) for v in (paths.coef, paths.intercept))
        if data.n_scores == 1:
            coef, intercept = coef[:, 0], intercept[:, 0]
        n_nonzero = np.count_nonzero(paths.coef[0], axis=(1, 2)).astype(np.int64)
        evidence = paths.objective[0], paths.gap[0]
        return LogisticPath(costs, coef, intercept, *evidence, n_nonzero, paths.n_iter[0])

    def _start(self, data, classes):
        """Return the parameters to start from, None if not from an earlier fit."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        shape = (data.n_scores, data.d)
        if self.coef_.shape != shape or not np.array_equal(self.classes_, classes):
            return None
        return self._theta(data)

    def _parameters(self, run, dtype):
        """Return the attributes of the parameters of a run, in units of the data."""
        return parameters_of(run.theta, run.columns, dtype) | {"_run_": run}

    def _settings(self) -> Settings:
        owner = type(self).__name__
        C = as_real(self.C, "C", owner=owner, above=0, allow_inf=True)
        Progress(self.verbose, self.callback, owner)
        solver = as_choice(
            self.solver, "solver", (*get_args(_Solver), *get_args(_Peer)), owner=owner
        )
        as_bool(self.warm_start, "warm_start", owner=owner)
        l1_ratio = as_real(self.l1_ratio, "l1_ratio", owner=owner, at_least=0, at_most=1)
        if l1_ratio > 0 and solver in ("lbfgs", "gradient"):
            raise ValueError(
                f"{owner}: solver={solver!r} takes l1_ratio=0 alone, not l1_ratio={l1_ratio:g}; "
                "solver='auto' and 'newton' take any."
            )
        return Settings(
            C=C,
            l1_ratio=l1_ratio if C < math.inf else 0.0,
            fit_intercept=as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            solver="auto" if solver in get_args(_Peer) else solver,
            tol=as_real(self.tol, "tol", owner=owner, above=0),
            max_iter=as_integer(self.max_iter, "max_iter", owner=owner, at_least=0),
            verbose=self.verbose,
        )

    def inference(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
    ) -> Inference:
        """Return standard errors, tests and intervals of the coefficients of maximum likelihood.

        Newton's method goes on from the fitted coefficients to the rounding of float64. With more
        than two classes parameters are those of each class less those of the first.

        Parameters
        ----------
        X, y, sample_weight, offset : as in `fit`
            The samples of the fit.

        Returns
        -------
        inference : Inference
            Of all coefficients.

        Raises
        ------
        ValueError
            For a finite C: penalised estimates have no Wald test; for class weights, which are no
            copies of samples; for other samples, weights or offsets than those of the fit.
        """
        settings, owner = self._settings(), type(self).__name__
        if settings.C < math.inf:
            raise ValueError(
                f"{owner}: inference needs C=inf, not C={settings.C:g}: penalised estimates are "
                "biased, and have no Wald test."
            )
        if self.class_weight is not None:
            raise ValueError(
                f"{owner}: inference needs class_weight=None, not {self.class_weight!r}: such "
                "weights are no copies of samples, of which errors would be. Give the numbers of "
                "copies as sample_weight."
            )
        data = self._rows_of_fit(X, y, sample_weight, offset, settings, "inference")
        theta = self._theta(data)
        require_optimum(self, Objective(data, 0.0), theta)
        return logistic_inference(self, data, theta)

    # ---- a fit by sums over rows

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
            If a class of the data is not among those of `y`: later blocks are of these classes. For
            more than 2000 parameters with ``l1_ratio > 0``.
        """
        settings = self._settings()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: give blocks a dict."
            )
        checked = self._check_X(X, reset=True)
        n, d = checked.shape
        classes, _, weight, _ = self._weighted_labels(y, sample_weight, n)
        n_scores = n_scores_of(classes)
        if settings.l1_ratio > 0 and n_scores * (d + 1) > LARGEST_SYSTEM:
            raise ValueError(
                f"l1_ratio={self.l1_ratio:g} of {n_scores * (d + 1)} parameters needs all rows at "
                f"once: blocks take up to {LARGEST_SYSTEM} with l1_ratio > 0."
            )
        codes = np.zeros(n, int)
        rows = LogisticRows(checked, codes, weight, None, n_scores, settings.fit_intercept)
        self._set_fitted(
            X,
            classes_=classes,
            n_iter_=np.zeros(1, np.int32),
            converged_=False,
            objective_trace_=np.empty(0),
            _solution_=TrainingRows(None, False),
            **self._parameters(Run(np.zeros((n_scores, d + 1)), rows.columns), checked.dtype),
        )
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
        settings = self._settings()
        X = self._check_X(X, reset=False, like=getattr(self, "coef_", None))
        theta, columns = self._run_.theta, self._run_.columns
        codes = self._known_codes(y, X.shape[0])
        weight = as_weights(sample_weight, X.shape[0])
        weight = weight * as_class_weights(self.class_weight, self.classes_, codes, weight)[codes]
        rows = LogisticRows(X, codes, weight, None, len(theta), settings.fit_intercept, columns)
        return rows.sums(theta, hessian=theta.size <= LARGEST_SYSTEM)

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

        With more than 2000 parameters it is a step of L-BFGS, and the decrement its estimate; with
        ``l1_ratio > 0`` a proximal step, and the decrement the root of the fall that it promises.
        `converged_` is True when the decrement is at most `tol`; the step that follows is taken.

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
        # Separated classes have no optimum without penalty.
        settings, owner = self._settings(), type(self).__name__
        self._check_fitted()
        run, total = self._run_, statistics.weight
        if settings.C == math.inf and statistics.n_wrong == 0:
            names = getattr(self, "feature_names_in_", None)
            u = run.theta / np.abs(run.theta).max()
            raise separated("complete", u, run.columns, names, owner)
        # A step that was too long is halved; else the point of the sums is known.
        step = next_step(run, statistics, settings.C, settings.l1_ratio, settings.fit_intercept)
        if isinstance(step, Run):
            self._update_state(self._parameters(step, self.coef_.dtype))
            return self
        factor = total * (1.0 if settings.C == math.inf else settings.C)
        trace = np.append(self.objective_trace_, factor * step.value)
        # The decrement decides on the end.
        small, endless = step.decrement <= settings.tol, step.run.line.endless
        state = {
            "n_iter_": np.array([len(trace) - 1], np.int32),
            "objective_trace_": trace,
            "objective_": factor * step.value,
            "newton_decrement_": math.sqrt(factor) * step.decrement,
            "converged_": bool(small and not endless),
            "_solution_": self._solution_._replace(weight=total),
        }
        self._update_state(state | self._parameters(step.run, self.coef_.dtype))
        if endless and small:
            warn(
                "ConvergenceWarning",
                f"{owner}: the Newton decrement of {step.decrement:.2g} per unit of weight"
                f" is at most tol={settings.tol:g}, but falls by a constant factor: it seems that "
                "the classes are separated in part, and coefficients grow without end. Use a finite"
                " C, or fit all rows at once, which decides.",
            )
        return self

    def for_workers(self) -> Self:
        """Return the model that workers need for sums: without what stays in this process.

        Returns
        -------
        model
            A copy without its callback, and without what only `update` reads.
        """
        model = copy.copy(self)
        model.callback, model._run_ = None, self._run_.for_sums()
        return model
