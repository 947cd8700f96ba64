"""Least squares in the span of the samples: by n x n matrices, or by conjugate gradients."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.linalg import blas, lapack

from mlcore._ext.linear_model import samples as _ext
from mlcore.checks.penalties import by_penalty
from mlcore.checks.stored import stored
from mlcore.linear_model.regression.least_squares import (
    EPS,
    SURE,
    NormalEquations,
    Solution,
    Spectrum,
    UnitFactor,
    Units,
)
from mlcore.linear_model.regression.mixed_precision import MixedPrecision, heavy_columns
from mlcore.linear_model.regression.rows import Rows
from mlcore.linear_model.regression.steps import TRUE, Enough, corrected
from mlcore.numerics.eigen.lapack import eigenpairs, stoppable
from mlcore.numerics.scatter import in_range
from mlcore.numerics.sparse_products import CentredProducts, column_sums, row_squares
from mlcore.runtime.memory import free_bytes, require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

_COLUMNS = 512  # of a block at least: rows are read as they lie
_IN_CACHE = 2**17  # values of a block that is used twice
_BLOCK_ROWS = 2000  # rows of few columns at most: beyond, pieces of a row are too short
_FAR = 100.0  # squares of sparse rows over those about the mean, beyond which digits are lost
_PLAIN = 2.0**230  # values up to this, and from its inverse on, have squares in range
LEAST = 1e-11  # rcond of a matrix of products whose corrected solution has the digits of QR
_STEPS = 4  # corrections at most
_DIRECT = 300  # rows up to which a factor is quicker than conjugate gradients
_NARROW = 1000  # columns up to which sums over more rows than columns are as quick
_BLAS = 10  # multiplications of dense matrices in the time of one of sparse ones
_MOST = 20_000  # steps of conjugate gradients
_ALONE = 1e-8  # share of the squares of a row that is taken not to be of these columns, at least
_MILD = 1e4  # trace of products of these beside the rest, up to which they are in float32
_TINY = 1e-300
_POWERS = 8  # steps to the vector of its largest eigenvalue
_WELL = 1e-6  # rcond of products of columns from which their factor is taken
_SINGLE = 500  # rows or columns from which a factor in float32, and its corrections, are quicker
_SINGLE_TALL = 700  # columns, of up to `_TALL` times as many rows, from which they are
_TALL = 2
_SINGLE_RANGE = 1e25  # squares in float32 are up to this, and from its inverse on
_NOISE = 2e-3  # least eigenvalue in units of the diagonal, of noise of the same shape
_PART = 8  # one of so many rows or columns is in the first look at the condition
_SOME_CLEAR = 1e-2  # least eigenvalue of these, and of all, from which few corrections are needed
_CLEAR = 2e-4
_FEW = 10  # corrections by a factor in float32, at most
_MIRRORED = 64  # rows whose columns are copied at a time


@stored(version=1)
class Samples(NamedTuple):
    """A system by its rows ``F = X - u center'``, (n, d), and c, (n, k).

    X is dense with a center of 0, or CSR; u (n,) are the roots of the weights, by which X and c are
    multiplied. ``w = F'a`` for ``(F F' + alpha I) a = c``.
    """

    X: Any
    u: np.ndarray
    center: np.ndarray
    c: np.ndarray
    _stored = {
        "X": "float64 t f | csr t f",
        "u": "float64 t",
        "center": "float64 f",
        "c": "float64 t q",
    }

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return F V for V (d,) or (d, k)."""
        product = self.X @ V
        if sp.issparse(self.X):
            product -= _outer(self.u, self.center @ V)
        return product

    def transposed_times(self, V: np.ndarray) -> np.ndarray:
        """Return F'V for V (n,) or (n, k)."""
        product = self.X.T @ V
        if sp.issparse(self.X):
            product -= _outer(self.center, self.u @ V)
        return product

    def gram(self) -> np.ndarray:
        """Return F F' (n, n)."""
        n, X = len(self.u), self.X
        require_memory(n, n, 24, what="the products of samples", instead="use fewer samples")
        if not sp.issparse(X):
            return stoppable(lambda: X @ X.T, n * n * X.shape[1] / 2)
        K = stoppable(lambda: (X @ X.T).toarray())
        h = X @ self.center - (self.center @ self.center / 2) * self.u
        K -= h[:, None] * self.u
        K -= self.u[:, None] * h
        return K

    def products(self) -> tuple[np.ndarray, np.ndarray]:
        """Return F'F and F'c."""
        d = self.X.shape[1]
        require_memory(d, d, 16, what="the scatter matrix", instead="use fewer features")
        product = self.X.T @ self.X
        if sp.issparse(self.X):
            h = self.X.T @ self.u - (self.u @ self.u / 2) * self.center
            product = product.toarray()
            product -= h[:, None] * self.center
            product -= self.center[:, None] * h
        return product, self.transposed_times(self.c)

    def rank(self) -> int:
        """Return the rank of F, from the smaller matrix of products."""
        n, d = self.X.shape
        with single_threaded_blas():
            return _numerical_rank(self.gram() if n <= d else self.products()[0])

    def of_targets(self, targets: np.ndarray) -> "Samples":
        """Return the system of some targets."""
        return self._replace(c=self.c[:, targets])

    def spectrum(self, units: Units) -> Spectrum:
        """Return what `NormalEquations.spectrum` does, from the smaller matrix of products."""
        n, d = self.X.shape
        if n > d:
            return NormalEquations(*self.products(), EPS).spectrum(units)
        values, U = eigenpairs(self.gram(), overwrite=True)
        known = values > max(1000, n) * EPS * values.max(initial=0.0)
        values, U = values[known], U[:, known]
        root = np.sqrt(values)[:, None]
        return Spectrum(
            values, root * (U.T @ self.c), lambda V: self.transposed_times(U @ (V / root))
        )

    def solve(self, units: Units) -> Solution:
        """Return the solution by eigenvectors, or a factor of fewer columns than rows."""
        if self.X.shape[0] > self.X.shape[1]:
            solution = NormalEquations(*self.products(), EPS).solve(units)
            if solution is not None and solution.rcond > _WELL:
                return solution
        found = self.spectrum(units)
        shrunk = found.values + units.alpha
        root = found.combined(np.diag(1 / np.sqrt(shrunk)))
        values = shrunk if len(shrunk) else np.ones(1)
        return Solution(
            found.combined(found.projected / shrunk[:, None]), lambda: root,
            lambda G: root @ (root.T @ G), len(shrunk), float(values.min() / values.max()),
        )  # fmt: skip

    def left_out(self, alpha: float, intercept: bool) -> np.ndarray | None:
        """Return errors (n, k) of the targets of each row for the fit to the others.

        They are ``a_i / C_ii`` over u_i, C the inverse where coefficients of rows sum to 0 with an
        intercept. None where QR of the rows has more digits.
        """
        K, total = self.gram(), float(self.u @ self.u)
        factor = self.factor(K.copy(), alpha, intercept)
        if factor is None or not factor.rcond > LEAST:
            return None
        a = factor.solve(self.c)
        a += factor.solve(self.c - self.times(self.transposed_times(a)) - alpha * a)
        inverse = np.square(factor.root()).sum(axis=1)
        if intercept:
            a -= _outer(self.u, self.u @ a / total)
            inverse -= self.u**2 / total / (K.trace() / len(K) + alpha)
        return a / (self.u * inverse)[:, None]

    def factor(self, K: np.ndarray, alpha: float, intercept: bool) -> UnitFactor | None:
        """Return the factor of ``F F' + alpha I``, where K = F F' is overwritten.

        With an intercept u, a null vector of F F', gets an eigenvalue that changes no solution.
        """
        n = len(self.u)
        if intercept:
            scale, ger = K.trace() / n / (self.u @ self.u), blas.dger
            if K.dtype == np.float32:
                ger = blas.sger
            ger(scale, self.u, self.u, a=K.T, overwrite_a=1)
        K.flat[:: n + 1] += alpha
        return UnitFactor.of(K)

    def single_factor(self, alpha: float, intercept: bool) -> UnitFactor | None:
        """Return the factor of the smaller of ``F F'`` and ``F'F``, plus alpha I, for dense X in
        float32; None where its numbers leave the range.
        """
        n, d = self.X.shape
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            K = _single_gram(self.X)
            squares = K.diagonal()
            if not (squares.min(initial=1.0) + alpha >= 1 / _SINGLE_RANGE):
                return None
            if not squares.max(initial=0.0) + alpha <= _SINGLE_RANGE:
                return None
            if n <= d:
                return self.factor(K, alpha, intercept)
            K.flat[:: d + 1] += alpha
            return UnitFactor.of(K)


