"""Formulas on intervals: they hold the exact numbers, and give the floats of single calls."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mlcore import bounds
from mlcore.bounds.directed_rounding import ceiling, exact, expm1, log, log1p, up, working_digits
from mlcore.bounds.intervals import Interval, Undecided

POSITIVE = st.floats(1e-9, 1e9)
OPERATIONS = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: -x * y,
    "quotient": lambda x, y: x / y,
    "with numbers": lambda x, y: 1 - 3 / (x + 1) * exact(y) + Decimal("0.1"),
    "square and root": lambda x, y: (x**2 + 2 * y).sqrt(),
    "logarithms": lambda x, y: log(x) - log1p(y) + log(3),
    "powers": lambda x, y: (-x / 10**8).exp() + expm1(-y / 10**9),
}


def holds(interval, value):
    low, high = (Decimal(np.format_float_positional(end, unique=False, precision=60))
                 for end in (interval.low[0], interval.high[0]))  # fmt: skip
    return low <= value <= high


@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=40)
@given(x=POSITIVE, y=POSITIVE)
def test_intervals_hold_the_exact_value_and_tell_most_floats(name, x, y):
    operation = OPERATIONS[name]
    found = operation(*(Interval.of(np.array([v])) for v in (x, y)))
    with working_digits():
        expected = operation(exact(x), exact(y))
        assert holds(found, expected)
        for rounding in (up, ceiling):
            told = rounding(found)[0]
            assert np.isnan(told) or told == rounding(expected)


def test_what_intervals_cannot_tell_is_said():
    half, third = Interval.of(np.array([0.5])), 1 / Interval.of(np.array([3]))
    assert np.isnan(up(third * 3)[0]) and np.isnan(ceiling(third * 3)[0])
    for question in (lambda: half < third, lambda: bool(half), lambda: abs(half), lambda: half**3,
                     lambda: half == 0.5, lambda: half / (half - half),
                     lambda: Interval.of(np.array([2**60])),
                     lambda: Interval.of(np.array([True])),
                     lambda: half.inside(whole=True), lambda: half.inside(below=0.5)):  # fmt: skip
        with pytest.raises(Undecided):
            question()


RNG = np.random.default_rng(0)
N = 5000
M, DELTA = RNG.integers(2, 10**6, N), RNG.uniform(0.001, 0.45, N)
EPSILON, SIZE = RNG.uniform(0.01, 0.9, N), RNG.uniform(0.1, 9, N)
COUNT = RNG.integers(1, 10**9, N)
CURVES = {
    "hoeffding_epsilon": {"m": M, "delta": DELTA},
    "hoeffding_delta": {"epsilon": EPSILON, "m": M},
    "hoeffding_sample_size": {"epsilon": EPSILON, "delta": DELTA, "value_range": SIZE},
    "dkw_epsilon": {"m": M, "delta": 0.05},
    "mcdiarmid_epsilon": {"c": [0.1, 0.7], "delta": DELTA},
    "finite_class_sample_size": {"n_hypotheses": COUNT, "epsilon": EPSILON, "delta": DELTA},
    "finite_class_epsilon": {"n_hypotheses": 7, "m": M, "delta": DELTA, "setting": "agnostic"},
    "finite_class_delta": {"n_hypotheses": COUNT, "epsilon": EPSILON, "m": M, "tight": True},
    "rectangle_sample_size": {"epsilon": EPSILON, "delta": DELTA, "dim": M, "tight": True},
    "conjunction_sample_size": {"n_variables": M, "epsilon": EPSILON, "delta": DELTA},
    "chernoff_delta": {"t": EPSILON, "mu": SIZE, "tail": "lower", "form": "simple"},
    "bernstein_epsilon": {"m": M, "delta": DELTA, "variance": SIZE, "value_range": 2.0},
    "bernstein_delta": {"epsilon": EPSILON, "m": M, "variance": SIZE},
    "bernstein_sample_size": {"epsilon": EPSILON, "delta": DELTA, "variance": SIZE},
    "empirical_bernstein_epsilon": {"m": M, "delta": DELTA, "sample_variance": SIZE},
    "massart_bound": {"n_vectors": COUNT, "m": M},
    "kernel_rademacher_bound": {"trace": SIZE, "m": M, "norm": SIZE},
    "linear_l1_rademacher_bound": {"x_inf": SIZE, "m": M, "norm1": SIZE, "n_features": COUNT},
    "rademacher_error_bound": {"risk": EPSILON, "rademacher": SIZE / 90, "m": M, "delta": DELTA},
    "hedge_regret_bound": {"n_experts": COUNT, "T": M},
    "ogd_regret_bound": {"norm": SIZE, "lipschitz": EPSILON, "T": M, "schedule": "doubling"},
    "projected_ogd_regret_bound": {"diameter": SIZE, "lipschitz": EPSILON, "T": M},
    "doubling_trick_regret": {"alpha": SIZE, "T": M},
    "weighted_majority_mistake_bound": {"n_experts": COUNT, "best_mistakes": M, "beta": EPSILON},
    "perceptron_mistake_bound": {"radius": SIZE, "margin": EPSILON, "hinge_loss": SIZE},
    "winnow_mistake_bound": {"n_relevant": M, "n": M + COUNT},
    "support_vector_loo_bound": {"n_sv": M // 3, "m": M},
    "radius_margin_loo_bound": {"radius": SIZE, "margin": EPSILON, "m": M},
    "online_to_batch_expected": {"mistakes": M // 3, "T": M},
    "rademacher_margin_bound": {"margin_error": EPSILON / 9, "m": M, "delta": DELTA, "rho": SIZE,
                                "radius": SIZE, "w_norm": EPSILON},
}  # fmt: skip


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_single_calls_to_the_last_bit(name):
    function, given = getattr(bounds, name), CURVES[name]
    curves = {k: v for k, v in given.items() if isinstance(v, np.ndarray)}
    found = function(**given)
    some = RNG.choice(N, 100, replace=False)
    single = [function(**(given | {k: v[i].item() for k, v in curves.items()})) for i in some]
    assert_array_equal(found[some], single)
    assert found.dtype == (np.int64 if isinstance(single[0], int) else np.float64)
    shaped = {k: v.reshape(50, -1) for k, v in curves.items()}
    assert_array_equal(function(**(given | shaped)), found.reshape(50, -1))


def test_long_curves_refuse_as_short_ones_do():
    m = np.full((4, 10), 100)
    m[2, 3] = 0
    with pytest.raises(ValueError, match=r"m\[2, 3\]=0 must be an integer >= 1"):
        bounds.hoeffding_epsilon(m, 0.05)
    with pytest.raises(ValueError, match=r"delta\[7\]=nan must be a finite number"):
        bounds.dkw_epsilon(9, np.where(np.arange(20) == 7, np.nan, 0.1))
    with pytest.raises(ValueError, match=r"m\[0\]=True"):
        bounds.dkw_epsilon(np.ones(20, dtype=bool), 0.1)
    large = np.array([10**30] * 20, dtype=object)
    assert (bounds.dkw_epsilon(large, 0.1) == bounds.dkw_epsilon(10**30, 0.1)).all()
    ranges = bounds.hoeffding_epsilon(np.full(20, 3), 0.1, value_range=[1.0, 2.0, 3.0])
    assert (ranges == bounds.hoeffding_epsilon(3, 0.1, value_range=[1.0, 2.0, 3.0])).all()


def test_the_ceiling_of_an_interval_is_known_if_its_ends_have_the_same():
    low, high = np.array([2.2, 2.0, 2.9, -0.5, 3.0]), np.array([2.4, 2.4, 3.1, -0.4, 3.0])
    assert_array_equal(Interval(low, high).ceiling(), [3.0, np.nan, np.nan, -0.0, 3.0])
