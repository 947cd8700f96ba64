"""Fits to blocks of rows, by the loop that `RowSums` tells, are those of `fit` to all rows.

Every fitted number is compared, but for those that measure rounding. Both sum the same terms in
another order: the tolerance is 1e-10 of the largest value of an attribute.
"""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.checks.errors import peer_class
from mlcore.cluster import KMeans
from mlcore.datasets import load_digits, load_iris
from mlcore.decomposition import CCA, PCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.kernel_ridge import NystroemRidge
from mlcore.kernels import TfidfTransformer
from mlcore.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)
from mlcore.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB

CUTS = (0.0, 0.31, 0.33, 0.7, 1.0)  # of the rows: blocks of very different sizes
IRIS, SPECIES = load_iris()
ORDER = np.random.default_rng(1).permutation(len(IRIS))  # iris is sorted by species
IRIS, SPECIES = IRIS[ORDER], SPECIES[ORDER]
PIXELS, DIGIT = load_digits()
DIGITS = PIXELS[:, PIXELS.std(axis=0) > 3.2]
MIXED = {"gaussian": [0, 1], "multinomial": [2], "bernoulli": [3]}
FEW = np.minimum(DIGITS[:, 10:22] // 5, 2)  # three categories
SOME = DIGITS[:600]
# What depends on the rows that a fit began with, and what only shows rounding or the way taken.
NOT_COMPARED = {
    "labels_", "origin_", "offsets_", "residuals_", "orthogonality_", "angle_bounds_", "rcond_",
    "solver_", "gradient_norm_", "duality_gap_", "off_diagonal_", "prediction_bound_",
    "statistics_", "powers_", "never_together_", "n_empty_rows_",
}  # fmt: skip


def blocks(*arrays):
    """The same rows of arrays, or None for None, block after block."""
    n = arrays[0].shape[0]
    for first, last in zip(CUTS[:-1], CUTS[1:], strict=True):
        rows = slice(int(first * n), int(last * n))
        yield tuple(None if array is None else array[rows] for array in arrays)


def total_of(model, *arrays):
    total = None
    for block in blocks(*arrays):
        part = model.partial_statistics(*block)
        total = part if total is None else model.merge(total, part)
    return total


def fitted_to_blocks(model, X, y=None, weight=None):
    """The fitted model, and the number of passes over the rows that were steps."""
    model.begin(*(next(blocks(X, y, weight)) if model.start_rows == "block" else (X, y, weight)))
    passes = 0
    while model.needs_another_pass():
        model.update(total_of(model, X, y, weight))
        passes += 1
        assert passes < 10_000
    model.finish(total_of(model, X, y, weight) if model.needs_finishing_pass() else None)
    return model, passes


def numbers(value):
    """The arrays of an attribute, float64; none if it holds no numbers."""
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in numbers(part)]
    array = np.asarray(value)
    return [array.astype(float)] if array.dtype.kind in "biuf" else []


def assert_same_fit(found, expected, rtol=1e-10, leave_out=()):
    """All public fitted numbers of `found` are those of `expected`."""
    names = [name for name in vars(expected) if name.endswith("_") and not name.startswith("_")]
    compared = 0
    for name in set(names) - NOT_COMPARED - set(leave_out):
        assert hasattr(found, name), name
        pairs = zip(numbers(getattr(found, name)), numbers(getattr(expected, name)), strict=True)
        for one, other in pairs:
            finite = np.abs(other[np.isfinite(other)])
            atol = rtol * finite.max(initial=0)
            assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=name)
            compared += 1
    assert compared > 2


def weights_of(X, weighted):
    return np.random.default_rng(0).integers(1, 4, X.shape[0]).astype(float) if weighted else None


