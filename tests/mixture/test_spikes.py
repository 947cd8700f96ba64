"""Components on tied values are kept and listed; those on single points are collapsed."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import mlcore
from mlcore.blocks import fit_blocks, row_blocks
from mlcore.estimator.model import ConvergenceWarning
from mlcore.mixture import GaussianMixture, select_mixture
from mlcore.mixture.gaussian.covariances import TYPES
from mlcore.mixture.gaussian.e_step import Rows
from mlcore.mixture.gaussian.spikes import Ties, tied_values, with_earlier

rng = np.random.default_rng(0)
ATOMS = np.r_[np.zeros(200), rng.normal(5, 1, 400), np.full(200, 10.0)][:, None]
GROUP = np.repeat([0, 1, 2], [200, 400, 200])
kinds = pytest.mark.parametrize("kind", ["full", "diag", "spherical"])


def warned(model, X, *args):
    """The fitted model, and the texts of what it warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, None, *args)
    return model, [str(one.message) for one in told]


# ---- the values of spikes, by scikit-learn's GaussianMixture of the same reg_covar


@kinds
@pytest.mark.parametrize(
    ("reg_covar", "expected"),
    [(None, 0.60652), (1e-6, 1.24767), (1e-3, -0.47927), (0.01, -1.05492)],
)
@pytest.mark.parametrize("seed", range(3))
def test_atoms_are_components(kind, reg_covar, expected, seed):
    model = GaussianMixture(3, covariance_type=kind, reg_covar=reg_covar, random_state=seed)
    model, (text,) = warned(model, ATOMS)
    assert_allclose(model.score(ATOMS), expected, atol=5e-6)
    assert adjusted_rand_score(GROUP, model.predict(ATOMS)) == 1
    assert "describe tied rows" in text and "depends on reg_covar; see spikes_" in text
    assert "[0.] 200 times" in text and "[10.] 200 times" in text and "sound" not in text
    assert len(model.collapsed_components_) == 0
    component, value, mass = model.spikes_
    assert_allclose(model.means_[component], value, atol=1e-3)
    assert_array_equal(np.sort(value, axis=0), [[0], [10]])
    # Of 200 rows, the share that the Gaussian between has of each is below 1e-6.
    assert_allclose(mass, 200, rtol=1e-6)
    assert (np.diff(component) > 0).all() and (np.diff(model.weights_) <= 0).all()


def test_two_values_are_two_components():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 500, axis=0)
    for reg_covar in (None, 0.01):
        model, (text,) = warned(GaussianMixture(2, reg_covar=reg_covar, random_state=0), X)
        assert len(np.unique(model.predict(X))) == 2
        assert_array_equal(np.sort(model.spikes_.value, axis=0), [[0, 1], [2, 3]])
        assert_array_equal(model.spikes_.component, [0, 1])
    # Weights 1/2, 2-D normal densities of variance 0.01 at their means.
    assert_allclose(model.lower_bound_, np.log(0.5) - np.log(2 * np.pi * 0.01), rtol=1e-12)


# ---- what is a spike


def collapse(count, *, weight=None, d=2, near=0):
    """150 rows of N(0, I), `count` rows of one far value, `near` others close to it."""
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(150, d)), np.full((count, d), 50.0)]
    X = np.r_[X, 50 + 1e-4 * rng.normal(size=(near, d))]
    given = np.array([np.zeros(d), np.full(d, 50.0)])
    model = GaussianMixture(2, means_init=given, covariance_type="diag")
    weights = None if weight is None else np.r_[np.ones(150), np.full(len(X) - 150, weight)]
    return warned(model, X, weights)[0]


