"""Tiny, large and degenerate data give a finite result or a named error."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from contract import DEGENERACY, MODELS, answers, fitted, only, samples
from mlcore.mixture import (
    PLSA,
)
from mlcore.svm import SVR, NuSVR, OneClassSVM


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
        assert isinstance(entry.make(), (SVR, NuSVR, OneClassSVM, PLSA))
