"""The linear system of kernel ridge regression, its solvers and the proof of its solution."""

from typing import NamedTuple, NoReturn

import numpy as np
from scipy import linalg

from mlcore.checks.errors import warn
from mlcore.kernel_ridge.linear_system.cholesky import Cholesky
from mlcore.kernel_ridge.linear_system.gram_operator import GramOperator
from mlcore.kernel_ridge.linear_system.partial_cholesky import LowRankInverse
from mlcore.numerics.conjugate_gradients import solve_columns
from mlcore.threads import single_threaded_blas

EPS = float(np.finfo(np.float64).eps)
_FEW = 10  # steps that a factor in float32 may take, before one in float64 is quicker


class Solution(NamedTuple):
    """Coefficients c of ``(S + alpha I) c = u (y - b)``, u the roots of the weights, for k targets.

    Attributes
    ----------
    coef : float64 (n, k)
        c; the dual coefficients are u c.
    intercept, gap, objective : float64 (k,)
        The gap is an upper bound on how far the objective is from its minimum.
    n_iter : int
    converged : bool
    exact : bool
        False if the matrix is singular and the function is one of fewer samples.
    weight : float64 (k,)
        Errors of kernel values times this change the gap, where it is not exact.
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


class RidgeSystem:
    """The system for one set of samples and targets.

    Parameters
    ----------
    S : GramOperator
        ``diag(u) K diag(u)``.
    u : float64 (n,)
        Square roots of the weights.
    y : float64 (n, k)
    fit_intercept : bool
    name : str
        Of the model, for messages.
    """

    def __init__(
        self, S: GramOperator, u: np.ndarray, y: np.ndarray, fit_intercept: bool, name: str
    ) -> None:
        self.S, self.u, self.fit_intercept, self.name = S, u, fit_intercept, name
        self.total = float(u @ u)
        self.center = (u * u) @ y / self.total if fit_intercept else np.zeros(y.shape[1])
        self.right = u[:, None] * (y - self.center)

    def by_cholesky(self, alpha: float, columns: np.ndarray) -> Solution:
        """Solve for these targets by a factor in float32, or float64 where that is needed."""
        A = self.S.plus(alpha)
        B = self._sides(columns)

        def rounded(X, R, largest):
            scale = largest * np.linalg.norm(X, axis=0) + np.linalg.norm(B, axis=0)
            return np.linalg.norm(R, axis=0) <= EPS * scale

        with single_threaded_blas():
            factor = Cholesky.of(A.dense(np.float32)) if A.fits_single else None
            if factor is not None:
                found = solve_columns(A.__matmul__, B, factor.solve, rounded, _FEW)
                if found.converged:
                    return self._solution(
                        alpha, columns, _Solved(found.X, found.X, max(1, found.n_iter))
                    )
            factor = None
            matrix = A.dense(np.float64)
            norm = float(np.abs(matrix).sum(axis=0).max())
            factor = Cholesky.of(matrix)
            if factor is not None and factor.reciprocal_condition(norm) > A.n * EPS:
                X = factor.solve(B)
                X += factor.solve(B - A @ X)
                return self._solution(alpha, columns, _Solved(X, X))
            matrix = factor = None
            return self._solution(alpha, columns, self._by_pivots(alpha, B))

    def by_gradients(
        self, alpha: float, columns: np.ndarray, F: np.ndarray, tol: float, max_iter: int
    ) -> Solution:
        """Solve by conjugate gradients with a partial factor F, until gap <= tol objective."""
        B = self._sides(columns)

        def small(X, R, largest):
            gap = np.einsum("ij,ij->j", R, R)
            return gap <= tol / 4 * (alpha * np.einsum("ij,ij->j", X, B + R) + gap)

        precondition = LowRankInverse(F, alpha)
        found = solve_columns(self.S.plus(alpha).__matmul__, B, precondition, small, max_iter)
        if not found.definite:
            self.refuse(None)
        solved = _Solved(found.X, found.X, max(1, found.n_iter), found.converged)
        return self._solution(alpha, columns, solved)

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
            one = float(self.u @ exact[:, -1])
            # Conjugate gradients may have stopped where they began.
            small = one <= (0.0 if solved.exact else EPS * self.total)
            intercept = np.zeros(len(columns)) if small else self.u @ exact[:, :-1] / one
            X, exact = (Z[:, :-1] - intercept * Z[:, -1:] for Z in (X, exact))
            if solved.exact:  # the condition under which the gap is that below
                X = X - u * (self.u @ X / self.total)
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


def together(parts: list[tuple[np.ndarray, Solution]], n_targets: int) -> Solution:
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
    found = [part for _, part in parts]
    return Solution(
        coef, intercept, gap, objective, max(part.n_iter for part in found),
        all(part.converged for part in found), all(part.exact for part in found), weight,
    )  # fmt: skip
