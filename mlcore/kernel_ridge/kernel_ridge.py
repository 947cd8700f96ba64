"""Kernel ridge regression with a proof of its accuracy."""

import inspect
import math
from collections.abc import Callable
from itertools import count
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    require_random_state,
)
from mlcore.checks.arrays import Numbers
from mlcore.checks.errors import warn
from mlcore.estimator import progress
from mlcore.estimator.progress import Progress
from mlcore.kernel_ridge.alpha_path.alpha_path import Criterion
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.alpha_path.factor_path import require_path
from mlcore.kernel_ridge.linear_system.partial_cholesky import partial_factor
from mlcore.kernel_ridge.nystroem_ridge import NystroemRidge
from mlcore.kernel_ridge.ridge_model import (
    STORED_DATA,
    RidgeModel,
    alpha_of_targets,
    checked_alpha,
    data_attributes,
    require_two,
)
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.vector_kernels import GammaRule, KernelName
from mlcore.runtime.memory import free_bytes, require_memory

_Solver = Literal["auto", "cholesky", "cg"]
_BYTES = 12  # of each entry of K: its value, and that of a factor in float32
_UNCHECKED = 2**24  # bytes taken without a look at free memory, which takes 0.1 ms


class _Settings(NamedTuple):
    """Checked parameters; alpha for one target or all, or its criterion."""

    alpha: Any
    kernel: Kernel
    gamma: float | GammaRule
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    progress: Progress


