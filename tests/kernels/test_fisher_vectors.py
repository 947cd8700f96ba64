"""Fisher vectors against their definition, differences of log-densities, and their laws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.kernels import FisherVectors
from mlcore.kernels.structured import fisher_vectors
from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    GaussianMixture,
    MultinomialMixture,
)
from mlcore.svm import SVC

KINDS = ("diag", "spherical", "bernoulli", "multinomial")


def softmax(a):
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def drawn(kind, k=3, d=4, seed=0):
    """Weights, means and scales of a mixture whose components overlap."""
    rng = np.random.default_rng(seed)
    weights = softmax(rng.normal(scale=0.3, size=k))
    if kind in ("diag", "spherical"):
        scales = np.exp(rng.normal(scale=0.3, size=(k, d) if kind == "diag" else k))
        return weights, rng.normal(size=(k, d)), scales
    if kind == "bernoulli":
        return weights, rng.uniform(0.2, 0.8, size=(k, d)), None
    return weights, softmax(rng.normal(size=(k, d))), None


def mixture_of(kind, weights, means, scales):
    if kind in ("diag", "spherical"):
        return GaussianMixture.from_parameters(weights, means, scales**2, covariance_type=kind)
    make = BernoulliMixture if kind == "bernoulli" else MultinomialMixture
    return make.from_parameters(weights, means)


def rows_of(kind, n, d, seed=1):
    rng = np.random.default_rng(seed)
    if kind == "bernoulli":
        return rng.integers(0, 2, size=(n, d)).astype(float)
    return rng.poisson(2.0, size=(n, d)) * 1.0 if kind == "multinomial" else rng.normal(size=(n, d))


def one_vector(kind, parts, rows, proba):
    """Plain Python, in the order of the formulas, of a set of rows."""
    weights, means, scales = parts
    k, d = means.shape
    m = len(rows)
    found = []
    for j in range(k):
        found.append(sum(g[j] - weights[j] for g in proba) / m / math.sqrt(weights[j]))

    def z(x, j, c):
        mu = means[j, c]
        if kind == "bernoulli":
            return (x[c] - mu) / math.sqrt(mu * (1 - mu))
        if kind == "multinomial":
            return (x[c] - sum(x) * mu) / math.sqrt(mu)
        return (x[c] - mu) / (scales[j, c] if kind == "diag" else scales[j])

    for j in range(k):
        for c in range(d):
            total = sum(g[j] * z(x, j, c) for x, g in zip(rows, proba, strict=True))
            found.append(total / m / math.sqrt(weights[j]))
    for j in range(k if scales is not None else 0):
        by_feature = [
            sum(g[j] * (z(x, j, c) ** 2 - 1) for x, g in zip(rows, proba, strict=True))
            / m / math.sqrt(2 * weights[j])
            for c in range(d)
        ]  # fmt: skip
        found += by_feature if kind == "diag" else [sum(by_feature) / math.sqrt(d)]
    return found


def test_worked_number():
    mixture = GaussianMixture.from_parameters(
        [0.4, 0.6], [[-1.0], [2.0]], [[1.0], [0.25]], covariance_type="diag"
    )
    sets = [np.array([[0.0], [1.0]])]
    found = FisherVectors(mixture, norm=None).fit(sets).transform(sets)
    expected = [
        0.354446654935743, -0.289404481876303, 1.184544540729942,
        -0.972522912908865, 0.419262745781211, 1.038321106681044,
    ]  # fmt: skip
    assert_allclose(found, [expected], rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_are_differences_of_log_densities(kind):
    """Weights and words move as the exponents of a softmax, deviations by factors."""
    weights, means, scales = drawn(kind)
    (k, d), h = means.shape, 1e-5
    X = rows_of(kind, 12, d)
    if kind == "multinomial":
        X = X[X.sum(axis=1) > 0]

    def difference(change):
        ends = [mixture_of(kind, *change(sign * h)).score_samples(X) for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * h)

    def moved(values, place, step):
        values = values.copy()
        values[place] += step
        return values

    def words(place, step):
        return softmax(moved(np.log(means), place, step))

    columns = []
    for j in range(k):
        slope = difference(lambda s, j=j: (softmax(moved(np.log(weights), j, s)), means, scales))
        columns.append(slope / math.sqrt(weights[j]))
    for j in range(k):
        for c in range(d):
            at, mu, root = (j, c), means[j, c], math.sqrt(weights[j])
            if kind == "multinomial":
                slope = difference(lambda s, at=at: (weights, words(at, s), scales))
                columns.append(slope / (root * math.sqrt(mu)))
                continue
            slope = difference(lambda s, at=at: (weights, moved(means, at, s), scales))
            if kind == "bernoulli":
                columns.append(slope * math.sqrt(mu * (1 - mu)) / root)
            else:
                columns.append(slope * (scales[at] if kind == "diag" else scales[j]) / root)
    for place in np.ndindex(() if scales is None else scales.shape):
        if scales is None:
            break
        slope = difference(
            lambda s, at=place: (weights, means, np.exp(moved(np.log(scales), at, s)))
        )
        information = 2 * weights[place[0]] * (1 if kind == "diag" else d)
        columns.append(slope / math.sqrt(information))
    found = FisherVectors(mixture_of(kind, weights, means, scales), norm=None).fit_transform(X)
    # Third derivatives times h², and rounding of log-densities up to 100 over h.
    assert_allclose(found, np.transpose(columns), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_their_definition(kind, dtype):
    for power, norm in ((1.0, None), (1.0, "l2"), (0.5, None), (0.3, "l2")):
        with case(power, norm):
            check_vectors(kind, norm, power, dtype)


def check_vectors(kind, norm, power, dtype):
    parts = drawn(kind)
    mixture = mixture_of(kind, *parts)
    X = rows_of(kind, 30, 4).astype(dtype)
    lengths = [1, 5, 0, 2, 1, 9, 12]
    sets = [X[b - m : b] for b, m in zip(np.cumsum(lengths), lengths, strict=True)]
    found = FisherVectors(mixture, power=power, norm=norm).fit(sets).transform(sets)
    assert found.dtype == dtype
    for vector, rows in zip(found, sets, strict=True):
        if not len(rows):
            assert_array_equal(vector, 0)
            continue
        expected = np.array(
            one_vector(kind, parts, rows.astype(float), mixture.predict_proba(rows))
        )
        # A power p makes an absolute error e of a mean an e^p at worst.
        atol = (100 * np.finfo(np.float64).eps) ** power
        expected = np.sign(expected) * np.abs(expected) ** power
        if norm:
            expected /= np.linalg.norm(expected)
        rtol = 1e-12 if dtype == np.float64 else 4 * np.finfo(dtype).eps
        assert_allclose(vector, expected, rtol=rtol, atol=atol)


def test_parameters_are_parts_of_the_whole():
    X = rows_of("diag", 40, 4)
    mixture = mixture_of("diag", *drawn("diag"))
    whole = FisherVectors(mixture, norm=None).fit_transform(X)
    places = {"weights": slice(0, 3), "means": slice(3, 15), "scales": slice(15, 27)}
    for part, place in places.items():
        found = FisherVectors(mixture, parameters=part, norm=None).fit_transform(X)
        assert_array_equal(found, whole[:, place])
    two = FisherVectors(mixture, parameters=("scales", "weights"), norm=None).fit(X)
    assert_array_equal(two.transform(X), np.delete(whole, range(3, 15), axis=1))
    assert len(two.get_feature_names_out()) == 15
    with pytest.raises(ValueError, match="'scales'.* no scales: choose 'weights' or 'means'"):
        FisherVectors(mixture_of("bernoulli", *drawn("bernoulli")), parameters="scales").fit(
            rows_of("bernoulli", 5, 4)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_vector_of_a_fit_is_nearly_zero(kind):
    """The score of the likelihood vanishes where EM has converged, without a prior."""
    X = rows_of(kind, 150, 4)
    how = {"random_state": 0, "tol": 1e-12, "max_iter": 100_000}
    if kind in ("diag", "spherical"):
        mixture = GaussianMixture(2, covariance_type=kind, **how)
    else:
        make = BernoulliMixture if kind == "bernoulli" else MultinomialMixture
        mixture = make(2, alpha=0, **how)
    found = FisherVectors(mixture, norm=None).fit(X).transform(X)
    assert np.abs(found).max() > 0.5
    assert np.abs(found.mean(axis=0)).max() < 1e-4


def test_empirical_information_is_that_of_the_fit():
    X = rows_of("diag", 200, 4)
    weights = np.random.default_rng(0).integers(0, 3, 200)
    mixture = mixture_of("diag", *drawn("diag"))
    model = FisherVectors(mixture, information="empirical", norm=None)
    V = model.fit(X, sample_weight=weights).transform(X)
    copies = model.fit(np.repeat(X, weights, axis=0)).transform(X)
    assert_allclose(copies, V, atol=1e-9)
    moments = (V * weights[:, None]).T @ V / weights.sum()
    # The coordinates of weights are dependent: sum_j sqrt(w_j) v_j = 0.
    values, vectors = np.linalg.eigh(moments)
    assert_allclose(values, [0] + 26 * [1], atol=1e-10)
    root = np.r_[np.sqrt(mixture.weights_), np.zeros(24)]
    assert_allclose(np.abs(vectors[:, 0] @ root), 1)
    closed = FisherVectors(mixture, norm=None).fit_transform(X)
    assert_allclose(closed @ model.fit(X, sample_weight=weights).whitening_, V, atol=1e-12)
    finished = FisherVectors(mixture, information="empirical", power=0.5).fit(
        X, sample_weight=weights
    )
    roots = np.sign(V) * np.sqrt(np.abs(V))
    expected = roots / np.linalg.norm(roots, axis=1, keepdims=True)
    assert_allclose(finished.transform(X), expected, atol=1e-7)


def test_rows_are_sets_of_one_row_and_their_order_in_a_set_does_not_matter():
    X = rows_of("diag", 50, 4)
    model = FisherVectors(mixture_of("diag", *drawn("diag"))).fit(X)
    assert_array_equal(model.transform([row[None] for row in X]), model.transform(X))
    sets = [X[:20], X[20:50]]
    found = model.transform(sets)
    assert_array_equal(model.transform(sets[::-1]), found[::-1])
    assert_array_equal(model.transform(tuple(s.tolist() for s in sets)), found)
    objects = np.empty(2, object)
    objects[:] = sets
    assert_array_equal(model.transform(objects), found)
    assert_allclose(model.transform([s[::-1] for s in sets]), found, rtol=0, atol=1e-15)
    assert_allclose(model.transform([np.repeat(s, 3, axis=0) for s in sets]), found, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_blocks_do_not_change_a_bit(kind, monkeypatch):
    X = rows_of(kind, 4000, 16)
    parts = drawn(kind, k=5, d=16)
    model = FisherVectors(mixture_of(kind, *parts)).fit(X)
    ends = np.r_[0, np.sort(np.random.default_rng(0).integers(0, 4000, 500)), 4000]
    sets = [X[a:b] for a, b in pairwise(ends)]
    expected = model.transform(X), model.transform(sets)
    for n_threads in (1, 2, 7):
        with threadpool_limits(n_threads):
            assert_array_equal(model.transform(X), expected[0])
            assert_array_equal(model.transform(sets), expected[1])
    monkeypatch.setattr(fisher_vectors, "_BLOCK", 2000)
    assert_array_equal(model.transform(X), expected[0])
    assert_array_equal(model.transform(sets), expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_a_long_set_is_summed_in_pieces(power, dtype, monkeypatch):
    X = rows_of("diag", 400, 4).astype(dtype)
    sets = [X[:3], X[3:393], X[:0], X[393:]]
    model = FisherVectors(mixture_of("diag", *drawn("diag")), power=power).fit(sets)
    expected = model.transform(sets)
    monkeypatch.setattr(fisher_vectors, "_BLOCK", 7 * 40)
    found = model.transform(sets)
    assert found.dtype == dtype
    # A root makes an error of 1e-16 one of 1e-8.
    assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=1e-15**power)


@pytest.mark.parametrize("kind", ["bernoulli", "multinomial"])
def test_sparse_rows_are_dense_ones(kind):
    X = rows_of(kind, 60, 4)
    model = FisherVectors(mixture_of(kind, *drawn(kind))).fit(sp.csr_array(X))
    # Log-densities of sparse rows are summed in another order.
    assert_allclose(model.transform(sp.csr_matrix(X)), model.transform(X), rtol=0, atol=1e-14)


def test_collapsed_components_have_coordinates_0():
    X = rows_of("diag", 40, 2)
    mixture = GaussianMixture.from_parameters(
        [0.5, 0.5, 0.0], [[0, 0], [1, 1], [0, 0]], np.ones((3, 2)), covariance_type="diag"
    )
    V = FisherVectors(mixture, norm=None).fit_transform(X)
    assert_array_equal(V.any(axis=0), [1, 1, 0] + 2 * [1, 1, 1, 1, 0, 0])
    certain = BernoulliMixture.from_parameters([1.0], [[0.5, 1.0, 0.0]])
    V = FisherVectors(certain, norm=None).fit_transform([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    assert_array_equal(V, [[0, 1, 0, 0], [0, -1, 0, 0]])


@pytest.mark.parametrize("size", [1e-200, 1e-150, 1.0, 1e100])
def test_vectors_far_from_all_components_have_norm_1(size):
    mixture = GaussianMixture.from_parameters(
        [0.5, 0.5], [[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [4.0, 4.0]], covariance_type="diag"
    )
    X = size * rows_of("diag", 9, 2)
    for parameters in ("all", "means"):
        V = FisherVectors(mixture, parameters=parameters).fit_transform(X)
        assert_allclose(np.linalg.norm(V, axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize(("size", "dtype"), [(1e150, np.float64), (1e15, np.float32)])
def test_rows_too_far_for_their_type_are_refused(size, dtype):
    mixture = GaussianMixture.from_parameters([1.0], [[0.0]], [[1e-20]], covariance_type="diag")
    X = np.array([[1e-10], [2e-10], [size], [3e-10]], dtype)
    model = FisherVectors(mixture, norm=None)
    with pytest.raises(ValueError, match=rf"X\[2\] is so far .* the largest {dtype.__name__}"):
        model.fit_transform(X)
    means = FisherVectors(mixture, parameters="means", norm=None).fit_transform(X)
    assert_allclose(means, X * dtype(1e10), rtol=4 * np.finfo(dtype).eps)
    assert_allclose(np.abs(FisherVectors(mixture).fit_transform(X[:2])).max(axis=1), 1, rtol=0.5)


def test_a_fitted_mixture_is_used_as_it_is_and_another_left_alone():
    X = rows_of("diag", 60, 3)
    X[:30] += 5
    mixture = GaussianMixture(2, covariance_type="diag", random_state=0)
    model = FisherVectors(mixture).fit(X)
    assert not hasattr(mixture, "weights_")
    fitted = mixture.fit(X)
    assert_array_equal(FisherVectors(fitted).fit(X[:5]).transform(X), model.transform(X))
    with pytest.raises(
        ValueError, match="X has 2 features, but the mixture of FisherVectors is ex"
    ):
        FisherVectors(fitted).fit(X[:, :2])


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_covariances_with_no_scores_by_feature_are_refused(kind):
    X = rows_of("diag", 20, 2)
    mixture = GaussianMixture(2, covariance_type=kind, random_state=0)
    for given in (mixture, GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)):
        with pytest.raises(ValueError, match=f"covariance_type='{kind}' .* choose 'diag'"):
            FisherVectors(given).fit(X)
    with pytest.raises(TypeError, match="must be a GaussianMixture, BernoulliMixture or Mult"):
        FisherVectors(BinomialMixture(2)).fit(X)


REFUSED = [
    ([np.zeros((2, 4)), None], TypeError, r"X\[1\] is of type NoneType"),
    ([np.zeros((2, 4)), "ab"], TypeError, r"X\[1\] is of type str"),
    ([np.zeros((2, 4)), np.zeros((2, 3))], ValueError, r"X\[1\] has vectors of 3 numbers"),
    ([np.zeros((2, 4)), np.full((1, 4), np.nan)], ValueError, r"X\[1\] contains NaN"),
    ([np.zeros((2, 4)), np.full((1, 4), np.inf)], ValueError, r"X\[1\] contains inf"),
    ([np.zeros((2, 3)), np.zeros((1, 3))], ValueError, "vectors of 3 features, but .* expecting 4"),
]


@each(("sets", "error", "message"), REFUSED)
def test_sets_that_are_refused(sets, error, message):
    model = FisherVectors(mixture_of("diag", *drawn("diag"))).fit(rows_of("diag", 5, 4))
    with pytest.raises(error, match=message):
        model.transform(sets)


def test_negative_counts_in_sets_are_refused():
    sets = [np.ones((2, 4)), -np.ones((1, 4))]
    with pytest.raises(ValueError, match=r"Negative values .* FisherVectors \(least: -1\)"):
        FisherVectors(MultinomialMixture(2)).fit(sets)


def test_sets_go_through_pipelines_and_cross_validation():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    # Two kinds of the same mean: only deviations tell them.
    sets = [rng.normal(scale=1 + label, size=(rng.integers(5, 12), 3)) for label in y]
    mixture = GaussianMixture(2, covariance_type="diag", random_state=0)
    pipeline = make_pipeline(FisherVectors(mixture, power=0.5), SVC(kernel="linear"))
    assert cross_val_score(pipeline, sets, y, cv=3).mean() > 0.9
