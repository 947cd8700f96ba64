"""Kernels that the user gives, as a function or as a matrix."""

import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from contract import (
    DEGENERACY,
    NAN,
    UsersError,
    answers,
    case,
    fitted,
    methods,
    only,
    raising,
    refuses,
    searched,
    well_solved,
    without_gamma,
)


def plain_rbf(A, B):
    return np.exp(-0.3 * ((np.asarray(A)[:, None] - np.asarray(B)[None]) ** 2).sum(axis=2))


@only(lambda entry: entry.kernel and entry.make is not searched)
def test_callable_and_precomputed_kernels_agree_with_rbf(entry, data):
    X, y = data
    rbf = well_solved(entry, gamma=0.3).set_params(kernel=entry.kernel_of_X("rbf")).fit(X, y)
    called = well_solved(entry).set_params(kernel=entry.kernel_of_X(plain_rbf)).fit(X, y)
    precomputed = well_solved(entry).set_params(kernel=entry.kernel_of_X("precomputed"))
    given = precomputed.fit(plain_rbf(X, X), y)
    names = [method.__name__ for method in methods(rbf)]
    found = (answers(rbf, X), answers(called, X), answers(given, plain_rbf(X, X)))
    for name, expected, one, two in zip(names, *found, strict=True):
        if expected.dtype.kind == "f":
            assert_allclose(one, expected, atol=1e-4)
            # The held-out folds behind probabilities differ: only samples are sorted by class.
            assert name == "predict_proba" or np.allclose(two, expected, atol=1e-4)


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "coo_array"])
@only(lambda entry: entry.kernel)
def test_sparse_values_of_a_kernel_are_those_of_the_dense(form, entry, data):
    X, y = data
    model = without_gamma(entry)
    dense = model.set_params(kernel=entry.kernel_of_X(plain_rbf)).fit(X, y)
    expected = answers(dense, X)
    values = entry.kernel_of_X(lambda A, B: getattr(sp, form)(plain_rbf(A, B)))
    model.set_params(kernel=values).fit(X, y)
    for found, same in zip(answers(model, X), expected, strict=True):
        assert_array_equal(found, same)


def spoiled_kernel(A, B):
    K = plain_rbf(A, B)
    K[0, 0] = NAN
    return K


BAD_KERNELS = {
    "NaN": (spoiled_kernel, ValueError, "spoiled_kernel.*(NaN|not finite|non-finite)"),
    "infinity": (lambda A, B: plain_rbf(A, B) / 0.0, ValueError, "kernel.*(inf|finite)"),
    "wrong shape": (lambda A, B: plain_rbf(A, B)[:, :-1], ValueError, "kernel.*shape"),
    "1-D": (lambda A, B: plain_rbf(A, B)[0], ValueError, "kernel.*shape"),
    "complex": (lambda A, B: plain_rbf(A, B) + 1j, (TypeError, ValueError), "kernel.*complex"),
    "text": (lambda A, B: plain_rbf(A, B).astype(str), (TypeError, ValueError), "kernel.*<U"),
    "None": (lambda A, B: None, (TypeError, ValueError), "kernel.*(None|object)"),
    "sparse NaN": (lambda A, B: sp.csr_array(spoiled_kernel(A, B)), ValueError, "kernel.*NaN"),
    "sparse shape": (lambda A, B: sp.coo_array((10**9, 10**9)), ValueError, "kernel.*shape"),
    "sparse complex": (
        lambda A, B: sp.csr_array(plain_rbf(A, B) + 1j),
        (TypeError, ValueError),
        "kernel.*complex",
    ),
    "wrong arguments": (lambda A: A, TypeError, "positional argument"),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@only(lambda entry: entry.kernel)
def test_bad_kernel_functions_are_named(entry, data):
    X, y = data
    for what, (kernel, error, message) in BAD_KERNELS.items():
        model = without_gamma(entry).set_params(kernel=entry.kernel_of_X(kernel))
        with case(what), pytest.raises(error, match=message):
            model.fit(X, y)


@only(lambda entry: entry.kernel)
def test_the_users_own_exception_passes_unchanged(entry, data):
    X, y = data
    with pytest.raises(UsersError, match="^mine$"):
        without_gamma(entry).set_params(kernel=entry.kernel_of_X(raising)).fit(X, y)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda K: K[:, :-1], "square"),
        (lambda K: K * NAN, "NaN"),
        (lambda K: K[:-1], "square|sampl"),
    ],
)
@only(lambda entry: entry.kernel)
def test_wrong_precomputed_kernels_are_refused(spoil, message, entry, data):
    X, y = data
    model = without_gamma(entry).set_params(kernel=entry.kernel_of_X("precomputed"))
    refuses(lambda: model.fit(spoil(plain_rbf(X, X)), y), ValueError, message)


