"""Centring in feature space: against the matrix formula, and the samples where they are known."""

import pickle

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import get_tags

from mlcore.checks.errors import NotFittedError
from mlcore.kernels import GramCenterer, center_gram, gram_matrix
from mlcore.svm import SVC


def samples(n, d=3, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d)) + 2.0


@pytest.mark.parametrize("n", [1, 2, 33, 100])
def test_the_matrix_formula(n):
    K = gram_matrix(samples(n), kernel="rbf", gamma=0.3)
    ones = np.full((n, n), 1 / n)
    expected = K - ones @ K - K @ ones + ones @ K @ ones
    assert_allclose(center_gram(K), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_with_the_linear_kernel_the_samples_are_centred(dtype, atol):
    X, new = samples(80), samples(15, seed=1)
    K = gram_matrix(X.astype(dtype), kernel="linear")
    centred = X - X.mean(axis=0)
    assert center_gram(K).dtype == dtype
    assert_allclose(center_gram(K), centred @ centred.T, rtol=0, atol=20 * atol)
    rows = GramCenterer().fit(K).transform(gram_matrix(new.astype(dtype), X, kernel="linear"))
    assert rows.dtype == dtype
    assert_allclose(rows, (new - X.mean(axis=0)) @ centred.T, rtol=0, atol=20 * atol)


def test_new_rows_as_scikit_learn_centres_them():
    K, new = gram_matrix(samples(50)), gram_matrix(samples(9, seed=1), samples(50))
    expected = KernelCenterer().fit(K).transform(new.copy())
    assert_allclose(GramCenterer().fit(K).transform(new), expected, rtol=0, atol=1e-14)


def test_rows_and_columns_sum_to_zero_and_centring_twice_changes_nothing():
    K = center_gram(gram_matrix(samples(60), kernel="polynomial"))
    size = abs(K).max()
    assert abs(K.sum(axis=0)).max() < 1e-12 * size and abs(K.sum(axis=1)).max() < 1e-12 * size
    assert_allclose(center_gram(K), K, rtol=0, atol=1e-13 * size)


def test_means_of_single_precision_are_taken_in_double():
    K = np.full((1000, 1000), 1.0, np.float32) + np.eye(1000, dtype=np.float32) * 1e-3
    assert_allclose(center_gram(K), center_gram(K.astype(np.float64)), rtol=0, atol=2e-10)


def test_a_matrix_that_is_not_symmetric_is_centred_by_rows_and_columns():
    K = np.random.default_rng(0).normal(size=(7, 7))
    centred = center_gram(K)
    assert_allclose(centred.sum(axis=0), 0, atol=1e-14)
    assert_allclose(centred.sum(axis=1), 0, atol=1e-14)


def test_in_place_and_into_another_array():
    K = gram_matrix(samples(1500))  # more than one block
    before = K.copy()
    expected = center_gram(K)
    assert_array_equal(K, before)
    out = np.empty_like(K)
    assert center_gram(K, out=out) is out
    assert_array_equal(out, expected)
    assert center_gram(K, out=K) is K
    assert_array_equal(K, expected)


@each(
    ("arguments", "error", "message"),
    [
        ({"K": np.ones((2, 3))}, ValueError, r"K has shape \(2, 3\).*square"),
        ({"K": [[np.inf]]}, ValueError, "infinity"),
        ({"K": np.eye(2), "out": np.eye(3)}, ValueError, r"out has shape \(3, 3\)"),
        ({"K": np.eye(2), "out": np.eye(2, dtype=np.float32)}, ValueError, "out has.*float32"),
        ({"K": np.eye(2), "out": [[1.0]]}, TypeError, "out is a list"),
    ],
)
def test_what_cannot_be_centred(arguments, error, message):
    with pytest.raises(error, match=message):
        center_gram(**arguments)


def test_what_a_centerer_refuses():
    with pytest.raises(NotFittedError, match="This GramCenterer instance is not fitted"):
        GramCenterer().transform(np.eye(2))
    with pytest.raises(ValueError, match="X has 3 features, but GramCenterer is expecting 2"):
        GramCenterer().fit(np.eye(2)).transform(np.eye(3))
    with pytest.raises(ValueError, match="square"):
        GramCenterer().fit(np.ones((2, 3)))


def test_a_result_that_cannot_fit_is_refused(monkeypatch):
    K = np.ones((2500, 2500), np.float32)
    monkeypatch.setattr("mlcore.runtime.memory.free_bytes", lambda: 2**20)
    with pytest.raises(MemoryError, match="centred matrix of 2500 x 2500 needs 25000000 bytes"):
        center_gram(K)
    assert center_gram(K, out=K) is K


def test_the_protocol_of_transformers():
    K, new = gram_matrix(samples(20)), gram_matrix(samples(4, seed=1), samples(20))
    centerer = GramCenterer()
    assert centerer.fit_transform(K).tolist() == center_gram(K).tolist()
    names = [f"gramcenterer{i}" for i in range(20)]
    assert centerer.get_feature_names_out().tolist() == names
    framed = centerer.set_output(transform="pandas").transform(new)
    assert list(framed.columns) == names
    pairs = make_pipeline(GramCenterer(), SVC(kernel="precomputed")).fit(K, np.arange(20) % 2)
    assert pairs.predict(new).shape == (4,)  # rows and columns are left out together in folds
    assert get_tags(pairs).input_tags.pairwise


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), shift=st.floats(-5, 5))
def test_functions_of_one_argument_and_the_order_of_samples(seed, n, shift):
    rng = np.random.default_rng(seed)
    K, new = gram_matrix(samples(n, seed=seed)), gram_matrix(samples(4), samples(n, seed=seed))
    f, g, order = rng.normal(size=n), rng.normal(size=4), rng.permutation(n)
    centerer = GramCenterer().fit(K)
    other = GramCenterer().fit(K + f + f[:, None] + shift)  # as the kernel k + f(x) + f(y)
    assert_allclose(other.transform(K + f + f[:, None] + shift), center_gram(K), atol=1e-13 * n)
    expected = centerer.transform(new)
    assert_allclose(other.transform(new + f + g[:, None] + shift), expected, atol=1e-13 * n)
    permuted = GramCenterer().fit(K[np.ix_(order, order)]).transform(new[:, order])
    assert_allclose(permuted, expected[:, order], atol=1e-14)


def test_every_form_of_the_matrix_gives_the_same_bytes():
    K = gram_matrix(samples(40))
    expected = center_gram(K)
    fixed = K.copy()
    fixed.flags.writeable = False
    for form in (fixed, K.astype(">f8"), np.asfortranarray(K), np.repeat(K, 2, axis=0)[::2]):
        assert_array_equal(center_gram(form), expected)
        assert_array_equal(GramCenterer().fit(form).transform(form), expected)
    again = pickle.loads(pickle.dumps(clone(GramCenterer()).fit(K)))
    assert_array_equal(again.transform(K), expected)
