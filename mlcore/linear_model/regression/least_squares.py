"""Linear systems of least squares, with a ridge or of minimum norm where columns are dependent."""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from mlcore.checks.stored import stored
from mlcore.numerics.eigen.lapack import eigenpairs, stoppable

EPS = float(np.finfo(np.float64).eps)
SURE = 4.0  # times the share of the ridge: a least eigenvalue, to 3, that shows rank without it
_FACTOR = {  # by bytes of a number: norm, factor, and condition
    4: (lapack.slange, lapack.spotrf, lapack.spocon),
    8: (lapack.dlange, lapack.dpotrf, lapack.dpocon),
}
_TINY = float(np.finfo(np.float64).tiny)
_PIVOT = 8 * float(
    np.finfo(np.float32).eps
)  # what rounding to float32 leaves of a dependent column


class Units(NamedTuple):
    """Column j of a system is that of the data times 2^-power_j.

    `alpha` is the penalty on the squared norm of the coefficients of the data.
    """

    power: np.ndarray
    alpha: float

    @property
    def ridge(self) -> np.ndarray:
        """Penalties of the coefficients of the system, (d,)."""
        with np.errstate(over="ignore"):
            return np.ldexp(self.alpha, -2 * self.power)

    @property
    def shift(self) -> np.ndarray:
        """Powers of two, (d,), at most 0, that take all columns to one unit, that of the data."""
        return self.power - self.power.max()

    @property
    def common_alpha(self) -> float:
        """Penalty of coefficients in that unit."""
        return float(np.ldexp(self.alpha, -2 * int(self.power.max())))


class Solution(NamedTuple):
    """Coefficients (d, k) that minimise ``|c - F w|² + ridge w²``, of the least norm among such.

    ``R R'``, R (d, r) what `root` computes, is the pseudo-inverse of F'F + ridge, or its part that
    acts on rows of F; `correction` multiplies it by (d, k). `rank` is that of F, `rcond` the
    reciprocal condition of F in columns of norm 1.
    """

    coef: np.ndarray
    root: Callable[[], np.ndarray]
    correction: Callable[[np.ndarray], np.ndarray]
    rank: int
    rcond: float

    @classmethod
    def by_root(cls, projected: np.ndarray, root: np.ndarray, rank: int, rcond: float) -> Self:
        """Return the solution of this root, with coefficients ``root projected``."""
        return cls(root @ projected, lambda: root, lambda G: root @ (root.T @ G), rank, rcond)


class Spectrum(NamedTuple):
    """Eigenvalues (r,) of F'F, ``V'F'c`` (r, k) for its vectors V, and their combinations.

    `combined` returns ``V B`` (d, k) for B (r, k).
    """

    values: np.ndarray
    projected: np.ndarray
    combined: Callable[[np.ndarray], np.ndarray]


class UnitFactor(NamedTuple):
    """Factor U'U of a matrix A over `size` (d,) by rows and columns, whose diagonal is 1.

    `norm` and `rcond` are its 1-norm and reciprocal condition. In float32 solutions need
    corrections.
    """

    U: np.ndarray
    size: np.ndarray
    norm: float
    rcond: float

    @classmethod
    def of(cls, A: np.ndarray) -> Self | None:
        """Factor A (d, d), C order, which is overwritten; None if it is not positive definite."""
        squares = A.diagonal()
        if not (squares > 0).all():
            return None
        size = np.sqrt(squares)
        A /= size
        A /= size[:, None]
        A.flat[:: len(A) + 1] = 1.0
        lange, potrf, pocon = _FACTOR[A.itemsize]
        norm = float(lange("1", A.T))
        U, info = stoppable(lambda: potrf(A.T, lower=0, clean=0, overwrite_a=1), len(A) ** 3 / 3)
        if info:
            return None
        return cls(U, size.astype(np.float64), norm, float(pocon(U, norm, uplo="U")[0]))

    def solve(self, B: np.ndarray) -> np.ndarray:
        """Return A^-1 B for B (d, k)."""
        size = self.size[:, None]
        if self.U.dtype == np.float64:
            return lapack.dpotrs(self.U, B / size, lower=0, overwrite_b=1)[0] / size
        B = B / size
        largest = np.maximum(np.abs(B).max(axis=0), _TINY)  # in its units none leaves the range
        return lapack.spotrs(self.U, B / largest, lower=0)[0] * (largest / size)

    def root(self) -> np.ndarray:
        """Return R (d, d) with ``R R' = A^-1``."""
        inverse = np.triu(_inverse(self.U))
        return inverse / self.size[:, None]


