"""Joint tables: worked numbers, the chain rule, independence by construction, refusals."""

import math

import numpy as np
import pytest
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.bayes import JointTable
from mlcore.entropy import entropy, mutual_information

HYPOTHESES = [[2, 5, 4, 2, 1], [0, 0, 3, 3, 2]]


def test_worked_numbers():
    table = JointTable(HYPOTHESES, names=("h", "x"))
    assert_allclose(table.conditional("x", "h")[2, 1], 3 / 8, rtol=1e-15)
    assert_allclose(table.conditional("h", "x")[1, 2], 3 / 7, rtol=1e-15)
    assert_allclose(table.marginal("h")[0], 14 / 22, rtol=1e-15)


def tables(seed, shape=(2, 3, 4)):
    return np.random.default_rng(seed).integers(0, 9, size=shape)


@settings(max_examples=20, deadline=None)
@example(405)  # a pair of values that never occurs
@given(st.integers(0, 10**6))
def test_chain_rule_and_order_of_axes(seed):
    counts = tables(seed)
    table = JointTable(counts)
    joint = counts / counts.sum()
    assert_allclose(table.marginal([2, 0]), joint.sum(axis=1).T, rtol=1e-13)
    conditional = table.conditional([0, 1], 2)
    rebuilt = conditional.filled(0) * table.marginal(2)
    assert_allclose(rebuilt, joint, rtol=1e-13)
    backwards = table.conditional(2, (1, 0))
    with np.errstate(invalid="ignore"):  # 0 / 0 where the condition never occurs
        expected = (joint / joint.sum(axis=2, keepdims=True)).transpose(2, 1, 0)
    assert_array_equal(backwards.mask, ~np.isfinite(expected))
    assert_allclose(backwards.compressed(), expected[np.isfinite(expected)], rtol=1e-13)


def test_undefined_rows_are_masked():
    table = JointTable([[1, 0], [1, 0]])
    conditional = table.conditional(0, 1)
    assert_array_equal(conditional.mask, [[False, True], [False, True]])
    assert_array_equal(conditional[:, 0], [0.5, 0.5])


@pytest.mark.parametrize("seed", range(3))
def test_independence_by_construction(seed):
    rng = np.random.default_rng(seed)
    a, b, c = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    table = JointTable(np.einsum("i,j,k", a, b, c))
    assert table.independence(0, (1, 2)).holds and table.total_correlation() < 1e-28
    # a and b independent for each c, but not without it.
    given = rng.dirichlet(np.ones(2), size=4), rng.dirichlet(np.ones(3), size=4)
    table = JointTable(np.einsum("ki,kj,k->ijk", *given, c), names=("a", "b", "c"))
    found = table.independence("a", "b", given="c")
    assert found.holds and 0 <= found.mutual_information < 1e-28
    marginally = table.independence("a", "b")
    assert not marginally.holds and marginally.largest_deviation > 1e-6
    expected = mutual_information(table.marginal(("a", "b")))
    assert_allclose(marginally.mutual_information, expected, rtol=1e-12)
    product = np.outer(table.marginal("a"), table.marginal("b"))
    deviation = abs(table.marginal(("a", "b")) - product)
    assert_allclose(deviation[marginally.cell], deviation.max(), rtol=1e-12)


def test_conditional_information_is_a_difference_of_entropies():
    table = JointTable(tables(5) + 1)
    H = {axes: entropy(table.marginal(axes).ravel()) for axes in ((0, 2), (1, 2), (2,), (0, 1, 2))}
    expected = H[0, 2] + H[1, 2] - H[(2,)] - H[0, 1, 2]
    assert_allclose(table.independence(0, 1, 2).mutual_information, expected, rtol=0, atol=1e-14)
    alone = sum(entropy(table.marginal(axis)) for axis in range(3))
    assert_allclose(table.total_correlation(), alone - H[0, 1, 2], rtol=0, atol=1e-14)


def test_exclusive_or_is_independent_in_pairs_alone():
    table = JointTable([[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    assert all(table.independence(a, b).holds for a, b in ((0, 1), (0, 2), (1, 2)))
    found = table.independence(0, 1, given=2)
    assert not found.holds and found.largest_deviation == 0.25
    assert_allclose(found.mutual_information, math.log(2), rtol=1e-14)
    assert_allclose(table.total_correlation(), math.log(2), rtol=1e-14)


@each(
    ("call", "message"),
    [
        (lambda t: t.marginal(2), "axis from 0 to 1 or one of"),
        (lambda t: t.marginal("z"), "'z'"),
        (lambda t: t.marginal((0, "h")), "twice"),
        (lambda t: t.conditional("h", "h"), "different"),
        (lambda t: t.independence(0, 1, 0), "different"),
        (lambda t: t.marginal(True), "True"),
    ],
)
def test_refused_axes(call, message):
    with pytest.raises(ValueError, match=message):
        call(JointTable(HYPOTHESES, names=("h", "x")))


@each(
    ("table", "names", "message"),
    [
        ([[0, 0]], None, "only zeros"),
        ([[1, -1]], None, "negative"),
        ([[1, math.nan]], None, "NaN"),
        ([[1, 2]], ["a"], "2 different names"),
        ([[1, 2]], ["a", "a"], "2 different names"),
        (3, None, "shape"),
    ],
)
def test_refused_tables(table, names, message):
    with pytest.raises(ValueError, match=message):
        JointTable(table, names)
