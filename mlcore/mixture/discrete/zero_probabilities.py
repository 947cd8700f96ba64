"""Probabilities of 0 in discrete mixtures, and rows that they make impossible."""

import numpy as np
from scipy import sparse as sp

_TINY = np.finfo(np.float64).tiny  # the compiled loops take smaller probabilities for 0


def logarithm(p: np.ndarray) -> np.ndarray:
    """Return log p, -inf where p is 0."""
    if p.all():
        return np.log(p)
    with np.errstate(divide="ignore"):
        return np.log(p)


def possible(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log p, 0 where p is 0; and an indicator, 1 where p is 0."""
    never = p < _TINY
    return np.log(np.where(never, 1.0, p)), never.astype(np.float64)


def least_impossible(
    X: sp.csr_array, logs: tuple[np.ndarray, np.ndarray], never: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return responsibilities for rows that are impossible under every component.

    They are the limit for zeros that go to 0 together: only components with the fewest impossible
    values count. `logs` are constants (k,) and table (n_columns, k) of the log-densities, with 0
    for impossible values; `never` counts these, with infinite constants for weights of 0.
    """
    count = X @ never[1] + never[0]
    least = count.min(axis=1, keepdims=True)
    rest = np.where(count <= least * (1 + 1e-9), X @ logs[1] + logs[0], -np.inf)
    proba = np.exp(rest - rest.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)