ONE_PASS = {
    "PCA": (PCA(5), DIGITS, None),
    "scaled PCA": (PCA(scale=True), IRIS, None),
    "CCA": (CCA(2), IRIS[:, :2], IRIS[:, 2:]),
    "LDA": (LinearDiscriminantAnalysis(), IRIS, SPECIES),
    "shrunk LDA": (LinearDiscriminantAnalysis(shrinkage="auto"), IRIS, SPECIES),
    "QDA": (QuadraticDiscriminantAnalysis(), IRIS, SPECIES),
    "GaussianNB": (GaussianNB(), IRIS, SPECIES),
    "BernoulliNB": (BernoulliNB(binarize=7.5), DIGITS, DIGIT),
    "MultinomialNB": (MultinomialNB(), DIGITS, DIGIT),
    "CategoricalNB": (CategoricalNB(), DIGITS, DIGIT),
    "MixedNB": (MixedNB(columns=MIXED), IRIS, SPECIES),
    "LinearRegression": (LinearRegression(), IRIS[:, :3], IRIS[:, 3]),
    "ridge": (LinearRegression(alpha=[0.1, 1.0]), IRIS[:, :2], IRIS[:, 2:]),
    "Lasso": (Lasso(alpha=0.1), IRIS[:, :3], IRIS[:, 3]),
    "ElasticNet-multi-task": (ElasticNet(alpha=0.1, multi_task=True), IRIS[:, :2], IRIS[:, 2:]),
    "TfidfTransformer": (TfidfTransformer(), sp.csr_array(DIGITS), None),
    "NystroemRidge": (
        NystroemRidge(kernel="rbf", n_centers=30, alpha=0.1, random_state=0),
        IRIS[:, :3],
        IRIS[:, 3],
    ),
}


@each("weighted", [False, True])
@each("name", ONE_PASS)
def test_sums_over_all_rows_are_the_whole_fit_of_most_models(name, weighted):
    model, X, y = ONE_PASS[name]
    weight = weights_of(X, weighted)
    model, passes = fitted_to_blocks(model, X, y, weight)
    assert passes == 1 and not model.needs_another_pass()
    expected = type(model)(**model.get_params()).fit(X, y, sample_weight=weight)
    assert not expected.needs_another_pass()
    assert_same_fit(model, expected, leave_out=() if y is not None else ("y_fit_",))


def test_small_variances_take_further_passes_of_pca():
    X = np.random.default_rng(0).normal(size=(300, 6)) * np.logspace(0, -9, 6)
    model, passes = fitted_to_blocks(PCA(), X + 1e3)
    assert passes > 1 and model.converged_
    expected = PCA().fit(X + 1e3)
    assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-10)
    assert_same_fit(model, expected, leave_out=["noise_variance_"])


@pytest.mark.parametrize(("weighted", "tol"), [(False, 0.0), (True, 1e-4), (False, 1e-2)])
def test_k_means(tol, weighted):
    start, weight = PIXELS[::180].astype(float), weights_of(PIXELS, weighted)
    expected = KMeans(len(start), init=start, tol=tol).fit(PIXELS, None, weight)
    model, passes = fitted_to_blocks(KMeans(len(start), init=start, tol=tol), PIXELS, None, weight)
    assert model.converged_ and passes == expected.n_iter_ > 3
    assert_same_fit(model, expected)


def test_k_means_that_stops_early_or_at_once():
    start = PIXELS[::180].astype(float)
    for more in ({"max_iter": 3}, {"tol": 1e6}):
        model, passes = fitted_to_blocks(KMeans(len(start), init=start, **more), PIXELS)
        expected = KMeans(len(start), init=start, **more).fit(PIXELS)
        assert passes == expected.n_iter_ and model.converged_ == ("tol" in more)
        assert_same_fit(model, expected)
    best = expected.set_params(max_iter=300, tol=0).fit(PIXELS).cluster_centers_
    again = {"n_clusters": len(best), "init": best, "tol": 0}
    assert_same_fit(fitted_to_blocks(KMeans(**again), PIXELS)[0], KMeans(**again).fit(PIXELS))


def gaussian_start(kind):
    rough = GaussianMixture(
        3, covariance_type=kind, init_params="random", random_state=0, max_iter=2, tol=0
    ).fit(IRIS)
    given = {"weights_init": rough.weights_, "means_init": rough.means_}
    return given | {"precisions_init": rough.precisions_, "covariance_type": kind}


@pytest.mark.filterwarnings("ignore:.*fell by .* reg_covar=0.001 adds")
@pytest.mark.parametrize(("weighted", "reg_covar"), [(False, 1e-3), (True, None)])
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_gaussian_mixtures(kind, reg_covar, weighted):
    """Begun with a part of the rows: the floor of variances is still measured by those of all."""
    given = gaussian_start(kind) | {"reg_covar": reg_covar, "tol": 1e-6}
    weight = weights_of(IRIS, weighted)
    expected = GaussianMixture(3, **given).fit(IRIS, None, weight)
    model = GaussianMixture(3, **given).begin(IRIS[:20])
    while model.needs_another_pass():
        model.update(total_of(model, IRIS, None, weight))
    model.finish()
    assert model.converged_ and expected.n_iter_ > 3
    assert_same_fit(model, expected)


