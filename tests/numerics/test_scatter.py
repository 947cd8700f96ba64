"""Weight, mean and scatter of rows against exact sums."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from mlcore.decomposition import CCA, PCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.linear_model import LinearRegression
from mlcore.numerics import scatter
from mlcore.numerics.scatter import (
    BeyondUnits,
    Scatter,
    in_larger_units,
    in_range,
    larger_powers,
    merged_scatter,
    origin_of,
    powers_of_two,
    scatter_by_class,
    scatter_of,
    scatter_side_by_side,
)


def exact(X, weight, origin):
    """The sums in rational numbers."""
    rows = [[Fraction(float(v)) for v in row] for row in X]
    w = [Fraction(float(v)) for v in (np.ones(len(X)) if weight is None else weight)]
    d, total = X.shape[1], sum(w)
    mean = [sum(a * row[j] for a, row in zip(w, rows, strict=True)) / total for j in range(d)]
    S = [
        [
            sum(a * (r[i] - mean[i]) * (r[j] - mean[j]) for a, r in zip(w, rows, strict=True))
            for j in range(d)
        ]
        for i in range(d)
    ]
    shift = [float(m - Fraction(float(o))) for m, o in zip(mean, origin, strict=True)]
    return Scatter(float(total), np.array(shift), np.array(S, dtype=float))


def close(found, expected, rtol):
    """Equal relative to the deviations of the columns: what cancels is lost for all."""
    spread = np.sqrt(expected.scatter.diagonal())
    assert_allclose(found.weight, expected.weight, rtol=1e-15)
    assert (np.abs(found.scatter - expected.scatter) <= rtol * np.outer(spread, spread)).all()
    size = spread / np.sqrt(expected.weight) + np.abs(expected.mean)
    assert (np.abs(found.mean - expected.mean) <= rtol * size).all()
    assert_array_equal(found.scatter, found.scatter.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4, -1e8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("few", [False, True])
def test_the_sums_are_exact_but_for_rounding(dtype, offset, weighted, few):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 5)) * [1.0, 1e-3, 1e3, 1.0, 1.0]
    X[:, 3] = X[:, 0] + 1e-4 * X[:, 4]
    if few:
        X = np.where(rng.random(X.shape) < 0.03, X, 0.0)
        X[:2] += 1.0  # in all, fewer than a tenth: they are summed by a sparse product
    X = (X + offset).astype(dtype)
    weight = rng.integers(0, 4, size=50) / 2.0 if weighted else None
    origin = origin_of(X)
    expected = exact(X, weight, origin)
    for kind in (np.asarray, sp.csr_array):
        found = scatter_of(kind(X), weight, origin)
        # 50 products lose 50 eps at worst; centring loses little: the origin is the mean of rows.
        close(found, expected, 50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_and_columns_that_begin_to_vary_late(dtype, weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(3000, 9)).astype(dtype)
    X[:, 2] = 7.0  # never varies
    X[:1500, 4] = 5.0
    X[:2999, 6] = -1.0
    weight = rng.integers(0, 3, size=3000).astype(float) if weighted else None
    origin = origin_of(X)
    found = scatter_of(X, weight, origin)
    wide = X.astype(np.float64)
    w = np.ones(3000) if weight is None else weight
    mean = w @ wide / w.sum()
    assert_allclose(found.mean + origin, mean, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-13)
    S = (wide - mean).T @ ((wide - mean) * w[:, None])
    # The roundings of 3000 products, at random.
    assert_allclose(found.scatter, S, rtol=0, atol=S.max() * np.sqrt(3000) * np.finfo(dtype).eps)
    assert not found.scatter[2].any() and found.mean[2] + origin[2] == 7.0


@pytest.mark.parametrize("n_blocks", [1, 7, 100])
def test_merged_blocks_are_the_whole_in_any_order(n_blocks):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 4)) + [1e3, 0.0, 0.0, -5.0]
    weight = rng.random(1000)
    origin = origin_of(X[:10])
    whole = scatter_of(X, weight, origin)
    parts = [
        scatter_of(X[rows], weight[rows], origin)
        for rows in np.array_split(np.arange(1000), n_blocks)
    ]
    for order in (parts, parts[::-1]):
        found = reduce(merged_scatter, order)
        assert_allclose(found.weight, whole.weight, rtol=1e-13)
        assert_allclose(found.mean, whole.mean, rtol=1e-12, atol=1e-13)
        assert_allclose(found.scatter, whole.scatter, rtol=1e-12, atol=1e-10)


def test_blocks_that_drift_by_ten_million_deviations():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    origin = origin_of(X)
    away = X + 1e7
    parts = [scatter_of(away[rows], None, origin) for rows in (slice(0, 100), slice(100, 400))]
    found = merged_scatter(*parts)
    centred = away - away.mean(axis=0)
    assert_allclose(found.scatter, centred.T @ centred, rtol=0, atol=1e-8 * 400)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 7, 100]), st.sampled_from([0.0, 1.0, 1e7]))
def test_any_order_of_blocks_is_the_whole_even_if_they_drift(seed, n_blocks, drift):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5))
    X += drift * np.arange(300)[:, None] / 300
    weight = rng.integers(1, 4, size=300).astype(float)
    origin = origin_of(X[:5])
    whole = scatter_of(X, weight, origin)
    parts = [
        scatter_of(X[rows], weight[rows], origin)
        for rows in np.array_split(np.arange(300), n_blocks)
    ]
    found = reduce(merged_scatter, [parts[i] for i in rng.permutation(n_blocks)])
    close(found, whole, 1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (127, 5), (700, 50), (5000, 3), (300, 500), (5000, 64)])
def test_threads_change_no_byte(shape, zeros, dtype):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=shape).astype(dtype), rng.integers(0, 3, size=shape[0])
    X = np.maximum(X, 0) if zeros else X
    weight, origin = rng.random(shape[0]), origin_of(X)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads, user_api="openmp"):
            found.append(scatter_by_class(X, codes, 3, weight, origin))
    for sums, by_class in found[1:]:
        assert_array_equal(sums.scatter, found[0][0].scatter)
        assert_array_equal(sums.mean, found[0][0].mean)
        assert_array_equal(by_class, found[0][1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zeros", [False, True])
def test_columns_that_begin_to_vary_late_are_found_by_any_number_of_threads(zeros, dtype):
    n, d = 9000, 301  # a dozen chunks of rows
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)).astype(dtype)
    X = np.maximum(X, 0) if zeros else X + 7
    for j in range(0, d, 2):  # in every chunk some; the last of these not at all
        X[: min(n, 60 * j), j] = X[0, j]
    codes, origin = rng.integers(0, 3, size=n), origin_of(X)
    found = []
    for n_threads in (1, 2, 7):
        with threadpool_limits(n_threads, user_api="openmp"):
            found.append(scatter_by_class(X, codes, 3, None, origin))
    wide = X.astype(np.float64) - X[0]  # exactly 0 where nothing varies
    centred = wide - wide.mean(axis=0)
    expected, size = centred.T @ centred, np.linalg.norm(wide, axis=0)
    # One after the other, 252 products of a block and 72 blocks at most are added.
    limit = (252 + 72) * np.finfo(dtype).eps * np.outer(size, size)
    for sums, by_class in found:
        assert (np.abs(sums.scatter - expected) <= limit).all()
        assert_array_equal(sums.scatter, found[0][0].scatter)
        assert_array_equal(sums.mean, found[0][0].mean)
        assert_array_equal(by_class, found[0][1])
    assert not size.all()


def with_background(n_samples, n_features, dtype, background):
    """Rows of smooth noise, cut off at a background as the pixels of an image."""
    rng = np.random.default_rng(n_samples)
    low = np.cumsum(rng.normal(size=(n_samples, n_features)), axis=1) / np.sqrt(n_features)
    return (np.maximum(low, 0.0) * 3 + background).astype(dtype)


@pytest.mark.parametrize(
    ("background", "dtype"), [(0.0, np.float64), (-0.7, np.float32), (5.0, np.float64)]
)
@pytest.mark.parametrize(
    "shape", [(1, 50), (125, 48), (127, 64), (600, 131), (2300, 131), (2000, 300)]
)
def test_rows_left_out_of_products_change_no_bit(shape, dtype, background, monkeypatch):
    X = with_background(*shape, dtype, background)
    X[:, 7] = 2.5  # never varies
    X[: len(X) // 2, 30:33] = background
    weight = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    weight[-1] = 1.0
    origin = origin_of(X)
    assert (X[:64] == origin).mean() >= scatter._OFTEN
    for w in (None, weight):
        found = scatter_of(X, w, origin)
        with monkeypatch.context() as patch:
            patch.setattr(scatter, "_OFTEN", 2.0)  # a share that no column reaches
            expected = scatter_of(X, w, origin)
        assert_array_equal(found.scatter, expected.scatter)
        assert_array_equal(found.mean, expected.mean)
        wide = X.astype(np.float64)
        weights = np.ones(len(X)) if w is None else w
        centred = wide - weights @ wide / weights.sum()
        S = centred.T @ (centred * weights[:, None])
        # The roundings of n products, at random; the origin may be 7 deviations' squares away.
        atol = 8 * np.sqrt(len(X)) * np.finfo(dtype).eps * max(S.max(), 1e-300)
        assert_allclose(found.scatter, S, rtol=0, atol=atol)


@settings(max_examples=50)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.float32, np.float64]),
    st.floats(0.05, 0.95),
    st.sampled_from([0.0, -3.0, 7.0]),
    st.sampled_from([0.0, 1e3]),
)
def test_an_origin_that_rows_often_have_costs_few_digits(seed, dtype, share, background, far):
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(256, 60)) * 2) + far + max(background, 0.0)
    X = np.where(rng.random(X.shape) < share * rng.random(60), background, X).astype(dtype)
    origin = origin_of(X)
    often = (background == X).mean(axis=0) >= 1 / 8
    assert (origin[often] == background).all()
    wide = X.astype(np.float64)
    mean, variance = wide.mean(axis=0), wide.var(axis=0)
    rounding = np.finfo(dtype).eps * np.abs(mean)
    assert (np.abs(mean - origin) <= np.sqrt(7 * variance) * (1 + 1e-6) + rounding).all()
    assert_allclose(origin[~often], mean[~often], rtol=np.finfo(dtype).eps)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_culprit_is_named_among_rows_left_out(bad, dtype):
    X = with_background(700, 60, dtype, 0.0)
    X[690, 59] = bad
    with pytest.raises(ValueError, match="Input X contains .*row 690, column 59"):
        scatter_of(X, None, origin_of(X))


@each("dtype", [np.float32, np.float64])
@each("exponent", [-200, 2, 200])
def test_the_unit_of_weights_is_only_that_of_sums(dtype, exponent):
    """To the last bit, also where weighted rows in float32 have no products."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 4)).astype(dtype)
    X[:, 1] = 3.0
    codes = rng.integers(0, 3, size=300)
    for weight in (rng.random(300), rng.integers(0, 9, size=300).astype(float)):
        for origin in (origin_of(X), np.full(4, 1e4)):
            found, by_class = scatter_by_class(X, codes, 3, weight, origin)
            scaled, scaled_by_class = scatter_by_class(
                X, codes, 3, np.ldexp(weight, exponent), origin
            )
            assert scaled.weight == np.ldexp(found.weight, exponent)
            assert_array_equal(scaled.mean, found.mean)
            assert_array_equal(scaled.scatter, np.ldexp(found.scatter, exponent))
            assert_array_equal(scaled_by_class, np.ldexp(by_class, exponent))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_few_columns_of_many_rows(d, weighted, dtype):
    """Up to 4 are multiplied as they are, the others of them constant."""
    rng = np.random.default_rng(d)
    X = np.insert(rng.normal(size=(5000, d)), d // 2, 7.0, axis=1).astype(dtype)
    weight = rng.integers(0, 4, size=5000) / 2.0 if weighted else None
    codes, origin = rng.integers(0, 3, size=5000), origin_of(X)
    found, by_class = scatter_by_class(X, codes, 3, weight, origin)
    w = np.ones(5000) if weight is None else weight
    offsets = X.astype(float) - origin
    mean = w @ offsets / w.sum()
    centred = offsets - mean
    eps = np.finfo(dtype).eps
    assert found.weight == w.sum()
    assert_allclose(found.mean, mean, rtol=0, atol=10 * eps)
    assert_allclose(found.scatter, (centred.T * w) @ centred, rtol=0, atol=1e5 * eps)
    expected = [w[codes == c] @ offsets[codes == c] for c in range(3)]
    assert_allclose(by_class, expected, rtol=0, atol=1e4 * eps)
    assert_array_equal(found.scatter[d // 2], 0)


@each("n", [400, 3000])  # the second in groups of rows
@each("weighted", [False, True])
@each("far", [0.0, 1e6])  # the second is summed again about its own mean
@each("power", [0, [3, -2, 0, 1]])
def test_sums_by_class_are_those_over_its_rows(n, weighted, far, power):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    X[:, 1] = 3.0
    X[: n - 50, 2] = -1.0  # begins to vary late
    codes = rng.integers(0, 3, size=n)
    weight = rng.integers(0, 3, size=n).astype(float) if weighted else None
    origin = origin_of(X) + far * np.array([1.0, 0.0, 0.0, 0.0])
    found, by_class = scatter_by_class(X, codes, 3, weight, origin, power=power)
    close(found, scatter_of(X, weight, origin, power=power), 1e-13)
    w = np.ones(n) if weight is None else weight
    offsets = np.ldexp(X - origin, -np.broadcast_to(power, 4)) * w[:, None]
    for c in range(3):
        rows = offsets[codes == c]
        size = np.abs(rows).sum(axis=0) + 1
        assert (np.abs(by_class[c] - rows.sum(axis=0)) <= n * 2.3e-16 * size).all()


@each("power", [0, 2])
@each("dtype", [np.float32, np.float64])
@each("n", [300, 2500])
def test_two_blocks_side_by_side_are_the_joined_rows(dtype, power, n):
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(n, 7)).astype(dtype), rng.normal(size=(n, 30)).astype(dtype)
    X[:, 2:5], Y[:, :3], Y[: n - 1, 8] = 1.0, 2.0, 0.0
    joined = np.hstack([X, Y])
    origin, weight = origin_of(joined), rng.random(n)
    found = scatter_side_by_side(X, Y, weight, origin, power=power)
    expected = scatter_of(joined, weight, origin, power=power)
    assert_array_equal(found.scatter, expected.scatter)
    assert_array_equal(found.mean, expected.mean)
    Y[5, 3] = np.nan
    with pytest.raises(ValueError, match=r"Input y contains NaN.*5"):
        scatter_side_by_side(X, Y, weight, origin)


def test_statistics_of_different_models_are_not_merged():
    one, two = (scatter_of(np.eye(3)[:, :d], None, np.zeros(d)) for d in (2, 3))
    with pytest.raises(ValueError, match="2 and 3 features"):
        merged_scatter(one, two)


@each(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e200, "large")])
@each("rows", [slice(2999, 3000), slice(0, 3000)])
def test_the_culprit_is_named(bad, word, rows):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    X[rows, 1] = bad
    with pytest.raises(ValueError, match=f"Input X contains .*{word}.*row {rows.start}, column 1"):
        scatter_of(X, None, origin_of(X))


