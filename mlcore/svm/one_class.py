"""The one-class support vector machine: a region that holds most of the samples."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_real
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.svm.formulations import OneClass
from mlcore.svm.machine import (
    ONE_PROBLEM,
    KernelMachine,
    fit_one_problem,
    function_values,
    verify_one_problem,
)
from mlcore.svm.smo.optimality import Optimality

_BORDER = 1e-10


class OneClassSVM(KernelMachine):
    r"""Find the hyperplane that separates most samples from the origin of feature space.

    .. math:: \min_{w, \rho} \tfrac12 |w|^2 - \nu \rho \sum_i w_i
        + \sum_i w_i \max(0, \rho - w \cdot \phi(x_i)),

    with w_i the sample weights: nu bounds the share of outliers from above and the share of
    support vectors from below. Where the origin lies among the samples in feature space, as it may
    with the linear kernel, w = 0 is optimal, and the fit warns.

    Parameters
    ----------
    kernel, degree, gamma, coef0 : as in `SVC`
    tol : float, default=1e-3
        Largest KKT violation, as a part of rho where that is below 1.
    nu : float, default=0.5
        In (0, 1].
    cache_size, verbose, max_iter, callback : as in `SVC`

    Attributes
    ----------
    support_ : (n_SV,) int32
        Rows of the training data that are support vectors.
    support_vectors_ : (n_SV, n_features)
        Read-only from the first prediction on; to change them, set another array.
    n_support_ : (1,) int32
    dual_coef_ : (1, n_SV) float64
        Multipliers; their sum is nu times the sum of the weights.
    intercept_ : (1,) float64
        -rho.
    offset_ : float
        rho, the least score of the samples whose multiplier is below its bound;
        ``decision_function = score_samples - offset_``.
    margin_ : float
        rho / |w|, the distance of the hyperplane from the origin of feature space.
    coef_ : (1, n_features) float64
        w, with the linear kernel only.
    dual_objective_, primal_objective_, objective_, duality_gap_, kkt_violation_ : float
        Optimality of the fit, see `verify`; objective_ is the primal one.
    margin_error_indices_ : (n_errors,) intp
        Rows of the training data with a multiplier at its bound w_i: the outliers.
    gamma_ : float
    n_iter_ : int
    converged_ : bool
    fit_status_ : int
        0 if converged, else 1.
    shape_fit_ : (int, int)
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson, *Estimating the support of a
    high-dimensional distribution*, Neural Computation 13, 2001.

    Examples
    --------
    >>> from mlcore.svm import OneClassSVM
    >>> machine = OneClassSVM(nu=0.3, gamma=0.5).fit([[0.0], [0.1], [0.2], [9.0]])
    >>> machine.predict([[0.1], [20.0]])
    array([ 1, -1])
    """

    offset_: float
    margin_: float
    dual_objective_: float
    primal_objective_: float
    duality_gap_: float
    kkt_violation_: float
    n_iter_: int
    _stored = ONE_PROBLEM | {"offset_": "float", "margin_": "float"}

    _kind = "outlier_detector"
    _instead = {"random_state": "drop it: nothing is drawn at random"}

    def __init__(
        self,
        *,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | GammaRule = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : ignored
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
            If the data or the kernel rows do not fit in memory.
        """
        return fit_one_problem(self, X, None, sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w.phi(x) - rho for each row of `X`: negative for outliers.

        Values within rounding of 0 become 0, so that a sample on the border is inside.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With a precomputed kernel: the values against the training samples.

        Returns
        -------
        values : (n_samples,)
            Negative for outliers.
        """
        return at_border(function_values(self, X), self.offset_)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return w.phi(x) for each row of `X`, the decision function plus `offset_`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With a precomputed kernel: the values against the training samples.

        Returns
        -------
        values : (n_samples,)
            Smaller for samples further outside.
        """
        values = self.decision_function(X)
        return values + values.dtype.type(self.offset_)

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for each row of `X` inside the region or on its border, -1 for outliers.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With a precomputed kernel: the values against the training samples.

        Returns
        -------
        labels : (n_samples,)
            1 or -1.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fit to `X`, then return +1 or -1 for each of its rows; `y` is ignored.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        **fit_params : dict
            Passed on to `fit`.

        Returns
        -------
        labels : (n_samples,)
            -1 for outliers.
        """
        return self.fit(X, **fit_params).predict(X)

    def verify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Optimality:
        """Recompute the optimality of the fit from the kernel itself, in float64.

        Parameters
        ----------
        X : as in `fit`
        y : ignored
        sample_weight : as in `fit`

        Returns
        -------
        optimality : Optimality
            ``dual_objective``, ``primal_objective``, ``duality_gap`` and ``kkt_violation``.

        Notes
        -----
        O(n_samples n_SV n_features) time and no Gram matrix.
        """
        return verify_one_problem(self, X, None, sample_weight)

    def _targets(self, y, n_samples):
        return np.zeros(n_samples)

    def _formulation(self):
        owner = type(self).__name__
        return OneClass(as_real(self.nu, "nu", owner=owner, above=0, at_most=1), owner)


def at_border(values: np.ndarray, offset: float) -> np.ndarray:
    """Return decision values, those within rounding of 0 as 0."""
    rounding = max(_BORDER, 8 * float(np.finfo(values.dtype).eps)) * abs(offset)
    return np.where(np.abs(values) <= rounding, values.dtype.type(0), values)
