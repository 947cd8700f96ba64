"""Tables fitted to margins: closed form, conditions of optimality, impossible margins."""

import math

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.checks.errors import ConvergenceWarning
from mlcore.entropy import fit_table

METHODS = ("ipf", "newton")


@pytest.mark.parametrize("solver", METHODS)
def test_two_by_two_in_closed_form(solver):
    # x (x - 10) / ((50 - x)(40 - x)) keeps the odds ratio 10 * 40 / (20 * 30).
    ratio = 10 * 40 / (20 * 30)
    a, b, c = 1 - ratio, 10 + 90 * ratio, -2000 * ratio
    x = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    found = fit_table([[10, 20], [30, 40]], {0: [50, 50], 1: [40, 60]}, solver=solver)
    assert_allclose(found.table, [[x, 50 - x], [40 - x, x + 10]], rtol=1e-8)
    assert found.converged and found.residual <= 1e-10


def three_way(seed, zeros=0.0):
    rng = np.random.default_rng(seed)
    table, goal = rng.random((3, 4, 2)), rng.random((3, 4, 2))
    empty = rng.random(table.shape) < zeros
    table[empty] = goal[empty] = 0
    axes = {(0, 1): goal.sum(axis=2), (2, 1): goal.sum(axis=0).T, 2: goal.sum(axis=(0, 1))}
    return table, axes


@each("solver", METHODS)
@each("seed", range(3))
def test_overlapping_margins_and_the_conditions_of_optimality(solver, seed):
    table, margins = three_way(seed, zeros=0.15)
    found = fit_table(table, margins, solver=solver)
    T = found.table
    total = T.sum()
    assert_allclose(T.sum(axis=2), margins[0, 1], rtol=0, atol=2e-10 * total)
    assert_allclose(T.sum(axis=0).T, margins[2, 1], rtol=0, atol=2e-10 * total)
    assert_array_equal(T == 0, table == 0)
    # ln(T / table) is a sum of functions of the margins' axes.
    i, j, k = np.nonzero(T)
    design = np.hstack([np.eye(12)[i * 4 + j], np.eye(8)[k * 4 + j]])
    logs = np.log(T[i, j, k] / table[i, j, k])
    left = logs - design @ np.linalg.lstsq(design, logs, rcond=None)[0]
    assert abs(left).max() < 1e-7
    assert found.trace[-1] == found.residual and np.isfinite(found.trace).all()
    assert solver == "newton" or len(found.trace) == found.n_iter + 1


def test_odds_ratios_are_kept_and_methods_agree():
    rng = np.random.default_rng(0)
    table, rows, columns = rng.random((5, 4)), rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(4))
    one, other = (fit_table(table, {0: rows, -1: columns}, solver=m).table for m in METHODS)
    assert_allclose(one, other, rtol=1e-7)
    cross = one[:-1, :-1] * one[1:, 1:] / (one[:-1, 1:] * one[1:, :-1])
    before = table[:-1, :-1] * table[1:, 1:] / (table[:-1, 1:] * table[1:, :-1])
    assert_allclose(cross, before, rtol=1e-12)


@pytest.mark.parametrize("solver", METHODS)
def test_cells_that_the_margins_force_to_zero(solver):
    """The sweeps alone would approach these zeros like 1/k."""
    table = np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]])
    found = fit_table(table, {0: [2, 2, 1], 1: [2, 2, 1]}, solver=solver)
    assert_allclose(found.table, np.diag([2.0, 2, 1]), rtol=0, atol=1e-9)
    assert_array_equal(found.table == 0, ~np.eye(3, dtype=bool))
    assert found.n_iter < 60


@pytest.mark.parametrize("solver", METHODS)
def test_zeros_that_cannot_carry_the_margins(solver):
    table = np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]])
    with pytest.raises(ValueError, match=r"no numbers in the positive cells.*margins\[\d\]\[\d\]"):
        fit_table(table, {0: [2, 2, 1], 1: [3, 1, 1]}, solver=solver)
    with pytest.raises(ValueError, match=r"margins\[0\]\[1\] has the target 2, but no positive"):
        fit_table([[1, 1], [0, 0]], {0: [1, 2], 1: [1, 2]}, solver=solver)
    with pytest.raises(ValueError, match="no positive cell"):
        fit_table([[1, 0], [0, 1]], {0: [1, 1], 1: [0, 2]}, solver=solver)


def test_margins_that_contradict_each_other():
    with pytest.raises(ValueError, match=r"one positive total, but have 2, 2.1"):
        fit_table(np.ones((2, 2)), {0: [1, 1], 1: [1, 1.1]})
    with pytest.raises(ValueError, match="no numbers in the positive cells"):
        fit_table(np.ones((2, 2, 2)), {(0, 1): [[1, 1], [1, 1]], (1, 2): [[2, 1], [0.5, 0.5]]})
    almost = fit_table(np.ones((2, 2)), {0: [1, 1], 1: [1, 1 + 1e-10]}, tol=1e-9)
    assert almost.converged


def test_zero_targets_and_one_margin():
    found = fit_table(np.ones((2, 3)), {1: [0, 2, 4]})
    assert_array_equal(found.table, [[0, 1, 2], [0, 1, 2]])
    assert fit_table([2.0, 2.0], {0: [1, 3]}).table.tolist() == [1, 3]


def test_steps_that_run_out_are_told():
    with pytest.warns(ConvergenceWarning, match="fit_table: the residual is"):
        found = fit_table([[10, 20], [30, 40]], {0: [50, 50], 1: [40, 60]}, max_iter=1)
    assert not found.converged and found.n_iter == 1


@each(
    ("margins", "message"),
    [
        ({}, "mapping"),
        ([1, 1], "mapping"),
        ({2: [1, 1]}, "numbers from 0 to 1"),
        ({(0, 0): np.ones((2, 2))}, "different numbers"),
        ({0: [1, 1, 1]}, "must be \\(2,\\)"),
        ({0: [1, -1]}, "negative"),
        ({0: [0, 0]}, "positive total"),
    ],
)
def test_refusals(margins, message):
    with pytest.raises(ValueError, match=message):
        fit_table(np.ones((2, 2)), margins)


def test_a_large_table_of_two_axes_has_its_margins_and_odds_ratios():
    rng = np.random.default_rng(0)
    table = np.exp(rng.normal(size=(90, 120)))
    rows, columns = rng.gamma(2.0, size=90) + 0.1, rng.gamma(2.0, size=120) + 0.1
    columns *= rows.sum() / columns.sum()
    slow = fit_table(table, {0: rows, 1: columns}, solver="newton", tol=1e-13).table
    for margins in ({0: rows, 1: columns}, {(1,): columns, (0,): rows}, {-1: columns, -2: rows}):
        found = fit_table(table, margins)
        assert found.converged and found.residual <= 1e-10
        assert found.trace[-1] == found.residual < found.trace[0]
        sums = [(found.table.sum(axis=1), rows), (found.table.sum(axis=0), columns)]
        error = [abs(got - wanted).max() for got, wanted in sums]
        assert max(error) / rows.sum() == pytest.approx(found.residual, rel=1e-3, abs=1e-15)
        odds = lambda T: T[1:, 1:] * T[0, 0] / (T[1:, :1] * T[:1, 1:])  # noqa: E731
        np.testing.assert_allclose(odds(found.table), odds(table), rtol=1e-11)
        np.testing.assert_allclose(found.table, slow, rtol=1e-6)
    table[3, 5] = 0.0  # sweeps alone
    found = fit_table(table, {0: rows, 1: columns})
    assert found.table[3, 5] == 0 and found.residual <= 1e-10
