"""Models with a kernel take raw strings, alone, in pipelines and in searches."""

import pickle
import random

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

import mlcore
from contract import case
from mlcore.cluster import KernelKMeans
from mlcore.decomposition import KernelCCA, KernelPCA
from mlcore.kernel_ridge import KernelRidge, KernelRidgeCV, NystroemRidge
from mlcore.kernels import PyramidMatch, StringKernel
from mlcore.linear_model import KernelPerceptron
from mlcore.svm import SVC, SVCCV, SVR, NuSVC, OneClassSVM

KINDS = ("spectrum", "substrings", "gapped")


def words(n, seed):
    """Words of two languages: of "abab..." and of "cdcd...", with errors."""
    rng = random.Random(seed)
    y = np.array([rng.randrange(2) for _ in range(n)])
    pairs = ("ab", "cd")
    X = [
        "".join(
            rng.choice("abcd") if rng.random() < 0.2 else pairs[label][j % 2]
            for j in range(rng.randrange(4, 15))
        )
        for label in y
    ]
    return X, y


X, Y = words(60, 0)
Z, TRUTH = words(25, 1)
MODELS = {
    "SVC": lambda kernel: SVC(kernel=kernel, tol=1e-8),
    "NuSVC": lambda kernel: NuSVC(kernel=kernel, tol=1e-8),
    "SVR": lambda kernel: SVR(kernel=kernel, tol=1e-8),
    "OneClassSVM": lambda kernel: OneClassSVM(kernel=kernel, tol=1e-8),
    "SVCCV": lambda kernel: SVCCV(kernel=kernel, Cs=(0.1, 1.0), tol=1e-8),
    "KernelRidge": lambda kernel: KernelRidge(kernel=kernel),
    "KernelPCA": lambda kernel: KernelPCA(n_components=2, kernel=kernel),
    "KernelKMeans": lambda kernel: KernelKMeans(n_clusters=2, kernel=kernel, random_state=0),
    "KernelPerceptron": lambda kernel: KernelPerceptron(kernel=kernel),
}


def answer(model, samples):
    for name in ("decision_function", "transform", "predict"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(samples))
    raise AssertionError(model)


def shared_tokens(A, B):
    return [[len(set(x) & set(z)) for z in B] for x in A]


_TOKENS = [list("abcdefgh"[i % 3 : i % 3 + 5]) for i in range(12)]
_SETS = np.random.default_rng(0).normal(size=(12, 8, 2))
OF_EQUAL_SIZE = {
    "tokens": (StringKernel(length=2), _TOKENS),
    "numbers": (StringKernel(length=1), [[i % 3, 1, 2, i % 2] for i in range(12)]),
    "sets": (PyramidMatch(side=0.5), _SETS),
    "list of sets": (PyramidMatch(side=0.5), list(_SETS)),
    "sum": (StringKernel(length=2) + StringKernel(length=1), _TOKENS),
    "function": (shared_tokens, _TOKENS),
}


# Each model with samples of half of the kinds.
@pytest.mark.parametrize("name", [*MODELS, "KernelRidgeCV", "NystroemRidge", "KernelCCA"])
def test_samples_of_equal_size_are_one_column(name):
    """Lists of them have the shape of a matrix or of a cube, but are no rows of numbers."""
    for samples in list(OF_EQUAL_SIZE)[len(name) % 2 :: 2]:
        with case(samples):
            check_one_column(name, *OF_EQUAL_SIZE[samples])


def check_one_column(name, kernel, A):
    more = {
        "KernelRidgeCV": lambda kernel: KernelRidgeCV([0.1, 1.0], kernel=kernel),
        "NystroemRidge": lambda kernel: NystroemRidge(kernel=kernel, random_state=0),
        "KernelCCA": lambda kernel: KernelCCA(1, kernel=kernel, alpha=0.1),
        "SVCCV": lambda kernel: SVCCV(kernel=kernel, Cs=(0.1, 1.0), cv=3),
    }
    y = A if name == "KernelCCA" else (np.arange(12) % 3 > 0).astype(int)
    model = (MODELS | more)[name](kernel).fit(A, y)
    assert model.n_features_in_ == 1
    found = answer(model, A)
    for i in (0, 2):  # one sample, and some of them: the same answers
        assert_allclose(answer(model, A[i : i + 1]), found[i : i + 1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "kind"), [(name, KINDS[i % 3]) for i, name in enumerate(MODELS)])
def test_raw_strings_are_as_good_as_their_gram_matrix(name, kind, tmp_path):
    kernel = StringKernel(kind, length=2)
    model = MODELS[name](kernel).fit(X, Y)
    found = answer(model, Z)
    given = MODELS[name]("precomputed").fit(kernel(X), Y)
    pipeline = Pipeline([("kernel", clone(kernel)), ("model", MODELS[name]("precomputed"))])
    # The optimum to 1e-8; components of a Gram matrix to the square root of that.
    assert_allclose(answer(given, kernel(Z, X)), found, atol=1e-6)
    assert_array_equal(answer(pipeline.fit(X, Y), Z), answer(given, kernel(Z, X)))
    assert_array_equal(answer(pickle.loads(pickle.dumps(model)), Z), found)
    mlcore.save(model, tmp_path / "model")
    assert_array_equal(answer(mlcore.load(tmp_path / "model"), Z), found)
    assert_array_equal(answer(model, np.array(Z, object)), found)


@pytest.mark.parametrize("kind", KINDS)
def test_languages_are_told_apart(kind):
    model = SVC(kernel=StringKernel(kind, length=2)).fit(X, np.array(["one", "two"])[Y])
    assert (model.predict(Z) == np.array(["one", "two"])[TRUTH]).mean() >= 0.9


def test_searches_and_cross_validation():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(X, index=range(100, 160))
    pipeline = Pipeline([("kernel", StringKernel()), ("svc", SVC(kernel="precomputed"))])
    grid = {"kernel__kind": KINDS, "kernel__length": [1, 2]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ >= 0.85
    search = GridSearchCV(SVC(kernel=StringKernel()), {"kernel__length": [1, 2]}, cv=3)
    assert search.fit(X, Y).best_score_ >= 0.85
    scores = cross_val_score(SVC(kernel=StringKernel(length=2)), X, Y, cv=4)
    assert_array_equal(scores, cross_val_score(SVC(kernel=StringKernel(length=2)), column, Y, cv=4))


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = SVC(kernel=StringKernel(length=2)).fit(X, Y)
    before = model.decision_function(Z)
    with pytest.raises(TypeError, match=r"X\[59\] is of type NoneType"):
        model.fit([*X[:59], None], Y)
    with pytest.raises(TypeError, match=r"X\[1\] is of type float"):
        model.predict(["ab", 0.5])
    with pytest.raises(ValueError, match="y has 59.*X has 60|60.*59"):
        model.fit(X, Y[:59])
    with pytest.raises(TypeError, match="bytes cannot be compared with samples of str"):
        model.predict([b"ab"])
    assert_array_equal(model.decision_function(Z), before)


def test_the_protocol_of_estimators():
    with pytest.warns(SkipTestWarning, match="string=True"):  # the other checks need vectors
        check_estimator(StringKernel())
    kernel = StringKernel("gapped", length=4, decay=0.25)
    assert repr(clone(kernel)) == repr(kernel)
    tags = kernel.__sklearn_tags__().input_tags
    assert tags.string and not tags.two_d_array
