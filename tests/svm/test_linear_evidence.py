"""Loops of the evidence of linear machines: sums of squared losses and of their brackets."""

import numpy as np
import pytest

from mlcore._ext.svm.linear import evidence as loops
from mlcore.svm.linear.loss_problem import LossProblem


@pytest.mark.parametrize("of_classes", [False, True])
@pytest.mark.parametrize("n", [1, 7, 200])
def test_loops_of_squared_losses_are_their_sums(n, of_classes):
    rng = np.random.default_rng(n)
    f, y, beta = rng.standard_normal((3, n))
    y = np.where(y > 0, 1.0, -1.0) if of_classes else y
    cost, squares = rng.uniform(0.1, 3, n), rng.uniform(0, 9, n)
    cost[::5], beta[::3] = 0, 0
    eps, b = 0.0 if of_classes else 0.4, 0.3
    parts = f, y, cost, eps, of_classes
    e = y - f - b
    r = LossProblem(y, cost, eps, True, of_classes).excess(e)
    expected, own = 2 * cost * r, np.empty(n)
    largest = loops.own_duals(*parts, b, beta, own)
    np.testing.assert_allclose(own, expected, rtol=1e-15)
    np.testing.assert_array_equal(largest, (np.abs(own).max(), np.abs(beta - own).max()))

    share, far = 1e14, 1e15  # errors that count beside the brackets
    error = 2.0**-53 * (share * np.sqrt(squares) + 4 * (np.abs(f) + b + np.abs(y)) + far)
    off = np.abs(r - np.divide(beta, 2 * cost, out=beta.copy(), where=cost > 0))
    brackets = cost * (off + error) ** 2 + beta * (r - e) + eps * np.abs(beta)
    sums = (cost * r**2).sum(), brackets.sum(), np.abs(beta).sum(), off.max(), np.abs(e).max()
    np.testing.assert_allclose(loops.brackets(*parts, b, beta, squares, share, far), sums, 1e-12)


def test_a_nan_stays_in_the_largest_values():
    f, y, cost, beta = np.zeros((4, 9))
    f[3] = np.nan
    cost[:] = y[:] = 1.0
    assert np.isnan(loops.own_duals(f, y, cost, 0.1, False, 0.0, beta, np.empty(9))).all()
    found = loops.brackets(f, y, cost, 0.1, False, 0.0, beta, np.ones(9), 1.0, 0.0)
    assert np.isnan(np.delete(found, 2)).all()