def _single_gram(P):
    """Return the smaller of P P' and P'P in float32."""
    n, d = P.shape
    wide, m = n <= d, min(n, d)
    require_memory(m, m, 4, what="the products of samples", instead="use fewer samples")
    K = scratch_array((m, m), np.dtype(np.float32))
    K[:] = 0.0
    stoppable(
        lambda: blas.ssyrk(1.0, P.T, c=K.T, trans=wide, lower=0, overwrite_c=1), m * P.size / 4
    )
    for start in range(0, m, _MIRRORED):
        rows, beyond = slice(start, start + _MIRRORED), slice(start + _MIRRORED, None)
        K[rows, beyond] = K[beyond, rows].T
        K[rows, rows] += np.tril(K[rows, rows], -1).T
    return K


class SampleSolution(NamedTuple):
    """Coefficients (d, k) of a system, at the mean of the targets, with what solved it.

    `residual` (n, k) is ``c - F coef``; `rank` is -1 if it is unknown.
    """

    coef: np.ndarray
    residual: np.ndarray
    rank: int
    rcond: float
    solver: str


class SampleRows(NamedTuple):
    """A system of samples, the mean of features and targets less their origin, and squares (d,).

    `total` is the sum of the weights, and `single` (n, d) the rows of the system in float32 where
    its factor may be in float32.
    """

    system: Samples
    total: float
    center: np.ndarray
    offset: np.ndarray
    squares: np.ndarray
    single: np.ndarray | None


