"""Mixtures of Bernoulli products against EM written out in NumPy, sums over all rows, EM's laws."""

import itertools
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
from scipy.special import logsumexp, xlog1py, xlogy
from scipy.stats import bernoulli
from threadpoolctl import threadpool_limits

from mlcore.mixture import BernoulliMixture
from mlcore.row_sums import RowSums


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
    for step in range(n_steps + 1):
        failures = known * n_trials - filled
        joint = np.log(weights) + xlogy(filled[:, None], means).sum(axis=2)
        joint += xlog1py(failures[:, None], -means).sum(axis=2)  # 0 log 0 = 0
        density = logsumexp(joint, axis=1)
        prior = alpha * np.log(means * (1 - means)).sum() if alpha else 0.0
        trace.append((density.sum() + prior) / len(X))
        if step == n_steps:
            break
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
    assert_allclose(BernoulliMixture(1, alpha=0.0).fit(X).means_[0], X.mean(axis=0), rtol=1e-12)
    smooth = BernoulliMixture(1, alpha=2.0).fit(X)
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


small = settings(max_examples=15, deadline=None)


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
@pytest.mark.parametrize("n_blocks", [1, 7, 40])
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


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_that_binarize_makes_constant_are_told(form):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 3, (3000, 4)).astype(float)  # answers coded 1 and 2
    X[:, 2] = rng.integers(0, 2, 3000)
    X[:, 3] = 1
    said = (
        r"binarize=0 makes 2 of 4 features constant that vary in X \(column 0 from 1 to 2\).*"
        r"binarize=1\.5"
    )
    with pytest.warns(UserWarning, match=said):
        BernoulliMixture(2, random_state=0).fit(form(X))
    with pytest.warns(UserWarning, match="binarize=0 makes 2 of 4"):
        BernoulliMixture(2, random_state=0).begin(form(X))
    low = X - 3
    low[::7] = np.nan
    with pytest.warns(UserWarning, match=r"makes 3 of 4.*column 0 from -2 to -1.*binarize=-1\.5"):
        BernoulliMixture(2, missing="ignore", random_state=0).fit(low)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        BernoulliMixture(2, binarize=1.5, tol=1, random_state=0).fit(form(X[:, :2]))
        BernoulliMixture(2, tol=1, random_state=0).fit(form(X[:, :2] - 1))
        BernoulliMixture(2, tol=1, random_state=0).fit(form(np.ones((5, 3))))


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


@each("alpha", [0.0, 0.01])
@each(
    "X", [np.zeros((5, 3)), np.ones((5, 3)), [[1, 0]], np.eye(4), [[1, 0, 1], [1, 0, 1], [0, 1, 1]]]
)
def test_hard_data_give_finite_answers(X, alpha):
    for k in (1, len(X)):
        model = quietly(BernoulliMixture(k, alpha=alpha, random_state=0), X)
        assert ((model.means_ >= 0) & (model.means_ <= 1)).all()
        assert model.weights_.sum() == pytest.approx(1)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.log_likelihood_trace_).all()