@pytest.mark.parametrize("kind", ["asymmetric", "indefinite"])
@only(lambda entry: entry.kernel)
def test_kernels_that_are_none_end_with_a_warning(kind, entry, data):
    X, y = data
    K = np.random.default_rng(3).normal(size=(len(X), len(X)))
    if kind == "indefinite":
        K = K + K.T
    model = without_gamma(entry).set_params(kernel=entry.kernel_of_X("precomputed"))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            model.fit(K, y)
        except ValueError as error:
            assert re.search(DEGENERACY, str(error)), error
    told = "symmetric|semidefinite|definite|converge"
    assert any(re.search(told, str(warning.message)) for warning in seen)
    if fitted(model):
        assert all(np.isfinite(a).all() for a in answers(model, K) if a.dtype.kind == "f")


@only(lambda entry: entry.kernel)
def test_chi2_needs_values_of_at_least_zero(entry, data):
    X, y = data
    model = without_gamma(entry).set_params(kernel=entry.kernel_of_X("chi2"))
    refuses(lambda: model.fit(X, y), ValueError, "Negative values in data passed as X.*chi2")
    model.fit(np.abs(X), y)
    for method in methods(model):
        refuses(lambda m=method: m(X), ValueError, "Negative values in data passed as X.*chi2")


@only(lambda entry: entry.kernel)
def test_sparse_matrices_of_kernel_values_are_refused(entry, data):
    X, y = data
    model = without_gamma(entry).set_params(kernel=entry.kernel_of_X("precomputed"))
    with pytest.raises(TypeError, match=r"Sparse precomputed kernel values .* use X.toarray"):
        model.fit(sp.csr_array(plain_rbf(X, X)), y)


def letters(words):
    return np.array([[word.count(c) for c in "abcd"] for word in words], dtype=float)


def words_of(X):
    """Strings with as many letters of each kind as these columns say, within 9."""
    counts = np.clip(np.round(2 * X + 4), 0, 9).astype(int)
    return np.array(
        ["".join(c * int(m) for c, m in zip("abcd", row, strict=True)) for row in counts]
    )


def near_words(A, B):
    assert isinstance(A[0], str)
    return plain_rbf(letters(A) / 5, letters(B) / 5)


@pytest.mark.parametrize("form", [list, np.array, lambda words: np.array(words, dtype=object)])
@only(lambda entry: entry.kernel and entry.make is not searched)
def test_strings_are_samples_of_a_function(form, entry, data):
    words = words_of(data[0][:, :4])
    X, y = letters(words) / 5, data[1]
    model = well_solved(entry).set_params(kernel=entry.kernel_of_X(near_words)).fit(form(words), y)
    numbers = well_solved(entry, gamma=0.3).set_params(kernel=entry.kernel_of_X("rbf")).fit(X, y)
    for method in methods(model):
        expected = getattr(numbers, method.__name__)(X)
        # The held-out folds behind probabilities differ: only rows of numbers are told apart.
        if expected.dtype.kind == "f" and method.__name__ != "predict_proba":
            assert_allclose(method(form(words)), expected, atol=1e-4)
    again = pickle.loads(pickle.dumps(model))
    for one, other in zip(methods(again), methods(model), strict=True):
        assert_array_equal(one(form(words)), other(words))
    assert model.n_features_in_ == 1
    with pytest.raises(TypeError, match="X holds numbers, but .* was fitted to other objects"):
        methods(model)[0](X)
    with pytest.raises((TypeError, ValueError), match="X"):
        methods(numbers)[0](form(words))
