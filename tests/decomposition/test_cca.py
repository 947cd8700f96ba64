"""Canonical correlations against the generalised eigenproblem, least squares and SVDs."""

import runpy
import warnings
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from sklearn.base import clone, is_regressor
from sklearn.cross_decomposition import CCA as PeerCCA
from sklearn.datasets import load_linnerud
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlcore.decomposition import CCA, principal_angles
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.row_sums import RowSums

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def two_blocks(n=200, p=5, q=3, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 2))
    X = shared @ rng.normal(size=(2, p)) + rng.normal(size=(n, p))
    return X, shared @ rng.normal(size=(2, q)) + rng.normal(size=(n, q))


def by_eigenvectors(X, Y, alpha=(0.0, 0.0)):
    """Correlations and the directions of X from the generalised eigenproblem."""
    S = np.cov(X.T, Y.T)
    p = X.shape[1]
    A, B = S[:p, :p] + alpha[0] * np.eye(p), S[p:, p:] + alpha[1] * np.eye(S.shape[0] - p)
    squares, U = eigh(S[:p, p:] @ np.linalg.solve(B, S[p:, :p]), A)
    m = min(p, Y.shape[1])
    return np.sqrt(np.maximum(squares[::-1][:m], 0)), U[:, ::-1][:, :m]


def centred_exactly(block):
    columns = mpmath.matrix(block.tolist())
    for j in range(columns.cols):
        mean = mpmath.fsum(columns[:, j]) / columns.rows
        for i in range(columns.rows):
            columns[i, j] -= mean
    return columns


def exact_correlations(X, Y):
    """In 60 digits, from two Cholesky factors."""
    with mpmath.workdps(60):
        A, B = centred_exactly(X), centred_exactly(Y)
        whitening = [mpmath.inverse(mpmath.cholesky(M.T * M)) for M in (A, B)]
        product = whitening[0] * (A.T * B) * whitening[1].T
        return np.array([float(value) for value in mpmath.svd_r(product, compute_uv=False)])


def nearly_dependent(X, condition, seed):
    """Mix the columns by a matrix of this condition, so that none stands for itself."""
    d = X.shape[1]
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    return X @ (turn * np.logspace(0, -np.log10(condition), d)) @ turn.T


SEED = st.integers(0, 10**6)


def test_life_cycle_savings():
    X, Y = runpy.run_path(str(EXAMPLES / "savings_and_age.py"))["savings"]()[1:]
    model = CCA(2).fit(X, Y)
    assert_allclose(model.canonical_correlations_, [0.8247966112, 0.3652761515], rtol=0, atol=5e-11)
    found = model.x_rotations_[:, 0] / 7  # R divides by the root of 49
    assert_allclose(np.abs(found), [0.0091108562, 0.0486475138], rtol=0, atol=5e-11)
    assert found[0] * found[1] < 0


def test_linnerud():
    exercise, body = load_linnerud(return_X_y=True)
    model = CCA(3).fit(body, exercise)
    expected = [0.7956081544, 0.2005560411, 0.0725702862]
    assert_allclose(model.canonical_correlations_, expected, rtol=0, atol=5e-11)
    test = model.dimension_test()
    assert_allclose(test.wilks[0], 0.3503905334, rtol=0, atol=5e-11)
    assert_allclose(test.f[0], 2.0482335, rtol=0, atol=5e-8)
    assert_allclose(
        [test.f_numerator_df[0], test.f_denominator_df[0]], [9, 34.222927], rtol=0, atol=5e-7
    )
    assert_allclose(test.f_p_value[0], 0.0635309, rtol=0, atol=5e-8)
    assert_allclose(test.bartlett[0], 16.2549575, rtol=0, atol=5e-8)
    assert_array_equal(test.bartlett_df, [9, 4, 1])


