"""Functions spanned by the kernel at some samples, the centres, in orthonormal coordinates."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg

from mlcore.checks.stored import stored
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.gram_rows import KernelRows
from mlcore.kernels.kernel import Kernel, as_double
from mlcore.numerics.powers_of_two import even_exponent
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_BLOCK = 64  # pivots drawn together
_CANDIDATES = 20  # samples for each centre, from which it is chosen
_DEPENDENT = float(np.sqrt(np.finfo(np.float64).eps))  # squared distance from the span of others


class Columns(Protocol):
    """Columns of a positive semi-definite matrix, as `random_pivots` sees it."""

    @property
    def diagonal(self) -> np.ndarray: ...

    def columns(self, chosen: np.ndarray) -> np.ndarray: ...


@stored(version=1)
class SpanBasis(NamedTuple):
    """Orthonormal basis of a `Span`, whose fields are the last three of its parameters."""

    triangle: np.ndarray
    power: int
    rounding: float

    _stored = {"triangle": "float64 m m", "power": "int", "rounding": "float"}


class Span:
    """The functions ``sum_j beta_j k(c_j, .)`` of m centres c_j, samples or columns of a matrix.

    ``L L'`` is their Gram matrix times ``2^-power``. In this unit ``phi(x) = L^-1 k(x)`` are
    coordinates in an orthonormal basis, and ``beta = 2^-power L^-T theta``.
    """

    centers: Any
    power: int
    rounding: float
    kernel: Kernel

    def __init__(
        self, kernel: Kernel, centers: Any, L: np.ndarray, power: int, rounding: float
    ) -> None:
        self.kernel, self.centers, self.L = kernel, centers, L
        self.power, self.rounding = power, rounding
        V = centers if kernel.precomputed else as_double(centers)
        self._expansion = Expansion(V, kernel)

    @property
    def basis(self) -> SpanBasis:
        """The numbers that a model keeps of a span, beside the kernel and the centres."""
        return SpanBasis(self.L, self.power, self.rounding)

    @property
    def m(self) -> int:
        """Number of centres."""
        return len(self.L)

    def features(self, X: Any, width: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows of X, float64 samples, and their features, (rows, m).

        `width` is the number of values per row that the caller computes: it bounds blocks too.
        """
        for rows, values in self._expansion.blocks(X, width):
            k = np.ldexp(values, -self.power)
            with single_threaded_blas():
                yield rows, linalg.solve_triangular(self.L, k.T, lower=True, check_finite=False).T

    def coefficients(self, theta: np.ndarray) -> np.ndarray:
        """Return ``2^power beta`` for coordinates theta (m, k)."""
        with single_threaded_blas():
            return linalg.solve_triangular(self.L, theta, lower=True, trans="T", check_finite=False)


def span_of(
    kernel: Kernel, samples: Any, count: int, rng: np.random.Generator, precomputed: bool = False
) -> tuple[Span, np.ndarray]:
    """Choose at most `count` centres among samples; return their span and their indices, (m,).

    Centres are pivots of a random Cholesky factorisation, less those nearly combinations of others.
    """
    # Draw the candidates for centres.
    n = samples.shape[0]
    count = min(count, n)
    require_memory(
        min(n, _CANDIDATES * count), count, 16,
        what="the partial factor from which centres are chosen", instead="lower n_centers",
    )  # fmt: skip
    candidates = np.arange(n)
    if n > _CANDIDATES * count:
        candidates = np.sort(rng.choice(n, _CANDIDATES * count, replace=False))
    # Choose the most independent ones as pivots.
    chosen = samples[np.ix_(candidates, candidates)] if precomputed else samples[candidates]
    rows = kernel.rows(as_double(chosen), double=True)
    rows.warn_if_indefinite("they have no feature space")
    largest = float(np.abs(rows.diagonal).max())
    power = even_exponent(largest, plain=0)
    pivots = np.arange(len(candidates))
    if count < len(candidates):
        pivots = random_pivots(_Rows(rows), count, rng)[1]
    # Factor their Gram matrix, and refuse a kernel that is indefinite on them.
    K = np.ldexp(rows.block(pivots, pivots), -power)
    K = np.tril(K) + np.tril(K, -1).T
    limit = _DEPENDENT * float(K.diagonal().max())
    with single_threaded_blas():
        L, order, rank, _ = linalg.lapack.dpstrf(K, tol=limit, lower=1)
    order = order - 1
    left = K.diagonal()[order[rank:]] - np.einsum("ij,ij->i", L[rank:, :rank], L[rank:, :rank])
    if left.min(initial=0.0) < -limit:
        raise ValueError(
            f"kernel {kernel.name!r} is not positive semi-definite on these samples: one has the "
            f"squared distance {np.ldexp(left.min(), power):.6g} from the span of others."
        )
    # Leave out those that depend on the others.
    if rank == 0 or not limit > 0:
        rank, L = 1, np.ones((1, 1))  # all values are 0, and so is every function
    order = order[:rank]
    indices = candidates[pivots[order]]
    centers = indices if precomputed else samples[indices]
    L = np.asfortranarray(np.tril(L[:rank, :rank]))
    return Span(kernel, centers, L, power, float(np.ldexp(rows.rounding, -power))), indices


class _Rows:
    def __init__(self, rows: KernelRows) -> None:
        self._rows, self.diagonal = rows, rows.diagonal

    def columns(self, chosen):
        return self._rows.block(chosen).T


def random_pivots(S: Columns, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return F (n, r), r <= rank, with F F' near S and F F' <= S, and the pivots.

    Source: Chen, Epperly, Tropp, Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 78,
    2025 (arXiv:2207.06503). r columns of S are computed, in O(n r²) operations.
    """
    left = S.diagonal.copy()
    n, total, pivots = len(left), float(left.sum()), []
    F, r = np.empty((n, min(rank, n)), order="F"), 0
    rounding = n * np.finfo(np.float64).eps * float(left.max())
    with single_threaded_blas():
        while r < F.shape[1] and left.sum() > np.finfo(np.float64).eps * total:
            count = min(_BLOCK, F.shape[1] - r)
            drawn = np.unique(rng.choice(n, size=count, p=left / left.sum()))
            G = S.columns(drawn)
            G -= F[:, :r] @ F[drawn, :r].T
            corner = 0.5 * (G[drawn] + G[drawn].T)
            values, vectors = linalg.eigh(corner, check_finite=False)
            good = values > rounding
            if not good.any():
                break
            new = G @ (vectors[:, good] / np.sqrt(values[good]))
            F[:, r : r + new.shape[1]] = new
            r += new.shape[1]
            pivots.append(drawn)
            left -= np.einsum("ij,ij->i", new, new)
            left[drawn] = 0.0
            np.maximum(left, 0.0, out=left)
    return F[:, :r], np.concatenate(pivots) if pivots else np.zeros(1, np.intp)