def suits_samples(X: Any, alphas: np.ndarray) -> bool:
    """Return True for X which is to be solved in the span of its rows, or by its products."""
    n, d = X.shape
    if n <= d:
        return n > 1
    if sp.issparse(X):
        return d > _NARROW and _by_gradients(X, alphas.min())
    single = n <= _TALL * d and d >= _SINGLE_TALL and alphas.min() > 0
    # Sums do not need a copy of the rows.
    return single and _by_single_factor(X, alphas) and 2 * 8 * n * d < free_bytes()


def _by_single_factor(X, alphas):
    """Return True for one target: corrections of several take as long as a factor saves."""
    return not sp.issparse(X) and len(alphas) == 1 and min(X.shape) >= _SINGLE


def _by_gradients(X, alpha):
    return sp.issparse(X) and alpha > 0 and min(X.shape) > _DIRECT


def samples_of(rows: Rows, intercept: bool, alphas: np.ndarray | None = None) -> SampleRows | None:
    """Return the system of rows, with what its solution for `alphas` (k,) needs; None where squares
    of features leave the range, or lose digits.
    """
    n = rows.X.shape[0]
    u = np.ones(n) if rows.weight is None else np.sqrt(rows.weight)
    offset = np.zeros(rows.Y.shape[1])
    if intercept:
        offset = np.average(rows.Y, axis=0, weights=rows.weight)
    c = rows.Y - offset
    if rows.weight is not None:
        c *= u[:, None]
    with np.errstate(all="ignore"):
        if sp.issparse(rows.X):
            return _sparse(rows, u, c, offset, intercept)
        return _dense(rows, u, c, offset, intercept, alphas)


