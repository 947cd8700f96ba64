"""Linear support vector regression."""

from typing import Any, Literal, Self

import numpy as np

from mlcore.checks import as_choice, as_real, as_targets, as_weights
from mlcore.estimator.mixins import Regressor
from mlcore.numerics.scores.linear_scores import linear_scores
from mlcore.svm.linear.linear_machine import LinearMachine, LinearSamples, LinearSettings

_LOSSES = "epsilon_insensitive", "squared_epsilon_insensitive"


class LinearSVR(Regressor, LinearMachine):
    r"""Support vector regression that is linear in the features, for very many samples.

    .. math:: \min_{w, b} P, \qquad P = \tfrac12 |w|^2
        + C \sum_i s_i l(|y_i - w \cdot x_i - b| - \epsilon),

    with ``l(z) = max(0, z)`` or its square, and s the sample weights. The intercept b is not
    penalised. The fit ends by its duality gap.

    Parameters
    ----------
    C : float, default=1.0
        Cost of leaving the tube, positive.
    epsilon : float, default=0.0
        Half the width of the tube, at least 0.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive", default="epsilon_insensitive"
        l: its square has a unique minimum, and is solved faster.
    tol, max_iter, fit_intercept, dual, intercept_scaling, random_state : others
        As in `LinearSVC`.
    verbose, callback : others
        As in `LinearSVC`.

    Attributes
    ----------
    coef_ : (n_features,), in the type of the training data
        w.
    intercept_ : (1,) float64
    dual_coef_ : (n_samples,) float64
        Dual variables: w is the sum of samples times them.
    n_support_ : int
        Samples with a dual variable that is not 0.
    objective_, dual_objective_, duality_gap_, kkt_violation_ : float
        P, the value of its dual, a bound on what P is above its minimum, rounding included, and
        the largest violation of the conditions of optimality: see `verify`.
    objective_trace_ : (n_steps,) float64
        P of the best coefficients so far, at last `objective_`.
    n_iter_ : int
    converged_ : bool
        True if the gap is within `tol` of P.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    ConvergenceWarning
        If `max_iter`, or rounding, ends the fit.

    Notes
    -----
    Time and memory are those of `LinearSVC`. With the squared loss and ``epsilon=0`` this is ridge
    regression, ``LinearRegression(alpha=1 / (2 * C))``.

    References
    ----------
    A. Smola, B. Schölkopf, *A tutorial on support vector regression*, Statistics and Computing 14,
    2004.
    C. Ho, C. Lin, *Large-scale linear support vector regression*, Journal of Machine Learning
    Research 13, 2012.

    Examples
    --------
    >>> from mlcore.svm import LinearSVR
    >>> model = LinearSVR(C=100.0, tol=1e-9).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(3)
    array([7.])
    """

    _stored = {
        "coef_": "float f",
        "intercept_": "float64 1",
        "dual_coef_": "float64 n",
        "objective_": "float",
        "dual_objective_": "float",
        "duality_gap_": "float",
        "kkt_violation_": "float",
        "objective_trace_": "float64 t",
        "n_support_": "count",
        "n_iter_": "count",
        "converged_": "bool",
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.0,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        dual: Literal["auto"] | bool = "auto",
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
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
        """
        return self._fit_lines(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return w.x + b for each row of `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        y : (n_samples,)
            In the precision of the fit.
        """
        X = self._check_X(X, reset=False, like=getattr(self, "coef_", None))
        return linear_scores(X, self.coef_[None], self.intercept_)[:, 0]

    def _settings(self) -> LinearSettings:
        owner = type(self).__name__
        loss = as_choice(self.loss, "loss", _LOSSES, owner=owner)
        eps = as_real(self.epsilon, "epsilon", owner=owner, at_least=0)
        return self._linear_settings(eps, loss == "squared_epsilon_insensitive", hard=False)

    def _samples(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> LinearSamples:
        checked = self._check_X(X, reset=reset)
        n = checked.shape[0]
        y, weight = as_targets(y, n, owner=type(self).__name__), as_weights(sample_weight, n)
        rows = np.flatnonzero(weight)
        if len(rows) < n:
            checked, y, weight = checked[rows], y[rows], weight[rows]
        return LinearSamples(checked, rows, n, weight, [y], False, None)

    def _attributes(self, samples: LinearSamples, lines: Any) -> dict[str, Any]:
        found = super()._attributes(samples, lines)
        return found | {"coef_": found["coef_"][0], "dual_coef_": found["dual_coef_"][0]}