def test_values_beyond_the_range_of_squares_by_powers_of_two():
    X = np.random.default_rng(0).normal(size=(100, 3))
    expected = scatter_of(X, None, origin_of(X))
    assert in_range(expected.scatter.diagonal(), X.dtype).all()
    for scale in (-490, 490):
        far = np.ldexp(X, scale)
        origin = origin_of(far)
        power = powers_of_two(far, origin)
        found = scatter_of(far, None, origin, power=power)
        assert not in_range(scatter_of(far, None, origin).scatter.diagonal(), X.dtype).any()
        unit = np.ldexp(1.0, power - scale)
        assert_allclose(found.scatter * np.outer(unit, unit), expected.scatter, rtol=1e-13)
        assert_allclose(found.mean * unit, expected.mean, atol=1e-15)


@each("dtype", [np.float32, np.float64])
def test_values_whose_units_have_no_reciprocal(dtype):
    X = np.random.default_rng(0).integers(-99, 99, (2000, 3)).astype(dtype)
    scale = -1060 if dtype == np.float64 else -140
    far = np.ldexp(X, scale)  # exact, below normal numbers
    power = powers_of_two(far, np.zeros(3))
    found = scatter_of(far, None, np.zeros(3), power=power)
    unit = np.ldexp(1.0, power - scale)
    centred = X - X.mean(axis=0, dtype=np.float64)
    close(
        Scatter(2000.0, found.mean * unit, found.scatter * np.outer(unit, unit)),
        Scatter(2000.0, X.mean(axis=0, dtype=np.float64), centred.T @ centred),
        1e-12 if dtype == np.float64 else 1e-5,
    )


