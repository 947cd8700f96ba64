"""Base classes of support vector machines: settings, kernel expansion, optimality."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from mlcore.checks import as_integer, as_real, as_targets, as_weights
from mlcore.checks.sparse import dense_if_full
from mlcore.exceptions import warn
from mlcore.kernels.expansion import Expansion, kept_expansion, row_blocks, weighted
from mlcore.kernels.kernel import Kernel, as_double, of_numbers, precision
from mlcore.kernels.kernel_model import KernelModel, kept_samples
from mlcore.kernels.resolve import resolve_gamma
from mlcore.progress import CallbackSupport, Progress
from mlcore.scratch import scratch_array
from mlcore.svm.formulations import Formulation
from mlcore.svm.smo.bias import round_to_bounds
from mlcore.svm.smo.optimality import Optimality, measure, norm, optimality_attributes
from mlcore.svm.smo.smo import KernelCache, Problem, Solution, refined, solve_many
from mlcore.threads import single_threaded_blas

FEW = 256  # samples whose problem is solved to rounding error: it costs a few milliseconds


@dataclass(frozen=True)
class Settings:
    """Checked values of the parameters that every machine has."""

    formulation: Formulation
    kernel: Kernel
    gamma: Any
    tol: float
    cache_size: float
    max_iter: int
    few: bool = False  # True to solve to rounding error, for at most FEW samples

    def of_width(self, gamma: float, few: bool) -> Self:
        """Return the settings with this width of the kernel, and `few`."""
        return replace(self, kernel=self.kernel.with_gamma(gamma), gamma=gamma, few=few)


class KernelMachine(CallbackSupport, KernelModel):
    """A function ``f(x) = sum_i b_i k(x_i, x) + intercept`` whose b solves a dual problem."""

    support_: np.ndarray
    support_vectors_: np.ndarray | Any  # CSR where the samples are
    n_support_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    coef_: np.ndarray
    dual_objective_: Any  # a float, or an array where there are several problems
    primal_objective_: Any
    duality_gap_: Any
    kkt_violation_: Any
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

    # ---- validation

    def _formulation(self) -> Formulation:
        """Return the primal and dual of this machine, its parameters checked."""
        raise NotImplementedError

    def _settings(self, gamma: Any) -> Settings:
        owner = type(self).__name__
        kernel = self._checked_kernel()
        max_iter = as_integer(self.max_iter, "max_iter", owner=owner, at_least=-1)
        if max_iter == 0:
            raise ValueError(
                f"{owner}: max_iter=0 must be -1, which is no limit, or an integer >= 1."
            )
        return Settings(
            formulation=self._formulation(),
            kernel=kernel,
            gamma=self._checked_gamma(gamma),
            tol=as_real(self.tol, "tol", owner=owner, above=0),
            cache_size=as_real(self.cache_size, "cache_size", owner=owner, above=0),
            max_iter=max_iter,
        )

    def _progress(self) -> Progress:
        return Progress(self.verbose, self.callback, type(self).__name__, self)

    def _resolved(self, settings: Settings, X: Any, weight: np.ndarray) -> Settings:
        """Return the settings with gamma as a number, for samples X of positive weight."""
        gamma, kernel = settings.gamma, settings.kernel
        if kernel.precomputed or not of_numbers(X):
            gamma = 0.0 if isinstance(gamma, str) else gamma
        gamma = resolve_gamma(gamma, X, weight)
        return settings.of_width(gamma, few=X.shape[0] <= FEW)

    # ---- training

    def _open_store(self, X: Any, settings: Settings, largest_bound: float) -> KernelCache:
        """Return the kernel rows over X, in float64 where tol and the multipliers need it."""
        tol = settings.tol
        double = tol < 1e-4 or settings.few or not np.isfinite(largest_bound)
        rows = settings.kernel.rows(X, double)
        # Errors of n terms of mixed signs add up to less than sqrt(n) of them.
        if rows.rounding * largest_bound * np.sqrt(rows.n) > 4 * tol and not double:
            rows = settings.kernel.rows(X, double=True)
        rows.warn_if_indefinite()
        return KernelCache(rows, settings.cache_size)

    def _solve(
        self, problems: list[Problem], store: KernelCache, settings: Settings, progress: Progress
    ) -> list[Solution]:
        """Solve all problems over one store of kernel rows.

        Problems of few samples are solved to rounding error: a weight of 2 then gives the same
        digits as a copy.
        """
        formulation, limited = settings.formulation, settings.max_iter >= 0
        tol = settings.tol * min(1.0, formulation.gradient_scale(problems))
        exact = settings.few and not limited
        limits = {"max_iter": settings.max_iter, "progress": progress}
        solutions = solve_many(problems, store, tol=tol, exact=exact, **limits)
        if limited:
            return solutions
        largest = max(p.largest_bound for p in problems)
        rounding = store.kernel.rounding * largest * np.sqrt(store.kernel.n)
        finer = formulation.finer_tol(problems, solutions, settings.tol, rounding)
        if finer is None or finer >= max(s.violation for s in solutions):
            return solutions
        return [
            refined(problem, solution, store, tol=finer, progress=progress)
            for problem, solution in zip(problems, solutions, strict=True)
        ]

    def _warn_unconverged(self, solutions: list[Solution], settings: Settings) -> None:
        worst = max((s.violation for s in solutions if not s.converged), default=None)
        if worst is None:
            return
        if settings.max_iter > 0:
            why, way_out = f"after max_iter={settings.max_iter} steps", "raise max_iter or tol"
        else:
            why, way_out = "where the kernel let it go no further", "raise tol, or check the kernel"
        warn(
            "ConvergenceWarning",
            f"{type(self).__name__} stopped {why} with a KKT violation of {worst:.2g}, above "
            f"tol={settings.tol:g}: {way_out}; scaling the features often helps.",
        )

    def _expansion(
        self, X: Any, support: np.ndarray, dual_coef: np.ndarray, settings: Settings
    ) -> dict[str, Any]:
        """Return the fitted attributes of the support vectors, rows `support` of the fit's X."""
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
        }

    # ---- prediction and verification

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

    def _exact_sums(self, X: Any, coef: np.ndarray) -> np.ndarray:
        """Return sum_j coef[c, j] k(x_i, v_j), (n, c), in float64 even if the fit is in float32."""
        expansion = None
        if not self._precomputed:
            expansion = Expansion(as_double(self.support_vectors_), self._fitted_kernel)
        sums = np.empty((X.shape[0], len(coef)))
        for rows, values in self._value_blocks(X, expansion):
            sums[rows] = weighted(values, coef.T)
        return sums


