"""Principal components against the SVD, R's published numbers, and the laws they keep."""

import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA as PeerPCA

from contract import case
from mlcore.datasets import load_digits, load_iris
from mlcore.decomposition import PCA

SOLVERS = ("covariance_eigh", "gram", "full", "arpack")
IRIS = load_iris()[0]


def by_svd(X, ddof=1):
    """Variances and components of the centred rows, as LAPACK's SVD gives them."""
    centred = X - X.mean(axis=0)
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    return s**2 / (len(X) - ddof), Vt


def rows_of(shape, seed=0, decay=0.7):
    rng = np.random.default_rng(seed)
    n, d = shape
    return rng.normal(size=(n, d)) * decay ** np.arange(d) @ rng.normal(size=(d, d))


def test_us_arrests_as_in_R():
    murder_assault_urban_rape = """13.2 236 58 21.2 10.0 263 48 44.5 8.1 294 80 31.0 8.8 190 50 19.5
    9.0 276 91 40.6 7.9 204 78 38.7 3.3 110 77 11.1 5.9 238 72 15.8 15.4 335 80 31.9 17.4 211 60
    25.8 5.3 46 83 20.2 2.6 120 54 14.2 10.4 249 83 24.0 7.2 113 65 21.0 2.2 56 57 11.3 6.0 115 66
    18.0 9.7 109 52 16.3 15.4 249 66 22.2 2.1 83 51 7.8 11.3 300 67 27.8 4.4 149 85 16.3 12.1 255 74
    35.1 2.7 72 66 14.9 16.1 259 44 17.1 9.0 178 70 28.2 6.0 109 53 16.4 4.3 102 62 16.5 12.2 252 81
    46.0 2.1 57 56 9.5 7.4 159 89 18.8 11.4 285 70 32.1 11.1 254 86 26.1 13.0 337 45 16.1 0.8 45 44
    7.3 7.3 120 75 21.4 6.6 151 68 20.0 4.9 159 67 29.3 6.3 106 72 14.9 3.4 174 87 8.3 14.4 279 48
    22.5 3.8 86 45 12.8 13.2 188 59 26.9 12.7 201 80 25.5 3.2 120 80 22.9 2.2 48 32 11.2 8.5 156 63
    20.7 4.0 145 73 26.2 5.7 81 39 9.3 2.6 53 66 10.8 6.8 161 60 15.6"""
    X = np.array(murder_assault_urban_rape.split(), dtype=float).reshape(50, 4)
    model = PCA(scale=True).fit(X)
    deviations = [1.5748782744, 0.9948694148, 0.5971291155, 0.4164493820]
    assert_allclose(np.sqrt(model.explained_variance_), deviations, rtol=0, atol=5e-11)
    first = [0.5358994749, 0.5831836349, 0.2781908746, 0.5434320914]
    assert_allclose(model.components_[0], first, rtol=0, atol=5e-11)


@pytest.mark.parametrize("solver", SOLVERS)
def test_iris(solver):
    model = PCA(2, svd_solver=solver, random_state=0).fit(IRIS)
    assert_allclose(model.explained_variance_, [4.2282417060, 0.2426707479], rtol=0, atol=5e-11)
    assert_allclose(model.noise_variance_, 0.0510222965, rtol=0, atol=5e-11)
    assert_allclose(model.score(IRIS), -2.6997965107, rtol=0, atol=5e-11)
    assert_allclose(PCA(2, ddof=0).fit(IRIS).score(IRIS), -2.6997518677, rtol=0, atol=5e-11)
    if solver != "arpack":
        assert PCA("mle", svd_solver=solver).fit(IRIS).n_components_ == 3


