"""Mixtures of Gaussians against scikit-learn, SciPy's densities, and laws that hold for any EM."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as Peer
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.mixture import GaussianMixture
from mlcore.mixture.gaussian.covariances import TYPES
from mlcore.mixture.gaussian.e_step import Rows
from mlcore.row_sums import RowSums

KINDS = ("full", "tied", "diag", "spherical")
kinds = pytest.mark.parametrize("kind", KINDS)


def blobs(n=600, d=4, k=3, seed=0, apart=3.0):
    """Rows of `k` correlated clusters, and the clusters."""
    rng = np.random.default_rng([n, d, k, seed])
    labels = rng.integers(0, k, n)
    shapes = rng.normal(size=(k, d, d)) / np.sqrt(d) + np.eye(d)
    centres = apart * rng.normal(size=(k, d))
    return np.einsum("nd,nde->ne", rng.normal(size=(n, d)), shapes[labels]) + centres[
        labels
    ], labels


def start(X, kind, k):
    """The same start for everyone: k rows, unequal weights, the variances of the whole."""
    v, d = X.var(axis=0, dtype=np.float64), X.shape[1]
    precisions = {
        "full": np.repeat(np.diag(1 / v)[None], k, 0),
        "tied": np.diag(1 / v),
        "diag": np.repeat(1 / v[None], k, 0),
        "spherical": np.full(k, d / v.sum()),
    }
    return {
        "n_components": k,
        "covariance_type": kind,
        "weights_init": np.arange(1.0, k + 1) / (k * (k + 1) / 2),
        "means_init": X[:k].astype(np.float64),
        "precisions_init": precisions[kind],
    }


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def peer_densities(model, X):
    """log of weight times density, by SciPy."""
    d = X.shape[1]
    shapes = {
        "full": lambda j: model.covariances_[j],
        "tied": lambda j: model.covariances_,
        "diag": lambda j: np.diag(model.covariances_[j]),
        "spherical": lambda j: model.covariances_[j] * np.eye(d),
    }
    return np.stack(
        [
            np.log(w) + multivariate_normal(m, shapes[model.covariance_type](j)).logpdf(X)
            for j, (w, m) in enumerate(zip(model.weights_, model.means_, strict=True))
        ],
        axis=1,
    )


# ---- starts


@pytest.mark.parametrize(
    ("X", "k", "seeds"),
    [
        pytest.param(make_blobs(600, 3, centers=3, random_state=0)[0], 3, 25, id="blobs"),
        pytest.param(load_iris().data, 3, 25, id="iris"),
    ],
)
def test_plain_data_end_at_the_best_known_from_every_seed(X, k, seeds):
    ends = [quietly(GaussianMixture(k, random_state=seed), X).score(X) for seed in range(seeds)]
    best = max(Peer(k, n_init=20, random_state=0).fit(X).score(X), *ends)
    assert min(ends) > best - 0.005


@kinds
@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e4])
def test_starts_find_clusters_that_no_unit_shows(kind, unit):
    """Two clusters in a feature of small variance, beside one of large variance and no clusters."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    X = np.column_stack([unit * (8 * labels + rng.normal(size=400)), rng.uniform(0, 12, 400)])
    if kind == "spherical":
        X[:, 1] *= unit / 12
    fitted = quietly(GaussianMixture(2, covariance_type=kind, random_state=1), X)
    assert adjusted_rand_score(fitted.predict(X), labels) > 0.98


@kinds
def test_init_params_say_where_fits_begin(kind):
    X, labels = blobs(600, 3, 3, apart=40.0)
    centres = np.array([X[labels == j].mean(axis=0) for j in range(3)])

    def begun(init_params, seed):
        model = GaussianMixture(3, covariance_type=kind, init_params=init_params, random_state=seed)
        return model.begin(X).means_

    for init_params in ("kmeans", "k-means++"):
        nearest = np.abs(begun(init_params, 0)[:, None] - centres).max(axis=2)
        assert (nearest.min(axis=1) < 1e-9 * np.abs(X).max()).all()  # sums of 200 rows
        assert len(set(nearest.argmin(axis=1))) == 3
    for seed in range(3):
        drawn = begun("random", seed)
        assert (np.abs(drawn[:, None] - X).max(axis=2).min(axis=1) < 1e-12).all()
        assert_array_equal(drawn, begun("random_from_data", seed))