def test_probabilities_of_0_and_1_are_exact():
    model = BernoulliMixture.from_parameters([1.0], [[0.0, 1.0, 0.5]])
    fine, impossible = model.score_samples([[0, 1, 0], [1, 0, 0]])
    assert fine == math.log(0.5) and impossible == -math.inf
    X = [[0, 1, 0], [0, 1, 1], [0, 1, 1]]
    assert_array_equal(BernoulliMixture(1, alpha=0.0).fit(X).means_[0, :2], [0, 1])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_rows_are_certain_without_a_prior(value):
    X = np.full((20, 5), value)
    for data in (X, sp.csr_array(X)):
        model = BernoulliMixture(1, alpha=0.0, tol=0, max_iter=3)
        quietly(model, data)
        assert model.score(data) == 0.0 and model.lower_bound_ == 0.0
        assert_array_equal(model.means_, [[value] * 5])
        assert model.aic(data) == 2 * 5 and model.icl(data) == pytest.approx(math.log(20) * 5)
        other = 1 - X
        assert model.score(other) == -math.inf and model.bic(other) == math.inf
        both, present = np.vstack([X, other]), np.repeat([1, 0], 20)
        assert model.score(both, sample_weight=present) == 0


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("k", [2, 8, 19])  # one vector, one line, and lines that are left out
def test_rows_that_components_exclude(k, flip):
    """Components that are sure of a 0 or a 1 where most rows are otherwise, and holes."""
    rng = np.random.default_rng(k)
    X = (rng.random((400, 10)) < 0.2).astype(float)
    X[::7] = 1
    means = rng.uniform(0.1, 0.9, (k, 10))
    means[rng.random((k, 10)) < 0.2] = 0
    means[rng.random((k, 10)) < 0.2] = 1
    weights = rng.dirichlet(np.ones(k))
    if flip:
        X, means = 1 - X, 1 - means
    X[rng.random(X.shape) < 0.3] = np.nan
    model = BernoulliMixture.from_parameters(weights, means).set_params(missing="ignore", alpha=0)
    known, filled = ~np.isnan(X)[:, None], np.nan_to_num(X)[:, None]
    joint = np.log(weights) + (xlogy(filled, means) + xlog1py(known - filled, -means)).sum(axis=2)
    possible = np.isfinite(joint).any(axis=1)
    assert 0 < possible.sum() < len(X)
    for data in (X, sp.csr_array(X)):
        assert_allclose(model.score_samples(data), logsumexp(joint, axis=1), rtol=1e-12)
        proba = model.predict_proba(data)
        expected = np.exp(joint[possible] - logsumexp(joint[possible], axis=1, keepdims=True))
        assert_allclose(proba[possible], expected, atol=1e-13)
        assert_array_equal(proba[possible] == 0, expected == 0)
        # Any other row: the limit for probabilities that go to 0 together.
        p = np.clip(means, 1e-9, 1 - 1e-9)
        near = np.log(weights) + (xlogy(filled, p) + xlog1py(known - filled, -p)).sum(axis=2)
        near = np.exp(near - logsumexp(near, axis=1, keepdims=True))
        assert_allclose(proba[~possible], near[~possible], atol=1e-7)
        # One step: rows of no component are shared equally.
        r = np.full(joint.shape, 1 / k)
        r[possible] = expected
        found = model.partial_statistics(data)
        assert_allclose(found.mass, r.sum(axis=0), rtol=1e-12)
        of_values = [(r.T @ values[:, 0]).T for values in (filled, known - filled)]
        assert_allclose(found.counts, np.vstack(of_values), rtol=1e-12, atol=1e-12)
        assert found.log_likelihood == -math.inf


def exact_em(X, weights, means, n_steps):
    """Maximum likelihood in extended precision."""
    weights, means, X = (np.asarray(part, dtype=np.longdouble) for part in (weights, means, X))
    for _ in range(n_steps):
        r = weights * np.where(X[:, None] == 1, means, 1 - means).prod(axis=2)
        r /= r.sum(axis=1, keepdims=True)
        weights = r.mean(axis=0)
        means = (r.T @ X) / r.sum(axis=0)[:, None]
    return weights.astype(float), means.astype(float)


@pytest.mark.parametrize("weight", [0.3, 1e-9, 1e-13])
def test_a_dying_component_follows_exact_em(weight):
    rng = np.random.default_rng(3)
    X = (rng.random((60, 6)) < 0.7).astype(float)
    weights, means = [1 - weight, weight], np.array([[0.7] * 6, [0.1, 0.3] * 3])
    for n_steps in (1, 5, 10, 40):
        expected = exact_em(X, weights, means, n_steps)
        model = BernoulliMixture(
            2, alpha=0.0, tol=0, max_iter=n_steps, weights_init=weights, means_init=means
        )
        quietly(model, X)
        assert_allclose(model.weights_, expected[0], rtol=1e-9)
        assert_allclose(model.means_, expected[1], rtol=1e-9, atol=1e-13)


def test_weights_of_any_size_are_those_of_bayes_rule():
    model = BernoulliMixture.from_parameters([1 - 1e-13, 1e-13], [[0.5, 0.5], [1.0, 0.25]])
    proba = model.predict_proba([[1, 0], [0, 0], [1, 1]])
    expected = np.array([1e-13 * 0.75, 0, 1e-13 * 0.25]) / 0.25
    assert_allclose(proba[:, 1], expected, rtol=1e-12)
    model = BernoulliMixture.from_parameters([1.0, 0.0], [[0.0], [1.0]])
    assert_array_equal(model.predict_proba([[1], [0]]), [[1, 0], [1, 0]])
    assert_array_equal(model.score_samples([[1], [0]]), [-math.inf, 0])


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


