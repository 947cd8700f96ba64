"""Mixtures of multinomials against EM written out in NumPy, SciPy's densities, and EM's laws."""

import math
import pickle
import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import logsumexp
from scipy.stats import multinomial
from threadpoolctl import threadpool_limits

from mlcore.mixture import MultinomialMixture
from mlcore.row_sums import RowSums


def counts(n=200, d=12, k=3, length=20, seed=0):
    """Rows of `k` topics, and their parameters."""
    rng = np.random.default_rng([n, d, k, seed])
    topics = rng.dirichlet(np.full(d, 0.5), k)
    labels = rng.integers(0, k, n)
    return rng.multinomial(rng.poisson(length, n), topics[labels]).astype(float), topics, labels


def start(k, d, seed=0):
    rng = np.random.default_rng([k, d, seed])
    return {
        "n_components": k,
        "weights_init": np.arange(1.0, k + 1) / (k * (k + 1) / 2),
        "means_init": rng.dirichlet(np.full(d, 5.0), k),
    }


def em(X, weights, u, *, alpha, n_steps, sample_weight=None):
    """Textbook EM, dense, step after step: parameters, objectives at the start and after each."""
    w = np.ones(len(X)) if sample_weight is None else sample_weight
    trace = []
    for step in range(n_steps + 1):
        with np.errstate(divide="ignore"):
            joint = np.log(weights) + X @ np.log(np.where(u > 0, u, 1)).T
        joint[X @ (u == 0).T > 0] = -np.inf  # and 0 log 0 = 0
        density = logsumexp(joint, axis=1)
        prior = alpha * np.log(u).sum() if alpha else 0.0
        trace.append((w @ density + prior) / w.sum())
        if step == n_steps:
            break
        r = np.exp(joint - density[:, None]) * w[:, None]
        weights = r.sum(axis=0) / w.sum()
        lost = weights == 0
        moved = r.T @ X + alpha
        with np.errstate(invalid="ignore"):  # a component that has lost its rows stays as it is
            u = np.where(lost[:, None], u, moved / moved.sum(axis=1, keepdims=True))
    return weights, u, np.array(trace)


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n", "d", "k"), [(1, 1, 1), (17, 3, 1), (200, 12, 3), (150, 40, 8), (90, 7, 9), (120, 11, 45)]
)
def test_each_step_is_that_of_textbook_em(n, d, k, alpha):
    if n < k:
        pytest.skip("fewer rows than components")
    X, _, _ = counts(n, d, max(2, k // 2))
    given = start(k, d)
    weights, u, trace = em(X, given["weights_init"], given["means_init"], alpha=alpha, n_steps=7)
    for data in (X, sp.csr_array(X), sp.coo_array(X)):
        model = quietly(MultinomialMixture(alpha=alpha, tol=0, max_iter=7, **given), data)
        assert_allclose(model.weights_, weights, rtol=0, atol=1e-10)
        assert_allclose(model.means_, u, rtol=0, atol=1e-10)
        assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-10)
    assert model.n_iter_ == 7
    assert not model.converged_


@pytest.mark.parametrize(
    ("k", "length", "alpha"),
    [(9, 300, 0.0), (20, 60, 0.01), (30, 900, 0.01), (70, 15, 0.0), (530, 40, 0.01)],
)
def test_components_far_from_a_row_are_left_out_of_no_result(k, length, alpha):
    # Lines of components are skipped where a bound shows them to be negligible: rows of many words
    # settle at once, short ones never, and those between now and then come back.
    X, topics, _ = counts(n=min(4 * k, 600), d=150, k=k, length=length)
    how = start(k, 150) | {"means_init": 0.2 * topics[::-1] + 0.8 / 150}
    model = quietly(MultinomialMixture(**how, alpha=alpha, tol=0, max_iter=15), X)
    weights, u, trace = em(X, how["weights_init"], how["means_init"], alpha=alpha, n_steps=15)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-11)
    assert_allclose(model.weights_, weights, rtol=1e-8, atol=1e-14)
    assert_allclose(model.means_, u, rtol=1e-7, atol=1e-12)
    assert (np.diff(model.log_likelihood_trace_) >= -1e-12 * abs(trace[0])).all()