# ---- oracles


@kinds
@pytest.mark.parametrize(("n", "d", "k"), [(40, 1, 1), (513, 2, 3), (1033, 17, 5), (900, 33, 4)])
def test_the_same_start_leads_where_scikit_learn_goes(kind, n, d, k):
    X, _ = blobs(n, d, k)
    options = start(X, kind, k) | {"tol": 0, "max_iter": 12, "reg_covar": 1e-6}
    model, peer = GaussianMixture(**options).fit(X), quietly(Peer(**options), X)
    assert model.n_iter_ == 12 and len(model.log_likelihood_trace_) == 13
    # Twelve steps of sums over n rows, and covariances whose condition is a few hundred.
    rtol = 1e-9
    # scikit-learn's is before the last step.
    assert_allclose(model.log_likelihood_trace_[-2], peer.lower_bound_, rtol=1e-10)
    assert_allclose(model.lower_bound_, peer.score(X), rtol=1e-10)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        expected = getattr(peer, name)
        atol = rtol * np.abs(expected).max()
        assert_allclose(getattr(model, name), expected, rtol=rtol, atol=atol, err_msg=name)
    assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-8)
    assert_array_equal(model.predict(X), peer.predict(X))
    for criterion in ("score", "aic", "bic"):
        assert_allclose(getattr(model, criterion)(X), getattr(peer, criterion)(X), rtol=1e-10)


@kinds
def test_densities_are_scipys(kind):
    X, _ = blobs(1500, 5, 4)
    model = GaussianMixture(4, covariance_type=kind, random_state=0).fit(X)
    joint = peer_densities(model, X)
    density = logsumexp(joint, axis=1)
    assert_allclose(model.score_samples(X), density, rtol=1e-10, atol=1e-9)  # conditions of 1e4
    assert_allclose(model.predict_proba(X), np.exp(joint - density[:, None]), atol=1e-9)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-14)
    assert_array_equal(model.predict(X), joint.argmax(axis=1))
    one_by_one = np.concatenate([model.score_samples(X[i : i + 1]) for i in range(40)])
    assert_array_equal(one_by_one, model.score_samples(X)[:40])


@kinds
@pytest.mark.parametrize("apart", [0.5, 1.5, 3.0])
def test_components_are_left_out_only_where_they_do_not_count(kind, apart):
    """Masses of components that see the rows from afar: all digits, down to 2^-64 of a row."""
    X, _ = blobs(3000, 9, 7, apart=apart)
    model = quietly(GaussianMixture(max_iter=3, **start(X, kind, 7)), X)
    far = model.means_.copy()
    far[1] += np.linspace(3, 4, 9) * X.std(axis=0)
    model = GaussianMixture.from_parameters(model.weights_, far, model.covariances_, kind)
    rows = Rows(X, None, TYPES[kind], model.origin_)
    log_joint = peer_densities(model, X)
    r = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    for _ in range(3):  # the likeliest components, by which the work is saved, are known after one
        found = rows.statistics(model._fitted_components().parameters(model))
        assert_allclose(found.mass, r.sum(axis=0), rtol=1e-9, atol=len(X) * 2.0**-63)
        assert_allclose(found.log_likelihood, logsumexp(log_joint, axis=1).sum(), rtol=1e-12)
        away = X[:, None] - model.means_
        first = np.einsum("nk,nkd->kd", r, away)
        assert_allclose(found.first, first, rtol=1e-7, atol=1e-9)


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_the_sums_of_their_definition(kind, dtype):
    for d in (1, 2, 3, 4, 5, 7, 8, 11, 12, 13):  # up to 12 by loops of their own
        with case(d):
            moments_are_the_sums(kind, d, dtype)


