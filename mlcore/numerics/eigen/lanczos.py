"""Leading eigenvectors of a large symmetric matrix, in few passes over it."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg
from scipy import sparse as sp
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg

from mlcore._ext.numerics import eigen as _ext
from mlcore.numerics.eigen.lapack import eigenpairs
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

_WIDTH = 8  # the number of vectors in a block is a multiple of this
_WIDE = 64  # vectors, more of which BLAS multiplies 1.3 times as fast
_DENSE = 400  # rows up to which a full decomposition by LAPACK is quicker
_ORTHOGONAL = 3e-15  # cosines below this are rounding
_HALF = 1e-8  # cosines that change no residual of a rounded matrix
_NEARLY = 1e-2  # cosines of vectors whose Cholesky factor makes them orthogonal to rounding
_LOST = 100  # roundings of cosines of unit vectors, at most, that one factor leaves
_EPS = float(np.finfo(np.float64).eps)
_ILL = 1e-5  # smallest pivot of a trusted Cholesky factor of unit vectors
_SURE = 1e3  # a pivot above this multiple of the rank tolerance needs no pivoted QR
_ROUGH = 0.5  # part of the tolerance for the search of a matrix that is rounded
_POWER = 1.4  # by which decades of residuals mostly grow: see `basis_for`
_BLOCKS = 10  # blocks in the basis: with more a step costs more, with fewer there are more steps
_NARROW = 4, 8  # vectors in a narrow block, for few eigenvectors and for more
_MANY = 32  # eigenvectors for which the dense work of the narrower block costs more
_ALMOST = 1e-11  # cosines that change no residual of a search whose pairs are computed anew
_SOON = 0.1  # part of the cosines that are allowed, from which they are computed before products
_TIED = 1e-6  # part of the size within which values may be one multiple eigenvalue


class Operator(Protocol):
    """A symmetric matrix of n rows as `leading_eigenpairs` sees it.

    `sparse` is True if it takes far less memory than n²; if not, the search takes at most n²/16.
    """

    n: int
    sparse: bool

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, m), float64."""
        ...

    def dense(self) -> np.ndarray:
        """Return a copy of the matrix, float64, which the caller may overwrite."""
        ...