UNITS = [(1e-170, 1.0), (1e-300, 1e100), (1e-90, 1.0), (1.0, 1e100), (1e-20, 1e130), (1.0, 1.0)]
BY_BLOCKS = {
    "PCA": PCA(),
    "scaled": PCA(scale=True),
    "LDA": LinearDiscriminantAnalysis(),
    "QDA": QuadraticDiscriminantAnalysis(),
    "auto": QuadraticDiscriminantAnalysis(shrinkage="auto"),
    "CCA": CCA(1),
    "LinearRegression": LinearRegression(),
}
FOUND = ("explained_variance_", "components_", "mean_", "means_", "covariances_", "coef_")


def rows_of_two_sizes(name, small, large):
    """Twenty rows of size `small`, forty of size `large`, and their targets."""
    rng = np.random.default_rng(0)
    X, size = rng.normal(size=(60, 2)), np.repeat([small, large], [20, 40])
    classes = np.tile([0, 1, 2], 20)
    X[:, 1] += classes
    X *= size[:, None]
    y = classes if name in ("LDA", "QDA", "auto") else X @ [1, 2] + 0.1 * size * rng.normal(size=60)
    return X, None if isinstance(BY_BLOCKS[name], PCA) else y


@pytest.mark.parametrize("name", BY_BLOCKS)
@pytest.mark.parametrize(("small", "large"), UNITS)
def test_later_rows_may_be_far_larger_than_the_first(name, small, large):
    """Sums refer to units of the first rows, in which squares of the later ones overflow."""
    X, y = rows_of_two_sizes(name, small, large)
    whole, parts = clone(BY_BLOCKS[name]).fit(X, y), clone(BY_BLOCKS[name])
    backwards = clone(BY_BLOCKS[name])
    for start in range(0, 60, 20):
        for model, first in ((parts, start), (backwards, 40 - start)):
            rows = slice(first, first + 20)
            model.partial_fit(X[rows], *(() if y is None else (y[rows],)))
    for attribute in FOUND:
        if hasattr(whole, attribute):
            expected = getattr(whole, attribute)
            for model in (parts, backwards):
                # Sums of squares have half the digits of what varies little beside the rest.
                atol = 1e-9 * np.abs(expected).max()
                assert_allclose(getattr(model, attribute), expected, rtol=1e-7, atol=atol)


@each("name", BY_BLOCKS)
def test_sums_that_overflow_in_the_units_of_the_first_rows_are_refused(name):
    X, y = rows_of_two_sizes(name, 1e-170, 1.0)
    targets = [() if y is None else (y[rows],) for rows in (slice(20), slice(20, None))]
    model = clone(BY_BLOCKS[name]).begin(X[:20], *targets[0])
    model.partial_statistics(X[:20], *targets[0])
    with pytest.raises(BeyondUnits, match=f"{type(model).__name__}: these rows are so much larger"):
        model.partial_statistics(X[20:], *targets[1])


def test_units_are_raised_where_squares_overflow_alone():
    sums = Scatter(3.0, np.array([1.0, 2.0]), np.array([[4.0, 6.0], [6.0, 8.0]]))
    more = np.array([1, 3])
    found = in_larger_units(sums, more)
    assert_array_equal(found.mean, [0.5, 0.25])
    assert_array_equal(found.scatter, [[1.0, 0.375], [0.375, 0.125]])
    X = np.array([[0.0, 1.0, 2.0**300], [0.0, 0.5, 1.0]])
    power = np.array([-500, -5, -5])
    assert_array_equal(larger_powers(power, X, np.zeros(3)), [-500, -5, 301])
