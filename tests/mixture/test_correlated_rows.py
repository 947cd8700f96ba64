"""Missing values under covariances of every type, against EM by conditional Gaussians."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from mlcore.mixture import GaussianMixture
from mlcore.mixture.gaussian.covariances import FAMILIES

# Rows of which nothing is known are drawn here and there.
pytestmark = pytest.mark.filterwarnings("ignore:.*rows without a known value:UserWarning")

TYPES = ("full", "tied", "diag", "spherical")
FORMS = ("EII", "EEI", "VEI", "EVI", "EEE", "VEE", "EEV", "VEV", "EVV")  # M-steps by hand below


def rows(n=150, d=4, k=2, holes=0.3, seed=0):
    rng = np.random.default_rng([n, d, k, seed])
    mixing = np.eye(d) + 0.5 * rng.normal(size=(k, d, d))
    labels = rng.integers(0, k, n)
    X = 2 * rng.normal(size=(k, d))[labels]
    X += np.einsum("nd,nde->ne", rng.normal(size=(n, d)), mixing[labels])
    X[rng.random((n, d)) < holes] = np.nan
    return X


def start(X, k, kind):
    d, rng = X.shape[1], np.random.default_rng(7)
    variances = np.nanvar(X, axis=0)
    precisions = {
        "full": np.repeat(np.diag(1 / variances)[None], k, 0),
        "tied": np.diag(1 / variances),
        "diag": np.repeat(1 / variances[None], k, 0),
        "spherical": np.full(k, 1 / variances.mean()),
    }
    alike = np.repeat(np.eye(d)[None] / variances.mean(), k, 0)
    precisions = precisions.get(kind, alike if kind[1:] == "II" else precisions["full"])
    means = np.nanmean(X, axis=0) + np.sqrt(variances) * rng.normal(size=(k, d))
    weights = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    return {
        "n_components": k,
        "covariance_type": kind,
        "missing": "ignore",
        "weights_init": weights,
        "means_init": means,
        "precisions_init": precisions,
        "tol": 0,
        "reg_covar": 0,
    }


def conditional(x, mean, S):
    """Log-density of what is known of x, and the mean and covariance of x given it."""
    o, u = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
    filled, V = np.where(np.isnan(x), mean, x), np.zeros(S.shape)
    log_p = 0.0
    if len(o):
        log_p = multivariate_normal.logpdf(x[o], mean[o], S[np.ix_(o, o)])
    if len(u):
        slope = S[np.ix_(u, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        filled[u] += slope @ (x[o] - mean[o])
        V[np.ix_(u, u)] = S[np.ix_(u, u)] - slope @ S[np.ix_(o, u)]
    return log_p, filled, V


def em_by_rows(X, n_steps, kind, weights, means, precisions, w):
    """EM written out with `conditional`; parameters, matrices (k, d, d), and the trace."""
    k, d = means.shape
    if kind not in ("diag", "spherical"):
        S = np.broadcast_to(np.linalg.inv(precisions), (k, d, d))
    else:
        S = np.array([np.diag(1 / np.broadcast_to(p, d)) for p in precisions])
    trace = []
    for _ in range(n_steps + 1):
        parts = [[conditional(x, means[j], S[j]) for j in range(k)] for x in X]
        log_joint = np.log(weights) + [[part[0] for part in row] for row in parts]
        total = logsumexp(log_joint, axis=1)
        trace.append(w @ total / w.sum())
        if len(trace) > n_steps:
            break
        r = np.exp(log_joint - total[:, None]) * w[:, None]
        filled = np.array([[part[1] for part in row] for row in parts])
        mass, weights = r.sum(axis=0), r.sum(axis=0) / w.sum()
        means = np.einsum("nj,njd->jd", r, filled) / mass[:, None]
        S = np.zeros((k, d, d))
        for i, j in np.ndindex(r.shape):
            t = filled[i, j] - means[j]
            S[j] += r[i, j] / mass[j] * (np.outer(t, t) + parts[i][j][2])
        if kind == "tied":
            S = np.repeat(np.einsum("j,jde->de", weights, S)[None], k, 0)
        elif kind == "diag":
            S = S * np.eye(d)
        elif kind == "spherical":
            S = np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(d) / d
        elif kind != "full":
            S = of_family(kind, weights, S)
    return weights, means, S, trace


def of_family(family, weights, S):
    """M-steps of Celeux and Govaert (1995), the iterative ones by alternations."""
    k, d, _ = S.shape
    axes = np.broadcast_to(np.eye(d), S.shape)
    if family == "EVV":
        roots = np.linalg.det(S) ** (1 / d)
        return S / roots[:, None, None] * (weights @ roots)
    if family in ("EEE", "VEE"):
        volumes = np.ones(k)
        for _ in range(300):
            C = np.einsum("j,jde->de", weights / volumes, S)
            if family == "EEE":
                return np.repeat(C[None], k, 0)
            C /= np.linalg.det(C) ** (1 / d)
            volumes = np.einsum("jde,ed->j", S, np.linalg.inv(C)) / d
        return volumes[:, None, None] * C
    squares = np.einsum("jdd->jd", S)
    if family[2] == "V":
        squares, axes = np.linalg.eigh(S)
    if family == "EVI":
        roots = np.prod(squares, axis=1) ** (1 / d)
        variances = squares / roots[:, None] * (weights @ roots)
    elif family[0] == "V":
        volumes = np.ones(k)
        for _ in range(300):
            shape = (weights / volumes) @ squares
            shape /= np.prod(shape) ** (1 / d)
            volumes = (squares / shape).mean(axis=1)
        variances = volumes[:, None] * shape
    else:
        variances = np.repeat((weights @ squares)[None], k, 0)
        if family == "EII":
            variances = np.full((k, d), variances.mean())
    return np.einsum("jde,je,jfe->jdf", axes, variances, axes)


def as_matrices(model):
    k, d = model.means_.shape
    S = model.covariances_
    if model.covariance_type_ not in ("diag", "spherical"):
        return np.broadcast_to(S, (k, d, d))
    return np.array([np.diag(np.broadcast_to(s, d)) for s in S])


STEPS = [
    *((kind, *case) for kind in TYPES for case in [(1, 2, 0.2, True), (4, 2, 0.3, True)]),
    *((kind, 5, 3, 0.7, False) for kind in TYPES),
    *((kind, 3, 2, 0.4, True) for kind in FORMS),
]


@each("kind, d, k, holes, weighted", STEPS)
def test_every_step_is_that_of_em_by_rows(d, k, holes, weighted, kind):
    X = rows(60, d, k, holes)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    options = start(X, k, kind)
    model = GaussianMixture(max_iter=3, **options).fit(X, sample_weight=w)
    parts = [options[f"{name}_init"] for name in ("weights", "means", "precisions")]
    weights, means, S, trace = em_by_rows(X, 3, kind, *parts, w)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-11)
    assert_allclose(model.weights_, weights, rtol=1e-10)
    assert_allclose(model.means_, means, rtol=1e-9, atol=1e-10)
    assert_allclose(as_matrices(model), S, rtol=1e-9, atol=1e-10)
    assert_allclose(model.score_samples(X) @ w / w.sum(), trace[-1], rtol=1e-11)
    assert_allclose(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_two_features_one_of_them_known_for_all_rows_have_a_closed_form():
    """Anderson, *Maximum likelihood estimates ... when some observations are missing*, 1957."""
    X = np.array([[1, 2], [2, 3.5], [3, 3], [4, 6], [5, np.nan], [7, np.nan]])
    model = GaussianMixture(missing="ignore", tol=0, max_iter=400, reg_covar=0).fit(X)
    x, y = X[:4].T
    C = np.cov(x, y, bias=True)
    slope = C[0, 1] / C[0, 0]
    means = [X[:, 0].mean(), y.mean() + slope * (X[:, 0].mean() - x.mean())]
    variance = X[:, 0].var()
    last = C[1, 1] - slope * C[0, 1] + slope**2 * variance
    assert_allclose(model.means_[0], means, rtol=1e-10)
    expected = [[variance, slope * variance], [slope * variance, last]]
    assert_allclose(model.covariances_[0], expected, rtol=1e-9)


@given(
    kind=st.sampled_from(TYPES + FAMILIES),
    n=st.integers(40, 120),
    d=st.integers(1, 5),
    k=st.integers(1, 3),
    holes=st.sampled_from([0.0, 0.1, 0.4, 0.8]),
    few_patterns=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=120)
def test_the_log_likelihood_never_decreases_whatever_is_missing(
    kind, n, d, k, holes, few_patterns, weighted, seed
):
    rng = np.random.default_rng(seed)
    X = rows(n, d, k, 0, seed)
    missing = rng.random((n, d)) < holes
    if few_patterns:
        missing = missing[rng.integers(0, 3, n)]
    missing[0] = False
    X = np.where(missing, np.nan, X + 100) * 10.0 ** rng.integers(-2, 3, d)
    model = GaussianMixture(
        k, covariance_type=kind, missing="ignore", tol=0, max_iter=20, random_state=0
    )
    weight = rng.uniform(0, 3, n) if weighted else None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, sample_weight=weight)
    text = " ".join(str(one.message) for one in told)
    trace = model.log_likelihood_trace_
    # A family whose limit is not exact may fall where it is, and a warning tells.
    if not len(getattr(model, "limited_", ())):
        assert "fell" not in text
        assert np.diff(trace).min() > -1e-9
    else:
        assert np.diff(trace).min() > -1e-6 or "fell" in text


@each("kind", TYPES)
def test_copies_are_weights_and_threads_change_no_bit(kind, monkeypatch):
    X = rows(300, 5, 2, 0.3)
    options = start(X, 2, kind) | {"max_iter": 5}
    times = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = GaussianMixture(**options).fit(X, sample_weight=times)
    copied = GaussianMixture(**options).fit(np.repeat(X, times, axis=0))
    assert_allclose(weighted.means_, copied.means_, rtol=1e-9, atol=1e-10)
    assert_allclose(weighted.covariances_, copied.covariances_, rtol=1e-8, atol=1e-10)
    monkeypatch.setattr("mlcore.mixture.gaussian.correlated_rows.effective_threads", lambda _: 3)
    threads = GaussianMixture(**options).fit(X, sample_weight=times)
    assert_array_equal(threads.covariances_, weighted.covariances_)


@each("kind", ("full", "tied"))
@each("shift, scale", [(0, 1), (1e6, 1), (0, 1e-120), (0, 1e120)])
def test_units_and_offsets_move_the_fit_alone(kind, shift, scale):
    X = rows(200, 5, 2, 0.4)
    options = {"covariance_type": kind, "missing": "ignore", "tol": 0, "max_iter": 5}
    near = GaussianMixture(2, random_state=0, **options).fit(X)
    far = GaussianMixture(2, random_state=0, **options).fit(X * scale + shift)
    assert_allclose((far.means_ - shift) / scale, near.means_, rtol=1e-6, atol=1e-7)
    assert_allclose(far.covariances_ / scale**2, near.covariances_, rtol=1e-5, atol=1e-6)


def test_a_covariance_of_poor_condition_takes_the_form_by_covariances():
    X = rows(60, 4, 1, 0.3)
    u = np.random.default_rng(2).normal(size=(4, 4))
    S = u @ np.diag([1, 1, 1e-6, 1e-11]) @ u.T
    model = GaussianMixture.from_parameters([1.0], np.zeros((1, 4)), S[None])
    model.missing = "ignore"
    expected = []
    for x in X:
        o = ~np.isnan(x)
        C = S[np.ix_(o, o)]
        square = x[o] @ np.linalg.solve(C, x[o]) if o.any() else 0.0
        log_det = np.linalg.slogdet(C)[1] if o.any() else 0.0
        expected.append(-0.5 * (o.sum() * np.log(2 * np.pi) + log_det + square))
    assert_allclose(model.score_samples(X), expected, rtol=1e-4)


def test_a_row_of_nothing_goes_by_the_weights():
    X = rows(100, 3, 2, 0.3)
    model = GaussianMixture(2, missing="ignore", random_state=0).fit(X)
    nothing = np.full((1, 3), np.nan)
    assert_allclose(model.predict_proba(nothing)[0], model.weights_, rtol=1e-12)
    assert_allclose(model.score_samples(nothing), [0], atol=1e-14)
    with pytest.raises(ValueError, match="column 1 of X are missing"):
        GaussianMixture(missing="ignore").fit(X * [1, np.nan, 1])


@each("kind", TYPES)
@each("dtype", [np.float64, np.float32])
def test_imputed_values_are_conditional_means_and_known_ones_stay(kind, dtype):
    X = rows(120, 5, 3, 0.4).astype(dtype)
    X[3] = np.nan
    model = GaussianMixture(**(start(X, 3, kind) | {"max_iter": 5})).fit(X)
    found, S, r = model.impute(X), as_matrices(model), model.predict_proba(X)
    expected = [
        sum(r[i, j] * conditional(x, model.means_[j], S[j])[1] for j in range(3))
        for i, x in enumerate(X.astype(np.float64))
    ]
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    known = ~np.isnan(X)
    assert found.dtype == dtype
    assert_array_equal(found[known], X[known])
    assert_array_equal(model.impute(found), found)
    with pytest.raises(ValueError, match='missing="ignore" takes NaN'):
        model.set_params(missing="error").impute(X)


@each("kind", ("full", "tied"))
def test_sums_of_blocks_are_the_fit_and_nothing_missing_is_complete_data(kind):
    X = rows(200, 4, 2, 0.3)
    options = start(X, 2, kind) | {"max_iter": 1}
    model = GaussianMixture(**options).fit(X)
    blocks = GaussianMixture(**options).begin(X)
    parts = [blocks.partial_statistics(X[lo : lo + 70]) for lo in range(0, 200, 70)]
    sums = parts[0]
    for part in parts[1:]:
        sums = blocks.merge(sums, part)
    blocks.update(sums)
    assert_allclose(blocks.covariances_, model.covariances_, rtol=1e-9, atol=1e-10)
    whole = np.where(np.isnan(X), 0.5, X)
    complete = GaussianMixture(**(options | {"missing": "error"})).fit(whole)
    ignored = GaussianMixture(**options).fit(whole)
    assert_array_equal(ignored.covariances_, complete.covariances_)


@each("kind", TYPES + FAMILIES)
@each("known", [[0], [3, 1], [2, 0, 4]])
def test_the_joint_density_is_the_marginal_times_the_conditional(kind, known):
    X = rows(100, 5, 2, 0.2)
    model = GaussianMixture(**(start(X, 2, kind) | {"max_iter": 5})).fit(X)
    others, x = np.setdiff1d(np.arange(5), known), np.nanmean(X, axis=0) + 0.5
    given = model.conditional(known, x[known])
    near = model.marginal(known).score_samples(x[None, known])
    product = near + given.score_samples(x[None, others])
    assert_allclose(product, model.score_samples(x[None]), rtol=1e-11)
    hidden = x.copy()
    hidden[others] = np.nan
    assert_allclose(near, model.score_samples(hidden[None]), rtol=1e-11)
    assert_allclose(given.weights_ @ given.means_, model.impute(hidden[None])[0, others], rtol=1e-9)


@each("known", [[], [0, 0], [5], [0.5], [0, 1, 2], [[0]], [-1]])
def test_features_that_are_none_are_refused(known):
    model = GaussianMixture.from_parameters([1.0], [[0.0] * 3], [np.eye(3)])
    with pytest.raises(ValueError, match="known=.* must be a list of 1 to 2 different integers"):
        model.conditional(known, [0.0] * len(known))
    with pytest.raises(ValueError, match="values"):
        model.conditional([0], [np.nan])
    with pytest.raises(ValueError, match="values contains a value whose square overflows"):
        model.conditional([0], [1e160])


@each("kind", ("VVV", "EEE", "VVI", "VII"))
@each("far", [3.0, 1e4, 1e10, 1e150])
def test_a_value_of_equal_density_in_the_components_leaves_the_weights(kind, far):
    S = np.eye(2) if kind[2] == "I" else np.array([[1.0, 0.5], [0.5, 1.0]])
    weights, means = [0.3, 0.7], [[0.0, -1.0], [0.0, 1.0]]
    model = GaussianMixture.from_parameters(weights, means, [S, S], kind)
    given = model.conditional([0], [far])
    assert_allclose(given.weights_.sum(), 1, rtol=1e-14)
    if far < 1e5:  # or weights are rounded beside the squared distance
        assert_allclose(given.weights_, weights, rtol=1e-15 * (far**2 + 10))
    assert_allclose(given.means_[:, 0], S[0, 1] * far + [-1, 1], rtol=1e-14)
    C = model.set_params(missing="ignore").conditional_mean([[far, np.nan]], return_cov=True)[1]
    if far < 1e5:  # or -1 and 1 are lost beside the mean
        assert_allclose(C[0, 1, 1], 1 - S[0, 1] ** 2 + 4 * 0.3 * 0.7, rtol=1e-8)


def never_together(X, w=None):
    known = ~np.isnan(X if w is None else X[w > 0])
    d = X.shape[1]
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    return [(i, j) for i, j in pairs if not (known[:, i] & known[:, j]).any()]


@each("kind", TYPES + ("VVE", "VEI"))
@each("weighted", [False, True])
def test_features_never_together_and_empty_rows_are_told(kind, weighted):
    X = rows(200, 5, 2, 0.2)
    X[::2, 1] = X[1::2, 3] = X[1::2, 4] = np.nan
    w = np.ones(len(X))
    X[10:13] = np.nan
    if weighted:
        w[11], X[20], w[20] = 0, 1.0, 0  # a row of weight 0 that has all features
    names = ["a", "b", "c", "d", "e"]
    model = GaussianMixture(2, covariance_type=kind, missing="ignore", random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(pd.DataFrame(X, columns=names), sample_weight=w)
    text = " ".join(str(one.message) for one in told)
    free = kind in ("diag", "spherical", "VEI")
    expected = [] if free else never_together(X, w)
    assert_array_equal(model.never_together_, np.reshape(expected, (-1, 2)))
    assert free or expected == [(1, 3), (1, 4)]
    assert model.n_empty_rows_ == 3 - weighted
    assert f"rows without a known value: {3 - weighted} (see n_empty_rows_)" in text
    assert free or "2, 'b' and 'd', 'b' and 'e' (see never_together_)" in text
    assert np.isfinite(model.covariances_).all()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.never_together_, model.never_together_)
    model.partial_fit(pd.DataFrame(X[:50], columns=names))
    assert not hasattr(model, "never_together_")
    complete = GaussianMixture(2, covariance_type=kind, missing="ignore").fit(np.nan_to_num(X))
    assert complete.n_empty_rows_ == 0 and complete.never_together_.shape == (0, 2)


def hard_rows():
    X = rows(70, 3, 2, 0)
    return {
        "far": X + 1e8,
        "large": X * [1e130, 1e126, 1e122],
        "constant feature": np.c_[X, np.full(70, 7.0)],
        "wide": rows(6, 8, 2, 0),
        "copies": np.repeat(X[:6], 7, axis=0),
        "two rows": X[:2],
        "one row": X[:1],
        "equal": np.ones((12, 2)),
    }


@each("case", list(hard_rows()))
@each("reg_covar", [None, 0])
def test_hard_rows_with_holes(case, reg_covar):
    X = hard_rows()[case]
    holes = np.random.default_rng(1).random(X.shape) < 0.2
    holes[0] = False
    X[holes] = np.nan
    X.setflags(write=False)
    options = {"missing": "ignore", "reg_covar": reg_covar, "random_state": 0, "max_iter": 20}
    for kind in ("full", *FAMILIES[3:]):
        model = GaussianMixture(min(2, len(X)), covariance_type=kind, **options)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.fit(X)
        assert "RuntimeWarning" not in {one.category.__name__ for one in told}, kind
        assert np.isfinite(model.covariances_).all() and np.isfinite(model.lower_bound_), kind
        drawn = model.impute(X, n_draws=2, random_state=0)
        assert np.isfinite(drawn).all() and (drawn[:, ~holes] == X[~holes]).all(), kind
        C = model.conditional_mean(X, return_cov=True)[1]
        assert np.linalg.eigvalsh(C).min() >= -1e-9 * np.abs(C).max(), kind


@each("kind", TYPES + ("VVE", "EEV", "EEI"))
@each("dtype", [np.float64, np.float32])
def test_conditional_covariances_are_those_of_each_row(kind, dtype):
    X = rows(60, 4, 3, 0.4).astype(dtype)
    X[3] = np.nan
    options = {"missing": "ignore", "random_state": 0, "tol": 0, "max_iter": 10}
    model = GaussianMixture(3, covariance_type=kind, **options).fit(X)
    mean, C = model.conditional_mean(X, return_cov=True)
    assert_array_equal(mean, model.impute(X))
    assert_array_equal(mean, model.conditional_mean(X))
    S = as_matrices(model)
    for i, x in enumerate(X.astype(np.float64)):
        parts = [conditional(x, model.means_[j], S[j]) for j in range(3)]
        logs = np.log(model.weights_) + [part[0] for part in parts]
        r = np.exp(logs - logsumexp(logs))
        centre = sum(r[j] * parts[j][1] for j in range(3))
        away = [part[1] - centre for part in parts]
        expected = sum(r[j] * (parts[j][2] + np.outer(away[j], away[j])) for j in range(3))
        assert_allclose(C[i], expected, rtol=1e-6, atol=1e-8)
    assert (C[~np.isnan(X)] == 0).all()


@each("kind", TYPES + ("VEE",))
@each("shift", [0, 1e6])
def test_draws_have_the_conditional_mean_and_covariance(kind, shift):
    X = rows(80, 4, 2, 0.3) + shift
    model = GaussianMixture(**(start(X, 2, kind) | {"max_iter": 5})).fit(X)
    some = X[[0, 1, 2, 3, 4, 5]]
    some[0] = np.nan
    drawn = model.impute(some, n_draws=4_000, random_state=0)
    mean, C = model.conditional_mean(some, return_cov=True)
    known = ~np.isnan(some)
    assert drawn.shape == (4_000, 6, 4)
    assert (drawn[:, known] == some[known]).all()
    for i in range(6):
        deviations = np.sqrt(np.diagonal(C[i]))
        error = np.abs(drawn[:, i].mean(axis=0) - mean[i])
        assert (error <= 5 * deviations / np.sqrt(4_000) + 1e-6).all()
        scale = np.outer(deviations, deviations)
        assert (np.abs(np.cov(drawn[:, i].T) - C[i]) <= 0.1 * scale + 1e-9).all()
    again = model.impute(some, n_draws=4_000, random_state=0)
    assert_array_equal(again, drawn)
    assert_array_equal(model.impute(mean, n_draws=2, random_state=0), [mean, mean])
    for wrong in (0, 1.5, "1"):
        with pytest.raises((TypeError, ValueError), match="n_draws"):
            model.impute(some, n_draws=wrong)
