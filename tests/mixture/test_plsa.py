"""The aspect model against a dense EM written out here, NMF, closed forms and its own laws."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

from mlcore.mixture import PLSA
from mlcore.mixture.plsa import aspect_tables
from mlcore.row_sums import RowSums

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
    monkeypatch.setattr("mlcore.threads.OPERATIONS_PER_CALL", operations)
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
    model = PLSA(n_components=3, alpha=0.0, tol=0, max_iter=20_000, random_state=0)
    model.fit(G)
    weights, u, v = answers(model)
    nmf = NMF(3, solver="mu", beta_loss="kullback-leibler", init="custom", max_iter=200, tol=0)
    W = nmf.fit_transform(G, W=(weights[:, None] * v).T * G.sum(), H=u.copy())
    assert_allclose(W @ nmf.components_, G.sum() * (v.T * weights) @ u, rtol=1e-5)


# ---- laws

corpora = st.builds(
    corpus,
    n=st.integers(1, 30),
    v=st.integers(1, 25),
    seed=st.integers(0, 10**6),
    mean=st.floats(0.05, 4.0),
).filter(lambda G: G.sum() > 0)


def fitted(G, weights=None, **params):
    params = {"n_components": 3, "tol": 0, "max_iter": 20, "random_state": 0, **params}
    return PLSA(**params).fit(G, sample_weight=weights)


# The default, but given: components stay in the order of the start. That of descending weights is
# up to rounding where two end with the same weight.
IN_ORDER = {"weights_init": np.full(3, 1 / 3)}


@settings(max_examples=60)
@given(corpora, st.sampled_from([0.0, 1e-3, 0.5, 20.0]), st.integers(1, 6))
def test_the_trace_never_falls_and_rows_are_distributions(G, alpha, k):
    model = fitted(G, n_components=k, alpha=alpha)
    trace = model.log_likelihood_trace_
    # Each value is a sum over at most 750 cells and 330 logarithms of the prior. A logarithm of a
    # probability next to 1 is off by a unit of 1, as often as it counts, however small the sum is.
    counted = G.sum() + alpha * (model.components_.size + model.document_components_.size)
    assert (np.diff(trace) >= -1e3 * EPS * (np.abs(trace[1:]) + counted)).all()
    for table in answers(model):
        assert (table >= 0).all()
        assert_allclose(table.sum(axis=-1), 1, rtol=100 * EPS)
    mixtures = model.transform(G)
    assert (mixtures >= 0).all()
    assert_allclose(mixtures.sum(axis=1), 1, rtol=100 * EPS)


@settings(max_examples=40)
@given(corpora, st.sampled_from([0.0, 0.1]), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(G, alpha, random):
    order = list(range(len(G)))
    random.shuffle(order)
    one, two = (fitted(X, alpha=alpha, **IN_ORDER) for X in (G, G[order]))
    assert_allclose(two.components_, one.components_, rtol=1e-9, atol=1e-12)
    assert_allclose(
        two.document_components_, one.document_components_[:, order], rtol=1e-9, atol=1e-12
    )


@settings(max_examples=40)
@given(corpora, st.sampled_from([0.0, 0.1]), st.integers(0, 100))
@example(corpus(20, 11, seed=14656, mean=0.0625), 0.0, 29)
def test_a_weight_is_a_number_of_copies(G, alpha, seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(G))
    if weights @ G.sum(axis=1) == 0:
        weights[:] = 1
    one = fitted(G, weights, alpha=alpha, **IN_ORDER)
    two = fitted(G.repeat(weights, axis=0), alpha=alpha, **IN_ORDER)
    assert_allclose(two.components_, one.components_, rtol=1e-9, atol=1e-12)
    assert_allclose(two.weights_, one.weights_, rtol=1e-9, atol=1e-12)
    assert_allclose(two.log_likelihood_trace_[-1] - one.log_likelihood_trace_[-1],
                    _copies(G, weights), atol=1e-9)  # fmt: skip
    assert (one.document_components_[:, weights == 0] == 0).all()


def _copies(G, weights):
    """P(d) of a document with w copies is w times that of one: mean of -log w."""
    counts = weights * G.sum(axis=1)
    return -(counts * np.log(np.maximum(weights, 1))).sum() / counts.sum()


@settings(max_examples=40)
@given(corpora, st.integers(-300, 300))
def test_the_scale_of_the_counts_does_not_matter_without_a_prior(G, power):
    G = np.minimum(G, 50)
    one, two = fitted(G, alpha=0.0), fitted(np.ldexp(G, power), alpha=0.0)
    for a, b in zip(answers(one), answers(two), strict=True):
        assert_allclose(b, a, rtol=1e-12, atol=1e-300)
    assert_allclose(two.log_likelihood_trace_, one.log_likelihood_trace_, rtol=1e-12)


def test_without_a_prior_weights_multiply_counts():
    G, weights = corpus(), np.random.default_rng(3).uniform(0.1, 5, 40)
    one, two = fitted(G, weights, alpha=0.0), fitted(G * weights[:, None], alpha=0.0)
    for a, b in zip(answers(one), answers(two), strict=True):
        assert_allclose(b, a, rtol=1e-10, atol=1e-14)


DIGEST = """
import hashlib, sys
import numpy as np
from mlcore.mixture import PLSA
G = np.random.default_rng(0).poisson(0.5, size=(3000, 60)).astype(sys.argv[1])
model = PLSA(n_components=21, tol=0, max_iter=6, random_state=0).fit(G)
parts = (model.components_, model.document_components_, model.log_likelihood_trace_)
print(hashlib.sha256(b"".join(p.tobytes() for p in (*parts, model.transform(G)))).hexdigest())
"""


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_threads_do_not_change_a_byte(dtype, tmp_path):
    """Large enough for several blocks of documents and several threads."""
    seen = {
        subprocess.run(
            [sys.executable, "-c", DIGEST, dtype],
            cwd=tmp_path,
            env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5")
    }
    assert len(seen) == 1


@pytest.mark.parametrize("simd", ["baseline", "avx2"])
def test_every_width_of_vectors_gives_the_same_to_rounding(simd, tmp_path):
    script = DIGEST[: DIGEST.index("parts =")] + "print(repr(model.log_likelihood_trace_.tolist()))"
    here, there = (
        subprocess.run(
            [sys.executable, "-c", script, "f8"],
            cwd=tmp_path,
            env={**os.environ, **extra},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for extra in ({}, {"MLCORE_SIMD": simd})
    )
    assert_allclose(eval(here), eval(there), rtol=1e-13)


# ---- what it finds


def test_topics_are_recovered():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(50, 0.1), 4)
    mixtures = rng.dirichlet(np.full(4, 0.2), 600)
    G = rng.poisson(400 * mixtures @ topics)
    model = PLSA(n_components=4, n_init=3, max_iter=2000, tol=1e-7, random_state=0)
    model.fit(G)
    apart = np.abs(model.components_[:, None] - topics[None]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(apart)
    # 60,000 counts a topic leave a total variation of about sqrt(50 / 60000) = 0.03.
    assert apart[rows, columns].max() < 0.06
    found = model.transform(G)[:, rows[np.argsort(columns)]]
    assert np.abs(found - mixtures).mean() < 0.05


def test_folding_in_the_training_documents_gives_their_mixtures():
    G = corpus() + 0.1
    model = PLSA(n_components=3, tol=1e-13, max_iter=20_000, random_state=0).fit(G)
    joint = model.weights_[:, None] * model.document_components_
    assert_allclose(model.transform(G), (joint / joint.sum(axis=0)).T, atol=1e-4)


def test_score_is_the_mean_log_probability_of_a_word():
    G, weights = corpus(), np.arange(40) % 3
    model = PLSA(n_components=3, random_state=0).fit(G)
    log_p = np.log(model.transform(G) @ model.components_)
    counts = weights[:, None] * G
    score = model.score(G, sample_weight=weights)
    assert_allclose(score, (counts * log_p).sum() / counts.sum(), rtol=1e-13)
    assert_allclose(model.perplexity(G, weights), np.exp(-score), rtol=1e-13)
    with pytest.raises(ValueError, match="X has no counts"):
        model.score(0 * G)


def test_more_starts_are_no_worse():
    G = corpus(k=5)
    best = [
        fitted(G, n_components=5, n_init=n, alpha=0.0).log_likelihood_trace_[-1] for n in (1, 6)
    ]
    assert best[1] >= best[0]


def test_a_warm_start_goes_on_where_the_fit_stopped():
    G = corpus()
    whole = fitted(G, max_iter=30)
    halves = fitted(G, max_iter=15, warm_start=True).fit(G)
    order = np.argsort(-halves.weights_)  # of the first half, kept
    for name in ("weights_", "components_", "document_components_"):
        a, b = getattr(whole, name), getattr(halves, name)[order]
        assert_allclose(b, a, rtol=1e-10, atol=1e-14)
    with pytest.raises(ValueError, match="warm_start=True goes on from"):
        halves.set_params(n_components=4).fit(G)
    halves.set_params(n_components=3).fit(G[:10])  # other documents: the components go on


# ---- the seam


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_blocks_of_documents_give_the_statistics_of_all(alpha):
    G, weights = corpus(n=60), np.arange(60) % 3 + 0.5
    model = PLSA(n_components=3, alpha=alpha, tol=1e-12, max_iter=5000, random_state=0)
    assert isinstance(model, RowSums)
    model.begin(G[:30])
    for _ in range(40):
        whole = model.partial_statistics(G, None, weights)
        parts = [
            pickle.loads(pickle.dumps(model)).partial_statistics(G[s], None, weights[s])
            for s in (slice(0, 25), slice(25, 60))
        ]
        total = model.merge(*parts)
        for a, b in zip(total, whole, strict=True):
            assert_allclose(a, b, rtol=1e-11, atol=1e-12)
        assert_allclose(whole.mass, weights @ G.sum(axis=1), rtol=1e-14)
        assert_allclose(whole.word_counts.sum(axis=0), weights @ G, rtol=1e-11, atol=1e-12)
        model.update(total)
    trace = model.log_likelihood_trace_
    # Mixtures are folded in to 1e-12, and the likelihood is flat there.
    assert (np.diff(trace) >= -1e-10).all() and model.n_iter_ == 40
    init = {"components_init": model.components_, "weights_init": model.weights_}
    again = fitted(G, weights, alpha=alpha, max_iter=3000, **init)
    assert again.score(G, sample_weight=weights) >= model.score(G, sample_weight=weights) - 1e-3


def test_empty_statistics_move_nothing():
    model = PLSA(n_components=2, random_state=0).begin(corpus())
    before = model.components_.copy()
    empty = model.partial_statistics(np.zeros((3, 30)))
    assert empty.mass == 0 and (empty.word_counts == 0).all()
    with pytest.raises(ValueError, match="the statistics hold no counts"):
        model.update(empty)
    assert_array_equal(model.components_, before)


# ---- the edges


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_empty_documents_and_unseen_words(alpha):
    G = np.pad(corpus(), ((2, 1), (1, 2)))
    model = fitted(G, alpha=alpha)
    plain = fitted(G[2:-1], alpha=alpha)
    assert_allclose(model.components_, plain.components_, rtol=1e-12)
    assert (model.document_components_[:, [0, 1, -1]] == 0).all()
    assert (model.components_[:, [0, -1]] == 0).all() == (alpha == 0)
    expected = np.full(3, 1 / 3) if alpha else model.weights_
    assert_allclose(model.transform(np.zeros((1, 33)))[0], expected, rtol=1e-12)
    unseen = np.eye(33)[[0, 5]]
    assert np.isfinite(model.transform(unseen)).all()
    # Without a prior a word that no document had is impossible.
    assert (model.perplexity(unseen) == np.inf) == (alpha == 0)
    assert np.isfinite(model.perplexity(unseen[1:]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_impossible_words_are_exactly_so(dtype):
    words = np.array([[0.5, 0.5, 0, 0]])
    model = PLSA(1, alpha=0.0, components_init=words, max_iter=1, tol=0)
    model.fit(np.array([[1, 1, 0, 0]], dtype))
    assert_allclose(model.score(np.array([[0, 1, 0, 0]], dtype)), np.log(0.5), rtol=1e-6)
    for k in (1, 2):  # counts of no document, and of one of several
        G = np.array([[0, 1, 1, 0], [5, 1, 0, 0]], dtype)[:k]
        assert model.score(G) == -np.inf and model.perplexity(G) == np.inf
    X = np.array([[1, 1, 0, 0], [0, 0, 3, 0]], dtype)
    assert_allclose(model.score(X, sample_weight=[1, 0]), np.log(0.5), rtol=1e-6)


@pytest.mark.parametrize("G", [[[3.0]], [[1.0, 2.0, 0.0]], [[1.0], [4.0]], [[0.0, 1e-310]]])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_one_document_or_one_word(G, alpha):
    G = np.array(G)
    model = fitted(G, alpha=alpha, n_components=2)
    total = model.weights_ @ model.components_
    if alpha == 0:
        assert_allclose(total, G.sum(axis=0) / G.sum(), rtol=1e-12)
    assert all(np.isfinite(table).all() for table in answers(model))


@pytest.mark.parametrize("scale", [1e8, 1e-6, 0.3, 1e140, 1e-300])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_huge_tiny_and_broken_counts(scale, alpha):
    model = fitted(scale * corpus(), alpha=alpha)
    trace = model.log_likelihood_trace_
    assert np.isfinite(trace).all()
    assert (np.diff(trace) >= -1e3 * EPS * np.abs(trace[1:])).all()
    assert all(np.isfinite(table).all() for table in answers(model))


def test_zeros_of_the_start_are_kept_without_a_prior_and_left_with_one():
    G, init = corpus(), start(40, 30, 3)
    init["components_init"][0, :5] = 0
    init["components_init"] /= init["components_init"].sum(axis=1, keepdims=True)
    assert (fitted(G, alpha=0.0, **init).components_[0, :5] == 0).all()
    model = fitted(G, alpha=0.1, **init)
    assert (model.components_ > 0).all()
    assert model.log_likelihood_trace_[0] == -np.inf
    assert np.isfinite(model.log_likelihood_trace_[1:]).all()
    init["document_components_init"][0, :20] = 0
    init["document_components_init"] /= init["document_components_init"].sum(axis=1)[:, None]
    model = fitted(G, np.arange(40) % 2, alpha=0.1, **init)  # also where a document is absent
    assert np.isfinite(model.log_likelihood_trace_[1:]).all()


def test_a_component_without_counts_is_reported():
    G, init = corpus(), start(40, 30, 3)
    init["weights_init"] = np.array([0.5, 0.0, 0.5])
    with pytest.warns(UserWarning, match=r"components \[1\] have no counts left"):
        model = fitted(G, alpha=0.0, **init)
    assert model.weights_[1] == 0
    for table in answers(model):
        assert_allclose(table.sum(axis=-1), 1, rtol=100 * EPS)


@pytest.mark.parametrize(
    ("G", "weights", "message"),
    [
        ([[1.0, -2.0]], None, "Negative values in data passed to PLSA .least: -2"),
        ([[0.0, 0.0]], None, "X has no counts, all are zero"),
        ([[0.0, 1.0], [0.0, 0.0]], [0, 1], "X has no counts"),
    ],
)
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_what_is_no_matrix_of_counts_is_refused(G, weights, message, form):
    with pytest.raises(ValueError, match=message):
        PLSA(n_components=1).fit(form(G), sample_weight=weights)


def test_an_early_end_is_a_warning_and_tol_zero_takes_every_step():
    from mlcore.model import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=3 steps"):
        model = PLSA(n_components=3, max_iter=3, random_state=0).fit(corpus())
    assert not model.converged_ and model.n_iter_ == 3
    model = PLSA(n_components=3, tol=1e-3, random_state=0).fit(corpus())
    assert model.converged_ and np.diff(model.log_likelihood_trace_)[-1] <= 1e-3
    assert len(fitted(corpus(), max_iter=37).log_likelihood_trace_) == 37


def test_components_are_sorted_by_weight_unless_the_start_has_an_order():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(30, 0.1), 3)
    G = rng.poisson(300 * rng.dirichlet([4.0, 2.0, 1.0], 200) @ topics)
    model = PLSA(3, tol=1e-10, max_iter=5000, random_state=0).fit(G)
    assert (np.diff(model.weights_) < 0).all()
    joint = np.einsum("j,jw,jd->dw", model.weights_, model.components_, model.document_components_)
    mixtures = model.document_components_ * model.weights_[:, None]
    # The order is one: all three say the same, and transform too.
    assert_allclose(model.transform(G), (mixtures / mixtures.sum(axis=0)).T, atol=1e-5)
    assert_allclose(joint.sum(), 1)
    turned = PLSA(3, components_init=model.components_[::-1]).fit(G)
    assert (np.diff(turned.weights_) > 0).all()


def test_partial_fit_follows_a_stream_of_documents():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), 3)
    G = rng.poisson(200 * rng.dirichlet(np.full(3, 0.3), 1500) @ topics).astype(float)
    whole = PLSA(3, random_state=0).fit(G)
    stream = PLSA(3, random_state=0)
    for block in np.split(G, 15):
        assert stream.partial_fit(block) is stream
    assert stream.total_count_ == G.sum()
    assert_allclose(stream.components_.sum(axis=1), 1)
    # It sees each document once; both find the topics.
    assert stream.score(G) > whole.score(G) - 0.005
    with pytest.raises(ValueError, match="no counts"):
        stream.partial_fit(np.zeros((2, 40)))


def test_partial_fit_is_the_step_of_the_sums_weighted():
    """By hand from the sums that the seam gives: new counts twice their share, then old ones."""
    rng = np.random.default_rng(1)
    G, H = rng.poisson(1.0, (50, 8)), rng.poisson(1.0, (25, 8))
    model = PLSA(2, random_state=0, alpha=0.0).fit(G)
    new = model.partial_statistics(H, sample_weight=np.full(25, 2.0))
    share = 2 * new.mass / (G.sum() + new.mass)
    known = model.weights_[:, None] * model.components_
    counts = share * new.word_counts / new.mass + (1 - share) * known
    model.partial_fit(H, sample_weight=np.full(25, 2.0))
    assert_allclose(model.components_, counts / counts.sum(axis=1, keepdims=True))
    assert_allclose(model.weights_, counts.sum(axis=1))
