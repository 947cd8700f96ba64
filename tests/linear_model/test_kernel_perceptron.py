"""The kernel perceptron is the perceptron in the kernel's feature space."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mlcore.datasets import load_digits, load_iris
from mlcore.kernels import Kernel, gram_matrix, polynomial_features
from mlcore.linear_model import KernelPerceptron, Perceptron
from mlcore.linear_model.perceptron import kernel_perceptron

INTEGERS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(4, 12), st.integers(1, 3)),
    elements=st.integers(-4, 4).map(float),
)


@given(INTEGERS, st.integers(2, 4), st.booleans(), st.booleans(), st.integers(1, 4))
@settings(max_examples=20)
def test_of_the_linear_kernel_it_is_the_perceptron(X, c, intercept, average, max_iter):
    # All sums are exact.
    codes = np.arange(len(X)) * 7 % c
    how = {"max_iter": max_iter, "fit_intercept": intercept, "average": average}
    primal = Perceptron(**how).fit(X, codes)
    dual = KernelPerceptron(kernel="linear", **how).fit(X, codes)
    assert_array_equal(dual.mistake_trace_, primal.mistake_trace_)
    assert_allclose(dual.dual_coef_ @ dual.support_vectors_, primal.coef_, rtol=0, atol=1e-13)
    assert_allclose(dual.intercept_, primal.intercept_, rtol=0, atol=1e-13)
    assert dual.radius_ == pytest.approx(primal.radius_)
    assert dual.margin_ == pytest.approx(primal.margin_, abs=1e-12)
    assert dual.mistakes_ <= dual.mistake_bound_
    if not average:
        assert dual.mistake_bound_ == pytest.approx(primal.mistake_bound_)
        assert_array_equal(dual.dual_coef_, np.round(dual.dual_coef_))


def test_of_a_polynomial_kernel_it_is_the_perceptron_of_monomials():
    X, y = load_iris()
    X = np.round(4 * X) / 4
    features = polynomial_features(X, 2, coef0=1.0)
    primal = Perceptron(fit_intercept=False, max_iter=5).fit(features, y)
    dual = KernelPerceptron(
        kernel="poly", degree=2, gamma=1.0, coef0=1.0, fit_intercept=False, max_iter=5
    ).fit(X, y)
    assert_array_equal(dual.mistake_trace_, primal.mistake_trace_)
    assert_allclose(
        dual.decision_function(X), primal.decision_function(features), rtol=1e-9, atol=1e-6
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_are_those_of_the_definition(n_classes):
    X, y = load_iris()
    order = np.random.default_rng(0).permutation(len(X))[:60]
    X, y = X[order], y[order] % n_classes
    K = gram_matrix(X, kernel="rbf", gamma=0.7) + 1
    A, trace, signs = np.zeros((len(X), n_classes)), [], np.eye(n_classes)
    for _ in range(3):
        trace.append(0)
        for i, label in enumerate(y):
            scores = K[i] @ A
            others = np.where(np.arange(n_classes) == label, -np.inf, scores)
            if scores[label] <= others.max():
                A[i] += signs[label] - signs[others.argmax()]
                trace[-1] += 1
    model = KernelPerceptron(gamma=0.7, max_iter=3).fit(X, y)
    assert model.mistake_trace_.tolist() == trace
    expected = A.T if n_classes > 2 else (A[:, 1:] - A[:, :1]).T / 2
    assert_array_equal(model.support_, np.flatnonzero(A.any(axis=1)))
    assert_array_equal(model.dual_coef_, expected[:, model.support_])
    found = np.atleast_2d(model.decision_function(X).T)
    assert_allclose(found, expected @ K, rtol=1e-10, atol=1e-10)


def test_rows_that_are_not_kept_are_computed_again(monkeypatch):
    X, y = load_digits()
    X, y = X[:300], y[:300]
    whole = KernelPerceptron(max_iter=4).fit(X, y)
    monkeypatch.setattr(kernel_perceptron, "_KEPT_BYTES", 7 * 8 * 304)
    few = KernelPerceptron(max_iter=4).fit(X, y)
    assert_array_equal(few.mistake_trace_, whole.mistake_trace_)
    assert_array_equal(few.dual_coef_, whole.dual_coef_)


@each("form", [np.asarray, sparse.csr_array, "words"])
@each("average", [False, True])
def test_blocks_and_single_rounds_are_one_epoch(form, average):
    X, y = load_iris()
    order = np.random.default_rng(0).permutation(len(X))[:80]
    X, y = X[order], y[order]
    how = {"gamma": 0.5, "average": average}
    if form == "words":
        X = np.array(["".join("abcd"[j] * int(4 * x) for j, x in enumerate(row)) for row in X])
        how["kernel"] = shared_letters
    else:
        X = form(X)
    whole = KernelPerceptron(max_iter=1, **how).fit(X, y)
    blocks = KernelPerceptron(**how).partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    blocks.partial_fit(X[30:79], y[30:79])
    last = X[[79]] if sparse.issparse(X) else X[79]
    predicted, before = blocks.predict_one(last), blocks.mistakes_
    blocks.update(last, y[79])
    if not average:
        assert blocks.mistakes_ - before == (predicted != y[79])
    assert_array_equal(blocks.support_, whole.support_)
    assert_allclose(blocks.dual_coef_, whole.dual_coef_, rtol=1e-12, atol=1e-12)
    assert (blocks.mistakes_, blocks.n_rounds_) == (whole.mistakes_, 80)
    assert blocks.radius_ == whole.radius_
    assert_array_equal(blocks.predict(X), whole.predict(X))


def shared_letters(A, B):
    counts = [np.array([[word.count(c) for c in "abcd"] for word in words]) for words in (A, B)]
    return counts[0] @ counts[1].T / 16.0


def test_a_sparse_round_joins_dense_ones():
    X, y = load_iris()
    model = KernelPerceptron(gamma=0.5).partial_fit(X[::10], y[::10])
    other = KernelPerceptron(gamma=0.5).partial_fit(X[::10], y[::10])
    model.partial_fit(sparse.csr_array(X[1::10]), y[1::10])
    other.partial_fit(X[1::10], y[1::10])
    assert_array_equal(model.dual_coef_, other.dual_coef_)


def test_a_precomputed_kernel_takes_no_further_rows():
    X, y = load_iris()
    K = gram_matrix(X, kernel="rbf", gamma=0.5)
    given = KernelPerceptron(kernel="precomputed", max_iter=3).fit(K, y)
    named = KernelPerceptron(gamma=0.5, max_iter=3).fit(X, y)
    assert_array_equal(given.dual_coef_, named.dual_coef_)
    assert_array_equal(given.predict(K), named.predict(X))
    with pytest.raises(ValueError, match="partial_fit needs a kernel"):
        given.partial_fit(K, y)


def test_the_gaussian_kernel_separates_digits_within_the_bound():
    X, y = load_digits()
    X, y = X[:500] / 16, y[:500] == 8
    model = KernelPerceptron(gamma=0.05).fit(X, y)
    assert model.converged_ and model.score(X, y) == 1
    # Within rounding, the norm of f in the feature space is that of its coefficients.
    K = gram_matrix(X[model.support_], kernel="rbf", gamma=0.05) + 1
    (a,) = model.dual_coef_
    scores = np.where(y, 1, -1) * model.decision_function(X)
    assert model.margin_ == pytest.approx(scores.min() / np.sqrt(a @ K @ a))
    assert model.mistakes_ <= model.mistake_bound_ == pytest.approx(2 / model.margin_**2)


class SharedWords(Kernel):
    positive_semidefinite = True

    def encode(self, X):
        return np.array([[frozenset(text.split())] for text in X], dtype=object)

    def __call__(self, X, Y):
        return [[len(x & y) for y in Y[:, 0]] for x in X[:, 0]]


def test_a_kernel_of_ones_own_takes_strings():
    texts = ["a red apple", "red cherries", "a green lime", "green grapes", "one red car"]
    y = ["red", "red", "green", "green", "red"]
    model = KernelPerceptron(kernel=SharedWords()).fit(texts, y)
    assert model.converged_ and model.predict(texts).tolist() == y
    assert model.predict_one("a green car and green leaves") == "green"
    rounds = 5 * model.n_iter_
    assert model.update("red and green and green", "red").n_rounds_ == rounds + 1
    assert model.mistakes_ <= model.bound(margin=0.1)


@pytest.mark.parametrize("seed", [620, 1387, 1816, 2093])
def test_margins_of_rounding_are_no_convergence(seed):
    """The rows differ by 1e-8 of the constant that stands for the intercept."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(24, 2))
    X, y = (Z + 1) * 1e-8, (Z @ rng.normal(size=2) > 0).astype(int)
    model = KernelPerceptron(kernel="linear", max_iter=60).fit(X, y)
    assert model.mistake_trace_[-1] == 0 and model.score(X, y) < 1
    assert not model.converged_
    near = KernelPerceptron(kernel="linear", max_iter=500).fit(X * 1e8, y)
    assert near.converged_ == (near.mistake_trace_[-1] == 0)
