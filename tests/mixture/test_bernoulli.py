"""Mixtures of Bernoulli products against EM written out in NumPy, sums over all rows, EM's laws."""

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import logsumexp
from scipy.stats import bernoulli
from threadpoolctl import threadpool_limits

from mlcore.mixture import BernoulliMixture
from mlcore.row_sums import RowSums

LEAST = 1e-6  # probabilities are kept so far from 0 and 1 in logarithms


def bits(n=200, d=11, k=3, seed=0):
    """Rows of k components, and their parameters."""
    rng = np.random.default_rng([n, d, k, seed])
    means = rng.beta(0.6, 0.6, (k, d))
    labels = rng.integers(0, k, n)
    return (rng.random((n, d)) < means[labels]).astype(float), means, labels


def start(k, d, seed=0):
    rng = np.random.default_rng([k, d, seed])
    return {
        "n_components": k,
        "weights_init": np.arange(1.0, k + 1) / (k * (k + 1) / 2),
        "means_init": rng.uniform(0.2, 0.8, (k, d)),
    }


def em(X, weights, means, *, alpha, n_steps, n_trials=1):
    """Textbook EM, dense; NaN takes no part."""
    known, filled = ~np.isnan(X), np.nan_to_num(X)
    trace = []
    for _ in range(n_steps):
        p = np.clip(means, LEAST, 1 - LEAST)
        joint = np.log(weights) + filled @ np.log(p).T
        joint += (known * n_trials - filled) @ np.log(1 - p).T
        density = logsumexp(joint, axis=1)
        trace.append((density.sum() + alpha * np.log(p * (1 - p)).sum()) / len(X))
        r = np.exp(joint - density[:, None])
        weights = r.mean(axis=0)
        means = (r.T @ filled + alpha) / (r.T @ (known * n_trials) + 2 * alpha)
    return weights, means, np.array(trace)


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def with_holes(X, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    ("n", "d", "k"), [(1, 1, 1), (17, 3, 1), (200, 11, 3), (150, 40, 8), (90, 7, 9), (80, 4, 35)]
)
def test_each_step_is_that_of_textbook_em(n, d, k, alpha, holes):
    X, _, _ = bits(n, d, max(2, k // 2))
    if holes:
        X[1:] = with_holes(X[1:])
    given = start(k, d)
    if n < k:
        pytest.skip("fewer rows than components")
    weights, means, trace = em(
        X, given["weights_init"], given["means_init"], alpha=alpha, n_steps=6
    )
    missing = "ignore" if holes else "error"
    for data in (X, 1 - X, sp.csr_array(X), sp.csc_array(X)):
        flip = data is not X and not sp.issparse(data)
        options = {**given, "means_init": 1 - given["means_init"]} if flip else given
        model = BernoulliMixture(alpha=alpha, missing=missing, tol=0, max_iter=6, **options)
        quietly(model, data)
        assert_allclose(model.weights_, weights, rtol=0, atol=1e-10)
        assert_allclose(1 - model.means_ if flip else model.means_, means, rtol=0, atol=1e-10)
        assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-10, atol=1e-13)


def test_one_component_is_the_share_of_ones():
    X, _, _ = bits()
    assert_allclose(BernoulliMixture(alpha=0.0).fit(X).means_[0], X.mean(axis=0), rtol=1e-12)
    smooth = BernoulliMixture(alpha=2.0).fit(X)
    assert_allclose(smooth.means_[0], (X.sum(axis=0) + 2) / (len(X) + 4), rtol=1e-12)


def test_densities_are_scipys_and_sum_to_one():
    _, means, _ = bits(d=7, k=2)
    means = np.clip(means, 0.01, 0.99)
    model = BernoulliMixture.from_parameters([0.3, 0.7], means)
    every = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    joint = [
        math.log(w) + bernoulli.logpmf(every, m).sum(axis=1)
        for w, m in zip((0.3, 0.7), means, strict=True)
    ]
    density = logsumexp(joint, axis=0)
    assert_allclose(model.score_samples(every), density, rtol=1e-10)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1, rel=1e-10)
    assert_allclose(model.predict_proba(every), np.exp(np.array(joint) - density).T, atol=1e-10)
    row = every[77].copy()
    row[[0, 4, 5]] = np.nan
    same = (every[:, [1, 2, 3, 6]] == row[[1, 2, 3, 6]]).all(axis=1)
    model.missing = "ignore"
    found = model.score_samples([row, np.full(7, np.nan)])
    assert_allclose(np.exp(found), [np.exp(density)[same].sum(), 1], rtol=1e-10)