@settings(max_examples=25, deadline=None)
@given(
    seed=SEED,
    shape=st.tuples(st.integers(20, 80), st.integers(1, 5), st.integers(1, 5)),
    scale=st.booleans(),
    alpha=st.one_of(st.just(0.0), st.tuples(st.floats(0, 2), st.floats(0, 2))),
)
def test_pairs_are_those_of_the_eigenproblem(seed, shape, scale, alpha):
    n, p, q = shape
    X, Y = two_blocks(n, p, q, seed)
    X *= np.array([1.0, 100.0, 0.01, 3.0, 1.0])[:p]
    ridge, k = np.broadcast_to(alpha, 2), min(p, q)
    rho, U = by_eigenvectors(X, Y, ridge)
    model = CCA(k, scale=scale, alpha=alpha).fit(X, Y)
    found = model.canonical_correlations_
    assert (np.diff(found) <= 0).all() and found[0] <= 1 and found[-1] >= 0
    # The eigenvalues are squares, whose roots are exact to the root of rounding at 0.
    assert_allclose(found**2, rho**2, atol=1e-11)
    if k == 1 or (np.diff(rho**2) < -1e-3).all() and rho[-1] > 1e-3:
        turned = model.x_rotations_ * np.sign((model.x_rotations_ * U).sum(axis=0))
        assert_allclose(turned, U, rtol=1e-7, atol=1e-8 * np.abs(U).max())
    S = np.cov(X.T, Y.T)
    U, V = model.x_rotations_, model.y_rotations_
    assert_allclose(U.T @ S[:p, p:] @ V, np.diag(found), atol=1e-11)
    assert_allclose(V.T @ (S[p:, p:] + ridge[1] * np.eye(q)) @ V, np.eye(k), atol=1e-11)


@settings(max_examples=20, deadline=None)
@given(
    seed=SEED, condition=st.sampled_from([1.0, 1e4, 1e6, 1e8, 1e10, 1e12]), shifted=st.booleans()
)
def test_correlations_and_evidence_are_exact_whatever_the_condition(seed, condition, shifted):
    X, Y = two_blocks(25, 3, 2, seed)
    X = nearly_dependent(X, condition, seed) + (1e10 if shifted else 0.0)
    model = CCA(2).fit(X, Y)
    # An offset rounds X: what is left of it is not nearly as dependent, and is what counts.
    atol = 100 * np.finfo(float).eps * condition
    assert_allclose(model.canonical_correlations_, exact_correlations(X, Y), atol=atol)
    with mpmath.workdps(60):
        U, V = (mpmath.matrix(W.tolist()) for W in (model.x_rotations_, model.y_rotations_))
        u, v = centred_exactly(X) * U, centred_exactly(Y) * V
        away = [M / 24 - mpmath.eye(2) for M in (u.T * u, v.T * v)]
        cross = u.T * v / 24
        real = max(abs(float(x)) for matrix in away for x in matrix)
        off = max(abs(float(cross[0, 1])), abs(float(cross[1, 0])))
    assert real <= model.orthogonality_ <= 100 * atol
    assert off <= model.off_diagonal_ <= 100 * atol


