"""Concept tables of zeros and ones: validation, distinct rows, bitsets."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_count
from mlcore.checks.arrays import real_array


def as_table(H: Any, name: str = "H") -> np.ndarray:
    """Return `H` as an int8 array of zeros and ones, or raise ValueError."""
    try:
        table = real_array(H, name)
    except TypeError as error:
        raise ValueError(str(error)) from None
    if table.ndim != 2 or table.size == 0:
        raise ValueError(
            f"{name} has shape {table.shape}, but must have at least one row and one column."
        )
    zeros_and_ones = (table == 0) | (table == 1)
    if not (zeros_and_ones.all() or (np.abs(table) == 1).all()):
        wrong = table[~zeros_and_ones & ((table != -1) | (table == 0).any())]
        raise ValueError(f"{name} holds {wrong[0]!s}, but must hold 0 and 1, or -1 and 1.")
    return (table == 1).astype(np.int8)


def distinct_concepts(table: np.ndarray, max_size: int | None) -> np.ndarray:
    """Return the distinct rows in order of first occurrence; refuse more than `max_size`."""
    packed = np.packbits(table, axis=1)
    rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    first = np.unique(rows, return_index=True)[1]
    if max_size is not None:
        size = as_count(max_size, "max_size", at_least=1)
        if len(first) > size:
            raise ValueError(f"max_size={size}, but H has {len(first)} different concepts.")
    return table[np.sort(first)]


def as_integers(table: np.ndarray) -> list[int]:
    """Return each column as an integer: bit h is the value of concept h."""
    packed = np.packbits(table.T, axis=1, bitorder="little")
    return [int.from_bytes(column.tobytes(), "little") for column in packed]


def as_bitsets(table: np.ndarray) -> np.ndarray:
    """Return the rows as bitsets of 64-bit words, the lowest bit for the first column."""
    bytes_ = np.packbits(table, axis=1, bitorder="little")
    words = max(-(-table.shape[1] // 64), 1)
    padded = np.zeros((len(table), 8 * words), dtype=np.uint8)
    padded[:, : bytes_.shape[1]] = bytes_
    return padded.view("<u8").astype(np.uint64, copy=False)


def bitset_of(columns: Iterable[int], words: int) -> np.ndarray:
    """Return a set of columns as a bitset of 64-bit words."""
    mask = np.zeros((1, 64 * words), dtype=np.int8)
    mask[0, list(columns)] = 1
    return as_bitsets(mask)[0]


def search_arrays(packed: np.ndarray, depths: int) -> tuple[np.ndarray, ...]:
    """Return the rows, cells and columns of each depth of a search; at depth 0 all is one cell."""
    n, words = packed.shape
    rows = np.empty((depths, n * words), dtype=np.uint64)
    rows[0] = packed.ravel()
    spans = np.empty((depths, 2 * n), dtype=np.int64)
    spans[0, :2] = 0, n
    return rows, spans, np.zeros((depths, words), dtype=np.uint64)


def as_max_sets(max_sets: Any) -> int | None:
    """Return the checked limit on the number of point sets of a search, None for no limit."""
    return None if max_sets is None else as_count(max_sets, "max_sets", at_least=1)


def refuse_sets(n_sets: int, max_sets: int | None, table: np.ndarray) -> None:
    """Raise ValueError if a search has tried more than `max_sets` sets of points."""
    if max_sets is not None and n_sets > max_sets:
        n_concepts, n_points = table.shape
        raise ValueError(
            f"max_sets={max_sets}, but H, of {n_concepts} different concepts on {n_points} points, "
            "takes a search through more sets of points."
        )


def separating_columns(table: np.ndarray) -> np.ndarray:
    """Return columns that are not constant, no two equal or opposite, the most balanced last."""
    ones = table.sum(axis=0, dtype=np.int64)
    opposite = np.bitwise_xor(table, table[0])
    packed = np.ascontiguousarray(np.packbits(opposite.T, axis=1))
    first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)[1]
    fewer = np.minimum(ones, len(table) - ones)
    first = np.sort(first[fewer[first] > 0])
    return first[np.argsort(fewer[first], kind="stable")]
