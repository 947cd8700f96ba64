"""The linear system of kernel ridge regression in safe units: its matrix, solvers and evidence."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from scipy import linalg

from mlcore.checks import scaled_weights
from mlcore.checks.errors import warn
from mlcore.checks.penalties import by_penalty
from mlcore.kernel_ridge.linear_system.cholesky import Cholesky
from mlcore.kernel_ridge.linear_system.partial_cholesky import LowRankInverse
from mlcore.kernels.expansion import weighted
from mlcore.kernels.gram_rows import KernelRows
from mlcore.kernels.kernel import Kernel, as_double
from mlcore.numerics.conjugate_gradients import solve_columns
from mlcore.numerics.eigen import times
from mlcore.numerics.powers_of_two import even_exponent
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import single_threaded_blas

EPS = float(np.finfo(np.float64).eps)
_PLAIN = 99  # powers of the weights up to this are left where they are
_FEW = 10  # steps that a factor in float32 may take, before one in float64 is quicker
_VALUES = 1_000_000  # kernel values of a block of rows: some megabytes
# Of columns, where each value is computed once: 9/16 of the work.
_CHUNKS, _LEAST_WIDTH = 16, 1024

Report = Callable[[np.ndarray, np.ndarray], None]  # of the objectives and gaps after a step


class RidgeUnits(NamedTuple):
    """A problem in safe units: the given values are those here times powers of two.

    `kernel_power`, of the kernel values, is even; `square_power` is of the objective.
    """

    weight: np.ndarray
    targets: np.ndarray
    penalties: np.ndarray
    kernel_power: int
    target_power: int
    square_power: int
    penalty_power: int

    @property
    def weight_power(self) -> int:
        """Power of the weights."""
        return self.square_power - 2 * self.target_power

    @classmethod
    def of(
        cls, largest: float, weight: np.ndarray, targets: np.ndarray, alphas: np.ndarray
    ) -> Self:
        """Choose the units; `largest` is the largest kernel value."""
        weight, weight_power = scaled_weights(weight, plain=_PLAIN)
        penalties = np.ldexp(alphas, -weight_power)
        kernel_power = even_exponent(max(largest, float(penalties.max())))
        target_power = even_exponent(float(np.abs(targets).max()))
        return cls(
            weight,
            np.ldexp(targets, -target_power) if target_power else targets,
            np.ldexp(penalties, -kernel_power),
            kernel_power,
            target_power,
            weight_power + 2 * target_power,
            weight_power + kernel_power,
        )


class GramOperator:
    """The matrix ``diag(u) K diag(u) + alpha I``; K is stored, or computed in blocks of rows.

    `rows` are in float64, u is (n,) and a stored K (n, n).
    """

    alpha: float
    u: np.ndarray | None
    n: Any
    rows: KernelRows

    def __init__(
        self, rows: KernelRows, u: np.ndarray, K: np.ndarray | None = None, alpha: float = 0.0
    ) -> None:
        self.rows, self.K, self.alpha = rows, K, alpha
        self.u = None if (u == 1).all() else u
        self.n = rows.n

    def plus(self, alpha: float) -> "GramOperator":
        """Return the same matrix with this multiple of the unit matrix."""
        operator = copy.copy(self)
        operator.alpha = alpha
        return operator

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal without alpha, float64 (n,)."""
        diagonal = self.rows.diagonal if self.K is None else self.K.diagonal()
        return diagonal * (1.0 if self.u is None else self.u**2)

    @property
    def fits_single(self) -> bool:
        """True if float32 holds the matrix, whose largest entries are on the diagonal."""
        largest = float(self.diagonal.max(initial=0.0)) + self.alpha
        return 1e-30 < largest < 1e30

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return these columns without alpha, float64 (n, len(chosen)), Fortran order."""
        if self.K is None:
            block = np.empty((len(chosen), self.n))
            self.rows.fill(chosen, block, np.arange(len(chosen)))
        else:
            block = self.K[chosen]
        if self.u is not None:
            block *= self.u[chosen, None]
            block *= self.u
        return block.T

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, k); the same bytes for any number of threads."""
        scaled = V if self.u is None else V * self.u[:, None]
        if self.K is not None:
            product = times(self.K, scaled)
        elif self.rows.halves:
            product = self._by_halves(scaled)
        else:
            product = np.empty(V.shape)
            step = max(1, _VALUES // self.n)
            block = np.empty((min(step, self.n), self.n))
            for start in range(0, self.n, step):
                chosen = np.arange(start, min(self.n, start + step))
                self.rows.fill(chosen, block, np.arange(len(chosen)))
                product[chosen] = weighted(block[: len(chosen)], scaled)
        if self.u is not None:
            product *= self.u[:, None]
        return product + self.alpha * V if self.alpha else product

    def _by_halves(self, V):
        """Return K V for a symmetric K, each value computed once for both of its places."""
        n, product = self.n, np.zeros(V.shape)
        width = max(_LEAST_WIDTH, -(-n // _CHUNKS))
        step = max(1, _VALUES // width)
        block = np.empty((min(step, n), min(width, n)))
        for left in range(0, n, width):
            columns = np.arange(left, min(n, left + width))
            for start in range(0, columns[-1] + 1, step):
                rows = np.arange(start, min(columns[-1] + 1, start + step))
                part = block[: len(rows), : len(columns)]
                self.rows.fill(rows, block, np.arange(len(rows)), columns)
                inside = rows[rows >= left]  # of the triangle on the diagonal
                if len(inside):
                    at = np.arange(len(rows) - len(inside), len(rows))
                    part[at, inside - left] = self.rows.diagonal[inside]
                product[rows] += weighted(part, V[columns])
                before = rows[rows < left]
                product[columns] += weighted(part[: len(before)].T, V[before])
        return product

    def dense(self, dtype: type) -> np.ndarray:
        """Return a copy of the matrix of this type, C order; K must be stored."""
        A = scratch_array((self.n, self.n), dtype)
        step = max(1, _VALUES // self.n)
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            block = self.K[part]
            if self.u is not None:
                block = block * self.u[part, None] * self.u
            A[part] = block
        A.flat[:: self.n + 1] += self.alpha
        return A


class Solution(NamedTuple):
    """Coefficients c of ``(S + alpha I) c = u (y - b)``, u the roots of the weights, for k targets.

    `coef` (n, k) is c; the dual coefficients are u c. `gap` (k,) bounds the objective less its
    minimum. If not `exact`, the matrix is singular and the function is one of fewer samples.
    """

    coef: np.ndarray
    intercept: np.ndarray
    gap: np.ndarray
    objective: np.ndarray
    n_iter: int
    converged: bool
    exact: bool
    weight: np.ndarray


class _Solved(NamedTuple):
    """Solution of several right sides: `X`, and `direction`, X or a multiple of its exact value."""

    X: np.ndarray
    direction: np.ndarray
    n_iter: int = 1
    converged: bool = True
    exact: bool = True


class Evidence(NamedTuple):
    """Bounds of the errors of a solution, (k,) each: `gap` of the objective less its minimum.

    `prediction` is B in ``|f - f*| <= B k(x, x)^(1/2)``, plus ``B max k(x_i, x_i)^(1/2)`` with b.
    """

    gap: np.ndarray
    prediction: np.ndarray


class RidgeSystem:
    """The system ``(S + alpha I) c = u (y - b)`` of samples and targets, in its units.

    S is ``diag(u) K diag(u)``, u (n,) the roots of the weights, of sum `total`; `center` (k,) the
    means of the targets with an intercept, else 0; `right` (n, k) ``u (y - center)``; `rounding`
    that of a kernel value. `alphas` are 0 with a criterion; `stored` computes K at once.
    """

    rounding: float
    u: np.ndarray
    fit_intercept: bool
    name: str
    total: float
    right: np.ndarray
    units: RidgeUnits
    center: np.ndarray

    def __init__(
        self,
        kernel: Kernel,
        samples: Any,
        y: np.ndarray,
        weight: np.ndarray,
        alphas: np.ndarray | str,
        fit_intercept: bool,
        stored: bool,
        name: str,
    ) -> None:
        rows = kernel.rows(as_double(samples), double=True)
        rows.warn_if_indefinite("they have no feature space, and K + alpha/w may be singular")
        K = rows.gram() if stored else None
        penalties = np.zeros(y.shape[1]) if isinstance(alphas, str) else alphas
        units = RidgeUnits.of(float(np.abs(rows.diagonal).max()), weight, y, penalties)
        self.units, self.rounding = units, float(np.ldexp(rows.rounding, -units.kernel_power))
        u = self.u = np.sqrt(units.weight)
        self.S = GramOperator(rows, np.ldexp(u, -units.kernel_power // 2), K)
        self.fit_intercept, self.name, y = fit_intercept, name, units.targets
        self.total = float(u @ u)
        self.center = (u * u) @ y / self.total if fit_intercept else np.zeros(y.shape[1])
        self.right = u[:, None] * (y - self.center)

    def dual(self, coef: np.ndarray) -> np.ndarray:
        """Return the dual coefficients, in the units of the user, of c (n, k)."""
        power = self.units.target_power - self.units.kernel_power
        return np.ldexp(self.u[:, None] * coef, power)

    def solved(
        self, penalties: np.ndarray, solve: Callable[[float, np.ndarray], Solution]
    ) -> Solution:
        """Return the solution of all targets, those of one penalty solved together by `solve`."""
        if len(penalties) == 1:
            return solve(float(penalties[0]), np.zeros(1, np.intp))
        parts = [(columns, solve(alpha, columns)) for alpha, columns in by_penalty(penalties)]
        return _together(parts, len(penalties))

    def by_cholesky(
        self, alpha: float, columns: np.ndarray, report: Report | None = None
    ) -> Solution:
        """Solve for these targets by a factor in float32, or float64 where that is needed."""
        A = self.S.plus(alpha)
        B = self._sides(columns)

        def rounded(X, R, largest):
            if report is not None:
                report(*self._progress(alpha, columns, X, R))
            scale = largest * np.linalg.norm(X, axis=0) + np.linalg.norm(B, axis=0)
            return np.linalg.norm(R, axis=0) <= EPS * scale

        with single_threaded_blas():
            factor = Cholesky.of(A.dense(np.float32)) if A.fits_single else None
            if factor is not None:
                solved = solve_columns(A.__matmul__, B, factor.solve, rounded, _FEW)
                if solved.converged:
                    steps = max(1, solved.n_iter)
                    return self._solution(alpha, columns, _Solved(solved.X, solved.X, steps))
            factor = None
            solution = self._solution(alpha, columns, self._in_double(alpha, A, B))
        if report is not None:
            report(solution.objective, solution.gap)
        return solution

    def by_gradients(
        self,
        alpha: float,
        columns: np.ndarray,
        F: np.ndarray,
        tol: float,
        max_iter: int,
        report: Report | None = None,
    ) -> Solution:
        """Solve by conjugate gradients with a partial factor F, until gap <= tol objective."""
        B = self._sides(columns)

        def small(X, R, largest):
            if report is not None:
                report(*self._progress(alpha, columns, X, R))
            gap = np.einsum("ij,ij->j", R, R)
            return gap <= tol / 4 * (alpha * np.einsum("ij,ij->j", X, B + R) + gap)

        precondition = LowRankInverse(F, alpha)
        solved = solve_columns(self.S.plus(alpha).__matmul__, B, precondition, small, max_iter)
        if not solved.definite:
            self.refuse(None)
        steps = max(1, solved.n_iter)
        return self._solution(alpha, columns, _Solved(solved.X, solved.X, steps, solved.converged))

    def _progress(self, alpha, columns, X, R):
        """Return objectives (k,) and their gaps, for solutions of all sides and their residuals."""
        u, B = self.u[:, None], self.right[:, columns]
        if self.fit_intercept:
            one = float(self.u @ X[:, -1])
            intercept = self.u @ X[:, :-1] / one if one > 0 else np.zeros(len(columns))
            X, R = (Z[:, :-1] - intercept * Z[:, -1:] for Z in (X, R))
            B = B - u * intercept
        gap = np.einsum("ij,ij->j", R, R)
        return alpha * np.einsum("ij,ij->j", X, B + R) + gap, gap

    def _in_double(self, alpha, A, B):
        """Solve by a factor in float64, or by that of a principal submatrix."""
        matrix = A.dense(np.float64)
        norm = float(np.abs(matrix).sum(axis=0).max())
        factor = Cholesky.of(matrix)
        if factor is not None and factor.reciprocal_condition(norm) > A.n * EPS:
            X = factor.solve(B)
            X += factor.solve(B - A @ X)
            return _Solved(X, X)
        matrix = factor = None
        return self._by_pivots(alpha, B)

    def _sides(self, columns):
        B = self.right[:, columns]
        return np.column_stack([B, self.u]) if self.fit_intercept else B

    def _by_pivots(self, alpha, B):
        """Solve where S + alpha I is singular up to rounding: for a function of fewer samples."""
        A, n = self.S.dense(np.float64), self.S.n
        values = linalg.eigvalsh(A, check_finite=False)
        if values[0] + alpha < -n * EPS * max(-values[0], values[-1]):
            self.refuse(values[0] + alpha)
        L, order, rank, _ = linalg.lapack.dpstrf(
            A.T, tol=n * EPS * max(values[-1], 0.0), lower=1, overwrite_a=1
        )
        order = order - 1
        if values[-1] <= 0:
            rank = 0
        warn(
            "UserWarning",
            f"{self.name}: K + alpha/w, K the Gram matrix, is singular up to rounding; the "
            f"function is one of {rank} of the {n} samples, its rank. A larger alpha makes it "
            "regular.",
        )
        L = np.tril(L)[:, :rank]
        padded = np.vstack([L, np.sqrt(alpha) * np.eye(rank)])
        sides = np.vstack([B[order], np.zeros((rank, B.shape[1]))])
        z = linalg.lstsq(padded, sides, check_finite=False)[0] if rank else sides[:0]
        X, direction = np.zeros_like(B), np.empty_like(B)
        if rank:
            X[order[:rank]] = linalg.solve_triangular(L[:rank], z, lower=True, trans="T")
        direction[order] = B[order] - L @ z
        return _Solved(X, direction, exact=False)

    def evidence(self, solution: Solution, penalties: np.ndarray) -> Evidence:
        """Return bounds that allow for the rounding of kernel values and of sums.

        With r the residual of c, ``|f - f*|² = r' (S + alpha I)^-1 S (S + alpha I)^-1 r``, and an
        eigenvalue s of S gives a factor ``s / (s + alpha)² <= 1 / (4 alpha)``. n errors of mixed
        signs make at most 2 n^(1/2) of them with great certainty (N. Higham, T. Mary, *A new
        approach to probabilistic rounding error analysis*, SIAM Journal on Scientific Computing 41,
        2019).
        """
        # Sizes of the terms of each residual, then how much rounding changes it.
        S, u, rounding = self.S, self.u[:, None], self.rounding
        n = S.n
        norms = np.sqrt(np.maximum(S.diagonal, 0.0)) / self.u  # of the samples in feature space
        largest = float(norms.max()) or 1.0
        a = np.abs(u * solution.coef)
        sums, total = norms @ a, a.sum(axis=0)
        one = 2 * np.sqrt(n) * EPS
        sizes = np.outer(norms, sums) ** 2 + (self.right / u) ** 2 + (penalties * a / u**2) ** 2
        if self.fit_intercept:  # coefficients sum to 0 up to rounding
            share = 4 * np.sqrt(np.einsum("ij,ij->j", a, a) / n) / self.total
            sizes += (np.outer(norms, float(norms @ self.u**2) * share) + penalties * share) ** 2
            sizes += (np.abs(self.center) + np.abs(solution.intercept)) ** 2 / n
        sizes = np.sqrt(sizes)
        errors = u * (one * sizes + rounding * total)
        change = np.sqrt(np.einsum("ij,ij->j", errors, errors))
        bound = one * sums + rounding * total / largest
        if self.fit_intercept:
            bound += (change / np.sqrt(self.total) + one * np.abs(solution.intercept)) / largest
        # The distance from the minimiser.
        if not solution.exact:  # without a residual: alpha |f - f*|² <= gap
            # The objective changes by the rounding of residuals and of |f|², the dual one likewise.
            slack = change * (2 * np.sqrt(solution.objective) + change)
            slack += penalties * (rounding * total**2 + one * sums**2)
            gap = np.minimum(solution.gap + rounding * solution.weight, solution.objective) + slack
            distance = np.sqrt(gap)
        else:
            gap = (np.sqrt(solution.gap) + change) ** 2
            distance = 0.5 * np.sqrt(solution.gap)
        with np.errstate(divide="ignore"):
            return Evidence(gap, bound + (distance + 0.5 * change) / np.sqrt(penalties))

    def refuse(self, smallest: float | None) -> NoReturn:
        """Raise the ValueError for a matrix with this negative eigenvalue, None if unknown."""
        what = "is not positive definite" if smallest is None else (
            f"has the eigenvalue {smallest:.6g}"
        )  # fmt: skip
        raise ValueError(
            f"{self.name}: the kernel is not positive semi-definite on these samples: K + alpha/w "
            f"{what}. Raise alpha, or use a kernel that is an inner product."
        )

    def _solution(self, alpha, columns, solved):
        u, B = self.u[:, None], self.right[:, columns]
        X, exact, intercept = solved.X, solved.direction, np.zeros(len(columns))
        if self.fit_intercept:
            # The intercept, for which the coefficients sum to 0.
            one = float(self.u @ exact[:, -1])
            # Conjugate gradients may have stopped where they began.
            small = one <= (0.0 if solved.exact else EPS * self.total)
            intercept = np.zeros(len(columns)) if small else self.u @ exact[:, :-1] / one
            X, exact = (Z[:, :-1] - intercept * Z[:, -1:] for Z in (X, exact))
            if solved.exact:  # the condition under which the gap is that below
                X = X - u * (self.u @ X / self.total)
        # The objective and its gap, from the residual; for a singular matrix from the dual problem.
        product, weight = self.S @ X, np.zeros(len(columns))
        if solved.exact:
            if self.fit_intercept:
                intercept = self.u @ (B - product) / self.total
            B = B - u * intercept
            R = B - product - alpha * X
            gap = np.einsum("ij,ij->j", R, R)
            objective = alpha * np.einsum("ij,ij->j", X, B + R) + gap
        else:
            B = B - u * intercept
            R = B - product
            objective = np.einsum("ij,ij->j", R, R) + alpha * np.einsum("ij,ij->j", X, product)
            gap = objective
            if alpha > 0:
                image = self.S @ exact / alpha + exact
                weight = np.square(self.u @ np.abs(exact)) / alpha
                dual = np.einsum("ij,ij->j", exact, 2 * B - image)
                sizes = np.einsum("ij,ij->j", np.abs(exact), 2 * np.abs(B) + np.abs(image))
                rounding = 2 * np.sqrt(self.S.n) * EPS * (objective + sizes)
                gap = np.minimum(np.abs(objective - dual) + rounding, objective)
        objective = np.maximum(objective, gap)
        return Solution(
            X, intercept + self.center[columns], gap, objective,
            solved.n_iter, solved.converged, solved.exact, weight,
        )  # fmt: skip


def _together(parts: list[tuple[np.ndarray, Solution]], n_targets: int) -> Solution:
    """Return one solution for all targets, from those of some columns each."""
    if len(parts) == 1:
        return parts[0][1]
    n = len(parts[0][1].coef)
    coef = np.empty((n, n_targets))
    intercept, gap, objective, weight = (np.empty(n_targets) for _ in range(4))
    for columns, part in parts:
        coef[:, columns] = part.coef
        intercept[columns], gap[columns] = part.intercept, part.gap
        objective[columns], weight[columns] = part.objective, part.weight
    solutions = [part for _, part in parts]
    return Solution(
        coef, intercept, gap, objective, max(part.n_iter for part in solutions),
        all(part.converged for part in solutions), all(part.exact for part in solutions), weight,
    )  # fmt: skip
