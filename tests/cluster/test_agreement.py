"""Agreement of partitions: scikit-learn, exact fractions, permutations, worked numbers, laws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore import cluster, entropy
from mlcore.cluster import (
    adjusted_mutual_information,
    adjusted_rand_index,
    completeness,
    contingency_matrix,
    fowlkes_mallows_index,
    homogeneity,
    mutual_information,
    normalized_mutual_information,
    pair_confusion_matrix,
    v_measure,
)
from mlcore.cluster.scores.expected_information import expected_information

AVERAGES = "arithmetic", "geometric", "min", "max"
SCORES = {
    "mutual_information": "mutual_info_score",
    "normalized_mutual_information": "normalized_mutual_info_score",
    "adjusted_mutual_information": "adjusted_mutual_info_score",
    "homogeneity": "homogeneity_score",
    "completeness": "completeness_score",
    "v_measure": "v_measure_score",
    "adjusted_rand_index": "adjusted_rand_score",
    "fowlkes_mallows_index": "fowlkes_mallows_score",
}
OF_COPIES = (
    "adjusted_mutual_information",
    "adjusted_rand_index",
    "fowlkes_mallows_index",
    "pair_confusion_matrix",
)
FIRST, SECOND = ([int(digit) for digit in labels] for labels in ("0001112222", "0011112202"))


def test_worked_numbers():
    """Computed with mpmath in 40 digits."""
    assert_allclose(mutual_information(FIRST, SECOND), 0.673011667009257, rtol=1e-14)
    by_chance = expected_information(np.bincount(FIRST), np.bincount(SECOND))
    assert_allclose(by_chance, 0.293261283947050, rtol=1e-14)
    for score in (normalized_mutual_information, v_measure):
        assert_allclose(score(FIRST, SECOND), 0.618065646292154, rtol=1e-14)
    assert_allclose(adjusted_mutual_information(FIRST, SECOND), 0.477289990001457, rtol=1e-14)
    assert_allclose(adjusted_rand_index(FIRST, SECOND), 19 / 44, rtol=1e-15)
    assert_allclose(fowlkes_mallows_index(FIRST, SECOND), 7 / 12, rtol=1e-15)


@settings(max_examples=25)
@given(st.integers(2, 60), st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_scikit_learn(n, k, m, seed):
    from sklearn import metrics

    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, k, n), rng.integers(0, m, n)
    equal = len(np.unique(a)) == len(np.unique(b)) == len(np.unique(a * m + b))
    for name, peer in SCORES.items():
        if equal and name == "fowlkes_mallows_index":
            continue
        found, expected = getattr(cluster, name)(a, b), getattr(metrics, peer)(a, b)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)
        assert isinstance(found, float)
    assert_array_equal(contingency_matrix(a, b), metrics.cluster.contingency_matrix(a, b))
    assert_array_equal(pair_confusion_matrix(a, b), metrics.cluster.pair_confusion_matrix(a, b))
    for average in AVERAGES:
        of_peer = dict(average_method=average)
        expected = metrics.normalized_mutual_info_score(a, b, **of_peer)
        found = normalized_mutual_information(a, b, average=average)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        if n not in (len(np.unique(a)), len(np.unique(b))):  # its 0 / 0 is rounding over rounding
            expected = metrics.adjusted_mutual_info_score(a, b, **of_peer)
            found = adjusted_mutual_information(a, b, average=average)
            assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    expected = metrics.v_measure_score(a, b, beta=0.3)
    assert_allclose(v_measure(a, b, beta=0.3), expected, rtol=1e-12, atol=1e-12)


def test_names_of_scikit_learn():
    for name, alias in SCORES.items():
        assert getattr(cluster, alias) is getattr(cluster, name)


def probability(k, a, b, n):
    return Fraction(math.comb(a, k) * math.comb(n - a, b - k), math.comb(n, b))


@each(
    ("a", "b"),
    [
        ([1], [1]),
        ([5], [2, 3]),
        ([3, 4], [1, 6]),
        ([10, 1, 1], [4, 4, 4]),
        ([1] * 6, [2, 4]),
        ([30, 50, 20], [60, 40]),
        ([300, 99_700], [500, 99_500]),  # logarithms of factorials would lose six digits
        ([99_999, 1], [1, 99_999]),
    ],
)
def test_expected_information_in_fractions(a, b):
    n, total = sum(a), 0.0
    for size, other in itertools.product(a, b):
        for k in range(max(1, size + other - n), min(size, other) + 1):
            chance = float(probability(k, size, other, n))
            total += chance * k / n * math.log(n * k / (size * other))
    found = expected_information(np.array(a), np.array(b))
    assert_allclose(found, total, rtol=1e-11, atol=1e-15)


def test_expected_information_is_the_mean_over_all_permutations():
    a, b = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1, 2])
    every = {tuple(order) for order in itertools.permutations(b)}
    mean = np.mean([mutual_information(a, order) for order in every])
    assert_allclose(expected_information(np.bincount(a), np.bincount(b)), mean, rtol=1e-12)


def test_expected_information_of_many_sizes_whatever_the_threads(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = np.bincount(rng.integers(0, 30, 90_000)), np.bincount(rng.integers(0, 25, 90_000))
    with threadpool_limits(1, user_api="openmp"):
        expected = expected_information(a, b)
    with threadpool_limits(3, user_api="openmp"):
        assert expected_information(a, b) == expected
    # Of independent margins 2 n I has about the chi-squared distribution.
    assert_allclose(expected, 29 * 24 / (2 * 90_000), rtol=0.01)
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 30_000)
    assert_allclose(expected_information(a, b), expected, rtol=1e-13)


def test_a_million_labels_adjusted_for_chance():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 1000, (2, 1_000_000))
    assert abs(adjusted_mutual_information(a, b)) < 1e-3
    assert normalized_mutual_information(a, b) > 0.05


@settings(max_examples=25)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_laws(n, k, seed):
    rng = np.random.default_rng(seed)
    a, b, weights = rng.integers(0, k, n), rng.integers(0, 4, n), rng.integers(0, 4, n)
    weights[0] = 2
    order, names = rng.permutation(n), np.array(["e", "d", "c", "b", "a"])
    copies = np.repeat(np.arange(n), weights)
    for name in (*SCORES, "pair_confusion_matrix", "contingency_matrix"):
        score = getattr(cluster, name)
        exact = dict(rtol=1e-11, atol=1e-13)
        assert_allclose(score(a[order], b[order]), score(a, b), **exact, err_msg=name)
        found = score(a, b, sample_weight=weights)
        assert_allclose(found, score(a[copies], b[copies]), **exact, err_msg=name)
        if name != "contingency_matrix":
            assert_allclose(score(names[a], -0.5 * b), score(a, b), **exact, err_msg=name)
    assert_allclose(homogeneity(a, b), completeness(b, a), rtol=1e-13)
    for name in ("mutual_information", "adjusted_mutual_information", "fowlkes_mallows_index"):
        score = getattr(cluster, name)
        assert_allclose(score(a, b), score(b, a), rtol=1e-11, atol=1e-13)
    h, c = homogeneity(a, b), completeness(a, b)
    expected = 3 * h * c / (2 * h + c) if h * c else 0.0
    assert_allclose(v_measure(a, b, beta=2.0), expected, rtol=1e-13)


def test_weights_of_any_size():
    rng = np.random.default_rng(0)
    a, b, weights = rng.integers(0, 3, 50), rng.integers(0, 4, 50), rng.random(50)
    table = np.zeros((3, 4))
    np.add.at(table, (a, b), weights)
    assert_allclose(contingency_matrix(a, b, sample_weight=weights), table, rtol=1e-14)
    found = mutual_information(a, b, sample_weight=weights)
    assert_allclose(found, entropy.mutual_information(table), rtol=1e-12)
    for scale in (1e-300, 1e-9, 1e290):
        again = mutual_information(a, b, sample_weight=scale * weights)
        assert_allclose(again, found, rtol=1e-12)
    shares = table.sum(axis=1) / table.sum(), table.sum(axis=0) / table.sum()
    h, c = homogeneity(a, b, sample_weight=weights), completeness(a, b, sample_weight=weights)
    assert_allclose(h * entropy.entropy(shares[0]), found, rtol=1e-12)
    assert_allclose(c * entropy.entropy(shares[1]), found, rtol=1e-12)


def test_nearly_independent_partitions_keep_their_digits():
    """A cell of 1e6 + 1 beside 1e6: half the square of 1e-6 / 4, of which ln has no digits."""
    a, b = [0, 0, 1, 1], [0, 1, 0, 1]
    table = np.array([[10**6 + 1, 10**6], [10**6, 10**6]], dtype=object)
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    # sum of (n_ij - mu)² / (2 n mu), less a relative 1e-6
    means = [[Fraction(int(r * c), int(n)) for c in columns] for r in rows]
    square = sum((table[i, j] - means[i][j]) ** 2 / means[i][j] for i in (0, 1) for j in (0, 1))
    weights = table.ravel().astype(float)
    found = mutual_information(a, b, sample_weight=weights)
    assert_allclose(found, float(square / (2 * int(n))), rtol=1e-5)
    weights[0] = 10**6
    assert mutual_information(a, b, sample_weight=weights) == 0


def test_partitions_of_one_part_and_of_as_many_as_samples():
    one, each_own, halves = np.zeros(6), np.arange(6), np.arange(6) % 2
    for name in SCORES:
        score = getattr(cluster, name)
        if name != "mutual_information":
            for labels in (one, each_own, halves):
                assert score(labels, labels + 1) == 1, name
        else:
            assert_allclose(score(each_own, each_own), np.log(6), rtol=1e-15)
            assert score(one, each_own) == score(one, one) == 0
    for average in AVERAGES:
        for trivial in (one, each_own):
            assert adjusted_mutual_information(halves, trivial, average=average) == 0
            assert adjusted_mutual_information(trivial, halves, average=average) == 0
        assert normalized_mutual_information(one, halves, average=average) == 0
    assert normalized_mutual_information(each_own, halves, average="min") == 1
    assert (homogeneity(halves, each_own), completeness(each_own, halves)) == (1, 1)
    assert_array_equal(contingency_matrix([3], ["a"]), [[1]])


def test_tables_of_many_parts_are_sparse():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 1500, (2, 3000))
    found = contingency_matrix(a, b, sparse=True)
    assert sp.issparse(found) and found.nnz <= 3000
    assert_array_equal(found.toarray(), contingency_matrix(a, b))
    dense = np.zeros((len(np.unique(a)), len(np.unique(b))), dtype=int)
    np.add.at(dense, tuple(np.unique(x, return_inverse=True)[1] for x in (a, b)), 1)
    assert_array_equal(found.toarray(), dense)
    halves = contingency_matrix(a, b, sparse=True, sample_weight=np.full(3000, 0.5))
    assert_array_equal(halves.toarray(), 0.5 * dense)


def test_a_table_that_does_not_fit_is_a_memory_error(monkeypatch):
    monkeypatch.setattr("mlcore.runtime.memory.free_bytes", lambda: 10**6)
    labels = np.arange(2000)
    with pytest.raises(MemoryError, match="The table of 2000 x 2000.*pass sparse=True"):
        contingency_matrix(labels, labels)
    assert contingency_matrix(labels, labels, sparse=True).nnz == 2000


@each("name", OF_COPIES)
def test_pairs_of_fractions_are_refused(name):
    score = getattr(cluster, name)
    with pytest.raises(ValueError, match=rf"{name}: sample_weight\[1\] is 0.5, .* whole"):
        score([0, 1], [0, 1], sample_weight=[1, 0.5])
    with pytest.raises(ValueError, match="at most 9007199254740992 copies"):
        score([0, 1], [0, 1], sample_weight=[2.0**53, 2.0**53])


@each(
    ("call", "error", "message"),
    [
        (lambda: normalized_mutual_information([0], [0], average="mean"), ValueError,
         "average='mean'.*one of 'arithmetic'"),
        (lambda: adjusted_mutual_information([0], [0], average=None), TypeError, "average=None"),
        (lambda: v_measure([0], [0], beta=-1.0), ValueError, "beta=-1"),
        (lambda: homogeneity([0, 1], [0]), ValueError, "inconsistent numbers of samples"),
        (lambda: completeness([0], [0], sample_weight=[-1]), ValueError, "Negative values"),
        (lambda: contingency_matrix([0], [0], sparse="yes"), TypeError, "sparse='yes'"),
        (lambda: pair_confusion_matrix([0, 1], [0, 1], sample_weight=[2e9, 2e9]), ValueError,
         "4000000000 samples have more pairs"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- the adjusted Rand index


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_adjusted_rand_index_is_scikit_learns(n, k, m, seed):
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, k, n), rng.integers(0, m, n)
    expected = adjusted_rand_score(a, b)
    assert_allclose(adjusted_rand_index(a, b), expected, rtol=1e-12, atol=1e-15)
    assert adjusted_rand_index(a, b) == adjusted_rand_index(b, a)
    assert adjusted_rand_index(a, 7 - a) == 1
    assert_allclose(adjusted_rand_index(a.astype(str), b), expected, rtol=1e-12, atol=1e-15)


def test_adjusted_rand_index_counts_without_overflow():
    """Of 200,000 samples products of pairs are beyond 64 bits."""
    a = np.arange(200_000) % 2
    assert adjusted_rand_index(a, a) == 1
    assert abs(adjusted_rand_index(a, np.arange(200_000) % 3)) < 1e-5


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1], [0, 1, 2], r"inconsistent numbers of samples: \[2, 3\]: X and labels"),
        ([], [], "labels_true is empty"),
        (None, [0], "labels_true"),
        ([0, 1], [0, np.nan], "labels contains NaN"),
    ],
)
def test_labels_that_are_none_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        adjusted_rand_index(a, b)
