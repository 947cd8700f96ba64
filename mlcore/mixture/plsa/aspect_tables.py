"""Documents of counts, the probability tables of PLSA, and their EM steps."""

import math
from functools import cached_property
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.mixture import plsa as _ext
from mlcore.checks import scaled_weights
from mlcore.checks.arrays import real_array
from mlcore.checks.stored import stored
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

_OPERATIONS_OF_A_VALUE = 6  # for a count and a component
_BLOCK_BYTES = 393_216  # of documents' tables and sums: a second-level cache holds them
_BLOCKS = 16  # at least in one compiled call, for the threads
_LEAST_BLOCK = 65_536  # non-zeros of a block, where there are few blocks
_GROUPS = 16  # of words, through which threads follow each other, as many at most
_STEPS = 20  # of EM on a document in one compiled call
_SPAN = 1024  # words summed in one go
_SUM_TOLERANCE = 1e-3  # of a given distribution, which is then scaled to sum to 1
_SAFE = 60  # counts of such powers of two are computed with as they are


@stored(version=1)
class AspectTables(NamedTuple):
    """Parameters of PLSA, with components side by side; padded tables are from `Documents`."""

    own_weights: np.ndarray | None  # (k,); None: those of the mixtures
    words: np.ndarray  # (v, k) or wider: P(word | component)
    mixtures: np.ndarray | None = None  # (n, k) or wider: P(component | document) of the documents
    shares: np.ndarray | None = None  # (n,) of the documents in all counts
    _stored = {
        "own_weights": "none | float k",
        "words": "float f k",
        "mixtures": "none | float _ k",
        "shares": "none | float64 _",
    }

    @property
    def weights(self) -> np.ndarray:
        """Probabilities of the components, (k,) or wider; they sum to 1."""
        if self.own_weights is not None:
            return self.own_weights
        weights = (self.mixtures.T * self.shares).sum(axis=1)
        return weights / weights.sum()


