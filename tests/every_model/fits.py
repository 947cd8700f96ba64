"""Fits of every model in every layout that its files may have: dense, sparse, encoded, in parts."""

import warnings

import numpy as np
import pandas as pd
from scipy import sparse as sp

from contract import MODELS, labels, sparse_samples, two_labels
from mlcore import online
from mlcore.blocks import fit_blocks, row_blocks
from mlcore.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMedoids
from mlcore.decomposition import PCA, KernelPCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.estimator.mixins import Classifier
from mlcore.kernel_ridge import KernelRidge
from mlcore.kernels import (
    FisherVectors,
    GramCenterer,
    ProductKernel,
    PyramidMatch,
    StringKernel,
    SumKernel,
    WordCounts,
)
from mlcore.linear_model import LinearRegression, LogisticRegression
from mlcore.mixture import GaussianMixture
from mlcore.naive_bayes import CategoricalNB, MixedNB
from mlcore.svm import SVC

STRINGS = ["ab", "abc", "bc", "cab", "abba", "cc", "abab", "bca", "cabab", "ac", "b", "acb", "bbc"]
TOKENS = [list(text) for text in STRINGS]


def sets():
    return [np.random.default_rng(i).random((2 + i % 3, 2)) for i in range(len(STRINGS))]


def few_targets(entry):
    y = entry.targets(entry.draw())
    return None if y is None else y[: len(STRINGS)]


def with_kernel(entry, kernel, X, y):
    return entry.make().set_params(kernel=entry.kernel_of_X(kernel)).fit(X, y)


def dense(entry):
    return entry.fit()


def wide(entry):
    X = entry.draw(37, 7).astype(np.float32)
    return entry.make().fit(X, entry.targets(X.astype(np.float64)))


def frame(entry):
    X = entry.draw()
    return entry.make().fit(pd.DataFrame(X, columns=list("abcd")), entry.targets(X))


def sparse(entry):
    X = sparse_samples(entry)
    return entry.make().fit(sp.csr_array(X), entry.targets(X)) if entry.sparse else None


def sparse_single(entry):
    X = sparse_samples(entry)
    single = sp.csr_matrix(X.astype(np.float32))
    return entry.make().fit(single, entry.targets(X)) if entry.sparse else None


def weighted(entry):
    """Every third row has no weight."""
    X = entry.draw()
    weight = np.arange(len(X)) % 3 * 0.5
    return entry.make().fit(X, entry.targets(X), sample_weight=weight) if entry.weights else None


def two_classes(entry):
    X = entry.draw()
    return entry.make().fit(X, two_labels(X)) if entry.targets is labels else None


def one_class(entry):
    X = entry.draw()
    return entry.make().fit(X, np.zeros(len(X))) if entry.one_class else None


def one_target(entry):
    X = entry.draw()
    return entry.make().fit(X, X[:, :1]) if entry.several_targets else None


def several_targets(entry):
    X = entry.draw()
    y = np.c_[X[:, 0], X[:, 1], X[:, 0] ** 2]
    return entry.make().fit(X, y) if entry.several_targets else None


def constant_column(entry):
    X = entry.draw()
    X[:, 1] = 1
    return entry.make().fit(X, entry.targets(X))


def missing(entry):
    params = entry.make().get_params()
    if "missing" not in params or params.get("covariance_type", "diag") != "diag":
        return None
    X = entry.draw()
    y = entry.targets(X)
    X[::7, 1] = np.nan
    return entry.make().set_params(missing="ignore").fit(X, y)


def of_strings(entry):
    kernel = StringKernel("substrings", min_length=1)
    return with_kernel(entry, kernel, STRINGS, few_targets(entry)) if entry.kernel else None


def of_tokens(entry):
    kernel = StringKernel("substrings", min_length=1)
    return with_kernel(entry, kernel, TOKENS, few_targets(entry)) if entry.kernel else None


def of_sets(entry):
    return with_kernel(entry, PyramidMatch(), sets(), few_targets(entry)) if entry.kernel else None


