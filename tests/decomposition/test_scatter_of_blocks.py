"""Components from blocks of rows are those of all rows, in any order of the blocks."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

import mlcore
from mlcore.datasets import load_iris
from mlcore.decomposition import PCA
from mlcore.row_sums import RowSums

IRIS = load_iris()[0]


def rows_of(shape, seed=0, decay=0.7):
    rng = np.random.default_rng(seed)
    n, d = shape
    return rng.normal(size=(n, d)) * decay ** np.arange(d) @ rng.normal(size=(d, d))


def by_blocks(model, X, order, weight=None):
    """The model from sums over the blocks X[order[0]], X[order[1]], ..., added in this order."""
    model.begin(X[order[0]])
    total = None
    for rows in order:
        part = model.partial_statistics(X[rows], None, None if weight is None else weight[rows])
        total = part if total is None else model.merge(total, part)
    return model.update(total), total


def by_partial_fits(model, X, order, weight=None):
    for rows in order:
        model.partial_fit(X[rows], None, None if weight is None else weight[rows])
    return model


def assert_equal_models(model, expected, tol):
    """Components of variances that differ by more than a hundredth are equal too."""
    variances = expected.explained_variance_
    assert_allclose(model.explained_variance_, variances, rtol=tol, atol=tol * variances[0])
    assert_allclose(model.total_variance_, expected.total_variance_, rtol=tol)
    assert_allclose(model.noise_variance_, expected.noise_variance_, atol=tol * variances[0])
    assert_allclose(model.mean_, expected.mean_, rtol=tol, atol=tol * variances[0] ** 0.5)
    assert model.n_samples_ == expected.n_samples_
    apart = expected.gaps_ > 0.01
    assert_allclose(model.components_[apart], expected.components_[apart], atol=1e3 * tol)


# All pairs of numbers of blocks, kinds, and units.
@pytest.mark.parametrize("n_blocks", [1, 7, 40])
@pytest.mark.parametrize(("kind", "scale"), [(np.asarray, False), (sp.csr_array, True)])
def test_any_order_of_blocks_gives_the_fit_to_all(n_blocks, kind, scale):
    rng = np.random.default_rng(n_blocks)
    X = np.where(rng.random((320, 5)) < 0.7, rows_of((320, 5)) + 3.0, 0.0)
    weight = rng.integers(0, 4, 320).astype(float)
    parts = np.array_split(np.arange(320), n_blocks)
    order = [parts[i] for i in rng.permutation(n_blocks)]
    given = kind(X)
    for w in (None, weight):
        whole = PCA(3, scale=scale).fit(X, sample_weight=w)
        summed, _ = by_blocks(PCA(3, scale=scale), given, order, w)
        assert isinstance(summed, RowSums)
        assert_equal_models(summed, whole, 1e-10)
        assert_equal_models(by_partial_fits(PCA(3, scale=scale), given, order, w), whole, 1e-10)


@pytest.mark.parametrize("n_blocks", [1, 7, 40])
@pytest.mark.parametrize("drift", [1e3, 1e7])
def test_a_drift_by_many_deviations_costs_no_digits(n_blocks, drift):
    """Each feature by itself: of a sum of squares as large as the drift makes it."""
    rng = np.random.default_rng(n_blocks)
    X = rows_of((300, 4)) + drift * np.linspace(0, 1, 300)[:, None] * [1.0, 0.0, -1.0, 0.0]
    parts = np.array_split(np.arange(300), n_blocks)
    order = [parts[i] for i in rng.permutation(n_blocks)]
    centred = X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)
    exact = (centred.T @ centred).astype(float)
    unit = np.sqrt(np.diagonal(exact))
    _, total = by_blocks(PCA(), X, order)
    assert_allclose(total.scatter / np.outer(unit, unit), exact / np.outer(unit, unit), atol=1e-12)
    for how in (lambda *args: by_blocks(*args)[0], by_partial_fits):
        # Features of unit variance, so that no variance is below what sums can tell.
        assert_equal_models(how(PCA(2, scale=True), X, order), PCA(2, scale=True).fit(X), 1e-10)
        model, whole = how(PCA(1), X, order), PCA(1).fit(X)
        assert_equal_models(model, whole, 1e-10)


@pytest.mark.parametrize("power", [-500, 500])
def test_blocks_at_any_unit(power):
    X = rows_of((90, 4))
    order = np.array_split(np.arange(90), 5)
    plain, scaled = (by_blocks(PCA(2), Z, order)[0] for Z in (X, np.ldexp(X, power)))
    assert_allclose(scaled.components_, plain.components_, atol=1e-13)
    assert_allclose(scaled.singular_values_, np.ldexp(plain.singular_values_, power), rtol=1e-12)
    assert_allclose(
        scaled.transform(np.ldexp(X, power)), np.ldexp(plain.transform(X), power), rtol=1e-9
    )


def test_float32_blocks_give_float32_components():
    X = (rows_of((3000, 6)) + 5).astype(np.float32)
    model = by_partial_fits(PCA(3), X, np.array_split(np.arange(3000), 7))
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    wide = PCA(3, svd_solver="full").fit(X.astype(float))
    assert_allclose(model.explained_variance_, wide.explained_variance_, rtol=1e-5)
    assert_allclose(model.components_, wide.components_, atol=1e-4)


def test_a_model_that_has_only_begun_is_not_fitted():
    model = PCA().begin(IRIS)
    with pytest.raises(ValueError, match="not fitted yet"):
        model.transform(IRIS)
    assert_array_equal(model.update(model.partial_statistics(IRIS)).n_components_, 4)


def test_partial_fit_goes_on_after_saving(tmp_path):
    X = rows_of((50, 4))
    mlcore.save(PCA(2).partial_fit(X[:1]).partial_fit(X[1:20]), tmp_path / "model.npz")
    again = mlcore.load(tmp_path / "model.npz").partial_fit(X[20:])
    assert_allclose(again.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-12)


def decades(n=300, d=14, seed=0, least=-6.5):
    """Rows of which the singular values fall from 1 to 10^least, and these."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d))
    U = np.linalg.qr(Z - Z.mean(axis=0))[0]
    V = np.linalg.qr(rng.normal(size=(d, d)))[0]
    s = np.logspace(0, least, d)
    return U * s @ V.T, s


