"""Values of the kernel of all common substrings."""

import numpy as np

from mlcore._ext.kernels import substrings as _ext
from mlcore.kernels.structured.strings import Strings
from mlcore.runtime.threads import effective_threads, items_per_call

_STEP = 8  # operations of a symbol that is read through an automaton
_STATE = 60  # bytes of a state of an automaton, of which there are two for a symbol


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

    Raises
    ------
    MemoryError
        If the automaton of the longest string does not fit.
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
    for first in range(0, len(X), step * n_threads):
        last = min(len(X), first + step * n_threads)
        if not _ext.products(
            codes, X.offsets, X.chosen[rows], rows, other, Y.offsets, Y.chosen[by_length],
            by_length, n_symbols, weights, longest, symmetric, first, last, out, n_threads,
        ):  # fmt: skip
            raise _no_memory(longest)
    return out


def substring_diagonal(X: Strings, weights: np.ndarray) -> np.ndarray:
    """Return the values of strings with themselves, (n,)."""
    codes, n_symbols, _ = _recoded(X, X)
    out = np.empty(len(X))
    lengths = X.lengths()
    longest = int(lengths.max(initial=0))
    step = items_per_call(10 * _STEP * max(1.0, float(lengths.mean())))
    n_threads = min(len(X), effective_threads(10 * _STEP * float(lengths.sum())))
    for first in range(0, len(X), step * n_threads):
        last = min(len(X), first + step * n_threads)
        if not _ext.diagonal(
            codes, X.offsets, X.chosen, n_symbols, weights, longest, first, last, out, n_threads
        ):
            raise _no_memory(longest)
    return out


def _recoded(X, Y):
    """Return the codes of X as places among its symbols, their number, and the codes of Y so."""
    symbols, codes = X.of_all("symbols", _symbols_of)
    if Y.same(X):
        return codes, len(symbols), codes
    given = Y.codes_in(X)
    places = np.minimum(np.searchsorted(symbols, given), max(0, len(symbols) - 1))
    known = symbols[places] == given if len(symbols) else np.zeros(len(given), bool)
    return codes, len(symbols), np.where(known, places, -1).astype(np.int32)


def _symbols_of(strings):
    symbols, codes = np.unique(strings.codes, return_inverse=True)
    return symbols, codes.astype(np.int32)


def _no_memory(longest):
    return MemoryError(
        f"The suffix automaton of a string of {longest} symbols needs some "
        f"{2 * longest * _STATE / 1e6:.0f} MB for each thread, which are not free."
    )