def test_one_component_is_maximum_likelihood_in_closed_form():
    X, _, _ = counts()
    model = MultinomialMixture(1, alpha=0.0).fit(X)
    assert_allclose(model.means_[0], X.sum(axis=0) / X.sum(), rtol=1e-12)
    smooth = MultinomialMixture(1, alpha=2.0).fit(X)
    expected = (X.sum(axis=0) + 2) / (X.sum() + 2 * X.shape[1])
    assert_allclose(smooth.means_[0], expected, rtol=1e-12)


def test_densities_are_scipys_without_the_multinomial_coefficient():
    X, topics, _ = counts(n=40, k=2)
    model = MultinomialMixture.from_parameters([0.3, 0.7], topics)
    lengths = X.sum(axis=1)
    joint = [
        math.log(w) + multinomial.logpmf(X, lengths, u / u.sum())
        for w, u in zip((0.3, 0.7), topics, strict=True)
    ]
    coefficient = np.array(
        [
            math.lgamma(t + 1) - sum(math.lgamma(v + 1) for v in x)
            for x, t in zip(X, lengths, strict=True)
        ]
    )
    density = logsumexp(joint, axis=0)
    assert_allclose(model.score_samples(X), density - coefficient, rtol=1e-10)
    assert_allclose(model.predict_proba(X), np.exp(np.array(joint) - density).T, atol=1e-10)
    assert_array_equal(model.predict(X), np.argmax(joint, axis=0))
    assert model.score(X) == pytest.approx((density - coefficient).mean(), rel=1e-10)
    n_parameters = 1 + 2 * (X.shape[1] - 1)
    total = (density - coefficient).sum()
    assert model.aic(X) == pytest.approx(-2 * total + 2 * n_parameters)
    assert model.bic(X) == pytest.approx(-2 * total + math.log(40) * n_parameters)
    p = model.predict_proba(X)
    entropy = -np.sum(p * np.log(np.where(p > 0, p, 1)))
    assert model.icl(X) == pytest.approx(model.bic(X) + 2 * entropy)


def test_the_probabilities_of_all_rows_of_one_length_sum_to_one():
    """Over all sequences of three words of three, the density sums to 1."""
    model = MultinomialMixture.from_parameters([0.4, 0.6], [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    words = np.array(np.meshgrid(*[range(3)] * 3)).reshape(3, -1).T
    X = np.array([np.bincount(row, minlength=3) for row in words])
    assert np.exp(model.score_samples(X)).sum() == pytest.approx(1, abs=1e-9)


def test_topics_are_recovered():
    X, topics, labels = counts(n=3000, d=30, k=3, length=60)
    model = quietly(MultinomialMixture(3, random_state=0, n_init=3), X)
    match = [int(np.argmin(np.abs(model.means_ - u).sum(axis=1))) for u in topics]
    assert sorted(match) == [0, 1, 2]
    # Each topic has about 1000 * 60 words: five standard errors of a proportion.
    error = 5 * np.sqrt(topics * (1 - topics) / 50_000) + 1e-4
    assert (np.abs(model.means_[match] - topics) < error).all()
    assert (np.array(match)[labels] == model.predict(X)).mean() > 0.99
    assert (np.diff(model.weights_) <= 0).all()


# ---- laws of EM

small = settings(max_examples=15, deadline=None)


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 10**6))
    n, d, k = draw(st.integers(3, 60)), draw(st.integers(1, 9)), draw(st.integers(1, 3))
    X, _, _ = counts(n, d, k, length=draw(st.sampled_from([1, 5, 40])), seed=seed)
    return X, start(k, d, seed), draw(st.sampled_from([0.0, 0.1, 1.0]))


