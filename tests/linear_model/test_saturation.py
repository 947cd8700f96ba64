"""Logistic regression where probabilities saturate: evidence, starts, and other samples.

A constant offset moves the intercept alone, so that the optimum is known from the fit without it.
"""

import itertools
import warnings

import numpy as np
import pytest
from each import each
from exact_logistic import ExactLogistic
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import logsumexp, softmax

from mlcore.checks.errors import ConvergenceWarning
from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression
from mlcore.linear_model.logistic.intercepts import (
    feasible_shares,
    relative_entropy,
    solved_intercepts,
)
from mlcore.linear_model.logistic.logistic_pass import LogisticRows

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
KINDS = {
    "l2": {},
    "l-bfgs": {"solver": "lbfgs"},
    "gradient": {"solver": "gradient", "max_iter": 2000},
    "lasso": {"l1_ratio": 1.0},
    "elastic net": {"l1_ratio": 0.5},
    "unpenalised": {"C": np.inf},
}


def irises(k, kind="l2"):
    X, y = load_iris()
    if k == 2:
        return X[50:], y[50:]
    if kind == "unpenalised":  # without penalty, classes that overlap
        y = np.roll(y, 7)
    return X, y


def offsets(k, size, n):
    if k == 2:
        return np.full(n, float(size))
    off = np.zeros((n, k))
    off[:, 1] = size
    return off


