"""The estimator protocol, on small models made here; the real ones are in every_model."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from each import each
from numpy.testing import assert_array_equal
from scipy import sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning as PeerConvergenceWarning
from sklearn.exceptions import NotFittedError as PeerNotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.estimator_checks import check_estimator

import mlcore
from mlcore.checks import as_labels, as_targets, as_weights
from mlcore.checks.errors import ConvergenceWarning, NotFittedError, peer_class, warn
from mlcore.estimator.model import Classifier, Model, Regressor, Transformer
from mlcore.linear_model import LogisticRegression
from mlcore.svm import SVC, SVCCV, NuSVC


class NearestMean(Classifier, Model):
    """Predicts the class of the nearest mean."""

    def __init__(self, *, shrinkage=0.0):
        self.shrinkage = shrinkage

    def fit(self, X, y, sample_weight=None):
        samples = self._check_X(X, reset=True)
        classes, codes = as_labels(y, len(samples), owner="NearestMean")
        weights = as_weights(sample_weight, len(samples))
        shares = np.zeros((len(classes), len(samples)))
        shares[codes, np.arange(len(samples))] = weights
        present = shares.any(axis=1)
        shares = shares[present] / shares[present].sum(axis=1, keepdims=True)
        centers = (1 - self.shrinkage) * shares @ samples
        self._set_fitted(X, classes_=classes[present], centers_=centers)
        return self

    def predict(self, X):
        samples = self._check_X(X, reset=False)
        distances = ((samples[:, None] - self.centers_) ** 2).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]


class Mean(Regressor, Model):
    """Predicts the mean of the targets."""

    _tags = {"regressor_tags.poor_score": True}

    def fit(self, X, y, sample_weight=None):
        samples = self._check_X(X, reset=True)
        y = as_targets(y, len(samples), owner="Mean")
        mean = np.average(y, weights=as_weights(sample_weight, len(samples)))
        self._set_fitted(X, mean_=float(mean))
        return self

    def predict(self, X):
        return np.full(len(self._check_X(X, reset=False)), self.mean_)


class Doubling(Transformer, Model):
    """Doubles everything, sparse or dense."""

    _tags = {"input_tags.sparse": True, "transformer_tags.preserves_dtype": ["float64", "float32"]}

    def fit(self, X, y=None):
        self._check_X(X, reset=True)
        self._set_fitted(X, factor_=2)
        return self

    def transform(self, X):
        return self._wrap(self._check_X(X, reset=False) * self.factor_, X)

    def _n_out(self):
        return self.n_features_in_


class Nested(Model):
    def __init__(self, *, inner=None, power=1):
        self.inner = inner
        self.power = power


X = np.array([[0.0, 1], [0, 2], [5, 1], [6, 2], [6, 1]])
y = np.array([0, 0, 1, 1, 1])


@pytest.mark.parametrize("model", [NearestMean(), Mean(), Doubling()], ids=repr)
def test_scikit_learns_checks(model):
    check_estimator(model, on_skip=None)


# ---- parameters


def test_parameters_are_read_and_set_by_name_also_inside_others():
    model = Nested(inner=NearestMean(shrinkage=0.25), power=3)
    assert model.get_params(deep=False) == {"inner": model.inner, "power": 3}
    assert model.get_params()["inner__shrinkage"] == 0.25
    assert model.set_params(power=2, inner__shrinkage=0.5) is model
    assert (model.power, model.inner.shrinkage) == (2, 0.5)
    replaced = NearestMean()
    model.set_params(inner=replaced, inner__shrinkage=0.75)
    assert model.inner is replaced and replaced.shrinkage == 0.75


@pytest.mark.parametrize("name", ["powr", "inner__depth", "powr__shrinkage", "power__shrinkage"])
def test_unknown_parameters_are_refused_and_nothing_is_set(name):
    model = Nested(inner=NearestMean())
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(power=9, **{name: 1})
    assert model.power == 1


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(NearestMean()) == "NearestMean()"
    assert repr(NearestMean(shrinkage=0.5)) == "NearestMean(shrinkage=0.5)"
    assert repr(Nested(inner=NearestMean())) == "Nested(inner=NearestMean())"
    assert repr(Nested(power=float("nan"))) == "Nested(power=nan)"


# ---- the fitted state


def test_a_failed_refit_leaves_the_model_as_it_was():
    model = NearestMean().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    before = {name: copy.deepcopy(value) for name, value in vars(model).items()}
    with pytest.raises(ValueError):
        model.fit(np.full((5, 3), np.nan), y)
    with pytest.raises(ValueError):
        model.fit(X[:, :1], y[:2])
    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        assert_array_equal(vars(model)[name], value)


def test_a_refit_replaces_everything_and_keeps_what_is_not_fitted():
    model = NearestMean().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    model.note, model.stale_ = "mine", 1
    model.fit(X[:, :1], y)
    assert model.n_features_in_ == 1 and model.centers_.shape == (2, 1)
    assert not hasattr(model, "feature_names_in_") and not hasattr(model, "stale_")
    assert model.note == "mine" and model.shrinkage == 0.0


def test_fitted_attributes_must_be_called_so():
    with pytest.raises(ValueError, match="underscore.*centers"):
        NearestMean()._set_fitted(X, centers=1)


@each("form", [list, np.asarray, pd.DataFrame, sp.csr_array, sp.coo_matrix])
def test_number_of_features_of_any_input(form):
    model = Doubling().fit(form(X.tolist()))
    assert model.n_features_in_ == 2 and type(model.n_features_in_) is int


def test_columns_are_checked_before_values():
    model = NearestMean().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(np.nan * X, columns=["a", "c"]))
    with pytest.raises(ValueError, match="X has 3 features, but NearestMean is expecting 2"):
        NearestMean().fit(X, y).predict(np.ones((1, 3)))


# ---- errors and warnings


def test_not_fitted_is_scikit_learns_error_too_and_crosses_processes():
    with pytest.raises(NotFittedError, match="This NearestMean instance is not fitted") as caught:
        NearestMean().predict(X)
    assert isinstance(caught.value, PeerNotFittedError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, PeerNotFittedError) and again.args == caught.value.args


def test_warnings_are_scikit_learns_too_and_point_at_the_caller():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn("ConvergenceWarning", "stopped early")
    assert len(seen) == 1 and seen[0].filename == __file__
    assert issubclass(seen[0].category, ConvergenceWarning)
    assert issubclass(seen[0].category, PeerConvergenceWarning)
    assert peer_class("ConvergenceWarning") is peer_class("ConvergenceWarning")


WITHOUT_PEER = """
import sys, warnings
from mlcore.checks.errors import ConvergenceWarning, NotFittedError, warn
from mlcore.estimator.model import Model
class Empty(Model):
    def predict(self, X): return self._check_X(X, reset=False)