class SingleProblemMachine(KernelMachine):
    """A machine of one dual problem: regression and the one-class machine."""

    dual_objective_: float
    primal_objective_: float
    duality_gap_: float
    kkt_violation_: float
    n_iter_: int
    _stored = {
        "n_support_": "int 1",
        "dual_coef_": "float64 1 s?",
        "intercept_": "float64 1",
        "n_iter_": "count",
    }

    def _targets(self, y: Any, n_samples: int) -> np.ndarray:
        return as_targets(y, n_samples, owner=type(self).__name__)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        settings = self._settings(self.gamma)
        progress = self._progress()
        samples = self._training_samples(X)
        n = samples.shape[0]
        y, weight = self._targets(y, n), as_weights(sample_weight, n)
        kept = np.flatnonzero(weight)
        used, y, weight = (
            kept_samples(samples, kept, settings.kernel.precomputed),
            y[kept],
            weight[kept],
        )
        formulation = settings.formulation
        problem = formulation.problem(y, formulation.cost(weight))
        settings = self._resolved(settings, used, weight)
        with progress:
            store = self._open_store(used, settings, problem.largest_bound)
            (solution,) = self._solve([problem], store, settings, progress)
        store = used = None  # their memory serves the support vectors
        self._warn_unconverged([solution], settings)

        _, multipliers = formulation.scale_and_multipliers(problem, solution)
        products = solution.gradient - problem.linear
        optimality = measure(problem, solution.beta, products, multipliers)
        length = np.array([norm(solution.beta, products)])
        coef = formulation.coefficients(solution.beta)
        chosen = np.flatnonzero(coef)
        errors = np.zeros(len(kept), dtype=bool)
        variables = np.arange(len(kept)) if problem.index is None else problem.index
        reached = np.where(solution.beta > 0, problem.upper, problem.lower) == solution.beta
        errors[variables[reached & (solution.beta != 0)]] = True
        fitted = self._expansion(samples, kept[chosen], coef[None, chosen], settings)
        if settings.kernel.linear:
            fitted["coef_"] = product(fitted["dual_coef_"], fitted["support_vectors_"])
        self._set_fitted(
            X,
            **fitted,
            **formulation.attributes(multipliers[None], length),
            **optimality_attributes([optimality]),
            intercept_=np.array([-multipliers.mean()]),
            n_support_=np.array([len(chosen)], dtype=np.int32),
            margin_error_indices_=kept[errors],
            n_iter_=max(1, int(solution.n_iter)),
            converged_=bool(solution.converged),
            fit_status_=int(not solution.converged),
        )

    def _values(self, X: Any) -> np.ndarray:
        """Return f(x) for every row, in the precision of the fit."""
        X = self._checked_later(X)
        values = np.empty(X.shape[0], dtype=self._precision)
        if "coef_" in vars(self):
            for rows in row_blocks(X, 1):
                values[rows] = product(X[rows], self.coef_.T)[:, 0] + self.intercept_[0]
        else:
            for rows, block in self._value_blocks(X):
                values[rows] = weighted(block, self.dual_coef_[0]) + self.intercept_[0]
        return values

    def _verify(self, X: Any, y: Any, sample_weight: Any) -> Optimality:
        X, weight = self._verification_samples(X, sample_weight)
        formulation = self._formulation()
        problem = formulation.problem(self._targets(y, len(weight)), formulation.cost(weight))
        coef = np.zeros(len(weight))
        coef[self.support_] = self.dual_coef_[0]
        sums = self._exact_sums(X, self.dual_coef_)[:, 0]
        beta, (_, multipliers) = formulation.variables(coef), formulation.fitted(self, 0)
        products = sums if problem.index is None else sums[problem.index]
        beta = round_to_bounds(beta, problem.lower, problem.upper)
        return measure(problem, beta, products, multipliers)


def product(A: Any, B: Any) -> np.ndarray:
    """Return A @ B, the same bytes whatever the number of threads."""
    with single_threaded_blas():
        return dense_if_full(A) @ dense_if_full(B)