@small
@given(problems())
def test_the_objective_never_decreases(problem):
    X, given, alpha = problem
    trace = quietly(
        MultinomialMixture(alpha=alpha, tol=0, max_iter=30, **given), X
    ).log_likelihood_trace_
    # Rounding of the sums.
    assert (np.diff(trace) > -1e-10 * (1 + np.abs(trace[1:]))).all()


@small
@given(problems(), st.integers(0, 100))
def test_order_and_copies_of_rows(problem, seed):
    X, given, alpha = problem
    model = quietly(MultinomialMixture(alpha=alpha, tol=0, max_iter=4, **given), X)
    rng = np.random.default_rng(seed)
    turned = quietly(
        MultinomialMixture(alpha=alpha, tol=0, max_iter=4, **given), rng.permutation(X)
    )
    assert_allclose(turned.means_, model.means_, atol=1e-10)
    times = rng.integers(0, 3, len(X))
    times[: given["n_components"]] += 1
    options = {"alpha": alpha, "tol": 0, "max_iter": 4, **given}
    weighted = quietly(MultinomialMixture(**options), X, sample_weight=times)
    repeated = quietly(MultinomialMixture(**options), X.repeat(times, axis=0))
    assert_allclose(weighted.means_, repeated.means_, atol=1e-10)
    assert_allclose(weighted.weights_, repeated.weights_, atol=1e-10)


@pytest.mark.parametrize("n_blocks", [1, 7, 100])
def test_blocks_merge_to_the_serial_step(n_blocks):
    X, _, _ = counts(n=500)
    given = start(3, 12)
    model = MultinomialMixture(alpha=0.2, tol=0, max_iter=3, **given)
    assert isinstance(model, RowSums)
    model.begin(X)
    for _ in range(3):
        total = None
        for block in np.array_split(X, n_blocks):
            part = pickle.loads(pickle.dumps(model.partial_statistics(block)))
            total = part if total is None else model.merge(total, part)
        model.update(total)
    serial = quietly(MultinomialMixture(alpha=0.2, tol=0, max_iter=3, **given), X)
    assert_allclose(model.means_, serial.means_, rtol=0, atol=1e-12)
    assert_allclose(model.weights_, serial.weights_, rtol=0, atol=1e-12)


def test_the_same_bytes_for_any_number_of_threads():
    X, _, _ = counts(n=20_000, d=20, length=40)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            model = quietly(MultinomialMixture(alpha=0.0, tol=0, max_iter=3, **start(3, 20)), X)
            found.append(model.means_.tobytes() + model.predict_proba(X).tobytes())
    assert found[0] == found[1] == found[2]


def test_float32_and_the_number_of_calls_change_nothing(monkeypatch):
    X, _, _ = counts(n=300)
    given = start(3, 12)
    model = quietly(MultinomialMixture(**given), X)
    single = quietly(MultinomialMixture(**given), X.astype(np.float32))
    assert_array_equal(single.means_, model.means_)
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 6000)
    cut = quietly(MultinomialMixture(**given), X)
    assert_allclose(cut.means_, model.means_, rtol=0, atol=1e-12)
    assert_array_equal(cut.predict(X), model.predict(X))


def test_labels_come_block_by_block(monkeypatch):
    X, topics, _ = counts(n=100)
    model = MultinomialMixture.from_parameters(np.full(3, 1 / 3), topics)
    labels, density = model.predict(X), model.score_samples(X)
    monkeypatch.setattr("mlcore.mixture.discrete.sparse_e_step._ROWS", 7)
    assert_array_equal(model.predict(X), labels)
    assert_array_equal(model.score_samples(X), density)
    assert_array_equal(model.predict_proba(X).argmax(axis=1), labels)


