"""Symmetric matrices, dense or CSR: check, products and rescaling that read one triangle."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster import symmetric_matrix as _ext
from mlcore.checks import as_samples
from mlcore.checks.arrays import require_finite
from mlcore.checks.symmetry import rounding_of_values
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces

_SHORTENED = 256  # rows: with fewer, a copy in 16 bits saves no time
_PAD = 16  # values after a row of a tile: a stride of a power of two would use few cache sets
_ROUNDING = 256  # units: sums of some thousands of terms, which may cancel


def as_symmetric(
    K: Any,
    owner: str,
    *,
    negative: bool = False,
    additive: bool = False,
    sparse: bool = True,
    overwrite: bool = False,
) -> "DenseSymmetric | SparseSymmetric":
    """Check a square symmetric matrix of finite values; one checked before is returned as it is.

    Mirrored entries may differ by rounding; the lower ones are used. `negative` allows entries
    below 0; `additive` says that entries are only added up, which allows more rounding.
    """
    if isinstance(K, DenseSymmetric) or (sparse and isinstance(K, SparseSymmetric)):
        return K
    K = K.K if isinstance(K, SparseSymmetric) else K
    checked = as_samples(K, owner=owner, name="K", accept_sparse=sparse, check_finite=False)
    if checked.shape[0] != checked.shape[1]:
        raise ValueError(f"K has shape {checked.shape}; {owner} needs a square matrix.")
    if sp.issparse(checked):
        return SparseSymmetric(checked, owner, negative, additive)
    if overwrite and checked is K and not K.flags.writeable:
        raise ValueError(f"K is read-only; {owner} with overwrite=True needs a writeable array.")
    return DenseSymmetric(checked, owner, negative, additive, in_place=overwrite)


def _rounding(dtype, largest, additive):
    """Return the absolute difference allowed between mirrored entries."""
    tiny, eps = float(np.finfo(dtype).tiny), float(np.finfo(dtype).eps)
    return max(tiny, _ROUNDING * eps * largest) if additive else tiny


def _refuse(owner, i, j, value, mirrored, negative):
    if min(value, mirrored) < 0 and not negative:
        if value > mirrored:
            i, j, value = j, i, mirrored
        raise ValueError(
            f"Negative values in data passed as K: K[{i}, {j}] is {value!s}; {owner} takes "
            "affinities of at least 0."
        )
    raise ValueError(
        f"K is not symmetric: K[{i}, {j}] is {value!s} and K[{j}, {i}] is {mirrored!s}; {owner} "
        "needs a symmetric matrix, such as (K + K.T) / 2."
    )


class DenseSymmetric:
    """Dense symmetric matrix, checked by `as_symmetric`; `sums` (n,) are its row sums."""

    n: int
    dtype: np.dtype
    sums: np.ndarray

    def __init__(
        self, K: np.ndarray, owner: str, negative: bool, additive: bool, in_place: bool
    ) -> None:
        self.K, self.n, self.dtype = K, len(K), K.dtype
        self._out = K if in_place else None
        self._in_place, self._owner = in_place, owner
        self._negative, self._additive = negative, additive
        self._panels = -(-self.n // _ext.PANEL_ROWS)
        self._rows = np.zeros(self.n)
        self._columns = np.zeros((self._panels, self.n))
        self._squares = np.empty(self._panels)
        self._check()

    def _check(self):
        extremes = np.zeros((self._panels, 2))
        close = rounding_of_values(self.dtype)
        scratch = self._scratch(_ext.PANEL_ROWS)
        for first, last in self._spans(_ext.PANEL_ROWS):
            _ext.compare(
                self.K, close, self._rows, self._columns, extremes, scratch, first, last,
                self._threads(),
            )  # fmt: skip
        self.sums = self._gathered()
        excess, least = extremes[:, 0].max(), extremes[:, 1].min()
        if not np.isfinite(self.sums).all() or excess == np.inf:
            if not np.isfinite(self.K).all():
                require_finite(self.K, "K", self._owner)
            raise ValueError(f"K is too large: the sum of a row overflows, in {self._owner}.")
        # Only a matrix whose entries differ in more than half of their digits is read once more.
        if excess > np.finfo(self.dtype).tiny or (least < 0 and not self._negative):
            self._refuse_first(close)

    def _refuse_first(self, close):
        largest = max(float(self.K.max()), -float(self.K.min()))
        slack = _rounding(self.dtype, largest, self._additive)
        step = max(1, 1_000_000 // self.n)
        for start in range(0, self.n, step):
            block = self.K[start : start + step].astype(np.float64)
            mirrored = self.K[:, start : start + step].T.astype(np.float64)
            excess = np.abs(block - mirrored) - close * np.maximum(np.abs(block), np.abs(mirrored))
            wrong = excess > slack
            if not self._negative:
                wrong |= block < 0
            if wrong.any():
                i, j = map(int, np.unravel_index(int(np.argmax(wrong)), wrong.shape))
                _refuse(self._owner, start + i, j, block[i, j], mirrored[i, j], self._negative)

    def _spans(self, side: int) -> Iterator[tuple[int, int]]:
        """Yield first and last panels or bands, of `side` rows each, for one compiled call."""
        return pieces(-(-self.n // side), self.n * side / 2)

    def _threads(self):
        return effective_threads(self.n * self.n)

    def _scratch(self, rows):
        return scratch_array((self._threads(), rows, _ext.TILE_SIDE + _PAD), self.dtype)

    def _gathered(self):
        sums = np.empty(self.n)
        _ext.gather(self._rows, self._columns, sums)
        return sums

    def _pass(self, mode, x, u):
        for first, last in self._spans(_ext.PANEL_ROWS):
            _ext.symmetric(
                mode, self.K, x, u, self._rows, self._columns, self._squares, first, last,
                self._threads(),
            )  # fmt: skip
        return self._gathered()

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, float64."""
        return self.K.diagonal().astype(np.float64)

    def counts(self) -> np.ndarray:
        """Return the number of entries of each row that are not 0."""
        return np.count_nonzero(self.K, axis=1)

    def pattern(self) -> sp.csr_array:
        """Return the places of entries that are not 0."""
        require_memory(
            self.n, self.n, 17, what="the test for total support of a dense K with zeros",
            instead="pass K as a sparse array, or with a positive diagonal",
        )  # fmt: skip
        return sp.csr_array(self.K != 0)

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return K x, float64."""
        return self._pass(_ext.PRODUCT, x, x)

    def positive_part(self, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the row sums of T = max(0, K_ij + u_i + u_j), and sum T² / 4 - sum u."""
        sums = self._pass(_ext.POSITIVE, u, u)
        return sums, float(0.25 * self._squares.sum() - u.sum())

    def active_product(self, u: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the product with q of the matrix that is 1 where K_ij + u_i + u_j > 0, else 0."""
        return self._pass(_ext.ACTIVE, q, u)

    def shortened(self, x: np.ndarray) -> "ShortCopy | None":
        """Return a copy of x_i K_ij x_j in 16 bits, in the memory of the result.

        None if the result takes the place of K, or if the copy would save no time.
        """
        if self._in_place or self.n < _SHORTENED:
            return None
        place = self._result().reshape(-1).view(np.uint16)[: self.n**2]
        short = place.reshape(self.n, self.n)
        for first, last in self._spans(_ext.PANEL_ROWS):
            _ext.shorten(self.K, x, short, first, last, self._threads())
        return ShortCopy(short, self._spans, self._threads())

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """Return the matrix x_i K_ij x_j, exactly symmetric."""
        return self._rescaled(x, shift=False)

    def projected(self, u: np.ndarray) -> np.ndarray:
        """Return the matrix max(0, K_ij + u_i + u_j), exactly symmetric."""
        return self._rescaled(u, shift=True)

    def _rescaled(self, x, shift):
        out, scratch = self._result(), self._scratch(2 * _ext.TILE_SIDE)
        for first, last in self._spans(_ext.TILE_SIDE):
            _ext.rescale(shift, self.K, x, out, scratch, first, last, self._threads())
        return out

    def shifted(self, diagonal: np.ndarray) -> np.ndarray:
        """Return K with `diagonal` added to its diagonal, exactly symmetric."""
        own = self.diagonal() + diagonal
        out = self._rescaled(np.ones(self.n), shift=False)
        out.flat[:: self.n + 1] = own
        return out

    def _result(self):
        if self._out is None:
            require_memory(
                self.n, self.n, self.K.itemsize, what="the normalised affinity",
                instead="normalise K in place, overwrite=True, or pass a sparse K",
            )  # fmt: skip
            self._out = scratch_array(self.K.shape, self.dtype)
        return self._out


class ShortCopy:
    """Non-negative symmetric matrix in 9 significant bits, for rough products."""

    def __init__(self, K: Any, spans: Any, n_threads: Any) -> None:
        n = len(K)
        panels = -(-n // _ext.PANEL_ROWS)
        self._K, self._spans, self._n_threads = K, spans, n_threads
        self._rows, self._squares = np.empty(n, np.float32), np.empty(panels, np.float32)
        self._columns = np.zeros((panels, n), np.float32)

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return K x, float64 with about seven correct digits."""
        size = np.abs(x).max()  # scaled by it, sums stay in the range of single precision
        short = (x / size).astype(np.float32)
        for first, last in self._spans(_ext.PANEL_ROWS):
            _ext.symmetric_short(
                self._K, short, self._rows, self._columns, self._squares, first, last,
                self._n_threads,
            )  # fmt: skip
        sums = np.empty(len(x))
        _ext.gather(self._rows, self._columns, sums)
        return size * sums


class SparseSymmetric:
    """Symmetric CSR matrix, checked, with the methods of `DenseSymmetric` that apply."""

    sums: np.ndarray
    n: int
    dtype: np.dtype
    K: Any

    def __init__(self, K: sp.csr_array, owner: str, negative: bool, additive: bool) -> None:
        self.n, self.dtype = K.shape[0], K.dtype
        if not np.isfinite(K.data).all():
            as_samples(K, owner=owner, name="K", accept_sparse=True)  # names the entry
        if not negative and K.nnz and K.data.min() < 0:
            at = int(np.argmin(K.data))
            i = int(np.searchsorted(K.indptr, at, side="right")) - 1
            _refuse(owner, i, int(K.indices[at]), K.data[at], np.inf, negative)
        transposed = K.T.tocsr()
        difference = K - transposed
        if difference.nnz and np.abs(difference.data).max() > 0:
            size = abs(K).maximum(abs(transposed))
            excess = (abs(difference) - rounding_of_values(K.dtype) * size).tocoo()
            slack = _rounding(K.dtype, float(size.data.max()), additive)
            if excess.nnz and excess.data.max() > slack:
                at = int(np.argmax(excess.data))
                i, j = int(excess.row[at]), int(excess.col[at])
                _refuse(owner, i, j, K[i, j], K[j, i], negative)
            K = (sp.tril(K) + sp.tril(K, -1).T).tocsr()
        self.K = sp.csr_array(K)
        self._double = self.K.astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            self.sums = np.asarray(self._double.sum(axis=1))
        if not np.isfinite(self.sums).all():
            raise ValueError(f"K is too large: the sum of a row overflows, in {owner}.")

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, float64."""
        return self._double.diagonal()

    def counts(self) -> np.ndarray:
        """Return the number of entries of each row that are not 0."""
        return np.diff(self.pattern().indptr)

    def pattern(self) -> sp.csr_array:
        """Return the places of entries that are not 0."""
        return (self.K != 0).tocsr()

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return K x, float64."""
        return self._double @ x

    def shortened(self, x: np.ndarray) -> None:
        """Return None: a copy in 16 bits would need as many indices."""

    def scaled(self, x: np.ndarray) -> sp.csr_array:
        """Return the matrix x_i K_ij x_j, exactly symmetric, with the sparsity of K."""
        rows = np.repeat(np.arange(self.n), np.diff(self.K.indptr))
        data = self._double.data * (x[rows] * x[self.K.indices])
        places = self.K.indices.copy(), self.K.indptr.copy()
        return sp.csr_array((data.astype(self.dtype, copy=False), *places), shape=self.K.shape)

    def shifted(self, diagonal: np.ndarray) -> sp.csr_array:
        """Return K with `diagonal` added to its diagonal."""
        whole = self._double + sp.diags_array(diagonal, format="csr")
        return whole.tocsr().astype(self.dtype, copy=False)
