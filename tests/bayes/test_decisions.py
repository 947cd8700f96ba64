"""Decisions of least expected loss against enumeration, and their laws."""

import math

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.bayes import map_decision, minimum_risk, posterior


def test_worked_numbers():
    ill = posterior([0.01, 0.99], [0.98, 0.03])
    found = minimum_risk(ill, [[0, 10], [1, 0]])
    assert found.actions == 0
    assert [f"{found.all_risks[0]:.4f}", f"{found.all_risks[1]:.3f}"] == ["0.7519", "2.481"]
    assert found.risks == found.all_risks[0]


def problem(seed, k=4, a=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), size=20), rng.normal(size=(k, a))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4))
def test_risks_are_sums_over_hypotheses(seed, k, a):
    p, loss = problem(seed, k, a)
    found = minimum_risk(p, loss)
    for row, action, risk in zip(p, found.actions, found.risks, strict=True):
        risks = [math.fsum(row[i] * loss[i, j] for i in range(k)) for j in range(a)]
        assert_allclose(risk, min(risks), rtol=0, atol=1e-14)
        assert risks[action] <= min(risks) + 1e-14
    # No better than the best of the constant actions, on the average.
    assert found.risks.mean() <= found.all_risks.mean(axis=0).min() + 1e-14


@pytest.mark.parametrize("seed", range(3))
def test_a_constant_for_each_row_of_the_loss_changes_nothing(seed):
    p, loss = problem(seed)
    shifted = loss + np.arange(4.0)[:, None]
    assert_array_equal(minimum_risk(p, loss).actions, minimum_risk(p, shifted).actions)


@pytest.mark.parametrize("seed", range(3))
def test_zero_one_loss_is_the_largest_posterior(seed):
    rng = np.random.default_rng(seed)
    prior, likelihood = rng.dirichlet(np.ones(5)), rng.random((30, 5))
    found = minimum_risk(posterior(prior, likelihood), 1 - np.eye(5))
    assert_array_equal(found.actions, map_decision(prior, likelihood))


def test_rejection_by_the_rule_of_chow():
    p = np.array([[0.95, 0.05], [0.85, 0.15], [0.5, 0.5], [0.89, 0.11]])
    loss = [[0, 1, 0.12], [1, 0, 0.12]]
    expected = np.where(p.max(axis=1) < 1 - 0.12, 2, p.argmax(axis=1))
    assert_array_equal(minimum_risk(p, loss).actions, expected)


def test_the_lowest_of_equal_actions():
    assert minimum_risk([0.5, 0.5], [[1, 0, 0], [0, 1, 1]]).actions == 0


@each(
    ("p", "loss", "message"),
    [
        ([0.5, 0.4], np.eye(2), "sums to 0.9"),
        ([[0.5, 0.5], [2, 0]], np.eye(2), "sums to 2"),
        ([0.5, 0.5], np.eye(3), r"loss has shape \(3, 3\)"),
        ([0.5, 0.5], np.ones((2, 0)), "a column for each action"),
        ([0.5, 0.5], [0, 1], "loss has shape"),
        ([0.5, 0.5], [[0, math.inf], [1, 0]], "loss has NaN or infinity"),
        ([-0.5, 1.5], np.eye(2), "negative"),
    ],
)
def test_refusals(p, loss, message):
    with pytest.raises(ValueError, match=message):
        minimum_risk(p, loss)
