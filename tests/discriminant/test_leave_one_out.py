"""Leave-one-out posteriors of linear discriminant analysis against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_those_of_refits(priors, weighted):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    X = rng.normal(size=(24, 3)) + y[:, None]
    w = rng.uniform(0.5, 2.0, 24) if weighted else np.ones(24)
    model = LinearDiscriminantAnalysis(priors=priors).fit(X, y, w)
    expected = []
    for i in range(24):
        rest = np.arange(24) != i
        refit = LinearDiscriminantAnalysis(priors=priors).fit(X[rest], y[rest], w[rest])
        expected.append(refit.predict_log_proba(X[i : i + 1])[0])
    assert_allclose(model.leave_one_out(X, y, w), expected, rtol=1e-9, atol=1e-10)


def test_errors_of_iris_as_printed_by_r():
    X, y = load_iris()
    for unbiased in (False, True):
        model = LinearDiscriminantAnalysis(unbiased=unbiased).fit(X, y)
        assert (model.leave_one_out(X, y).argmax(axis=1) != y).sum() == 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "params"),
    [
        (LinearDiscriminantAnalysis, {"shrinkage": 0.3, "unbiased": True}),
        (LinearDiscriminantAnalysis, {"shrinkage": 1.0, "priors": [0.2, 0.5, 0.3]}),
        (QuadraticDiscriminantAnalysis, {"reg_param": 0.2}),
        (QuadraticDiscriminantAnalysis, {"reg_param": 0.2, "unbiased": False}),
        (QuadraticDiscriminantAnalysis, {"pooling": 0.3, "priors": [0.2, 0.5, 0.3]}),
        (QuadraticDiscriminantAnalysis, {"pooling": 1.0}),
        (QuadraticDiscriminantAnalysis, {"shrinkage": 0.4}),
        (QuadraticDiscriminantAnalysis, {"shrinkage": 0.4, "pooling": 0.3, "reg_param": 0.1}),
    ],
)
def test_regularised_ones_are_those_of_refits(model, params, weighted):
    rng = np.random.default_rng(0)
    y, w = np.arange(24) % 3, rng.uniform(0.5, 2.0, 24) if weighted else np.ones(24)
    X = (rng.normal(size=(24, 3)) + y[:, None]) * [1, 1e-3, 1e2] + 50
    X[:, 0] *= 1 + y
    expected = []
    for i in range(24):
        rest = np.arange(24) != i
        refit = model(**params).fit(X[rest], y[rest], w[rest])
        expected.append(refit.predict_log_proba(X[i : i + 1])[0])
    fitted = model(**params).fit(X, y, w)
    assert_allclose(fitted.leave_one_out(X, y, w), expected, rtol=1e-9, atol=1e-10)


def test_a_class_of_one_sample_is_left_out_whole():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    for params in ({"shrinkage": 0.3}, {"shrinkage": 0.3, "unbiased": True}):
        found = LinearDiscriminantAnalysis(**params).fit(X, y).leave_one_out(X, y)
        refit = LinearDiscriminantAnalysis(**params).fit(X[:8], y[:8])
        assert_allclose(found[8, :2], refit.predict_log_proba(X[8:])[0], rtol=1e-9)
        assert found[8, 2] == -np.inf
    pooled = QuadraticDiscriminantAnalysis(pooling=0.5, unbiased=False).fit(X, y)
    with pytest.raises(ValueError, match="without sample 8"):
        pooled.leave_one_out(X, y)


def test_what_has_no_formula_is_refused():
    X, y = load_iris()
    for model in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        for name in ("auto", "oas"):
            with pytest.raises(ValueError, match=f"number for shrinkage, or None: {name!r}"):
                model(shrinkage=name).fit(X, y).leave_one_out(X, y)
    with pytest.raises(ValueError, match="class_weight=None"):
        model = LinearDiscriminantAnalysis(class_weight="balanced").fit(X, y)
        model.leave_one_out(X, y)
    few = LinearDiscriminantAnalysis().fit(X[::25, :3], y[::25])
    with pytest.raises(ValueError, match="inverse"):
        few.leave_one_out(X[::25, :3], y[::25])


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_a_far_sample_is_answered_to_the_digits_that_are_left(model):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2))
    X[0, 1] = 3e5  # without it, 1e-10 or less of its class's variance stays
    refit = model().fit(X[1:], y[1:]).predict_log_proba(X[:1])[0]
    found = model().fit(X, y).leave_one_out(X, y)[0]
    # Some 1e-14 of the variance is rounding: of what stays, a part of 1e-4.
    assert_allclose(found, refit, rtol=1e-3)
    X[0, 1] = 1e9  # what stays is below rounding
    with pytest.raises(ValueError, match="without sample 0"):
        model().fit(X, y).leave_one_out(X, y)
