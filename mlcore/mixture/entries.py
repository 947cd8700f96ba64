"""Rows as lists of entries, what all discrete mixtures are fitted to, and their sums under one.

A row's log density under a component is a constant plus, for each entry, its value times what the
component says of its column: what is not there costs nothing. That is -inf where the component
makes an entry impossible, so entries have no value of 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse as sp

from mlcore._ext import multinomial as _ext
from mlcore.checks import require_memory
from mlcore.scratch import scratch_array
from mlcore.threads import effective_threads

_VECTOR = 8  # components are padded to whole vectors of float64
_CHUNKS = 64  # most: they, not the threads, set the order of additions
_BATCHES = 16  # of rows, for each thread, between two turns of threads
_ENTRIES_OF_A_COLUMN = 64  # in each chunk, or adding up its sums costs as much as making them
_ENTRIES_OF_A_LONG_ROW = 32
_CACHED_BYTES = 1 << 20  # of sums that a second-level cache holds: adding to them costs little
_CHUNK_BYTES = 1 << 26  # of the sums of all chunks
_CALL = 50_000_000  # products of one compiled call, some tenths of a second: then Ctrl-C is heard
_BLOCK = 1 << 14  # values looked at in one go
_ROWS = 1 << 15  # whose responsibilities are held at a time where only labels are asked for
_PRODUCTS_OF_A_ROW = 32  # that an exponential costs
_PRODUCTS_OF_A_VALUE = 4  # that a logarithm costs, or a division
_NORMAL = 1e-300  # what has a rate, its inverse, to full precision
_SMALL = 2.0**-60  # share of all weight: what rows leave out below 2^-100 counts for no larger one


@dataclass
class Entries:
    """Sparse rows in the form that the compiled loop reads."""

    n_rows: int
    n_columns: int
    columns: np.ndarray  # (n_entries,) int32
    indptr: np.ndarray | None  # (n_rows + 1,) int64; None: rows of equal length
    values: np.ndarray | None = None  # (n_entries,) float64; None: all are 1
    weights: np.ndarray | None = None  # (n_rows,) float64; None: all are 1
    _loop: "Loop | None" = None
    _edges: np.ndarray | None = None

    @property
    def length(self) -> int:
        return len(self.columns) // self.n_rows

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def may_be_held(self) -> bool:
        """Whether a row's sums may be added and taken away again: these are exact in integers.

        It pays where rows are so long that often one component is all but certain.
        """
        if len(self.columns) < _ENTRIES_OF_A_LONG_ROW * self.n_rows:
            return False
        most = largest_integer(self.values) * largest_integer(self.weights)
        return most * len(self.columns) < 2**53

    @cached_property
    def row_totals(self) -> np.ndarray:
        """The sum of each row's values; rows are of unequal length."""
        values = np.ones(len(self.columns)) if self.values is None else self.values
        shape = self.n_rows, self.n_columns
        return sp.csr_array((values, self.columns, self.indptr), shape=shape) @ np.ones(shape[1])

    def column_edges(self, n_parts: int) -> np.ndarray:
        """Return where parts of about equally many entries begin and end: columns, (n_parts + 1,).

        The one part is all columns, [0, 0].
        """
        if n_parts == 1:
            return np.zeros(2, np.int64)
        if self._edges is None or len(self._edges) != n_parts + 1:
            counts = np.bincount(self.columns, minlength=self.n_columns).cumsum()
            inner = np.searchsorted(counts, counts[-1] * np.arange(1, n_parts) / n_parts)
            self._edges = np.concatenate([[0], inner, [self.n_columns]]).astype(np.int64)
        return self._edges

    def loop(self, k: int, *, entire: bool = False) -> "Loop":
        """Return the loop over these rows for k components, the same every time.

        `entire` leaves out no responsibilities, however small: without a prior they may be all that
        a component has of some column, and tell its probability from 0.
        """
        if self._loop is None or (self._loop.k, self._loop.entire) != (k, entire):
            self._loop = Loop(self, k, entire)
        return self._loop

    def part(self, first: int, stop: int) -> "Entries":
        """Return rows first to stop, without their weights."""
        indptr, begin, end = None, first * self.length, stop * self.length
        if self.indptr is not None:
            begin, end = self.indptr[first], self.indptr[stop]
            indptr = self.indptr[first : stop + 1] - begin
        values = None if self.values is None else self.values[begin:end]
        return Entries(stop - first, self.n_columns, self.columns[begin:end], indptr, values)

    def taken(self, rows: np.ndarray, weights: np.ndarray | None = None) -> "Entries":
        """Return some rows, with other weights."""
        lengths = np.full(len(rows), self.length)
        begins = rows * self.length
        if self.indptr is not None:
            begins = self.indptr[rows]
            lengths = self.indptr[rows + 1] - begins
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(begins - indptr[:-1], lengths) + np.arange(indptr[-1])
        values = None if self.values is None else self.values[places]
        kept = None if self.indptr is None else indptr
        return Entries(len(rows), self.n_columns, self.columns[places], kept, values, weights)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The values by column, (n_rows, n_columns)."""
        indptr, values = self.indptr, self.values
        if indptr is None:
            indptr = np.arange(self.n_rows + 1) * self.length
        if values is None:
            values = np.ones(len(self.columns))
        return sp.csr_array((values, self.columns, indptr), shape=(self.n_rows, self.n_columns))


def csr_entries(X: sp.csr_array, weights: np.ndarray | None) -> Entries:
    """Return the entries of a canonical CSR array; explicit zeros are none."""
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features, but at most 2**31 - 1 are supported.")
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return Entries(
        *X.shape,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.data.astype(np.float64, copy=False),
        weights,
    )


def shares(counts: np.ndarray, alpha: float, trials: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return min((counts + alpha) / trials, 1), and `before` where `trials` are 0.

    `counts` (n_columns, k); `trials` of that shape, or (1, k).
    """
    if counts.strides[1] != counts.itemsize:
        counts = np.ascontiguousarray(counts)
    n, k = counts.shape
    divisors = np.ones((len(trials), -(-k // _VECTOR) * _VECTOR))
    divisors[:, :k] = trials
    table = scratch_array((n, divisors.shape[1]), np.float64)
    kept = trials == 0
    divisors[:, :k][kept] = 1
    n_threads = effective_threads(_PRODUCTS_OF_A_VALUE * table.size)
    _ext.shares(counts, alpha, divisors, table, n_threads)
    table = table[:, :k]
    return np.where(kept, before, table) if kept.any() else table


def largest_integer(values: np.ndarray | None) -> float:
    """Return the largest magnitude, if all are integers, or else infinity; None is all ones."""
    most = 1.0
    for start in range(0, 0 if values is None else len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        if not np.array_equal(np.rint(block), block):
            return np.inf
        most = max(most, block.max(), -block.min())
    return most


def row_bytes(k: int) -> int:
    """Return the bytes of a column in the tables of log densities and of sums together."""
    return 2 * 8 * (-(-k // _VECTOR) * _VECTOR)


class Loop:
    """Passes over the same rows for `k` components, in memory that they share.

    `fill` first says what an entry of value 1 adds to the log densities.
    """

    def __init__(self, rows: Entries, k: int, entire: bool = False) -> None:
        stride = -(-k // _VECTOR) * _VECTOR
        shape = rows.n_columns, stride
        require_memory(
            rows.n_columns,
            stride,
            8,
            what="the table of log densities",
            instead="use fewer components",
        )
        self.rows, self.k, self.entire = rows, k, entire
        self.work = (len(rows.columns) + _PRODUCTS_OF_A_ROW * rows.n_rows) * stride
        self._table = scratch_array(shape, np.float64)
        self._table[:] = 0
        self._rises = np.empty(rows.n_columns)
        self._by_column = None  # sums (chunks, 1 or 2, columns, stride): of each pass, and held
        self._last_start = self._near = self._bounds = self._alone = None
        self._new = False  # whether the table has been filled since the last sums
        self._held = None  # probabilities whose logarithms the table already holds
        self._lacks = None, None  # start and table: what rows may lack that components are sure of
        self._cleared = False  # whether the sums of a pass are 0
        self._spans = self._scratch = None  # rows of each chunk by call, and what their loops write
        if stride > _VECTOR and not entire:  # else there is nothing to leave out
            self._near = np.full(rows.n_rows, np.iinfo(np.uint64).max)
            self._bounds = np.empty(rows.n_rows)

    def fill(self, table: np.ndarray, *, logarithms: bool) -> None:
        """Take `table` (n_columns, k), or its logarithms, as what entries add."""
        self._lacks = None, None
        if table is self._held:
            return
        self._held = None
        if table.strides[1] != table.itemsize:
            table = np.ascontiguousarray(table)
        if self._new and self._near is not None:  # what rows remember is of a table before the last
            self._near[:] = np.iinfo(np.uint64).max
        self._new = True
        n_threads = effective_threads(_PRODUCTS_OF_A_VALUE * self._table.size)
        _ext.fill_table(table, logarithms, self._table, self._rises, n_threads)

    def require(self, start: np.ndarray, table: np.ndarray) -> None:
        """Make rows impossible for which `start` (k,) plus their entries' values times `table`
        (n_columns, k) is positive: what they lack of what a component is certain of.
        """
        pad = (0, self._table.shape[1] - self.k)
        self._lacks = np.pad(start, pad), np.pad(table, [(0, 0), pad])
        if self._near is not None:  # what rows remember says nothing of that
            self._near[:] = np.iinfo(np.uint64).max

    def log_densities(self, start: np.ndarray) -> np.ndarray:
        """Return those of all rows, which are few, and components: (n_rows, k)."""
        k, (without, lacks) = self.k, self._lacks
        found = self.rows.matrix @ self._table[:, :k] + start
        if lacks is not None:
            found[self.rows.matrix @ lacks[:, :k] + without[:k] > 0] = -np.inf
        return found

    def sum_of_table(self) -> float:
        """Return the sum of what `fill` has made."""
        return float(self._table[:, : self.k].sum())

    def sums(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the responsibilities' sums by column (columns, k), in all (k,), and the
        log-likelihood, for the constants `start` (k,) of the log densities.

        The same bytes for any number of threads: rows are cut into chunks whose number follows
        from the data alone, and whose sums are added in order; or, where sums of more than one
        chunk would cost too much, threads share the columns. The next call changes them.
        """
        totals, _, log_likelihood = self.totals(start, None)
        return self._added(), totals, log_likelihood

    def totals(
        self, start: np.ndarray, trials: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the responsibilities' sums (k,), those of `trials` (n_rows,) times them, and the
        log-likelihood; the sums by column wait for `shares`.

        Rows leave out responsibilities below 2^-100. Where a component has so little that these
        could count, which is seldom, all is summed once more without leaving out any: by its few
        rows such a component may grow again.
        """
        if self._by_column is None:
            self._make_sums()
        before = self._last_start, self._new
        found = self._pass(start, trials, self._near, self._alone)
        small = (found[0] < _SMALL * found[0].sum()) & (start > -np.inf)
        if not small.any() or (self._near is None and self._alone is None):
            return found
        self._last_start, self._new = before
        for remembered, nothing in ((self._near, np.iinfo(np.uint64).max), (self._alone, -1)):
            if remembered is not None:
                remembered[:] = nothing
        self._by_column.fill(0)
        return self._pass(start, trials, None, None)

    def _pass(self, start, trials, near, alone):
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
            self._table, *self._lacks, None if self._lacks[1] is not None else near,
            self._bounds, rise, self._rises, trials, alone,
        )  # fmt: skip
        if chunks > 1:
            for spans in self._spans:
                _ext.expect(
                    *known, spans, self._scratch, self._by_column, totals, log_likelihood, n_threads
                )
        else:
            edges = rows.column_edges(n_threads)
            n_rows = _ext.BATCH * min(_CHUNKS, _BATCHES * n_threads)
            batch = scratch_array((n_rows, stride), np.float64)
            shares = scratch_array((n_rows, _ext.SHARE_BYTES), np.uint8)
            for [[first, last]] in self._spans:
                _ext.expect_by_columns(
                    *known, first, last, batch, shares, edges, self._by_column[0], totals,
                    log_likelihood,
                )  # fmt: skip
        return *totals.sum(axis=0)[:, : self.k], float(log_likelihood.sum())

    def _make_sums(self):
        (n_columns, stride), n_entries = self._table.shape, len(self.rows.columns)
        kinds = 1
        if self._table.nbytes > _CACHED_BYTES and self.rows.may_be_held and not self.entire:
            kinds, self._alone = 2, np.full(self.rows.n_rows, -1, np.int32)
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

    def shares(self, alpha: float, trials: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return `shares` of the sums by column, of which `fill` then has the logarithms."""
        if not ((trials > _NORMAL) & (trials < 1 / _NORMAL)).all():  # 0, or no rate for it
            return shares(self._added(), alpha, trials, before)
        table = scratch_array(self._table.shape, np.float64)
        n_threads = effective_threads(2 * _PRODUCTS_OF_A_VALUE * table.size)
        rates = np.zeros(table.shape[1])
        rates[: self.k] = 1 / trials
        _ext.advance(self._by_column, alpha, rates, table, self._table, self._rises, n_threads)
        self._cleared = self._new = True
        self._held = table[:, : self.k]
        return self._held

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
                *self._lacks, spans, batch, density, out, n_threads,
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
            loop = Loop(self.rows.part(block.start, block.stop), self.k)
            loop._table, loop._lacks = self._table, self._lacks
            density[block], proba = loop.posterior(start)
            labels[block] = proba.argmax(axis=1)
        return density, labels

    def _parts(self, chunks):
        """The spans of the chunks, (chunks, 2), cut into as many parts as calls are needed."""
        edges = np.linspace(0, self.rows.n_rows, chunks + 1).astype(np.int64)
        n_parts = max(1, int(self.work // _CALL))
        cuts = [edges[:-1] + np.diff(edges) * part // n_parts for part in range(n_parts + 1)]
        return [np.stack(pair, axis=1) for pair in zip(cuts[:-1], cuts[1:], strict=True)]

    def _whole_vectors(self, start):
        return np.concatenate([start, np.full(self._table.shape[1] - self.k, -np.inf)])

    def _batch(self, chunks):
        return scratch_array((chunks, _ext.BATCH * self._table.shape[1]), np.float64)