def _sparse(rows, u, c, offset, intercept):
    X, d = rows.X, rows.X.shape[1]
    work = scratch_array(X.data.shape, np.dtype(np.float64))
    np.abs(X.data, out=work)
    if not 1 / _PLAIN <= work.min(initial=1.0) <= work.max(initial=1.0) <= _PLAIN:
        if not ((work <= _PLAIN) & (work >= 1 / _PLAIN) | (work == 0)).all():
            return None
    data = scratch_array(X.data.shape, np.dtype(np.float64))
    indices = scratch_array(X.indices.shape, X.indices.dtype)
    data[:], indices[:] = X.data, X.indices
    if rows.weight is not None:
        data *= np.repeat(u, np.diff(X.indptr))
    X = sp.csr_array((data, indices, X.indptr.copy()), shape=X.shape)
    total, center = float(u @ u), np.zeros(d)
    _, _, sums, squares = column_sums(rows.X, u * u, center)
    if intercept:
        center = sums / total
        squares = np.maximum(squares - total * center**2, 0.0)
        # Rows, and their distances from the mean: products about it have lost what these differ by.
        of_rows = row_squares(X)
        about = of_rows - 2 * u * (X @ center) + (u * u) * (center @ center)
        if not (of_rows <= _FAR * about).all():
            return None
    return SampleRows(
        Samples(X, u, center, c), rows.total, center - rows.data_units.origin, offset, squares, None
    )


