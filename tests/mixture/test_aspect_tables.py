"""Steps of EM over blocks of documents and groups of words, against dense arithmetic."""

import numpy as np
import pytest
from corpora import answers, corpus, start
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from mlcore.mixture import PLSA
from mlcore.mixture.plsa import aspect_tables

EPS = np.finfo(float).eps


def dense_em(G, init, steps, alpha=0.0, sample_weight=None):
    """The textbook's steps on all cells: lambda, u, v and the trace."""
    n, v = G.shape
    weight = np.ones(n) if sample_weight is None else sample_weight
    shares = weight * G.sum(axis=1) / (weight @ G.sum(axis=1))
    u = init["components_init"]
    joint = init["weights_init"][:, None] * init["document_components_init"]
    t = (joint / joint.sum(axis=0)).T
    trace = []
    for step in range(steps + 1):
        p = shares[:, None] * (t @ u)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.where(G > 0, np.log(p), 0)
        prior = alpha * (np.log(u).sum() + weight @ np.log(t).sum(axis=1)) if alpha else 0.0
        trace.append((weight @ (G * log_p).sum(axis=1) + prior) / (weight @ G.sum(axis=1)))
        if step == steps:
            break
        w = t[:, None, :] * u.T[None]  # responsibilities of every cell
        w = w / np.where(w.sum(axis=2, keepdims=True) > 0, w.sum(axis=2, keepdims=True), 1)
        Gw = G[:, :, None] * w
        u = alpha + np.einsum("d,dwj->jw", weight, Gw)
        t = alpha + Gw.sum(axis=1)
        u, t = u / u.sum(axis=1, keepdims=True), t / t.sum(axis=1, keepdims=True)
    joint = t.T * shares
    weights = joint.sum(axis=1)
    return weights, u, joint / weights[:, None], np.array(trace)


@each("alpha", [0.0, 0.3])
@each(
    ("n", "v", "k"), [(1, 2, 1), (7, 1, 2), (40, 30, 3), (300, 90, 8), (31, 70, 17), (12, 40, 45)]
)
def test_steps_are_those_of_the_dense_em(n, v, k, alpha):
    G, init = corpus(n, v, min(k, 5), seed=k) + (np.arange(v) == 0), start(n, v, k)
    weight = np.random.default_rng(1).uniform(0.5, 4, n)
    model = PLSA(n_components=k, tol=0, max_iter=15, alpha=alpha, **init)
    model.fit(G, sample_weight=weight)
    *expected, trace = dense_em(G, init, 15, alpha, weight)
    for found, right in zip(answers(model), expected, strict=True):
        assert_allclose(found, right, rtol=1e-10, atol=1e-13)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-12, atol=1e-14)
    assert model.n_iter_ == 15 and not model.converged_


@pytest.mark.parametrize("longest", [1, 30])
@pytest.mark.parametrize(("block_bytes", "operations"), [(1, 10**9), (5000, 10**9), (5000, 60_000)])
def test_blocks_of_documents_and_groups_of_words_are_visited_once(
    block_bytes, operations, longest, monkeypatch
):
    """Documents one by one and some by some, in one call and in many; some blocks stay empty."""
    monkeypatch.setattr(aspect_tables, "_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", operations)
    rng = np.random.default_rng(0)
    G = rng.poisson(0.3, (150, 70)) + (np.arange(70) == 7)
    G[[3, 149]] += longest * rng.poisson(1.0, (2, 70))
    G[[0, 10, 11, 148]] = 0
    G[:, [0, 40, 41, 69]] = 0
    G, weight, init = G.astype(float), rng.uniform(0.5, 4, 150), start(150, 70, 9)
    model = PLSA(9, tol=0, max_iter=10, alpha=0.2, **init)
    model.fit(G, sample_weight=weight)
    *expected, trace = dense_em(G, init, 10, 0.2, weight)
    for found, right in zip(answers(model), expected, strict=True):
        assert_allclose(found, right, rtol=1e-10, atol=1e-13)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-12, atol=1e-14)
    log_p = np.log(model.transform(G) @ model.components_)
    assert_allclose(model.score(G), (G * log_p).sum() / G.sum(), rtol=1e-12)


