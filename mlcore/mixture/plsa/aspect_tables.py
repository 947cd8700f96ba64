"""Counts and probability tables of PLSA, and its EM steps."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.mixture import plsa as _ext
from mlcore.checks import scaled_weights
from mlcore.checks.arrays import real_array
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


class PLSAStatistics(NamedTuple):
    """Sums over documents, from which `PLSA.update` takes its step."""

    word_counts: np.ndarray  # (k, v) expected counts of each word from each component
    log_likelihood: float  # of the counts, with the prior of the documents' mixtures
    mass: float  # the sum of the counts


class AspectTables:
    """Documents of counts, P(word | component) and P(component | document).

    Counts are scaled by a power of two where they are huge or tiny, weights where the largest is
    not 1; the pseudo-counts with them, so that nothing else changes.

    Parameters
    ----------
    X : csr_array (n, v) of non-negative float32 or float64
    weights : (n,) float64 or None
        Of the documents; None is all ones.
    components : (k, v)
    mixtures : (n, k) or (k,)
        P(component | document); (k,) is the same for all.
    alpha : float
        Pseudo-counts of every word of a component and of every component of a document.
    for_fit : bool
        Whether the words' sums are needed.

    Attributes
    ----------
    totals : (n,) float64
        Scaled counts of each document.
    mass : float
        Weighted sum of `totals`.
    unit : int
        2^unit is what a scaled and weighted count of 1 stands for.
    """

    def __init__(self, X, weights, components, mixtures, alpha, for_fit=True):
        (n, v), k, dtype = X.shape, len(components), X.dtype
        self.k, self._v = k, v
        line = 64 // dtype.itemsize
        stride = -(-k // line) * line
        require_tables(n, v, stride, dtype)
        self._rows = X.indptr.astype(np.int64, copy=False)
        self._words = X.indices.astype(np.int32, copy=False)
        self._counts, power = scaled_weights(np.ascontiguousarray(X.data), plain=_SAFE)
        weights = np.ones(n) if weights is None else np.ascontiguousarray(weights)
        self.weights, weight_power = scaled_weights(weights, plain=1)
        self._alpha = _pseudo_counts(alpha, power)
        self._word_alpha = _pseudo_counts(self._alpha, weight_power)
        self.unit = power + weight_power
        self._work = _OPERATIONS_OF_A_VALUE * stride  # for a count
        self._threads = effective_threads(self._work * len(self._words))
        self.totals = np.empty(n)
        _ext.row_sums(self._rows, self._counts, self.totals, self._threads)
        self.mass = float((self.weights * self.totals).sum())
        self._u = _padded(components.T, (v, stride), dtype)
        self._t = _padded(mixtures, (n, stride), dtype)
        block = self._arrange() if for_fit else 1
        self._t_sums = scratch_array((self._threads, block, stride), np.dtype(np.float64))
        self._u_sums = _zeros((v, stride)) if for_fit else None

    def _arrange(self):
        """Cut documents into blocks and sort their non-zeros; return the largest block's size."""
        (n, stride), (v, _), nnz = self._t.shape, self._u.shape, len(self._words)
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
        return int(np.diff(self._blocks).max())

    def expect(self, moves=False):
        """Add up the words' sums; return the mean of log P(word | document) per count.

        With `moves`, the M-step of the documents follows.
        """
        log_likelihoods = np.zeros(len(self._tiles))
        for first, last in pairwise(self._calls):
            _ext.expect(
                self._blocks, self._tiles, *self._ordered, self.weights, self._u, self._t,
                self._u_sums, self._t_sums, first, last, log_likelihoods, moves, self.k,
                self._alpha, self._threads,
            )  # fmt: skip
        return float(log_likelihoods.sum()) / self.mass

    def ascend(self, max_iter, tol, progress, steps_before):
        """Take steps of EM; return the fitted attributes, and the largest fall of the objective.

        The fit has converged where a step gained no more than `tol`, and after one step more the
        next, which is not taken, would too. Tables change in place: so those that may be the last
        are kept.
        """
        frequencies = self.weights * self.totals / self.mass
        constant = float((frequencies * np.log(np.where(frequencies > 0, frequencies, 1))).sum())
        trace, kept, end, fall = [], None, None, (0, 0.0)
        for step in range(max_iter + 1):
            objective = self.log_prior() + constant
            objective += self.expect(moves=step < max_iter)
            change = objective - trace[-1] if trace and trace[-1] > -np.inf else np.inf
            small = abs(change) <= tol and tol > 0
            if small and end == step - 1:
                break
            trace.append(objective)
            if step:
                progress.step(steps_before + step, objective=objective, change=change)
            if -change > max(fall[1], self.rounding(objective)):
                fall = step, -change
            if step < max_iter:
                self._move_words()
            if small and end != step:
                kept, end = self.fitted(), step + 1
        converged = end == len(trace) - 1 < max_iter
        found = kept if converged else self.fitted()
        found |= {"log_likelihood_trace_": np.array(trace), "converged_": converged}
        return found | {"n_iter_": len(trace) - 1}, fall

    def rounding(self, objective):
        """Return a bound on the rounding error of the objective."""
        return _rounding(self._u.dtype, self.k, objective, self._prior_size(), self._counts.size)

    def _prior_size(self):
        """Return how many logarithms of probabilities the prior adds to those of a count."""
        if self._alpha == 0:
            return 0.0
        n_logs = self._alpha * float(self.weights.sum()) + self._word_alpha * self._v
        return n_logs * self.k / self.mass

    def expected_counts(self):
        """Turn the words' sums into weighted counts, in units of the data: (k, v) float64."""
        self._sum_words(0.0)
        counts = np.ldexp(self._u_sums[:, : self.k].T, self.unit)
        self._u_sums[:] = 0
        return counts

    def _sum_words(self, alpha):
        masses = np.empty((-(-self._v // _SPAN), self.k))
        _ext.expected_counts(self._u, self._u_sums, self.k, alpha, masses, _SPAN, self._threads)
        return masses.sum(axis=0)

    def _move_words(self):
        masses = self._sum_words(self._word_alpha)
        scales = np.empty((2, self.k))
        _ext.move_words(self._u, self._u_sums, masses, scales, self._threads)

    def fold_in(self, tol, max_iter):
        """Iterate the mixtures alone, each until none of its values moves by more than `tol`."""
        n, change = len(self.totals), np.full(len(self.totals), np.inf)
        first, at_once = 0, items_per_call(self._work * _STEPS)
        while first < n:
            last = int(np.searchsorted(self._rows, self._rows[first] + at_once, side="right")) - 1
            last = min(n, max(first + 1, last))
            for step in range(0, max_iter, _STEPS):
                _ext.fold_in(
                    self._rows, self._words, self._counts, self._u, self._t, self._t_sums,
                    change, first, last, self.k, self._alpha, tol, min(_STEPS, max_iter - step),
                    self._threads,
                )  # fmt: skip
                if change[first:last].max() <= tol:
                    break
            first = last

    def log_prior(self):
        """Return the mean per count of the prior's log density, up to a constant."""
        return self.log_prior_of_documents() + self.log_prior_of_words()

    def log_prior_of_documents(self):
        """Return the part of `log_prior` for P(component | document)."""
        return self._mean_of_logs(self._t, self._alpha, self.weights)

    def log_prior_of_words(self):
        """Return the part of `log_prior` for P(word | component)."""
        return self._mean_of_logs(self._u, self._word_alpha, np.float64(1))

    def _mean_of_logs(self, table, alpha, weights):
        if alpha == 0:
            return 0.0
        logs = np.empty(len(table))
        _ext.sums_of_logs(table, self.k, logs, self._threads)
        present = weights > 0  # an absent document's logarithms may be infinite
        np.multiply(logs, weights, out=logs, where=present)
        return alpha * float(np.sum(logs, where=present)) / self.mass

    def components(self):
        """Return P(word | component), (k, v)."""
        return np.ascontiguousarray(self._u[:, : self.k].T)

    def mixtures(self):
        """Return P(component | document), (n, k)."""
        return np.ascontiguousarray(self._t[:, : self.k])

    def fitted(self):
        """Return the fitted attributes of the model."""
        components, frequencies = self.components(), self.weights * self.totals / self.mass
        joint = self.mixtures().T * frequencies
        weights = joint.sum(axis=1)
        documents = proportions(joint, frequencies)
        return {
            "components_": components,
            "weights_": (weights / weights.sum()).astype(components.dtype),
            "document_components_": documents.astype(components.dtype),
        }


def _rounding(dtype, k, objective, n_logs, n_counts):
    """Return a bound on the rounding error of the mean log-likelihood of a count.

    A probability is a sum of k products, whose tables are rounded in every step.
    """
    single, double = np.finfo(dtype).eps, np.finfo(np.float64).eps
    return 16 * single * (k + n_logs) + (64 + math.sqrt(n_counts)) * double * abs(objective)


def proportions(values, otherwise):
    """Return rows of `values` divided by their sums; those of `otherwise` where a sum is 0."""
    sums = values.sum(axis=1, keepdims=True)
    return np.where(sums > 0, values / np.where(sums > 0, sums, 1), otherwise)


def require_tables(n, v, k, dtype):
    """Raise MemoryError where tables of n documents and v words, with sums, do not fit."""
    itemsize = np.dtype(dtype).itemsize
    require_memory(
        n + v + v * 8 // itemsize,
        k,
        itemsize,
        what="the tables of words and documents",
        instead="use fewer components, or fit on fewer documents",
    )


def random_components(counts, weights, k, random):
    """Return random rows around the words' frequencies, whatever the order of documents."""
    data = counts.data / np.float64(counts.data.max())
    rows = sp.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    weights = np.ones(len(counts.indptr) - 1) if weights is None else weights / weights.max()
    frequencies = rows.T @ weights
    factors = random.standard_exponential((k, counts.shape[1]))
    components = (frequencies / frequencies.sum()) * factors
    components += np.finfo(np.float32).tiny  # words that only new documents have
    return components / components.sum(axis=1, keepdims=True)


def distributions(values, name, shape):
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


def _padded(values, shape, dtype):
    table = scratch_array(shape, dtype)
    k = values.shape[-1]
    table[:, :k] = values
    table[:, k:] = 0
    return table


def _zeros(shape):
    table = scratch_array(shape, np.dtype(np.float64))
    table[:] = 0
    return table