class Documents:
    """Documents of counts, CSR, and pseudo-counts `alpha`, scaled by powers of two.

    `totals` (n,) float64 are the scaled counts of documents, `mass` their weighted sum, `total`
    that of the counts; 2^unit is what a scaled and weighted count of 1 stands for.
    """

    weight: Any
    k: int
    weights: Any
    unit: int
    totals: np.ndarray
    mass: float
    total: float

    def __init__(self, X: Any, weight: Any, n_components: int, alpha: float) -> None:
        (n, v), dtype = X.shape, X.dtype
        self.X, self.weight, self.k, self._v = X, weight, n_components, v
        line = 64 // dtype.itemsize
        self._stride = -(-n_components // line) * line
        require_tables(n, v, self._stride, dtype)
        self._rows = X.indptr.astype(np.int64, copy=False)
        self._words = X.indices.astype(np.int32, copy=False)
        self._counts, power = scaled_weights(np.ascontiguousarray(X.data), plain=_SAFE)
        weights = np.ones(n) if weight is None else np.ascontiguousarray(weight)
        self.weights, weight_power = scaled_weights(weights, plain=1)
        self._alpha = _pseudo_counts(alpha, power)
        self._word_alpha = _pseudo_counts(self._alpha, weight_power)
        self.unit = power + weight_power
        self._work = _OPERATIONS_OF_A_VALUE * self._stride  # for a count
        self._threads = effective_threads(self._work * len(self._words))
        self.totals = np.empty(n)
        _ext.row_sums(self._rows, self._counts, self.totals, self._threads)
        self.mass = float((self.weights * self.totals).sum())
        self.total = float(np.ldexp(self.mass, self.unit))
        self._u_sums = self._t_sums = None  # of the sums by word, and the blocks' documents
        self._turns, self._last = None, None  # the tables of a run, and the words' last

    def placed(self, tables: AspectTables) -> AspectTables:
        """Return a copy with padded rows; documents without mixtures have the weights."""
        words, mixtures = self._room()
        values = tables.own_weights if tables.mixtures is None else tables.mixtures
        for table, source in ((words, tables.words), (mixtures, values)):
            table[:, : self.k] = source[..., : self.k]
            table[:, self.k :] = 0
        return AspectTables(None, words, mixtures, self.shares)

    def _room(self):
        """Return tables of words and of documents, not set."""
        tables = scratch_array((self._v + len(self.totals), self._stride), self.X.dtype)
        return tables[: self._v], tables[self._v :]

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of the documents in all counts, (n,); 0 where there are no counts at all."""
        return self.weights * self.totals / (self.mass or 1.0)

    @cached_property
    def log_shares(self) -> float:
        """Return the mean of log P(document) per count."""
        shares = self.shares
        return float((shares * np.log(np.where(shares > 0, shares, 1))).sum())

    def _arrange(self):
        """Cut documents into blocks, sort their non-zeros, and make room for the sums."""
        (n, v), stride, nnz = self.X.shape, self._stride, len(self._words)
        dtype = self._counts.dtype
        require_memory(
            nnz,
            8 + dtype.itemsize,
            1,
            what="the counts in the order of words",
            instead="fit on fewer documents",
        )
        size = n * stride * (dtype.itemsize + 8) / _BLOCK_BYTES
        few = min(_BLOCKS / 4, nnz / _LEAST_BLOCK)
        blocks = min(n, math.ceil(max(size, nnz * _BLOCKS / items_per_call(self._work), few)))
        # Blocks are equal in documents and non-zeros together, so that none is large in either.
        cost = self._rows / max(nnz, 1) + np.arange(n + 1) / n
        inner = np.searchsorted(cost, 2 * np.arange(1, blocks) / blocks)
        self._blocks = np.unique(np.concatenate(([0], inner, [n]))).astype(np.int64)
        blocks = len(self._blocks) - 1  # fewer where some documents are much longer than others
        # Groups of words are about equal in non-zeros: a sample tells how many a word has.
        seen = np.cumsum(np.bincount(self._words[:: 1 + nnz // 100_000], minlength=v))
        inner = np.searchsorted(seen, seen[-1] * np.arange(1, _GROUPS) / _GROUPS)
        groups = np.concatenate(([0], inner, [v])).astype(np.int64)
        self._tiles = np.empty((blocks, len(groups)), dtype=np.int64)
        self._ordered = (
            scratch_array((nnz,), np.dtype(np.int32)),
            scratch_array((nnz,), np.dtype(np.int32)),
            scratch_array((nnz,), dtype),
        )
        threads = min(self._threads, stride)  # scratch no larger than the words' table
        _ext.arrange(
            self._rows, self._words, self._counts, self.weights, self._blocks, groups,
            *self._ordered, self._tiles, np.empty((threads, v), dtype=np.int64), threads,
        )  # fmt: skip
        calls = math.ceil(nnz / items_per_call(self._work))  # none where there are no counts
        self._calls = [blocks * call // max(calls, 1) for call in range(calls + 1)]
        block = int(np.diff(self._blocks).max())
        self._t_sums = scratch_array((self._threads, block, stride), np.dtype(np.float64))
        self._u_sums = _zeros((v, stride))

    def expect(self, tables: AspectTables, moved: np.ndarray | None = None) -> float:
        """Add up the words' sums; return the mean of log P(word | document) per count.

        With `moved`, a table like the mixtures, the M-step of the documents follows, into it.
        """
        if self._u_sums is None:
            self._arrange()
        if moved is None:
            moved = np.empty((0, self._stride), self.X.dtype)
        log_likelihoods = np.zeros(len(self._tiles))
        for first, last in pairwise(self._calls):
            _ext.expect(
                self._blocks, self._tiles, *self._ordered, self.weights, tables.words,
                tables.mixtures, self._u_sums, self._t_sums, first, last, log_likelihoods, moved,
                self.k, self._alpha, self._threads,
            )  # fmt: skip
        return float(log_likelihoods.sum()) / self.mass

    def step(self, tables: AspectTables) -> tuple[float, AspectTables, np.ndarray]:
        """Return the objective, the tables of the M-step, and (k,) bool: components without counts.

        The third step from here writes over `tables`: a run looks at most two steps ahead.
        """
        _, u, t, shares = tables
        if u is not self._last:  # another run
            self._turns = cycle([self._room(), self._room(), (u, t)])
        words, moved = next(self._turns)
        objective = self.log_prior_of_documents(t) + self._mean_of_logs(u, self._word_alpha)
        objective += self.log_shares
        objective += self.expect(tables, moved)
        masses = self._sum_words(u, self._word_alpha)
        _ext.move_words(u, self._u_sums, masses, np.empty((2, self.k)), words, self._threads)
        self._last = words
        return objective, AspectTables(None, words, moved, shares), masses <= 0

    def rounding(self, objective: float) -> float:
        """Return a bound on the rounding error of a difference of objectives."""
        n_logs = 0.0
        if self._alpha > 0:  # logarithms that the prior adds to those of a count
            n_logs = self._alpha * float(self.weights.sum()) + self._word_alpha * self._v
            n_logs *= self.k / self.mass
        return _rounding(self.X.dtype, self.k, objective, n_logs, self._counts.size)

    def expected_counts(self, tables: AspectTables) -> np.ndarray:
        """Turn the words' sums into weighted counts, in units of the data: (k, v) float64."""
        self._sum_words(tables.words, 0.0)
        counts = np.ldexp(self._u_sums[:, : self.k].T, self.unit)
        self._u_sums[:] = 0
        return counts

    def _sum_words(self, u, alpha):
        masses = np.empty((-(-self._v // _SPAN), self.k))
        _ext.expected_counts(u, self._u_sums, self.k, alpha, masses, _SPAN, self._threads)
        return masses.sum(axis=0)

    def fold_in(self, tables: AspectTables, tol: float, max_iter: int) -> None:
        """Iterate the mixtures alone, each until none of its values moves by more than `tol`."""
        n, change = len(self.totals), np.full(len(self.totals), np.inf)
        first, at_once = 0, items_per_call(self._work * _STEPS)
        sums = scratch_array((self._threads, 1, self._stride), np.dtype(np.float64))
        while first < n:
            last = int(np.searchsorted(self._rows, self._rows[first] + at_once, side="right")) - 1
            last = min(n, max(first + 1, last))
            for step in range(0, max_iter, _STEPS):
                _ext.fold_in(
                    self._rows, self._words, self._counts, tables.words, tables.mixtures, sums,
                    change, first, last, self.k, self._alpha, tol, min(_STEPS, max_iter - step),
                    self._threads,
                )  # fmt: skip
                if change[first:last].max() <= tol:
                    break
            first = last

    def log_prior_of_documents(self, mixtures: np.ndarray) -> float:
        """Return the mean per count of the log density of mixtures, up to a constant."""
        return self._mean_of_logs(mixtures, self._alpha, self.weight is not None)

    def _mean_of_logs(self, table, alpha, weighted=False):
        if alpha == 0:
            return 0.0
        logs = np.empty(len(table))
        _ext.sums_of_logs(table, self.k, logs, self._threads)
        if not weighted:
            return alpha * float(np.add.reduce(logs)) / self.mass
        present = self.weights > 0  # an absent document's logarithms may be infinite
        np.multiply(logs, self.weights, out=logs, where=present)
        return alpha * float(np.sum(logs, where=present)) / self.mass


def _rounding(dtype, k, objective, n_logs, n_counts):
    """Return a bound on the rounding error of the mean log-likelihood of a count.

    A probability is a sum of k products, whose tables are rounded in every step.
    """
    single, double = np.finfo(dtype).eps, np.finfo(np.float64).eps
    return 16 * single * (k + n_logs) + (64 + math.sqrt(n_counts)) * double * abs(objective)


def proportions(values: np.ndarray, otherwise: Any) -> np.ndarray:
    """Return rows of `values` divided by their sums; those of `otherwise` where a sum is 0."""
    sums = values.sum(axis=1, keepdims=True)
    return np.where(sums > 0, values / np.where(sums > 0, sums, 1), otherwise)


def require_tables(n: int, v: int, k: int, dtype: Any) -> None:
    """Raise MemoryError where tables of n documents and v words, with sums, do not fit."""
    itemsize = np.dtype(dtype).itemsize
    require_memory(
        n + v + v * 8 // itemsize,
        k,
        itemsize,
        what="the tables of words and documents",
        instead="use fewer components, or fit on fewer documents",
    )


def random_components(counts: Any, weights: Any, k: int, random: np.random.Generator) -> np.ndarray:
    """Return random rows around the words' frequencies, whatever the order of documents."""
    data = counts.data / np.float64(counts.data.max())
    rows = sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    weights = np.ones(len(counts.indptr) - 1) if weights is None else weights / weights.max()
    frequencies = rows.T @ weights
    factors = random.standard_exponential((k, counts.shape[1]))
    components = (frequencies / frequencies.sum()) * factors
    components += np.finfo(np.float32).tiny  # words that only new documents have
    return components / components.sum(axis=1, keepdims=True)


def distributions(values: Any, name: str, shape: tuple[Any, ...]) -> Any:
    """Return a given start as float64, its rows scaled to sum to 1; None if `values` is None."""
    if values is None:
        return None
    values = real_array(values, name).astype(np.float64)
    if values.shape != shape:
        raise ValueError(f"{name} has shape {values.shape}, but must have {shape}.")
    sums = values.sum(axis=-1, keepdims=True)
    if not (values >= 0).all() or not (np.abs(sums - 1) <= _SUM_TOLERANCE).all():
        raise ValueError(
            f"{name} holds values from {values.min():g} to {values.max():g} with sums from "
            f"{sums.min():g} to {sums.max():g}, but must hold probabilities >= 0, rows of sum 1."
        )
    return values / sums


def _pseudo_counts(alpha, power):
    """Return alpha / 2^power, at most 2^100, which is as good as infinity beside scaled counts."""
    with np.errstate(over="ignore"):
        return min(float(np.ldexp(alpha, -power)), 2.0**100)


def _zeros(shape):
    table = scratch_array(shape, np.dtype(np.float64))
    table[:] = 0
    return table
