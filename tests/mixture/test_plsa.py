"""The aspect model against a dense EM written out here, NMF, closed forms and its own laws."""

import pickle

import numpy as np
import pytest
from corpora import answers, corpus, start
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import linear_sum_assignment

from mlcore.mixture import PLSA
from mlcore.row_sums import RowSums

EPS = np.finfo(float).eps

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


@settings(max_examples=25)
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


@settings(max_examples=15)
@given(corpora, st.sampled_from([0.0, 0.1]), st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter(G, alpha, random):
    order = list(range(len(G)))
    random.shuffle(order)
    one, two = (fitted(X, alpha=alpha, **IN_ORDER) for X in (G, G[order]))
    assert_allclose(two.components_, one.components_, rtol=1e-9, atol=1e-12)
    assert_allclose(
        two.document_components_, one.document_components_[:, order], rtol=1e-9, atol=1e-12
    )


@settings(max_examples=15)
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


@settings(max_examples=15)
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
    for _ in range(15):
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
    assert (np.diff(trace) >= -1e-10).all() and model.n_iter_ == 15
    init = {"components_init": model.components_, "weights_init": model.weights_}
    again = fitted(G, weights, alpha=alpha, max_iter=3000, **init)
    assert again.score(G, sample_weight=weights) >= model.score(G, sample_weight=weights) - 1e-3


def test_empty_statistics_move_nothing():
    model = PLSA(n_components=2, random_state=0).begin(corpus())
    before = model.components_.copy()
    empty = model.partial_statistics(np.zeros((3, 30)))
    assert empty.mass == 0 and (empty.word_counts == 0).all()
    with pytest.raises(ValueError, match="statistics have a mass of 0"):
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


@each("G", [[[3.0]], [[1.0, 2.0, 0.0]], [[1.0], [4.0]], [[0.0, 1e-310]]])
@each("alpha", [0.0, 0.1])
def test_one_document_or_one_word(G, alpha):
    G = np.array(G)
    model = fitted(G, alpha=alpha, n_components=2)
    total = model.weights_ @ model.components_
    if alpha == 0:
        assert_allclose(total, G.sum(axis=0) / G.sum(), rtol=1e-12)
    assert all(np.isfinite(table).all() for table in answers(model))


@each("scale", [1e8, 1e-6, 0.3, 1e140, 1e-300])
@each("alpha", [0.0, 0.1])
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


@each(
    ("G", "weights", "message"),
    [
        ([[1.0, -2.0]], None, "Negative values in data passed to PLSA .least: -2"),
        ([[0.0, 0.0]], None, "X has no counts, all are zero"),
        ([[0.0, 1.0], [0.0, 0.0]], [0, 1], "X has no counts"),
    ],
)
@each("form", [np.array, sp.csr_array])
def test_what_is_no_matrix_of_counts_is_refused(G, weights, message, form):
    with pytest.raises(ValueError, match=message):
        PLSA(n_components=1).fit(form(G), sample_weight=weights)


def test_an_early_end_is_a_warning_and_tol_zero_takes_every_step():
    from mlcore.estimator.model import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="did not converge.*max_iter=3 steps"):
        model = PLSA(n_components=3, max_iter=3, random_state=0).fit(corpus())
    assert not model.converged_ and model.n_iter_ == 3
    model = PLSA(n_components=3, tol=1e-3, random_state=0).fit(corpus())
    assert model.converged_ and np.diff(model.log_likelihood_trace_)[-1] <= 1e-3
    assert len(fitted(corpus(), max_iter=37).log_likelihood_trace_) == 38


def test_ordinary_text_converges_by_the_defaults():
    """Messages of 15 words of 800, in eight topics with frequencies as of a language."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.25, 1, (8, 800)) / (np.arange(800) + 3.0) + 1e-9
    shares = rng.dirichlet(np.full(8, 0.3), 600)
    topics /= topics.sum(axis=1, keepdims=True)
    G = np.stack([rng.multinomial(15, p / p.sum()) for p in shares @ topics])
    model = PLSA(8, random_state=0).fit(G)  # without a warning
    assert model.converged_ and 150 < model.n_iter_ < model.max_iter / 2


def test_a_fall_of_the_likelihood_over_changed_blocks_is_told():
    from mlcore.estimator.model import ConvergenceWarning

    G = corpus()
    model = PLSA(3, random_state=0).begin(G)
    model.update(model.partial_statistics(G))
    with pytest.warns(ConvergenceWarning, match="fell by .* in step 1, .* changed from pass"):
        model.update(model.partial_statistics(G[:, ::-1].copy()))
    trace = model.log_likelihood_trace_
    assert len(trace) == 2 and trace[1] < trace[0]


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
    with pytest.raises(ValueError, match="mass of 0"):
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