class Scaled:
    """Symmetric matrix ``diag(scale) K diag(scale) + diag(shift)``, which is never formed.

    K is (n, n) in C order, or a csr_array; scale and shift are (n,), None for ones and zeros.
    """

    scale: np.ndarray | None
    shift: np.ndarray | None
    n: Any
    sparse: bool

    def __init__(
        self, K: Any, scale: np.ndarray | None = None, shift: np.ndarray | None = None
    ) -> None:
        self.K, self.scale, self.shift = K, scale, shift
        self.n, self.sparse = K.shape[0], sp.issparse(K)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, m), float64; the same bytes for any number of threads."""
        scaled = V if self.scale is None else V * self.scale[:, None]
        product = times(self.K, scaled)
        if self.scale is not None:
            product *= self.scale[:, None]
        if self.shift is not None:
            product += V * self.shift[:, None]
        return product

    @property
    def size(self) -> float:
        """Largest absolute row sum, for non-negative K: a bound of all eigenvalues."""
        ones = np.ones(self.n) if self.scale is None else self.scale
        sums = times(self.K, ones[:, None])[:, 0] * ones
        return float((sums if self.shift is None else sums + np.abs(self.shift)).max())

    def dense(self) -> np.ndarray:
        """Return a copy of the matrix, float64, which the caller may overwrite."""
        S = self.K.toarray() if self.sparse else self.K
        S = S.astype(np.float64)
        if self.scale is not None:
            S *= self.scale[:, None]
            S *= self.scale
        if self.shift is not None:
            S.flat[:: self.n + 1] += self.shift
        return S


def times(K: Any, V: np.ndarray) -> np.ndarray:
    """Return ``K @ V`` in float64 (n, k), reading K, in C order or CSR, once for all columns.

    The result is the same for any number of threads.
    """
    n, k = K.shape[0], V.shape[1]
    if sp.issparse(K):
        return K.astype(np.float64, copy=False) @ V
    if k > _WIDE:
        out = np.empty((n, k))
        with single_threaded_blas():
            for first, last in pieces(n, V.shape[0] * k / 4):
                np.matmul(K[first:last].astype(np.float64, copy=False), V, out=out[first:last])
        return out
    padded = _multiple(max(1, k))
    V = np.ascontiguousarray(np.pad(V, ((0, 0), (0, padded - k))) if padded > k else V)
    out = np.empty((n, padded))
    work = V.shape[0] * padded
    for first, last in pieces(n, 2 * work):
        threads = effective_threads((last - first) * work / _WIDTH)  # so many products at a time
        _ext.product(K, V, out, first, last, threads)
    return out[:, :k] if padded > k else out


class Eigenpairs(NamedTuple):
    """Result of `leading_eigenpairs`: `values` (k,), descending, and `vectors` (n, k).

    `residuals` are ``|S v - value v|`` over the largest modulus. `next_value` (-inf if none)
    estimates the one after these. `trace` (n_iter,) is the sum of the k values after each step,
    never decreasing; `basis_trace` that of all values in the basis.
    """

    values: np.ndarray
    vectors: np.ndarray
    next_value: float
    residuals: np.ndarray
    next_residual: float
    trace: np.ndarray
    converged: bool
    basis_trace: float


def leading_eigenpairs(
    S: Operator,
    k: int,
    rng: np.random.Generator,
    *,
    known: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    report: Callable[[int, float, float], None] | None = None,
    solver: str | None = None,
    rough: Any = None,
    narrow: bool = False,
) -> Eigenpairs:
    """Return the k algebraically largest eigenvalues and their eigenvectors.

    Block Lanczos with restarts; LAPACK for small matrices, or SciPy's solver of the name `solver`.
    `known` (n, c) are orthonormal eigenvectors, not sought again; `start` (n, `block_size` - 1)
    begins the first block; `tol` limits residuals relative to the largest modulus; `report` gets
    each step, the sum of values and the largest residual; `rough` is near a multiple of S, and
    searched first; `narrow` takes blocks of few vectors, for cheap products.

    Wu, Simon, *Thick-restart Lanczos*, SIAM J. Matrix Anal. Appl. 22, 2000;
    CholeskyQR2: Yamamoto et al., ETNA 44, 2015.
    """
    n = S.n
    known = np.empty((n, 0)) if known is None else known
    fixed = known.shape[1]
    sought = min(n, k + 1) - fixed  # `next_value` too
    search = _Search(S, known, k - fixed, sought, tol, report)
    with single_threaded_blas():
        if solver == "lapack" or by_lapack(n, k):
            result = search.by_lapack()
        elif solver is not None:
            result = search.by_scipy(solver, rng, max_iter)
        else:
            if narrow:
                result = search.by_narrow_blocks(rng, max_iter)
                if result is not None:
                    return _signed(result)
            width = block_size(k) - 1 if rough is None else _multiple(sought)
            start = rng.standard_normal((n, width)) if start is None else start
            if rough is not None:
                first = _Search(rough, known, k - fixed, sought, _ROUGH * tol, None)
                result, start = first.by_lanczos(start, rng, max_iter, _HALF)
                max_iter = max(1, max_iter - len(result.trace))
            result, _ = search.by_lanczos(start, rng, max_iter)
    return _signed(result)


def _signed(pairs):
    """Return the pairs with the largest entry of each vector positive."""
    largest = np.abs(pairs.vectors).argmax(axis=0)
    entries = pairs.vectors[largest, np.arange(pairs.vectors.shape[1])]
    return pairs._replace(vectors=pairs.vectors * np.where(entries < 0, -1.0, 1.0))


def largest_by_lapack(A: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of A, descending, and their eigenvectors, by LAPACK."""
    values, vectors = eigenpairs(A, count if 0 < 2 * count < len(A) else None)
    if len(values) < count:  # of many that are equal, bisection leaves some out
        values, vectors = eigenpairs(A)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def block_size(k: int) -> int:
    """Return the number of vectors in a block for k eigenvectors, a known one counted.

    More vectors than k make fewer steps, and cost little where reading the matrix takes the time.
    """
    return _multiple(k + max(3, k // 4))


def _multiple(count):
    """Return the number of vectors, at least `count`, in a block of products."""
    return -(-count // _WIDTH) * _WIDTH


def by_lapack(n: int, k: int) -> bool:
    """Return True if n rows are so few that LAPACK's full decomposition is quicker."""
    return n <= max(_DENSE, 3 * _BLOCKS * block_size(k) // 2)


class _Search:
    def __init__(self, S, known, leading, sought, tol, report):
        self.S, self.known = S, known
        self.tol, self.loose = tol, max(tol, np.sqrt(tol))
        self.leading, self.sought = leading, sought
        self.report = report or (lambda step, total, residual: None)

    def by_lapack(self):
        S, known = self.S, self.known
        A = S.dense()
        size = np.abs(A).sum(axis=1).max()
        product = S @ known
        unknown = float(np.trace(A) - np.vdot(known, product))
        A -= 2 * size * known @ known.T  # moves known eigenvalues to the lower end of the spectrum
        _, vectors = largest_by_lapack(A, self.sought)
        images = S @ vectors
        # Bisection leaves values a few times 1e-13 off; these quotients leave the least residuals.
        values = np.einsum("ij,ij->j", vectors, images)
        residuals = np.linalg.norm(images - vectors * values, axis=0)
        order = np.argsort(-values, kind="stable")  # of equal ones but for rounding
        values, vectors, residuals = values[order], vectors[:, order], residuals[order]
        steps = [values[: self.leading]]
        self.report(1, float(steps[0].sum()), float(residuals.max(initial=0.0) / (size or 1.0)))
        return self._result(product, values, vectors, residuals, steps, size, unknown)

    def by_scipy(self, solver, rng, max_iter):
        S, known = self.S, self.known
        product, size = S @ known, S.size

        def deflated(V):  # moves known eigenvalues to the lower end of the spectrum
            return S @ V - 2 * size * known @ (known.T @ V)

        shape, start = (S.n, S.n), rng.standard_normal((S.n, self.sought))
        A = LinearOperator(
            shape,
            matvec=lambda v: deflated(v.reshape(-1, 1))[:, 0],
            matmat=deflated,
            dtype=start.dtype,
        )
        if solver == "arpack":
            values, vectors = eigsh(
                A, self.sought, which="LA", tol=self.tol, maxiter=max_iter, v0=start[:, 0]
            )
        else:
            values, vectors = lobpcg(A, start, tol=self.tol * size, maxiter=max_iter)
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], vectors[:, order]
        residuals = np.linalg.norm(S @ vectors - vectors * values, axis=0)
        steps = [values[: self.leading]]
        self.report(1, float(steps[0].sum()), float(residuals.max() / size))
        return self._result(product, values, vectors, residuals, steps, size, float(values.sum()))

    def by_narrow_blocks(self, rng, max_iter):
        """Return the pairs found by blocks of few vectors; None if a value may be missing copies.

        Of a multiple eigenvalue a search finds no more copies than a block has vectors.
        """
        full = block_size(self.leading + self.known.shape[1])
        width = min(full, _NARROW[self.sought > _MANY])
        steps = max_iter * full // width
        start = rng.standard_normal((self.S.n, width))
        result, _ = self.by_lanczos(start, rng, steps, _ALMOST, _BLOCKS * full)
        values, tied = result.values, _TIED * np.abs(result.values).max(initial=0.0)
        values = np.append(values, result.next_value)[self.known.shape[1] :]
        near = values[: 1 - width] - values[width - 1 :] <= tied
        return None if np.any(near & (values[: 1 - width] > tied)) else result

    def by_lanczos(self, X, rng, max_iter, orthogonal=_ORTHOGONAL, room=None):
        """Return the result, and the Ritz vectors of a block for another search.

        The basis of at most `room` vectors is orthogonal to cosines of `orthogonal`. If these are
        more than rounding, Ritz pairs are computed only where they are expected to suffice.
        """
        S, known, n = self.S, self.known, self.S.n
        fixed, block = known.shape[1], X.shape[1]
        room = _BLOCKS * block if room is None else room
        room = room if S.sparse else min(room, max(6 * block, n // 16))
        exact, count = orthogonal == _ORTHOGONAL, 0
        # Far from that, cosines of a block are computed with the product that follows, in one
        # reading of the basis: a tenth less time.
        late = not exact
        # The basis begins with the known eigenvectors.
        V = scratch_array((fixed + room, n), np.dtype(np.float64))  # a row is a vector of the basis
        V[:fixed] = known.T
        H = np.zeros((room, room))  # S in the basis, without the known eigenvectors
        X = orthonormal_block(X, V[:fixed], 0.0, rng)
        m, steps, size, look = 0, [], 0.0, self.sought
        while True:
            V[fixed + m : fixed + m + block] = X.T
            m += block
            count += 1
            basis = V[: fixed + m]
            # S times the new block, less its projection on the basis.
            if count > 1:
                W = S @ X
            else:
                both = S @ np.hstack([known, X])
                known_product, W = both[:, :fixed], both[:, fixed:]
            if late and count > 1:
                cosines, C = _both_along(basis, X, W)
                most = np.abs(cosines[:-block]).max()
                late = most < _SOON * orthogonal
                if most >= orthogonal:
                    X = orthonormal_block(X, basis[:-block], 0.0, rng, orthogonal)
                    basis[-block:], W = X.T, S @ X
                    C = _along(basis, W)
            else:
                C = _along(basis, W)
            W = _less(W, basis, C)
            H[:m, m - block : m] = C[fixed:]
            H[m - block : m, :m] = C[fixed:].T
            # Ritz pairs and their residuals decide on the end.
            if exact or m >= look or m + block > room or count == max_iter:
                values, Y = linalg.eigh(H[:m, :m], driver="evd", check_finite=False)
                values, Y = values[::-1], Y[:, ::-1]
                size = max(size, float(np.abs(values).max()))
                residuals = np.linalg.norm(W @ Y[m - block :, : self.sought], axis=0)
                steps.append(values[: self.leading])
                worst = residuals[: self.leading].max(initial=0.0)
                self.report(count, float(steps[-1].sum()), float(worst / (size or 1.0)))
                met = worst <= self.tol * size and residuals.max(initial=0.0) <= self.loose * size
                if (met and m >= self.sought) or count == max_iter:
                    break
                look = min(2 * m, basis_for(self.tol, m, self.sought, worst / (size or 1.0)))
            elif steps:
                steps.append(steps[-1])
            # The next block; a full basis starts anew from its best vectors.
            X = orthonormal_block(W, V[:0] if late else basis, size, rng, orthogonal)
            if m + block > room:
                kept = min(max(self.sought + block, room // 2), room - block)
                V[fixed : fixed + kept] = Y[:, :kept].T @ basis[fixed:]
                H[:] = 0.0
                H.flat[: kept * (room + 1) : room + 1] = values[:kept]
                m = kept
        vectors = basis[fixed:].T @ Y[:, : _multiple(self.sought)]
        sought, traced = values[: self.sought], float(values.sum())
        result = self._result(known_product, sought, vectors, residuals, steps, size, traced)
        return result, vectors

    def _result(self, product, values, vectors, residuals, steps, size, traced):
        """Return the known eigenpairs, from `product`, their product with S, and the found ones.

        `traced` is the sum of all eigenvalues in the basis but the known ones.
        """
        fixed = np.einsum("ij,ij->j", self.known, product)
        size = max(size, np.abs(fixed).max(initial=0.0)) or 1.0
        k = self.known.shape[1] + self.leading
        values = np.r_[fixed, values]
        own = np.linalg.norm(product - self.known * fixed, axis=0)
        all_residuals = np.r_[own, residuals] / size
        return Eigenpairs(
            values[:k],
            np.hstack([self.known, vectors[:, : self.leading]]),
            float(values[k]) if len(values) > k else -np.inf,
            all_residuals[:k],
            float(all_residuals[k]) if len(values) > k else 0.0,
            fixed.sum() + np.array([step.sum() for step in steps]),
            bool(residuals[: self.leading].max(initial=0.0) <= self.tol * size),
            float(fixed.sum()) + traced,
        )


def basis_for(tol: float, m: int, count: int, worst: float, power: float = _POWER) -> float:
    """Return the size of a basis that should leave residuals of `tol`, as m vectors leave `worst`.

    Mostly their decades grow as a power of the number of vectors beyond the count.
    """
    if not 0 < worst < 1:
        return m if worst == 0 else np.inf
    return count + (np.log(tol) / np.log(worst)) ** (1 / power) * (m - count)


def orthonormal_block(
    W: Any, basis: Any, size: Any, rng: Any, orthogonal: Any = _ORTHOGONAL
) -> Any:
    """Return as many orthonormal columns, orthogonal to the basis, whose span holds that of W.

    If W is deficient, others are drawn, which may find vectors of a multiple eigenvalue.
    """
    least = 4 * _EPS * size
    X = _by_cholesky(W, _SURE * least, orthogonal)
    if X is None:
        X, R, _ = linalg.qr(W, mode="economic", pivoting=True, check_finite=False)
        rank = int(np.count_nonzero(np.abs(R.diagonal()) > least))
        if rank < W.shape[1]:
            X[:, rank:] = rng.standard_normal((len(X), W.shape[1] - rank))
            X /= np.linalg.norm(X, axis=0)
    for _ in range(3):  # rounding leaves a part along the basis
        along = _along(basis, X)
        if np.abs(along).max(initial=0.0) < orthogonal:
            break
        X = _less(X, basis, along)
        Q = _by_cholesky(X, 0.0, orthogonal)
        X = linalg.qr(X, mode="economic", check_finite=False)[0] if Q is None else Q
    return X


def orthonormal(W: np.ndarray) -> np.ndarray:
    """Return Q of ``W = QR``, the diagonal of R positive, mostly in a third of LAPACK's time."""
    Q = _by_cholesky(W, 0.0)
    if Q is None:
        Q, R = linalg.qr(W, mode="economic", check_finite=False)
        Q *= np.where(R.diagonal() < 0, -1.0, 1.0)
    return Q


def _along(basis, W):
    """Return the products of the rows of a basis (m, n) with the columns of W (n, b)."""
    if W.shape[1] not in _NARROW or not len(basis):
        return basis @ W
    W, C = np.ascontiguousarray(W), np.empty((len(basis), W.shape[1]))
    threads = effective_threads(basis.size * W.shape[1])
    for first, last in pieces(len(basis), W.size):
        _ext.along_basis(basis[first:last], W, C[first:last], threads)
    return C


def _both_along(basis, X, W):
    """Return the products with both blocks, of few vectors in one reading of the basis."""
    width = W.shape[1]
    if width != _NARROW[0]:
        return _along(basis, X), _along(basis, W)
    X, W, C = np.ascontiguousarray(X), np.ascontiguousarray(W), np.empty((len(basis), 2 * width))
    threads = effective_threads(2 * basis.size * width)
    for first, last in pieces(len(basis), 2 * W.size):
        _ext.both_along_basis(basis[first:last], X, W, C[first:last], threads)
    return C[:, :width], np.ascontiguousarray(C[:, width:])


def _less(W, basis, C):
    """Return W (n, b) less the transposed basis times C (m, b), mostly in the memory of W."""
    if W.shape[1] not in _NARROW or not len(basis):
        W -= basis.T @ C
        return W
    W = np.ascontiguousarray(W)
    threads = effective_threads(basis.size * W.shape[1])
    for first, last in pieces(len(W), C.size):
        _ext.less_basis(basis, C, W, first, last, threads)
    return W


def _by_cholesky(W, least, orthogonal=0.0):
    """Return Q of W = QR by factors of W'W, with cosines of rounding or less than `orthogonal`: a
    fifth of the time of reflections.

    None if W is so ill-conditioned that W'W has lost it, or R has a diagonal value up to `least`.
    """
    for _ in range(3):
        G = W.T @ W
        norms = np.sqrt(G.diagonal())
        if not norms.min(initial=np.inf) > least:
            return None
        G /= norms
        G /= norms[:, None]
        R, info = lapack.dpotrf(G, clean=1)
        pivots = R.diagonal()
        pivot = pivots.min(initial=1.0)
        if info != 0 or pivot < _ILL or (pivots * norms).min() <= least:
            return None
        W = W @ (lapack.dtrtri(R)[0] / norms[:, None])
        G.flat[:: len(G) + 1] -= 1
        # This Q was as exact as it gets, or as is asked for.
        if np.abs(G).max(initial=0.0) < _NEARLY or _LOST * _EPS < orthogonal * pivot**2:
            return W
        least = 0.0
    return None