@each(
    ("count", "how", "is_spike"),
    [
        (4, {}, False),
        (5, {}, True),
        (5, {"d": 4}, False),  # at least d + 2
        (6, {"d": 4}, True),
        (2, {"weight": 10.0}, False),  # at least 3 rows
        (3, {"weight": 2.0}, True),
        (3, {"weight": 1.6}, False),
        (10, {"weight": 0.4}, False),
        (18, {"near": 2}, True),  # at least 90 % of the mass
        (17, {"near": 3}, False),
    ],
)
def test_spikes_have_rows_weight_and_share(count, how, is_spike):
    model = collapse(count, **how)
    assert_array_equal(model.spikes_.component, [1] if is_spike else [])
    assert_array_equal(model.collapsed_components_, [] if is_spike else [1])
    if is_spike:
        assert_array_equal(model.spikes_.value, np.full((1, how.get("d", 2)), 50))
        assert_allclose(model.spikes_.mass, count * how.get("weight", 1.0), rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 3), st.booleans())
@settings(max_examples=25, deadline=None)
def test_tied_values_are_those_of_their_definition(seed, n, d, weighted):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(rng.choice([np.float32, np.float64]))
    X[rng.random((n, d)) < 0.1] = -0.0
    X[rng.random((n, d)) < 0.1] = np.nan
    X = X + X.dtype.type(rng.choice([0, 4096]))
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    found = tied_values(X, weight, np.nan_to_num(X[0]), 0)
    w = np.ones(n) if weight is None else weight
    expected = {}
    for row in {tuple(row) for row in (X[~np.isnan(X).any(axis=1)] + 0.0).tolist()}:
        own = (X == row).all(axis=1)
        if own.sum() >= 3 and w[own].sum() >= max(d + 2, 5):
            expected[row] = w[own].sum() / w.sum()
    pairs = zip(map(tuple, found.value.tolist()), found.share, strict=True)
    assert {value: pytest.approx(share) for value, share in pairs} == expected


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("weight", [1e-2, 1.0, 1e12])
def test_spikes_go_with_the_unit_of_the_data_and_of_weights(kind, dtype, scale, weight):
    if dtype == np.float32 and scale > 1:
        scale = 1e12
    X = (ATOMS * scale).astype(dtype)
    w = np.full(len(X), weight) if weight != 1 else None
    n_spikes = 2 if 200 * weight >= 5 else 0
    model, _ = warned(GaussianMixture(3, covariance_type=kind, random_state=0), X, w)
    if n_spikes:
        assert_array_equal(np.sort(model.spikes_.value, axis=0), np.array([X[:1], X[-1:]])[:, 0])
        assert_allclose(model.spikes_.mass, 200 * weight, rtol=1e-4)
    assert len(model.spikes_.component) == n_spikes


def test_values_next_to_missing_ones():
    X = np.c_[ATOMS, np.r_[np.ones(200), rng.normal(5, 1, 400), np.ones(200)]]
    X[rng.random(X.shape) < 0.02] = np.nan
    model = GaussianMixture(3, covariance_type="diag", missing="ignore", random_state=0)
    model, _ = warned(model, X)
    assert_array_equal(np.sort(model.spikes_.value, axis=0), [[0, 1], [10, 1]])


# ---- restarts


def test_a_restart_that_loses_likelihood_tells_both_and_is_not_sound():
    X = np.r_[rng.normal(size=(150, 1)), np.repeat([[80.0], [-90.0]], 2, axis=0)]
    model, texts = warned(GaussianMixture(3, random_state=0), X)
    text = next(text for text in texts if "started anew" in text)
    assert "sound" not in text
    kept, _ = warned(GaussianMixture(3, random_state=0, means_init=[[0.0], [80.0], [-90.0]]), X)
    assert kept.lower_bound_ > model.lower_bound_
    assert f"is now {model.lower_bound_:.6g}, with those it was" in text


@kinds
def test_with_reg_covar_the_likelihood_alone_decides(kind):
    """Two rows far away are the best use of a component, if variances are at least 0.01."""
    X = np.r_[np.random.default_rng(0).normal(size=(150, 1)), [[80.0], [80.0]]]
    model = GaussianMixture(2, covariance_type=kind, reg_covar=0.01, random_state=0)
    model, texts = warned(model, X)
    assert_allclose(model.means_[1], 80) and not any("started anew" in text for text in texts)
    assert_array_equal(model.collapsed_components_, [1])
    many = GaussianMixture(2, covariance_type=kind, reg_covar=0.01, random_state=0, n_init=5)
    assert warned(many, X)[0].lower_bound_ >= model.lower_bound_ - 1e-12