def passes_of(model, X, order, weight=None, most=9):
    """The model after as many passes over the blocks as it asks for, and their number."""
    model.begin(X[order[0]])
    for n_passes in range(1, most + 1):
        parts = [
            model.partial_statistics(X[rows], None, None if weight is None else weight[rows])
            for rows in order
        ]
        total = parts[0]
        for part in parts[1:]:
            total = model.merge(total, part)
        if model.update(total).converged_:
            return model, n_passes
    raise AssertionError(f"not converged in {most} passes")


@pytest.mark.parametrize("n_blocks", [1, 7, 60])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_further_passes_find_variances_over_thirteen_decades(n_blocks, kind):
    X, s = decades()
    order = np.array_split(np.random.default_rng(1).permutation(len(X)), n_blocks)
    model, n_passes = passes_of(PCA(), kind(X), order)
    assert n_passes > 1
    # X itself is rounded: its small singular values are known to eps of the largest one.
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert_allclose(model.singular_values_, expected, rtol=1e-8, atol=30 * np.finfo(float).eps)
    assert_allclose(expected, s, rtol=1e-8, atol=30 * np.finfo(float).eps)
    assert model.orthogonality_ < 1e-13
    once = PCA().begin(X)
    once.update(once.partial_statistics(X))
    assert not once.converged_
    assert np.abs(once.singular_values_[-1] / expected[-1] - 1) > 1e-6


@each("scale", [False, True])
@each("n_components", [9, 0.9999999999, "mle"])
def test_passes_with_weights_are_the_fit(scale, n_components):
    X, _ = decades()
    X = X + 5.0
    weight = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    order = np.array_split(np.arange(len(X)), 6)
    model, _ = passes_of(PCA(n_components, scale=scale), X, order, weight)
    whole = PCA(n_components, scale=scale).fit(X, sample_weight=weight)
    assert whole.converged_
    assert model.n_components_ == whole.n_components_ and model.rank_ == whole.rank_
    # Sums of rows 5 away from 0, which are rounded to 5 eps, in another order.
    rounding = 1e3 * np.finfo(float).eps * whole.singular_values_[0]
    assert_allclose(model.singular_values_, whole.singular_values_, rtol=1e-9, atol=rounding)
    assert_allclose(model.noise_variance_, whole.noise_variance_, rtol=1e-6, atol=rounding**2)


