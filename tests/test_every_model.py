"""The contract that every model keeps: what goes in, and what comes back when it should not.

A model joins with one line in MODELS; its parameters need a line each in BAD_PARAMETERS.
"""

import copy
import ctypes
import gc
import hashlib
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlcore
from mlcore.cluster import (
    AgglomerativeClustering,
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    MiniBatchKMeans,
    ProbabilisticClustering,
    SpectralClustering,
)
from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    LatentClassModel,
    MultinomialMixture,
)
from mlcore.model import NotFittedError
from mlcore.svm import SVC, SVCCV, SVR, NuSVC, NuSVR, OneClassSVM

N_SAMPLES, N_FEATURES = 60, 4
LONGEST_TEST = 60.0  # seconds of CPU; each takes well below one


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


def nothing(_):
    return None


@dataclass(frozen=True)
class Entry:
    """One model: how to make it, its targets for given samples, and what it takes."""

    make: Callable
    targets: Callable
    sparse: bool = True
    weights: bool = True
    kernel: bool = True
    draw: Callable = samples
    endless: dict = field(default_factory=dict)  # parameters of a fit that does not end
    takes: tuple = ()  # (name, value) that other models refuse

    def fit(self, X=None, seed=0, **params):
        X = self.draw(seed=seed) if X is None else X
        return self.make().set_params(**params).fit(X, self.targets(np.asarray(X)))


def searched(**params):
    return SVCCV(**{"Cs": (0.5, 5.0), "gammas": (0.1, 1.0), "cv": 3, **params})


def aspects(**params):
    return LatentClassModel(n_components=3, max_iter=20_000, random_state=0, **params)


def few(n_samples=N_SAMPLES, n_features=N_FEATURES, seed=0):
    """Samples of models that compare all with all."""
    return samples(min(n_samples, 4_000), n_features, seed)


def of_affinity(make):
    return Entry(
        lambda: make(3, random_state=0),
        nothing,
        weights=False,
        kernel=False,
        draw=few,
        endless={"n_clusters": 20, "tol": 1e-300, "max_iter": 10**9},
    )


ZERO_TOL = (("tol", 0),)
MANY_COMPONENTS = (("n_components", 61), ("n_components", 10**12))  # than samples; than memory


def mixture(covariance_type):
    return Entry(
        lambda: GaussianMixture(
            2, covariance_type=covariance_type, random_state=0, max_iter=5000, tol=1e-4
        ),
        nothing,
        sparse=False,
        kernel=False,
        endless={"tol": 0, "max_iter": 10**9, "n_components": 8},
        takes=ZERO_TOL,
    )


def discrete(make, draw, sparse=True):
    return Entry(
        lambda: make(2, random_state=0, max_iter=20_000),
        nothing,
        sparse=sparse,
        kernel=False,
        draw=draw,
        endless={"tol": 0, "max_iter": 10**9},
        takes=ZERO_TOL,
    )


def merged(**params):
    return AgglomerativeClustering(3, **params)


MODELS = {
    "AgglomerativeClustering": Entry(merged, nothing, sparse=False, weights=False, kernel=False),
    "SVC": Entry(SVC, labels),
    "SVC-probability": Entry(lambda: SVC(probability=True, random_state=0), labels),
    "SVC-ovr": Entry(lambda: SVC(multi_class="ovr"), labels),
    "SVC-linear": Entry(lambda: SVC(kernel="linear"), two_labels),
    "NuSVC": Entry(lambda: NuSVC(nu=0.3), two_labels),
    "SVR": Entry(SVR, numbers),
    "NuSVR": Entry(NuSVR, numbers),
    "OneClassSVM": Entry(lambda: OneClassSVM(nu=0.2), nothing),
    "SVCCV": Entry(searched, two_labels),
    **{f"GaussianMixture-{t}": mixture(t) for t in ("full", "tied", "diag", "spherical")},
    "LatentClassModel": Entry(
        aspects, nothing, kernel=False, draw=counts, takes=(*ZERO_TOL, *MANY_COMPONENTS)
    ),
    "MultinomialMixture": discrete(MultinomialMixture, counts),
    "CategoricalMixture": discrete(CategoricalMixture, choices, sparse=False),
    "BernoulliMixture": discrete(partial(BernoulliMixture, binarize=0.5), choices),
    "BinomialMixture": discrete(partial(BinomialMixture, n_trials=4), choices),
    "KMeans": Entry(lambda: KMeans(3, random_state=0), nothing, kernel=False, takes=ZERO_TOL),
    "KernelKMeans": Entry(
        lambda: KernelKMeans(3, random_state=0),
        nothing,
        endless={"n_clusters": 200},
        takes=ZERO_TOL,
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
    "ProbabilisticClustering": of_affinity(ProbabilisticClustering),
    "SpectralClustering": of_affinity(SpectralClustering),
}
CHECKED = [
    AgglomerativeClustering(),
    AgglomerativeClustering(linkage="single"),
    AgglomerativeClustering(linkage="average"),
    SVC(),
    SVC(probability=True),
    NuSVC(),
    NuSVC(nu=0.2),
    SVR(),
    NuSVR(),
    OneClassSVM(),
    SVCCV(),
    GaussianMixture(),
    GaussianMixture(2, covariance_type="tied", tol=1e-8, max_iter=1000),
    GaussianMixture(2, covariance_type="diag"),
    GaussianMixture(2, covariance_type="spherical"),
    LatentClassModel(),
    LatentClassModel(n_components=2, alpha=0.0),
    KMeans(),
    KernelKMeans(),
    KMedians(),
    KMedoids(),
    KMedoids(2, metric="cityblock", power=2),
    KMedoids(2, metric="precomputed"),
    MiniBatchKMeans(),
    ProbabilisticClustering(),
    SpectralClustering(),
    MultinomialMixture(2),
    CategoricalMixture(2),
    BernoulliMixture(2),
    BinomialMixture(2, n_trials=1000),
]
INFEASIBLE = "nu=0.5 is infeasible for their class sizes, also for scikit-learn's NuSVC"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": INFEASIBLE,
    "check_sample_weight_equivalence_on_sparse_data": INFEASIBLE,
}