# ---- directions


@pytest.mark.parametrize("reg_covar", [None, 1e-4])
def test_values_tied_in_one_feature_are_flat_directions(reg_covar):
    X = np.r_[rng.normal(size=(300, 2)), np.c_[np.full(300, 8.0), rng.normal(size=300)]]
    for kind in ("full", "diag"):
        model = GaussianMixture(
            2, covariance_type=kind, reg_covar=reg_covar, means_init=[[0.0, 0.0], [8.0, 0.0]]
        )
        model, texts = warned(model, X)
        assert not texts and len(model.spikes_.component) == len(model.collapsed_components_) == 0
        assert_array_equal(model.flat_directions_, [[1, 1]])


def test_features_that_depend_on_each_other_are_flat_in_every_component():
    X = rng.normal(size=(300, 2))
    X = np.c_[X, X.sum(axis=1), np.full(300, 3.0)]  # what does not vary does not count
    found = GaussianMixture(2, covariance_type="tied", random_state=0).fit(X).flat_directions_
    assert_array_equal(found, [[0, 1], [1, 1]])
    found = GaussianMixture(2, random_state=0).fit(X).flat_directions_
    assert_array_equal(found, [[0, 1], [1, 1]])
    assert GaussianMixture(2, random_state=0).fit(X[:, :2]).flat_directions_.shape == (0, 2)


# ---- the life of a model


@kinds
def test_blocks_and_files_keep_spikes(kind, tmp_path):
    options = {"covariance_type": kind, "random_state": 0, "max_iter": 50}
    order = np.random.default_rng(0).permutation(len(ATOMS))
    with pytest.warns(ConvergenceWarning, match="describe tied rows") as told:
        model = fit_blocks(GaussianMixture(3, **options), row_blocks(ATOMS[order], block_size=90))
    assert len(told) == 1
    whole, _ = warned(GaussianMixture(3, **options), ATOMS)
    assert_allclose(model.lower_bound_, whole.lower_bound_, rtol=1e-9)
    for one, other in zip(model.spikes_, whole.spikes_, strict=True):
        assert_allclose(one, other, rtol=1e-6)
    mlcore.save(whole, tmp_path / "model")
    again = mlcore.load(tmp_path / "model")
    for one, other in zip(again.spikes_, whole.spikes_, strict=True):
        assert_array_equal(one, other)


def test_partial_fit_keeps_spikes_and_finds_new_ones():
    model, _ = warned(GaussianMixture(3, covariance_type="diag", random_state=0), ATOMS)
    order = np.random.default_rng(0).permutation(len(ATOMS))
    for rows in np.array_split(order, 4):
        model.partial_fit(ATOMS[rows])  # without a warning of collapse
        assert_array_equal(np.sort(model.spikes_.value, axis=0), [[0], [10]])
        assert len(model.collapsed_components_) == 0 and not model.converged_
        own = model.weights_[model.spikes_.component] * model.total_weight_
        assert_allclose(model.spikes_.mass, own, rtol=1e-6)
    model.partial_fit(ATOMS[198:602])  # two rows of each value: the components stay what they are
    assert_array_equal(np.sort(model.spikes_.value, axis=0), [[0], [10]])
    for rows in np.array_split(order, 100):  # of 3 zeros, fewer than make a spike
        model.partial_fit(ATOMS[rows])
    assert_array_equal(np.sort(model.spikes_.value, axis=0), [[0], [10]])
    own = model.weights_[model.spikes_.component] * model.total_weight_
    assert_allclose(model.spikes_.mass, own, rtol=1e-5)  # the others have their responsibility


