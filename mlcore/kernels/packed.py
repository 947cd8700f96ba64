"""Samples packed for computing kernel values between them in blocks that fit the cache.

The only module that knows the layouts of the loops: `Panels`, `Products`, `Inverted`, and the lists
of non-zeros that two of them hold.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mlcore._ext.kernels import packed as _ext
from mlcore.checks.sparse import dense_if_full
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas

_FEW_VALUES = 1 << 14  # of rows that one compiled call packs before NumPy calls would start
_ONES = np.ones(_FEW_VALUES)
_ONES.flags.writeable = False
_FEW = 8  # features: up to this, squared differences cost no more than exp
_LOG2_E = 1.4426950408889634
_FAR = 1e14  # distance in units of 1 / gamma from which on the kernel value is 0
_ENTRIES = 2**20  # of a block of dense samples
_FRESH_TERMS = 128  # products in the time of a write to memory not touched before


class Columns(NamedTuple):
    """Samples, as their layout keeps them, as columns of a block of kernel values.

    `terms` (count or more,) are those of each sample beside inner products.
    """

    samples: object
    terms: np.ndarray
    count: int


class SampleLists(NamedTuple):
    """Non-zeros of each sample, as in CSR: `indptr` (n + 1,) int64, `indices` int32 and `values`.

    The last two have nnz or more entries.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray | sparse.csr_array, dtype: np.dtype, *, zeros: bool) -> Self:
        """Return the lists of the rows of X; `zeros` keeps the zeros of dense rows.

        Lists that are not full have a spare value, so that even empty ones have an address.
        """
        if sparse.issparse(X):
            indices, values = (X.indices, X.data) if X.nnz else (np.zeros(1), np.zeros(1))
            return cls(
                X.indptr.astype(np.int64),
                indices.astype(np.int32, copy=False),
                values.astype(dtype, copy=False),
            )
        X, threads = np.ascontiguousarray(X), effective_threads(X.size)
        n, d = X.shape
        indptr = np.arange(n + 1, dtype=np.int64) * d
        if not zeros:
            _ext.count_nonzeros(X, indptr, threads)
            np.cumsum(indptr, out=indptr)
        if indptr[-1] == n * d > 0:
            indices = np.empty((n, d), dtype=np.int32)
            indices[:] = np.arange(d)
            return cls(indptr, indices.ravel(), X.astype(dtype, copy=False).ravel())
        indices = np.zeros(indptr[-1] + 1, dtype=np.int32)
        values = np.zeros(indptr[-1] + 1, dtype=dtype)
        _ext.fill_lists(X, indptr, indices, values, threads)
        return cls(indptr, indices, values)

    def combine(self, rows: np.ndarray, weights: np.ndarray, w: np.ndarray) -> None:
        """w += sum_r weights[r] x of rows[r], float64 (d,)."""
        _ext.combine(*self, rows, weights, w)

    def project(self, w: np.ndarray, out: np.ndarray) -> None:
        """out[i] = x_i.w, float64 (n,)."""
        _ext.project(*self, w, out, effective_threads(self.indptr[-1]))


def shifted_lists(
    X: np.ndarray,
    shift: np.ndarray | None,
    dtype: np.dtype,
    *,
    zeros: bool,
    unit: float,
    absolute: bool,
) -> tuple[SampleLists, np.ndarray]:
    """Return the lists of X - shift, and for each row `unit` times its sum of squares, (n,).

    `absolute` asks for the sums of absolute values instead. One compiled call, on one thread.
    """
    terms = np.empty(len(X), dtype)
    lists = SampleLists(
        np.empty(len(X) + 1, np.int64), np.empty(X.size + 1, np.int32), np.empty(X.size + 1, dtype)
    )
    _ext.shifted_lists(X, shift, zeros, unit, absolute, *lists, terms)
    return lists, terms


def row_sums(X: np.ndarray | sparse.csr_array, of: str) -> np.ndarray:
    """Return sums over the features of "squares" or "absolute" values, float64 (n,)."""
    if sparse.issparse(X):
        values = X.data.astype(np.float64)
        values = np.abs(values) if of == "absolute" else values * values
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows, weights=values, minlength=X.shape[0])
    if of == "squares":
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.abs(X).sum(axis=1, dtype=np.float64)


# The layouts have the same methods, described in the first. `rows`, `chosen` and `dest` are int64
# (count,); `spec` is the kernel as the loops take it: code, gamma, coef0, degree.