class KernelRidge(RidgeModel):
    r"""Least squares in the feature space of a kernel, with a penalty on the norm.

    .. math:: \min_{f, b} P(f, b) = \sum_i w_i (y_i - f(x_i) - b)^2 + \alpha |f|^2,

    w the sample weights, b = 0 unless `fit_intercept`. The minimiser is
    :math:`f(x) = \sum_i a_i k(x_i, x)` with :math:`(K + \alpha / w) a = y - b`; with an intercept
    the :math:`a_i` sum to 0. Several targets are fitted each on its own.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,), or {"loo", "gcv", "likelihood"}, default=1.0
        Penalty, at least 0; or the criterion whose minimum chooses it for each target: the
        weighted sum of squared leave-one-out errors (copies of a sample left out together),
        generalised cross-validation, or the likelihood of a Gaussian process.
    kernel : str, callable or Kernel, default="linear"
        A name that `mlcore.kernels.gram_matrix` knows, "precomputed", a function ``kernel(X, Y)``
        of two sets of samples, or a `mlcore.kernels.Kernel`.
    gamma : float, "scale" or "auto", optional
        Width of the kernel: 1 / n_features by default and with "auto"; "scale" is
        1 / (n_features Var(X)).
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default=False
        False as in scikit-learn: the function then lies in the feature space alone, and the model
        is a Gaussian process of mean 0. Centre the targets, or set it, where they are far from 0.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        "cholesky" stores the Gram matrix and a factor of it in float32, which preconditions
        conjugate gradients in float64; where they take more than ten steps it factors in float64.
        "cg" computes the Gram matrix again in each step, in blocks of rows, preconditioned by a
        partial Cholesky factor with random pivots. "auto" is "cholesky" where 12 n_samples² bytes
        fit into free memory. ``KernelRidge(solver="nystroem")`` makes a `NystroemRidge`.
    tol : float, default=1e-10
        "cg" stops where the duality gap is at most `tol` times the objective; "cholesky" goes on
        to the rounding of float64.
    max_iter : int, default=1000
        Largest number of steps of "cg".
    random_state : None, int, Generator or RandomState, default=None
        Draws the pivots of "cg".
    verbose : bool or int, default=False
        Print the steps of conjugate gradients: True or 1 about one line a second, 2 each.
    callback : callable, optional
        Called at each of these steps as ``callback(step=, objective=, change=, seconds=)``;
        `change` is the duality gap over the objective.

    Attributes
    ----------
    dual_coef_ : (n_samples,) or (n_samples, n_targets) float64
        a; 0 for samples of weight 0.
    intercept_ : float or (n_targets,) float64
    origin_ : (n_features,) float64 or None
        The mean of the samples, if with `fit_intercept` the linear kernel (or a polynomial of
        degree 1) is computed from their differences to it, dense ones; f, b and norms in feature
        space are then those of differences.
    alpha_ : float or (n_targets,) float64
    duality_gap_ : float or (n_targets,) float64
        Upper bound of P(f, b) less its minimum: the weighted sum of squares of
        ``y - b - (K + alpha/w) a``, with an allowance for rounding.
    objective_ : float or (n_targets,) float64
        P(f, b).
    prediction_bound_ : float or (n_targets,) float64
        ``|f(x) - f*(x)|``, f* the minimiser in exact arithmetic, is at most this times the norm of
        x in feature space, ``k(x, x)^(1/2)``; with an intercept times the sum of that norm and the
        largest of a sample. It allows for rounding in the kernel and the sums, but not of a
        prediction to its type. Infinite for ``alpha=0``.
    X_fit_ : (n_samples, n_features)
        The samples of the fit, or the matrix of a precomputed kernel.
    y_fit_, sample_weight_ : (n_samples,) or (n_samples, n_targets), and (n_samples,), float64
    effective_dimension_ : float or (n_targets,) float64
        Trace of the map from targets to fitted values, n_samples for an interpolation. Computed
        when first asked for, as by `leave_one_out`.
    gamma_ : float
    n_iter_ : int
        Products with the Gram matrix until the solution, the most of all targets.
    converged_ : bool
    solver_ : str
        "cholesky" or "cg".
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    See Also
    --------
    KernelRidgeCV : Chooses alpha and gamma.
    NystroemRidge : The best function of few samples, for many rows, also in blocks.

    Notes
    -----
    With n samples of d features: O(n² d + n³) time and 12 n² bytes ("cholesky"), or O(n² d) time a
    step and O(n^1.5) memory ("cg"). With an intercept, samples far from the origin, compared with
    their distances, lose no digits with the linear kernel.

    References
    ----------
    .. [1] C. Saunders, A. Gammerman, V. Vovk, *Ridge regression learning algorithm in dual
       variables*, ICML 1998.
    .. [2] Y. Chen, E. Epperly, J. Tropp, R. Webber, *Randomly pivoted Cholesky*, Communications on
       Pure and Applied Mathematics 78, 2025 (arXiv:2207.06503).

    Examples
    --------
    >>> from mlcore.kernel_ridge import KernelRidge
    >>> model = KernelRidge(alpha=1.0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0])
    >>> (15 * model.dual_coef_).round(9)
    array([ 4.,  8., -3.])
    >>> model.duality_gap_ < 1e-28
    True
    """

    y_fit_: np.ndarray
    sample_weight_: np.ndarray
    n_iter_: int
    converged_: bool
    solver_: str
    _stored = {**STORED_DATA, "n_iter_": "count", "converged_": "bool", "solver_": "text"}
    _older = {"n_centers": None}

    set_callbacks = progress.set_callbacks

    def __new__(cls, *args: Any, **params: Any) -> Self:
        if cls is KernelRidge and _is_nystroem(params.get("solver")):
            return NystroemRidge(*args, **_of_nystroem(params))
        return super().__new__(cls, *args, **params)

    def __init__(
        self,
        alpha: float | Numbers | Criterion = 1.0,
        *,
        kernel: KernelName | Callable[..., Any] | Kernel = "linear",
        gamma: float | GammaRule | None = None,
        degree: int = 3,
        coef0: float = 1,
        fit_intercept: bool = False,
        solver: _Solver = "auto",
        tol: float = 1e-10,
        max_iter: int = 1000,
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    __new__.__signature__ = inspect.signature(__init__)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, a__b for parameter b of model a; on error, set none.

        With ``solver="nystroem"`` the model becomes an unfitted `NystroemRidge`, so that a search
        may compare solvers.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            If a name is unknown; the valid ones are listed.
        """
        if type(self) is not KernelRidge or not _is_nystroem(params.get("solver")):
            return super().set_params(**params)
        new = NystroemRidge(**_of_nystroem(self.get_params(deep=False)))
        new.set_params(**_of_nystroem(params))
        settings = {name: value for name, value in vars(self).items() if _is_setting(name)}
        self.__class__, self.__dict__ = NystroemRidge, settings | vars(new)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
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
            For parameters or data out of range, before any work; and where K + alpha/w has a
            negative eigenvalue.
        MemoryError
            If what must be held does not fit.
        """
        settings, owner = self._settings(), type(self).__name__
        data = self._checked_data(X, y, sample_weight)
        alphas = alpha_of_targets(settings.alpha, data.columns.shape[1], owner)
        data, origin = self._about_mean(data, settings.kernel, settings.fit_intercept)
        gamma = self._number_of(settings.gamma, data)
        solver = self._solver_for(len(data.kept), settings)
        kernel, stored = settings.kernel.with_gamma(gamma), solver == "cholesky"
        system = data.system(kernel, alphas, settings.fit_intercept, stored, owner)
        penalties = system.units.penalties
        if isinstance(alphas, str):
            penalties = self._chosen_penalties(data, system, kernel, alphas)
        solution = self._solve(system, penalties, stored, settings)
        attributes = self._attributes(data, system, solution, penalties)
        if not isinstance(alphas, str):
            attributes["alpha_"] = alphas if data.y.ndim == 2 else float(alphas[0])
        steps = {"n_iter_": solution.n_iter, "converged_": solution.converged}
        system = solution = None  # freed before the samples are copied
        self._set_fitted(
            X, **attributes, **steps, **data_attributes(data), gamma_=gamma, origin_=origin,
            solver_=solver,
        )  # fmt: skip
        return self

    # ---- before the work

    def _settings(self):
        owner = type(self).__name__
        if _is_nystroem(self.solver):
            raise ValueError(f"{owner}: solver='nystroem' is the model NystroemRidge.")
        settings = _Settings(
            alpha=checked_alpha(self.alpha, owner),
            kernel=self._checked_kernel(),
            gamma="auto" if self.gamma is None else self._checked_gamma(self.gamma),
            fit_intercept=as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            solver=as_choice(self.solver, "solver", get_args(_Solver), owner=owner),
            tol=as_real(self.tol, "tol", owner=owner, above=0),
            max_iter=as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
            progress=Progress(self.verbose, self.callback, owner, self),
        )
        require_random_state(self.random_state, owner=owner)
        return settings

    def _solver_for(self, n, settings):
        solver, chosen, needed = settings.solver, isinstance(settings.alpha, str), _BYTES * n**2
        if solver == "cg" and chosen:
            raise ValueError(
                f"{type(self).__name__}: alpha={self.alpha!r} needs the eigenvectors of the "
                'Gram matrix, which solver="cg" does not store.'
            )
        if chosen:
            require_path(n, math.inf)
        elif solver == "auto" and needed > _UNCHECKED and needed > free_bytes():
            return "cg"
        elif solver == "cholesky":
            require_memory(
                n, n, _BYTES, what="the Gram matrix, with its factor in float32,",
                instead='use solver="cg", which stores neither',
            )  # fmt: skip
        return "cg" if solver == "cg" else "cholesky"

    def _chosen_penalties(self, data, system, kernel, criterion):
        """Return the penalties of the least criterion, with copies of a sample as one."""
        distinct = data.distinct(self._precomputed)
        require_two(len(distinct.kept), system.name)
        if distinct is data:
            return EigenPath(system).best_alphas(criterion)
        other = distinct.system(kernel, criterion, system.fit_intercept, True, system.name)
        power = other.units.penalty_power - system.units.penalty_power
        return np.ldexp(EigenPath(other).best_alphas(criterion), power)

    def _solve(self, system, penalties, stored, settings):
        """Return the `Solution` of all targets, by a factor of the stored matrix, or by steps."""
        F, tol, max_iter = None, settings.tol, settings.max_iter
        if not stored:
            if not penalties.min() > 0:
                raise ValueError(f'{system.name}: alpha=0 needs solver="cholesky", not "cg".')
            F = partial_factor(system.S, system.S.n, as_random_state(self.random_state))
        with settings.progress as progress:
            report = _report(progress, system.units.square_power) if progress.active else None

            def solve(alpha, columns):
                if F is None:
                    return system.by_cholesky(alpha, columns, report)
                return system.by_gradients(alpha, columns, F, tol, max_iter, report)

            solution = system.solved(penalties, solve)
        if not solution.converged:
            warn(
                "ConvergenceWarning",
                f"{system.name} stopped after max_iter={max_iter} steps with a duality "
                f"gap above tol={tol:g} times the objective: raise max_iter, tol or "
                "alpha.",
            )
        return solution

    def _from_older_state(self, state):
        """0.2 had `NystroemRidge` in this class."""
        if _is_nystroem(state.get("solver_", state.get("solver"))):
            self.__class__ = NystroemRidge
            return self._from_older_state(state)
        return super()._from_older_state(state)


def _report(progress, power):
    """Return the function that reports objectives and gaps of some targets, in units 2^power."""
    steps = count()

    def report(objective, gap):
        total = float(objective.sum())
        change = float(gap.sum()) / total if total > 0 else 0.0
        progress.step(next(steps), objective=float(np.ldexp(total, power)), change=change)

    return report


def _is_nystroem(solver):
    return isinstance(solver, str) and solver == "nystroem"


def _of_nystroem(params):
    """Return the parameters without those that only `KernelRidge` has."""
    own = KernelRidge._defaults().keys() - NystroemRidge._defaults().keys()
    return {name: value for name, value in params.items() if name not in own}


def _is_setting(name):
    """Return True for what a model keeps beside parameters and fitted attributes."""
    return name.startswith("_") and not name.endswith("_")
