"""Tiny, large and degenerate data give a finite result or a named error."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from contract import MODELS, answers, case, fitted, only
from mlcore.cluster import DBSCAN
from mlcore.kernel_ridge import KernelRidge, NystroemRidge
from mlcore.kernels import TfidfTransformer
from mlcore.linear_model import ElasticNet, LinearRegression
from mlcore.mixture import (
    PLSA,
)
from mlcore.naive_bayes import Discretizer
from mlcore.online import WidrowHoff
from mlcore.svm import SVR, LinearSVR, NuSVR, OneClassSVM

COUNTS = ("PLSA", "MultinomialMixture", "MultinomialNB", "BinomialMixture", "TfidfTransformer")
# For each case, the models that refuse it, by the start of their names, and what they must say.
REFUSALS = {
    1e-310: {
        "CCA": "rescale",
        "FisherVectors": "degenerate",
        "GaussianMixture": "degenerate",
        "MixedMixture": "degenerate",
        "KernelCCA": "constant",
        "LinearDiscriminant": "degenerate",
        "LassoCV": "rescale",
        "LinearRegression-least": "rescale",
        "RiskClassifier": "degenerate",
    },
    1e-160: {
        "FisherVectors": "degenerate",
        "GaussianMixture": "degenerate",
        "MixedMixture": "degenerate",
        "KernelCCA": "constant",
    },
    1e30: {"BinomialMixture": "n_trials"},
    1e150: {
        "FisherVectors": "degenerate",
        "GaussianMixture": "degenerate",
        "MixedMixture": "degenerate",
        "BinomialMixture": "n_trials",
    },
    1e3: {"BinomialMixture": "n_trials"},
    1e8: {"BinomialMixture": "n_trials"},
    -1e15: dict.fromkeys(COUNTS, "Negative values"),
    "mixed scales": {
        "FisherVectors": "degenerate",
        "GaussianMixture": "degenerate",
        "MixedMixture": "degenerate",
        "BinomialMixture": "n_trials",
    },
    "constant column": {"BinomialMixture": "n_trials"},
    "rank one": {"BinomialMixture": "n_trials"},
    "one distinct point": {
        "CCA": "constant",
        "KernelCCA": "constant",
        "SVC-probability": "distinct",
    },
    "all zero": {
        "CCA": "constant",
        "KernelCCA": "constant",
        "SVC-probability": "distinct",
        "PLSA": "no counts",
    },
    **{
        (case, "sigmoid"): dict.fromkeys(
            ("KernelRidge", "NystroemRidge", "KernelPCA-nystroem"),
            "is not positive semi-definite on these samples: .* -",
        )
        for case in ("duplicate columns", "equal rows", "rank one", "one feature")
    },
    ("constant column", "sigmoid"): {
        "KernelRidgeCV-scores": "is not positive semi-definite on these samples: .* -"
    },
    ("many features", "sigmoid"): dict.fromkeys(
        ("KernelRidgeCV", "NystroemRidge", "KernelPCA-nystroem"),
        "is not positive semi-definite on these samples: .* -",
    ),
}


def finite_or_refused(what, name, X, y, entry=None, **params):
    """Fit and ask; every answer is finite, or the model refuses what it must, and says why."""
    entry = entry or MODELS[name]
    refusals = REFUSALS.get(what, {}) | REFUSALS.get((what, params.get("kernel")), {})
    reasons = [why for start, why in refusals.items() if name.startswith(start)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        if reasons:
            with pytest.raises(ValueError, match=reasons[0]):
                entry.make().set_params(**params).fit(X, y)
            return
        model = entry.make().set_params(**params).fit(X, y)
        found = answers(model, X)
    for answer in found:
        assert answer.dtype.kind != "f" or np.isfinite(answer).all()
    for name, value in fitted(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert not np.isnan(value).any(), name


def drawn(name):
    entry = MODELS[name]
    X = entry.draw()
    return X, entry.targets(X)


class RefusesEverything:
    """Not a model: what the tests here must not take for one."""

    def set_params(self, **params):
        return self

    def fit(self, X, y=None):
        raise ValueError(
            "margin is zero: rescale X, infeasible, constant, degenerate, one class, no counts, "
            "Negative values, distinct, n_trials"
        )


@each("name", MODELS)
def test_a_model_that_refuses_everything_is_found(name):
    entry = replace(MODELS[name], make=RefusesEverything)
    X = entry.draw()
    with pytest.raises(ValueError, match="margin is zero"):
        finite_or_refused(1e-30, name, X * 1e-30, entry.targets(X), entry=entry)


@pytest.mark.parametrize("name", MODELS)
def test_tiny_and_large_values(name):
    X, y = drawn(name)
    for scale in (1e-310, 1e-160, 1e-30, 1e30, 1e150):
        with case(scale):
            finite_or_refused(scale, name, X * scale, y)


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


@each("name", MODELS)
def test_any_offset(name):
    X, y = drawn(name)
    for offset in (1e3, 1e8, -1e15):
        with case(offset):
            finite_or_refused(offset, name, X + offset, y)


@each("name", MODELS)
def test_mixed_scales(name):
    X, y = drawn(name)
    finite_or_refused("mixed scales", name, X * [1e-200, 1.0, 1e10, 1e100], y)


KERNELS = "rbf", "linear", "poly", "sigmoid"
DEGENERATE = {
    "constant column": lambda X: np.c_[X, np.full(len(X), 7.0)],
    "duplicate columns": lambda X: np.c_[X, X],
    "equal rows": lambda X: np.repeat(X[::10], 10, axis=0),
    "rank one": lambda X: np.outer(X[:, 0], np.arange(1.0, 6.0)),
    "one distinct point": lambda X: np.ones_like(X),
    "all zero": lambda X: np.zeros_like(X),
    "one feature": lambda X: X[:, :1],
}


every_kernel = pytest.mark.parametrize(
    ("name", "params"),
    [
        (name, params)
        for name, entry in MODELS.items()
        for params in ([{"kernel": kernel} for kernel in KERNELS] if entry.kernel else [{}])
    ],
)


@every_kernel
def test_degenerate_data_give_a_finite_result_or_a_named_error(name, params):
    X, y = drawn(name)
    if "max_iter" in MODELS[name].make().get_params() and not MODELS[name].epochs:
        params = params | {"max_iter": 100_000}
    for what, change in DEGENERATE.items():
        with case(what):
            finite_or_refused(what, name, change(X), y, **params)


@every_kernel
def test_more_features_than_samples(name, params):
    X = MODELS[name].draw(n_features=130)
    finite_or_refused("many features", name, X, MODELS[name].targets(X), **params)


def test_too_few_rows(entry):
    X = entry.draw(1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Discretizer: .* one interval")
            entry.make().fit(X, entry.targets(X))
    except ValueError as error:
        assert re.search("n_samples=1|1 sample|class", str(error))
    else:
        assert entry.one_class or isinstance(
            entry.make(),
            (
                DBSCAN,
                Discretizer,
                KernelRidge,
                NystroemRidge,
                ElasticNet,
                LinearRegression,
                SVR,
                LinearSVR,
                NuSVR,
                OneClassSVM,
                PLSA,
                TfidfTransformer,
                WidrowHoff,
            ),
        )