@settings(max_examples=8, deadline=None)
@given(
    seed=SEED,
    powers=st.lists(st.integers(-490, 490), min_size=3, max_size=3),
    single=st.booleans(),
)
def test_units_change_no_correlation(seed, powers, single):
    """Powers of two, from 1e-147 to 1e147, or in float32 from 1e-16 to 1e16: exact."""
    dtype = np.float32 if single else np.float64
    X, Y = (block.astype(dtype) for block in two_blocks(30, 3, 2, seed))
    scaled = np.ldexp(X, np.array(powers) // (9 if single else 1))
    assert scaled.dtype == dtype
    model, plain = CCA(2).fit(scaled, Y), CCA(2).fit(X, Y)
    expected = exact_correlations(X.astype(float), Y.astype(float))
    eps = np.finfo(dtype).eps
    assert_allclose(model.canonical_correlations_, expected, atol=200 * eps)
    assert_allclose(model.transform(scaled), plain.transform(X), atol=2e3 * eps)


def test_loadings_are_correlations_and_signs_follow_them():
    X, Y = two_blocks()
    for alpha in (0.0, 1.0):
        model = CCA(2, alpha=alpha).fit(X, Y)
        x_variates, y_variates = model.transform(X, Y)
        expected = np.corrcoef(X.T, x_variates.T)[:5, 5:]
        assert_allclose(model.x_loadings_, expected, atol=1e-13)
        assert_allclose(model.y_loadings_, np.corrcoef(Y.T, y_variates.T)[:3, 3:], atol=1e-13)
        weights = model.x_rotations_ * X.std(axis=0)[:, None]
        largest = np.abs(weights).argmax(axis=0)
        assert (weights[largest, [0, 1]] > 0).all()


def test_predictions_are_least_squares_and_equate_the_variates():
    X, Y = two_blocks(seed=4)
    ones = np.c_[np.ones(len(X)), X]
    least_squares = ones @ np.linalg.lstsq(ones, Y, rcond=None)[0]
    assert_allclose(CCA(3).fit(X, Y).predict(X), least_squares, atol=1e-12)
    model = CCA(2).fit(X, Y)
    equated = model.predict(X, method="equate")
    assert_allclose(model.transform(X, equated)[1], model.transform(X), atol=1e-12)
    # Of all with these variates it is the nearest: orthogonal by S_yy^-1 to what V does not see.
    null = np.linalg.svd(model.y_rotations_.T)[2][2:].T
    inner = (equated - Y.mean(axis=0)) @ np.linalg.solve(np.cov(Y.T), null)
    assert_allclose(inner, 0, atol=1e-12)
    centred = X - X.mean(axis=0)
    ridge = np.linalg.solve(np.cov(X.T) + 0.7 * np.eye(5), centred.T @ (Y - Y.mean(axis=0)) / 199)
    assert_allclose(CCA(3, alpha=0.7).fit(X, Y).coef_, ridge.T, atol=1e-12)


def test_one_target_gives_the_multiple_correlation():
    X, Y = two_blocks()
    with pytest.warns(UserWarning, match="n_components=2 is cut to 1"):
        model = CCA().fit(X, Y[:, 0])
    predicted = model.predict(X)
    assert predicted.shape == (200,)
    explained = 1 - ((Y[:, 0] - predicted) ** 2).sum() / ((Y[:, 0] - Y[:, 0].mean()) ** 2).sum()
    assert_allclose(model.canonical_correlations_**2, [explained], atol=1e-13)


def test_the_rows_are_factorised_where_features_nearly_depend_on_each_other():
    X, Y = two_blocks(n=60)
    expected = CCA(3).fit(X, Y)
    assert expected.solver_ == "cholesky" and expected.rcond_.min() > 1e-6
    mixed = nearly_dependent(X, 1e8, 0)
    model = CCA(3).fit(mixed, Y)
    assert model.solver_ == "qr"
    rho = expected.canonical_correlations_
    assert_allclose(model.canonical_correlations_, rho, atol=30 * 1e8 * 2e-16)


def test_dependent_features_count_once():
    X, Y = two_blocks()
    expected = CCA(3).fit(X, Y)
    more = np.c_[np.full(200, 3.0), X, X[:, 0] - X[:, 1], X[:, 2] * 1e3]
    model = CCA(3).fit(more, Y)
    assert (model.x_rank_, model.y_rank_, model.solver_) == (5, 3, "qr")
    assert_allclose(model.canonical_correlations_, expected.canonical_correlations_, atol=1e-13)
    assert_allclose(model.transform(more), expected.transform(X), atol=1e-11)
    assert (model.x_rotations_[0] == 0).all()
    with pytest.warns(
        UserWarning, match="n_components=4 is cut to 3.*rank 5 and those of y rank 3"
    ):
        CCA(4).fit(more, Y)


def test_as_many_features_as_rows_force_every_correlation():
    X, Y = two_blocks(n=6, p=8, q=3)
    with pytest.warns(UserWarning, match="6 rows and features of rank 5 make every") as caught:
        model = CCA(3).fit(X, Y)
    assert len(caught) == 1
    assert_allclose(model.canonical_correlations_, 1, atol=1e-12)
    assert model.x_rank_ == 5 and np.isfinite(model.coef_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        penalised = CCA(3, alpha=1.0).fit(X, Y)
    assert_allclose(
        penalised.canonical_correlations_, by_eigenvectors(X, Y, (1.0, 1.0))[0], atol=1e-12
    )


@settings(max_examples=20, deadline=None)
@given(seed=SEED, offset=st.sampled_from([0.0, 7.0, -1e4]))
def test_laws(seed, offset):
    X, Y = two_blocks(n=60, seed=seed)
    model = CCA(3).fit(X, Y)
    rho, rng = model.canonical_correlations_, np.random.default_rng(seed)
    A, B = (nearly_dependent(np.eye(d), 10.0, seed) for d in (5, 3))
    turned = CCA(3).fit(X @ A + offset, Y @ B - offset)
    atol = 1e-12 * max(1.0, abs(offset))  # the offset rounds the data
    assert_allclose(turned.canonical_correlations_, rho, atol=atol)
    swapped = CCA(3).fit(Y, X)
    assert_allclose(swapped.canonical_correlations_, rho, atol=1e-13)
    for ours, theirs in (("x_", "y_"), ("y_", "x_")):
        for name in ("loadings_", "rotations_"):
            found, expected = getattr(swapped, ours + name), getattr(model, theirs + name)
            if (np.diff(rho) < -1e-3).all() and rho[-1] > 1e-3:
                assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
    angles = principal_angles(X - X.mean(axis=0), Y - Y.mean(axis=0))
    assert_allclose(angles.cosines, rho, atol=1e-13)
    order = rng.permutation(60)
    assert_allclose(CCA(3).fit(X[order], Y[order]).canonical_correlations_, rho, atol=1e-13)
    assert_allclose(model.correlations(X, Y), rho, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_those_of_an_iteration_that_takes_out_each_pair(seed):
    X, Y = two_blocks(seed=seed)
    X = X * [1e-9, 1.0, 1e6, 3.0, 1e3]
    model = CCA(3).fit(X, Y)
    theirs = PeerCCA(3, tol=1e-15, max_iter=10**5).fit(X, Y)
    for ours, expected in (
        (model.x_weights_, theirs.x_weights_),
        (model.y_weights_, theirs.y_weights_),
    ):
        assert_allclose(ours.T @ ours, np.eye(3), atol=1e-14)
        # The iteration squares the ratio of correlations in each step, and stops at a change.
        assert_allclose(np.abs(ours), np.abs(expected), atol=1e-5)
    # Without the features that pairs before have taken, the weights give the same variates.
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    variates = model.transform(X)
    for j in range(3):
        before = variates[:, :j]
        rest = Z - before @ np.linalg.lstsq(before, Z, rcond=None)[0]
        along = rest @ model.x_weights_[:, j]
        assert_allclose(along / along.std(ddof=1), variates[:, j], atol=1e-11)


@settings(max_examples=10, deadline=None)
@given(seed=SEED, n_classes=st.integers(2, 4))
def test_indicators_of_classes_give_the_discriminants(seed, n_classes):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % n_classes
    X = rng.normal(size=(60, 4)) + rng.normal(size=(n_classes, 4))[y]
    indicators = (y[:, None] == np.arange(n_classes)).astype(float)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    model = CCA(n_classes - 1).fit(X, indicators)
    assert model.y_rank_ == n_classes - 1  # the indicators sum to 1
    found, expected = model.canonical_correlations_, lda.canonical_correlations_
    assert_allclose(found[: len(expected)], expected, atol=1e-9)


@pytest.mark.parametrize("p", [5, 7])
def test_weights_are_copies(p):
    X, Y = two_blocks()
    X = np.c_[X, X[:, :2] @ [[1.0, 1.0], [1.0, -1.0]]][:, :p]  # with 7, by QR
    counts = np.random.default_rng(0).integers(0, 4, 200)
    weighted = CCA(3).fit(X, Y, sample_weight=counts)
    copies = CCA(3).fit(X.repeat(counts, axis=0), Y.repeat(counts, axis=0))
    for name in ("canonical_correlations_", "x_loadings_", "total_weight_", "x_mean_"):
        assert_allclose(getattr(weighted, name), getattr(copies, name), atol=1e-11)
    # Which of the dependent features has a coefficient, rounding may decide.
    assert_allclose(weighted.predict(X), copies.predict(X), atol=1e-11)
    scaled = CCA(3, ddof=0).fit(X, Y, sample_weight=counts * 2.0**150)
    assert_allclose(scaled.predict(X), weighted.predict(X), atol=1e-11)
    with pytest.raises(ValueError, match="ddof=0"):
        CCA().fit(X, Y, sample_weight=np.full(200, 1e-3))


@pytest.mark.parametrize("scale", [1e-150, 1e140])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_units_and_offsets_do_not_matter(scale, offset):
    X, Y = two_blocks()
    X = np.round(X * 2**20) / 2**20  # exact after the offset
    expected = CCA(3).fit(X, Y)
    moved = (X + offset) * [scale, 1e12, 1.0, 1e-12, 1.0]
    model = CCA(3).fit(moved, Y * scale)
    # Scaling rounds the sums with the offset.
    atol = 1e-12 if offset == 0 else 1e-7
    for name in ("canonical_correlations_", "x_loadings_", "y_loadings_"):
        assert_allclose(getattr(model, name), getattr(expected, name), atol=atol)
    assert_allclose(model.transform(moved), expected.transform(X), atol=max(1e-11, 20 * atol))


def test_float32_stays_float32():
    X, Y = two_blocks()
    X += 100
    single = CCA(3).fit(X.astype(np.float32), Y.astype(np.float32))
    for name in ("x_rotations_", "coef_", "x_loadings_", "canonical_correlations_"):
        assert getattr(single, name).dtype == np.float32
    assert single.transform(X).dtype == single.predict(X).dtype == np.float32
    double = CCA(3).fit(X, Y)
    found, expected = single.canonical_correlations_, double.canonical_correlations_
    assert_allclose(found, expected, atol=2e-5)  # rounding moves X by 1e-5 of a deviation


def drifting(n_blocks):
    X, Y = two_blocks(n=700)
    X[:, 0] += np.linspace(0, 1e7, 700)
    return X, Y, np.array_split(np.arange(700), n_blocks)


@pytest.mark.parametrize("n_blocks", [1, 7, 100])
@pytest.mark.parametrize("how", ["sums", "partial_fit"])
def test_blocks_of_rows_give_the_fit_to_all(n_blocks, how):
    X, Y, parts = drifting(n_blocks)
    expected, model = CCA(3).fit(X, Y), CCA(3)
    order = np.random.default_rng(0).permutation(n_blocks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first few rows force correlations
        if how == "sums":
            assert isinstance(model, RowSums)
            model.begin(X[parts[0]], Y[parts[0]])
            sums = [model.partial_statistics(X[parts[i]], Y[parts[i]]) for i in order]
            total = sums[0]
            for part in sums[1:]:
                total = model.merge(total, part)
            model.update(total)
        else:
            for i in order:
                model.partial_fit(X[parts[i]], Y[parts[i]])
    for name in ("canonical_correlations_", "x_loadings_", "y_loadings_", "coef_", "x_mean_"):
        assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-10, atol=1e-10)


def test_dependent_features_by_blocks_are_told():
    X, Y = two_blocks()
    more = np.c_[X, X[:, 0] + X[:, 1]]
    with pytest.warns(UserWarning, match="depend on each other"):
        model = CCA(3).partial_fit(more, Y)
    assert model.solver_ == "pivoted cholesky" and model.x_rank_ == 5
    expected = CCA(3).fit(X, Y).canonical_correlations_
    assert_allclose(model.canonical_correlations_, expected, atol=1e-10)


def test_begun_is_not_fitted():
    X, Y = two_blocks()
    model = CCA().begin(X, Y)
    with pytest.raises(ValueError, match="not fitted yet: it has begun"):
        model.transform(X)
    with pytest.raises(ValueError, match="statistics must come from"):
        model.update((1.0, 2.0, 3.0))
    one = CCA().partial_fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="not fitted yet"):
        one.predict(X)


def test_wrong_input_is_refused():
    X, Y = two_blocks()
    for block, where in ((np.zeros_like(X), "X"), (np.ones_like(X), "X")):
        with pytest.raises(ValueError, match=f"all features of {where} are constant"):
            CCA().fit(block, Y)
    with pytest.raises(ValueError, match="all features of y are constant"):
        CCA().fit(X, np.ones(200))
    bad = Y.copy()
    bad[150, 1] = np.nan
    with pytest.raises(ValueError, match=r"Input y contains NaN \(at y\[150\]"):
        CCA().fit(X, bad)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CCA().fit(X, Y[1:])
    with pytest.raises(ValueError, match="requires y to be passed"):
        CCA().fit(X, None)
    with pytest.raises(ValueError, match="n_samples=1"):
        CCA().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="alpha"):
        CCA(alpha=(1.0, 2.0, 3.0)).fit(X, Y)
    model = CCA().fit(X, Y)
    with pytest.raises(ValueError, match="Y has 2 columns, but CCA was fitted to 3"):
        model.transform(X, Y[:, :2])
    with pytest.raises(ValueError, match="method='other' must be one of 'regression', 'equate'"):
        model.predict(X, method="other")
    with pytest.raises(ValueError, match="dimension_test needs a fit with alpha=0"):
        CCA(alpha=0.1).fit(X, Y).dimension_test()


def test_correlations_of_variates_that_do_not_vary_are_zero():
    X, Y = two_blocks()
    model = CCA(2).fit(X, Y)
    assert_array_equal(model.correlations(X[[0, 0, 0]], Y[:3]), [0.0, 0.0])


def test_the_score_is_the_share_of_y_explained_and_chooses_the_number_of_pairs():
    X, Y = two_blocks()
    model = CCA(2).fit(X[:100], Y[:100])
    expected = r2_score(Y[100:], model.predict(X[100:]))
    assert_allclose(model.score(X[100:], Y[100:]), expected, rtol=1e-12)
    weight = np.arange(100.0)
    expected = r2_score(Y[100:], model.predict(X[100:]), sample_weight=weight)
    assert_allclose(model.score(X[100:], Y[100:], sample_weight=weight), expected, rtol=1e-12)
    pipeline = make_pipeline(StandardScaler(), CCA())
    grid = {"cca__n_components": [1, 2, 3], "cca__alpha": [0.0, (0.1, 1e3)]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    folds = [
        clone(pipeline).set_params(**search.best_params_).fit(X[train], Y[train]).score(X[t], Y[t])
        for train, t in KFold(3).split(X)
    ]
    assert_allclose(search.best_score_, np.mean(folds))
    assert is_regressor(CCA())


def test_parameters_of_scikit_learn_are_answered():
    with pytest.raises(TypeError, match="'max_iter': drop it: all pairs are computed at once"):
        CCA(max_iter=1000)