def test_features_that_do_not_vary_have_no_variance_in_sums_either():
    X = np.c_[IRIS, np.full(len(IRIS), 0.1)]
    given = {"weights_init": [0.5, 0.5], "means_init": X[[0, 7]] + 0.3}
    given["precisions_init"] = np.ones(2)
    model = GaussianMixture(2, covariance_type="spherical", **given).begin(X[:20])
    model.update(total_of(model, X))
    whole = GaussianMixture(2, covariance_type="spherical", **given).begin(X)
    assert model.data_variances_[-1] == whole.data_variances_[-1] == 0
    assert_allclose(model.data_variances_, whole.data_variances_, rtol=1e-12)


def discrete_start(X, k=3):
    means = np.array([X[i::k].mean(axis=0) for i in range(k)])
    return {"weights_init": np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum(), "tol": 1e-5}, means


def categorical_start(X, k=3):
    rng = np.random.default_rng(0)
    return [rng.dirichlet(np.full(len(np.unique(x)), 9.0), k) for x in X.T]


GIVEN, MEANS = discrete_start(SOME)
SHARES = np.clip(MEANS / 16, 0.01, 0.99)
DISCRETE = {
    "Bernoulli": (BernoulliMixture, {"means_init": SHARES, "binarize": 7.5}, SOME),
    "Binomial": (BinomialMixture, {"means_init": SHARES, "n_trials": 16}, SOME),
    "multinomial": (
        MultinomialMixture,
        {"means_init": MEANS / MEANS.sum(axis=1, keepdims=True)},
        SOME,
    ),
    "sparse multinomial": (
        MultinomialMixture,
        {"means_init": MEANS / MEANS.sum(axis=1, keepdims=True)},
        sp.csr_array(SOME),
    ),
    "categorical": (
        CategoricalMixture,
        {"probabilities_init": categorical_start(FEW[:600])},
        FEW[:600],
    ),
}


@pytest.mark.parametrize(("weighted", "alpha"), [(False, 0.5), (True, 0.0)])
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_mixtures(name, weighted, alpha):
    cls, start, X = DISCRETE[name]
    params, weight = GIVEN | start | {"alpha": alpha, "max_iter": 1000}, weights_of(X, weighted)
    expected = cls(3, **params).fit(X, None, weight)
    model, passes = fitted_to_blocks(cls(3, **params), X, None, weight)
    # Two steps after the last are looked at: the one that is not taken, and its end.
    assert passes == expected.n_iter_ + 2 > 5 and model.converged_ and expected.converged_
    assert_same_fit(model, expected)


def test_drawn_components_are_ordered_and_stops_are_warned_of_as_in_fit():
    model, passes = fitted_to_blocks(GaussianMixture(4, random_state=3, tol=1e-5), IRIS)
    assert (np.diff(model.weights_) <= 0).all()
    given = gaussian_start("full")
    given |= {name: given[name][[2, 0, 1]] for name in given if name.endswith("_init")}
    with pytest.warns(peer_class("ConvergenceWarning"), match="did not converge.*max_iter=2"):
        model, passes = fitted_to_blocks(GaussianMixture(3, **given, tol=1e-9, max_iter=2), IRIS)
    assert passes == 2 and (np.diff(model.weights_) > 0).any()
    assert fitted_to_blocks(GaussianMixture(2, random_state=0, tol=1, max_iter=0), IRIS)[1] == 0


