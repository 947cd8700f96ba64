"""Base classes of support vector machines: settings, kernel expansion, optimality."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from mlcore.checks import as_integer, as_real, as_targets, as_weights
from mlcore.checks.errors import warn
from mlcore.checks.sparse import dense_if_full
from mlcore.estimator import progress
from mlcore.estimator.progress import Progress
from mlcore.kernels.expansion import Expansion, kept_expansion, row_blocks, weighted
from mlcore.kernels.kernel import Kernel, as_double, of_numbers, precision
from mlcore.kernels.kernel_model import KernelModel, kept_samples
from mlcore.kernels.vector_kernels import resolve_gamma
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import single_threaded_blas
from mlcore.svm.formulations import Formulation
from mlcore.svm.smo.bias import ROUNDING, round_to_bounds
from mlcore.svm.smo.kernel_cache import KernelCache, far_origin, less
from mlcore.svm.smo.optimality import Optimality, measure, norm
from mlcore.svm.smo.problem import Problem, Solution
from mlcore.svm.smo.smo import ROUTES, Routes, refined, solve_many

ROUNDED = 4  # times tol: errors in sums of kernel values that are accepted
FEW = 256  # samples whose problem is solved to rounding error: it costs a few milliseconds


@dataclass(frozen=True)
class Settings:
    """Checked values of the parameters that every model has."""

    formulation: Formulation
    kernel: Kernel
    gamma: Any
    tol: float
    cache_size: float
    max_iter: int
    few: bool = False  # True to solve to rounding error, for at most FEW samples
    origin: np.ndarray | None = None  # taken from samples that are far from 0
    routes: Routes = ROUTES

    def of_width(self, gamma: float, few: bool) -> Self:
        """Return the settings with this width of the kernel, and `few`."""
        return replace(self, kernel=self.kernel.with_gamma(gamma), gamma=gamma, few=few)


class KernelMachine(KernelModel):
    """A function ``f(x) = sum_i b_i k(x_i, x) + intercept`` whose b solves a dual problem."""

    support_: np.ndarray
    support_vectors_: np.ndarray | Any  # CSR where the samples are
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    coef_: np.ndarray
    dual_objective_: float | np.ndarray  # an array where there are several problems
    primal_objective_: float | np.ndarray
    duality_gap_: float | np.ndarray
    kkt_violation_: float | np.ndarray
    margin_error_indices_: np.ndarray
    converged_: bool
    fit_status_: int
    shape_fit_: tuple[int, int]
    _stored = {
        "shape_fit_": ("size n", "count"),
        "support_": "int s? < n",
        "support_vectors_": "rows s? f | float 0 0",
        "dual_coef_": "float64 m s?",
        "intercept_": "float64 p",
        "coef_": "float p f | csr p f",
        "dual_objective_": "float | float64 p",
        "primal_objective_": "float | float64 p",
        "duality_gap_": "float | float64 p",
        "kkt_violation_": "float | float64 p",
        "margin_error_indices_": "int e? < n",
        "converged_": "bool",
        "fit_status_": "int",
    }
    _no_blocks = (
        "its dual problem compares all pairs of rows: "
        'see cache_size, or use KernelRidge(solver="nystroem") or LogisticRegression'
    )
    _instead = {
        "shrinking": "drop it: it changes how LIBSVM gets to the solution, not the solution"
    }

    _routes: ClassVar[Routes] = ROUTES  # of the solver, for tests and timings

    set_callbacks = progress.set_callbacks

    @property
    def objective_(self) -> float | np.ndarray:
        """`primal_objective_`, which the fit minimises."""
        return self.primal_objective_

    # ---- validation

    def _formulation(self) -> Formulation:
        """Return the primal and dual of this model, its parameters checked."""
        raise NotImplementedError

    def _settings(self) -> Settings:
        """Return the parameters, checked."""
        owner = type(self).__name__
        kernel = self._checked_kernel()
        max_iter = as_integer(self.max_iter, "max_iter", owner=owner, at_least=-1)
        if max_iter == 0:
            raise ValueError(
                f"{owner}: max_iter=0 must be -1, for 10 million steps or more, or an integer >= 1."
            )
        return Settings(
            formulation=self._formulation(),
            kernel=kernel,
            gamma=self._checked_gamma(getattr(self, "gamma", "scale")),  # `SVCCV` tries several
            tol=as_real(self.tol, "tol", owner=owner, above=0),
            cache_size=as_real(self.cache_size, "cache_size", owner=owner, above=0),
            max_iter=max_iter,
            routes=self._routes,
        )

    def _progress(self) -> Progress:
        return Progress(self.verbose, self.callback, type(self).__name__, self)

    def _resolved(self, settings: Settings, X: Any, weight: np.ndarray) -> Settings:
        """Return the settings with gamma as a number, for samples X of positive weight."""
        gamma, kernel = settings.gamma, settings.kernel
        if kernel.precomputed or not of_numbers(X):
            gamma = 0.0 if isinstance(gamma, str) else gamma
        gamma = resolve_gamma(gamma, X, weight)
        settings = settings.of_width(gamma, few=X.shape[0] <= FEW)
        if not settings.formulation.free_intercept:
            return settings
        return replace(settings, origin=far_origin(X, kernel))

    def _targets(self, y: Any, n_samples: int) -> np.ndarray:
        return as_targets(y, n_samples, owner=type(self).__name__)

    # ---- training

    def _open_cache(self, X: Any, settings: Settings, largest_bound: float) -> KernelCache:
        """Return the kernel rows over X, in float64 where tol and the multipliers need it."""
        tol, X = settings.tol, less(X, settings.origin)
        double = tol < 1e-4 or settings.few or not np.isfinite(largest_bound)
        rows = settings.kernel.rows(X, double)
        # Errors of n terms of mixed signs add up to less than sqrt(n) of them.
        if rows.rounding * largest_bound * np.sqrt(rows.n) > ROUNDED * tol and not double:
            rows = settings.kernel.rows(X, double=True)
        rows.warn_if_indefinite()
        if settings.origin is not None:
            rows.distance = float(np.linalg.norm(settings.origin))
        return KernelCache(rows, settings.cache_size)

    def _solve(
        self, problems: list[Problem], cache: KernelCache, settings: Settings, progress: Progress
    ) -> list[Solution]:
        """Solve all problems over one kernel cache, those of few samples to rounding error."""
        formulation, limited = settings.formulation, settings.max_iter >= 0
        largest = float(np.abs(cache.kernel.diagonal).max()) or 1.0
        factors = formulation.gradient_scale(problems, largest)
        scale = math.prod(min(1.0, factor) for factor in factors)
        tol = settings.tol * scale
        exact = settings.few and not limited
        common = {"progress": progress, "routes": settings.routes}
        limits = {"tol": tol, "exact": exact, "max_iter": settings.max_iter}
        solutions = solve_many(problems, cache, **limits, **common)
        bound = max(p.largest_bound for p in problems)
        rounding = cache.kernel.rounding * bound * np.sqrt(cache.kernel.n)
        for _ in range(0 if limited else 2):  # the first margin may be too large
            finer = formulation.finer_tol(solutions, settings.tol, scale, rounding)
            if finer is None or finer >= max(s.violation for s in solutions):
                break
            solutions = [
                refined(problem, solution, cache, tol=finer, **common)
                for problem, solution in zip(problems, solutions, strict=True)
            ]
        for solution in solutions:
            limit = formulation.resolution(solution, settings.tol, factors)
            mark_rounded(solution, limit)
        return solutions

    def _warn_unconverged(self, solutions: list[Solution], settings: Settings) -> None:
        """Warn of solutions that have not converged, and say why the worst has not."""
        left = [s for s in solutions if not s.converged]
        if not left:
            return
        worst = max(left, key=lambda s: s.violation)
        tol, scaling = settings.tol, "scaling the features often helps"
        if worst.cause == "rounding":
            why = "at what rounding leaves of its decision values,"
            way_out = "center or scale the features, or lower C"
        elif worst.cause == "kernel":
            why = "where the kernel let it go no further"
            way_out = f"raise tol, or check the kernel; {scaling}"
        elif settings.max_iter > 0:
            why = f"after max_iter={settings.max_iter} steps"
            way_out = f"raise max_iter or tol; {scaling}"
        else:
            why = f"after {worst.n_iter} steps, the most that max_iter=-1 takes,"
            way_out = f"raise tol, or set max_iter to more steps; {scaling}"
        warn(
            "ConvergenceWarning",
            f"{type(self).__name__} stopped {why} with a KKT violation of {worst.violation:.2g}, "
            f"for tol={tol:g}: {way_out}.",
        )

    def _expansion(
        self,
        X: Any,
        support: np.ndarray,
        dual_coef: np.ndarray,
        settings: Settings,
        optimality: Optimality,
    ) -> dict[str, Any]:
        """Return the fitted attributes of the support vectors, rows `support` of the fit's X.

        And of the optimality of their multipliers.
        """
        if settings.kernel.precomputed:
            vectors = np.empty((0, 0), dtype=X.dtype)
        elif sparse.issparse(X) or not of_numbers(X):
            vectors = X[support]
        else:
            vectors = scratch_array((len(support), X.shape[1]), X.dtype)
            np.take(X, support, axis=0, out=vectors, mode="clip")  # "raise" makes a copy first
        return {
            "support_": support.astype(np.int32),
            "support_vectors_": vectors,
            "dual_coef_": dual_coef,
            "gamma_": settings.gamma,
            "shape_fit_": tuple(map(int, X.shape)),
            "dual_objective_": optimality.dual_objective,
            "primal_objective_": optimality.objective,
            "duality_gap_": optimality.duality_gap,
            "kkt_violation_": optimality.kkt_violation,
        }

    # ---- prediction and verification

    def _check_loaded(self) -> None:
        """Refuse numbers of support vectors that do not add up."""
        if "n_support_" in vars(self):
            counts = self.n_support_
            if counts.min() < 0 or counts.sum() != len(self.support_):
                raise ValueError("n_support_ does not add up to the support vectors.")

    @property
    def _precision(self) -> np.dtype:
        """The type of decision values."""
        return precision(self.support_vectors_)

    def _checked_later(self, X: Any) -> Any:
        self._check_fitted()
        return self._later_samples(X, self.support_vectors_)

    def _value_blocks(
        self, X: Any, expansion: Expansion | None = None
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows of checked X, and their kernel values with the support vectors."""
        if expansion is None:
            kernel = self._fitted_kernel
            if kernel.precomputed:
                expansion = Expansion(self.support_, kernel)
            else:
                expansion = kept_expansion(self, self.support_vectors_, kernel)
        yield from expansion.blocks(X, len(self.intercept_))

    def _verification_samples(self, X: Any, sample_weight: Any) -> tuple[Any, np.ndarray]:
        """Return the training samples passed again, in float64, and their weights."""
        X = self._checked_later(X)
        if X.shape[0] != self.shape_fit_[0]:
            raise ValueError(
                f"X has {X.shape[0]} samples, but verify needs the {self.shape_fit_[0]} that "
                f"{type(self).__name__} was fitted to."
            )
        return as_double(X), as_weights(sample_weight, X.shape[0])

    def _exact_sums(
        self, X: Any, coef: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return sum_j coef[c, j] k(x_i, v_j), (n, c) float64, with shift and errors.

        Also the change of the intercepts (c,), the size of the errors in kernel values, and the
        distance of the origin that is subtracted from samples far from 0.
        """
        kernel, origin, expansion = self._fitted_kernel, None, None
        present = slice(None) if weight.all() else np.flatnonzero(weight)
        if not kernel.precomputed:
            if self._formulation().free_intercept:
                origin = far_origin(X[present], kernel)
            X, V = less(X, origin), less(as_double(self.support_vectors_), origin)
            expansion = Expansion(V, kernel)
        sums, peak = np.empty((X.shape[0], len(coef))), 0.0
        for rows, values in self._value_blocks(X, expansion):
            sums[rows] = weighted(values, coef.T)
            peak = max(peak, float(np.abs(values[weight[rows] > 0]).max(initial=0)))
        rounding = 0.5 * float(np.finfo(np.float64).eps) * peak
        if kernel.packed:
            rounding = kernel.rows(X[present], double=True).rounding
        if origin is None:
            return sums, np.zeros(len(coef)), rounding, 0.0
        moved = shift(product(coef, V), origin)
        return sums, moved, rounding, float(np.linalg.norm(origin))


ONE_PROBLEM = {  # `_stored` of models of one dual problem
    "n_support_": "int 1",
    "dual_coef_": "float64 1 s?",
    "intercept_": "float64 1",
    "n_iter_": "count",
}


def fit_one_problem(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a model of one dual problem: regression or one class."""
    # Check the data and form the dual of the samples that have weight.
    settings = model._settings()
    progress = model._progress()
    samples = model._training_samples(X)
    n = samples.shape[0]
    y, weight = model._targets(y, n), as_weights(sample_weight, n)
    kept = np.flatnonzero(weight)
    used, y, weight = (
        kept_samples(samples, kept, settings.kernel.precomputed),
        y[kept],
        weight[kept],
    )
    formulation = settings.formulation
    problem = formulation.problem(y, formulation.cost(weight))
    settings = model._resolved(settings, used, weight)
    # Solve it, with kernel rows of these samples alone.
    with progress:
        cache = model._open_cache(used, settings, problem.largest_bound)
        (solution,) = model._solve([problem], cache, settings, progress)
    if precision(samples) == np.float32 and cache.dtype == np.float64:
        solution.coarseness = 2.0**29
    cache = used = None  # their memory serves the support vectors
    model._warn_unconverged([solution], settings)

    model._set_fitted(X, **attributes_of_one(model, samples, kept, settings, problem, solution))
    return model


def attributes_of_one(
    model: Any,
    samples: Any,
    kept: np.ndarray,
    settings: Settings,
    problem: Problem,
    solution: Solution,
) -> dict[str, Any]:
    """Return the fitted attributes of a model of one dual problem, over rows `kept` of samples."""
    # Measure the optimality from the gradient of the solver.
    formulation = settings.formulation
    _, multipliers = formulation.scale_and_multipliers(problem, solution)
    products = solution.gradient - problem.linear
    errors_of_K = formulation.rounding(solution), solution.distance
    optimality = measure(problem, solution.beta, products, multipliers, *errors_of_K)
    length = np.array([norm(solution.beta, products)])
    formulation.warn_if_constant(float(length[0]), optimality.duality_gap)
    # Support vectors have a coefficient; those at a bound are margin errors.
    coef = formulation.coefficients(solution.beta)
    chosen = np.flatnonzero(coef)
    errors = np.zeros(len(kept), dtype=bool)
    variables = np.arange(len(kept)) if problem.index is ... else problem.index
    reached = np.where(solution.beta > 0, problem.upper, problem.lower) == solution.beta
    errors[variables[reached & (solution.beta != 0)]] = True
    fitted = model._expansion(samples, kept[chosen], coef[None, chosen], settings, optimality)
    # An origin that was subtracted moves the intercept.
    intercept = np.array([-multipliers.mean()])
    if settings.kernel.linear:
        vectors = less(fitted["support_vectors_"], settings.origin)
        fitted["coef_"] = product(fitted["dual_coef_"], vectors)
        if settings.origin is not None:
            intercept -= shift(fitted["coef_"], settings.origin)
    return {
        **fitted,
        **formulation.attributes(multipliers[None], length),
        "intercept_": intercept,
        "n_support_": np.array([len(chosen)], dtype=np.int32),
        "margin_error_indices_": kept[errors],
        "n_iter_": max(1, int(solution.n_iter)),
        "converged_": bool(solution.converged),
        "fit_status_": int(not solution.converged),
    }


def function_values(model: Any, X: Any) -> np.ndarray:
    """Return f(x) for every row, in the precision of the fit."""
    X = model._checked_later(X)
    values = np.empty(X.shape[0], dtype=model._precision)
    if "coef_" in vars(model):
        for rows in row_blocks(X, 1):
            values[rows] = product(X[rows], model.coef_.T)[:, 0] + model.intercept_[0]
    else:
        for rows, block in model._value_blocks(X):
            values[rows] = weighted(block, model.dual_coef_[0]) + model.intercept_[0]
    return values


def verify_one_problem(model: Any, X: Any, y: Any, sample_weight: Any) -> Optimality:
    """Return the optimality of a model of one dual problem, measured in float64."""
    X, weight = model._verification_samples(X, sample_weight)
    formulation = model._formulation()
    problem = formulation.problem(model._targets(y, len(weight)), formulation.cost(weight))
    coef = np.zeros(len(weight))
    coef[model.support_] = model.dual_coef_[0]
    sums, moved, *errors = model._exact_sums(X, model.dual_coef_, weight)
    bias = float(model.intercept_[0] + moved[0])
    beta, (_, multipliers) = formulation.variables(coef), formulation.fitted(model, 0, bias)
    products = sums[:, 0][problem.index]
    beta = round_to_bounds(beta, problem.lower, problem.upper)
    return measure(problem, beta, products, multipliers, *errors)


def mark_rounded(solution: Solution, tol: float) -> None:
    """Mark a solution as not converged if rounding makes errors far above `tol`.

    That of K, and of multipliers to their bounds.
    """
    peak, limit = float(np.abs(solution.beta).max(initial=0)), 2 * ROUNDED * tol
    rough = 2 * solution.rounding * peak * math.sqrt(len(solution.beta)) > limit  # at most
    if ROUNDING * peak * solution.largest > limit or (rough and solution.uncertainty > limit):
        solution.converged, solution.cause = False, "rounding"


def shift(coef: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return w.origin for each row w of `coef`, the sum exact: it cancels digits of intercepts."""
    return np.array([math.fsum(row * origin) for row in coef])


def product(A: Any, B: Any) -> np.ndarray:
    """Return A @ B, the same bytes whatever the number of threads."""
    with single_threaded_blas():
        return dense_if_full(A) @ dense_if_full(B)