@each("solver", SOLVERS)
@each("shape", [(60, 7), (7, 60), (30, 30), (1050, 9)])
def test_all_routes_are_the_svd(solver, shape):
    if solver == "gram" and shape[0] > 1000:
        shape = 300, 9  # a matrix of all rows
    X = rows_of(shape) + 5.0
    k = 4
    variances, Vt = by_svd(X)
    model = PCA(k, svd_solver=solver, random_state=0).fit(X)
    assert_allclose(model.explained_variance_, variances[:k], rtol=1e-11)
    assert_allclose(model.explained_variance_ratio_, (variances / variances.sum())[:k], rtol=1e-11)
    assert_allclose(model.total_variance_, variances.sum(), rtol=1e-12)
    assert_allclose(np.abs(np.sum(model.components_ * Vt[:k], axis=1)), 1.0, rtol=1e-11)
    assert_allclose(model.singular_values_**2 / (len(X) - 1), variances[:k], rtol=1e-11)
    discarded = variances[k:].sum() / (shape[1] - k)
    assert_allclose(model.noise_variance_, discarded, rtol=1e-9)
    assert model.orthogonality_ < 1e-13
    centred = X - X.mean(axis=0)
    assert_allclose(model.transform(X), centred @ model.components_.T, atol=1e-11)
    lost = centred - centred @ model.components_.T @ model.components_
    assert_allclose(model.reconstruction_errors(X), (lost**2).sum(axis=1), atol=1e-11)
    full = PCA(svd_solver=solver).fit(X)
    assert_allclose(full.inverse_transform(full.transform(X)), X, atol=1e-10)


def test_the_scikit_learn_model_of_well_scaled_data():
    X = load_digits()[0]
    for whiten in (False, True):
        ours = PCA(10, whiten=whiten).fit(X)
        theirs = PeerPCA(10, whiten=whiten, svd_solver="full").fit(X)
        assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-8)
        assert_allclose(
            ours.inverse_transform(ours.transform(X)),
            theirs.inverse_transform(theirs.transform(X)),
            atol=1e-8,
        )
    assert PCA(0.9).fit(X).n_components_ == PeerPCA(0.9).fit(X).n_components_