@each("case", REFUSED)
def test_what_is_refused_leaves_the_old_model(case):
    params, X, message = REFUSED[case]
    model = BernoulliMixture(1).fit([[0, 1], [1, 1]])
    before = model.means_
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X)
    assert model.means_ is before


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_probabilities_next_to_one_are_no_certainties(container, flipped):
    """Rounding 1 - 1e-100 to 1 would keep a component from the rows of the others for ever."""
    X = np.repeat([[0.0] * 200, [1.0] * 200], [30, 20], axis=0)
    X[:, -1] = 1.0  # in all rows: that is certain
    means = np.repeat([[0.1], [0.9]], 200, axis=1)
    if flipped:
        X, means = 1 - X, 1 - means
    model = BernoulliMixture(2, alpha=0.0, tol=0, max_iter=1, weights_init=[0.5] * 2)
    model.set_params(means_init=means).fit(container(X))
    assert_array_equal(model.means_[:, -1], 0.0 if flipped else 1.0)
    other = X[[0, -1]].copy()
    other[:, -1] = 1 - other[:, -1]
    assert_array_equal(model.score_samples(other), -np.inf)
    # Where a row has ones the components cannot both exclude it, whichever it belongs to.
    mixed = X[:1].copy()
    mixed[0, :50] = 1 - mixed[0, :50]
    assert np.isfinite(model.score_samples(mixed)).all()


def log_em(X, weights, means, n_steps):
    """The trace of EM in extended precision that carries the logarithms of p and of 1 - p."""
    X, means = X.astype(np.longdouble), np.asarray(means, np.longdouble)
    log_p, log_q, trace = np.log(means), np.log1p(-means), []
    for step in range(n_steps + 1):
        never, always = np.isneginf(log_p), np.isneginf(log_q)
        joint = X @ np.where(never, 0, log_p).T + (1 - X) @ np.where(always, 0, log_q).T
        joint += np.log(weights)
        joint[X @ never.T + (1 - X) @ always.T > 0] = -np.inf
        top = joint.max(axis=1, keepdims=True)
        r = np.exp(joint - top)
        total = r.sum(axis=1, keepdims=True)
        trace.append((top + np.log(total)).mean())
        if step == n_steps:
            break
        r /= total
        weights, mass = r.mean(axis=0), r.sum(axis=0)[:, None]
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(r.T @ X / mass), np.log(r.T @ (1 - X) / mass)
    return np.array(trace, float)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize(("k", "seed"), [(6, 1), (10, 0)])  # one line of components, and two
def test_probabilities_next_to_0_and_1_are_those_of_em_with_logarithms_of_both(k, seed, flipped):
    """Images of discs: responsibilities of 1e-200, and p or 1 - p as small, decide what EM does."""
    rng = np.random.default_rng(seed)
    centres, radii = rng.uniform(3, 12, (150, 2, 1, 1)), rng.uniform(2, 6, (150, 1, 1))
    squares = (np.arange(16)[:, None] - centres[:, 0]) ** 2 + (np.arange(16) - centres[:, 1]) ** 2
    X = (squares < radii**2).reshape(150, -1).astype(float)
    means = rng.uniform(0.25, 0.75, (k, 256))
    if flipped:
        X, means = 1 - X, 1 - means
    weights = np.full(k, 1 / k)
    model = BernoulliMixture(k, alpha=0.0, tol=0, max_iter=12)
    quietly(model.set_params(weights_init=weights, means_init=means), X)
    # On its way from such a start EM magnifies rounding some thousand times.
    assert_allclose(model.log_likelihood_trace_, log_em(X, weights, means, 12), rtol=0, atol=1e-9)


@each("k", [3, 20, 40, 75])
@each("as_rows", [np.asarray, sp.csr_array])
def test_probabilities_of_0_and_1_exclude_rows_in_any_number_of_components(k, as_rows):
    rng = np.random.default_rng(k)
    means = rng.choice([0.0, 0.2, 0.7, 1.0], size=(k, 30), p=[0.05, 0.45, 0.45, 0.05])
    weights = rng.dirichlet(np.full(k, 5.0))
    model = BernoulliMixture.from_parameters(weights, means)
    X = (rng.random((200, 30)) < means[rng.integers(k, size=200)]).astype(float)
    with np.errstate(divide="ignore"):
        each = np.where(X[:, None] == 1, np.log(means), np.log1p(-means)).sum(axis=2)
        joint = each + np.log(weights)
    expected = logsumexp(joint, axis=1)
    assert_allclose(model.score_samples(as_rows(X)), expected, rtol=1e-12)
    shares = np.exp(joint - expected[:, None])
    found = model.predict_proba(as_rows(X))
    assert_array_equal(found == 0, np.isneginf(joint))
    assert_allclose(found, shares, rtol=1e-10, atol=1e-30)
