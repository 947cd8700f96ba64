"""Kernel objects of a user: samples that are no matrix, through models, pipelines and searches."""

import pickle
import re

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from mlcore.bounds.certificates.classifier_margins import as_machine
from mlcore.bounds.certificates.training_bounds import Training
from mlcore.cluster import KernelKMeans
from mlcore.kernels import Kernel, gram_matrix
from mlcore.svm import SVC, SVCCV, SVR, NuSVC, NuSVR, OneClassSVM

LETTERS = "abcde"


class Words:
    """Counts of letters, one sample a word; no array, and no dtype."""

    def __init__(self, counts):
        self.counts = counts
        self.shape = (len(counts), 1)

    def __len__(self):
        return len(self.counts)

    def __getitem__(self, rows):
        return Words(self.counts[rows])


class SharedLetters(Kernel):
    """exp(-sum over letters of (how often x has it - how often y has it)² / 8)"""

    positive_semidefinite = True

    def encode(self, X):
        words = list(X)
        for i, word in enumerate(words):
            if not isinstance(word, str):
                raise TypeError(f"X[{i}] is a {type(word).__name__}; a word is needed.")
        return Words(np.array([[word.count(c) for c in LETTERS] for word in words], float))

    def __call__(self, X, Y):
        return np.exp(-((X.counts[:, None] - Y.counts) ** 2).sum(axis=2) / 8)

    def diagonal(self, X):
        return np.ones(len(X))


def words(n, seed=0):
    """Words of two kinds, and which is which."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    shares = np.array([[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.3, 0.3]])
    return ["".join(rng.choice(list(LETTERS), size=9, p=shares[kind])) for kind in y], y


def matrix(A, B):
    kernel = SharedLetters()
    return kernel(kernel.encode(A), kernel.encode(B))


MACHINES = {
    "SVC": lambda kernel: SVC(kernel=kernel, tol=1e-8),
    "NuSVC": lambda kernel: NuSVC(kernel=kernel, nu=0.3, tol=1e-8),
    "SVR": lambda kernel: SVR(kernel=kernel, tol=1e-8),
    "NuSVR": lambda kernel: NuSVR(kernel=kernel, tol=1e-8),
    "OneClassSVM": lambda kernel: OneClassSVM(kernel=kernel, nu=0.3, tol=1e-8),
}


@each("name", MACHINES)
def test_machines_of_words_are_those_of_their_gram_matrix(name):
    X, y = words(90)
    Z, _ = words(40, seed=1)
    model = MACHINES[name](SharedLetters()).fit(X, y)
    given = MACHINES[name]("precomputed").fit(matrix(X, X), y)
    assert_array_equal(model.support_, given.support_)
    assert_allclose(model.dual_coef_, given.dual_coef_, atol=1e-6)
    score = "predict" if name in ("SVR", "NuSVR") else "decision_function"
    found, expected = getattr(model, score)(Z), getattr(given, score)(matrix(Z, X))
    assert_allclose(found, expected, atol=1e-6)
    assert len(model.support_vectors_) == len(model.support_)
    assert_array_equal(getattr(pickle.loads(pickle.dumps(model)), score)(Z), found)
    if name != "OneClassSVM":
        assert model.verify(X, y).duality_gap >= 0


def test_kernel_k_means_of_words_is_that_of_their_gram_matrix():
    X, y = words(90)
    start = np.random.default_rng(0).integers(0, 2, 90)
    model = KernelKMeans(2, kernel=SharedLetters(), init=start).fit(X)
    given = KernelKMeans(2, kernel="precomputed", init=start).fit(matrix(X, X))
    assert_array_equal(model.labels_, given.labels_)
    assert model.inertia_ == pytest.approx(given.inertia_, rel=1e-12)
    Z, _ = words(40, seed=1)
    assert_array_equal(model.predict(Z), given.predict(matrix(Z, X)))
    for init in ("k-means++", "random"):
        drawn = KernelKMeans(2, kernel=SharedLetters(), init=init, random_state=0).fit(X)
        same = KernelKMeans(2, kernel="precomputed", init=init, random_state=0).fit(matrix(X, X))
        assert_array_equal(drawn.labels_, same.labels_)


def test_words_pass_through_pipelines_folds_and_searches():
    X, y = words(120)
    machine = make_pipeline(SVC(kernel=SharedLetters()))
    scores = cross_val_score(machine, X, y, cv=4)
    given = cross_val_score(SVC(kernel="precomputed"), matrix(X, X), y, cv=4)
    assert_allclose(scores, given, rtol=1e-15)
    assert scores.mean() > 0.8
    search = GridSearchCV(machine, {"svc__C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert SVCCV(kernel=SharedLetters(), Cs=[0.1, 1.0], cv=3).fit(X, y).best_score_ > 0.8
    assert clone(machine).fit(X, y).score(X, y) > 0.8
    outliers = make_pipeline(OneClassSVM(kernel=SharedLetters(), nu=0.2)).fit(X)
    assert (outliers.predict(["aaaaaaaaa", "eeeeeeeee"]) == -1).all()


def test_gram_matrix_takes_a_kernel_object():
    X, _ = words(12)
    Z, _ = words(5, seed=1)
    assert_array_equal(gram_matrix(X, kernel=SharedLetters()), matrix(X, X))
    assert_array_equal(gram_matrix(Z, X, kernel=SharedLetters()), matrix(Z, X))


@pytest.mark.parametrize("model", [SVC, KernelKMeans, OneClassSVM])
def test_a_kernel_checks_its_own_samples(model):
    X, y = words(20)
    with pytest.raises(TypeError, match=re.escape("X[3] is a int; a word is needed.")):
        model(kernel=SharedLetters()).fit([*X[:3], 7, *X[4:]], y)
    machine = model(kernel=SharedLetters()).fit(X, y)
    with pytest.raises(TypeError, match="a word is needed"):
        machine.predict([1.0, 2.0])


class Spoiled(SharedLetters):
    def __init__(self, change):
        self.change = change

    def __call__(self, X, Y):
        return self.change(super().__call__(X, Y))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K[:, 1:], r"kernel 'Spoiled' returned shape"),
        (lambda K: np.full_like(K, np.nan), "kernel 'Spoiled' returned NaN"),
    ],
)
def test_what_a_kernel_must_not_return(change, message):
    X, y = words(20)
    with pytest.raises(ValueError, match=message):
        SVC(kernel=Spoiled(change)).fit(X, y)


class Indefinite(SharedLetters):
    positive_semidefinite = None

    def __call__(self, X, Y):
        return np.cos(3 * np.abs(X.counts[:, None] - Y.counts).sum(axis=2))


def test_kernels_that_may_be_indefinite_are_tried():
    X, y = words(30)
    with pytest.warns(UserWarning, match="kernel 'Indefinite' is not positive semi-definite"):
        SVC(kernel=Indefinite()).fit(X, y)


class Products(Kernel):
    """x.y, whose feature space a user does or does not vouch for."""

    def __init__(self, positive_semidefinite):
        self.positive_semidefinite = positive_semidefinite

    def __call__(self, X, Y):
        return X @ Y.T


def test_margin_bounds_need_a_kernel_that_is_known_to_be_an_inner_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int)

    def cosines(kernel):
        model = SVC(kernel=kernel, tol=1e-8).fit(X, y)
        machine = as_machine(model, counted=False)
        return Training(model, X, X, y, model.predict(X), machine).cosines

    assert_allclose(cosines(Products(True)), cosines("linear"), atol=1e-6)
    assert "no kernel with a known k(x, x) and a feature space" in cosines(Products(None))