def _dense(rows, u, c, offset, intercept, alphas):
    X, origin, (n, d) = rows.X, rows.data_units.origin, rows.X.shape
    require_memory(n, d, 8, what="the samples less their mean", instead="use fewer features")
    single = alphas is not None and _by_single_factor(X, alphas) and 12 * n * d < free_bytes()
    F, center, squares = scratch_array((n, d), np.dtype(np.float64)), np.empty(d), np.empty(d)
    P = scratch_array((n if single else 0, d), np.dtype(np.float32))
    share = u * u / (u @ u) if intercept else np.zeros(0)
    threads = effective_threads(4.0 * n * d)
    width = max(_COLUMNS, -(-d // threads))
    for first, last in pieces(d, 4.0 * n):
        _ext.centred_rows(X, origin, share, u, F, P, center, squares, first, last, width, threads)
    # Columns of squares out of range vary not at all, or need units of their own.
    outside = ~in_range(squares, np.float64)
    far = np.abs(origin) + np.abs(center) if intercept else 0.0
    rounded = squares <= n * np.square(8 * EPS * u.max() * far)
    for j in np.flatnonzero(outside | rounded):
        if not (X[:, j] == (X[0, j] if intercept else 0.0)).all():
            if outside[j]:
                return None
            continue
        F[:, j] = P[:, j] = squares[j] = 0.0
    system = Samples(F, u, np.zeros(d), c)
    return SampleRows(system, rows.total, center, offset, squares, P if single else None)


def solved_by_samples(
    rows: SampleRows, alphas: np.ndarray, intercept: bool, tol: float
) -> SampleSolution | None:
    """Solve for the penalties (k,) of the targets; None where QR of the rows has more digits.

    Conjugate gradients leave the share `tol` of the targets.
    """
    system, squares = rows.system, rows.squares
    with single_threaded_blas():
        if _by_gradients(system.X, alphas.min()):
            return _of_gradients(system, squares, alphas, intercept, tol)
        if rows.single is not None:
            found = _of_single_factor(system, rows.single, squares, alphas, intercept)
            if found is not None:
                return found
        if system.X.shape[0] > system.X.shape[1]:
            return None
        return _of_factors(system, squares, alphas, intercept)


def _of_factors(system, squares, alphas, intercept):
    """Solve by Cholesky's factors of the matrix of products of rows, and correct."""
    K, factors, rank, rcond = system.gram(), [], 0, 1.0
    for i, (alpha, targets) in enumerate(by_penalty(alphas)):
        factor = system.factor(K.copy(), alpha, intercept)
        if factor is None or not factor.rcond > LEAST:
            return None
        if i == 0:
            rank, rcond = _rank(K, factor, alpha, system, intercept), factor.rcond
        factors.append((targets, factor))
    found = _refined(system, squares, factors, alphas, intercept, _STEPS)
    return None if found is None else SampleSolution(*found, rank, rcond, "dual")


def _refined(system, squares, factors, alphas, intercept, most):
    """Return coefficients and residual by factors of the smaller matrix of products, pairs of
    targets and factors, and corrections; None if these end at no solution.

    The residual of the rows, not of the products, corrects the solution.
    """
    n, d = system.X.shape
    c, size, units = system.c, np.sqrt(squares.sum()), 1.0
    left = c
    if n > d:  # in columns of unit length, so that no small ones are neglected
        left, size, units = system.transposed_times(c), np.sqrt(d), factors[0][1].size[:, None]
    a, before = np.zeros_like(left), np.inf
    for _ in range(most):
        for targets, factor in factors:
            a[:, targets] += factor.solve(left[:, targets])
        coef, residual, left = _solution(system, c, a, alphas, intercept)
        ratio = _ratio(left / units, c, size, coef * units)
        if ratio <= 1 or not ratio < before / 2:
            break
        before = ratio
    return (coef, residual) if ratio <= TRUE else None


def _ratio(left, c, size, coef):
    """Return the largest residual of a system over the rounding of its terms."""
    scale = np.linalg.norm(c, axis=0) + size * np.linalg.norm(coef, axis=0)
    lengths = np.linalg.norm(left, axis=0)
    return float(np.divide(lengths, EPS * scale, out=np.zeros_like(scale), where=scale > 0).max())


def _rank(K, factor, alpha, system, intercept):
    """Return the rank of F from ``K = F F'``, or from the factor where that shows it is full."""
    if factor.rcond * factor.norm > SURE * alpha / factor.size.min() ** 2:
        return len(K) - intercept
    return _numerical_rank(K)


def _numerical_rank(K):
    """Return the rank of a matrix of products, by Cholesky's factor with pivots in unit lengths."""
    diagonal = K.diagonal()
    kept = np.flatnonzero(diagonal > 0)
    if not len(kept):
        return 0
    size = np.sqrt(diagonal[kept])
    A = K[np.ix_(kept, kept)] / size
    A /= size[:, None]
    tol = max(1000, len(A)) * EPS
    return int(stoppable(lambda: lapack.dpstrf(A, tol=tol, lower=0), len(A) ** 3 / 3)[2])


def _of_gradients(system, squares, alphas, intercept, tol):
    """Solve by conjugate gradients on the smaller side; None if they take longer than a factor.

    The square of what is left of the targets by rows bounds the excess of the objective. Gradients
    of columns count in units where each column, and its penalty, has length 1.
    """
    X, u, (n, d) = system.X, system.u, system.X.shape
    one, dual = len(alphas) == 1, n <= d
    c = system.c[:, 0] if one else system.c
    null = _null(u, intercept and dual)
    m = min(n, d)
    most = min(_MOST, m + int((m**3 / 3 / _BLAS + X.nnz * m) / (2 * X.nnz + 10 * m)))

    def solution(a):
        return _solution(system, c, a, alphas, intercept)

    if dual and one:
        single = MixedPrecision.of(system, squares, float(alphas[0]), intercept)
        found = (
            None
            if single is None
            else single.solve(solution, c, tol * float(np.linalg.norm(c)), most // 4 + 1)
        )
        if found is not None:
            coef, residual, rcond = found
            return SampleSolution(coef[:, None], residual[:, None], -1, rcond, "cg")

    # Vectors of n numbers are gathered and scattered to, which stay in the cache.
    if dual:
        products, place = CentredProducts(X, u, system.center).columns_by_length()
        columns = products.A
    else:
        products = CentredProducts(X, u, system.center)

    def times(V):
        product = _centred(null, products @ V)
        product += alphas * V
        return product

    diagonal = squares if not dual else row_squares(X)
    inverse = 1 / (diagonal[:, None] + alphas)
    if one:
        inverse = inverse[:, 0]
    right = c if dual else system.transposed_times(c)

    def precondition(R):
        V = inverse * R if heavy is None else heavy.solve(R)
        return _centred(null, V)  # a null vector costs up to half of the steps

    largest, heavy = 0.0, None
    if dual and alphas.min() == alphas.max():
        heavy = _HeavyColumns.of(columns, place, system, squares, diagonal, float(alphas[0]))
    if heavy is not None:
        image = products @ heavy.longest + alphas[0] * heavy.longest
        largest = float(np.linalg.norm(image) / np.linalg.norm(heavy.longest))
    found = corrected(
        solution, times, right, precondition, most,
        Enough.of(tol, right, None if dual else inverse), int(alphas.argmin()), largest,
    )  # fmt: skip
    if found is None:
        return None
    coef, residual, steps = found
    rcond = steps.rcond
    if heavy is not None:
        rcond = heavy.rcond(steps.least, diagonal + alphas[0], image)
    return SampleSolution(coef.reshape(d, -1), residual.reshape(n, -1), -1, rcond, "cg")


def _of_single_factor(system, P, squares, alphas, intercept):
    """Solve by a factor in float32, of rows P in float32, and 2 or more corrections: half of the
    time of one in float64. None where the condition needs too many.
    """
    (n, d), alpha = system.X.shape, float(alphas[0])
    wide, m = n <= d, min(n, d)
    mean = squares.sum() / m
    if not 1 / _SINGLE_RANGE < mean < _SINGLE_RANGE:
        return None
    # The condition that noise of this shape has (Marchenko, Pastur, 1967), or of these columns, and
    # that of some rows or columns, no worse than that of all, show most bad ones in little time.
    least = (1 - np.sqrt(m / max(n, d))) ** 2
    if wide:
        least = min(least, 1 - np.partition(squares, d - n)[d - n :].sum() / squares.sum())
    if not least + alpha / mean > _NOISE:
        return None
    single = system._replace(X=P)
    if wide:
        some = single._replace(X=P[::_PART], u=system.u[::_PART])
    else:  # side by side, as they lie in memory
        columns = slice(d // 2, d // 2 + d // _PART)
        some = single._replace(X=P[:, columns])
    if not _least(some.single_factor(alpha, intercept)) > _SOME_CLEAR:
        return None
    factor = single.single_factor(alpha, intercept)
    if not _least(factor) > _CLEAR:
        return None

    found = _refined(system, squares, [(slice(None), factor)], alphas, intercept, _FEW)
    if found is None:
        return None
    # The rank as in `_rank`, but later where that needs the products.
    full = _least(factor) > SURE * alpha / factor.size.min() ** 2
    rank = min(n - intercept, d) if full else -1
    return SampleSolution(*found, rank, factor.rcond, "dual" if wide else "cholesky")


def _least(factor):
    """Return about the least eigenvalue of a factor, in units of its diagonal; 0 without one."""
    return 0.0 if factor is None else factor.rcond * factor.norm


def _null(u, intercept):
    """Return u at length 1, with an intercept a null vector of F' but for rounding, or None."""
    return u / np.linalg.norm(u) if intercept else None


def _centred(null, V):
    """Subtract from V its part along the null vector, if there is one."""
    if null is not None:
        V -= _outer(null, null @ V)
    return V


def _solution(system, c, a, alphas, intercept):
    """Return coefficients, the residual of c, and what is left of the system that a solves: that of
    products of rows or, where these are fewer, of columns.
    """
    X, (n, d) = system.X, system.X.shape
    wide = n <= d
    if wide:
        a = _centred(_null(system.u, intercept), a.copy())
    if sp.issparse(X) or (wide and n > _BLOCK_ROWS):
        coef = system.transposed_times(a) if wide else a.copy()
        residual = c - system.times(coef)
        gradient = None if wide else system.transposed_times(residual)
    else:  # a block is read once: a pass takes 0.8 of the time (500 rows of 5000 columns)
        size = max(1, _IN_CACHE // min(n, d))
        coef = np.empty((d, *a.shape[1:])) if wide else a.copy()
        residual, gradient = c.copy(), None if wide else np.zeros_like(coef)
        for start in range(0, max(n, d), size):
            block = slice(start, start + size)
            if wide:
                part = X[:, block]
                coef[block] = part.T @ a
                residual -= part @ coef[block]
            else:
                residual[block] -= X[block] @ coef
                gradient += X[block].T @ residual[block]
    if wide:
        return coef, residual, residual - alphas * a
    return coef, residual, gradient - alphas * coef


class _HeavyColumns(NamedTuple):
    """The matrix ``D + H H'``, H the columns of a system that have most of its squares, and D the
    diagonal of the rest and the penalty: near to ``F F' + alpha I`` where squares of columns fall
    as a power, as those of words do. Conjugate gradients then take half the steps.

    `G` (h, n) is H over the roots of D, by columns, whose inverses are `inverse` (n,), and `U` the
    factor of ``I + G G'``. The direction `longest` (n,) is near the eigenvector of the largest
    eigenvalue.
    """

    G: np.ndarray
    inverse: np.ndarray
    U: np.ndarray
    longest: np.ndarray

    @classmethod
    def of(cls, columns, place, system, squares, diagonal, alpha) -> "_HeavyColumns | None":
        """Return the preconditioner, or None if few columns have no large share of the squares.

        `columns` (d, n) are those of the system in CSR, not less the mean, of which `diagonal` (n,)
        are the squares of rows; column j is at place[j].
        """
        n = columns.shape[1]
        heavy = heavy_columns(squares, n, columns.nnz)
        count = len(heavy)
        if not count:
            return None
        rows = columns[place[heavy]]
        filled = np.bincount(rows.indices, weights=np.square(rows.data), minlength=n)
        inverse = 1 / np.sqrt(np.maximum(diagonal - filled, _ALONE * diagonal) + alpha)
        single = (filled * np.square(inverse)).sum() < _MILD
        kind, ger, potrf = np.dtype(np.float64), blas.dger, lapack.dpotrf
        if single:
            kind, ger, potrf = np.dtype(np.float32), blas.sger, lapack.spotrf
        rows.data = (rows.data * inverse[rows.indices]).astype(kind, copy=False)
        G = scratch_array((count, n), kind)
        rows.toarray(out=G)
        left = inverse * system.u
        size = left.max()
        G = ger(-1.0, left / size, size * system.center[heavy], a=G.T, overwrite_a=1).T
        S = G @ G.T
        weights = S.diagonal()
        for _ in range(_POWERS):
            weights = S @ weights
            weights /= np.linalg.norm(weights)
        S.flat[:: count + 1] += 1.0
        U, info = potrf(S.T, lower=0, clean=0)
        return None if info else cls(G, inverse, U, (weights @ G) / inverse)

    def solve(self, R: np.ndarray) -> np.ndarray:
        """Return the solution for R (n,) or (n, k)."""
        inverse = self.inverse if R.ndim == 1 else self.inverse[:, None]
        T = inverse * R
        if self.G.dtype == np.float64:
            T -= self.G.T @ lapack.dpotrs(self.U, self.G @ T, lower=0)[0]
        else:
            largest = np.maximum(np.abs(T).max(axis=0), _TINY)  # in its units no number overflows
            shares = (T / largest).astype(np.float32)
            T -= largest * (self.G.T @ lapack.spotrs(self.U, self.G @ shares, lower=0)[0])
        T *= inverse
        return T

    def rcond(self, least, diagonal, image) -> float:
        """Return an estimate of the reciprocal condition of the matrix, scaled to a diagonal of 1.

        `least` is the least eigenvalue with this preconditioner, near whose vector the columns
        count little, and `image` the product of the matrix with `longest`.
        """
        scaled = self.longest @ (diagonal * self.longest)
        smaller = np.mean(1 / (np.square(self.inverse) * diagonal))
        return float(min(1.0, least * smaller * scaled / (self.longest @ image)))


def _outer(a, b):
    """Return a b' for b (k,), or a times the number b."""
    return a * b if np.ndim(b) == 0 else a[:, None] @ b[None]
