"""The E-step over sparse rows: sums of responsibilities, in memory that all passes use."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mlcore._ext.mixture import sparse_e_step as _ext
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

if TYPE_CHECKING:
    from mlcore.mixture.discrete.sparse_rows import SparseRows

_VECTOR = 8  # components are padded to whole vectors of float64
_CHUNKS = 64  # most: they, not the threads, set the order of additions
_BATCHES = 16  # of rows, for each thread, between two turns of threads
_ENTRIES_OF_A_COLUMN = 64  # in each chunk, or adding up its sums costs as much as making them
_CACHED_BYTES = 1 << 20  # of sums that a second-level cache holds: adding to them costs little
_CHUNK_BYTES = 1 << 26  # of the sums of all chunks
_ROWS = 1 << 15  # whose responsibilities are held at a time where only labels are asked for
_OPERATIONS_OF_A_PRODUCT = 12  # of a gathered row, about
_PRODUCTS_OF_A_ROW = 32  # that an exponential costs
_PRODUCTS_OF_A_VALUE = 4  # that a logarithm costs, or a division
_NORMAL = 1e-300  # what has a rate, its inverse, to full precision
_SMALL = 2.0**-60  # part of all weight: below it, what rows leave out (2^-100) would count


def smoothed_frequencies(
    counts: np.ndarray, alpha: float, totals: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Return min((counts + alpha) / totals, 1), and `before` where `totals` are 0.

    `counts` (n_columns, k); `totals` of that shape, or (1, k).
    """
    if counts.strides[1] != counts.itemsize:
        counts = np.ascontiguousarray(counts)
    n, k = counts.shape
    divisors = np.ones((len(totals), -(-k // _VECTOR) * _VECTOR))
    divisors[:, :k] = totals
    table = scratch_array((n, divisors.shape[1]), np.float64)
    kept = totals == 0
    divisors[:, :k][kept] = 1
    n_threads = effective_threads(_PRODUCTS_OF_A_VALUE * table.size)
    _ext.smooth(counts, alpha, divisors, table, n_threads)
    table = table[:, :k]
    return np.where(kept, before, table) if kept.any() else table


def row_bytes(k: int) -> int:
    """Return the bytes of a column in the tables of log densities and of sums together."""
    return 2 * 8 * (-(-k // _VECTOR) * _VECTOR)


class Loop:
    """Passes over the same rows for `k` components, in the same memory.

    Call `fill` first, or pass the tables that another loop of as many columns has `filled`.
    """

    k: int
    entire: bool
    work: int
    rows: "SparseRows"

    def __init__(
        self,
        rows: "SparseRows",
        k: int,
        entire: bool = False,
        filled: tuple[Any, ...] | None = None,
    ) -> None:
        stride = -(-k // _VECTOR) * _VECTOR
        shape = rows.n_columns, stride
        self.rows, self.k, self.entire = rows, k, entire
        self.work = (len(rows.columns) + _PRODUCTS_OF_A_ROW * rows.n_rows) * stride
        if filled is not None:
            self._table, self._impossible = filled
            return
        require_memory(
            rows.n_columns,
            stride,
            8,
            what="the table of log densities",
            instead="use fewer components",
        )
        self._table = scratch_array(shape, np.float64)
        self._table[:] = 0
        self._rises = np.empty(rows.n_columns)
        self._by_column = None  # (chunks, 1 or 2, columns, stride): of a pass; hard-assigned
        self._last_start = self._near = self._bounds = self._hard = self._each = None
        self._new = False  # whether the table has been filled since the last sums
        self._cached = None  # probabilities whose logarithms are in the table
        self._impossible = None, None  # constant (stride,) and table, or None: `require`
        self._cleared = False  # whether the sums of a pass are 0
        self._spans = self._scratch = None  # rows of each chunk by call, and what their loops write
        if stride > _VECTOR and not entire:  # else there is nothing to leave out
            self._near = np.full(rows.n_rows, np.iinfo(np.uint64).max)
            self._bounds = np.empty(rows.n_rows)

    def fill(self, table: np.ndarray, *, logarithms: bool) -> None:
        """Take `table` (n_columns, k), or its logarithms, as what entries add."""
        self._impossible = None, None
        if table is self._cached:
            return
        self._cached = None
        if table.strides[1] != table.itemsize:
            table = np.ascontiguousarray(table)
        if self._new and self._near is not None:  # what rows remember is of a table before the last
            self._near[:] = np.iinfo(np.uint64).max
        self._new = True
        n_threads = effective_threads(_PRODUCTS_OF_A_VALUE * self._table.size)
        _ext.fill_table(table, logarithms, self._table, self._rises, n_threads)

    def require(self, start: np.ndarray, table: np.ndarray) -> None:
        """Rule out rows that lack a feature of probability 1.

        Those where ``start + entries @ table``, (k,) and (n_columns, k), is positive.
        """
        pad = (0, self._table.shape[1] - self.k)
        self._impossible = np.pad(start, pad), np.pad(table, [(0, 0), pad])
        if self._near is not None:  # what rows remember says nothing of that
            self._near[:] = np.iinfo(np.uint64).max

    @property
    def filled(self) -> tuple[Any, ...]:
        """The tables that `fill` and `require` have made, for loops over other rows."""
        return self._table, self._impossible

    def log_densities(self, start: np.ndarray) -> np.ndarray:
        """Return log-densities of all rows, which are few, and components: (n_rows, k)."""
        k, (constant, table) = self.k, self._impossible
        densities = self.rows.matrix @ self._table[:, :k] + start
        if table is not None:
            densities[self.rows.matrix @ table[:, :k] + constant[:k] > 0] = -np.inf
        return densities

    def sum_of_table(self) -> float:
        """Return the sum of what `fill` has made."""
        return float(self._table[:, : self.k].sum())

    def sums(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the responsibilities' sums by column and in all (k,), and the log-likelihood.

        `start` (k,) are constants of the log densities. The next call changes the arrays. The sums
        are the same for any number of threads, since chunks and the order of their addition follow
        from the data.
        """
        totals, _, log_likelihood = self.totals(start, None)
        return self._added(), totals, log_likelihood

    def totals(
        self, start: np.ndarray, row_totals: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the responsibilities' sums (k,), those times `row_totals`, and the log-likelihood.

        Responsibilities below 2^-100 are left out unless a component has so little that these
        count: then all is summed once more, since such a component may grow again.
        """
        if self._by_column is None:
            self._make_sums()
        before = self._last_start, self._new
        sums = self._pass(start, row_totals, self._near, self._hard)
        small = (sums[0] < _SMALL * sums[0].sum()) & (start > -np.inf)
        if not small.any() or (self._near is None and self._hard is None):
            return sums
        self._last_start, self._new = before
        for remembered, nothing in ((self._near, np.iinfo(np.uint64).max), (self._hard, -1)):
            if remembered is not None:
                remembered[:] = nothing
        self._by_column.fill(0)
        return self._pass(start, row_totals, None, None)

    def sums_each(self, start: np.ndarray, n_mixtures: int) -> tuple[Any, ...]:
        """Return `sums` of the responsibilities under each of some mixtures, of components side by
        side, and the log-likelihood of each. For rows that are few: each mixture is one task.
        """
        rows, k = self.rows, self.k // n_mixtures
        stride = -(-k // _VECTOR) * _VECTOR
        shape = n_mixtures, rows.n_columns, stride
        if self._each is None:
            self._each = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        tables, impossible, sums = self._each
        starts = np.full((n_mixtures, stride), -np.inf)
        start_impossible = np.zeros((n_mixtures, stride))
        starts[:, :k] = start.reshape(n_mixtures, k)
        tables[:, :, :k] = self._side_by_side(self._table, n_mixtures, k)
        constant, table = self._impossible
        if table is not None:
            start_impossible[:, :k] = constant[: self.k].reshape(n_mixtures, k)
            impossible[:, :, :k] = self._side_by_side(table, n_mixtures, k)
        sums.fill(0)
        totals, log_likelihood = np.zeros((n_mixtures, 2, stride)), np.zeros(n_mixtures)
        batch = scratch_array((n_mixtures, _ext.BATCH * stride), np.float64)
        _ext.expect_each(
            k, rows.length, rows.indptr, rows.columns, rows.values, rows.weights, starts, tables,
            start_impossible, None if table is None else impossible, rows.n_rows, batch, sums,
            totals, log_likelihood, effective_threads(self.work),
        )  # fmt: skip
        by_column = sums[:, :, :k].transpose(1, 0, 2).reshape(rows.n_columns, self.k)
        return by_column, totals[:, 0, :k].ravel(), log_likelihood

    def _side_by_side(self, table, n_mixtures, k):
        return table[:, : self.k].reshape(-1, n_mixtures, k).transpose(1, 0, 2)

    def _pass(self, start, row_totals, near, hard):
        # Sums start from 0; bounds of the last pass rise by the largest rise of a start.
        rows = self.rows
        if not self._cleared:
            self._by_column[:, 0].fill(0)
        self._cleared = False
        chunks, _, _, stride = self._by_column.shape
        places = chunks if chunks > 1 else _CHUNKS
        totals, log_likelihood = np.zeros((places, 2, stride)), np.zeros(places)
        if not self._new:
            self._rises[:] = 0
        self._new = False
        rise = 0.0
        if self._last_start is not None:
            with np.errstate(invalid="ignore"):  # -inf, of a weight of 0, that stays
                rise = float(np.fmax.reduce(start - self._last_start))
        self._last_start, start = start, self._whole_vectors(start)
        n_threads = effective_threads(self.work)
        known = (
            self.k, rows.length, rows.indptr, rows.columns, rows.values, rows.weights, start,
            self._table, *self._impossible, None if self._impossible[1] is not None else near,
            self._bounds, rise, self._rises, row_totals, hard,
        )  # fmt: skip
        # With few columns each thread has sums of its own, else columns are cut for the threads.
        if chunks > 1:
            for spans in self._spans:
                _ext.expect(
                    *known, spans, self._scratch, self._by_column, totals, log_likelihood, n_threads
                )
        else:
            edges = rows.column_edges(n_threads)
            n_rows = _ext.BATCH * min(_CHUNKS, _BATCHES * n_threads)
            batch = scratch_array((n_rows, stride), np.float64)
            assignments = scratch_array((n_rows, _ext.ASSIGNMENT_BYTES), np.uint8)
            for [[first, last]] in self._spans:
                _ext.expect_by_columns(
                    *known, first, last, batch, assignments, edges, self._by_column[0], totals,
                    log_likelihood,
                )  # fmt: skip
        return *totals.sum(axis=0)[:, : self.k], float(log_likelihood.sum())

    def _make_sums(self):
        (n_columns, stride), n_entries = self._table.shape, len(self.rows.columns)
        kinds = 1
        if self._table.nbytes > _CACHED_BYTES and self.rows.hard_sums_pay and not self.entire:
            # The component that each row was assigned to for certain, or -1.
            kinds, self._hard = 2, np.full(self.rows.n_rows, -1, np.int32)
        room = max(1, _CHUNK_BYTES // (kinds * n_columns * stride * 8))
        chunks = max(1, min(_CHUNKS, n_entries // (_ENTRIES_OF_A_COLUMN * n_columns), room))
        require_memory(
            kinds * chunks * n_columns,
            stride,
            8,
            what="sums by column",
            instead="use fewer components",
        )
        self._by_column = scratch_array((chunks, kinds, n_columns, stride), np.float64)
        self._by_column.fill(0)
        self._spans, self._scratch = self._parts(chunks), self._batch(chunks)

    def smoothed_frequencies(
        self, alpha: float, totals: np.ndarray, before: np.ndarray
    ) -> np.ndarray:
        """Return `smoothed_frequencies` of the sums by column; `fill` then has their logarithms."""
        if not ((totals > _NORMAL) & (totals < 1 / _NORMAL)).all():  # 0, or no rate for it
            return smoothed_frequencies(self._added(), alpha, totals, before)
        table = scratch_array(self._table.shape, np.float64)
        n_threads = effective_threads(2 * _PRODUCTS_OF_A_VALUE * table.size)
        rates = np.zeros(table.shape[1])
        rates[: self.k] = 1 / totals
        _ext.advance(self._by_column, alpha, rates, table, self._table, self._rises, n_threads)
        self._cleared = self._new = True
        self._cached = table[:, : self.k]
        return self._cached

    def _added(self):
        _ext.add_chunks(self._by_column, effective_threads(self._by_column.size))
        return self._by_column[0, 0, :, : self.k]

    def posterior(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log density of each row, and its responsibilities (n, k)."""
        rows = self.rows
        require_memory(
            rows.n_rows, self.k, 8, what="the matrix of probabilities", instead="pass fewer rows"
        )
        out, density = np.empty((rows.n_rows, self.k)), np.empty(rows.n_rows)
        chunks = min(_CHUNKS, rows.n_rows)
        n_threads, batch = effective_threads(self.work), self._batch(chunks)
        start = self._whole_vectors(start)
        for spans in self._parts(chunks):
            _ext.posterior(
                self.k, rows.length, rows.indptr, rows.columns, rows.values, start, self._table,
                *self._impossible, spans, batch, density, out, n_threads,
            )  # fmt: skip
        return density, out

    def labels(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log density and the likeliest component of each row, without (n, k)."""
        if (n := self.rows.n_rows) <= _ROWS:
            density, proba = self.posterior(start)
            return density, proba.argmax(axis=1)
        density, labels = np.empty(n), np.empty(n, np.intp)
        for first in range(0, n, _ROWS):
            block = slice(first, min(n, first + _ROWS))
            loop = Loop(self.rows.part(block.start, block.stop), self.k, filled=self.filled)
            density[block], proba = loop.posterior(start)
            labels[block] = proba.argmax(axis=1)
        return density, labels

    def _parts(self, chunks):
        """The spans of the chunks, cut into a part for each call, (n_parts, chunks, 2)."""
        edges = self.rows.n_rows * np.arange(chunks + 1) // chunks
        n_parts = max(1, int(self.work // items_per_call(_OPERATIONS_OF_A_PRODUCT)))
        cuts = edges[:-1] + np.diff(edges) * np.arange(n_parts + 1)[:, None] // n_parts
        return np.stack([cuts[:-1], cuts[1:]], axis=2)

    def _whole_vectors(self, start):
        return np.concatenate([start, np.full(self._table.shape[1] - self.k, -np.inf)])

    def _batch(self, chunks):
        return scratch_array((chunks, _ext.BATCH * self._table.shape[1]), np.float64)