try:
    Empty().predict([[1.0]])
except NotFittedError as error:
    assert type(error) is NotFittedError
else:
    raise SystemExit("no error")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warn("ConvergenceWarning", "early")
assert seen[0].category is ConvergenceWarning
assert Empty()._repr_mimebundle_() == {"text/plain": "Empty()"}
assert not any(name.split(".")[0] == "sklearn" for name in sys.modules), "scikit-learn was imported"
"""


def test_without_scikit_learn_the_classes_are_our_own(tmp_path):
    subprocess.run([sys.executable, "-c", WITHOUT_PEER], check=True, cwd=tmp_path)


# ---- scores


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(50, 3)), rng.uniform(0, 2, 50)
    labels = np.where(features[:, 0] + rng.normal(size=50) > 0, "up", "down")
    model = NearestMean().fit(features, labels)
    predicted = model.predict(features)
    assert model.score(features, labels) == pytest.approx(accuracy_score(labels, predicted))
    assert model.score(features, labels, weights) == pytest.approx(
        accuracy_score(labels, predicted, sample_weight=weights)
    )
    targets = rng.normal(size=50)
    mean = Mean().fit(features, targets[::-1] ** 2)
    predicted = mean.predict(features)
    for scale in (1, 1e-200, 1e150):
        mean.mean_ = float(predicted[0] * scale)
        assert mean.score(features, targets * scale, weights * 1e300) == pytest.approx(
            r2_score(targets, predicted, sample_weight=weights)
        )


@each("known", [[0, 1], [0.0, 1.0], [False, True]])
@each("given", [["0", "1"], np.array(["0", "1"], dtype=object), [b"0", b"1"]])
@each("model", [SVC(), NuSVC(), SVCCV(cv=2)])
def test_scores_of_labels_of_another_type_are_refused(model, known, given):
    X = np.arange(8.0)[:, None]
    known, given = np.tile(known, 4), np.tile(np.asarray(given), 4)
    model.fit(X, known)
    kind = type(given.tolist()[0]).__name__
    with pytest.raises(
        TypeError, match=f"{type(model).__name__}: y has labels of type {kind}.*numb"
    ):
        model.score(X, given)
    assert model.score(X, known.astype(float)) == model.score(X, known.astype(int))
    with pytest.raises(TypeError, match="of type number, such as .* of type " + kind):
        model.fit(X, given).score(X, known)


def test_scores_of_constant_targets_and_bad_arguments():
    model = Mean().fit(X, np.full(5, 2.5))
    assert model.score(X, np.full(5, 2.5)) == 1.0
    assert model.score(X, np.full(5, 3.5)) == 0.0
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y[:3])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NearestMean().fit(X, y).score(X, y[:3])
    with pytest.raises(ValueError, match="sample_weight"):
        NearestMean().fit(X, y).score(X, y, sample_weight=[-1] * 5)


# ---- pickling and cloning


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, through_pickle])
def test_copies_predict_alike_and_carry_no_version(again):
    model = NearestMean(shrinkage=0.1).fit(X, y)
    copied = again(model)
    assert vars(copied).keys() == vars(model).keys()
    assert_array_equal(copied.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("written", "accepted"),
    [("0.0.9", True), (mlcore.__version__, True), ("999.0", False), ("0.999.dev1", False)],
)
def test_pickles_of_a_newer_version_are_refused(written, accepted):
    model = NearestMean().fit(X, y)
    state = {**model.__getstate__(), "_mlcore_version": written}
    fresh = NearestMean()
    if accepted:
        fresh.__setstate__(state)
        assert_array_equal(fresh.predict(X), model.predict(X))
        return
    with pytest.raises(ValueError, match=f"pickled by mlcore {written}.*install mlcore>={written}"):
        fresh.__setstate__(state)
    assert vars(fresh) == vars(NearestMean())


def test_clones_keep_requests_but_no_fit():
    model = NearestMean(shrinkage=0.5).fit(X, y).set_fit_request(sample_weight=True)
    model.set_score_request(sample_weight="w").set_score_request()
    assert not hasattr(model, "set_partial_fit_request")
    assert not hasattr(Doubling, "set_fit_request")
    cloned = clone(model)
    assert cloned.shrinkage == 0.5 and not hasattr(cloned, "centers_")
    routing = cloned.get_metadata_routing()
    assert routing.fit.requests == {"sample_weight": True}
    assert routing.score.requests == {"sample_weight": "w"}
    with pytest.raises(TypeError, match="NearestMean.fit takes no offset to ask for, but sample_w"):
        model.set_fit_request(offset=True)
    assert clone(model.fit(X, y)).get_metadata_routing().fit.requests == {"sample_weight": True}


# ---- output


def test_transformers_return_frames_on_demand():
    frame = pd.DataFrame(X, columns=["a", "b"], index=list("vwxyz"))
    model = Doubling().fit(frame)
    assert type(model.transform(frame)) is np.ndarray
    wrapped = model.set_output(transform="pandas").transform(frame)
    assert wrapped.columns.tolist() == ["doubling0", "doubling1"]
    assert wrapped.index.tolist() == list("vwxyz")
    assert_array_equal(wrapped.to_numpy(), 2 * X)
    polars = clone(model).set_output(transform="polars").fit(frame).transform(frame)
    assert_array_equal(polars.to_numpy(), 2 * X)
    with pytest.raises(ValueError, match="transform='numpy' must be"):
        model.set_output(transform="numpy")


def test_html_in_a_notebook():
    shown = NearestMean(shrinkage=0.5)._repr_mimebundle_()
    assert shown["text/plain"] == "NearestMean(shrinkage=0.5)"
    assert "NearestMean" in shown["text/html"]


def test_a_subclass_asks_for_what_its_own_method_takes():
    class Plain(SVC):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.raises(TypeError, match="Plain.fit takes no sample_weight"):
        Plain().set_fit_request(sample_weight=True)


def test_requests_of_older_pickles_are_of_sample_weight():
    model = LogisticRegression()
    model.__setstate__(model.__getstate__() | {"_requests": {"fit": True}})
    assert model._requests == {"fit": {"sample_weight": True}}
