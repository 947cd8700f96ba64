"""Graphs and partitions for the tests of cuts."""

import functools
import itertools

import numpy as np


def graph(n, density=1.0, seed=0, dtype=np.float64):
    """A random symmetric matrix of weights between 0 and 1, some of them 0."""
    rng = np.random.default_rng([n, int(100 * density), seed])
    K = rng.random((n, n)) * (rng.random((n, n)) < density)
    K = np.triu(K)
    return (K + np.triu(K, 1).T).astype(dtype)


@functools.cache
def sides(n):
    """All partitions of n samples into two, sample 0 on side 0, a row each."""
    return np.array([(0, *rest) for rest in itertools.product([0, 1], repeat=n - 1) if any(rest)])


def cuts(K, parted):
    """The weight between the two sides of each partition."""
    return ((parted @ K) * (1 - parted)).sum(axis=1)
