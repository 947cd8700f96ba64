"""Offsets of logistic regression after the fit, and scikit-learn's routing of them."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.model_selection import cross_validate

from mlcore import load, save
from mlcore.linear_model import LogisticRegression, Perceptron
from mlcore.naive_bayes import GaussianNB
from mlcore.svm import SVC

METHODS = ("decision_function", "predict", "predict_proba", "predict_log_proba")


def data():
    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(200, 1)), 2 * rng.normal(size=200)
    y = (rng.logistic(size=200) < X[:, 0] + offset).astype(int)
    return X, y, offset


def test_predictions_without_the_offset_of_the_fit_warn_once_a_call(tmp_path):
    X, y, offset = data()
    fitted = LogisticRegression().fit(X, y, offset=offset)
    save(fitted, tmp_path / "model.npz")
    for model in (fitted, load(tmp_path / "model.npz")):
        calls = [lambda method=m, model=model: getattr(model, method)(X) for m in METHODS]
        calls += [lambda model=model: model.score(X, y), lambda model=model: model.verify(X, y)]
        for call in calls:
            with pytest.warns(UserWarning, match="fitted with an offset.*Give offset=") as caught:
                call()
            assert len(caught) == 1
        for method in METHODS:
            getattr(model, method)(X, offset=np.zeros(len(X)))
    plain = LogisticRegression().fit(X, y)
    plain.predict(X)
    LogisticRegression().fit(X, y, offset=0 * offset).predict(X)
    fitted.fit(X, y).predict(X)


def test_score_takes_the_offset():
    X, y, offset = data()
    model = LogisticRegression().fit(X, y, offset=offset)
    expected = np.mean((model.coef_[0] * X[:, 0] + model.intercept_ + offset > 0) == y)
    assert_allclose(model.score(X, y, offset=offset), expected)
    weight = np.arange(200.0)
    right = model.predict(X, offset=offset) == y
    assert_allclose(model.score(X, y, weight, offset=offset), weight @ right / weight.sum())
    assert expected > model.score(X, y, offset=-offset) + 0.2


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_offsets_are_routed_through_a_cross_validation():
    X, y, offset = data()
    model = LogisticRegression().set_fit_request(offset=True).set_score_request(offset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cross_validate(model, X, y, cv=2, params={"offset": offset}, return_indices=True)
    train, test = found["indices"]["train"][0], found["indices"]["test"][0]
    alone = LogisticRegression().fit(X[train], y[train], offset=offset[train])
    expected = alone.score(X[test], y[test], offset=offset[test])
    assert_allclose(found["test_score"][0], expected)


@pytest.mark.usefixtures("routing")
def test_requests_are_of_the_metadata_that_a_method_takes():
    model = LogisticRegression()
    for method in ("fit", "predict", "predict_proba", "predict_log_proba", "decision_function"):
        getattr(model, f"set_{method}_request")(offset=True)
        assert getattr(model.get_metadata_routing(), method).requests["offset"] is True
    model.set_fit_request(sample_weight="w")
    assert model.get_metadata_routing().fit.requests == {"sample_weight": "w", "offset": True}
    naive = GaussianNB().set_partial_fit_request(classes=True)
    assert naive.get_metadata_routing().partial_fit.requests["classes"] is True
    assert Perceptron().set_partial_fit_request(classes=True)
    assert not hasattr(SVC(), "set_partial_fit_request")
    assert not hasattr(LogisticRegression, "set_transform_request")
    with pytest.raises(TypeError, match="LogisticRegression.predict takes no sample_weight to ask"):
        model.set_predict_request(sample_weight=True)
