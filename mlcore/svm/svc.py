"""Support vector classification: with a cost C for errors, or with a bound nu on their share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.checks import as_real
from mlcore.svm import formulations
from mlcore.svm.classifier import SupportVectorClassifier
from mlcore.svm.probability.probability import WithProbabilities


class SVC(WithProbabilities, SupportVectorClassifier):
    r"""Support vector classification with a cost C for margin errors.

    Between two classes,

    .. math:: \min_{w, b} \tfrac12 |w|^2 + \sum_i C_i \max(0, 1 - y_i (w \cdot \phi(x_i) + b)),

    solved in its dual over one multiplier for each sample, ``C_i = C * sample_weight_i *
    class_weight``. More classes are split into binary problems that share their kernel rows.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin error, positive. ``inf`` is the hard margin, which allows none.
    kernel : str, callable or Kernel, default="rbf"
        "linear", "polynomial" (or "poly"), "rbf", "laplacian", "sigmoid", "cosine", "chi2",
        "precomputed", a function of two sets of samples that returns their kernel values, or a
        `mlcore.kernels.Kernel`.
        Samples of a function may be strings or other objects, in a list or an array of one
        dimension.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : "scale", "auto" or float, default="scale"
        Width of the kernel; "scale" is 1 / (n_features * variance of X), where samples count by
        their weights; "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    probability : bool, default=False
        True to fit `predict_proba`, by five more, warm-started fits.
    tol : float, default=1e-3
        Largest violation of the optimality conditions that is accepted.
    cache_size : float, default=200
        MB of kernel rows to keep.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class; "balanced" makes their sums of sample weights equal. It moves
        the boundary of `predict`, but not `predict_proba`: the two may name different classes.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    max_iter : int, default=-1
        Most SMO steps for each binary problem; -1 is 10 million, or 1000 for each sample where that
        is more.
    decision_function_shape : "ovr" or "ovo", default="ovr"
        Columns of `decision_function` for more than two classes: one per class or one per pair.
    break_ties : bool, default=False
        True to break equal votes of `predict` by confidence rather than by the order of classes.
    multi_class : "ovo" or "ovr", default="ovo"
        Binary problems between all pairs of classes, or of each class against the rest.
    random_state : int, Generator or None, default=None
        Draws the folds that `predict_proba` is fitted on.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs; raising stops it.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_weight_ : (n_classes,) float64
    support_ : (n_SV,) int32
        Rows of the training data that are support vectors, class by class.
    support_vectors_ : (n_SV, n_features)
        Read-only from the first prediction on; to change them, set another array.
    n_support_ : (n_classes,) int32
    dual_coef_ : (n_classes - 1, n_SV) float64
        Signed multipliers. Two classes: positive for ``classes_[1]``. More: LIBSVM's layout; the
        pair (i, j) has those of class i in row j - 1 and those of class j in row i. With
        ``multi_class="ovr"`` (n_classes, n_SV), one row for each class against the rest.
    intercept_ : (n_problems,) float64
    coef_ : (n_problems, n_features) float64
        w, with the linear kernel only.
    dual_objective_, primal_objective_, duality_gap_, kkt_violation_ : float or (n_problems,)
        Optimality of the fit, see `verify`.
    margin_ : float or (n_problems,) float64
        2 / |w|.
    margin_error_indices_ : (n_errors,) intp
        Rows of the training data with a multiplier at its bound C_i.
    link_offsets_, link_slopes_, link_knots_ : (n_problems,), (n_problems, 4), (n_problems, 3)
        With ``probability=True``, the link from decision values to the logit of a probability:
        its value at the middle knot, its slopes between the knots, and the knots, float64.
    gamma_ : float
    n_iter_ : (n_problems,) int32
    converged_ : bool
    fit_status_ : int
        0 if converged, else 1.
    shape_fit_ : (int, int)
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Between n d + O(n) and n_SV n d time for kernel rows, times a small number; memory is the data
    and `cache_size`.

    References
    ----------
    C. Cortes, V. Vapnik, *Support-vector networks*, Machine Learning 20, 1995.
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working set selection using second order information for
    training support vector machines*, JMLR 6, 2005.

    Examples
    --------
    >>> from mlcore.svm import SVC
    >>> machine = SVC(kernel="linear", C=10.0).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[1.5], [2.5]])
    array([0, 1])
    >>> round(machine.margin_, 3)
    2.0
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        multi_class: str = "ovo",
        random_state: Any = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.random_state = random_state
        self.callback = callback

    def _formulation(self):
        owner = type(self).__name__
        return formulations.CSVC(as_real(self.C, "C", owner=owner, above=0, allow_inf=True))


class NuSVC(WithProbabilities, SupportVectorClassifier):
    r"""Support vector classification with a bound nu on the share of margin errors.

    Between two classes,

    .. math:: \min_{w, b, \rho \ge 0} \tfrac12 |w|^2 - N \rho
        + \sum_i c_i \max(0, \rho - y_i (w \cdot \phi(x_i) + b)), \quad N = \nu \sum_i c_i,

    with ``c_i = sample_weight_i * class_weight``: nu is an upper bound on the share of margin
    errors and a lower bound on the share of support vectors. The decision function is divided by
    rho, so that margins are at +-1 as in `SVC`, whose solution this is for C = 1 / rho.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], at most 2 min(n_+, n_-) / (n_+ + n_-), by weight, for every binary problem.
    kernel, degree, gamma, coef0, probability : as in `SVC`
    tol : float, default=1e-3
        Largest KKT violation, as a part of rho where that is below 1.
    cache_size : as in `SVC`
    class_weight : dict, "balanced" or None, default=None
        Factor of c_i for each class, as in `SVC`. Where it makes nu infeasible, the largest
        feasible value takes the place of nu: all samples of the lighter class are margin errors,
        and the boundary moves towards the outermost of them as its weight goes to zero.
    verbose, max_iter, decision_function_shape, break_ties, multi_class : as in `SVC`
    random_state, callback : as in `SVC`

    Attributes
    ----------
    dual_objective_, primal_objective_, duality_gap_, kkt_violation_ : float or (n_problems,)
        Those of the problem above, before the division by rho. Objectives grow with the square of
        the weights: beyond the range of floats they are infinite, and the machine is the same.
    margin_error_indices_ : (n_errors,) intp
        Rows with a multiplier at its bound c_i.
    rho_ : (n_problems,) float64
        0, with a warning, where the reduced convex hulls of the classes meet.
    others
        As in `SVC`.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, *New support vector algorithms*, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> from mlcore.svm import NuSVC
    >>> machine = NuSVC(nu=0.5).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> machine.predict([[1.5], [2.5]])
    array([0, 1])
    """

    rho_: np.ndarray
    _stored = {"rho_": "float64 p"}

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        multi_class: str = "ovo",
        random_state: Any = None,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.multi_class = multi_class
        self.random_state = random_state
        self.callback = callback

    def _formulation(self):
        owner = type(self).__name__
        nu = as_real(self.nu, "nu", owner=owner, above=0, at_most=1)
        return formulations.NuSVC(nu, owner)
