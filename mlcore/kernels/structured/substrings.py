"""Values of the kernel of all common substrings."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlcore._ext.kernels import substrings as _ext
from mlcore.kernels.structured.strings import KernelOfStrings, Strings
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

_STEP = 8  # operations of a symbol that is read through an automaton


@dataclass(frozen=True)
class SubstringKernel(KernelOfStrings):
    """Counts common substrings of several lengths, weighted by their decay."""

    normalize: bool
    min_length: int
    max_length: int | None
    decay: float

    @property
    def power(self) -> int:
        return self.min_length

    def products(self, X: Any, Y: Any) -> Any:
        return substring_products(X, None if X is Y else Y, self._weights(X))

    def squares(self, X: Any) -> Any:
        name = "substrings", self.min_length, self.max_length, self.decay
        squares = X.of_all(name, lambda whole: substring_diagonal(whole, self._weights(whole)))
        squares = squares[X.chosen]
        self.require_finite(squares)
        return squares

    def _weights(self, X):
        def cumulated(whole):
            longest = int(whole.lengths().max(initial=0))
            return cumulated_weights(longest, self.min_length, self.max_length, self.decay)

        return X.of_all(("weights", self.min_length, self.max_length, self.decay), cumulated)


def cumulated_weights(
    longest: int, min_length: int, max_length: int | None, decay: float
) -> np.ndarray:
    """Return the sums of the weights of substrings of up to 0, 1, ... symbols, (longest + 2,).

    They are divided by decay^min_length, the largest, so that no decay is too small.
    """
    lengths = np.arange(longest + 2)
    top = longest + 1 if max_length is None else max_length
    counted = (lengths >= min_length) & (lengths <= top)
    with np.errstate(under="ignore"):
        weights = decay ** np.maximum(lengths - min_length, 0)
    return np.cumsum(np.where(counted, weights, 0.0))


def substring_products(X: Strings, Y: Strings | None, weights: np.ndarray) -> np.ndarray:
    """Return the values of all pairs, (n, m); without Y exactly symmetric, half of it computed.

    If the automaton of the longest string does not fit, it raises MemoryError.
    """
    symmetric = Y is None
    Y = X if Y is None else Y
    codes, n_symbols, other = _recoded(X, Y)
    out = np.empty((len(X), len(Y)))
    longest = int(X.lengths().max(initial=0))
    by_length = np.argsort(Y.lengths(), kind="stable")
    rows = by_length if symmetric else np.arange(len(X))
    cost = _STEP * max(1.0, float(Y.lengths().sum()))
    step = items_per_call(cost)
    n_threads = min(len(X), effective_threads(len(X) * cost))
    memory = _memory(n_threads, longest, n_symbols)
    for first in range(0, len(X), step * n_threads):
        last = min(len(X), first + step * n_threads)
        _ext.products(
            codes, X.offsets, X.chosen[rows], rows, other, Y.offsets, Y.chosen[by_length],
            by_length, n_symbols, weights, longest, symmetric, first, last, out, memory, n_threads,
        )  # fmt: skip
    return out


def substring_diagonal(X: Strings, weights: np.ndarray) -> np.ndarray:
    """Return the values of strings with themselves, (n,)."""
    codes, n_symbols, _ = _recoded(X, X)
    out = np.empty(len(X))
    lengths = X.lengths()
    longest = int(lengths.max(initial=0))
    step = items_per_call(10 * _STEP * max(1.0, float(lengths.mean())))
    n_threads = min(len(X), effective_threads(10 * _STEP * float(lengths.sum())))
    memory = _memory(n_threads, longest, n_symbols)
    for first in range(0, len(X), step * n_threads):
        last = min(len(X), first + step * n_threads)
        _ext.diagonal(
            codes, X.offsets, X.chosen, n_symbols, weights, longest, first, last, out, memory,
            n_threads,
        )  # fmt: skip
    return out


def _recoded(X, Y):
    """Return the codes of X as places among its symbols, their number, and the codes of Y so."""
    symbols, codes = X.of_all("symbols", _symbols_of)
    if Y.same(X):
        return codes, len(symbols), codes
    Y_codes = Y.codes_in(X)
    places = np.minimum(np.searchsorted(symbols, Y_codes), max(0, len(symbols) - 1))
    shared = symbols[places] == Y_codes if len(symbols) else np.zeros(len(Y_codes), bool)
    return codes, len(symbols), np.where(shared, places, -1).astype(np.int32)


def _symbols_of(strings):
    """Return the symbols that occur, ascending, and the place of each code among them."""
    codes = strings.codes
    top = int(codes.max(initial=0)) + 1
    if top > len(codes):
        symbols, places = np.unique(codes, return_inverse=True)
        return symbols, places.astype(np.int32)
    seen = np.zeros(top, dtype=bool)  # a table takes a tenth of the time of sorting
    seen[codes] = True
    return np.flatnonzero(seen).astype(codes.dtype), (np.cumsum(seen, dtype=np.int32) - 1)[codes]


def _memory(n_threads, longest, n_symbols):
    """Return memory for an automaton a thread; most of it is not touched for short strings."""
    size = _ext.automaton_bytes(longest, n_symbols)
    try:
        return scratch_array((n_threads, size), np.int8)
    except MemoryError:
        raise MemoryError(
            f"The suffix automaton of a string of {longest} symbols needs {size / 1e6:.0f} MB for "
            "each thread, which are not free."
        ) from None
