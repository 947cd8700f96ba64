"""Samples packed for computing kernel values between them in blocks that fit the cache.

The only module that knows the layouts of `mlcore._ext.kernels.packed`: panels, products and
inverted lists.
"""

import numpy as np
from scipy import sparse

from mlcore._ext.kernels import packed as _ext
from mlcore.checks.sparse import dense_if_full
from mlcore.kernels.sample_lists import SampleLists, row_sums, shifted_lists
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas

_FEW_VALUES = 1 << 14  # of rows that one compiled call packs before NumPy calls would start
_ONES = np.ones(_FEW_VALUES)
_ONES.flags.writeable = False
_FEW = 8  # features: up to this, squared differences cost no more than exp
_LOG2_E = 1.4426950408889634
_FAR = 1e14  # distance in units of 1 / gamma from which on the kernel value is 0
_ENTRIES = 2**20  # of a block of dense samples
_TILE_ROWS, _TILE_COLUMNS, _BAND = 256, 256, 4
_FRESH_TERMS = 128  # products in the time of a write to memory not touched before


class Packed:
    """Rows of X prepared for one kernel, as rows and as columns of its matrix.

    Parameters
    ----------
    X : ndarray (n, d) or CSR
    kernel : VectorKernel
    dtype : float32 or float64, of the values and of the arithmetic
    like : Packed, optional
        The columns that these rows will meet: same layout, same shift and scale.
    """

    def __init__(self, X, kernel, *, dtype, like=None):
        self.dtype = np.dtype(dtype)
        self.n, self.d = X.shape
        X = dense_if_full(X)
        if like is None:
            self.layout, self.shift, self.scale = _layout(X, kernel)
        else:
            self.layout, self.shift, self.scale = like.layout, like.shift, like.scale
        self.kernel = kernel = kernel if self.scale is None else kernel.with_gamma(1.0)
        self._dense = self._lists = self._sparse = self._all = None
        if (like is not None or kernel.exponential) and self._lay_out_few(X):
            return
        if self.layout == "differences" and sparse.issparse(X):
            X = X.toarray()
        with np.errstate(over="ignore"):  # to infinity: what is infinitely far has the value 0
            X = _transformed(X, kernel, self.shift, self.scale, self.dtype)
            squared_norms = None if kernel.row_term == "absolute" else row_sums(X, "squares")
            exponential = kernel.exponential
            self.diagonal = np.ones(self.n) if exponential else kernel.diagonal_from(squared_norms)
            if kernel.row_term == "squares":
                terms = self._gamma * squared_norms
            elif kernel.row_term == "absolute":
                terms = row_sums(X, "absolute")
            else:
                terms = np.zeros(self.n)
            self.terms = terms.astype(self.dtype)
        if kernel.overflows:
            self.norm = float(np.sqrt(squared_norms.max(initial=0.0)))
            kernel.require_range(self.norm * (like or self).norm, self.dtype)
        if self.layout == "products":
            if sparse.issparse(X):
                X = X.toarray()
            self._dense = np.ascontiguousarray(X, dtype=self.dtype)
        elif sparse.issparse(X):
            self._sparse, self._lists = X, SampleLists.of(X, self.dtype, zeros=False)
        else:
            self._lists = SampleLists.of(X, self.dtype, zeros=self.layout == "differences")
            if self.layout == "inverted":
                indptr, indices, values = self._lists
                self._sparse = sparse.csr_array(
                    (values[:-1], indices[:-1], indptr), shape=(self.n, self.d)
                )

    def _lay_out_few(self, X):
        """Pack few dense rows, of unit or unused diagonal, in one call; False if it cannot."""
        if sparse.issparse(X) or X.size > _FEW_VALUES or self.scale is not None:
            return False
        kernel = self.kernel
        if self.layout == "products" or kernel.unit_norm or kernel.overflows:
            return False
        absolute = kernel.row_term == "absolute"
        unit = self._gamma if kernel.row_term == "squares" else float(absolute)
        self.diagonal = _ONES[: self.n]
        self._lists, self.terms = shifted_lists(
            X, self.shift, self.dtype, zeros=self.layout == "differences", unit=unit,
            absolute=absolute,
        )  # fmt: skip
        return True

    @property
    def condition(self):
        """Error of the largest value in units of one rounding, of 1."""
        if self.kernel.row_term == "squares" and self.layout != "differences":
            return 1.0 + float(self.terms.max(initial=0.0))
        if self.kernel.row_term == "absolute":  # the exponent is a difference of sums
            return 1.0 + abs(self._gamma) * float(self.terms.max(initial=0.0))
        if self.kernel.overflows:
            return self.kernel.condition_of(self.norm**2)
        return self.kernel.condition_of(float(np.abs(self.diagonal).max(initial=0.0)))

    @property
    def nbytes(self):
        """Bytes of the layout, its columns included."""
        arrays = [self._dense] if self._dense is not None else list(self._lists)
        columns = 0
        if self.layout in ("panels", "differences"):
            columns = self.n * self.d * self.dtype.itemsize
        elif self.layout == "inverted":
            columns = sum(a.nbytes for a in arrays)
        return columns + sum(a.nbytes for a in arrays)

    def columns(self, chosen=None):
        """Return the chosen samples as columns; all of them, kept for the next call, by default."""
        if chosen is None:
            if self._all is None:
                self._all = self._columns(np.arange(self.n), everything=True)
            return self._all
        return self._columns(np.ascontiguousarray(chosen, dtype=np.int64), everything=False)

    def only_columns(self):
        """Pack all columns, free the lists that only rows need, and return self."""
        self.columns()
        if self.layout != "products":
            self._lists = self._sparse = None
        return self

    def _columns(self, chosen, everything):
        if self.layout == "products":
            B = self._dense if everything else self._samples(chosen)
            return B, self.terms[chosen], len(chosen)
        if self.layout in ("panels", "differences"):
            width = _ext.PANEL_WIDTH[self.dtype.itemsize]
            count = -(-len(chosen) // width)
            panels = scratch_array((count, self.d, width), self.dtype)
            terms = scratch_array((count * width,), self.dtype)
            terms[: len(chosen)], terms[len(chosen) :] = self.terms[chosen], 0
            _ext.pack_panels(*self._lists, chosen, panels, effective_threads(panels.size))
            return panels, terms, len(chosen)
        by_feature = (self._sparse if everything else self._sparse[chosen]).tocsc()
        lists = (by_feature.indptr, by_feature.indices, by_feature.data.astype(self.dtype))
        return lists, self.terms[chosen], len(chosen)

    def _samples(self, chosen):
        out = scratch_array((len(chosen), self.d), self.dtype)
        return np.take(self._dense, chosen, axis=0, out=out, mode="clip")  # "raise" copies first

    @property
    def _gamma(self):
        # The loops compute powers of 2 where the kernel has those of e.
        return self.kernel.gamma * _LOG2_E if self.kernel.exponential else self.kernel.gamma

    def _spec(self):
        kernel = self.kernel
        code = _ext.RBF_DIFFERENCES if self.layout == "differences" else _ext.KINDS[kernel.name]
        return code, self._gamma, kernel.coef0, kernel.degree

    @property
    def terms_per_value(self):
        """Products that one kernel value costs."""
        if self.layout == "products":
            return float(self.d)
        return float(self._lists.indptr[-1]) / max(1, self.n)

    def _step(self, n_columns, rows):
        """Return how many rows one compiled call takes."""
        terms = max(4.0, self.terms_per_value)
        cost = max(1, n_columns) * (terms + _FRESH_TERMS)
        return min(rows, items_per_call(cost))

    def block(self, rows, columns, out, dest):
        """out[dest[r], :m] = k(rows[r], column) for the m columns; dest are rows of `out`."""
        m = columns[2]
        threads = effective_threads(len(rows) * m * max(4.0, self.terms_per_value))
        step = self._step(m, len(rows))
        if self.layout == "products":
            step = max(_TILE_ROWS, step // _TILE_ROWS * _TILE_ROWS)
            scratch = scratch_array((threads, 2 * _TILE_ROWS, _TILE_COLUMNS), self.dtype)
        elif self.layout != "inverted":
            side = _BAND * columns[0].shape[2]
            # Many features make a large panel, which more rows must pay for.
            tile_rows = min(128 if self.d <= 128 else 512, len(rows))
            scratch = scratch_array((threads, tile_rows, side + 16), self.dtype)
        for start in range(0, len(rows), step):
            now, to = rows[start : start + step], dest[start : start + step]
            if self.layout == "products":
                with single_threaded_blas():
                    _ext.product_block(
                        *self._spec(), self._samples(now), self.terms[now], columns[0], columns[1],
                        out, to, False, scratch, 0, -(-len(now) // _TILE_ROWS), threads,
                    )  # fmt: skip
            elif self.layout in ("panels", "differences"):
                _ext.panel_block(
                    *self._spec(), now, *self._lists, self.terms, columns[0], columns[1], m,
                    out, to, scratch, threads,
                )  # fmt: skip
            else:
                _ext.inverted_block(
                    *self._spec(), now, *self._lists, self.terms, *columns[0], columns[1],
                    out, to, m, threads,
                )  # fmt: skip

    def combine(self, rows, weights, w):
        """w += sum_r weights[r] x of rows[r]: the weight vector of a linear kernel."""
        if self.layout == "products":
            for start in range(0, len(rows), 256):
                part = slice(start, start + 256)
                w += weights[part] @ self._dense[rows[part]].astype(np.float64, copy=False)
        else:
            self._lists.combine(rows, weights, w)

    def project(self, w, out):
        """out[i] = x_i.w in float64."""
        if self.layout == "products":
            with single_threaded_blas():
                for start in range(0, self.n, 256):
                    part = slice(start, start + 256)
                    out[part] = self._dense[part].astype(np.float64, copy=False) @ w
        else:
            self._lists.project(w, out)

    def symmetric(self, out, chosen=None):
        """out[:m, :m] = K between the m chosen samples (all by default), half of it computed.

        The diagonal is exact.
        """
        everything = chosen is None
        if everything:
            chosen = np.arange(self.n)
        m = len(chosen)
        threads = effective_threads(m * m * max(4.0, self.terms_per_value))
        order = np.arange(m)
        if self.layout == "inverted":
            self.block(chosen, self.columns(None if everything else chosen), out, order)
            for i in range(m):  # sums in another order differ in their last bit
                out[i, i + 1 : m] = out[i + 1 : m, i]
        elif self.layout == "products":
            scratch = scratch_array((threads, 2 * _TILE_ROWS, _TILE_COLUMNS), self.dtype)
            tiles = -(-m // _TILE_ROWS)
            step = max(1, self._step(m, m) // _TILE_ROWS)
            A, terms, _ = self.columns(None if everything else chosen)
            with single_threaded_blas():
                for first in range(0, tiles, step):
                    _ext.product_block(
                        *self._spec(), A, terms, A, terms, out, order, True, scratch, first,
                        min(tiles, first + step), threads,
                    )  # fmt: skip
        else:
            panels, terms, _ = self.columns(None if everything else chosen)
            width = panels.shape[2]
            side = _BAND * width
            scratch = scratch_array((threads, 2 * side, side + 16), self.dtype)
            bands = -(-m // side)
            step = max(1, self._step(m, m) // side)
            for first in range(0, bands, step):
                _ext.panel_symmetric(
                    *self._spec(), chosen, *self._lists, self.terms, panels, terms, out, scratch,
                    first, min(bands, first + step), threads,
                )  # fmt: skip
        out[order, order] = self.diagonal[chosen]


def _layout(X, kernel):
    """Return (layout, shift, scale) for the fastest and most accurate inner products of X."""
    n, d = X.shape
    if sparse.issparse(X):
        density = X.nnz / max(1, n * d)
        layout = "panels" if density >= 0.06 and d <= 1 << 16 else "inverted"
        shift = None
    else:
        probe = X[:: max(1, n // 500)]
        density = np.count_nonzero(probe) / max(1, probe.size)
        few = d <= 64 or density <= 0.35 or kernel.differences
        layout = "panels" if few else "products"
        if kernel.exponential and kernel.row_term == "squares" and d <= _FEW:
            layout = "differences"
        shift = None
        if kernel.shift_invariant and density > 0.35:
            # Differences do not change, but the squared norms that cancel in them get smaller.
            shift = X.mean(axis=0, dtype=np.float64)
    return layout, shift, _scale(X, kernel)


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
        return _with_data(X, X.data * np.repeat(factors, np.diff(X.indptr)))
    return X * factors[:, None]


def _with_data(X, data):
    """Return CSR of the same pattern, with indices still in order, as lists of non-zeros need."""
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