class Products:
    """Dense rows, multiplied by BLAS tile by tile: many features, few zeros.

    `terms` (n,) are those of each sample beside inner products; a value costs `terms_per_value`.
    """

    terms: np.ndarray
    terms_per_value: float
    nbytes: int

    halves = True  # `symmetric` computes half of the values

    def __init__(self, X: np.ndarray, terms: np.ndarray) -> None:
        self.X, self.terms = X, terms
        self.terms_per_value, self.nbytes = float(X.shape[1]), X.nbytes

    @classmethod
    def of(cls, X: Any, terms: Any, dtype: Any, zeros: bool) -> "Products":
        """Return the samples in this layout."""
        if sparse.issparse(X):
            X = X.toarray()
        return cls(np.ascontiguousarray(X, dtype=dtype), terms)

    def columns(self, chosen: np.ndarray | None = None) -> Columns:
        """Return the chosen samples as columns, all by default."""
        if chosen is None:
            return Columns(self.X, self.terms, len(self.X))
        return Columns(self._samples(chosen), self.terms[chosen], len(chosen))

    def free_rows(self) -> None:
        """Free what only rows need: nothing."""

    def block(
        self,
        spec: tuple[Any, ...],
        rows: np.ndarray,
        columns: Columns,
        out: np.ndarray,
        dest: np.ndarray,
    ) -> None:
        """out[dest[r], c] = k(rows[r], column c)."""
        threads, step = _shares(len(rows), columns.count, self.terms_per_value)
        tile = _ext.TILE_ROWS
        step = max(tile, step // tile * tile)
        scratch = self._scratch(threads)
        for start in range(0, len(rows), step):
            now, to = rows[start : start + step], dest[start : start + step]
            with single_threaded_blas():
                _ext.product_block(
                    *spec, self._samples(now), self.terms[now], columns.samples, columns.terms,
                    out, to, False, scratch, 0, -(-len(now) // tile), threads,
                )  # fmt: skip

    def symmetric(
        self, spec: tuple[Any, ...], chosen: np.ndarray, columns: Columns, out: np.ndarray
    ) -> None:
        """out[:m, :m] = K between the m chosen samples, which are the columns."""
        m = columns.count
        threads, step = _shares(m, m, self.terms_per_value)
        tiles, step = -(-m // _ext.TILE_ROWS), max(1, step // _ext.TILE_ROWS)
        A, terms, _ = columns
        order, scratch = np.arange(m), self._scratch(threads)
        with single_threaded_blas():
            for first in range(0, tiles, step):
                _ext.product_block(
                    *spec, A, terms, A, terms, out, order, True, scratch, first,
                    min(tiles, first + step), threads,
                )  # fmt: skip

    def combine(self, rows: Any, weights: Any, w: Any) -> None:
        """w += sum_r weights[r] x of rows[r]: the weight vector of a linear kernel."""
        for start in range(0, len(rows), 256):
            batch = slice(start, start + 256)
            w += weights[batch] @ self.X[rows[batch]].astype(np.float64, copy=False)

    def project(self, w: Any, out: Any) -> None:
        """out[i] = x_i.w in float64."""
        with single_threaded_blas():
            for start in range(0, len(self.X), 256):
                batch = slice(start, start + 256)
                out[batch] = self.X[batch].astype(np.float64, copy=False) @ w

    def _samples(self, chosen):
        out = scratch_array((len(chosen), self.X.shape[1]), self.X.dtype)
        return np.take(self.X, chosen, axis=0, out=out, mode="clip")  # "raise" copies first

    def _scratch(self, threads):
        return scratch_array((threads, 2 * _ext.TILE_ROWS, _ext.TILE_COLUMNS), self.X.dtype)


class _Listed:
    """Rows as lists of their non-zeros, of d features; columns that are packed once and kept.

    `terms` (n,) are those of each sample beside inner products.
    """

    def __init__(self, lists: SampleLists, terms: np.ndarray, d: int) -> None:
        self.lists, self.terms, self.d = lists, terms, d
        self.terms_per_value = float(lists.indptr[-1]) / max(1, len(terms))
        self._all = None

    @classmethod
    def of(cls, X, terms, dtype, zeros):
        """Return the samples in this layout; `zeros` keeps the zeros of dense rows."""
        return cls(SampleLists.of(X, dtype, zeros=zeros), terms, X.shape[1])

    def columns(self, chosen: np.ndarray | None = None) -> Columns:
        """Return the chosen samples as columns; all, kept for the next call, by default."""
        if chosen is not None:
            return self._columns(chosen)
        if self._all is None:
            self._all = self._columns(None)
        return self._all

    def free_rows(self) -> None:
        """Free what only rows need, once all columns are packed."""
        self.lists = None

    def combine(self, rows, weights, w):
        self.lists.combine(rows, weights, w)

    def project(self, w, out):
        self.lists.project(w, out)


class Panels(_Listed):
    """Rows as lists of their non-zeros against panels of 64 or 32 columns.

    For few features, dense samples with many zeros, and moderately sparse ones.
    """

    halves = True

    @property
    def nbytes(self) -> int:
        columns = len(self.terms) * self.d * self.lists.values.itemsize
        return columns + sum(array.nbytes for array in self.lists)

    def _columns(self, chosen):
        chosen = np.arange(len(self.terms)) if chosen is None else chosen
        dtype = self.lists.values.dtype
        width, m = _ext.PANEL_WIDTH[dtype.itemsize], len(chosen)
        count = -(-m // width)
        panels = scratch_array((count, self.d, width), dtype)
        terms = scratch_array((count * width,), dtype)
        terms[:m], terms[m:] = self.terms[chosen], 0
        _ext.pack_panels(*self.lists, chosen, panels, effective_threads(panels.size))
        return Columns(panels, terms, m)

    def block(
        self,
        spec: tuple[Any, ...],
        rows: np.ndarray,
        columns: Columns,
        out: np.ndarray,
        dest: np.ndarray,
    ) -> None:
        panels, terms, m = columns
        threads, step = _shares(len(rows), m, self.terms_per_value)
        # Many features make a large panel, which more rows must pay for.
        tile_rows = min(128 if self.d <= 128 else 512, len(rows))
        side = _ext.BAND * panels.shape[2]
        scratch = scratch_array((threads, tile_rows, side + 16), panels.dtype)
        for start in range(0, len(rows), step):
            _ext.panel_block(
                *spec, rows[start : start + step], *self.lists, self.terms, panels, terms, m,
                out, dest[start : start + step], scratch, threads,
            )  # fmt: skip

    def symmetric(
        self, spec: tuple[Any, ...], chosen: np.ndarray, columns: Columns, out: np.ndarray
    ) -> None:
        panels, terms, m = columns
        threads, step = _shares(m, m, self.terms_per_value)
        side = _ext.BAND * panels.shape[2]
        scratch = scratch_array((threads, 2 * side, side + 16), panels.dtype)
        bands, step = -(-m // side), max(1, step // side)
        for first in range(0, bands, step):
            _ext.panel_symmetric(
                *spec, chosen, *self.lists, self.terms, panels, terms, out, scratch, first,
                min(bands, first + step), threads,
            )  # fmt: skip


class Inverted(_Listed):
    """Rows as lists of their non-zeros against a list of samples for each feature.

    For very sparse samples, of which those that are columns are CSR.
    """

    halves = False
    _csr: sparse.csr_array | None = None

    @classmethod
    def of(cls, X: Any, terms: Any, dtype: Any, zeros: Any) -> Any:
        inverted = super().of(X, terms, dtype, zeros=False)
        inverted._csr = X if sparse.issparse(X) else None
        return inverted

    @property
    def nbytes(self) -> int:
        return 2 * sum(array.nbytes for array in self.lists)

    def free_rows(self) -> None:
        self.lists = self._csr = None

    def _columns(self, chosen):
        rows = self._csr if chosen is None else self._csr[chosen]
        terms = self.terms if chosen is None else self.terms[chosen]
        by_feature = rows.tocsc()
        lists = by_feature.indptr, by_feature.indices, by_feature.data.astype(terms.dtype)
        return Columns(lists, terms, len(terms))

    def block(self, spec: Any, rows: Any, columns: Any, out: Any, dest: Any) -> None:
        threads, step = _shares(len(rows), columns.count, self.terms_per_value)
        for start in range(0, len(rows), step):
            _ext.inverted_block(
                *spec, rows[start : start + step], *self.lists, self.terms, *columns.samples,
                columns.terms, out, dest[start : start + step], columns.count, threads,
            )  # fmt: skip

    def symmetric(self, spec: Any, chosen: Any, columns: Any, out: Any) -> None:
        m = columns.count
        self.block(spec, chosen, columns, out, np.arange(m))
        for i in range(m):  # sums in another order differ in their last bit
            out[i, i + 1 : m] = out[i + 1 : m, i]


def rows_per_call(n_rows: int, n_columns: int, terms_per_value: float) -> int:
    """Return the number of rows of a block that one compiled call takes."""
    cost = max(1, n_columns) * (max(4.0, terms_per_value) + _FRESH_TERMS)
    return min(n_rows, items_per_call(cost))


def _shares(n_rows, n_columns, terms_per_value):
    """Return the number of threads of a block, and of rows of one call."""
    threads = effective_threads(n_rows * n_columns * max(4.0, terms_per_value))
    return threads, rows_per_call(n_rows, n_columns, terms_per_value)


class _Plan(NamedTuple):
    """Layout and parameters that the rows and the columns of one matrix share.

    `differences`: Gaussian, of few features. `scale` stands for gamma where float32 is too narrow.
    """

    layout: type[Panels] | type[Products] | type[Inverted]
    differences: bool
    shift: np.ndarray | None
    scale: np.float64 | None

    @classmethod
    def of(cls, X: np.ndarray | sparse.csr_array, kernel) -> Self:
        """Return the plan for the fastest and most accurate inner products of X."""
        n, d = X.shape
        if sparse.issparse(X):
            density = X.nnz / max(1, n * d)
            layout = Panels if density >= 0.06 and d <= 1 << 16 else Inverted
            return cls(layout, False, None, _scale(X, kernel))
        probe = X[:: max(1, n // 500)]
        density = np.count_nonzero(probe) / max(1, probe.size)
        few = d <= 64 or density <= 0.35 or kernel.differences
        differences = kernel.exponential and kernel.row_term == "squares" and d <= _FEW
        shift = None
        if kernel.shift_invariant and density > 0.35:
            # Differences do not change, but the squared norms that cancel in them get smaller.
            shift = X.mean(axis=0, dtype=np.float64)
        return cls(Panels if few else Products, differences, shift, _scale(X, kernel))


class Packed:
    """Rows of X, dense or CSR, prepared for one kernel, as rows and as columns of its matrix.

    `like` has the columns that these rows will meet; `diagonal` (n,) float64 is k(x, x).
    """

    dtype: np.dtype
    n: Any
    d: Any
    kernel: Any
    diagonal: np.ndarray
    norm: float

    def __init__(self, X: Any, kernel: Any, *, dtype: Any, like: "Packed | None" = None) -> None:
        self.dtype = dtype = np.dtype(dtype)
        self.n, self.d = X.shape
        if sparse.issparse(X):
            X = dense_if_full(X)
        plan = self._plan = _Plan.of(X, kernel) if like is None else like._plan
        self.kernel = kernel = kernel if plan.scale is None else kernel.with_gamma(1.0)
        # The loops compute powers of 2 where the kernel has those of e.
        gamma = kernel.gamma * _LOG2_E if kernel.exponential else kernel.gamma
        name = f"{kernel.name} of differences" if plan.differences else kernel.name
        self._gamma, self._spec = gamma, (_ext.KINDS[name], gamma, kernel.coef0, kernel.degree)
        if (like is not None or kernel.exponential) and self._lay_out_few(X):
            return
        if plan.differences and sparse.issparse(X):
            X = X.toarray()
        with np.errstate(over="ignore"):  # to infinity: what is infinitely far has the value 0
            X = _transformed(X, kernel, plan.shift, plan.scale, dtype)
            squared_norms = None if kernel.row_term == "absolute" else row_sums(X, "squares")
            self.diagonal = (
                np.ones(self.n) if kernel.exponential else kernel.diagonal_from(squared_norms)
            )
            if kernel.row_term == "squares":
                terms = gamma * squared_norms
            elif kernel.row_term == "absolute":
                terms = row_sums(X, "absolute")
            else:
                terms = np.zeros(self.n)
            terms = terms.astype(dtype)
        if kernel.overflows:
            self.norm = float(np.sqrt(squared_norms.max(initial=0.0)))
            kernel.require_range(self.norm * (like or self).norm, dtype)
        self.layout = plan.layout.of(X, terms, dtype, plan.differences)

    def _lay_out_few(self, X):
        """Pack few dense rows, of unit or unused diagonal, in one call; False if it cannot."""
        kernel, plan = self.kernel, self._plan
        if sparse.issparse(X) or X.size > _FEW_VALUES or plan.scale is not None:
            return False
        if plan.layout is Products or kernel.unit_norm or kernel.overflows:
            return False
        absolute = kernel.row_term == "absolute"
        unit = self._gamma if kernel.row_term == "squares" else float(absolute)
        self.diagonal = _ONES[: self.n]
        lists, terms = shifted_lists(
            X, plan.shift, self.dtype, zeros=plan.differences, unit=unit, absolute=absolute
        )
        self.layout = plan.layout(lists, terms, self.d)
        return True

    @property
    def condition(self) -> float:
        """Error of the largest value in units of one rounding, of 1."""
        kernel, terms = self.kernel, self.layout.terms
        if kernel.row_term == "squares" and not self._plan.differences:
            return 1.0 + float(terms.max(initial=0.0))
        if kernel.row_term == "absolute":  # the exponent is a difference of sums
            return 1.0 + abs(self._gamma) * float(terms.max(initial=0.0))
        if kernel.overflows:
            return kernel.condition_of(self.norm**2)
        return kernel.condition_of(float(np.abs(self.diagonal).max(initial=0.0)))

    def columns(self, chosen: np.ndarray | None = None) -> Columns:
        """Return the chosen samples as columns; all of them, kept for the next call, by default."""
        if chosen is not None:
            chosen = np.ascontiguousarray(chosen, dtype=np.int64)
        return self.layout.columns(chosen)

    def only_columns(self) -> "Packed":
        """Pack all columns, free what only rows need, and return self."""
        self.layout.columns()
        self.layout.free_rows()
        return self

    def block(self, rows: np.ndarray, columns: Columns, out: np.ndarray, dest: np.ndarray) -> None:
        """out[dest[r], c] = k(rows[r], column c); dest are rows of `out`."""
        self.layout.block(self._spec, rows, columns, out, dest)

    def symmetric(self, out: np.ndarray, chosen: np.ndarray | None = None) -> None:
        """out[:m, :m] = K between the m chosen samples, all by default; the diagonal is exact."""
        columns = self.columns(chosen)
        if chosen is None:
            chosen = np.arange(self.n)
        self.layout.symmetric(self._spec, chosen, columns, out)
        order = np.arange(len(chosen))
        out[order, order] = self.diagonal[chosen]


def _scale(X, kernel):
    """Return the factor of X that stands for gamma; None unless float32 cannot hold the terms."""
    if kernel.gamma_power is None:
        return None
    values = X.data if sparse.issparse(X) else X
    peak = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if 1e-12 < peak < 1e12 and kernel.gamma * max(1.0, peak) ** 2 < 1e12:
        return None
    scale = np.float64(kernel.gamma) ** kernel.gamma_power
    return scale if kernel.overflows or peak == 0 else min(scale, _FAR / peak)


def _transformed(X, kernel, shift, scale, dtype):
    if kernel.unit_norm:
        norms = np.sqrt(row_sums(X, "squares"))
        tiny = norms < 1e-140  # their squares lose digits
        if tiny.any():
            X = _times(X, np.where(tiny, 2.0**600, 1.0))
            norms = np.sqrt(row_sums(X, "squares"))
        return _times(X, 1.0 / np.where(norms > 0, norms, 1.0))
    if shift is not None:
        X = X.toarray() if sparse.issparse(X) else X
        # What is scaled next may be out of float32's range before.
        to = scratch_array(X.shape, dtype if scale is None else np.dtype(np.float64))
        n_rows = max(1, _ENTRIES // X.shape[1])
        for start in range(0, X.shape[0], n_rows):  # Ctrl-C is heard between the blocks
            rows = slice(start, start + n_rows)
            np.subtract(X[rows], shift, out=to[rows], casting="same_kind")
        X = to
    if scale is not None:
        X = _times(X, np.full(X.shape[0], scale))
        if kernel.exponential:
            values = X.data if sparse.issparse(X) else X
            np.clip(values, -10 * _FAR, 10 * _FAR, out=values)
    return X


def _times(X, factors):
    """Return a float64 copy of X with row i times factors[i]."""
    if sparse.issparse(X):
        # Indices stay in order, as lists of non-zeros need.
        data = X.data * np.repeat(factors, np.diff(X.indptr))
        return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return X * factors[:, None]