def linear(entry):
    X = entry.draw()
    return with_kernel(entry, "linear", X, entry.targets(X)) if entry.kernel else None


def linear_sparse(entry):
    X = entry.draw()
    y = entry.targets(X)
    return with_kernel(entry, "linear", sp.csr_array(X), y) if entry.kernel else None


def precomputed(entry):
    X = entry.draw()
    K = X @ X.T + np.eye(len(X))
    return with_kernel(entry, "precomputed", K, entry.targets(X)) if entry.kernel else None


def parts(entry, step=20, stop=60):
    model, X = entry.make(), entry.draw()
    if not hasattr(model, "partial_fit"):
        return None
    y = entry.targets(X)
    for start in range(0, stop, step):
        rows = slice(start, start + step)
        how = {"classes": np.unique(y)} if isinstance(model, Classifier) and start == 0 else {}
        model.partial_fit(X[rows], *(() if y is None else (y[rows],)), **how)
    return model


def few_rows(entry):
    """So few that some models only keep them."""
    return parts(entry, 3, 3)


def blocks(entry):
    model, X = entry.make(), entry.draw()
    if not hasattr(model, "begin") or getattr(model, "l1_ratio", 0) or entry.several_targets:
        return None
    y = entry.targets(X)
    return fit_blocks(model, row_blocks(X, *(() if y is None else (y,)), block_size=20))


LAYOUTS = (
    dense, wide, frame, sparse, sparse_single, weighted, two_classes, one_class, one_target,
    several_targets, constant_column, missing, of_strings, of_tokens, of_sets, linear,
    linear_sparse, precomputed, parts, few_rows, blocks,
)  # fmt: skip


def rows():
    return MODELS["SVC"].draw()


def distances():
    X = rows()
    return np.abs(X[:, None] - X).sum(axis=2)


def begun(model):
    """As it is before the first pass over blocks."""
    return model.begin(rows(), labels(rows()))


def online_to_batch():
    X = np.abs(rows()) > 0.5
    learner = online.OnlineToBatch(online.Winnow(4), selection="random", random_state=0)
    return learner.fit(X, X[:, 0])


def mixed():
    X = np.c_[rows(), np.arange(60) % 3, np.arange(60) % 2]
    columns = {"gaussian": [0, 1, 2, 3], "categorical": [4], "bernoulli": [5]}
    return MixedNB(columns=columns).fit(X, labels(X))


def covariances():
    return [np.eye(4), 2 * np.eye(4)], [np.zeros(4), np.ones(4)]


def after_a_pass(model, X):
    """As it is between the passes over blocks."""
    y = two_labels(X)
    model.begin(X, y)
    return model.update(model.partial_statistics(X, y))


def nearly_flat():
    """A spectrum whose end the sums of squares have lost."""
    return rows() * [1, 1, 1e-7, 1e-8]


def lasso():
    X = rows()
    return LogisticRegression(l1_ratio=1).fit(X, labels(X)).sparsify()


def gauss_of_parameters():
    sigma, means = covariances()
    return GaussianMixture.from_parameters([0.5, 0.5], means, sigma)


