"""RiskClassifier: costs and rejection, with estimators of mlcore and of scikit-learn."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from mlcore.bayes import RiskClassifier, minimum_risk
from mlcore.cluster import KMeans
from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis

X, CODES = load_iris()
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
ESTIMATORS = [LinearDiscriminantAnalysis(), LogisticRegression(max_iter=1000)]
LOSS = np.array([[0, 1, 5.0, 0.2], [1, 0, 2, 0.2], [9, 1, 0, 0.2]])
ACTIONS = ["setosa", "versicolor", "virginica", "ask"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_predictions_are_the_actions_of_least_risk(estimator):
    model = RiskClassifier(estimator, LOSS, ACTIONS).fit(X, Y)
    p = estimator.__class__(**estimator.get_params()).fit(X, Y).predict_proba(X)
    found = model.decide(X)
    assert_array_equal(found.all_risks, p @ LOSS)
    assert_array_equal(model.predict(X), np.array(ACTIONS)[minimum_risk(p, LOSS).actions])
    assert {"ask", "setosa"} < set(model.predict(X).tolist())
    codes = model.decide(X).actions
    assert_allclose(model.mean_loss(X, Y), LOSS[CODES, codes].mean(), rtol=1e-14)
    weights = np.arange(150.0)
    expected = np.average(LOSS[CODES, codes], weights=weights)
    assert_allclose(model.mean_loss(X, Y, weights), expected, rtol=1e-14)
    assert not hasattr(estimator, "classes_"), "the estimator itself is not fitted"


def test_by_default_an_error_costs_one():
    model = RiskClassifier(LinearDiscriminantAnalysis()).fit(X, Y)
    alone = LinearDiscriminantAnalysis().fit(X, Y)
    assert_array_equal(model.predict(X), alone.predict(X))
    assert model.score(X, Y) == alone.score(X, Y)
    assert_allclose(model.mean_loss(X, Y), 1 - alone.score(X, Y), rtol=1e-14)


def test_costs_lower_the_loss_that_they_measure():
    costly = RiskClassifier(LinearDiscriminantAnalysis(), LOSS, ACTIONS).fit(X[::2], Y[::2])
    plain = RiskClassifier(LinearDiscriminantAnalysis()).fit(X[::2], Y[::2])
    codes = plain.decide(X[1::2]).actions
    assert costly.mean_loss(X[1::2], Y[1::2]) <= LOSS[CODES[1::2], codes].mean()


def test_weights_and_parameters_reach_the_estimator():
    weights = np.where(CODES == 1, 0.0, 1.0)
    model = RiskClassifier(LinearDiscriminantAnalysis()).fit(X, Y, weights)
    assert model.classes_.tolist() == ["setosa", "virginica"]
    grid = {"estimator__shrinkage": [0.0, 0.5], "loss": [1 - np.eye(3)]}
    search = GridSearchCV(RiskClassifier(LinearDiscriminantAnalysis()), grid, cv=3).fit(X, Y)
    assert search.best_params_["estimator__shrinkage"] in (0.0, 0.5)


def test_sparse_rows_are_the_estimators_business():
    from sklearn.utils import get_tags

    sparse = RiskClassifier(LogisticRegression())
    assert get_tags(sparse).input_tags.sparse
    assert not get_tags(RiskClassifier(GaussianProcessClassifier())).input_tags.sparse


@each(
    ("parameters", "error", "message"),
    [
        ({"estimator": KMeans()}, TypeError, "predict_proba"),
        ({"estimator": LinearDiscriminantAnalysis}, TypeError, "predict_proba"),
        ({"loss": np.eye(2)}, ValueError, "each of the 3"),
        ({"loss": LOSS}, ValueError, "name what each of them is"),
        ({"loss": LOSS, "actions": ["a"]}, ValueError, "loss has 4 columns"),
        ({"loss": [[np.nan] * 3] * 3}, ValueError, "NaN"),
    ],
)
def test_refusals_leave_the_model_as_it_was(parameters, error, message):
    model = RiskClassifier(LinearDiscriminantAnalysis()).fit(X, Y)
    before = model.predict(X)
    model.set_params(**parameters)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="label 'rose'"):
        model.mean_loss(X[:1], ["rose"])
