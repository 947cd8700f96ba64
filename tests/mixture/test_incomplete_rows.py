"""Gaussian mixtures of rows with missing values against EM written out, and its laws."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm

from mlcore.mixture import GaussianMixture, select_mixture

# Rows of which nothing is known are drawn here and there.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows without a known value:UserWarning")


def blobs(n=400, d=4, k=3, holes=0.2, seed=0):
    """Rows of `k` clusters with values missing at random, and the clusters."""
    rng = np.random.default_rng([n, d, k, seed])
    labels = rng.integers(0, k, n)
    X = 4 * rng.normal(size=(k, d))[labels] + rng.uniform(0.3, 2, size=(k, d))[labels] * rng.normal(
        size=(n, d)
    )
    X[rng.random((n, d)) < holes] = np.nan
    return X, labels


def start(X, k):
    """The same start for everyone: unequal weights, the variances of the whole."""
    rows = X[~np.isnan(X).any(axis=1)][:k]
    return {
        "n_components": k,
        "covariance_type": "diag",
        "missing": "ignore",
        "weights_init": np.arange(1.0, k + 1) / (k * (k + 1) / 2),
        "means_init": rows,
        "precisions_init": np.repeat(1 / np.nanvar(X, axis=0)[None], k, 0),
    }


def em_written_out(X, n_steps, weights, means, variances, added=0.0, sample_weight=None):
    """EM sample by sample and feature by feature; also its log-likelihoods."""
    w = np.ones(len(X)) if sample_weight is None else sample_weight
    trace = []
    for step in range(n_steps + 1):
        deviations = np.sqrt(variances)
        log_p = norm.logpdf(X[:, None, :], means[None], deviations[None])
        log_joint = np.log(weights) + np.nansum(log_p, axis=2)
        total = logsumexp(log_joint, axis=1)
        trace.append(w @ total / w.sum())
        if step == n_steps:
            break
        r = np.exp(log_joint - total[:, None]) * w[:, None]
        new_means, new_variances = np.empty_like(means), np.empty_like(means)
        for j in range(len(weights)):
            for f in range(X.shape[1]):
                gone = np.isnan(X[:, f])
                # What a value is expected to be, and its square about any point.
                value = np.where(gone, means[j, f], X[:, f])
                extra = np.where(gone, max(variances[j, f] - added, 0.0), 0.0)
                m = r[:, j] @ value / r[:, j].sum()
                new_means[j, f] = m
                new_variances[j, f] = r[:, j] @ ((value - m) ** 2 + extra) / r[:, j].sum() + added
        weights, means, variances = r.sum(axis=0) / w.sum(), new_means, new_variances
    return weights, means, variances, np.array(trace)


@pytest.mark.filterwarnings("ignore:.*fell by .* reg_covar=0.3 adds")
@each("weighted", [False, True])
@each("added", [0.0, 0.3])
@each(("n", "d", "k", "holes"), [(50, 1, 1, 0.3), (300, 3, 2, 0.5), (90, 7, 4, 0.1)])
def test_every_step_is_that_of_em_written_out(n, d, k, holes, added, weighted):
    X, _ = blobs(n, d, k, holes)
    weight = np.random.default_rng(1).uniform(0.5, 2, n) if weighted else None
    options = start(X, k)
    expected = em_written_out(
        X,
        5,
        options["weights_init"],
        options["means_init"],
        1 / options["precisions_init"],
        added,
        weight,
    )
    model = GaussianMixture(**options, reg_covar=added, tol=0, max_iter=5).fit(X, None, weight)
    assert_allclose(model.weights_, expected[0], rtol=1e-10)
    assert_allclose(model.means_, expected[1], rtol=1e-9, atol=1e-12)
    assert_allclose(model.covariances_, expected[2], rtol=1e-9)
    assert_allclose(model.log_likelihood_trace_, expected[3], rtol=1e-11)


def test_nothing_missing_is_the_model_of_complete_data():
    X, _ = blobs(holes=0)
    options = {"covariance_type": "diag", "random_state": 0}
    model = GaussianMixture(3, missing="ignore", **options).fit(X)
    complete = GaussianMixture(3, **options).fit(X)
    for name in ("weights_", "means_", "covariances_", "log_likelihood_trace_", "origin_"):
        assert_array_equal(getattr(model, name), getattr(complete, name))
    assert_array_equal(model.predict_proba(X), complete.predict_proba(X))


def test_one_missing_value_changes_the_sums_of_the_others_by_nothing_else():
    """The sums over complete rows are the compiled loop's, by the loop for missing values too."""
    X, _ = blobs(holes=0)
    model = GaussianMixture(**start(X, 3)).begin(X)
    empty = np.full((1, X.shape[1]), np.nan)
    both = model.partial_statistics(np.vstack([X, empty]))
    split = model.merge(model.partial_statistics(X), model.partial_statistics(empty))
    for a, b in zip(both, split, strict=True):
        assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(6))
def test_the_log_likelihood_never_decreases(seed, dtype):
    X, _ = blobs(n=60 + 30 * seed, holes=0.1 + 0.1 * seed, seed=seed)
    model = GaussianMixture(
        3, covariance_type="diag", missing="ignore", tol=0, max_iter=40, random_state=seed
    ).fit(X.astype(dtype))
    assert np.diff(model.log_likelihood_trace_).min() > -1e-10
    assert_allclose(model.score(X.astype(dtype)), model.lower_bound_, atol=1e-2)


