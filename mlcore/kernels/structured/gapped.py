"""Values of the kernel of common subsequences, weighted by their gaps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlcore._ext.kernels import gapped as _ext
from mlcore.kernels.structured.strings import KernelOfStrings, Strings
from mlcore.runtime.threads import effective_threads, items_per_call

_CELLS = 1e12  # of a pair, beyond which it would take minutes


@dataclass(frozen=True)
class GappedKernel(KernelOfStrings):
    """Counts common subsequences of one length, weighted by the decay over their span."""

    normalize: bool
    length: int
    decay: float

    @property
    def power(self) -> int:
        return 2 * self.length

    def products(self, X: Any, Y: Any) -> Any:
        return gapped_products(X, None if X is Y else Y, self.length, self.decay)

    def squares(self, X: Any) -> Any:
        name = "gapped", self.length, self.decay
        squares = X.of_all(name, lambda whole: gapped_diagonal(whole, self.length, self.decay))
        squares = squares[X.chosen]
        self.require_finite(squares)
        return squares


def gapped_products(X: Strings, Y: Strings | None, length: int, decay: float) -> np.ndarray:
    """Return the values of all pairs over decay^(2 length), (n, m); without Y exactly symmetric.

    A pair of strings so long that it would take minutes raises ValueError.
    """
    upper = Y is None
    Y = X if Y is None else Y
    row_lengths, lengths = X.lengths(), Y.lengths()
    cells = float(row_lengths.max(initial=0)) * float(lengths.max(initial=0)) * length
    if cells > _CELLS:
        longest = int(np.argmax(row_lengths))
        raise ValueError(
            f"kind='gapped' takes length |x| |y| = {cells:.1e} steps for the longest pair, that of "
            f"sample {longest}, of {row_lengths[longest]} symbols: more than {_CELLS:.0e}. Cut the "
            "strings, or use kind='substrings'."
        )
    width = _ext.lanes()
    order = np.argsort(lengths, kind="stable")
    n_groups = -(-len(Y) // width)
    longest = lengths[order][np.minimum(np.arange(1, n_groups + 1) * width, len(Y)) - 1]
    starts = np.append(0, np.cumsum(longest * width))
    groups = np.empty(max(1, starts[-1]))
    _ext.interleave(Y.codes_in(X), Y.offsets, Y.chosen[order], starts, groups)
    out = np.empty((len(X), n_groups * width))
    work = np.outer(row_lengths, longest) * (4.0 * length * width / 8)
    if upper:  # the order of rows in it is that of the columns
        rank = np.argsort(order, kind="stable")
        wanted = np.arange(n_groups) >= (rank // width)[:, None]
    else:
        wanted = np.ones(work.shape, bool)
    tasks = np.flatnonzero(wanted)
    cost = work.ravel()[tasks] + 100
    n_threads = effective_threads(float(cost.sum()))
    sums = np.empty((n_threads, max(1, (length - 1) * width * int(longest.max(initial=0)))))
    ends = np.cumsum(cost)
    step, done = items_per_call(1), 0
    while done < len(tasks):
        before = ends[done - 1] if done else 0.0
        until = max(done + 1, int(np.searchsorted(ends, before + step * n_threads)))
        largest = cost[done:until].max()
        whole = largest <= step
        if not whole:  # a call reads a part of the rows, so that the main thread hears of Ctrl-C
            until = min(until, done + n_threads)
        n_symbols = int(row_lengths[tasks[done:until] // n_groups].max())
        at_once = max(1, n_symbols if whole else int(step / largest * n_symbols))
        for first in range(0, max(1, n_symbols), at_once):
            _ext.products(
                X.codes, X.offsets, X.chosen, starts, groups, tasks[done:until], length, decay,
                first, min(n_symbols, first + at_once), not whole, sums, out, n_threads,
            )  # fmt: skip
        done = until
    K = np.empty((len(X), len(Y)))
    K[:, order] = out[:, : len(Y)]
    if upper:
        # Of each pair the value whose row comes first in the order, which has been computed.
        for row in range(len(X)):
            later = rank > rank[row]
            K[later, row] = K[row, later]
    return K


def gapped_diagonal(X: Strings, length: int, decay: float) -> np.ndarray:
    """Return the values of strings with themselves, so divided, (n,)."""
    return np.array([gapped_products(X[[i]], None, length, decay)[0, 0] for i in range(len(X))])