def moments_are_the_sums(kind, d, dtype):
    X, _ = blobs(1100, d, 6, apart=1.0)  # a block, and part of one
    X = (X + 5).astype(dtype)
    weight = np.random.default_rng(d).uniform(0.5, 2, len(X)).astype(dtype).astype(np.float64)
    model = quietly(GaussianMixture(max_iter=1, tol=0, **start(X, kind, 6)), X)
    found = Rows(X, weight, TYPES[kind], X.mean(axis=0)).statistics(
        model._fitted_components().parameters(model)
    )
    X = X.astype(np.float64)
    log_joint = peer_densities(model, X)
    r = weight[:, None] * np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    away = X[:, None] - model.means_
    # Each responsibility is wrong by some roundings of its density's logarithm, which is up to 100
    # for a covariance of condition 100: 1e4 roundings in all, of sums without regard to sign.
    eps = 1e4 * np.finfo(dtype).eps
    assert_allclose(found.mass, r.sum(axis=0), rtol=eps)
    size = np.einsum("nk,nkd->kd", r, np.abs(away))
    assert (np.abs(found.first - np.einsum("nk,nkd->kd", r, away)) <= eps * size).all()
    if kind in ("diag", "spherical"):
        assert_allclose(found.second, np.einsum("nk,nkd->kd", r, away**2), rtol=eps)
    elif kind == "full":
        size = np.einsum("nk,nkd,nke->kde", r, np.abs(away), np.abs(away))
        second = np.einsum("nk,nkd,nke->kde", r, away, away)
        assert (np.abs(found.second - second) <= eps * size).all()
        assert_array_equal(found.second, found.second.transpose(0, 2, 1))


@kinds
def test_a_single_component_is_the_maximum_likelihood_estimate(kind):
    X, _ = blobs(300, 3, 1)
    model = GaussianMixture(1, covariance_type=kind).fit(X)
    S = np.cov(X.T, bias=True)
    expected = {"full": S[None], "tied": S, "diag": np.diag(S)[None], "spherical": np.trace(S) / 3}
    assert_allclose(model.means_[0], X.mean(axis=0), rtol=1e-12, atol=1e-13)
    assert_allclose(model.covariances_, np.atleast_1d(expected[kind]), rtol=1e-11, atol=1e-12)


@kinds
def test_simulated_mixtures_are_recovered(kind):
    rng = np.random.default_rng(3)
    k, d, n = 3, 2, 20_000
    means = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    weights = np.array([0.5, 0.3, 0.2])
    A = rng.normal(size=(k, d, d)) * 0.3 + np.eye(d)
    full = A @ A.transpose(0, 2, 1)
    covariances = {
        "full": full,
        "tied": full[0],
        "diag": np.diagonal(full, axis1=1, axis2=2),
        "spherical": full[:, 0, 0],
    }[kind]
    truth = GaussianMixture.from_parameters(weights, means, covariances, kind)
    X, labels = truth.set_params(random_state=1).sample(n)
    assert X.shape == (n, d) and (np.diff(labels) >= 0).all()
    model = GaussianMixture(k, covariance_type=kind, random_state=0, tol=1e-8, max_iter=500).fit(X)
    # Standard errors sd / sqrt(n w) of the means, sqrt(w (1 - w) / n) of the weights and about
    # sqrt(2 / (n w)) of the variances; five of them, as the clusters hardly overlap.
    n_own = n * weights
    deviation = np.sqrt(np.diagonal(full, axis1=1, axis2=2).max())
    assert (np.diff(model.weights_) <= 0).all()
    assert (np.abs(model.weights_ - weights) < 5 * np.sqrt(weights * (1 - weights) / n)).all()
    assert (np.abs(model.means_ - means) < 5 * deviation / np.sqrt(n_own)[:, None]).all()
    largest = np.abs(covariances).max()
    assert np.abs(model.covariances_ - covariances).max() < 5 * largest * np.sqrt(2 / n_own.min())
    assert (model.predict(X) == labels).mean() > 0.98


@kinds
def test_moments_of_samples(kind):
    X, _ = blobs(800, 3, 2)
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    n = 50_000
    drawn, labels = model.sample(n)
    for j in range(2):
        own = drawn[labels == j]
        spread = np.sqrt(model._expected().mass[j])
        deviation = own.std(axis=0)
        assert (np.abs(own.mean(axis=0) - model.means_[j]) < 5 * deviation / len(own) ** 0.5).all()
        assert abs(len(own) / n - spread**2) < 5 * spread / np.sqrt(n)
    assert_allclose(model.score(drawn), model.score(model.sample(n)[0]), rtol=1e-12)