@stored(version=1)
class NormalEquations(NamedTuple):
    """A system by A = F'F, (d, d), and C = F'c, (d, k), of precision `eps`."""

    A: np.ndarray
    C: np.ndarray
    eps: float
    _stored = {"A": "float64 f f", "C": "float64 f q", "eps": "float"}

    def products(self) -> tuple[np.ndarray, np.ndarray]:
        """Return F'F and F'c."""
        return self.A, self.C

    def of_targets(self, targets: np.ndarray) -> "NormalEquations":
        """Return the system of some targets."""
        return self._replace(C=self.C[:, targets])

    def solve(self, units: Units) -> Solution | None:
        """Return the solution by Cholesky's factor, None if there is none."""
        ridge, d = units.ridge, len(self.A)
        squares = self.A.diagonal() + ridge
        kept = np.flatnonzero(squares > 0)
        if not len(kept):
            return Solution.by_root(np.zeros((0, self.C.shape[1])), np.zeros((d, 0)), 0, 1.0)
        A = self.A.copy() if len(kept) == d else self.A[np.ix_(kept, kept)]
        A.flat[:: len(A) + 1] = squares[kept]
        factor = UnitFactor.of(A)
        if factor is None:
            return None

        def in_all(part):
            whole = np.zeros((d, part.shape[1]))
            whole[kept] = part
            return whole

        def correction(G):
            return in_all(factor.solve(G[kept]))

        rank = len(kept)
        # Without the ridge the least eigenvalue may be less by as much as the ridge.
        if not factor.rcond * factor.norm > SURE * (ridge[kept] / squares[kept]).max():
            rank = self._rank(kept)
        return Solution(
            correction(self.C), lambda: in_all(factor.root()), correction, rank, factor.rcond
        )

    def _rank(self, kept):
        """Return the rank of A, as far as sums of squares tell it."""
        squares = self.A.diagonal()[kept]
        kept, squares = kept[squares > 0], squares[squares > 0]
        if not len(kept):
            return 0
        A = self.A[np.ix_(kept, kept)] / np.sqrt(squares)
        A /= np.sqrt(squares)[:, None]
        tol = max(1000, len(A)) * self.eps
        return int(stoppable(lambda: lapack.dpstrf(A, tol=tol, lower=0), len(A) ** 3 / 3)[2])

    def triangle(self) -> "Triangle":
        """Return the system of independent columns, as far as sums of squares tell them."""
        squares = self.A.diagonal()
        kept = np.flatnonzero(squares > 0)
        size = np.sqrt(squares[kept])
        A = self.A[np.ix_(kept, kept)] / np.outer(size, size)
        F, c, d = np.zeros((0, len(squares))), np.zeros((0, self.C.shape[1])), len(kept)
        if d:
            tol = max(1000, d) * self.eps
            U, order, rank, _ = stoppable(lambda: lapack.dpstrf(A, tol=tol, lower=0), d**3 / 3)
            U, pivots = np.triu(U[:rank]), kept[order - 1]
            F = np.zeros((rank, len(squares)))
            F[:, pivots] = U * size[order - 1]
            own = self.C[pivots[:rank]] / size[order[:rank] - 1, None]
            c = linalg.solve_triangular(U[:, :rank], own, trans="T")
        return Triangle(F, c, 1000, self.eps)

    def spectrum(self, units: Units) -> Spectrum:
        """Return that of A in one unit."""
        shift = units.shift
        A = np.ldexp(self.A, shift[:, None] + shift)
        values, V = eigenpairs(A, overwrite=True)
        known = values > max(1000, len(A)) * self.eps * values.max(initial=0.0)
        V = V[:, known]
        return Spectrum(values[known], V.T @ np.ldexp(self.C, shift[:, None]), lambda B: V @ B)


