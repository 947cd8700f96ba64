"""Sums and products of kernels."""

import operator
import pickle
import re

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV

import mlcore
from mlcore.decomposition import KernelPCA
from mlcore.kernels import Kernel, ProductKernel, StringKernel, SumKernel, is_positive_semidefinite
from mlcore.svm import SVC

WORDS = ["banana", "ananas", "papaya", "kiwi", "wiki", "tiki", "kiki", "naan"]
LABELS = [0, 0, 0, 1, 1, 1, 1, 0]
PAIRS = StringKernel(length=2)
GAPS = StringKernel("gapped", length=2)


class Dot(Kernel):
    positive_semidefinite = True

    def __call__(self, X, Y):
        return X @ Y.T


@each("inner", [operator.add, operator.mul])
@each("outer", [operator.add, operator.mul])
@each("third", [GAPS, 0.3, 2, 0])
def test_values_are_sums_and_products(inner, outer, third):
    kernel = outer(third, inner(PAIRS, StringKernel("substrings")))
    K, L = PAIRS(WORDS), StringKernel("substrings")(WORDS)
    M = third(WORDS) if isinstance(third, Kernel) else third
    expected = outer(M, inner(K, L))
    assert_array_equal(kernel(WORDS), expected)
    assert_array_equal(kernel(WORDS, WORDS[:3]), kernel(WORDS[:3], WORDS).T)
    assert_array_equal(kernel.diagonal(WORDS), np.diagonal(expected))
    assert kernel.positive_semidefinite
    assert is_positive_semidefinite(kernel(WORDS))


def test_kernels_of_rows_of_numbers():
    X = np.random.default_rng(0).integers(-9, 10, size=(9, 3)) / 8  # no sum of products is rounded
    kernel = Dot() * Dot() + 1
    assert_array_equal(kernel(X), (X @ X.T) ** 2 + 1)
    assert_array_equal(kernel.diagonal(X), np.diagonal((X @ X.T) ** 2 + 1))
    y = X[:, 0] > 0
    one = SVC(kernel=kernel).fit(X, y)
    other = SVC(kernel=lambda A, B: (A @ B.T) ** 2 + 1).fit(X, y)
    assert_array_equal(one.decision_function(X), other.decision_function(X))


class Lengths(Kernel):
    """The product of the lengths of strings that another kernel has encoded."""

    def __call__(self, X, Y):
        return np.outer(X.lengths(), Y.lengths())


@pytest.mark.parametrize("kernel", [PAIRS + Lengths(), Lengths() * 1 + PAIRS])
def test_one_of_the_kernels_encodes_the_samples(kernel):
    sizes = np.array([len(word) for word in WORDS])
    expected = PAIRS(WORDS) + np.outer(sizes, sizes)
    assert_array_equal(kernel(kernel.encode(WORDS)), expected)
    assert_array_equal(kernel(WORDS[:3], WORDS), expected[:3])
    assert_array_equal(kernel.diagonal(WORDS), np.diagonal(expected))
    model, given = SVC(kernel=kernel), SVC(kernel="precomputed")
    found = model.fit(WORDS, LABELS).decision_function(WORDS)
    given.fit(expected, LABELS)
    assert_allclose(found, given.decision_function(expected), rtol=1e-12)


def test_what_is_not_known_of_a_part_is_not_known_of_the_whole():
    class Unknown(Dot):
        positive_semidefinite = None

    assert (Dot() + Unknown()).positive_semidefinite is None
    assert (Dot() * Dot()).positive_semidefinite is True


def test_models_searches_and_files(tmp_path):
    kernel = PAIRS + 0.5 * GAPS
    model = SVC(kernel=kernel).fit(WORDS, LABELS)
    values = model.decision_function(WORDS)
    precomputed = SVC(kernel="precomputed").fit(kernel(WORDS), LABELS)
    assert np.abs(precomputed.decision_function(kernel(WORDS)) - values).max() < 1e-3  # tol
    mlcore.save(model, tmp_path / "model")
    for again in (mlcore.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.decision_function(WORDS), values)
    grid = {"kernel__first__length": [1, 2], "kernel__second__second__decay": [0.3, 0.9]}
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=2).fit(WORDS, LABELS)
    assert search.best_score_ >= 0.75
    assert KernelPCA(n_components=2, kernel=kernel).fit_transform(WORDS).shape == (8, 2)


def test_repr_shows_both_parts():
    assert repr(PAIRS + 1) == "SumKernel(first=StringKernel(length=2), second=1)"
    assert (PAIRS * GAPS + 1).name == "((StringKernel * StringKernel) + 1)"


REFUSED = {
    "a name": (lambda: SumKernel("rbf", PAIRS), TypeError, "first='rbf' is of type str"),
    "a function": (lambda: SumKernel(PAIRS, len), TypeError, "second=.*len.*a Kernel or a number"),
    "negative": (lambda: -1 * PAIRS, ValueError, r"first=-1"),
    "infinite": (lambda: PAIRS + np.inf, ValueError, "second=inf"),
    "no kernel": (lambda: ProductKernel(1, 2), TypeError, "first and second are numbers"),
    "None": (lambda: ProductKernel(PAIRS, None), TypeError, "second=None"),
}


@each("name", REFUSED)
def test_what_is_no_kernel_is_refused(name):
    make, error, pattern = REFUSED[name]
    with pytest.raises(error, match=pattern):
        make()(WORDS)


def test_operators_of_other_objects_are_refused():
    for other in ("rbf", None, [1], len):
        with pytest.raises(TypeError, match=re.escape("unsupported operand")):
            PAIRS + other
