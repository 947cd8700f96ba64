"""Kernel ridge regression with a proof of its accuracy."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    require_random_state,
)
from mlcore.checks.errors import warn
from mlcore.checks.penalties import as_target_penalties
from mlcore.kernel_ridge.alpha_path.alpha_path import CRITERIA
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.diagnostics import require_path
from mlcore.kernel_ridge.linear_system.partial_cholesky import partial_factor
from mlcore.kernel_ridge.nystroem import Nystroem
from mlcore.kernel_ridge.ridge_model import RidgeModel, data_attributes, require_two, solved
from mlcore.kernels.kernel import Kernel
from mlcore.runtime.memory import free_bytes, require_memory

_SOLVERS = ("auto", "cholesky", "cg", "nystroem")
_BYTES = 12  # of each entry of K: its value, and that of a factor in float32


class _Settings(NamedTuple):
    """Checked parameters."""

    kernel: Kernel
    gamma: float | str
    fit_intercept: bool
    solver: str
    n_centers: int | None
    tol: float
    max_iter: int


class KernelRidge(Nystroem, RidgeModel):
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
        generalised cross-validation, or the likelihood of a Gaussian process. With "nystroem" it
        is that of the function in the span; from blocks of rows "gcv" and "likelihood" alone,
        which know copies only within a block.
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
    solver : {"auto", "cholesky", "cg", "nystroem"}, default="auto"
        "cholesky" stores the Gram matrix and a factor of it in float32, which preconditions
        conjugate gradients in float64; where they take more than ten steps it factors in float64.
        "cg" computes the Gram matrix again in each step, in blocks of rows, preconditioned by a
        partial Cholesky factor with random pivots. "auto" is "cholesky" where 12 n_samples² bytes
        fit into free memory. "nystroem" finds the best function among ``sum_j a_j k(c_j, .)`` of
        few samples c_j, the centres, from sums over rows; `verify` tells how far that is from the
        best of all.
    n_centers : int, optional
        Largest number of centres of "nystroem", 500 by default. Those nearly in the span of others
        are left out.
    tol : float, default=1e-10
        "cg" stops where the duality gap is at most `tol` times the objective; "cholesky" goes on
        to the rounding of float64.
    max_iter : int, default=1000
        Largest number of steps of "cg".
    random_state : None, int, Generator or RandomState, default=None
        Draws the pivots of "cg" and the centres of "nystroem".

    Attributes
    ----------
    dual_coef_ : (n_samples,) or (n_samples, n_targets) float64
        a; 0 for samples of weight 0. With "nystroem" of the centres.
    intercept_ : float or (n_targets,) float64
    origin_ : (n_features,) float64 or None
        The mean of the samples, if with `fit_intercept` the linear kernel (or a polynomial of
        degree 1) is computed from their differences to it, dense ones; f, b and norms in feature
        space are then those of differences.
    alpha_ : float or (n_targets,) float64
    duality_gap_ : float or (n_targets,) float64
        Upper bound of P(f, b) less its minimum: the weighted sum of squares of
        ``y - b - (K + alpha/w) a``, with an allowance for rounding. With "nystroem" this and
        `prediction_bound_` refer to the minimum in the span of the centres.
    objective_ : float or (n_targets,) float64
        P(f, b).
    prediction_bound_ : float or (n_targets,) float64
        ``|f(x) - f*(x)|``, f* the minimiser in exact arithmetic, is at most this times the norm of
        x in feature space, ``k(x, x)^(1/2)``; with an intercept times the sum of that norm and the
        largest of a sample. It allows for rounding in the kernel and the sums, but not of a
        prediction to its type. Infinite for ``alpha=0``.
    X_fit_ : (n_samples, n_features)
        The samples of the fit, or the matrix of a precomputed kernel; with "nystroem" of the
        centres alone.
    y_fit_, sample_weight_ : (n_samples,) or (n_samples, n_targets), and (n_samples,), float64
        Not with "nystroem".
    center_indices_ : (n_centers,) intp
        Only with "nystroem": indices of the centres among the samples of `fit` or `begin`.
    effective_dimension_ : float or (n_targets,) float64
        Trace of the map from targets to fitted values, n_samples for an interpolation. Computed
        when first asked for, as by `leave_one_out`.
    gamma_ : float
    n_iter_ : int
        Products with the Gram matrix until the solution, the most of all targets.
    converged_ : bool
    solver_ : str
        "cholesky", "cg" or "nystroem".
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    With n samples of d features: O(n² d + n³) time and 12 n² bytes ("cholesky"), or O(n² d) time a
    step and O(n^1.5) memory ("cg"), or, with m centres, O(n m (d + m)) time and O(m²) memory
    ("nystroem"). With "nystroem" a model is a `RowSums`, and has `partial_fit`. With an intercept,
    samples far from the origin, compared with their distances, lose no digits with the linear
    kernel.

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

    n_iter_: int
    converged_: bool
    solver_: str
    _stored = {"n_iter_": "count", "converged_": "bool", "solver_": "text"}

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: str | Callable[..., Any] | Kernel = "linear",
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1,
        fit_intercept: bool = False,
        solver: str = "auto",
        n_centers: int | None = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.n_centers = n_centers
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

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
        alphas = self._alphas(data.columns.shape[1])
        if settings.solver == "nystroem":
            self._fit_in_span(X, settings, data)
            return self
        data, origin = self._about_mean(data, settings.kernel, settings.fit_intercept)
        gamma = self._number_of(settings.gamma, data)
        solver = self._solver_for(len(data.kept), settings)
        problem = data.problem(
            settings.kernel.with_gamma(gamma), alphas, settings.fit_intercept,
            solver == "cholesky", owner,
        )  # fmt: skip
        penalties = problem.units.penalties
        if isinstance(alphas, str):
            penalties = self._chosen_penalties(data, problem, alphas)
        found = self._solve(problem.system, penalties, solver, settings)
        attributes = self._attributes(data, problem, found, penalties)
        if not isinstance(alphas, str):
            attributes["alpha_"] = alphas if data.y.ndim == 2 else float(alphas[0])
        about = {"n_iter_": found.n_iter, "converged_": found.converged}
        problem = found = None  # freed before the samples are copied
        self._set_fitted(
            X, **attributes, **about, **data_attributes(data), gamma_=gamma, origin_=origin,
            solver_=solver,
        )  # fmt: skip
        return self

    # ---- before the work

    def _settings(self):
        owner = type(self).__name__
        if isinstance(self.alpha, str):
            as_choice(self.alpha, "alpha", CRITERIA, owner=owner)
        elif np.ndim(self.alpha) == 0:
            as_real(self.alpha, "alpha", owner=owner, at_least=0)
        settings = _Settings(
            kernel=self._checked_kernel(),
            gamma="auto" if self.gamma is None else self._checked_gamma(self.gamma),
            fit_intercept=as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            solver=as_choice(self.solver, "solver", _SOLVERS, owner=owner),
            n_centers=None
            if self.n_centers is None
            else as_integer(self.n_centers, "n_centers", owner=owner, at_least=1),
            tol=as_real(self.tol, "tol", owner=owner, above=0),
            max_iter=as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
        )
        require_random_state(self.random_state, owner=owner)
        return settings

    def _alphas(self, n_targets):
        """Return alpha of each target, float64 (n_targets,), or the criterion that chooses it."""
        if isinstance(self.alpha, str):
            return self.alpha
        return as_target_penalties(self.alpha, n_targets, type(self).__name__)

    def _solver_for(self, n, settings):
        solver, chosen = settings.solver, isinstance(self.alpha, str)
        if solver == "auto":
            fits = chosen or _BYTES * n**2 <= free_bytes()
            solver = "cholesky" if fits else "cg"
        if chosen:
            if solver == "cg":
                raise ValueError(
                    f"{type(self).__name__}: alpha={self.alpha!r} needs the eigenvectors of the "
                    'Gram matrix, which solver="cg" does not store.'
                )
            require_path(n, math.inf)
        elif solver == "cholesky":
            require_memory(
                n, n, _BYTES, what="the Gram matrix, with its factor in float32,",
                instead='use solver="cg", which stores neither',
            )  # fmt: skip
        return solver

    def _chosen_penalties(self, data, problem, criterion):
        distinct, units = data.distinct(self._precomputed), problem.units
        require_two(len(distinct.kept), problem.system.name)
        if distinct is data:
            return EigenPath(problem.system).best_alphas(criterion)
        kernel, intercept = problem.system.S.rows.kernel, problem.system.fit_intercept
        other = distinct.problem(kernel, criterion, intercept, True, problem.system.name)
        chosen = EigenPath(other.system).best_alphas(criterion)
        return np.ldexp(chosen, other.units.penalty_power - units.penalty_power)

    def _solve(self, system, penalties, solver, settings):
        """Return the `Solution` of all targets."""
        F = None
        if solver == "cg":
            if not penalties.min() > 0:
                raise ValueError(f'{system.name}: alpha=0 needs solver="cholesky", not "cg".')
            F = partial_factor(system.S, as_random_state(self.random_state))

        def solve(alpha, columns):
            if F is None:
                return system.by_cholesky(alpha, columns)
            return system.by_gradients(alpha, columns, F, settings.tol, settings.max_iter)

        found = solved(system, penalties, solve)
        if not found.converged:
            warn(
                "ConvergenceWarning",
                f"{system.name} stopped after max_iter={settings.max_iter} steps with a duality "
                f"gap above tol={settings.tol:g} times the objective: raise max_iter, tol or "
                "alpha.",
            )
        return found
