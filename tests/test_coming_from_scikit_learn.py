"""The page for users of scikit-learn is complete, up to date, and shows what happens."""

import contextlib
import importlib
import importlib.util
import io
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import decomposition as peer_decomposition
from sklearn import discriminant_analysis as peer_discriminant
from sklearn import kernel_ridge as peer_ridge
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import silhouette_samples
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer

import mlcore
from mlcore.decomposition import PCA, KernelPCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.kernel_ridge import KernelRidge

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "coming_from_scikit_learn.md").read_text(encoding="utf-8")
SIDE_BY_SIDE = PAGE.split("## Side by side")[1].split("\n## ")[0]
COMMAND = "python tools/coming_from_scikit_learn.py --write"


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "tools" / "coming_from_scikit_learn.py"
    spec = importlib.util.spec_from_file_location("coming_from_scikit_learn", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def now(tool):
    return tool.tables()


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_tables_are_what_both_packages_say_of_themselves(tool, now):
    start, end = tool.START.format(r"([\d.]+)"), tool.END
    found = re.search(f"{start}(.*?){end}", PAGE, re.DOTALL)
    if found[1] == tool.release():
        assert found[0] == now, f"run `{COMMAND}`"
    # Under another release of scikit-learn: what it has, and only it, stands on the page.
    shown = {(name, row[1]) for row in rows(found[2]) for name in row[0].split(", ")}
    added = {name for name, *_ in rows(found[2].split("What mlcore adds")[1])}
    for row in rows(now.split("Defaults that differ")[0]):
        assert {(name, row[1]) for name in row[0].split(", ")} <= shown, f"run `{COMMAND}`"
    assert {name for name, *_ in rows(now.split("What mlcore adds")[1])} == added


def test_every_difference_has_a_reason(now):
    before = now.split("What mlcore adds")[0]
    assert len(rows(before)) > 15
    assert not [row for row in rows(before) if row[-1] in ("", "None")]


def test_every_public_name_stands_side_by_side():
    for family in (
        "svm",
        "cluster",
        "mixture",
        "decomposition",
        "discriminant",
        "kernel_ridge",
        "linear_model",
        "naive_bayes",
        "kernels",
        "bayes",
        "entropy",
        "datasets",
        "online",
        "pac",
        "row_sums",
    ):
        for name in getattr(mlcore, family).__all__:
            assert re.search(rf"`{name}\b", SIDE_BY_SIDE), f"{family}.{name} is not on the page"
    assert all(f"`{name}`" in SIDE_BY_SIDE for name in ("save", "load"))


@each(
    "family",
    [
        "svm",
        "cluster",
        "mixture",
        "decomposition",
        "discriminant",
        "kernel_ridge",
        "linear_model",
        "naive_bayes",
        "kernels",
        "bayes",
        "datasets",
    ],
)
def test_names_side_by_side_exist(family):
    part = SIDE_BY_SIDE.split(f"**`mlcore.{family}`**")[1].split("\n| **")[0]
    peers = [importlib.import_module(f"sklearn.{name}") for name in PEERS[family]]
    for line in part.splitlines()[1:]:
        theirs, ours = line.split("|")[1:3]
        for name in re.findall(r"`(?:sklearn\.\w+\.)?(\w+)", theirs):
            assert any(hasattr(peer, name) for peer in peers), name
        for name in re.findall(r"`(\w+)", ours):
            assert hasattr(getattr(mlcore, family), name), name


PEER_TESTS = {
    "test_svm": "svm.", "test_sparse": "svm.", "test_k_means": "cluster.",
    "test_spectral": "cluster.", "test_hierarchical": "cluster.",
    "test_gaussian_mixture": "mixture.", "test_pls": "cross_decomposition.",
    "test_pca": "decomposition.", "test_kernel_pca": "decomposition.",
    "test_discriminant_analysis": "", "test_perceptron": "linear_model.",
    "test_logistic": "linear_model.", "test_coordinate_descent": "linear_model.",
    "test_sparse_coordinate_descent": "linear_model.",
    "test_naive_bayes": "",
}  # fmt: skip


def test_scikit_learns_tests_on_the_page_exist():
    found = rows(PAGE.split("own tests\n")[1])
    assert len(found) > 15
    for modules, tests, why in found:
        sources = ""
        for module in re.findall(r"`(\w+)`", modules):
            spec = importlib.util.find_spec(f"sklearn.{PEER_TESTS[module]}tests.{module}")
            sources += Path(spec.origin).read_text(encoding="utf-8")
        names = [name.partition("[")[0] for name in re.findall(r"`(\w\w\w\w[^`]*)`", tests)]
        assert names and why
        for name in names:
            end = r"\w*\(" if name.endswith("*") else r"\("
            assert re.search(f"def test_{name.rstrip('*')}{end}", sources), name


PEERS = {
    "svm": ("svm", "model_selection", "calibration"),
    "cluster": ("cluster", "metrics", "metrics.pairwise", "neighbors"),
    "mixture": ("mixture", "decomposition"),
    "decomposition": ("decomposition", "cross_decomposition"),
    "discriminant": ("discriminant_analysis",),
    "kernel_ridge": ("kernel_ridge", "model_selection"),
    "linear_model": ("linear_model",),
    "naive_bayes": ("naive_bayes", "preprocessing"),
    "kernels": ("metrics.pairwise", "preprocessing", "feature_extraction.text"),
    "bayes": ("model_selection",),
    "datasets": ("datasets",),
}


def test_the_examples_print_what_the_page_shows():
    blocks = [
        re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S) for kind in ("python", "text")
    ]
    names = {"__name__": "__main__"}
    for example, text in zip(*blocks, strict=True):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(example, names)
        assert shown.getvalue() == text