def test_partial_fit_over_many_blocks_comes_near_the_fit():
    X, topics, _ = counts(n=6000, d=10, k=2, length=50)
    given = start(2, 10, seed=3)
    model = MultinomialMixture(alpha=0.1, **given)
    for block in np.array_split(X, 30):
        model.partial_fit(block)
    whole = quietly(MultinomialMixture(alpha=0.1, tol=1e-9, **given), X)
    assert_allclose(model.means_, whole.means_, atol=0.01)
    assert model.total_weight_ == 6000


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_expected_statistics_give_the_parameters_again(alpha):
    X, _, _ = counts()
    model = quietly(MultinomialMixture(alpha=alpha, **start(3, 12)), X)
    components = model._fitted_components()
    parameters = components.parameters(model)
    known = components.expected(parameters, model.total_weight_)
    scaled = type(known)(*(model.total_weight_ * value for value in known))
    again, collapsed = components.maximize(scaled, parameters)
    assert_allclose(again.table.T, model.means_, rtol=1e-10, atol=1e-14)
    assert not collapsed.any()


def test_warm_start_goes_on():
    X, _, _ = counts()
    given = start(3, 12)
    once = quietly(MultinomialMixture(tol=0, max_iter=8, **given), X)
    twice = quietly(MultinomialMixture(tol=0, max_iter=4, warm_start=True, **given), X)
    quietly(twice, X)
    assert_allclose(twice.means_, once.means_, rtol=1e-12, atol=1e-15)


# ---- hard data


def test_a_row_impossible_under_every_component():
    model = MultinomialMixture.from_parameters([1.0], [[0.5, 0.5, 0.0]])
    assert_array_equal(model.score_samples([[1, 0, 3], [0, 0, 0]]), [-math.inf, 0])
    stored = sp.csr_array(([0.0, 2.0], [2, 0], [0, 2]), shape=(1, 3))  # 0 log 0 = 0
    assert_allclose(model.score_samples(stored), 2 * math.log(0.5), rtol=1e-15)
    two = MultinomialMixture.from_parameters([0.5, 0.5], [[1, 0, 0], [0, 1, 0]])
    assert_array_equal(two.predict_proba([[0, 0, 10**8]]), [[0.5, 0.5]])
    # What is less impossible, and then likelier by the rest, as for probabilities that go to 0.
    three = MultinomialMixture.from_parameters(
        [0.2, 0.5, 0.3], [[0.9, 0.1, 0, 0], [0.3, 0.7, 0, 0], [0, 0, 0.5, 0.5]]
    )
    X = [[1, 1, 1, 0], [1, 0, 2, 0], [0, 2, 1, 0]]
    proba = three.predict_proba(X)
    first = np.array([0.2 * 0.09, 0.5 * 0.21])
    assert_allclose(proba[0], [*(first / first.sum()), 0], rtol=1e-12)
    assert_array_equal(proba[1], [0, 0, 1])
    assert_array_equal(three.predict(X), [1, 2, 1])


def test_rows_that_a_start_excludes_are_shared_at_first():
    X = np.array([[2.0, 0, 1], [0, 3, 0], [0, 0, 4]])
    model = MultinomialMixture(
        2, alpha=0.0, tol=0, max_iter=30, weights_init=[0.5, 0.5], means_init=np.eye(3)[:2]
    )
    quietly(model, X)
    trace = model.log_likelihood_trace_
    assert trace[0] == -math.inf and np.isfinite(trace[1:]).all()
    assert (np.diff(trace[1:]) > -1e-12).all()