def test_clusters_are_found_through_the_holes():
    X, labels = blobs(n=3000, d=8, holes=0.3)
    model = GaussianMixture(
        3, covariance_type="diag", missing="ignore", n_init=3, random_state=0
    ).fit(X)
    found = model.predict(X)
    agreed = sum(np.bincount(labels[found == j], minlength=3).max() for j in range(3))
    assert agreed > 0.97 * len(X)
    for j in range(3):  # the moments of the values that are there
        own = X[found == j]
        assert_allclose(model.means_[j], np.nanmean(own, axis=0), atol=0.15)
        assert_allclose(model.covariances_[j], np.nanvar(own, axis=0), rtol=0.2)


def test_a_row_of_nothing_goes_by_the_weights_and_a_density_by_what_is_there():
    X, _ = blobs()
    model = GaussianMixture(3, covariance_type="diag", missing="ignore", random_state=0).fit(X)
    empty = np.full((1, X.shape[1]), np.nan)
    assert_allclose(model.predict_proba(empty), model.weights_[None], rtol=1e-12)
    assert_allclose(model.score_samples(empty), 0, atol=1e-12)
    half = np.array([[0.5, np.nan, -1.0, np.nan]])
    marginal = GaussianMixture.from_parameters(
        model.weights_, model.means_[:, [0, 2]], model.covariances_[:, [0, 2]], "diag"
    )
    assert_allclose(model.score_samples(half), marginal.score_samples(half[:, [0, 2]]), rtol=1e-12)
    # A row of nothing changes no parameter but by the likelihood's mean.
    options = dict(start(X, 3), tol=0, max_iter=4)
    alone = GaussianMixture(**options).fit(X)
    beside = GaussianMixture(**options).fit(np.vstack([X, empty]))
    assert_allclose(
        beside.log_likelihood_trace_[0] * 401, alone.log_likelihood_trace_[0] * 400, rtol=1e-12
    )


def test_a_feature_that_no_row_of_a_component_has_stays_where_it_was():
    X, labels = blobs(n=200, d=2, k=2, holes=0)
    far = np.where(labels[:, None] == 0, X - 100, X + 100)
    far[labels == 0, 1] = np.nan
    far[labels == 1, 1] += np.arange((labels == 1).sum())
    options = {"weights_init": [0.5, 0.5], "means_init": [[-100.0, 7.0], [100.0, 100.0]]}
    options |= {"precisions_init": np.full((2, 2), 0.01), "reg_covar": 0.01}
    model = GaussianMixture(2, covariance_type="diag", missing="ignore", **options).fit(far)
    assert_allclose(model.means_[0, 1], 7, rtol=1e-9)
    assert_allclose(model.covariances_[0, 1], 100, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_blocks_and_copies_are_the_fit(dtype):
    X, _ = blobs()
    X = X.astype(dtype)
    options = dict(start(X, 3), tol=0, max_iter=4)
    fitted = GaussianMixture(**options).fit(X)
    model = GaussianMixture(**options).begin(X)
    for _ in range(4):
        parts = [model.partial_statistics(part) for part in np.array_split(X, 5)]
        total = parts[0]
        for part in parts[1:]:
            total = model.merge(total, part)
        model.update(total)
    assert_allclose(model.means_, fitted.means_, rtol=1e-5 if dtype == np.float32 else 1e-9)
    weight = np.ones(len(X))
    weight[:100] = 2
    weighted = GaussianMixture(**options).fit(X, sample_weight=weight)
    doubled = GaussianMixture(**options).fit(np.vstack([X, X[:100]]))
    assert_allclose(weighted.means_, doubled.means_, rtol=1e-6)
    assert fitted.means_.dtype == np.float64 and fitted.score_samples(X).dtype == dtype
    model.partial_fit(X[:50])
    assert np.isfinite(model.means_).all()


def test_a_number_added_to_variances_is_added_once():
    X, _ = blobs(k=1, holes=0.5)
    model = GaussianMixture(
        covariance_type="diag", missing="ignore", reg_covar=0.5, tol=0, max_iter=200
    ).fit(X)
    assert_allclose(model.covariances_[0], np.nanvar(X, axis=0) + 0.5, rtol=1e-8)
    assert_allclose(model.means_[0], np.nanmean(X, axis=0), rtol=1e-8)


@each(
    ("options", "X", "message"),
    [
        ({"missing": "drop"}, [[1.0], [2.0]], "missing='drop' must be one of"),
        ({"covariance_type": "diag"}, [[1.0], [np.nan]], "NaN"),
        (
            {"covariance_type": "diag", "missing": "ignore"},
            [[1.0, np.nan], [2.0, np.nan]],
            "all values of column 1 of X are missing",
        ),
        ({"covariance_type": "diag", "missing": "ignore"}, [[1.0], [np.inf]], "infinity"),
    ],
)
def test_what_cannot_be_ignored_is_refused(options, X, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(**options).fit(X)


def test_models_of_incomplete_rows_are_compared():
    X, _ = blobs()
    found = select_mixture(
        X, n_components=[1, 3], covariance_type="diag", missing="ignore", random_state=0
    )
    assert found.best.n_components == 3