# ---- laws


mixtures = given(
    kind=st.sampled_from(KINDS),
    n=st.integers(1, 1200),
    d=st.integers(1, 9),
    k=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    dtype=st.sampled_from([np.float32, np.float64]),
)


@settings(max_examples=25, deadline=None)
@mixtures
# A component of 5.8 samples in 7 dimensions is singular, although n > 2 d k.
@example(kind="full", n=84, d=7, k=5, seed=336707, dtype=np.float64)
# Six samples of total weight 12 in 5 dimensions: copies add no dimension.
@example(kind="full", n=6, d=5, k=1, seed=1, dtype=np.float64)
def test_the_log_likelihood_never_decreases(kind, n, d, k, seed, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * rng.choice([0.01, 1.0, 100.0], size=d)).astype(dtype)
    X += rng.choice([0, 7]) * rng.integers(0, 2, size=(n, 1))
    k = min(k, n)
    weight = rng.integers(1, 4, n) if seed % 2 else None
    model = GaussianMixture(k, covariance_type=kind, random_state=seed, tol=0, max_iter=25)
    trace = quietly(model, X, sample_weight=weight).log_likelihood_trace_
    assert np.isfinite(trace).all()
    # Relative to the terms that cancel in a sample's log-density, of which there are d or so.
    rounding = 64 * np.finfo(dtype).eps * (np.abs(trace).max() + 8 * d)
    # Samples of the lightest component, at least: copies add no dimension.
    lightest = model.weights_.min() * (n if weight is None else weight.sum() / weight.max())
    if lightest > 2 * d:  # else singular covariances sit on their limit, where conditions reach 1e6
        assert np.diff(trace).min() >= -rounding
    else:
        assert np.diff(trace).min() >= -1e4 * rounding


@kinds
def test_neither_the_order_nor_the_unit_nor_copies_matter(kind):
    X, _ = blobs(500, 3, 3)
    options = {"covariance_type": kind, "random_state": 5, "tol": 1e-6, "max_iter": 1000}
    model = GaussianMixture(3, **options).fit(X)
    order = np.random.default_rng(0).permutation(len(X))
    counts = np.arange(len(X)) % 3
    unit = 1000.0 if kind == "spherical" else np.array([1e-6, 1.0, 1e6])
    pairs = [
        (GaussianMixture(3, **options).fit(X[order]), model, 1),
        (GaussianMixture(3, **options).fit(X * unit), model, unit),
        (
            GaussianMixture(3, **options).fit(X, sample_weight=counts),
            GaussianMixture(3, **options).fit(X.repeat(counts, axis=0)),
            1,
        ),
        (GaussianMixture(3, **options).fit(X, sample_weight=np.full(len(X), 1e200)), model, 1),
    ]
    for one, other, unit in pairs:
        assert one.n_iter_ == other.n_iter_
        assert_allclose(one.weights_, other.weights_, rtol=1e-7)
        assert_allclose(one.means_ / unit, other.means_, rtol=1e-7, atol=1e-8)


@kinds
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_float32_is_computed_as_float32_and_agrees(kind, offset):
    X, _ = blobs(3000, 4, 3, apart=6.0)
    X = (X * [0.3, 1.0, 30.0, 3.0] + offset).astype(np.float32)
    options = start(X, kind, 3) | {"tol": 0, "max_iter": 15}
    single = GaussianMixture(**options).fit(X)
    double = GaussianMixture(**options).fit(X.astype(np.float64))
    assert_allclose(single.lower_bound_, double.lower_bound_, rtol=1e-4)
    assert_allclose(single.means_, double.means_, rtol=1e-4, atol=1e-4)
    assert_allclose(single.weights_, double.weights_, rtol=1e-4)
    variances = [
        np.linalg.eigvalsh(m.covariances_) if kind in ("full", "tied") else m.covariances_
        for m in (single, double)
    ]
    assert_allclose(*variances, rtol=2e-4)
    assert variances[0].min() > 0
    for method in ("predict_proba", "score_samples"):
        assert getattr(single, method)(X).dtype == np.float32
    assert_allclose(single.score_samples(X), double.score_samples(X), rtol=1e-4, atol=2e-3)