@stored(version=1)
class Triangle(NamedTuple):
    """A system by F, (m, d), and c, (m, k), from orthogonal transformations of n rows.

    `eps` is the precision of the data.
    """

    F: np.ndarray
    c: np.ndarray
    n_rows: int
    eps: float
    _stored = {
        "F": "float64 t? f",
        "c": "float64 t? q",
        "n_rows": "count",
        "eps": "float",
    }

    def products(self) -> tuple[np.ndarray, np.ndarray]:
        """Return F'F and F'c."""
        return self.F.T @ self.F, self.F.T @ self.c

    def of_targets(self, targets: np.ndarray) -> "Triangle":
        """Return the system of some targets."""
        return self._replace(c=self.c[:, targets])

    def solve(self, units: Units) -> Solution:
        """Return the solution by further orthogonal transformations."""
        norms = np.sqrt(np.einsum("ij,ij->j", self.F, self.F))
        kept = np.flatnonzero(norms > 0)
        F = self.F[:, kept] / norms[kept]
        d, k = self.F.shape[1], self.c.shape[1]
        if not F.size:
            return Solution.by_root(np.zeros((0, k)), np.zeros((d, 0)), 0, 1.0)
        projected, R, pivots = stoppable(
            lambda: linalg.qr_multiply(F, self.c.T, mode="right", pivoting=True),
            2 * F.size * (d + 2 * k),
        )
        diagonal = np.abs(R.diagonal())
        tol = max(self.n_rows, d) * EPS
        if self.eps > EPS:
            tol = max(tol, _PIVOT)
        rank = int((diagonal > tol * diagonal[0]).sum())
        if units.alpha > 0:
            return self._with_ridge(units, rank)
        projected, R, pivots = projected[:, :rank].T, R[:rank], kept[pivots]
        root = np.zeros((d, rank))
        triangle = R[:, :rank]
        inverse = _inverse(triangle)
        if rank == len(kept):
            root[pivots] = inverse / norms[pivots, None]
        else:
            shift = units.shift[pivots]
            columns = np.ldexp(R * norms[pivots], shift)
            Q, T = stoppable(
                lambda: linalg.qr(columns.T, mode="economic"), 4 * columns.size * len(columns)
            )
            root[pivots] = np.ldexp(Q @ _inverse(T).T, shift[:, None])
        return Solution.by_root(projected, root, rank, _rcond(triangle, inverse))

    def _with_ridge(self, units, rank):
        shift, alpha = units.shift, units.common_alpha
        G, Q = np.ldexp(self.F, shift), None
        if len(G) < G.shape[1]:
            Q, T = stoppable(lambda: linalg.qr(G.T, mode="economic"))
            G = T.T
        q = G.shape[1]
        stacked = np.concatenate((G, np.sqrt(alpha) * np.eye(q)))
        right = np.concatenate((self.c, np.zeros((q, self.c.shape[1]))))
        projected, R = stoppable(lambda: linalg.qr_multiply(stacked, right.T, mode="right"))
        inverse = _inverse(R)
        root = np.ldexp(inverse if Q is None else Q @ inverse, shift[:, None])
        return Solution.by_root(projected.T, root, rank, _rcond(R, inverse))

    def spectrum(self, units: Units) -> Spectrum:
        """Return what `NormalEquations.spectrum` does."""
        G = np.ldexp(self.F, units.shift)
        operations = 20 * G.size * min(G.shape)
        U, s, Vt = stoppable(lambda: linalg.svd(G, full_matrices=False), operations)
        known = s > max(self.n_rows, G.shape[1]) * EPS * s.max(initial=0.0)
        s, V = s[known], Vt[known].T
        return Spectrum(s * s, s[:, None] * (U[:, known].T @ self.c), lambda B: V @ B)


def _inverse(R):
    """Return the inverse of an upper triangular matrix."""
    return stoppable(lambda: lapack.dtrtri(R)[0], len(R) ** 3 / 3)


def _rcond(matrix, inverse):
    return float(1 / (linalg.norm(matrix, 1) * linalg.norm(inverse, 1)))
