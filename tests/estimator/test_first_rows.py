"""Models that learn block by block: what a block is must not matter for how good they become."""

import functools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse as sp

import mlcore
from mlcore.cluster import MiniBatchKMeans
from mlcore.estimator.model import NotFittedError
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)

N, K, D = 400, 3, 6
rng = np.random.default_rng(5)
LABELS = rng.integers(0, K, N)
CENTRES = np.array([[0.0] * 6, [6.0, 0, 0, 4, 0, 0], [0, 6.0, 0, 0, -4, 0]])
POINTS = CENTRES[LABELS] + rng.normal(size=(N, D))
CHANCES = np.where(rng.random((K, D)) < 0.5, 0.1, 0.9)
BITS = (rng.random((N, D)) < CHANCES[LABELS]).astype(float)
SUCCESSES = rng.binomial(5, CHANCES[LABELS]).astype(float)
TOPICS = rng.dirichlet(np.full(D, 0.3), K)
COUNTS = rng.multinomial(20, TOPICS[LABELS]).astype(float)
USUAL = (np.arange(D) + LABELS[:, None]) % 3
ANSWERS = np.where(rng.random((N, D)) < 0.7, USUAL, rng.integers(0, 3, (N, D))).astype(float)

# Data, model, and its free parameters.
MODELS = {
    "full": (POINTS, GaussianMixture(K), K * (1 + D + D * (D + 1) // 2) - 1),
    "tied": (POINTS, GaussianMixture(K, covariance_type="tied"), K * (1 + D) + 20),
    "diag": (POINTS, GaussianMixture(K, covariance_type="diag"), K * (1 + 2 * D) - 1),
    "spherical": (POINTS, GaussianMixture(K, covariance_type="spherical"), K * (2 + D) - 1),
    "bernoulli": (BITS, BernoulliMixture(K), K * (1 + D) - 1),
    "binomial": (SUCCESSES, BinomialMixture(K, n_trials=5), K * (1 + D) - 1),
    "categorical": (ANSWERS, CategoricalMixture(K), K * (1 + 2 * D) - 1),
    "multinomial": (COUNTS, MultinomialMixture(K), K * D - 1),
}


def streamed(model, X, size):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


def new(case):
    X, model, n_parameters = MODELS[case]
    return X, type(model)(**model.get_params() | {"random_state": 0}), n_parameters


@functools.cache
def score_of_the_whole(case):
    X, model, _ = new(case)
    return model.fit(X).score(X)


@pytest.mark.parametrize("size", [1, 5, 250])
@pytest.mark.parametrize("case", MODELS)
def test_blocks_of_any_size_lead_as_far_as_the_whole(case, size):
    X, model, n_parameters = new(case)
    best = score_of_the_whole(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits to the very first rows
        found = streamed(model, X, size).score(X)
    assert model.weights_.min() > 0.2 and not len(model.collapsed_components_)
    # An efficient estimate from half of the rows loses as many nats as parameters over n.
    assert found > best - n_parameters / N


@pytest.mark.parametrize("size", [1, 5, 50, 250])
def test_documents_in_blocks(size):
    mixed = rng.dirichlet(np.full(K, 0.3), N) @ TOPICS
    G = rng.poisson(100 * mixed).astype(float)
    whole = PLSA(K, random_state=0, max_iter=50)
    model = PLSA(K, random_state=0, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = whole.fit(G).score(G)
        found = streamed(model, G, size).score(G)
    assert found > best - 0.005  # nats of a word


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1, 5, 50, 250])
def test_clusters_in_blocks(size, kind):
    X = CENTRES[LABELS] + 0.5 * POINTS[::-1]
    exact = np.array([X[LABELS == j].mean(axis=0) for j in range(K)])
    best = ((X - exact[LABELS]) ** 2).sum()
    model = MiniBatchKMeans(K, random_state=0)
    for start in range(0, N, size):
        model.partial_fit(kind(X[start : start + size]))
    assert -model.score(X) < 1.02 * best
    assert model.counts_.sum() == N


@pytest.mark.parametrize("case", ["full", "bernoulli", "multinomial"])
def test_many_rows_in_small_blocks_keep_all_components(case):
    """Blocks of fifty of overlapping clusters."""
    r = np.random.default_rng(0)
    X, model, _ = new(case)
    if case == "full":
        X = r.normal(size=(3000, 2)) + 3 * np.eye(2)[r.integers(0, 2, 3000)]
    else:
        X = X[r.integers(0, N, 3000)]
    streamed(model, X, 50)
    assert model.weights_.min() > 0.05 and not len(model.collapsed_components_)


def test_a_known_mixture_is_not_forgotten_in_a_small_block():
    model = GaussianMixture.from_parameters([0.5, 0.5], [[0.0], [9.0]], [[[1.0]], [[1.0]]])
    model.partial_fit([[0.1], [0.2], [0.3]])
    assert model.weights_.min() > 0.4 and np.abs(model.means_ - [[0], [9]]).max() < 0.1


def test_a_component_that_collapses_on_the_way_is_told():
    r = np.random.default_rng(0)
    model = GaussianMixture(2, covariance_type="spherical", random_state=0)
    model.fit(np.r_[r.normal(size=(300, 2)), r.normal(size=(300, 2)) + 9])
    narrow = 9 + 1e-6 * r.normal(size=(300, 2))
    with pytest.warns(match=r"components \[[01]\] have lost all their samples, or have shrunk"):
        for _ in range(300):
            model.partial_fit(np.r_[r.normal(size=(300, 2)), narrow])


def test_a_component_that_comes_to_describe_tied_rows_is_told_once():
    r = np.random.default_rng(0)
    model = GaussianMixture(2, covariance_type="spherical", random_state=0)
    model.fit(np.r_[r.normal(size=(300, 2)), r.normal(size=(300, 2)) + 9])
    with pytest.warns(match=r"components \[[01]\] describe tied rows \(\[9. 9.\]") as told:
        for _ in range(300):
            model.partial_fit(np.r_[r.normal(size=(300, 2)), np.full((300, 2), 9.0)])
    assert len(told) == 1 and len(model.collapsed_components_) == 0


# ---- how the first rows are kept


def test_there_is_no_model_before_there_are_rows_enough():
    model = GaussianMixture(3, random_state=0)
    assert model.partial_fit(POINTS[:2]) is model
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict(POINTS)
    with pytest.raises(ValueError, match="X has 5 features, but GaussianMixture is expecting 6"):
        model.partial_fit(POINTS[:2, :5])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(POINTS[:2] * np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.partial_fit(POINTS[2:4]).predict_proba(POINTS).shape == (N, 3)
    assert model.total_weight_ == 4
    with pytest.raises(ValueError, match="holds 7 at row 0"):
        BinomialMixture(3, n_trials=5).partial_fit([[7, 1]])


@pytest.mark.parametrize("case", ["full", "bernoulli", "categorical"])
def test_one_array_may_serve_for_all_blocks(case):
    X, model, _ = new(case)
    _, other, _ = new(case)
    buffer = np.empty((25, X.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, 400, 25):
            buffer[:] = X[start : start + 25]
            model.partial_fit(buffer)
        streamed(other, X[:400], 25)
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_it_goes_on_after_pickling_and_saving(tmp_path):
    frame = pd.DataFrame(POINTS, columns=list("abcdef"))
    plain = MiniBatchKMeans(K, random_state=0)
    copied = MiniBatchKMeans(K, random_state=0)
    for start in range(0, N, 50):
        plain.partial_fit(frame[start : start + 50])
        copied = pickle.loads(pickle.dumps(copied.partial_fit(frame[start : start + 50])))
        mlcore.save(copied, tmp_path / "model.npz")
        copied = mlcore.load(tmp_path / "model.npz")
    assert_array_equal(plain.cluster_centers_, copied.cluster_centers_)
    assert_array_equal(plain.feature_names_in_, list("abcdef"))


def test_weights_are_copies_and_a_fit_forgets():
    times = rng.integers(0, 3, 400)
    weighted, repeated = (MiniBatchKMeans(K, random_state=0) for _ in range(2))
    weighted.partial_fit(POINTS[:400], sample_weight=times)
    repeated.partial_fit(POINTS[:400].repeat(times, axis=0))
    assert weighted.counts_.sum() == repeated.counts_.sum() == times.sum()
    model = GaussianMixture(2, random_state=0).partial_fit(POINTS[:20])
    model.fit(POINTS[:300]).partial_fit(POINTS[300:350])
    assert model.total_weight_ == 350 and model.n_iter_ > 0