@pytest.mark.parametrize("weight", [1e-9, 1e-13])
@pytest.mark.parametrize("k", [2, 12])
def test_small_components_follow_exact_em(k, weight):
    """In extended precision, and where lines of components are left out."""
    rng = np.random.default_rng(k)
    X = rng.multinomial(12, rng.dirichlet(np.ones(6), 80)).astype(np.longdouble)
    u = rng.dirichlet(np.ones(6), k).astype(np.longdouble)
    weights = np.r_[(1 - weight) / (k - 1) * np.ones(k - 1), weight].astype(np.longdouble)
    given = {"weights_init": weights.astype(float), "means_init": u.astype(float)}
    for _ in range(10):
        r = weights * (u ** X[:, None]).prod(axis=2)
        r /= r.sum(axis=1, keepdims=True)
        weights, u = r.mean(axis=0), r.T @ X
        u /= u.sum(axis=1, keepdims=True)
    model = quietly(MultinomialMixture(k, alpha=0.0, tol=0, max_iter=10, **given), X.astype(float))
    assert_allclose(model.weights_, weights.astype(float), rtol=1e-8)
    assert_allclose(model.means_, u.astype(float), rtol=1e-8, atol=1e-12)


@each("alpha", [0.0, 0.01])
@each(
    "X",
    [
        np.zeros((5, 3)),
        np.ones((5, 3)),
        np.full((4, 2), 1e8),
        np.eye(4),
        [[1, 0, 0], [1, 0, 0], [0, 0, 7]],
        [[0, 2, 0], [0, 3, 0]],
    ],
)
def test_hard_data_give_finite_answers(X, alpha):
    for k in (1, 2, len(X)):
        model = quietly(MultinomialMixture(k, alpha=alpha, random_state=0), X)
        assert np.isfinite(model.means_).all()
        assert_allclose(model.means_.sum(axis=1), 1)
        assert model.weights_.sum() == pytest.approx(1)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.log_likelihood_trace_).all()


def test_a_component_that_loses_its_samples_is_reported():
    X = np.repeat([[50.0, 0.0]], 5, axis=0)
    model = MultinomialMixture(
        2, alpha=0.0, weights_init=[0.5, 0.5], means_init=[[0.9, 0.1], [0.1, 0.9]]
    )
    with pytest.warns(match="components .1. have lost all their samples"):
        model.fit(X)
    assert_array_equal(model.collapsed_components_, [1])
    assert_allclose(model.weights_, [1, 9.0**-50], rtol=1e-10)  # of exact EM
    X *= 10  # responsibilities that are no numbers
    with pytest.warns(match="components .1. have lost all their samples"):
        assert_array_equal(model.fit(X).weights_, [1, 0])


def test_samples_come_from_the_mixture():
    model = MultinomialMixture.from_parameters([0.25, 0.75], [[0.9, 0.1], [0.2, 0.8]])
    model.random_state = 0
    X, labels = model.sample(4000, n_words=10)
    assert (X.sum(axis=1) == 10).all()
    # Five standard errors of a proportion.
    assert abs(labels.mean() - 0.75) < 5 * math.sqrt(0.25 * 0.75 / 4000)
    share = X[labels == 1, 0].mean() / 10
    assert abs(share - 0.2) < 5 * math.sqrt(0.2 * 0.8 / 30_000)


REFUSED = {
    "negative": ({}, [[1.0, -2.0]], "Negative values in data.*-2"),
    "negative sparse": ({}, sp.csr_array([[1.0, -2.0]]), "Negative values in data.*-2"),
    "alpha": ({"alpha": -1.0}, [[1.0, 2.0]], "alpha=-1.0 must be a finite number >= 0"),
    "sums": ({"means_init": [[0.5, 0.2]]}, [[1.0, 2.0]], "means_init must be .*sum of row 0 0.7"),
    "shape": ({"means_init": [[1.0]]}, [[1.0, 2.0]], r"means_init has shape \(1, 1\)"),
    "weights": ({"weights_init": [0.5]}, [[1.0, 2.0]], "weights_init must be .*sum 0.5"),
    "rows": ({"n_components": 2}, [[1.0, 2.0]], "n_samples=1"),
}


@each("case", REFUSED)
def test_what_is_refused_leaves_the_old_model(case):
    params, X, message = REFUSED[case]
    model = MultinomialMixture(1).fit([[1, 2], [3, 0]])
    before = model.means_.copy()
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X)
    assert_array_equal(model.means_, before)