MORE_FITS = {
    "StringKernel": lambda: StringKernel().fit(STRINGS),
    "StringKernel-tokens": lambda: StringKernel().fit(TOKENS),
    "PyramidMatch": lambda: PyramidMatch().fit(sets()),
    "SumKernel": lambda: SVC(kernel=SumKernel(StringKernel(), StringKernel("gapped"))).fit(
        STRINGS, np.arange(13) % 2
    ),
    "ProductKernel": lambda: SVC(kernel=ProductKernel(StringKernel(), 2.0)).fit(
        STRINGS, np.arange(13) % 2
    ),
    "WordCounts": lambda: WordCounts().fit(["one two", "two three"]),
    "GramCenterer": lambda: GramCenterer().fit(rows() @ rows().T),
    "FisherVectors-sets": lambda: FisherVectors(
        GaussianMixture(2, covariance_type="diag", random_state=0)
    ).fit([rows(), rows() + 1]),
    "Hedge": lambda: online.Hedge(3, horizon=5).fit([None] * 5, np.eye(5, 3)),
    "WeightedMajority": lambda: online.WeightedMajority(4).fit(rows()[:5] > 0, [0, 1, 1, 0, 1]),
    "Winnow": lambda: online.Winnow(4).fit(rows()[:5] > 0, [1, 1, 1, 1, 1]),
    "Halving": lambda: online.Halving(np.eye(4, dtype=bool)).fit([0, 1], [0, 0]),
    "StandardOptimalAlgorithm": lambda: online.StandardOptimalAlgorithm(np.eye(4, dtype=bool)).fit(
        [0, 1], [0, 0]
    ),
    "OnlineGradientDescent": lambda: online.OnlineGradientDescent(horizon=60, lipschitz=9).fit(
        rows(), np.sign(rows()[:, 0])
    ),
    "OnlineToBatch": online_to_batch,
    "MixedNB-kinds": mixed,
    "CategoricalNB-reserve": lambda: CategoricalNB(unseen="reserve", alpha=0).fit(
        [["a"], ["b"], ["a"]], [0, 1, 1]
    ),
    "LogisticRegression-sparse": lasso,
    "WidrowHoff-several": lambda: online.WidrowHoff().fit(rows(), rows()[:, :2]),
    "GaussianMixture-parameters": gauss_of_parameters,
    "KMedoids-precomputed": lambda: KMedoids(3, metric="precomputed", random_state=0).fit(
        distances()
    ),
    "AgglomerativeClustering-threshold": lambda: AgglomerativeClustering(
        None, distance_threshold=1.0, linkage="single"
    ).fit(rows()),
    "DBSCAN-none": lambda: DBSCAN(1e-9).fit(rows()),
    "HDBSCAN-centers": lambda: HDBSCAN(3, store_centers="both").fit(rows()),
    "HDBSCAN-none": lambda: HDBSCAN(2, min_samples=1, store_centers="both").fit(rows()[:1]),
    "HDBSCAN-precomputed": lambda: HDBSCAN(3, metric="precomputed").fit(distances()),
    "HDBSCAN-root": lambda: HDBSCAN(3, allow_single_cluster=True).fit(rows()),
    "AgglomerativeClustering-two": lambda: AgglomerativeClustering(1).fit(rows()[:2]),
    "KernelPCA-inverse": lambda: KernelPCA(2, fit_inverse_transform=True).fit(rows()),
    "KernelRidge-linear": lambda: KernelRidge(fit_intercept=True).fit(rows(), rows()[:, 0]),
    "PCA-begun": lambda: begun(PCA(2)),
    "LinearDiscriminantAnalysis-begun": lambda: begun(LinearDiscriminantAnalysis()),
    "QuadraticDiscriminantAnalysis-begun": lambda: begun(QuadraticDiscriminantAnalysis()),
    "LinearRegression-begun": lambda: LinearRegression().begin(rows(), rows()[:, :2]),
    "LogisticRegression-begun": lambda: begun(LogisticRegression()),
    "PCA-pass": lambda: after_a_pass(PCA(4), nearly_flat()),
    "LogisticRegression-newton-pass": lambda: after_a_pass(LogisticRegression(), rows()),
    "LogisticRegression-lbfgs-pass": lambda: after_a_pass(
        LogisticRegression(solver="lbfgs"), rows()
    ),
    "LinearDiscriminantAnalysis-auto-parts": lambda: LinearDiscriminantAnalysis(
        shrinkage="auto"
    ).partial_fit(rows(), labels(rows())),
}


def all_fits(entry):
    """Yield the names of layouts that a model of the contract has, and its fits."""
    for layout in LAYOUTS:
        with warnings.catch_warnings():  # of few samples, constant columns and the like
            warnings.simplefilter("ignore")
            model = layout(entry)
        if model is not None:
            yield layout.__name__, model
