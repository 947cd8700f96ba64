"""Linear support vector classification."""

from typing import Any, Literal, Self

import numpy as np

from mlcore.checks import as_choice, as_class_weights
from mlcore.estimator.mixins import Classifier
from mlcore.numerics.scores.linear_scores import linear_scores
from mlcore.svm.linear.linear_machine import LinearMachine, LinearSamples, LinearSettings


class LinearSVC(Classifier, LinearMachine):
    r"""Support vector classification that is linear in the features, for very many samples.

    .. math:: \min_{w, b} P, \qquad P = \tfrac12 |w|^2 + C \sum_i s_i l(y_i (w \cdot x_i + b)),

    with ``l(m) = max(0, 1 - m)²`` or its root, y = ±1 and s the sample weights. The intercept b is
    not penalised. Several classes make one such problem each, against the rest. The fit ends by
    its duality gap.

    Parameters
    ----------
    C : float, default=1.0
        Cost of margin errors, positive; infinity asks for a hard margin.
    loss : "squared_hinge" or "hinge", default="squared_hinge"
        l: its square has a unique minimum, and is solved faster.
    tol : float > 0, default=1e-4
        Share of P that the duality gap may be at the end.
    max_iter : int, default=1000
        Largest number of iterations: Newton steps, or steps of coordinate descent in every sample.
    fit_intercept : bool, default=True
        False is b = 0.
    class_weight : dict, "balanced" or None, default=None
        Factor of the weights of each class; "balanced" gives all classes the same weight.
    dual : "auto" or bool, default="auto"
        Taken for programs that were written for scikit-learn: every choice has the same result.
    intercept_scaling : float > 0, default=1.0
        As `dual`: the intercept is free.
    random_state : int, Generator, RandomState or None, default=None
        As `dual`: nothing is drawn from it.
    verbose : bool or int, default=False
        Print progress.
    callback : callable or None, default=None
        Called as ``callback(step=, objective=, change=, seconds=)``; the change is the duality gap.
        Several classes follow each other.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    coef_ : (1, n_features) or (n_classes, n_features), in the type of the training data
        w; one row for two classes.
    intercept_ : (1,) or (n_classes,) float64
    dual_coef_ : (1, n_samples) or (n_classes, n_samples) float64
        Dual variables times the signs of the classes: w is the sum of samples times them.
    margin_ : float or (n_classes,) float64
        Distance 2/\|w\| between the two edges of the margin.
    n_support_ : int or (n_classes,) int64
        Samples with a dual variable that is not 0.
    objective_, dual_objective_, duality_gap_, kkt_violation_ : float or (n_classes,) float64
        P, the value of its dual, a bound on what P is above its minimum, rounding included, and
        the largest violation of the conditions of optimality: see `verify`.
    objective_trace_ : (n_steps,) or (n_steps, n_classes) float64
        P of the best coefficients so far, at last `objective_`.
    n_iter_ : int
        Iterations, the most of any class.
    converged_ : bool
        True if every gap is within `tol` of its P.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    ConvergenceWarning
        If `max_iter`, or rounding, ends the fit.

    Notes
    -----
    Squared losses take semismooth Newton steps, of which the end is finite. The Hessian of up to
    2000 features, a sum over the margin errors, is updated by those that come and go: O(m d²) time
    for m of them, O(m v²) for v values a row of sparse data. Of dense data with more than 150
    features it is formed in float32, and its factor preconditions conjugate gradients. For more
    features a system of the margin errors takes its place, of up to 2000 samples, or conjugate
    gradients, which also do so where it would cost more than they do. Plain losses of few samples,
    or of many more samples than features, take such steps for augmented Lagrangians of the dual.
    Others, and squared losses of sparse data with more than 2000 features, descend in one dual
    variable after the other, O(n v) for a step in each; where that would take longer, augmented
    Lagrangians follow, or steps of an interior point method. Large costs of separable classes are
    reached from small ones. Up to 1000 samples of many more features are first rotated into their
    span.
    Memory is a sparse copy of data of which less than four tenths are not 0, else the data, and
    O(n + d²). Weights of 2 are copies of samples, and class weights multiply them.

    The gap at w, b and dual variables is the sum of the losses' Fenchel-Young inequalities and
    \|w - sum_i beta_i x_i\|²/2, for dual variables beta that add up to 0.

    References
    ----------
    C. Cortes, V. Vapnik, *Support-vector networks*, Machine Learning 20, 1995.
    O. Mangasarian, *A finite Newton method for classification*, Optimization Methods and Software
    17, 2002.
    C. Hsieh, K. Chang, C. Lin, S. Keerthi, S. Sundararajan, *A dual coordinate descent method for
    large-scale linear SVM*, International Conference on Machine Learning, 2008.
    R. Rockafellar, *Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming*, Mathematics of Operations Research 1, 1976.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.svm import LinearSVC
    >>> X, y = load_iris()
    >>> model = LinearSVC(loss="hinge").fit(X[y > 0], y[y > 0])
    >>> round(model.objective_, 2), model.duality_gap_ < 1e-4 * model.objective_
    (15.76, True)
    """

    margin_: float | np.ndarray
    _stored = {
        "coef_": "float c' f",
        "intercept_": "float64 c'",
        "dual_coef_": "float64 c' n",
        "margin_": "float | float64 c'",
        "objective_": "float | float64 c'",
        "dual_objective_": "float | float64 c'",
        "duality_gap_": "float | float64 c'",
        "kkt_violation_": "float | float64 c'",
        "objective_trace_": "float64 t | float64 t c'",
        "n_support_": "count | int64 c'",
        "n_iter_": "count",
        "converged_": "bool",
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: dict[Any, Any] | Literal["balanced"] | None = None,
        dual: Literal["auto"] | bool = "auto",
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.dual = dual
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise P.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for ``C=inf`` on classes that
            cannot be separated.
        """
        return self._fit_lines(X, y, sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w.x + b: (n_samples,) for two classes, (n_samples, n_classes) for more.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        scores : (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each sample: that of the largest score.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,)
            One of `classes_` for each sample.
        """
        scores = self._scores(X)
        several = scores.shape[1] > 1
        return self.classes_[scores.argmax(axis=1) if several else (scores[:, 0] > 0).astype(int)]

    def functional_margins(self, X: Any, y: Any) -> np.ndarray:
        """Return y (w.x + b): negative if misclassified, below 1 if inside the margin.

        With several classes, the least over the problems of all of them.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Members of ``classes_``.

        Returns
        -------
        margins : (n_samples,) float64
            In units of the margin.

        Raises
        ------
        ValueError
            If `y` has a label that the fit did not see.
        """
        return self._least_margins(X, y, np.ones(1))

    def geometric_margins(self, X: Any, y: Any) -> np.ndarray:
        r"""Return y (w.x + b) / \|w\|, the signed distances from the boundary.

        As `functional_margins`, each problem divided by its \|w\|.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        margins : (n_samples,) float64
            Negative if misclassified.
        """
        self._check_fitted()
        return self._least_margins(X, y, 0.5 * np.atleast_1d(self.margin_))

    def _least_margins(self, X, y, scale):
        scores = self._scores(X).astype(np.float64)
        codes = self._known_codes(y, len(scores))
        own = codes[:, None] == np.arange(1 if scores.shape[1] == 1 else scores.shape[1])
        if scores.shape[1] == 1:
            own = codes[:, None] == 1
        return (np.where(own, scores, -scores) * scale).min(axis=1)

    def _scores(self, X):
        X = self._check_X(X, reset=False, like=getattr(self, "coef_", None))
        return linear_scores(X, self.coef_, self.intercept_)

    def _settings(self) -> LinearSettings:
        losses = "squared_hinge", "hinge"
        loss = as_choice(self.loss, "loss", losses, owner=type(self).__name__)
        return self._linear_settings(0.0, loss == "squared_hinge", hard=True)

    def _samples(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> LinearSamples:
        checked = self._check_X(X, reset=reset)
        n = checked.shape[0]
        if reset:
            classes, codes, weight, rows = self._weighted_labels(y, sample_weight, n)
        else:
            classes, codes = self.classes_, self._known_codes(y, n)
            _, _, weight, rows = self._weighted_labels(y, sample_weight, n)
            codes = codes[rows]
        weight = weight[rows]
        weight = weight * as_class_weights(self.class_weight, classes, codes, weight)[codes]
        present = np.flatnonzero(weight)
        if len(present) < len(weight):
            rows, codes, weight = rows[present], codes[present], weight[present]
            if reset:
                kept, codes = np.unique(codes, return_inverse=True)
                classes = classes[kept]
        if len(classes) < 2:
            raise ValueError(
                f"class_weight leaves fewer than 2 classes to {type(self).__name__}: at least 2 "
                "need positive weights."
            )
        if len(rows) < n:
            checked = checked[rows]
        sides = [1] if len(classes) == 2 else range(len(classes))
        targets = [np.where(codes == side, 1.0, -1.0) for side in sides]
        return LinearSamples(checked, rows, n, weight, targets, True, classes)

    def _attributes(self, samples: LinearSamples, lines: Any) -> dict[str, Any]:
        found = super()._attributes(samples, lines)
        with np.errstate(divide="ignore", over="ignore"):
            margins = 2 / np.linalg.norm(found["coef_"].astype(np.float64), axis=1)
        return found | {
            "classes_": samples.classes,
            "margin_": float(margins[0]) if len(margins) == 1 else margins,
        }