@pytest.mark.parametrize("weighted", [False, True])
def test_ties_of_new_and_earlier_rows_add_up(weighted):
    origin, weight = np.zeros(2), None
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], [6, 2, 10, 2], axis=0)
    if weighted:
        weight = np.linspace(1, 2, 20)
    w = np.ones(20) if weight is None else weight
    rows = Rows(X, weight, TYPES["full"], origin)
    known = Ties(np.array([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]]), np.array([0.1, 0.2, 0.3]))
    ties = with_earlier(tied_values(X, weight, origin, 0), rows, known, 0.25)
    assert_array_equal(ties.value, [[0, 1], [2, 3], [9, 9], [4, 5]])
    new = np.array([w[:6].sum(), w[6:8].sum(), 0, w[8:18].sum()]) / w.sum()
    assert_allclose(ties.share, 0.25 * new + 0.75 * np.array([0.1, 0.2, 0.3, 0]), rtol=1e-14)


def test_a_new_mixture_has_no_spikes():
    model = GaussianMixture.from_parameters([1.0], [[0.0, 1.0]], [np.eye(2)])
    assert model.spikes_.value.shape == (0, 2) and model.flat_directions_.shape == (0, 2)
    assert not hasattr(GaussianMixture(), "spikes_")


# ---- select_mixture


def zero_inflated():
    return np.r_[np.zeros(500), np.random.default_rng(0).normal(5, 1, 500)][:, None]


@pytest.mark.parametrize("reg_covar", [None, 1e-3])
def test_zero_inflated_data_have_two_components(reg_covar):
    with pytest.warns(ConvergenceWarning, match="describe tied rows"):
        found = select_mixture(
            zero_inflated(), n_components=[1, 2], reg_covar=reg_covar, random_state=0
        )
    assert found.best.n_components == 2
    assert_array_equal(found.table["n_spikes"], [0, 1])
    assert found.table["bic"][1] < 400 < 4700 < found.table["bic"][0]


def test_a_better_criterion_that_is_passed_over_is_told():
    X = np.r_[np.random.default_rng(0).normal(size=(100, 2)), np.repeat([[50.0, 50.0]], 4, axis=0)]
    options = {"n_components": [1, 2], "random_state": 0}
    with pytest.warns() as told:
        found = select_mixture(X, **options)
    text = next(str(one.message) for one in told if "passed over" in str(one.message))
    assert f"'full' with n_components=2 has bic={found.table['bic'][1]:.6g}" in text
    assert found.best.n_components == 1 and "1 of its components have collapsed" in text
    with pytest.warns(ConvergenceWarning, match="single points"):
        bounded = select_mixture(X, **options, reg_covar=1e-3)
    assert bounded.best.n_components == 2  # within one limit the criterion decides


@pytest.mark.parametrize("seed", [0, 2, 3, 4])  # of 100 there are 4 whose five starts all collapse
def test_without_a_limit_fits_with_fewer_collapsed_components_are_taken(seed):
    """With reg_covar=0 the likelihood has no bound: it would choose the singular ones."""
    X = np.random.default_rng(seed).normal(size=(40, 2))
    model = GaussianMixture(6, reg_covar=0.0, n_init=5, random_state=0).fit(X)
    assert len(model.collapsed_components_) == 0


def test_equal_rows_are_tied_wherever_they_lie():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = np.r_[np.repeat(rng.normal(size=(1, 30)), 40, axis=0), rng.normal(size=(13, 30))]
        A = A[rng.permutation(53)]
        assert tied_values(A, None, A.mean(axis=0), 0).share == pytest.approx([40 / 53])


@each("kind", ["tied", "EII", "EEI", "EVI", "EEE", "EVE", "EEV", "EVV"])
def test_components_of_one_volume_at_the_limit_are_told(kind):
    options = {"covariance_type": kind, "random_state": 0}
    with pytest.warns(UserWarning, match=r"components \[0, 1, 2\] describe tied rows"):
        tied = GaussianMixture(3, **options).fit(
            np.repeat([[0.0], [1.0], [2.0]], [9, 8, 7], axis=0)
        )
    assert_array_equal(tied.spikes_.value[:, 0], [0, 1, 2])
    assert_array_equal(tied.spikes_.mass, [9, 8, 7])
    points = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.warns(UserWarning, match="single points|in place of collapsed ones"):
        found = select_mixture(points, n_components=[1, 5], **options)
    assert found.best.lower_bound_ < 0 and len(found.best.collapsed_components_) == 0