def test_tiny_weights_of_documents_lose_nothing_of_their_mixtures():
    """Down to the range of single precision, where they are as good as absent."""
    G, init = corpus(), start(40, 30, 3)
    weights = np.ldexp(1.0, -4 * np.arange(40))  # 1 to 2^-156
    double, single = (
        PLSA(3, tol=0, max_iter=20, alpha=0.1, **init).fit(G.astype(dtype), None, weights)
        for dtype in (np.float64, np.float32)
    )
    assert_allclose(single.components_, double.components_, atol=200 * np.finfo(np.float32).eps)
    joints = (m.weights_[:, None] * m.document_components_[:, :25] for m in (double, single))
    one, two = (joint / joint.sum(axis=0) for joint in joints)
    assert_allclose(two, one, atol=200 * np.finfo(np.float32).eps)
    again = PLSA(3, tol=0, max_iter=20, alpha=0.1, **init)
    again.fit(G, sample_weight=np.where(np.arange(40) < 25, weights, 0))
    assert_allclose(again.components_, double.components_, rtol=1e-12)


def test_single_precision_is_the_same_to_its_rounding():
    G, init = corpus(), start(40, 30, 3)
    fits = [
        PLSA(n_components=3, tol=0, max_iter=20, **init).fit(G.astype(dtype))
        for dtype in (np.float64, np.float32)
    ]
    for double, single in zip(*map(answers, fits), strict=True):
        assert single.dtype == np.float32
        # A few roundings a step, 20 steps, on values up to 1; EM does not amplify much.
        assert_allclose(single, double, atol=200 * np.finfo(np.float32).eps)


def test_sparse_formats_give_the_same_bytes_as_dense():
    G = corpus()
    dense, *others = (
        PLSA(n_components=3, random_state=0).fit(form(G))
        for form in (np.asarray, sp.csr_array, sp.csc_array, sp.coo_matrix)
    )
    for other in others:
        for one, two in zip(answers(dense), answers(other), strict=True):
            assert_array_equal(one, two)


def test_the_optimum_of_one_component_is_the_product_of_the_marginals():
    G = corpus()
    model = PLSA(n_components=1, alpha=0.0, tol=0, max_iter=1, random_state=0).fit(G)
    assert_allclose(model.components_[0], G.sum(axis=0) / G.sum(), rtol=1e-14)
    assert_allclose(model.document_components_[0], G.sum(axis=1) / G.sum(), rtol=1e-14)
    assert model.weights_ == [1.0]


def test_kl_nmf_has_the_same_stationary_points():
    """NMF's multiplicative steps alternate, EM's do not; neither moves where the other stands."""
    G = corpus() + 0.1
    model = PLSA(n_components=3, alpha=0.0, tol=0, max_iter=6000, random_state=0)
    model.fit(G)
    weights, u, v = answers(model)
    nmf = NMF(3, solver="mu", beta_loss="kullback-leibler", init="custom", max_iter=200, tol=0)
    W = nmf.fit_transform(G, W=(weights[:, None] * v).T * G.sum(), H=u.copy())
    assert_allclose(W @ nmf.components_, G.sum() * (v.T * weights) @ u, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_threads_do_not_change_a_byte(dtype):
    """Large enough for several blocks of documents and several threads."""
    G = np.random.default_rng(0).poisson(0.5, size=(3000, 60)).astype(dtype)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads, user_api="openmp"):
            model = PLSA(n_components=21, tol=0, max_iter=6, random_state=0).fit(G)
            parts = *answers(model), model.log_likelihood_trace_, model.transform(G)
            found.append([part.tobytes() for part in parts])
    assert found[0] == found[1] == found[2]