def expected_failures(model):
    return EXPECTED_FAILURES if isinstance(model, NuSVC) and model.nu == 0.5 else {}


# Methods of one argument, the samples.
METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "transform")

NAN, INF = float("nan"), float("inf")
NOT_POSITIVE = (0, -1, NAN, "1", None, True, 1j, [1.0], 10**400)
NOT_A_NUMBER = (NAN, INF, "1", None, True)
NOT_BOOL = ("yes", 2, None)
BAD_PARAMETERS = {
    "C": NOT_POSITIVE,
    "affinity": ("rbg", None, 3),
    "binarize": (NAN, INF, "0.5", True),
    "batch_size": (0, -1, 1.5, "9", None, True, 10**30),
    "Cs": ((), (1.0, -1.0), (NAN,), ("1",), 3, None, "12", (INF, NAN)),
    "alpha": (-0.1, NAN, INF, "1", None, True, 10**400),
    "break_ties": NOT_BOOL,
    "cache_size": (*NOT_POSITIVE, INF),
    "callback": (3, "print"),
    "class_weight": ("equal", 3, {"none such": 1.0}, {0: -1.0, "low": -1.0}),
    "coef0": NOT_A_NUMBER,
    "components_init": (np.ones((3, 3)) / 3, np.full((3, 4), -0.25), np.full((3, 4), NAN), "none"),
    "covariance_type": ("fulll", None, 3),
    "cv": (1, 0, -2, 2.5, "five", 10**30),
    "decision_function_shape": ("ovx", None, 1),
    "degree": (-1, 1.5, "3", None, True, 10**30),
    "distance_threshold": (-0.1, NAN, "1", True, 0.5),  # 0.5: n_clusters is given too
    "document_components_init": (np.ones((3, 3)) / 3, np.ones((3, N_SAMPLES)), [[1], [1, 2]]),
    "epsilon": (-0.1, NAN, INF, "1", None, True),
    "gamma": (-1.0, NAN, INF, "scaled", None, True, 10**400),
    "gammas": ((), (-1.0,), (NAN,), ("scaled",), 3),
    "init": ("k-means", 3, None, np.zeros((2, 4)), np.zeros((3, 5)), np.full((3, 4), NAN)),
    "init_params": ("k-meanss", None, 3),
    "kernel": ("rbg", None, 3, "precomputedd"),
    "means_init": ([[NAN] * 4] * 2, np.zeros((3, 4)), "1", [[1j] * 4] * 2),
    "linkage": ("wards", None, 3, "precomputed"),
    "max_iter": (0, -2, 1.5, "9", None, True, 10**30),
    "max_no_improvement": (0, -1, 1.5, "9", True, 10**30),
    "metric": ("euclid", None, 3, 1j),
    "missing": ("ignored", None, True),
    "multi_class": ("ovx", None, 1),
    "n_clusters": (0, -1, 1.5, "9", None, True, 61, 10**30),
    "n_components": (0, -1, 1.5, "2", None, True, 61, 10**12, 10**30),
    "n_init": (0, -1, 1.5, "2", None, True, 10**30),
    "n_neighbors": (0, -1, 1.5, "2", None, True, 10**30),
    "n_trials": (0, -1, 1.5, "2", None, True, [1, 2], [1.5] * 4, 10**400),
    "normalization": ("ratio", None, 3),
    "nu": (*NOT_POSITIVE, 1.5, INF),
    "power": (0, 3, 1.5, "1", None, True),
    "precisions_init": (-np.ones((2, 4)), np.full((2, 4, 4), NAN), "1", np.ones((9, 9))),
    "probabilities_init": ("1", 3, [np.ones((3, 2))], [np.full((2, 3), NAN)] * 4),
    "probability": NOT_BOOL,
    "random_state": (-1, "seed", 1.5),
    "reg_covar": (-1.0, NAN, INF, "1", True, 10**400),
    "scaled_distance_threshold": (-0.1, NAN, "1", True, 0.5),
    "scoring": ("none such", 3, None),
    "tol": (*NOT_POSITIVE, INF),
    "verbose": (-1, "yes", 1.5, None),
    "warm_start": NOT_BOOL,
    "weights_init": ([0.5, 0.6], [1.5, -0.5], [1.0], [NAN, 1.0], "1", ["a", "b", "c"], 1j),
}


class Hang(BaseException):
    """A call has taken far too much CPU time; no `except Exception` may hide it."""


@pytest.fixture(autouse=True)
def no_hang():
    def stop(*_):
        raise Hang

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_TEST)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture(params=MODELS)
def entry(request):
    return MODELS[request.param]


def only(condition):
    """Let a test run with those models alone."""
    names = [name for name, entry in MODELS.items() if condition(entry)]
    return pytest.mark.parametrize("entry", names, indirect=True)


@pytest.fixture
def data(entry):
    X = entry.draw()
    return X, entry.targets(X)


def methods(model):
    return [getattr(model, name) for name in METHODS if hasattr(model, name)]


def answers(model, X):
    return [np.asarray(method(X)) for method in methods(model)]


