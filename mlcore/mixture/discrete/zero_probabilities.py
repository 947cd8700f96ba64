"""Probabilities of 0: what rows hold that is impossible under a component of a discrete mixture."""

import numpy as np
from scipy import sparse as sp

_TINY = np.finfo(np.float64).tiny  # probability: the compiled loops take what is less for 0


def logarithm(p: np.ndarray) -> np.ndarray:
    """Return log p, -inf where p is 0."""
    if p.all():
        return np.log(p)
    with np.errstate(divide="ignore"):
        return np.log(p)


def possible(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log p, with 0 for what is impossible, and 1 for what is, else 0."""
    never = p < _TINY
    return np.log(np.where(never, 1.0, p)), never.astype(np.float64)


def least_impossible(
    X: sp.csr_array, logs: tuple[np.ndarray, np.ndarray], never: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return responsibilities for rows that are impossible under every component.

    They are the limit for probabilities of 0 that go to 0 together: shared among the components to
    which the least part of the row is impossible, by what the rest of it says.

    Parameters
    ----------
    X : (n, n_columns)
    logs : ((k,), (n_columns, k))
        Start and table of the log densities, with 0 for what is impossible.
    never : ((k,), (n_columns, k))
        The same of the impossible values; infinite in the start of components without weight.
    """
    lost = X @ never[1] + never[0]
    least = lost.min(axis=1, keepdims=True)
    rest = np.where(lost <= least * (1 + 1e-9), X @ logs[1] + logs[0], -np.inf)
    proba = np.exp(rest - rest.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)
