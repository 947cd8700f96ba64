"""Support vector regression: with a tube of given width, or a bound nu on the samples outside."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_real
from mlcore.estimator.model import Regressor
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.svm import formulations
from mlcore.svm.machine import (
    ONE_PROBLEM,
    KernelMachine,
    fit_one_problem,
    function_values,
    verify_one_problem,
)
from mlcore.svm.smo.optimality import Optimality


class SupportVectorRegressor(Regressor, KernelMachine):
    """Fit, predictions and proof of optimality of `SVR` and `NuSVR`."""

    dual_objective_: float
    primal_objective_: float
    duality_gap_: float
    kkt_violation_: float
    n_iter_: int
    _stored = ONE_PROBLEM

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C for each sample: 2 is a copy, 0 is absence.

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
        return fit_one_problem(self, X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) for each row of `X`, in the precision of the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With a precomputed kernel: the values against the training samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the units of `y`.
        """
        return function_values(self, X)

    def verify(self, X: Any, y: Any, sample_weight: Any = None) -> Optimality:
        """Recompute the optimality of the fit from the kernel itself, in float64.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        optimality : Optimality
            ``dual_objective``, ``primal_objective``, ``duality_gap`` and ``kkt_violation``.

        Notes
        -----
        O(n_samples n_SV n_features) time and no Gram matrix.
        """
        return verify_one_problem(self, X, y, sample_weight)


class SVR(SupportVectorRegressor):
    r"""Support vector regression with an epsilon-insensitive tube.

    .. math:: \min_{w, b} \tfrac12 |w|^2
        + \sum_i C_i \max(0, |y_i - w \cdot \phi(x_i) - b| - \epsilon), \quad C_i = C w_i,

    with w_i the sample weights.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol : as in `SVC`
    C : float, default=1.0
        Cost of leaving the tube, positive.
    epsilon : float, default=0.1
        Half the width of the tube, at least 0.
    cache_size, verbose, max_iter, callback : as in `SVC`

    Attributes
    ----------
    support_ : (n_SV,) int32
        Rows of the training data that are support vectors.
    support_vectors_ : (n_SV, n_features)
        Read-only from the first prediction on; to change them, set another array.
    n_support_ : (1,) int32
    dual_coef_ : (1, n_SV) float64
        Differences of the two multipliers of each support vector.
    intercept_ : (1,) float64
    coef_ : (1, n_features) float64
        w, with the linear kernel only.
    dual_objective_, primal_objective_, objective_, duality_gap_, kkt_violation_ : float
        Optimality of the fit, see `verify`; objective_ is the primal one.
    margin_error_indices_ : (n_errors,) intp
        Rows of the training data with a multiplier at its bound C_i: outside the tube.
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
    A. Smola, B. Schölkopf, *A tutorial on support vector regression*, Statistics and Computing 14,
    2004.

    Examples
    --------
    >>> from mlcore.svm import SVR
    >>> machine = SVR(kernel="linear", C=100.0, epsilon=0.0)
    >>> machine.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(3)
    array([7.])
    """

    def __init__(
        self,
        *,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | GammaRule = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
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
        self.C = C
        self.epsilon = epsilon
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.callback = callback

    def _formulation(self):
        owner = type(self).__name__
        return formulations.Regression(
            C=as_real(self.C, "C", owner=owner, above=0),
            epsilon=as_real(self.epsilon, "epsilon", owner=owner, at_least=0),
        )


class NuSVR(SupportVectorRegressor):
    r"""Support vector regression whose tube is as wide as a share nu of errors asks for.

    .. math:: \min_{w, b, \epsilon \ge 0} \tfrac12 |w|^2 + N \epsilon
        + \sum_i C_i \max(0, |y_i - w \cdot \phi(x_i) - b| - \epsilon), \quad N = \nu \sum_i C_i:

    nu is an upper bound on the share of samples outside the tube and a lower bound on the share of
    support vectors.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1].
    C : float, default=1.0
        Cost of leaving the tube, positive.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter, callback : as in `SVC`

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube found, which holds all samples whose multiplier is below its
        bound.
    others
        As in `SVR`.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, *New support vector algorithms*, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> from mlcore.svm import NuSVR
    >>> machine = NuSVR(kernel="linear", C=100.0, nu=0.5)
    >>> machine.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(3)
    array([7.])
    """

    epsilon_: float
    _stored = {"epsilon_": "float"}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: KernelName | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | GammaRule = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.callback = callback

    def _formulation(self):
        owner = type(self).__name__
        return formulations.NuRegression(
            nu=as_real(self.nu, "nu", owner=owner, above=0, at_most=1),
            C=as_real(self.C, "C", owner=owner, above=0),
        )