def test_further_passes_in_float32():
    X, _ = decades(least=-3.0)
    X = (1e3 * X).astype(np.float32)
    model, _ = passes_of(PCA(), X, np.array_split(np.arange(len(X)), 5))
    wide = PCA(svd_solver="full").fit(X.astype(float))
    assert_allclose(model.explained_variance_, wide.explained_variance_, rtol=1e-4)


def test_one_pass_is_enough_where_no_variance_is_small():
    X = rows_of((200, 4), decay=0.9)
    assert passes_of(PCA(), X, np.array_split(np.arange(200), 3))[1] == 1
    wanted = PCA(3).partial_fit(decades()[0])
    assert wanted.converged_
    assert not PCA().partial_fit(decades()[0]).converged_


def test_a_second_pass_goes_on_after_saving(tmp_path):
    X, _ = decades()
    model = PCA().partial_fit(X[:100]).begin(X)
    model.update(model.partial_statistics(X))
    mlcore.save(model, tmp_path / "model.npz")
    again = mlcore.load(tmp_path / "model.npz")
    for one in (model, again):
        one.update(one.partial_statistics(X))
    # BLAS sums an array of another order in memory otherwise.
    assert_allclose(again.explained_variance_, model.explained_variance_, rtol=1e-9)


def test_passes_over_other_rows_are_refused():
    X, _ = decades()
    model = PCA().begin(X)
    first = model.partial_statistics(X)
    model.update(first)
    second = model.partial_statistics(X[:200])
    before = model.explained_variance_
    with pytest.raises(ValueError, match="weight 200, those of the first 300"):
        model.update(second)
    with pytest.raises(TypeError, match="Scatter and TailScatter cannot be merged"):
        model.merge(first, second)
    with pytest.raises(ValueError, match="updated by those of the first"):
        PCA().begin(X).update(second)
    other = PCA().begin(X[:, :12])
    other.update(other.partial_statistics(X[:, :12]))
    with pytest.raises(ValueError, match="come from another model"):
        other.update(model.partial_statistics(X))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_statistics(np.where(X == X[3, 2], np.nan, X))
    assert_array_equal(model.explained_variance_, before)


def test_a_second_pass_knows_what_rounding_of_many_rows_may_make_up():
    """A deviation of 1e-13 is one in 2 rows, but may be rounding in 4000, as in a fit to all."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    X = rng.normal(size=(4000, 3)) * [1.0, 1e-7, 1e-13] @ Q
    whole = PCA().fit(X)
    model = PCA().begin(X[:500])
    passes = 0
    while model.needs_another_pass():
        parts = [model.partial_statistics(X[i : i + 500]) for i in range(0, 4000, 500)]
        total = parts[0]
        for part in parts[1:]:
            total = model.merge(total, part)
        model.update(total)
        passes += 1
    assert passes >= 2
    assert whole.explained_variance_[2] == 0
    assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-3)


@pytest.mark.parametrize("solver", ["gram", "full", "arpack"])
def test_rows_are_not_added_to_a_fit_that_formed_no_scatter(solver):
    X = np.random.default_rng(0).normal(size=(30, 5))
    model = PCA(2, svd_solver=solver, random_state=0).fit(X)
    before = model.components_
    with pytest.raises(ValueError, match="no sums over its rows.*begin with partial_fit"):
        model.partial_fit(X)
    assert model.components_ is before
    wide = PCA(2).fit(X.T)
    with pytest.raises(ValueError, match="no sums over its rows"):
        wide.partial_fit(X.T)


def test_rows_are_added_between_two_passes():
    """A second pass would be over the rows of the first alone: it is no longer wanted."""
    X = decades()[0]
    half = len(X) // 2
    begun = PCA().begin(X[:half])
    begun.update(begun.partial_statistics(X[:half]))
    assert begun.needs_another_pass()
    model = begun.partial_fit(X[half:])
    assert not model.needs_another_pass()
    assert_allclose(model.explained_variance_[0], PCA().fit(X).explained_variance_[0], rtol=1e-10)