def of_kernels():
    X, Y = np.random.default_rng(0).random((2, 30, 3))
    for name in ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2"):
        gamma = {} if name in ("linear", "cosine") else {"gamma": 0.5}
        found = mlcore.kernels.gram_matrix(X, Y, kernel=name, **gamma)
        yield found, pairwise_kernels(X, Y, metric=name, **gamma)


def of_counts():
    texts = ["one fish two fish", "red fish", "a Red one"]
    found, peer = mlcore.kernels.WordCounts(), CountVectorizer()
    yield found.fit_transform(texts).toarray(), peer.fit_transform(texts).toarray()
    assert list(found.get_feature_names_out()) == list(peer.get_feature_names_out())


def of_centred_kernels():
    X = np.random.default_rng(0).normal(size=(20, 3))
    K, L = X @ X.T, X[:5] @ X.T
    found, peer = mlcore.kernels.GramCenterer().fit(K), KernelCenterer().fit(K)
    yield found.transform(K), peer.transform(K)
    yield found.transform(L), peer.transform(L)
    yield mlcore.kernels.center_gram(K), peer.transform(K)


def of_scores():
    X, y = load_iris(return_X_y=True)
    for metric in ("euclidean", "manhattan"):
        found = mlcore.cluster.silhouette_samples(X, y, metric=metric)
        yield found, silhouette_samples(X, y, metric=metric)
        yield mlcore.cluster.silhouette_score(X, y, metric=metric), found.mean()
    other = np.roll(y, 7)
    for name in (
        "adjusted_rand_score", "adjusted_mutual_info_score", "completeness_score",
        "fowlkes_mallows_score", "homogeneity_score", "mutual_info_score",
        "normalized_mutual_info_score", "v_measure_score",
    ):  # fmt: skip
        yield getattr(mlcore.cluster, name)(y, other), getattr(sklearn.metrics, name)(y, other)
    for name in ("contingency_matrix", "pair_confusion_matrix"):
        peer = getattr(sklearn.metrics.cluster, name)
        yield getattr(mlcore.cluster, name)(y, other), peer(y, other)


def of_regressions():
    X, y = load_iris(return_X_y=True)
    for labels, C in ((y, 1.0), (y == 1, 0.1)):
        found = mlcore.linear_model.LogisticRegression(C=C, tol=1e-10).fit(X, labels)
        peer = LogisticRegression(C=C, tol=1e-10, max_iter=10_000, solver="newton-cg")
        yield found.predict_proba(X), peer.fit(X, labels).predict_proba(X)


def of_data():
    yield from zip(mlcore.datasets.load_iris(), load_iris(return_X_y=True), strict=True)
    X, y = mlcore.datasets.load_digits()
    pixels, labels = load_digits(return_X_y=True)
    yield X, pixels
    yield y, labels


SAME = {  # the first name in each row that says "same"
    "CountVectorizer": of_counts,
    "KernelCenterer": of_centred_kernels,
    "LogisticRegression": of_regressions,
    "load_digits": of_data,
    "pairwise_kernels": of_kernels,
    "sklearn.metrics.adjusted_rand_score": of_scores,
    "sklearn.metrics.cluster.contingency_matrix": of_scores,
    "sklearn.metrics.fowlkes_mallows_score": of_scores,
    "sklearn.metrics.homogeneity_score": of_scores,
    "sklearn.metrics.mutual_info_score": of_scores,
    "sklearn.metrics.silhouette_score": of_scores,
}


def test_every_row_that_says_same_is_compared():
    said = {re.match(r"\W*([\w.]+)", row[0])[1] for row in rows(PAGE) if "same" in row[2:3]}
    assert said == set(SAME)


@pytest.mark.parametrize("name", SAME)
def test_what_is_called_the_same_is_the_same(name):
    for found, expected in SAME[name]():
        assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_linear_discriminants_have_the_same_posteriors():
    X, y = load_iris(return_X_y=True)
    found = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    peer = peer_discriminant.LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(found, peer.predict_proba(X), atol=1e-9)


