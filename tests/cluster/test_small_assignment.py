"""Steps of Lloyd's algorithm in one call, and all seeds in one, against one step at a time."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from contract import case
from mlcore.cluster.k_means.assignment import Assignment
from mlcore.cluster.k_means.lloyd import lloyd
from mlcore.cluster.k_means.origin_and_unit import choose_units
from mlcore.cluster.k_means.small_assignment import SmallAssignment
from mlcore.cluster.k_means.starts.seeding import k_means_plus_plus
from mlcore.numerics.seeds.row_sampler import RowSampler

SHAPES = [(1, 1, 1), (7, 1, 7), (60, 3, 4), (150, 4, 3), (65, 17, 30), (500, 2, 9)]


def samples(n, d, weighted, dtype, seed):
    rng = np.random.default_rng([n, d, seed])
    X = rng.integers(-3, 4, size=(n, d)) + (seed % 2) * 0.3 * rng.normal(size=(n, d))
    weights = rng.integers(1, 5, size=n) * 10.0 ** rng.integers(-14, 1, size=n)
    return X.astype(dtype), weights if weighted else np.empty(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_steps_in_one_call_are_those_made_one_by_one(n, d, k, dtype):
    for weighted, max_iter, seed in itertools.product([False, True], [1, 3, 200], range(2)):
        with case("weighted" if weighted else "plain", max_iter, seed):
            check_steps(n, d, k, dtype, weighted, max_iter, seed)


def check_steps(n, d, k, dtype, weighted, max_iter, seed):
    X, weights = samples(n, d, weighted, dtype, seed)
    units, moments = choose_units(X, weights)
    # Equal centres, of which some have no samples.
    centers = units.place(X[np.random.default_rng(seed).integers(0, n, size=k)])
    told = [], []
    one, other = (
        lloyd(kind, centers, max_iter, 0.0, moments.squares, lambda *step, to=to: to.append(step))
        for kind, to in zip(
            (
                SmallAssignment(X, weights, units, k),
                Assignment(X, weights, units, k, max_iter),
            ),
            told,
            strict=True,
        )
    )
    assert_array_equal(one.labels, other.labels)
    assert (one.n_iter, one.converged) == (other.n_iter, other.converged)
    # Sums that labels join and leave: a few roundings of the largest value for each.
    atol = 1e3 * np.finfo(dtype).eps * np.abs(X).max(initial=1.0)
    assert_allclose(one.centers, other.centers, rtol=0, atol=atol)
    scale = moments.squares + atol
    assert_allclose(one.inertia, other.inertia, rtol=0, atol=1e3 * np.finfo(dtype).eps * scale)
    assert_allclose(one.trace, other.trace, rtol=0, atol=1e3 * np.finfo(dtype).eps * scale)
    assert [step for step, _, _ in told[0]] == [step for step, _, _ in told[1]]


@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_seeds_in_one_call_are_those_drawn_one_by_one(n, d, k):
    for weighted, seed in itertools.product([False, True], range(4)):
        with case("weighted" if weighted else "plain", seed):
            check_seeds(n, d, k, weighted, seed)


def check_seeds(n, d, k, weighted, seed):
    X, weights = samples(n, d, weighted, np.float64, seed)
    units, _ = choose_units(X, weights)
    sampler = RowSampler(X, weights)
    drawn = (
        k_means_plus_plus(data, weights, units, k, np.random.default_rng(seed), sampler)
        for data in (X, sp.csr_array(X))
    )
    one, other = (X[rows] for rows in drawn)
    assert len(np.unique(one, axis=0)) == len(one)
    assert len(one) == min(k, len(np.unique(X, axis=0)))
    assert_array_equal(one, other)