@kinds
def test_narrow_clusters_far_apart_keep_their_digits_in_float32(kind):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 3)) * 10
    X = (centres[rng.integers(0, 3, 3000)] + 1e-3 * rng.normal(size=(3000, 3))).astype(np.float32)
    options = start(X, kind, 3) | {"means_init": centres + 0.1, "reg_covar": 1e-12, "tol": 0}
    options |= {"max_iter": 8, "precisions_init": options["precisions_init"] * 1e4}
    single = GaussianMixture(**options).fit(X)
    double = GaussianMixture(**options).fit(X.astype(np.float64))
    assert_allclose(single.covariances_, double.covariances_, rtol=1e-3, atol=1e-12)


@kinds
def test_any_number_of_threads_gives_the_same_bytes(kind):
    X, _ = blobs(40_000, 6, 5)
    found = []
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads):
            model = GaussianMixture(5, covariance_type=kind, random_state=0, tol=0, max_iter=3).fit(
                X
            )
            found.append((model.means_.tobytes(), model.score_samples(X).tobytes()))
    assert found[0] == found[1] == found[2]


# ---- sums over blocks


@kinds
@pytest.mark.parametrize(("n_blocks", "weighted"), [(1, True), (7, False), (25, True)])
def test_blocks_of_rows_give_what_fit_gives(kind, n_blocks, weighted):
    X, _ = blobs(1000, 4, 3)
    weight = np.random.default_rng(0).uniform(0.1, 3, len(X)) if weighted else None
    options = {"covariance_type": kind, "random_state": 2}
    model = GaussianMixture(3, **options, tol=0, max_iter=4).fit(X, sample_weight=weight)
    other = GaussianMixture(3, **options).begin(X, None, weight)
    assert isinstance(other, RowSums)
    for _ in range(4):
        total = None
        for rows in np.array_split(np.arange(len(X)), n_blocks):
            helper = pickle.loads(pickle.dumps(other))
            own = None if weight is None else weight[rows]
            part = pickle.loads(pickle.dumps(helper.partial_statistics(X[rows], None, own)))
            total = part if total is None else other.merge(total, part)
        other.update(total)
    order = np.argsort(-other.weights_)  # fit sorts at its end
    assert_allclose(other.weights_[order], model.weights_, rtol=1e-12)
    assert_allclose(other.means_[order], model.means_, rtol=1e-12, atol=1e-12)
    covariances = other.covariances_ if kind == "tied" else other.covariances_[order]
    assert_allclose(covariances, model.covariances_, rtol=1e-11, atol=1e-12)
    assert_allclose(other.log_likelihood_trace_, model.log_likelihood_trace_[:-1], rtol=1e-12)
    assert other.n_iter_ == 4


@kinds
def test_partial_fit_follows_a_stream(kind):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0]])
    model = GaussianMixture(2, covariance_type=kind, random_state=0)
    for _ in range(30):
        labels = (rng.random(400) < 0.3).astype(int)
        model.partial_fit(centres[labels] + rng.normal(size=(400, 2)))
    order = np.argsort(model.means_[:, 0])
    # The newest rows count double: as good as about half of the 12,000; five standard errors.
    assert_allclose(model.means_[order], centres, atol=5 / np.sqrt(0.3 * 6000))
    assert_allclose(model.weights_[order], [0.7, 0.3], atol=5 * np.sqrt(0.21 / 6000))
    assert model.total_weight_ == 12_000


def test_the_expected_statistics_lead_back_to_the_parameters():
    X, _ = blobs(500, 3, 2)
    for kind in KINDS:
        for reg_covar in (None, 1e-3):
            model = GaussianMixture(2, covariance_type=kind, reg_covar=reg_covar).fit(X)
            before = model._fitted_components().parameters(model)
            model.update(model._expected())
            for name, one, other in zip(
                before._fields, before, model._fitted_components().parameters(model), strict=True
            ):
                assert_allclose(other, one, rtol=1e-9, atol=1e-12, err_msg=name)
