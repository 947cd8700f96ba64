"""The aspect model against a dense EM written out here, NMF, closed forms and its own laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.decomposition import NMF

from mlcore.mixture import LatentClassModel

EPS = np.finfo(float).eps


def corpus(n=40, v=30, k=3, seed=0, mean=1.5):
    """Counts of a random mixture of k sparse topics."""
    rng = np.random.default_rng(seed)
    topics, mixtures = rng.dirichlet(np.full(v, 0.2), k), rng.dirichlet(np.full(k, 0.5), n)
    return rng.poisson(mean * v * mixtures @ topics).astype(float)


def start(n, v, k, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "weights_init": rng.dirichlet(np.full(k, 5.0)),
        "components_init": rng.dirichlet(np.ones(v), k),
        "document_components_init": rng.dirichlet(np.ones(n), k),
    }


def dense_em(G, init, steps, alpha=0.0, sample_weight=None):
    """The textbook's steps on all cells: lambda, u, v and the trace."""
    n, v = G.shape
    weight = np.ones(n) if sample_weight is None else sample_weight
    shares = weight * G.sum(axis=1) / (weight @ G.sum(axis=1))
    u = init["components_init"]
    joint = init["weights_init"][:, None] * init["document_components_init"]
    t = (joint / joint.sum(axis=0)).T
    trace = []
    for _ in range(steps):
        p = shares[:, None] * (t @ u)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.where(G > 0, np.log(p), 0)
        prior = alpha * (np.log(u).sum() + weight @ np.log(t).sum(axis=1)) if alpha else 0.0
        trace.append((weight @ (G * log_p).sum(axis=1) + prior) / (weight @ G.sum(axis=1)))
        w = t[:, None, :] * u.T[None]  # responsibilities of every cell
        w = w / np.where(w.sum(axis=2, keepdims=True) > 0, w.sum(axis=2, keepdims=True), 1)
        Gw = G[:, :, None] * w
        u = alpha + np.einsum("d,dwj->jw", weight, Gw)
        t = alpha + Gw.sum(axis=1)
        u, t = u / u.sum(axis=1, keepdims=True), t / t.sum(axis=1, keepdims=True)
    joint = t.T * shares
    weights = joint.sum(axis=1)
    return weights, u, joint / weights[:, None], np.array(trace)


def answers(model):
    return model.weights_, model.components_, model.document_components_


# n and v across the edges of blocks, k across those of vectors and of groups of lines.
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize(
    ("n", "v", "k"), [(1, 2, 1), (7, 1, 2), (40, 30, 3), (300, 90, 8), (31, 70, 17), (12, 40, 45)]
)
def test_steps_are_those_of_the_dense_em(n, v, k, alpha):
    G, init = corpus(n, v, min(k, 5), seed=k) + (np.arange(v) == 0), start(n, v, k)
    weight = np.random.default_rng(1).uniform(0.5, 4, n)
    model = LatentClassModel(n_components=k, tol=0, max_iter=15, alpha=alpha, **init)
    model.fit(G, sample_weight=weight)
    *expected, trace = dense_em(G, init, 15, alpha, weight)
    for found, right in zip(answers(model), expected, strict=True):
        assert_allclose(found, right, rtol=1e-10, atol=1e-13)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-12, atol=1e-14)
    assert model.n_iter_ == 15 and not model.converged_


def test_single_precision_is_the_same_to_its_rounding():
    G, init = corpus(), start(40, 30, 3)
    fits = [
        LatentClassModel(n_components=3, tol=0, max_iter=20, **init).fit(G.astype(dtype))
        for dtype in (np.float64, np.float32)
    ]
    for double, single in zip(*map(answers, fits), strict=True):
        assert single.dtype == np.float32
        # A few roundings a step, 20 steps, on values up to 1; EM does not amplify much.
        assert_allclose(single, double, atol=200 * np.finfo(np.float32).eps)


def test_sparse_formats_give_the_same_bytes_as_dense():
    G = corpus()
    dense, *others = (
        LatentClassModel(n_components=3, random_state=0).fit(form(G))
        for form in (np.asarray, sp.csr_array, sp.csc_array, sp.coo_matrix)
    )
    for other in others:
        for one, two in zip(answers(dense), answers(other), strict=True):
            assert_array_equal(one, two)


def test_the_optimum_of_one_component_is_the_product_of_the_marginals():
    G = corpus()
    model = LatentClassModel(n_components=1, alpha=0.0, tol=0, max_iter=1, random_state=0).fit(G)
    assert_allclose(model.components_[0], G.sum(axis=0) / G.sum(), rtol=1e-14)
    assert_allclose(model.document_components_[0], G.sum(axis=1) / G.sum(), rtol=1e-14)
    assert model.weights_ == [1.0]


def test_kl_nmf_has_the_same_stationary_points():
    """NMF's multiplicative steps alternate, EM's do not; neither moves where the other stands."""
    G = corpus() + 0.1
    model = LatentClassModel(n_components=3, alpha=0.0, tol=0, max_iter=20_000, random_state=0)
    model.fit(G)
    weights, u, v = answers(model)
    nmf = NMF(3, solver="mu", beta_loss="kullback-leibler", init="custom", max_iter=200, tol=0)
    W = nmf.fit_transform(G, W=(weights[:, None] * v).T * G.sum(), H=u.copy())
    assert_allclose(W @ nmf.components_, G.sum() * (v.T * weights) @ u, rtol=1e-5)