def test_plsa_stops_by_its_likelihood():
    """Its steps fold documents in, unlike those of `fit`."""
    model, passes = fitted_to_blocks(PLSA(5, random_state=0, tol=1e-4), SOME)
    trace = model.log_likelihood_trace_
    assert model.converged_ and passes == model.n_iter_ + 2 == len(trace) + 1
    assert (np.diff(trace)[:-1] > 1e-4).all() and abs(trace[-1] - trace[-2]) <= 1e-4
    assert (np.diff(model.weights_) <= 0).all()
    with pytest.warns(peer_class("ConvergenceWarning"), match="PLSA.* did not converge"):
        assert fitted_to_blocks(PLSA(5, random_state=0, max_iter=2), SOME)[1] == 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_logistic_regression(k, weighted):
    X, y = IRIS, np.minimum(SPECIES, k - 1)
    params, weight = {"tol": 1e-12, "C": 0.7, "max_iter": 100}, weights_of(IRIS, weighted)
    expected = LogisticRegression(**params).fit(X, y, weight)
    model, passes = fitted_to_blocks(LogisticRegression(**params), X, y, weight)
    assert passes < 20
    for name in ("coef_", "intercept_", "objective_", "converged_", "classes_"):
        one, other = getattr(model, name), getattr(expected, name)
        assert_allclose(one, other, rtol=1e-10, err_msg=name)
    assert_array_equal(model.predict(X), expected.predict(X))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("k", "ratio"), [(2, 1.0), (3, 1.0), (3, 0.4)])
def test_logistic_regression_with_absolute_values(k, ratio, fit_intercept):
    """Beside fits to all rows, which end by a gap, and coefficients that are exactly 0."""
    X, y, weight = IRIS * [1, 10, 1e-3, 1] + 5, np.minimum(SPECIES, k - 1), weights_of(IRIS, True)
    params = {"C": 0.2, "l1_ratio": ratio, "fit_intercept": fit_intercept}
    expected = LogisticRegression(tol=1e-8, **params).fit(X, y, weight)
    for form in (np.asarray, sp.csr_array):
        model, passes = fitted_to_blocks(LogisticRegression(tol=1e-7, **params), form(X), y, weight)
        assert model.converged_ and passes < 30
        assert 0 < np.count_nonzero(model.coef_) < model.coef_.size
        assert_array_equal(model.coef_ != 0, expected.coef_ != 0)
        # A fall of at most tol² per unit of weight is left.
        assert_allclose(model.objective_, expected.objective_, rtol=1e-11)
        penalty = ratio * np.abs(model.coef_).sum() + (1 - ratio) / 2 * (model.coef_**2).sum()
        losses = -model.predict_log_proba(X)[np.arange(len(y)), y]
        assert_allclose(model.objective_, 0.2 * weight @ losses + penalty, rtol=1e-9)
        assert (np.diff(model.objective_trace_) < 1e-12 * expected.objective_).all()


@pytest.mark.parametrize(("convert", "weighted"), [(np.asarray, True), (sp.csr_array, False)])
def test_logistic_regression_of_many_parameters_takes_quasi_newton_steps(convert, weighted):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 260)) @ (np.eye(260) + 0.05 * rng.normal(size=(260, 260)))
    y = np.argmax(X[:, :8] + rng.normal(size=(400, 8)), axis=1)
    X = convert(np.where(np.abs(X) < 0.5, 0, X)) + 0.0
    params, weight = {"tol": 1e-8, "C": 0.05, "max_iter": 500}, weights_of(X, weighted)
    expected = LogisticRegression(**params).fit(X, y, weight)
    model, passes = fitted_to_blocks(LogisticRegression(**params), X, y, weight)
    assert model.coef_.size > 2000 and model.converged_ and passes < 300
    trace = model.objective_trace_
    assert (np.diff(trace) <= 1e-12 * trace[0]).all() and model.n_iter_[0] == len(trace) - 1
    # P is C^-1 strongly convex in coefficients: an excess of e moves them by sqrt(2 e) at most.
    assert abs(model.objective_ - expected.objective_) < 1e-11 * trace[0]
    assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-6)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-6)


def test_categories_are_those_of_the_rows_that_a_fit_begins_with():
    X = np.array(FEW)
    X[-1, 3] = 7
    with pytest.raises(ValueError, match="column 3 of X holds 7, which .* begin with rows that"):
        total_of(CategoricalMixture(2, random_state=0).begin(X[:-1]), X)
    rows = CategoricalMixture.representatives(X)
    assert len(rows) < 40
    model = CategoricalMixture(2, random_state=0).begin(X[rows])
    for found, x in zip(model.categories_, X.T, strict=True):
        assert_array_equal(found, np.unique(x))
    model.update(total_of(model, X))
