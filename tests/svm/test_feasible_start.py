"""Feasible starts: within bounds, of the required sum, near what they come from."""

import numpy as np
from each import each
from numpy.testing import assert_array_equal

from mlcore.svm.smo.feasible_start import feasible_start


@each("seed", range(20))
def test_feasible_start_is_feasible_and_keeps_bounds(seed):
    rng = np.random.default_rng(seed)
    upper = np.where(rng.random(30) < 0.5, rng.random(30), 0)
    lower = np.where(upper > 0, 0, -rng.random(30))
    beta = feasible_start(2 * rng.normal(size=30), lower, upper)
    assert (beta >= lower).all() and (beta <= upper).all()
    assert abs(beta.sum()) < 1e-12


def test_free_variables_give_way_before_those_at_a_bound():
    lower, upper = np.array([-1.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 1.0])
    start = feasible_start(np.array([-1.0, 2.0, 0.5, 0.25]), lower, upper)
    assert_array_equal(start, [-1.0, 1.0, 0.0, 0.0])
    start = feasible_start(np.array([-0.5, 2.0, 0.5, 0.25]), lower, upper)
    assert_array_equal(start, [-0.5, 0.5, 0.0, 0.0])
    start = feasible_start(np.array([-1.0, 0.25, 0.25, 0.0]), lower, upper)
    assert_array_equal(start, [-0.5, 0.25, 0.25, 0.0])
