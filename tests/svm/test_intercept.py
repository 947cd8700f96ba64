"""The best intercept, against a search over all kinks, and weighted quantiles by sorting."""

import numpy as np
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcore.svm.linear.intercept import best_intercept, weighted_quantile
from mlcore.svm.linear.loss_problem import LossProblem


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.integers(1, 900), st.floats(0, 1))
def test_weighted_quantile(seed, n, part):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=n), int(rng.integers(1, 9)))
    weights = rng.integers(1, 4, size=n).astype(float)
    share = part * weights.sum()
    q = weighted_quantile(values, weights, share)
    tolerance = 1e-9 * weights.sum()
    assert weights[values < q].sum() <= share + tolerance
    assert weights[values <= q].sum() >= share - tolerance or q >= values.max()


@each("n", [3, 40, 700])
@each("squared", [True, False])
@each("of_classes", [True, False])
def test_no_other_intercept_is_better(of_classes, squared, n):
    for seed in range(10 if n < 700 else 2):
        rng = np.random.default_rng([seed, n])
        f = rng.normal(size=n)
        y = np.r_[1.0, -1.0, rng.choice([1.0, -1.0], n - 2)] if of_classes else rng.normal(size=n)
        cost = rng.integers(1, 3, size=n).astype(float)
        problem = LossProblem(y, cost, 0.0 if of_classes else 0.3, squared, of_classes)
        best = problem.losses(y - f - best_intercept(problem, f)).sum()
        kinks = np.concatenate([y - f - problem.eps, y - f + problem.eps])
        others = np.r_[kinks, np.linspace(-4, 4, 199)]
        values = problem.losses(y - f - others[:, None]).sum(axis=1)
        assert best <= values.min() * (1 + 1e-12) + 1e-12


def test_an_interval_has_its_middle():
    problem = LossProblem(np.array([1.0, -1.0]), np.ones(2), 0.0, False, True)
    assert best_intercept(problem, np.zeros(2)) == 0
    values = np.r_[np.zeros(500), np.full(500, 4.0)]
    assert weighted_quantile(values, np.ones(1000), 500.0) == 2