def test_components_are_recovered():
    X, means, labels = bits(n=3000, d=30, k=2)
    model = quietly(BernoulliMixture(2, random_state=0, n_init=3, tol=1e-7), X)
    match = [int(np.argmin(np.abs(model.means_ - m).sum(axis=1))) for m in means]
    assert sorted(match) == [0, 1]
    # About 1500 rows each: five standard errors of a proportion.
    error = 5 * np.sqrt(means * (1 - means) / 1400) + 1e-3
    assert (np.abs(model.means_[match] - means) < error).all()
    assert (np.array(match)[labels] == model.predict(X)).mean() > 0.99


small = settings(max_examples=30, deadline=None)


@small
@given(st.integers(0, 10**6), st.integers(4, 60), st.integers(1, 9), st.sampled_from([0.0, 0.1]))
def test_laws_of_em(seed, n, d, alpha):
    X, _, _ = bits(n, d, 2, seed)
    options = {**start(2, d, seed), "alpha": alpha, "tol": 0, "max_iter": 15}
    trace = quietly(BernoulliMixture(**options), X).log_likelihood_trace_
    # Rounding of the sums.
    assert (np.diff(trace) > -1e-10 * (1 + np.abs(trace[1:]))).all()
    rng = np.random.default_rng(seed)
    options["max_iter"] = 4
    model = quietly(BernoulliMixture(**options), X)
    assert_allclose(
        quietly(BernoulliMixture(**options), rng.permutation(X)).means_, model.means_, atol=1e-10
    )
    times = rng.integers(0, 3, n)
    times[:2] += 1
    weighted = quietly(BernoulliMixture(**options), X, sample_weight=times)
    repeated = quietly(BernoulliMixture(**options), X.repeat(times, axis=0))
    assert_allclose(weighted.means_, repeated.means_, atol=1e-10)
    assert_allclose(weighted.weights_, repeated.weights_, atol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_blocks", [1, 7, 100])
def test_blocks_merge_to_the_serial_step(n_blocks, form):
    X, _, _ = bits(n=500)
    options = {**start(3, 11), "alpha": 0.2, "tol": 0, "max_iter": 3, "missing": "ignore"}
    X = with_holes(X)
    X[:200] = np.nan_to_num(X[:200])  # some blocks have nothing missing
    model = BernoulliMixture(**options)
    assert isinstance(model, RowSums)
    model.begin(form(X))
    for _ in range(3):
        total = None
        for block in np.array_split(X, n_blocks):
            part = pickle.loads(pickle.dumps(model.partial_statistics(form(block))))
            total = part if total is None else model.merge(total, part)
        model.update(total)
    serial = quietly(BernoulliMixture(**options), X)
    assert_allclose(model.means_, serial.means_, rtol=0, atol=1e-12)
    assert_allclose(model.weights_, serial.weights_, rtol=0, atol=1e-12)


def test_the_same_bytes_for_any_number_of_threads():
    X, _, _ = bits(n=30_000, d=23)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            model = quietly(BernoulliMixture(alpha=0.0, tol=0, max_iter=3, **start(3, 23)), X)
            found.append(model.means_.tobytes() + model.predict_proba(X).tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", [np.float32, bool, np.int8, np.uint64, object])
def test_any_type_gives_the_same(dtype):
    X, _, _ = bits()
    model = quietly(BernoulliMixture(**start(3, 11)), X)
    other = quietly(BernoulliMixture(**start(3, 11)), X.astype(dtype))
    assert_array_equal(other.means_, model.means_)
    assert_array_equal(other.predict_proba(X.astype(dtype)), model.predict_proba(X))


def test_binarize_sets_the_threshold():
    X = np.random.default_rng(0).normal(size=(50, 6))
    model = quietly(BernoulliMixture(2, binarize=0.2, random_state=0), X)
    plain = quietly(BernoulliMixture(2, random_state=0), X > 0.2)
    assert_array_equal(model.means_, plain.means_)
    assert_array_equal(model.predict(sp.csr_array(X)), plain.predict(X > 0.2))
    # By default what is positive is 1; strictly, nothing else is taken.
    assert_array_equal(
        quietly(BernoulliMixture(2, random_state=0), 3 * (X > 0.2)).means_, plain.means_
    )
    strict = quietly(BernoulliMixture(2, binarize=None, random_state=0), X > 0.2)
    assert_array_equal(strict.means_, plain.means_)
    with pytest.raises(ValueError, match="binarize=-1 makes ones of the zeros"):
        model.set_params(binarize=-1.0).predict(sp.csr_array(X))


def test_partial_fit_and_warm_start_go_on():
    X, _, _ = bits(n=4000, k=2)
    given = start(2, 11)
    once = quietly(BernoulliMixture(tol=0, max_iter=8, **given), X)
    twice = quietly(BernoulliMixture(tol=0, max_iter=4, warm_start=True, **given), X)
    quietly(twice, X)
    assert_allclose(twice.means_, once.means_, rtol=1e-12)
    model = BernoulliMixture(alpha=0.1, **given)
    for block in np.array_split(X, 20):
        model.partial_fit(block)
    whole = quietly(BernoulliMixture(alpha=0.1, tol=1e-9, **given), X)
    assert_allclose(model.means_, whole.means_, atol=0.05)


# ---- hard data


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize(
    "X", [np.zeros((5, 3)), np.ones((5, 3)), [[1, 0]], np.eye(4), [[1, 0, 1], [1, 0, 1], [0, 1, 1]]]
)
def test_hard_data_give_finite_answers(X, alpha):
    for k in (1, len(X)):
        model = quietly(BernoulliMixture(k, alpha=alpha, random_state=0), X)
        assert ((model.means_ >= 0) & (model.means_ <= 1)).all()
        assert model.weights_.sum() == pytest.approx(1)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.log_likelihood_trace_).all()


def test_probabilities_of_exactly_0_and_1_stay_finite():
    model = BernoulliMixture.from_parameters([1.0], [[0.0, 1.0, 0.5]])
    fine, impossible = model.score_samples([[0, 1, 0], [1, 0, 0]])
    assert fine == pytest.approx(math.log(0.5) + 2 * math.log1p(-LEAST))
    assert impossible == pytest.approx(math.log(0.5) + 2 * math.log(LEAST))
    X = [[0, 1, 0], [0, 1, 1], [0, 1, 1]]
    assert_array_equal(BernoulliMixture(alpha=0.0).fit(X).means_[0, :2], [0, 1])


def test_samples_come_from_the_mixture():
    model = BernoulliMixture.from_parameters([0.3, 0.7], [[0.0, 0.2], [1.0, 0.6]])
    model.random_state = 0
    X, labels = model.sample(4000)
    assert_array_equal(X[:, 0], labels)
    # Five standard errors of a proportion.
    assert abs(labels.mean() - 0.7) < 5 * math.sqrt(0.21 / 4000)
    assert abs(X[labels == 1, 1].mean() - 0.6) < 5 * math.sqrt(0.24 / 2500)


STRICT = {"binarize": None}
REFUSED = {
    "count": (STRICT, [[0.0, 2.0]], "holds 2 at row 0, column 1, but.* must hold 0 and 1 only"),
    "fraction": (STRICT, [[0.5, 1.0]], "holds 0.5 at row 0, column 0, but"),
    "negative": (STRICT, [[1.0, -1.0]], "holds -1 at row 0, column 1, but"),
    "sparse": (STRICT, sp.csr_array([[0.0, 3.0]]), "holds 3 at row 0, column 1, but"),
    "missing": ({}, [[1.0, np.nan]], "NaN"),
    "means": (
        {"means_init": [[1.2, 0.0]]},
        [[0, 1]],
        r"means_init must hold probabilities, in \[0",
    ),
    "alpha": ({"alpha": -1}, [[0, 1]], "alpha=-1 must be"),
    "option": ({"missing": "drop"}, [[0, 1]], "missing='drop' must be one of"),
    "threshold": ({"binarize": np.nan}, [[0, 1]], "binarize=nan must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_leaves_the_old_model(case):
    params, X, message = REFUSED[case]
    model = BernoulliMixture().fit([[0, 1], [1, 1]])
    before = model.means_
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X)
    assert model.means_ is before