def contents(value):
    """Nested values as bytes, so that equal means the same to the last bit."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype}{value.shape}".encode() + value.tobytes()
    if isinstance(value, np.ndarray):
        return contents(value.tolist())
    if sp.issparse(value):
        return b"".join(contents(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, dict):
        return b"".join(contents(k) + contents(v) for k, v in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return b"[" + b",".join(map(contents, value)) + b"]"
    if hasattr(value, "get_params"):
        return contents(vars(value))
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


# ---- scikit-learn


@pytest.mark.filterwarnings("default::UserWarning")  # some of their data are degenerate
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_pipelines_and_searches(entry, data):
    X, y = data
    scaler = StandardScaler() if entry.draw is samples else MaxAbsScaler()
    pipeline = make_pipeline(scaler, entry.make()).fit(X, y)
    scaled = scaler.fit_transform(X)
    alone = entry.make().fit(scaled, y)
    for found, expected in zip(answers(pipeline, X), answers(alone, scaled), strict=True):
        assert_array_equal(found, expected)
    if y is not None:
        search = GridSearchCV(entry.make(), {"tol": [1e-2, 1e-4]}, cv=2).fit(X, y)
        assert len(answers(search.best_estimator_, X)[0]) == N_SAMPLES


# ---- layout and dtype


def unaligned(X):
    view = np.empty(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "big-endian": lambda X: X.astype(">f8"),
    "nested lists": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd"), orient="row"),
    "objects": lambda X: X.astype(object),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_and_is_left_untouched(layout, entry, data):
    X, y = data
    arranged = LAYOUTS[layout](X)
    before = copy.deepcopy(arranged)
    plain = entry.make().fit(X, y)
    model = entry.make().fit(arranged, None if y is None else y.tolist())
    for found, expected in zip(answers(model, arranged), answers(plain, X), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(np.asarray(arranged), np.asarray(before))
    state = fitted(model)
    state.pop("feature_names_in_", None)
    assert contents(state) == contents(fitted(plain))


def test_memory_mapped_input(entry, data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = entry.make().fit(mapped, y)
    assert digest(model) == digest(entry.make().fit(X, y))
    again = pickle.loads(pickle.dumps(model))
    assert all(len(answer) == 1 for answer in answers(again, mapped[:1]))


# 0, 1 and 2 in every column: equal rows of two classes, which a small nu cannot tell apart.
@pytest.mark.filterwarnings("ignore:NuSVC. at nu=0.3 the margin is zero")
@pytest.mark.parametrize("dtype", ["f4", ">f4", "f2", "g", "i1", "u8", "?"])
def test_every_real_type_is_taken(dtype, entry, data):
    X, y = data
    X = (1.0 * (X > 0) + (X > 1)).astype(dtype)
    exact = np.float32 if np.dtype(dtype).newbyteorder("=") == np.float32 else np.float64
    model = entry.make().fit(X, y)
    expected = entry.make().fit(X.astype(exact), y)
    for found, right in zip(answers(model, X), answers(expected, X.astype(exact)), strict=True):
        assert_array_equal(found, right)


def test_later_calls_take_any_float_type_and_one_row(entry, data):
    X, y = data
    X = X.astype(np.float32).astype(np.float64)  # the same numbers in both types
    for stored, asked in [(np.float32, np.float64), (np.float64, np.float32)]:
        model = entry.make().fit(X.astype(stored), y)
        for method in methods(model):
            assert_array_equal(method(X.astype(asked)), method(X.astype(stored)))
            assert len(method(X[:1].tolist())) == 1


WRONG_TYPES = {
    "complex": (lambda X: X + 1j, ValueError, "Complex data not supported.*complex128"),
    "strings": (lambda X: X.astype(str), TypeError, "X is of type <U"),
    "bytes": (lambda X: X.astype("S5"), TypeError, r"X is of type \|S5"),
    "dates": (lambda X: X.astype("M8[s]"), TypeError, "datetime64"),
    "records": (lambda X: np.zeros(len(X), [("a", float)]), TypeError, "X is of type .*'a'"),
    "text objects": (lambda X: X.astype(str).astype(object), TypeError, "X.0, 0. is of type str"),
    "None": (lambda X: None, TypeError, "X is of type NoneType"),
    "generator": (lambda X: (row for row in X), TypeError, "X is of type generator"),
    "function": (lambda X: len, TypeError, "X is of type builtin"),
    "1-D": (lambda X: X[:, 0], ValueError, "Reshape your data"),
    "3-D": (lambda X: X[:, :, None], ValueError, "dim 3"),
    "scalar": (lambda X: 3.0, ValueError, "Reshape your data"),
    "no rows": (lambda X: X[:0], ValueError, r"0 sample\(s\)"),
    "no columns": (lambda X: X[:, :0], ValueError, r"0 feature\(s\)"),
    "ragged": (lambda X: [[1.0, 2.0, 3.0, 4.0], [1.0]], ValueError, "X is ragged"),
    "masked": (lambda X: np.ma.masked_less(X, 1), ValueError, "masked values"),
}


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_what_is_no_real_matrix_is_refused_by_every_method(case, entry, data):
    X, y = data
    spoil, error, message = WRONG_TYPES[case]
    refuses(lambda: entry.make().fit(spoil(X), y), error, message)
    model = entry.make().fit(X, y)
    for method in methods(model):
        refuses(lambda method=method: method(spoil(X)), error, message)


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e200])
@pytest.mark.parametrize("place", [(0, 0), (N_SAMPLES - 1, N_FEATURES - 1), (31, 2)])
def test_nan_infinity_and_huge_values_are_refused_by_every_method(bad, place, entry, data):
    X, y = data
    spoiled = X.copy()
    spoiled[place] = bad
    message = {True: "NaN", False: "infinity"}[bad != bad] if abs(bad) != 1e200 else "too large"
    model = entry.make().fit(X, y)
    arrangements = [spoiled, np.asfortranarray(spoiled)]
    if entry.sparse:
        arrangements.append(sp.csc_array(spoiled))
    for arranged in arrangements:
        refuses(lambda a=arranged: entry.make().fit(a, y), ValueError, f"X contains .*{message}")
        for method in methods(model):
            refuses(lambda a=arranged, m=method: m(a), ValueError, f"X contains .*{message}")


def test_what_cannot_fit_is_refused_before_it_is_allocated(entry, data):
    virtual = np.broadcast_to(1.0, (10**8, 10**5))  # 8 bytes that stand for 80 TB
    message = "of 100000000 x 100000 needs 80000000000000 bytes.*are free: pass fewer rows"
    refuses(lambda: entry.make().fit(virtual, None), MemoryError, message)
    for method in methods(entry.make().fit(*data)):
        refuses(lambda method=method: method(virtual), MemoryError, message)


# ---- values and degenerate data


DEGENERACY = (
    "margin is zero|rescale|infeasible|cannot be separated|constant|distinct|degenerate|one class|"
    "Negative values|no counts|n_trials"
)


def finite_or_named(entry, X, y, **params):
    """Fit and ask; every answer is finite, or an error names the degeneracy."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            model = entry.make().set_params(**params).fit(X, y)
            found = answers(model, X)
    except ValueError as error:
        assert re.search(DEGENERACY, str(error)), error
        return
    for answer in found:
        assert answer.dtype.kind != "f" or np.isfinite(answer).all()
    for name, value in fitted(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert not np.isnan(value).any(), name


@pytest.mark.parametrize("scale", [1e-310, 1e-160, 1e-30, 1e30, 1e150])
def test_tiny_and_large_values(scale, entry):
    finite_or_named(entry, entry.draw() * scale, entry.targets(entry.draw()))


SCALED_RBF = {"kernel": "rbf", "gamma": "scale"}


@pytest.mark.parametrize("power", [-300, -40, 40, 300])
@only(lambda entry: SCALED_RBF.items() <= entry.make().get_params().items())
def test_rbf_does_not_depend_on_the_unit(power, entry, data):
    """With gamma="scale" a change of unit by a power of two changes no decision."""
    X, y = data
    model = entry.make()
    expected = entry.make().fit(X, y).predict(X)
    found = model.fit(np.ldexp(X, power), y).predict(np.ldexp(X, power))
    if expected.dtype.kind == "f":
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("offset", [1e3, 1e8, -1e15])
def test_any_offset(offset, entry):
    finite_or_named(entry, entry.draw() + offset, entry.targets(entry.draw()))


def test_mixed_scales(entry):
    finite_or_named(entry, entry.draw() * [1e-200, 1.0, 1e10, 1e100], entry.targets(entry.draw()))


KERNELS = "rbf", "linear", "poly", "sigmoid"
DEGENERATE = {
    "constant column": lambda X: np.c_[X, np.full(len(X), 7.0)],
    "duplicate columns": lambda X: np.c_[X, X],
    "equal rows": lambda X: np.repeat(X[::10], 10, axis=0),
    "rank one": lambda X: np.outer(X[:, 0], np.arange(1.0, 6.0)),
    "one distinct point": lambda X: np.ones_like(X),
    "all zero": lambda X: np.zeros_like(X),
    "one feature": lambda X: X[:, :1],
    "more features than samples": lambda X: samples(len(X), 500),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize(
    ("entry", "params"),
    [
        (name, params)
        for name, entry in MODELS.items()
        for params in ([{"kernel": kernel} for kernel in KERNELS] if entry.kernel else [{}])
    ],
    indirect=["entry"],
)
def test_degenerate_data_give_a_finite_result_or_a_named_error(case, entry, params):
    y = entry.targets(entry.draw())
    if "max_iter" in entry.make().get_params():
        params = params | {"max_iter": 100_000}
    X = DEGENERATE[case](entry.draw())
    finite_or_named(entry, X, y, **params)


def test_too_few_rows(entry):
    X = entry.draw(1)
    try:
        entry.make().fit(X, entry.targets(X))
    except ValueError as error:
        assert re.search("n_samples=1|1 sample|class", str(error))
    else:
        assert isinstance(entry.make(), (SVR, NuSVR, OneClassSVM, LatentClassModel))


# ---- sparse


def sparse_samples(entry):
    X = entry.draw()
    X[np.abs(X) < 0.5] = 0
    return X


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sparse_formats_agree_with_each_other_and_with_dense(kind, dtype, entry):
    X = (2 * sparse_samples(entry)).astype(dtype)
    y = entry.targets(sparse_samples(entry))
    if not entry.sparse:
        refuses(lambda: entry.make().fit(kind(X), y), TypeError, "[Ss]parse")
        return
    params = {"tol": 1e-5} if "tol" in entry.make().get_params() else {}
    sparse = entry.make().set_params(**params).fit(kind(X), y)
    canonical = entry.make().set_params(**params).fit(sp.csr_array(X), y)
    dense = entry.make().set_params(**params).fit(X, y)
    csr = sp.csr_array(X)
    all_answers = (answers(sparse, kind(X)), answers(canonical, csr), answers(dense, X))
    for found, same, close in zip(*all_answers, strict=True):
        assert_array_equal(found, same)
        if found.dtype.kind == "f":
            assert_allclose(found, close, atol=2e-3)
        else:
            assert (found == close).mean() > 0.95


@only(lambda entry: entry.sparse)
def test_unsorted_duplicates_and_wide_indices(entry):
    X = sp.csr_array(sparse_samples(entry))
    y = entry.targets(sparse_samples(entry))
    messy = sp.csr_array(X.shape)
    order = np.concatenate(
        [np.arange(X.indptr[i], X.indptr[i + 1])[::-1] for i in range(X.shape[0])]
    )
    messy.data = np.repeat(X.data[order] / 2, 2)
    messy.indices = np.repeat(X.indices[order], 2).astype(np.int64)
    messy.indptr = (X.indptr * 2).astype(np.int64)
    before = [array.copy() for array in (messy.data, messy.indices, messy.indptr)]
    model = entry.make().fit(messy, y)
    for found, expected in zip(
        answers(model, messy), answers(entry.make().fit(X, y), X), strict=True
    ):
        assert_array_equal(found, expected)
    for array, was in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        assert_array_equal(array, was)


def broken(what, entry):
    X = sp.csr_array(sparse_samples(entry))
    if what == "indices too large":
        X.indices[5] = 10**6
    elif what == "indices negative":
        X.indices[5] = -1
    elif what == "indptr decreasing":
        X.indptr[3] = X.indptr[-1]
    elif what == "indptr past the end":
        X.indptr[-1] = 10**9
    elif what == "indptr short":
        X.indptr = X.indptr[:-1]
    elif what == "data short":
        X.data = X.data[:-1]
    else:
        X.data[5] = {"NaN": NAN, "infinity": INF}[what]
    return X


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("indices too large", "out of range"),
        ("indices negative", "out of range"),
        ("indptr decreasing", "never decrease"),
        ("indptr past the end", "indptr ends at"),
        ("indptr short", "indptr has length"),
        ("data short", "lengths"),
        ("NaN", "contains NaN"),
        ("infinity", "contains infinity"),
    ],
)
@only(lambda entry: entry.sparse)
def test_corrupt_sparse_input_is_refused_by_every_method(what, message, entry):
    X = sparse_samples(entry)
    refuses(lambda: entry.make().fit(broken(what, entry), entry.targets(X)), ValueError, message)
    model = entry.fit(sp.csr_array(X).toarray())
    for method in methods(model):
        refuses(lambda method=method: method(broken(what, entry)), ValueError, message)