@pytest.mark.parametrize("solver", SOLVERS[:3])
def test_small_variances_are_as_accurate_as_those_of_an_svd(solver):
    rng = np.random.default_rng(0)
    d = 8
    exact = 10.0 ** -np.arange(0, 16, 2)
    Q = np.linalg.qr(np.c_[np.ones(40), rng.normal(size=(40, d))])[0][:, 1:]  # centred, orthonormal
    V = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = (Q * exact**0.5 * 1e3) @ V.T
    model = PCA(svd_solver=solver).fit(X)
    # An SVD knows deviations to eps of the largest: 1e-16 beside 1e-7 is 1e-8, the rows' own
    # rounding included.
    assert_allclose(model.singular_values_, exact**0.5 * 1e3, rtol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_offset(solver, offset):
    X = rows_of((500, 6))
    moved = X + offset
    expected, _ = by_svd(moved - offset)  # the rows as they are after rounding
    model = PCA(svd_solver=solver, random_state=0).fit(moved)
    rounding = 100 * (np.finfo(float).eps * offset) ** 2 + 1e-12 * expected[0]
    assert_allclose(model.explained_variance_, expected, rtol=1e-9, atol=rounding)


@each("solver", ["auto", "arpack"])
@each("offset", [1e2, 1e6, 1e12])
@each("scale", [False, True])
def test_sparse_rows_far_from_0_lose_no_more_than_dense_ones(solver, offset, scale):
    X = rows_of((300, 6))
    X[:, :3] += offset
    params = {"svd_solver": solver, "scale": scale, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Lanczos converges
        model = PCA(3, **params).fit(sp.csr_array(X))
    dense = PCA(3, scale=scale, svd_solver="full").fit(X)
    assert_allclose(model.explained_variance_, dense.explained_variance_, rtol=1e-10)
    assert_allclose(model.components_, dense.components_, atol=1e-9)


@each("scale", [2.0**-400, 2.0**400])
@each("solver", SOLVERS)
def test_a_unit_changes_nothing_but_the_unit(solver, scale):
    X = rows_of((40, 4))
    plain = PCA(2, svd_solver=solver, random_state=0).fit(X)
    model = PCA(2, svd_solver=solver, random_state=0).fit(X * scale)
    assert_allclose(model.components_, plain.components_, rtol=1e-12, atol=1e-13)
    assert_allclose(model.singular_values_, plain.singular_values_ * scale, rtol=1e-12)
    assert_allclose(model.transform(X * scale), plain.transform(X) * scale, rtol=1e-9, atol=0)
    change = 4 * np.log(scale)
    assert_allclose(model.score_samples(X * scale), plain.score_samples(X) - change, rtol=1e-12)


def test_correlations_do_not_depend_on_units():
    X = rows_of((50, 5))
    units = np.array([1e-12, 1.0, 1e12, 1e-150, 1e150])
    plain, model = PCA(scale=True).fit(X), PCA(scale=True).fit(X * units)
    assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=1e-11)
    assert_allclose(plain.total_variance_, 5.0, rtol=1e-14)
    assert_allclose(np.abs(model.components_), np.abs(plain.components_), atol=1e-11)
    assert_allclose(model.inverse_transform(model.transform(X * units)), X * units, rtol=1e-9)


@each("solver", SOLVERS)
@each("kind", [np.asarray, sp.csr_array])
def test_weights_are_copies(solver, kind):
    rng = np.random.default_rng(1)
    X = rows_of((30, 5))
    weight = rng.integers(0, 4, size=30)
    params = {"svd_solver": solver, "random_state": 0}
    model = PCA(3, **params).fit(kind(X), sample_weight=weight)
    copies = PCA(3, **params).fit(kind(np.repeat(X, weight, axis=0)))
    for name in ("explained_variance_", "components_", "mean_", "noise_variance_"):
        assert_allclose(getattr(model, name), getattr(copies, name), rtol=1e-10, atol=1e-12)
    assert_allclose(
        model.score(X, sample_weight=weight), copies.score(np.repeat(X, weight, axis=0)), rtol=1e-10
    )


@each("solver", SOLVERS)
@each("dtype", [np.float32, np.float64])
def test_weights_of_any_scale_give_the_same_components(solver, dtype):
    X, weight = rows_of((40, 5)).astype(dtype), np.random.default_rng(0).random(40)
    params = {"ddof": 0, "svd_solver": solver, "random_state": 0}
    plain = PCA(3, **params).fit(X, sample_weight=weight)
    tol = 1e-5 if dtype == np.float32 else 1e-11
    for power in (-500, -150, 150, 500):
        model = PCA(3, **params).fit(X, sample_weight=np.ldexp(weight, power))
        with case(power):
            for name in ("explained_variance_", "components_", "noise_variance_", "mean_"):
                assert_allclose(getattr(model, name), getattr(plain, name), rtol=tol, atol=tol)
            assert model.n_samples_ == round(float(np.ldexp(weight.sum(), power)))


DEGENERATE = {
    "more columns than rows": lambda rng: rng.normal(size=(6, 20)),
    "rank one": lambda rng: np.outer(rng.normal(size=12), rng.normal(size=5)),
    "duplicate columns": lambda rng: np.tile(rng.normal(size=(12, 2)), 3),
    "equal rows": lambda rng: np.tile(rng.normal(size=5), (12, 1)),
    "zero": lambda rng: np.zeros((12, 5)),
}


@each("solver", SOLVERS)
@each("name", DEGENERATE)
def test_components_beyond_the_rank_are_orthonormal_and_have_variance_zero(name, solver):
    X = DEGENERATE[name](np.random.default_rng(0))
    model = PCA(svd_solver=solver, random_state=0).fit(X)
    rank = np.linalg.matrix_rank(X - X.mean(axis=0), tol=1e-10)
    assert model.rank_ == rank and model.n_components_ == min(X.shape)
    assert not model.explained_variance_[rank:].any()
    assert not model.explained_variance_ratio_[rank:].any()
    assert_allclose(model.components_ @ model.components_.T, np.eye(min(X.shape)), atol=1e-13)
    assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    whitened = PCA(svd_solver=solver, whiten=True, random_state=0).fit(X).transform(X)
    assert not whitened[:, rank:].any()
    if rank:
        assert_allclose(whitened[:, :rank].var(axis=0, ddof=1), 1.0, rtol=1e-9)


def test_samples_are_counted_as_copies():
    X, weight = rows_of((20, 3)), np.repeat([0.0, 1.0, 2.0, 3.0], 5)
    assert PCA().fit(X).n_samples_ == 20
    for model in (
        PCA().fit(X, sample_weight=weight),
        PCA().partial_fit(X[:8], sample_weight=weight[:8]).partial_fit(X[8:], None, weight[8:]),
    ):
        assert isinstance(model.n_samples_, int) and model.n_samples_ == 30


@pytest.mark.parametrize("n_components", [0, -1, 4])
def test_the_number_of_components_is_named_with_its_range(n_components):
    with pytest.raises(ValueError, match=r"must be between 1 and min\(n_samples, n_features\)"):
        PCA(n_components).fit(rows_of((5, 3)))


def test_iterated_power_bounds_the_readings_of_the_data():
    """Of rows as large as this, which LAPACK does not decompose, few readings leave a residual."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 450)) * 0.99 ** np.arange(450)
    variances, _ = by_svd(X)
    residuals = []
    for power in (0, 3):
        with pytest.warns(UserWarning, match=f"in {power + 1} steps.*iterated_power"):
            model = PCA(2, svd_solver="randomized", iterated_power=power, random_state=0).fit(X)
        residuals.append(model.residuals_.max())
        low, high = model.explained_fraction_bounds_
        assert low <= variances[:2].sum() / variances.sum() <= high
        # Each computed variance is near an exact one, and never above that of its rank.
        away = np.abs(model.explained_variance_[:, None] - variances).min(axis=1)
        assert (away <= model.residuals_.max() * model.explained_variance_[0] * (1 + 1e-9)).all()
        assert (model.explained_variance_ <= variances[:2] * (1 + 1e-12)).all()
    assert 1e-8 < residuals[1] < residuals[0]
    free = PCA(2, svd_solver="randomized", random_state=0).fit(X)
    capped = PCA(2, svd_solver="randomized", iterated_power=500, random_state=0).fit(X)
    assert_array_equal(capped.components_, free.components_)
    with pytest.raises(ValueError, match="iterated_power"):
        PCA(iterated_power=-1).fit(X)
    with pytest.raises(TypeError, match="power_iteration_normalizer.*drop it"):
        PCA(power_iteration_normalizer="LU")


def test_one_row_needs_ddof_0():
    with pytest.raises(ValueError, match=r"n_samples=1 .*ddof=0"):
        PCA().fit([[1.0, 2.0]])
    assert PCA(ddof=0).fit([[1.0, 2.0]]).explained_variance_.tolist() == [0.0]


def test_density_is_that_of_the_normal_distribution():
    X = rows_of((200, 6))
    for k in (1, 3, 6):
        for scale in (False, True):
            model = PCA(k, scale=scale).fit(X)
            C = model.get_covariance()
            exact = multivariate_normal(model.mean_, C).logpdf(X)
            assert_allclose(model.score_samples(X), exact, rtol=1e-9)
            assert_allclose(model.get_precision() @ C, np.eye(6), atol=1e-7)
    assert_allclose(PCA(6).fit(X).get_covariance(), np.cov(X.T), rtol=1e-10, atol=1e-12)


def test_density_within_the_hull_of_the_data():
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    low = rng.normal(size=(50, 2))
    X = low @ plane.T + 1.0
    model = PCA().fit(X)
    exact = multivariate_normal(low.mean(axis=0), np.cov(low.T)).logpdf(low)
    with pytest.warns(UserWarning, match="n_components < rank_=2") as caught:
        assert_allclose(model.score_samples(X), exact, rtol=1e-9)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="hull"):
        assert np.isneginf(model.score_samples(X[:1] + np.eye(4)[0]))
    with pytest.raises(ValueError, match="singular"):
        model.get_precision()


def test_ties_have_the_same_sign_and_an_infinite_bound():
    X = np.vstack([np.eye(3), -np.eye(3)])
    model = PCA(2).fit(X)
    assert np.isinf(model.angle_bounds_).all() and not model.complete_
    again = PCA(2).fit(X[::-1] + 0.0)
    assert_allclose(model.explained_variance_, again.explained_variance_, rtol=1e-14)
    signs = PCA(1).fit([[1.0, -1.0], [-1.0, 1.0], [2.0, -2.0]])
    assert signs.components_[0, 0] > 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evidence_bounds_the_error(solver, dtype):
    for seed in range(15):
        with case("seed", seed):
            check_evidence(seed, solver, dtype)


def check_evidence(seed, solver, dtype):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 80)), int(rng.integers(3, 60))
    X = rows_of((n, d), seed, decay=rng.uniform(0.5, 1.0)).astype(dtype)
    k = int(rng.integers(1, min(n, d)))
    model = PCA(k, svd_solver=solver, random_state=0).fit(X)
    wide = X.astype(np.longdouble)
    wide -= wide.mean(axis=0)
    variances, Vt = by_svd(wide.astype(np.float64))
    cosines = np.abs(np.sum(model.components_ * Vt[:k], axis=1))
    U = model.components_.astype(np.float64)
    sines = np.linalg.norm(U - np.sum(U * Vt[:k], axis=1)[:, None] * Vt[:k], axis=1)
    # The oracle itself is off by about eps over the gap, which is less than the bound.
    assert (sines <= model.angle_bounds_ + 4 * np.finfo(dtype).eps).all(), cosines
    share = variances[:k].sum() / variances.sum()
    low, high = model.explained_fraction_bounds_
    assert low <= share + 1e-14 and share <= high + 1e-14


def test_no_component_was_missed():
    X = rows_of((500, 30))
    model = PCA(5).fit(X)
    assert model.complete_
    tied = np.vstack([np.eye(30), -np.eye(30)])
    assert not PCA(5).fit(tied).complete_


@pytest.mark.parametrize("shape", [(440, 410), (1200, 405)])
def test_lanczos_of_large_dense_and_sparse_rows(shape):
    rng = np.random.default_rng(0)
    X = np.where(rng.random(shape) < 0.05, rng.normal(size=shape), 0.0)
    X *= 0.99 ** np.arange(shape[1])
    variances = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    for rows in (X, sp.csr_array(X)):
        model = PCA(3, svd_solver="arpack", random_state=0).fit(rows)
        assert model.solver_ == "lanczos"
        assert_allclose(model.explained_variance_, variances[:3], rtol=1e-9)
        low, high = model.explained_fraction_bounds_
        assert low <= variances[:3].sum() / variances.sum() <= high
    shared = PCA(0.2, svd_solver="arpack", random_state=0).fit(X)
    reached = np.cumsum(variances) / variances.sum() >= 0.2
    assert shared.n_components_ == np.argmax(reached) + 1
    with pytest.raises(ValueError, match="mle"):
        PCA("mle", svd_solver="arpack").fit(X)


def test_float32_data():
    X = load_digits()[0]
    wide, model = PCA(10).fit(X), PCA(10).fit(X.astype(np.float32))
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    assert_allclose(model.explained_variance_, wide.explained_variance_, rtol=1e-5)
    assert_allclose(model.components_, wide.components_, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_component_of_variance_zero_is_not_unique_beside_others(solver):
    X = rows_of((4, 7))
    model = PCA(4, svd_solver=solver, random_state=0).fit(X)
    assert np.isinf(model.angle_bounds_[3]) and not model.complete_
    assert_allclose(model.next_value_, 0.0, atol=1e-13 * model.explained_variance_[0])


@each("n_components", [1.5, 2.0, 0.0, -0.5, np.float64(3.0), float("nan")])
def test_a_float_that_is_no_share_is_told_of_integers_too(n_components):
    with pytest.raises(ValueError, match=r"must be an integer between 1 and min.*, or a share of"):
        PCA(n_components).fit(np.random.default_rng(0).normal(size=(9, 3)))


@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_projections_have_their_digits_wherever_the_mean_is(shift, dtype):
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(80, 6)) * [9, 5, 2, 1, 1, 0.1] + shift).astype(dtype)
    model = PCA(3).fit(X)
    exact = (X.astype(np.longdouble) - model.mean_) @ model.components_.T.astype(np.longdouble)
    atol = np.finfo(dtype).eps * (200 + 4 * shift)
    assert_allclose(model.transform(X), exact.astype(float), rtol=0, atol=atol)
