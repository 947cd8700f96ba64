"""Laws of every mixture, wherever the data lie: what a fit says of itself is true.

The last entry of the trace is the objective of the fitted parameters, computed here in extended
precision from the definition; the trace falls by more than rounding only with a warning; and where
a fit has converged, one more step of EM gains less than `tol`.
"""

import warnings

import numpy as np
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)

EPS = np.finfo(np.float64).eps
WIDE = np.longdouble
KINDS = ("full", "tied", "diag", "spherical")


def fitted(model, X, weight=None):
    """The fitted model, and the texts of what it warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, None, weight)
    return model, " ".join(str(one.message) for one in told)


def one_more_step(model, X, weight):
    """The same mixture after another step of EM."""
    again = type(model)(**model.get_params()).set_params(warm_start=True, tol=0, max_iter=1)
    state = {name: value for name, value in vars(model).items() if name not in again.get_params()}
    vars(again).update(state)
    return fitted(again, X, weight)[0]


def log_sum_exp(joint):
    top = joint.max(axis=1, keepdims=True)
    return (top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True)))[:, 0]


def check(model, text, objective, more, rounding, explained=0.0):
    """The laws; `objective` and `more` are those of the model and of one more step, in extended
    precision, and `rounding` are bounds on the errors of the trace's entries, and of the last.
    """
    trace = model.log_likelihood_trace_
    assert len(trace) == model.n_iter_ + 1
    assert_allclose(trace[-1], float(objective), rtol=0, atol=rounding[-1])
    if "fell by" not in text:
        assert (np.diff(trace) >= -max(2 * rounding[0], explained)).all()
    if model.converged_:
        assert more - objective < model.tol + 2 * rounding[-1]
    else:
        assert "did not converge" in text
    event("converged" if model.converged_ else "stopped")


# ---- Gaussians


def gaussian_objective(model, X, weight):
    """The mean log-density by Cholesky factors of the covariances, in extended precision."""
    X, (k, d) = X.astype(WIDE), model.means_.shape
    kind, S = model.covariance_type_, model.covariances_
    joint = np.full((len(X), k), -np.inf, WIDE)
    for j in np.flatnonzero(model.weights_ > 0):
        C = S if kind == "tied" else S[j]
        C = C * np.eye(d) if kind in ("diag", "spherical") else C
        L = np.zeros((d, d), WIDE)
        for a in range(d):  # NumPy has no factors in extended precision
            for b in range(a + 1):
                rest = WIDE(C[a, b]) - L[a, :b] @ L[b, :b]
                L[a, b] = np.sqrt(rest) if a == b else rest / L[b, b]
        z = np.zeros((len(X), d), WIDE)
        for a in range(d):
            z[:, a] = (X[:, a] - WIDE(model.means_[j, a]) - z[:, :a] @ L[a, :a]) / L[a, a]
        constant = np.log(WIDE(model.weights_[j])) - d * np.log(2 * WIDE(np.pi)) / 2
        joint[:, j] = constant - np.log(np.diagonal(L)).sum() - (z**2).sum(axis=1) / 2
    w = np.ones(len(X)) if weight is None else weight
    return (w @ log_sum_exp(joint)) / w.sum()


def gaussian_rounding(model, X, eps):
    """Roundings of a row's log-density: of a factor, by the condition of the correlations, of the
    difference from a mean, and of the terms.
    """
    kind, (k, d), S = model.covariance_type_, model.means_.shape, model.covariances_
    condition, variances = 1.0, S.reshape(k, -1) if kind in ("diag", "spherical") else None
    if variances is None:
        S = S.reshape(-1, d, d)
        variances = np.diagonal(S, axis1=1, axis2=2)
        deviations = np.sqrt(variances)
        condition = np.linalg.cond(S / deviations[:, :, None] / deviations[:, None, :]).max()
    reach = np.abs(X.astype(float) - model.origin_).max(axis=0) / np.sqrt(variances).min(axis=0)
    largest = np.abs(np.log(variances)).max()
    return 16 * eps * d * (condition + np.sqrt(condition) * reach.max() + largest)


@st.composite
def clouds(draw):
    """Rows of some clusters, in some type, place and unit; perhaps tied values; weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(8, 90)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    single = draw(st.booleans())
    apart = draw(st.sampled_from([0.0, 3.0, 8.0]))
    X = rng.normal(size=(n, d)) + apart * rng.integers(0, k, (n, 1))
    if draw(st.integers(0, 3)) == 0:
        X[: n // 3] = X[0]
    shift = draw(st.sampled_from([0.0, 1e2, 1e4] if single else [0.0, 1e2, 1e6, 1e10]))
    scale = 10.0 ** draw(st.integers(-10, 10) if single else st.integers(-135, 135))
    X = ((X + shift * rng.choice([-1, 1], d)) * scale).astype(np.float32 if single else np.float64)
    weight = None
    if draw(st.booleans()):
        weight = rng.uniform(0.5, 2, n) * 10.0 ** draw(st.integers(-12, 12))
    return X, k, weight


@given(
    clouds(),
    st.sampled_from(KINDS),
    st.sampled_from([1e-2, 1e-3, 1e-6]),
    st.sampled_from(["k-means++", "kmeans", "random", "rows", "far"]),
    st.sampled_from([None, None, 1e-6, 0.1]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=25, deadline=None)
def test_gaussians(cloud, kind, tol, start, added, seed):
    X, k, weight = cloud
    options = {"covariance_type": kind, "tol": tol, "random_state": seed % 1000, "max_iter": 60}
    if start in ("rows", "far"):
        rows = X[np.random.default_rng(seed).integers(0, len(X), k)].astype(np.float64)
        options["means_init"] = rows + (30 * X.std(axis=0, dtype=float) if start == "far" else 0)
    else:
        options["init_params"] = start
    if added is not None:
        options["reg_covar"] = added * X.var(axis=0, dtype=float).mean()
    model, text = fitted(GaussianMixture(k, **options), X, weight)
    objective = gaussian_objective(model, X, weight)
    more = gaussian_objective(one_more_step(model, X, weight), X, weight)
    rounding = [gaussian_rounding(model, X, eps) for eps in (np.finfo(X.dtype).eps, EPS)]
    check(model, text, objective, more, rounding, 0.0 if added is None else tol)


# ---- discrete mixtures


def discrete(cls, X, k, alpha, categories=None):
    """Objective of a mixture by its definition, in extended precision."""

    def objective(model, weight):
        with np.errstate(divide="ignore", invalid="ignore"):
            if cls is CategoricalMixture:
                tables = [np.log(table.astype(WIDE)) for table in model.probabilities_]
                pairs = zip(model.categories_, X.T, tables, strict=True)
                terms = [table[:, np.searchsorted(c, x)].T for c, x, table in pairs]
                prior = sum(t.sum() for t in tables)
            elif cls is MultinomialMixture:
                logs = np.log(model.means_.astype(WIDE))
                terms = [np.where(X[:, None] > 0, X[:, None] * logs, 0).sum(axis=2)]
                prior = logs.sum()
            else:
                p, trials = model.means_.astype(WIDE), WIDE(getattr(model, "n_trials", 1))
                q = np.asarray(model._solution_.probabilities.T, WIDE)
                ones = np.where(X[:, None] > 0, X[:, None] * np.log(p), 0)
                zeros = np.where(X[:, None] < trials, (trials - X[:, None]) * np.log(q), 0)
                terms, prior = [(ones + zeros).sum(axis=2)], (np.log(p) + np.log(q)).sum()
            joint = sum(terms) + np.log(model.weights_.astype(WIDE))
        w = np.ones(len(X)) if weight is None else weight
        return (w @ log_sum_exp(joint) + (alpha * prior if alpha else 0)) / w.sum()

    return objective


@pytest.mark.parametrize(
    "cls", [BernoulliMixture, BinomialMixture, MultinomialMixture, CategoricalMixture]
)
@given(
    seed=st.integers(0, 2**32 - 1),
    alpha=st.sampled_from([0.0, 0.01, 2.0]),
    tol=st.sampled_from([1e-2, 1e-4, 1e-7]),
    weighted=st.booleans(),
    data=st.data(),
)
@settings(max_examples=15, deadline=None)
def test_discrete_mixtures(cls, seed, alpha, tol, weighted, data):
    rng = np.random.default_rng(seed)
    n, d, k = (data.draw(st.integers(*ends)) for ends in ((5, 80), (1, 8), (1, 4)))
    p = rng.dirichlet(np.full(d, 0.5), 3)[rng.integers(0, 3, n)]
    binary = cls in (BernoulliMixture, CategoricalMixture)
    X = (rng.random((n, d)) < p).astype(float) if binary else rng.binomial(5, p).astype(float)
    X = X.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    X[0] = 1  # a word
    weight = rng.uniform(0.5, 2, n) * 10.0 ** data.draw(st.integers(-12, 12)) if weighted else None
    options = {"alpha": alpha, "tol": tol, "random_state": seed % 1000, "max_iter": 80}
    options |= {"n_trials": 5} if cls is BinomialMixture else {}
    options |= {"binarize": None} if cls is BernoulliMixture else {}
    model, text = fitted(cls(k, **options), X, weight)
    objective = discrete(cls, X, k, alpha)
    found, more = objective(model, weight), objective(one_more_step(model, X, weight), weight)
    # Each of d terms of at most five counts is a logarithm down to log(2^-1022), at most 50 in the
    # mean over the rows, and the prior's are at most 800.
    total = n if weight is None else weight.sum()
    prior = alpha * model.weights_.size * d * 2 * 800 / total
    rounding = 64 * EPS * (abs(float(found)) + 5 * d * 50 + prior)
    check(model, text, found, more, [rounding, rounding])


# ---- PLSA


def plsa_objective(model, G, weight, alpha):
    """The mean over counts of log P(w, d) and the prior, in extended precision."""
    w = np.ones(len(G)) if weight is None else weight
    mass = w @ G.sum(axis=1)
    joint = model.weights_.astype(WIDE)[:, None] * model.document_components_.astype(WIDE)
    shares = w * G.sum(axis=1) / mass
    t = (joint / np.where(joint.sum(axis=0) > 0, joint.sum(axis=0), 1)).T
    p = shares[:, None] * (t @ model.components_.astype(WIDE))
    total = w @ np.where(G > 0, G * np.log(np.where(G > 0, p, 1)), 0).sum(axis=1)
    if alpha:
        total += alpha * (np.log(model.components_.astype(WIDE)).sum() + w @ np.log(t).sum(axis=1))
    return total / mass


@given(
    seed=st.integers(0, 2**32 - 1),
    alpha=st.sampled_from([0.01, 0.5]),
    tol=st.sampled_from([1e-3, 1e-5]),
    power=st.integers(-12, 12),
    single=st.booleans(),
)
@settings(max_examples=15, deadline=None)
@example(seed=0, alpha=0.01, tol=1e-3, power=0, single=True)
def test_plsa(seed, alpha, tol, power, single):
    rng = np.random.default_rng(seed)
    n, v, k = rng.integers(2, 30), rng.integers(2, 30), rng.integers(1, 5)
    G = (rng.poisson(1.0, (n, v)) + (np.arange(v) == 0)).astype(np.float32 if single else float)
    weight = rng.uniform(0.5, 2, n) * 10.0**power if seed % 2 else None
    alpha = alpha * (10.0**-2 if power < 0 else 1.0)
    model = PLSA(k, alpha=alpha, tol=tol, random_state=0, max_iter=300)
    model, text = fitted(model, G, weight)
    found = plsa_objective(model, G, weight, alpha)
    again = one_more_step(model, G, weight)
    more = plsa_objective(again, G, weight, alpha)
    # The mixtures of documents are recovered from shares of components: some roundings each.
    mass = G.sum() if weight is None else weight @ G.sum(axis=1)
    w = n if weight is None else weight.sum()
    rounding = 64 * np.finfo(G.dtype).eps * (abs(float(found)) + k + alpha * k * (v + w) / mass * 9)
    check(model, text, found, more, [rounding, rounding])