def test_naive_bayes_by_parts_is_the_whole_fit_as_its_guide_says():
    """Counts exactly, means and variances to rounding."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    for kind in (mlcore.naive_bayes.MultinomialNB, mlcore.naive_bayes.GaussianNB):
        whole, parts = kind().fit(X * 10 // 1, y), kind()
        for part in np.split(order, 5):
            parts.partial_fit(X[part] * 10 // 1, y[part], classes=[0, 1, 2])
        if kind is mlcore.naive_bayes.MultinomialNB:
            assert_array_equal(parts.feature_log_prob_, whole.feature_log_prob_)
        else:
            assert_allclose(parts.theta_, whole.theta_, rtol=1e-14)
            assert_allclose(parts.var_, whole.var_, rtol=1e-12)


# ---- rows that say in what the results are the same

WINE, CULTIVAR = load_wine(return_X_y=True)
EVERY = slice(None, None, 2)
PRIORS = [0.2, 0.3, 0.5]


def rows_of(family):
    """The mlcore name and the remark of each row that claims the same results."""
    part = SIDE_BY_SIDE.split(f"**`mlcore.{family}`**")[1].split("\n| **")[0]
    lines = [line.split(" | ") for line in part.splitlines()[1:] if line.startswith("| `")]
    return {re.search(r"`(\w+)`", row[1])[1]: row[-1] for row in lines if "the same" in row[-1]}


def assert_equal_columns(found, expected, rtol):
    """Up to the signs of the columns."""
    expected = expected * np.sign((found * expected).sum(axis=0))
    assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


def the_same_components():
    peer = peer_decomposition.PCA(3).fit(WINE)
    model = PCA(3).fit(WINE)
    assert_equal_columns(model.components_.T, peer.components_.T, 1e-8)
    assert_equal_columns(model.transform(WINE), peer.transform(WINE), 1e-8)
    assert_allclose(model.explained_variance_, peer.explained_variance_, rtol=1e-9)
    assert_allclose(model.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-9)
    assert_allclose(model.score(WINE), peer.score(WINE), rtol=1e-9)


def the_same_kernel_components():
    how = {"kernel": "rbf", "gamma": 1e-5}
    peer = peer_decomposition.KernelPCA(3, **how).fit(WINE[EVERY])
    model = KernelPCA(3, **how).fit(WINE[EVERY])
    assert_equal_columns(model.transform(WINE), peer.transform(WINE), 1e-6)
    assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-9)


def the_same_posteriors_of_lda():
    for priors in (None, PRIORS):
        peer = peer_discriminant.LinearDiscriminantAnalysis(priors=priors).fit(
            WINE[EVERY], CULTIVAR[EVERY]
        )
        model = LinearDiscriminantAnalysis(priors=priors).fit(WINE[EVERY], CULTIVAR[EVERY])
        assert_allclose(model.predict_proba(WINE), peer.predict_proba(WINE), atol=1e-9)
        ratios = peer.explained_variance_ratio_
        assert_allclose(model.explained_variance_ratio_, ratios, rtol=1e-9)
        assert_equal_columns(model.transform(WINE), peer.transform(WINE), 1e-8)


def the_same_posteriors_of_qda():
    """Equal with `unbiased=False` since scikit-learn 1.9, before it as by default."""
    by_n = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
    for how in ({}, {"priors": PRIORS}, {"reg_param": 0.1}):
        peer = (
            peer_discriminant.QuadraticDiscriminantAnalysis(**how)
            .fit(WINE, CULTIVAR)
            .predict_proba(WINE)
        )
        found = [
            QuadraticDiscriminantAnalysis(unbiased=unbiased, **how)
            .fit(WINE, CULTIVAR)
            .predict_proba(WINE)
            for unbiased in (not by_n, by_n)
        ]
        assert_allclose(found[0], peer, atol=1e-9)
        assert np.abs(found[1] - peer).max() > 1e-6


def the_same_function():
    y = WINE[:, 0] + CULTIVAR
    for how in ({"alpha": 0.5}, {"kernel": "rbf", "gamma": 1e-4, "alpha": 0.1}):
        peer = peer_ridge.KernelRidge(**how).fit(
            WINE[EVERY], y[EVERY], sample_weight=1.0 + CULTIVAR[EVERY]
        )
        model = KernelRidge(**how).fit(WINE[EVERY], y[EVERY], sample_weight=1.0 + CULTIVAR[EVERY])
        assert_allclose(model.predict(WINE), peer.predict(WINE), rtol=1e-6)


THE_SAME = {
    "PCA": the_same_components,
    "KernelPCA": the_same_kernel_components,
    "LinearDiscriminantAnalysis": the_same_posteriors_of_lda,
    "QuadraticDiscriminantAnalysis": the_same_posteriors_of_qda,
    "KernelRidge": the_same_function,
}


@each("name", THE_SAME)
def test_what_is_the_same_is_equal(name):
    THE_SAME[name]()


def test_every_row_that_says_the_same_is_compared():
    said = {
        name
        for family in ("decomposition", "discriminant", "kernel_ridge")
        for name in rows_of(family)
    }
    assert said == set(THE_SAME)
    assert "`unbiased=False`" in rows_of("discriminant")["QuadraticDiscriminantAnalysis"]
