"""The models that keep the contract, and what its tests ask of them.

A model joins with one line in MODELS and one in test_protocol.CHECKED; its parameters need a line
each in test_parameters.BAD_PARAMETERS.
"""

import hashlib
import re
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse as sp

from mlcore.bayes import RiskClassifier
from mlcore.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    MiniBatchKMeans,
    ProbabilisticClustering,
    SpectralClustering,
)
from mlcore.decomposition import CCA, PCA, KernelCCA, KernelPCA, NystroemPCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.kernel_ridge import KernelRidge, KernelRidgeCV, NystroemRidge
from mlcore.kernels import FisherVectors, TfidfTransformer
from mlcore.linear_model import (
    ElasticNet,
    ElasticNetCV,
    KernelPerceptron,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
)
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
)
from mlcore.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GaussianNB,
    MixedNB,
    MultinomialNB,
)
from mlcore.online import WidrowHoff
from mlcore.pac import ConjunctionLearner, RectangleLearner
from mlcore.svm import (
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVCCV,
    NuSVR,
    OneClassSVM,
    OneClassSVMCV,
)

N_SAMPLES, N_FEATURES = 60, 4


def samples(n_samples=N_SAMPLES, n_features=N_FEATURES, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def counts(n_samples=N_SAMPLES, n_features=N_FEATURES, seed=0):
    return np.random.default_rng(seed).poisson(2.0, size=(n_samples, n_features)).astype(float)


def choices(n_samples=N_SAMPLES, n_features=N_FEATURES, seed=0):
    """0, 1 or 2, mostly low in every other row, mostly high in the rest."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_samples)[:, None] % 2
    return np.clip(2 * kind + rng.integers(-1, 2, size=(n_samples, n_features)), 0, 2).astype(float)


def labels(X):
    noise = np.random.default_rng(1).normal(scale=0.3, size=len(X))
    return np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + noise, [-0.4, 0.4])]


def two_labels(X):
    return np.where(labels(X) == "low", 0, 1)


def numbers(X):
    return X[:, 0] - np.sin(X[:, -1])


def several_numbers(X):
    return np.c_[numbers(X), X[:, 0] + np.cos(X[:, -1])]


def nothing(_):
    return None


def unchanged(kernel):
    return kernel


def with_linear_targets(kernel):
    return kernel, "linear"


@dataclass(frozen=True, eq=False)  # a key, by identity
class Entry:
    """One model: how to make it, its targets for given samples, and what it takes."""

    make: Callable
    targets: Callable
    sparse: bool = True
    weights: bool = True
    kernel: bool = True
    text: bool = False  # samples may hold strings
    one_class: bool = False  # a classifier takes it
    several_targets: bool = False
    sparse_targets: bool = False
    draw: Callable = samples
    instant: bool = False  # no data make a fit so long that it is interrupted
    epochs: bool = False  # a fit to what cannot be learnt goes on to max_iter
    endless: dict = field(default_factory=dict)  # parameters of a fit that does not end
    endless_shape: tuple = (100_000, 30)  # of the data of such a fit
    takes: tuple = ()  # (name, value) that other models refuse
    kernel_of_X: Callable = unchanged  # the parameter `kernel` that gives the samples X this one

    def fit(self, X=None, seed=0, **params):
        X = self.draw(seed=seed) if X is None else X
        return self.make().set_params(**params).fit(X, self.targets(np.asarray(X)))


def searched(**params):
    return SVCCV(**{"Cs": (0.5, 5.0), "gammas": (0.1, 1.0), "cv": 2, **params})


def aspects(**params):
    return PLSA(n_components=3, max_iter=20_000, random_state=0, **params)


def few(n_samples=N_SAMPLES, n_features=N_FEATURES, seed=0):
    """Samples of models that compare all with all."""
    return samples(min(n_samples, 4_000), n_features, seed)


def of_affinity(make, takes=()):
    return Entry(
        lambda: make(3, random_state=0),
        nothing,
        weights=False,
        kernel=False,
        draw=few,
        endless={"n_clusters": 20, "tol": 1e-300, "max_iter": 10**9},
        takes=takes,
    )


ZERO_TOL = (("tol", 0),)
NO_STEP = ("max_iter", 0)
MANY_COMPONENTS = (("n_components", 61), ("n_components", 10**12))  # than samples; than memory
KINDS = "full", "tied", "diag", "spherical", "VEI", "VVE"


def mixture(covariance_type):
    return Entry(
        lambda: GaussianMixture(
            2, covariance_type=covariance_type, random_state=0, max_iter=5000, tol=1e-4
        ),
        nothing,
        sparse=False,
        kernel=False,
        endless={"tol": 0, "max_iter": 10**9, "n_components": 8},
        takes=(*ZERO_TOL, NO_STEP),
    )


def discrete(make, draw, sparse=True, text=False):
    return Entry(
        lambda: make(2, random_state=0, max_iter=20_000),
        nothing,
        sparse=sparse,
        kernel=False,
        draw=draw,
        endless={"tol": 0, "max_iter": 10**9},
        takes=(*ZERO_TOL, NO_STEP),
        text=text,
    )


def components(make):
    return Entry(
        make,
        nothing,
        kernel=False,
        endless={"svd_solver": "full"},
        endless_shape=(25_000, 600),
        takes=(("n_components", None),),
    )


def merged(**params):
    return AgglomerativeClustering(3, **params)


def concept(make):
    return Entry(make, two_labels, sparse=False, weights=False, kernel=False, instant=True)


def naive_bayes(make, draw, sparse=True, text=False):
    return Entry(
        make,
        labels,
        sparse=sparse,
        kernel=False,
        draw=draw,
        instant=True,
        text=text,
        one_class=True,
    )


def perceptron(make, kernel=False):
    return Entry(
        lambda: make(average=True, shuffle=True, random_state=0),
        labels,
        weights=False,
        kernel=kernel,
        epochs=True,
        endless={"max_iter": 10**9, "tol": None},
        endless_shape=(20_000, 30) if kernel else (100_000, 30),
        takes=(("tol", None),),
    )


MODELS = {
    "RiskClassifier": Entry(
        lambda: RiskClassifier(LinearDiscriminantAnalysis()),
        labels,
        kernel=False,
        endless_shape=(6_000, 3_000),
    ),
    "AgglomerativeClustering": Entry(merged, nothing, sparse=False, weights=False, kernel=False),
    "DBSCAN": Entry(
        lambda: DBSCAN(0.9), nothing, sparse=False, kernel=False, takes=(("eps", 1.5),)
    ),
    "HDBSCAN": Entry(
        lambda: HDBSCAN(4, store_centers="both"),
        nothing,
        sparse=False,
        kernel=False,
        takes=(("min_samples", None), ("max_cluster_size", None), ("store_centers", None)),
    ),
    "SVC": Entry(SVC, labels),
    "SVC-probability": Entry(lambda: SVC(probability=True, random_state=0), labels),
    "SVC-ovr": Entry(lambda: SVC(multi_class="ovr"), labels),
    "SVC-linear": Entry(lambda: SVC(kernel="linear"), two_labels),
    "LinearDiscriminantAnalysis": Entry(
        LinearDiscriminantAnalysis,
        labels,
        kernel=False,
        endless_shape=(6_000, 3_000),
        takes=(("n_components", None),),
    ),
    "QuadraticDiscriminantAnalysis": Entry(
        lambda: QuadraticDiscriminantAnalysis(reg_param=0.1),
        labels,
        kernel=False,
        endless_shape=(6_000, 3_000),
    ),
    "LinearRegression-least-squares": Entry(
        LinearRegression,
        numbers,
        kernel=False,
        several_targets=True,
        endless_shape=(6_000, 3_000),
    ),
    "LinearRegression-ridge": Entry(
        lambda: LinearRegression(alpha=0.5),
        several_numbers,
        kernel=False,
        several_targets=True,
        endless_shape=(6_000, 3_000),
    ),
    "ElasticNet": Entry(
        lambda: ElasticNet(alpha=0.1),
        several_numbers,
        kernel=False,
        several_targets=True,
        instant=True,
    ),
    "Lasso": Entry(
        lambda: Lasso(alpha=0.1), numbers, kernel=False, several_targets=True, instant=True
    ),
    "ElasticNet-multi-task": Entry(
        lambda: ElasticNet(alpha=0.1, multi_task=True),
        several_numbers,
        kernel=False,
        several_targets=True,
        instant=True,
    ),
    "ElasticNetCV": Entry(
        lambda: ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=[1.0, 0.1], cv=3),
        numbers,
        kernel=False,
        instant=True,
        takes=(("alphas", 3),),
    ),
    "LassoCV": Entry(
        lambda: LassoCV(alphas=5, cv=3),
        numbers,
        kernel=False,
        instant=True,
        takes=(("alphas", 3), ("eps", None)),
    ),
    "WidrowHoff": Entry(WidrowHoff, numbers, kernel=False, several_targets=True, instant=True),
    "LogisticRegression": Entry(
        LogisticRegression,
        labels,
        kernel=False,
        endless={"tol": 1e-300, "max_iter": 10**9, "solver": "lbfgs"},
        endless_shape=(6_000, 3_000),
        takes=(NO_STEP,),
    ),
    "LogisticRegression-lasso": Entry(
        lambda: LogisticRegression(l1_ratio=1.0),
        labels,
        kernel=False,
        endless={"tol": 1e-300, "max_iter": 10**9},
        endless_shape=(6_000, 3_000),
        takes=(NO_STEP,),
    ),
    "LogisticRegressionCV": Entry(
        lambda: LogisticRegressionCV(Cs=(0.1, 10.0), cv=2),
        labels,
        kernel=False,
        endless={"tol": 1e-300, "max_iter": 10**9},
        endless_shape=(6_000, 3_000),
        takes=(NO_STEP, ("Cs", 3), ("l1_ratios", None)),
    ),
    "LogisticRegressionCV-two": Entry(
        lambda: LogisticRegressionCV(Cs=3, l1_ratio=(0.5, 1.0), cv=2),
        two_labels,
        kernel=False,
        endless={"Cs": 500},
        endless_shape=(100_000, 60),
        takes=(NO_STEP, ("Cs", 3), ("l1_ratios", None)),
    ),
    "NuSVC": Entry(lambda: NuSVC(nu=0.3), two_labels),
    "SVR": Entry(SVR, numbers),
    "NuSVR": Entry(NuSVR, numbers),
    "OneClassSVM": Entry(lambda: OneClassSVM(nu=0.2), nothing),
    "SVCCV": Entry(searched, two_labels),
    "SVRCV": Entry(lambda: SVRCV(Cs=(0.5, 5.0), gammas=(0.1, 1.0), cv=2), numbers),
    "NuSVCCV": Entry(lambda: NuSVCCV(nus=(0.3, 0.2), gammas=(0.1, 1.0), cv=2), two_labels),
    "OneClassSVMCV": Entry(lambda: OneClassSVMCV(nus=(0.2, 0.4), gammas=(0.1, 1.0), cv=2), nothing),
    "LinearSVC": Entry(
        LinearSVC,
        labels,
        kernel=False,
        endless={"tol": 1e-300, "max_iter": 10**9, "loss": "hinge"},
        endless_shape=(6_000, 3_000),
    ),
    "LinearSVC-hinge": Entry(
        lambda: LinearSVC(loss="hinge"),
        two_labels,
        kernel=False,
        endless={"tol": 1e-300, "max_iter": 10**9},
        endless_shape=(6_000, 3_000),
    ),
    "LinearSVR": Entry(
        LinearSVR,
        numbers,
        kernel=False,
        endless={"tol": 1e-300, "max_iter": 10**9},
        endless_shape=(6_000, 3_000),
    ),
    **{f"GaussianMixture-{t}": mixture(t) for t in KINDS},
    "PLSA": Entry(aspects, nothing, kernel=False, draw=counts, takes=(*ZERO_TOL, *MANY_COMPONENTS)),
    "MultinomialMixture": discrete(MultinomialMixture, counts),
    "CategoricalMixture": discrete(CategoricalMixture, choices, sparse=False, text=True),
    "MixedMixture": discrete(MixedMixture, samples, sparse=False),
    "BernoulliMixture": discrete(partial(BernoulliMixture, binarize=0.5), choices),
    "BinomialMixture": discrete(partial(BinomialMixture, n_trials=4), choices),
    "FisherVectors": Entry(
        lambda: FisherVectors(
            GaussianMixture(2, covariance_type="diag", random_state=0, max_iter=5000, tol=1e-4)
        ),
        nothing,
        sparse=False,
        kernel=False,
        endless={
            "mixture": GaussianMixture(8, covariance_type="diag", tol=0, max_iter=10**9),
        },
    ),
    "CCA": Entry(
        CCA,
        several_numbers,
        sparse=False,
        kernel=False,
        endless_shape=(8_000, 2_500),
        takes=MANY_COMPONENTS,
        several_targets=True,
    ),
    "KMeans": Entry(lambda: KMeans(3, random_state=0), nothing, kernel=False, takes=ZERO_TOL),
    "KernelKMeans": Entry(
        lambda: KernelKMeans(3, random_state=0),
        nothing,
        endless={"n_clusters": 200},
        takes=ZERO_TOL,
    ),
    "KernelCCA": Entry(
        lambda: KernelCCA(kernel=("rbf", "linear"), gamma="scale"),
        several_numbers,
        several_targets=True,
        sparse_targets=True,
        draw=few,
        endless_shape=(1_000, 20_000),
        takes=(*MANY_COMPONENTS, ("gamma", None)),
        kernel_of_X=with_linear_targets,
    ),
    "KernelPCA": Entry(
        lambda: KernelPCA(3, kernel="rbf", random_state=0),
        nothing,
        draw=few,
        endless={"n_components": 20, "tol": 1e-300, "max_iter": 10**9},
        takes=(("gamma", None), ("n_components", None), ("n_centers", None)),
    ),
    "KernelPCA-nystroem": Entry(
        lambda: NystroemPCA(3, kernel="rbf", random_state=0),
        nothing,
        endless={"n_centers": 1500},
        takes=(("gamma", None), ("n_components", None), ("n_centers", None)),
    ),
    "KernelRidge": Entry(
        partial(KernelRidge, kernel="rbf"),
        numbers,
        several_targets=True,
        takes=(("gamma", None),),
    ),
    "NystroemRidge": Entry(
        lambda: NystroemRidge(kernel="rbf", random_state=0),
        numbers,
        several_targets=True,
        endless={"n_centers": 4000},
        endless_shape=(250_000, 30),
        takes=(("gamma", None), ("n_centers", None)),
    ),
    "KernelRidgeCV": Entry(
        lambda: KernelRidgeCV([0.1, 1.0], [0.1, 1.0], kernel="rbf"),
        numbers,
        several_targets=True,
        draw=few,
        endless={"gammas": (0.1,) * 500},
        takes=(("alphas", None), ("gammas", None), ("scoring", None)),
    ),
    "KernelRidgeCV-scores": Entry(
        lambda: KernelRidgeCV([0.1, 1.0], [0.1, 1.0], kernel="rbf", scoring="r2", cv=3),
        numbers,
        several_targets=True,
        draw=few,
        endless={"gammas": (0.1,) * 500},
        takes=(("gammas", None), ("scoring", None)),
    ),
    "KMedians": Entry(
        lambda: KMedians(3, random_state=0), nothing, sparse=False, kernel=False, takes=ZERO_TOL
    ),
    "KMedoids": Entry(
        lambda: KMedoids(3, random_state=0), nothing, sparse=False, kernel=False, takes=ZERO_TOL
    ),
    "MiniBatchKMeans": Entry(
        lambda: MiniBatchKMeans(3, random_state=0), nothing, kernel=False, takes=ZERO_TOL
    ),
    "KernelPerceptron": perceptron(KernelPerceptron, kernel=True),
    "Perceptron": perceptron(Perceptron),
    "ConjunctionLearner": concept(ConjunctionLearner),
    "RectangleLearner": concept(RectangleLearner),
    "BernoulliNB": naive_bayes(BernoulliNB, samples),
    "CategoricalNB": naive_bayes(CategoricalNB, choices, sparse=False, text=True),
    "Discretizer": Entry(
        lambda: Discretizer(strategy="uniform"),
        nothing,
        sparse=False,
        kernel=False,
        instant=True,
        takes=(("edges", None),),
    ),
    "GaussianNB": naive_bayes(GaussianNB, samples, sparse=False),
    "MixedNB": naive_bayes(MixedNB, samples, sparse=False, text=False),
    "MultinomialNB": naive_bayes(MultinomialNB, counts),
    "PCA": components(PCA),
    "PCA-whitened": components(partial(PCA, scale=True, whiten=True)),
    "ProbabilisticClustering": of_affinity(ProbabilisticClustering),
    "SpectralClustering": of_affinity(SpectralClustering, (("n_components", None),)),
    "TfidfTransformer": Entry(TfidfTransformer, nothing, kernel=False, draw=counts, instant=True),
}

# Methods of one argument, the samples.
METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")
NAN, INF = float("nan"), float("inf")
DEGENERACY = (
    "margin is zero|rescale|infeasible|cannot be separated|constant|distinct|degenerate|one class|"
    "Negative values|no counts|n_trials|not positive semi-definite"
)


def unaligned(X):
    view = np.empty(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


# Imported when needed: a quarter of the time in which the scripts of test_process start.
def pandas_frame(X):
    import pandas as pd

    return pd.DataFrame(X)


def polars_frame(X):
    import polars as pl

    return pl.DataFrame(X, schema=[f"column {j}" for j in range(X.shape[1])], orient="row")


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "big-endian": lambda X: X.astype(">f8"),
    "nested lists": lambda X: X.tolist(),
    "pandas": pandas_frame,
    "polars": polars_frame,
    "objects": lambda X: X.astype(object),
}
if find_spec("polars") is None:  # which has no wheels for free-threaded Python
    del LAYOUTS["polars"]


@contextmanager
def case(*what):
    """Say of a failure in which case of its test it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {what}")
        raise


def groups(names):
    """Tuples of some names: an item of pytest costs more than many a test."""
    names = list(names)
    return [tuple(names[i : i + 8]) for i in range(0, len(names), 8)]


def only(condition):
    """Let a test run with those models alone."""
    some = groups(name for name, entry in MODELS.items() if condition(entry))
    return pytest.mark.parametrize("entry", some, indirect=True, ids="+".join)


FIRST_OF_CLASS = {type(entry.make()): entry for entry in reversed(MODELS.values())}
# For what no parameter of a model changes: the checks of what it is given, the format of its file.
one_of_each_class = only(lambda entry: entry in FIRST_OF_CLASS.values())


@cache
def plain_fit(entry):
    """The fit of all tests that do not change it."""
    return entry.fit()


def methods(model):
    return [getattr(model, name) for name in METHODS if hasattr(model, name)]


def answers(model, X):
    found = [method(X) for method in methods(model)]
    return [a.toarray() if sp.issparse(a) else np.asarray(a) for a in found]


def contents(value):
    """Nested values as bytes, so that equal means the same to the last bit, but for seconds."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}".encode() + value.tobytes()
    if isinstance(value, np.ndarray):
        return contents(value.tolist())
    if sp.issparse(value):
        return b"".join(contents(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, dict):
        timeless = (item for item in sorted(value.items()) if not f"{item[0]}".endswith("_time"))
        return b"".join(contents(k) + contents(v) for k, v in timeless)
    if isinstance(value, (list, tuple)):
        return b"[" + b",".join(map(contents, value)) + b"]"
    if hasattr(value, "get_params"):
        return contents(vars(value))
    if is_dataclass(value):
        return contents([getattr(value, part.name) for part in fields(value)])
    if isinstance(value, np.generic):
        return contents(np.asarray(value))
    return repr(value).encode()


def fitted(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def digest(model):
    return hashlib.sha256(contents(fitted(model))).hexdigest()


def refuses(call, error, message):
    """`call` raises `error` with `message` in its text, and nothing reaches standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=re.compile(message, re.DOTALL)):
            call()


class UsersError(Exception):
    pass


def raising(A, B):
    raise UsersError("mine")


def without_gamma(entry):
    model = entry.make()
    return model.set_params(gammas=("scale",)) if "gammas" in model.get_params() else model


def well_solved(entry, gamma=None):
    """The model with a small tol, and this width of its kernel."""
    model = entry.make()
    params = model.get_params()
    if "tol" in params:
        model.set_params(tol=1e-7)
    if gamma is not None:
        model.set_params(**({"gammas": (gamma,)} if "gammas" in params else {"gamma": gamma}))
    return model


def sparse_samples(entry):
    X = entry.draw()
    X[np.abs(X) < 0.5] = 0
    return X