# ---- targets


@pytest.mark.parametrize(
    "names", [["b", "a"], [b"b", b"a"], [7, -3], [2.0, 1.0], [True, False], ["a b", "c\u00e9"]]
)
@pytest.mark.parametrize("form", [list, np.array, pd.Series, lambda v: np.array(v, object)])
@only(lambda entry: entry.targets in (labels, two_labels))
def test_any_sortable_labels(names, form, entry, data):
    X, _ = data
    codes = two_labels(X)
    model = entry.make().fit(X, form([names[code] for code in codes]))
    assert model.classes_.tolist() == sorted(names)
    swapped = entry.make().fit(X, codes if sorted(names) == names else 1 - codes)
    assert_array_equal(model.predict(X), model.classes_[swapped.predict(X)])


WRONG_TARGETS = {
    "missing": (lambda n: None, ValueError, "requires y to be passed, but the target y is None"),
    "wrong length": (lambda n: [0, 1] * n, ValueError, "inconsistent numbers of samples"),
    "NaN": (lambda n: [NAN] + [0, 1] * (n // 2 - 1) + [1], ValueError, "Input y contains NaN"),
    "infinity": (lambda n: [INF] + [0, 1] * (n // 2 - 1) + [1], ValueError, "contains infinity"),
    "None inside": (lambda n: [None] + [0] * (n - 1), ValueError, "Input y contains"),
    "several columns": (lambda n: np.ones((n, 2)), ValueError, r"shape \(60, 2\)"),
    "complex": (lambda n: [1j] * n, ValueError, "Complex data not supported"),
    "records": (lambda n: np.zeros(n, [("a", int)]), TypeError, "y is of type"),
    "ragged": (lambda n: [[1]] * (n - 1) + [[1, 2]], ValueError, "y is ragged"),
    "generator": (lambda n: (i % 2 for i in range(n)), TypeError, "y is of type generator"),
    "sparse": (lambda n: sp.eye_array(n).tocsr(), TypeError, "y is sparse"),
}
WRONG_LABELS = {
    "mixed types": (lambda n: ["a", 1] * (n // 2), TypeError, r"mixed types \(int, str\)"),
    "continuous": (lambda n: np.linspace(0, 1, n), ValueError, "Unknown label type: continuous"),
    "one class|Negative values": (lambda n: ["a"] * n, ValueError, "class"),
    "unsortable": (lambda n: [object() for _ in range(n)], TypeError, "Unknown label type"),
}
WRONG_NUMBERS = {
    "text": (lambda n: ["a", "b"] * (n // 2), TypeError, "y is of type <U1"),
    "dates": (lambda n: np.arange(n).astype("M8[D]"), TypeError, "datetime64"),
    "too large": (lambda n: np.full(n, 1e200), ValueError, "too large"),
}


def own_targets(entry):
    """The wrong targets of this model, none where it takes no targets."""
    if entry.targets is nothing:
        return {}
    return WRONG_TARGETS | (WRONG_NUMBERS if entry.targets is numbers else WRONG_LABELS)


@pytest.mark.parametrize(
    ("entry", "case"),
    [(name, case) for name, entry in MODELS.items() for case in own_targets(entry)],
    indirect=["entry"],
)
def test_wrong_targets_are_refused(case, entry, data):
    X, _ = data
    make_y, error, message = own_targets(entry)[case]
    refuses(lambda: entry.make().fit(X, make_y(len(X))), error, message)


# ---- weights


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([-1.0] + [1.0] * 59, ValueError, "Negative values.*sample_weight"),
        ([NAN] + [1.0] * 59, ValueError, "sample_weight contains NaN"),
        ([INF] + [1.0] * 59, ValueError, "sample_weight contains infinity"),
        ([1.0] * 59, ValueError, r"sample_weight.shape == \(59,\), expected \(60,\)"),
        (np.ones((60, 1)), ValueError, "1D array or scalar"),
        (np.zeros(60), ValueError, "sample_weight are zero"),
        (["1"] * 60, TypeError, "sample_weight is of type <U1"),
        (np.ones(60) * 1j, ValueError, "Complex data not supported"),
    ],
)
@only(lambda entry: entry.weights)
def test_wrong_weights_are_refused(weights, error, message, entry, data):
    X, y = data
    refuses(lambda: entry.make().fit(X, y, sample_weight=weights), error, message)


@only(lambda entry: entry.targets in (labels, two_labels))
def test_one_class_left_by_the_weights(entry, data):
    X, y = data
    weights = (y == y[0]).astype(float)
    refuses(lambda: entry.make().fit(X, y, sample_weight=weights), ValueError, "class")


def folds_are_drawn(model):
    """Whether the folds of a cross-validation depend on how often a row is there."""
    return isinstance(model, SVCCV) or bool(model.get_params().get("probability"))


@only(lambda entry: entry.weights and not folds_are_drawn(entry.make()))
def test_weight_two_is_a_copy_and_zero_is_absence(entry, data):
    X, y = data
    counts = np.arange(len(X)) % 3
    y_repeated = None if y is None else y.repeat(counts)
    gamma = {"gamma": 0.3} if entry.make().get_params().get("kernel") == "rbf" else {}
    model = entry.make().set_params(tol=1e-7, **gamma)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y_repeated)
    for found, expected in zip(answers(weighted, X), answers(repeated, X), strict=True):
        if found.dtype.kind == "f":
            assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("form", [list, pd.Series, lambda w: w.astype(np.float32)])
@only(lambda entry: entry.weights)
def test_weights_of_any_form(form, entry, data):
    X, y = data
    weights = np.arange(1, len(X) + 1) / 8
    before = form(weights)
    model = entry.make().fit(X, y, sample_weight=before)
    assert digest(model) == digest(entry.make().fit(X, y, sample_weight=weights))
    assert_array_equal(np.asarray(before), weights)


# ---- parameters


def test_every_parameter_has_bad_values_here(entry):
    assert set(entry.make().get_params(deep=False)) <= set(BAD_PARAMETERS)


BAD = [
    pytest.param(model, name, value, id=f"{model}-{name}-{str(value)[:20]}")
    for model, entry in MODELS.items()
    for name in entry.make().get_params(deep=False)
    for value in BAD_PARAMETERS.get(name, ())
    if (name, value) not in entry.takes
]


@pytest.mark.parametrize(("model_name", "name", "value"), BAD)
def test_wrong_parameters_are_named_at_fit(model_name, name, value):
    entry = MODELS[model_name]
    X = entry.draw()
    y = entry.targets(X)
    model = entry.make()
    seen = []
    if "callback" in model.get_params():
        model.set_params(callback=lambda **step: seen.append(step))
    model.set_params(**{name: value})
    with pytest.raises((TypeError, ValueError), match=name) as caught:
        model.fit(X, y)
    assert len(str(caught.value)) < 600 and not seen and not fitted(model)


@only(lambda entry: entry.kernel)
def test_unknown_choices_list_the_valid_ones(entry, data):
    X, y = data
    with pytest.raises(ValueError, match="'rbg'.*'linear'.*'rbf'"):
        entry.make().set_params(kernel="rbg").fit(X, y)


# ---- kernels of the user


def plain_rbf(A, B):
    return np.exp(-0.3 * ((np.asarray(A)[:, None] - np.asarray(B)[None]) ** 2).sum(axis=2))


def without_gamma(entry):
    model = entry.make()
    return model.set_params(gammas=("scale",)) if "gammas" in model.get_params() else model


@only(lambda entry: entry.kernel and entry.make is not searched)
def test_callable_and_precomputed_kernels_agree_with_rbf(entry, data):
    X, y = data
    params = {"tol": 1e-7}
    rbf = entry.make().set_params(kernel="rbf", gamma=0.3, **params).fit(X, y)
    called = entry.make().set_params(kernel=plain_rbf, **params).fit(X, y)
    given = entry.make().set_params(kernel="precomputed", **params).fit(plain_rbf(X, X), y)
    names = [method.__name__ for method in methods(rbf)]
    found = (answers(rbf, X), answers(called, X), answers(given, plain_rbf(X, X)))
    for name, expected, one, two in zip(names, *found, strict=True):
        if expected.dtype.kind == "f":
            assert_allclose(one, expected, atol=1e-4)
            # The held-out folds behind probabilities differ: only samples are sorted by class.
            assert name == "predict_proba" or np.allclose(two, expected, atol=1e-4)


class UsersError(Exception):
    pass


def raising(A, B):
    raise UsersError("mine")


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
    "wrong arguments": (lambda A: A, TypeError, "positional argument"),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("case", BAD_KERNELS)
@only(lambda entry: entry.kernel)
def test_bad_kernel_functions_are_named(case, entry, data):
    X, y = data
    kernel, error, message = BAD_KERNELS[case]
    with pytest.raises(error, match=message):
        without_gamma(entry).set_params(kernel=kernel).fit(X, y)


@only(lambda entry: entry.kernel)
def test_the_users_own_exception_passes_unchanged(entry, data):
    X, y = data
    with pytest.raises(UsersError, match="^mine$"):
        without_gamma(entry).set_params(kernel=raising).fit(X, y)


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
    model = without_gamma(entry).set_params(kernel="precomputed")
    refuses(lambda: model.fit(spoil(plain_rbf(X, X)), y), ValueError, message)


@pytest.mark.parametrize("kind", ["asymmetric", "indefinite"])
@only(lambda entry: entry.kernel)
def test_kernels_that_are_none_end_with_a_warning(kind, entry, data):
    X, y = data
    K = np.random.default_rng(3).normal(size=(len(X), len(X)))
    if kind == "indefinite":
        K = K + K.T
    model = without_gamma(entry).set_params(kernel="precomputed")
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


# ---- later calls


def test_not_fitted(entry, data):
    X, _ = data
    model = entry.make()
    for name in METHODS:
        try:
            method = getattr(model, name, None)
        except NotFittedError:
            continue
        if method is not None:
            refuses(lambda method=method: method(X), NotFittedError, "not fitted")


def test_another_number_of_columns_and_foreign_names(entry, data):
    X, y = data
    names = ["a", "b", "c", "d"]
    model = entry.make().fit(pd.DataFrame(X, columns=names), y)
    assert model.feature_names_in_.tolist() == names
    for method in methods(model):
        refuses(
            lambda m=method: m(pd.DataFrame(X, columns=["a", "b", "c", "e"])),
            ValueError,
            "feature names should match",
        )
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            method(X)
    plain = entry.make().fit(X, y)
    for method in methods(plain):
        refuses(lambda m=method: m(X[:, :3]), ValueError, "X has 3 features, but .* expecting 4")


# ---- life


def test_refit_with_other_data_is_a_fresh_fit(entry, data):
    X, y = data
    model = entry.make().fit(entry.draw(40, 7), entry.targets(entry.draw(40, 7)))
    assert digest(model.fit(X, y)) == digest(entry.make().fit(X, y))


def test_a_failed_refit_leaves_the_old_model(entry, data):
    X, y = data
    model = entry.make().fit(X, y)
    before, state = answers(model, X), digest(model)

    def stop(**_):
        raise UsersError

    failing = [
        lambda: model.fit(X * NAN, y),
        lambda: model.set_params(tol=-1.0).fit(X, y),
    ]
    if entry.weights:
        failing.append(lambda: model.fit(X, y, sample_weight=-np.ones(len(X))))
    if y is not None:
        failing.append(lambda: model.fit(entry.draw(40, 7), y))
    if "callback" in model.get_params():
        other = entry.draw(50, 2)
        failing.append(lambda: model.set_params(callback=stop).fit(other, entry.targets(other)))
    for fit in failing:
        with pytest.raises((ValueError, UsersError)):
            fit()
        assert digest(model) == state
        model.set_params(**entry.make().get_params(deep=False))
    for found, expected in zip(answers(model, X), before, strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy", "save", "save unfitted"])
def test_copies_are_the_same_model(how, entry, data, tmp_path):
    X, y = data
    model = entry.make()
    if how != "save unfitted":
        model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    if how.startswith("save"):
        mlcore.save(model, tmp_path / "model.npz")
        again = mlcore.load(tmp_path / "model.npz")
    else:
        through_pickle = {"pickle": lambda m: pickle.loads(pickle.dumps(m))}
        again = {"copy": copy.copy, "deepcopy": copy.deepcopy, **through_pickle}[how](model)
    assert type(again) is type(model) and vars(again).keys() == vars(model).keys()
    assert repr(again) == repr(model) and contents(vars(again)) == contents(vars(model))
    if how != "save unfitted":
        frame = pd.DataFrame(X, columns=list("abcd"))
        for found, expected in zip(answers(again, frame), answers(model, frame), strict=True):
            assert_array_equal(found, expected)


@only(lambda entry: entry.sparse)
def test_sparse_fits_are_saved_too(entry, tmp_path):
    X = sp.csr_array(sparse_samples(entry))
    model = entry.make().fit(X, entry.targets(sparse_samples(entry)))
    mlcore.save(model, tmp_path / "model.npz")
    again = mlcore.load(tmp_path / "model.npz")
    for found, expected in zip(answers(again, X), answers(model, X), strict=True):
        assert_array_equal(found, expected)


def test_truncated_and_newer_files_are_a_clear_error(entry, data, tmp_path):
    model = entry.make().fit(*data)
    path = tmp_path / "model.npz"
    mlcore.save(model, path)
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not an mlcore model file, or it is truncated"):
            mlcore.load(path)
    newer = pickle.dumps(model).replace(mlcore.__version__.encode(), b"9" * len(mlcore.__version__))
    with pytest.raises(ValueError, match="newer than the mlcore"):
        pickle.loads(newer)


def test_the_same_seed_gives_the_same_bytes(entry, data):
    seeds = {"random_state": 7} if "random_state" in entry.make().get_params() else {}
    first, second = (entry.make().set_params(**seeds).fit(*data) for _ in range(2))
    assert digest(first) == digest(second)


# ---- process. Each script runs alone: threads, forks and signals must not meet pytest's.

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import warnings
warnings.simplefilter("ignore")
import test_every_model as contract
contract.{call}
"""


def run(call, *, timeout=300, wait=True, **environment):
    code = SCRIPT.format(folder=str(Path(__file__).parent), call=call)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parent,
    )
    if not wait:
        return process
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    return out


def larger(entry, n_samples=400, dtype=np.float64):
    X = entry.draw(n_samples, 12, seed=5).astype(dtype)
    return X, entry.targets(X)


def print_digests():
    found = {}
    for name, entry in MODELS.items():
        for dtype in (np.float32, np.float64):
            X, y = larger(entry, dtype=dtype)
            model = entry.make().fit(X, y)
            found[f"{name} {dtype.__name__}"] = [digest(model), *map(digest_of, answers(model, X))]
    print(json.dumps(found))


def digest_of(array):
    return hashlib.sha256(contents(array)).hexdigest()


def test_any_number_of_threads_gives_the_same_bytes():
    one, two, seven = (json.loads(run("print_digests()", OMP_NUM_THREADS=n)) for n in "127")
    assert len(one) == 2 * len(MODELS)
    assert one == two
    assert one == seven


def fork_and_fit(name):
    entry = MODELS[name]
    X, y = larger(entry)
    here = digest(entry.make().fit(X, y))
    child = os.fork()
    if child == 0:
        os._exit(0 if digest(entry.make().fit(X, y)) == here else 1)
    _, status = os.waitpid(child, 0)
    print(json.dumps(os.waitstatus_to_exitcode(status)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", MODELS)
def test_a_forked_child_fits(name):
    assert json.loads(run(f"fork_and_fit({name!r})", timeout=60, OMP_NUM_THREADS="2")) == 0


def test_four_threads_fit_at_once(entry):
    tasks = [entry.draw(150, 5, seed=seed) for seed in range(8)]

    def fit(X):
        return digest(entry.make().fit(X, entry.targets(X)))

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, tasks))
    assert together == [fit(X) for X in tasks]


def interrupted_fit(name):
    """A fit far too long to end; says what the model is after the signal, and the CPU time then."""
    entry = MODELS[name]
    model = entry.fit()
    before = digest(model)
    rng = np.random.default_rng(0)
    X = entry.draw(100_000, 30)
    y = entry.targets(rng.normal(size=X.shape))  # no relation to X: the hardest
    hard = {"C": 1e4, "tol": 1e-9, "epsilon": 1e-3, "nu": 0.3, "Cs": (1e3, 1e4), "gammas": (0.1,)}
    hard |= {"n_clusters": 2000, "batch_size": 10**5, "max_no_improvement": None}
    hard |= entry.endless
    names = model.get_params()
    model.set_params(**{name: value for name, value in hard.items() if name in names})
    print("fitting", flush=True)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        print(json.dumps({"cpu": time.process_time(), "kept": digest(model) == before}))
    else:
        print(json.dumps({"finished": True}))


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.ordinary_build
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads CPU time from /proc")
@pytest.mark.parametrize("name", MODELS)
def test_ctrl_c_stops_within_a_second_and_leaves_the_old_model(name):
    process = run(f"interrupted_fit({name!r})", wait=False, OMP_NUM_THREADS="1")
    try:
        assert process.stdout.readline() == "fitting\n", process.stderr.read()
        time.sleep(1.5)  # into the fit
        used = cpu_seconds(process.pid)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result.get("kept"), result
    # CPU time, since this machine may be doing something else; a tick is 10 ms.
    assert result["cpu"] - used < 1.0


def failing_fits(entry, n_times):
    X = entry.draw(2_000, 12)
    y = entry.targets(X)

    def stop(**_):
        raise UsersError

    ways = [
        ({}, X * NAN, y, {}),
        ({"verbose": -1}, X, y, {}),
        ({"callback": stop}, X, y, {}),
    ]
    if entry.weights:
        ways += [({"tol": -1.0}, X, y, {}), ({}, X, y, {"sample_weight": -np.ones(len(X))})]
    if entry.kernel:
        ways.append(({"kernel": raising}, X, y, {}))
    for i in range(n_times):
        params, samples_, targets, weights = ways[i % len(ways)]
        model = without_gamma(entry).set_params(**params)
        try:
            model.fit(samples_, targets, **weights)
        except (ValueError, TypeError, UsersError):
            continue
        raise AssertionError(f"{params} did not fail")


def resident_bytes():
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)  # what glibc keeps for the next fit is no leak
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def print_leak(name):
    entry = MODELS[name]
    failing_fits(entry, 50)  # caches, pools
    tracemalloc.start()
    resident, traced = resident_bytes(), tracemalloc.get_traced_memory()[0]
    failing_fits(entry, 400)
    resident, traced = resident_bytes() - resident, tracemalloc.get_traced_memory()[0] - traced
    print(json.dumps({"traced": traced, "resident": resident}))


@pytest.mark.ordinary_build
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
@pytest.mark.parametrize("name", MODELS)
def test_four_hundred_failing_fits_leak_nothing(name):
    leak = json.loads(run(f"print_leak({name!r})"))
    # One copy of the data is 192 kB: kept by every fit of one kind, it would make 15 MB.
    assert leak["traced"] < 200_000, leak
    assert leak["resident"] < 8_000_000, leak


@only(lambda entry: "verbose" in entry.make().get_params())
def test_progress_and_callback(entry, data, capsys):
    model = entry.make()
    seen = []
    model.set_params(verbose=2, callback=lambda **step: seen.append(step)).fit(*data)
    assert seen and all(set(s) == {"step", "objective", "change", "seconds"} for s in seen)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= len(seen) and lines[0].startswith(type(model).__name__ + "  ")
    assert all(re.search(r"step \d+  objective .*  change .* s$", line) for line in lines)