def fitted(X, y, offset=None, **options):
    """The model, and if it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = LogisticRegression(**options).fit(X, y, offset=offset)
    assert model.converged_ == (not caught)
    return model


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_offset_moves_the_intercept_alone(kind, k):
    X, y = irises(k, kind)
    plain = LogisticRegression(**KINDS[kind]).fit(X, y)
    # Both forms get offsets of either sign, and forms and sizes meet over kinds and k.
    forms = itertools.cycle(list(FORMS.values())[:: 1 if (len(kind) + k) % 2 else -1])
    for size, form in zip([47, -50, 100, 800, -1e4], forms, strict=False):
        off = offsets(k, size, len(y))
        model = fitted(form(X), y, off, **KINDS[kind])
        assert model.converged_
        rtol = 1e-6 if kind == "gradient" else 1e-8
        assert_allclose(model.objective_, plain.objective_, rtol=rtol)
        expected = plain.intercept_ - (size if k == 2 else off[0] - off[0].mean())
        # A bound of 1e-8 on the excess is one on intercepts of about its root.
        assert_allclose(model.intercept_, expected, rtol=1e-9, atol=0.05)
        if kind == "unpenalised":
            found = model.inference(form(X), y, offset=off)
            expected = plain.inference(X, y)
            assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-5)
            assert_allclose(found.null_deviance, expected.null_deviance, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_intercepts_that_are_off(kind, k):
    X, y = irises(k, kind)
    model = LogisticRegression(**KINDS[kind]).fit(X, y)
    least, at_least = model.objective_, model.intercept_
    for moved in (1.0, 45.0, 60.0, -60.0, 800.0, -1e4):
        model.intercept_ = at_least.copy()
        model.intercept_[-1] += moved
        found = model.verify(X, y)
        excess = found.objective - least
        assert excess > 0.5
        assert found.excess_bound >= excess * (1 - 1e-7)
        assert found.duality_gap >= excess * (1 - 1e-7)
        if kind != "unpenalised":  # intercepts are solved for
            assert found.duality_gap <= excess * (1 + 1e-4) + 1e-4 * least


@pytest.mark.parametrize("kind", ["l2", "l-bfgs", "lasso", "elastic net"])
@pytest.mark.parametrize("factor", [1e-3, 10.0, 100.0, 1e150])
def test_a_warm_start_that_is_worse_than_none_is_dropped(kind, factor):
    X, y = load_iris()
    X, y = X[50:, :3], y[50:]
    cold = LogisticRegression(**KINDS[kind]).fit(X, y)
    model = LogisticRegression(warm_start=True, **KINDS[kind]).fit(X / factor, y).fit(X, y)
    assert model.converged_
    assert_allclose(model.objective_, cold.objective_, rtol=1e-7)
    assert model.objective_trace_[0] <= len(y) * np.log(2)
    again = model.fit(X, y)  # and one that is better is not
    assert again.n_iter_[0] <= 1 and again.objective_trace_[0] < 1.001 * cold.objective_


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    k=st.sampled_from([2, 3]),
    kind=st.sampled_from(["l2", "l-bfgs", "lasso", "elastic net"]),
    size=st.sampled_from([0.0, 1.0, 30.0, 1e3, 1e4]),
    C=st.sampled_from([1e-12, 1e-3, 1.0, 1e3, 1e6, 1e12]),
    shift=st.sampled_from([0.0, 1e5, 1e10]),
)
@example(seed=0, k=2, kind="l2", size=1e4, C=1.0, shift=0.0)
@example(seed=1, k=3, kind="lasso", size=1e4, C=1.0, shift=1e10)
def test_the_gap_bounds_the_excess_whatever_the_offsets(seed, k, kind, size, C, shift):
    """Any dual point is a bound from below: its value is what the fit must not claim to be under.

    The bound P - gap is compared with P at the optimum of another start, in float64 of the rows
    before the shift.
    """
    rng = np.random.default_rng(seed)
    n, d = 30, 2
    Z = rng.normal(size=(n, d))
    X = Z + shift
    y = rng.permutation(np.arange(n) % k)
    off = size * rng.normal(size=n if k == 2 else (n, k))
    options = {"C": C, **KINDS[kind]}
    model = fitted(X, y, off, **options)
    X = X - shift  # exact: what rounding left of Z
    least = fitted(X, y, off, tol=1e-8, **options).objective_
    rounding = 1e-13 * (n + size) * max(1.0, C)
    assert model.objective_ - model.duality_gap_ <= least * (1 + 1e-12) + rounding
    assert model.objective_trace_[-1] == model.objective_


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_the_gap_of_random_offsets_in_50_digits(k, size):
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(20, 2)), rng.permutation(np.arange(20) % k)
    z = size * rng.normal(size=20 if k == 2 else (20, k))
    # An offset of the scores is a column with a coefficient of 1, without penalty if it is large.
    model = fitted(X, y, z)
    exact = ExactWithOffset(X, y, np.ones(20), 1.0, k, z)
    least, *_ = exact.optimum(np.c_[model.coef_, model.intercept_])
    excess = exact.value(np.c_[model.coef_, model.intercept_]) - least
    assert model.duality_gap_ >= excess
    assert model.verify(X, y, offset=z).excess_bound >= excess


class ExactWithOffset(ExactLogistic):
    """The same with offsets of the scores."""

    def __init__(self, X, y, s, C, k, offset):
        super().__init__(X, y, s, C, k)
        self.offset = np.vectorize(float)(offset).reshape(len(X), -1)

    def _probabilities(self, theta):
        # One more row of parameters for each score, of columns that are its offsets.
        X, self.X = self.X, np.c_[self.X, self.offset]
        theta = np.c_[theta, np.eye(self.c)]
        try:
            return super()._probabilities(theta)
        finally:
            self.X = X


def rows_of(scores, y, weight):
    n_scores = scores.shape[1]
    return LogisticRows(np.zeros((len(y), 0)), y, weight, None, n_scores, True)


@each("size", [0.1, 10.0, 300.0, 2e3])
@each("k", [2, 3, 5])
def test_shares_make_residuals_sum_to_zero(k, size):
    rng = np.random.default_rng([k, int(size)])
    n = 40
    y = rng.permutation(np.arange(n) % k)
    weight = rng.uniform(0.5, 2, size=n)
    scores = size * rng.normal(size=(n, 1 if k == 2 else k))
    change = rng.normal(size=scores.shape[1])
    rows = rows_of(scores, y, weight)
    t = feasible_shares(rows, scores, change)
    z = scores + change
    z = np.c_[np.zeros(n), z] if k == 2 else z
    p, Y = softmax(z, axis=1), np.eye(k)[y]
    assert t.min() >= 0 and t.max() <= 1
    residuals = weight[:, None] * t[y][:, None] * (p - Y)
    assert np.abs(residuals.sum(axis=0)).max() <= 1e-13 * n
    # The relative entropy by its definition, where no probability underflows.
    mixed = (1 - t[y])[:, None] * Y + t[y][:, None] * p
    log_p = z - logsumexp(z, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(mixed > 0, mixed * (np.log(mixed) - log_p), 0.0).sum(axis=1)
    found = relative_entropy(rows, scores, change, t)
    assert_allclose(found, weight @ each / weight.sum(), rtol=1e-9, atol=1e-13 * (1 + size))


@each("size", [1.0, 30.0, 1e3])
@each("k", [2, 3])
def test_solved_intercepts_are_those_of_sums_that_agree(k, size):
    rng = np.random.default_rng([k, int(size)])
    n = 60
    y, weight = rng.permutation(np.arange(n) % k), rng.uniform(0.5, 2, size=n)
    scores = rng.normal(size=(n, 1 if k == 2 else k)) + size * np.arange(1 if k == 2 else k)
    scores += size
    solved = solved_intercepts(rows_of(scores, y, weight), scores)
    z = scores + solved.change
    z = np.c_[np.zeros(n), z] if k == 2 else z
    sums = weight @ (softmax(z, axis=1) - np.eye(k)[y])
    assert_allclose(sums, 0, atol=1e-12 * n)
    assert solved.last.value < solved.first.value


def test_a_penalty_that_is_too_small_for_separated_classes_is_no_convergence():
    X, y = load_iris()
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(C=1e100).fit(X[:100] / 8, y[:100])
    assert not model.converged_
    assert model.duality_gap_ >= model.objective_ - 1.9e6  # reached with fewer steps


@each("kind", KINDS)
def test_the_trace_ends_at_the_objective_and_falls(kind):
    X, y = irises(3, kind)
    trace = []
    options = {"callback": lambda objective, **_: trace.append(objective), **KINDS[kind]}
    model = LogisticRegression(**options).fit(X, y)
    found = model.objective_trace_
    assert found[-1] == model.objective_ and len(found) == model.n_iter_[0] + 1
    assert_allclose(found[:-1], trace[:-1], rtol=1e-14)  # the last one may be finished
    assert (np.diff(found) <= 4e-15 * found[:-1]).all() and found[-1] < 0.9 * found[0]
