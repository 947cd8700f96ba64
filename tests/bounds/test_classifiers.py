"""What is certified: classifiers, functions, predictions; and what is seen inside of them."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from each import each
from scipy import sparse
from sklearn import svm as peers
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, IsolationForest, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import ElasticNetCV as PeerElasticNetCV
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture as PeerMixture
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlcore.bounds import certify, compare_classifiers, sample_compression_bound
from mlcore.bounds.certificates.classifier_margins import as_machine
from mlcore.bounds.certificates.freshness import _in_place
from mlcore.cluster import KernelKMeans, KMeans
from mlcore.linear_model import ElasticNetCV, LassoCV, LogisticRegressionCV
from mlcore.mixture import BernoulliMixture, GaussianMixture
from mlcore.svm import SVC, SVCCV, SVR, LinearSVC, OneClassSVM


def two_classes(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, 0)


X, Y = two_classes()
FRESH, TRUTH = two_classes(80, seed=1)


@each(
    ("model", "what"),
    [
        (KMeans(2, random_state=0), "clusterer"),
        (KernelKMeans(2, random_state=0), "clusterer"),
        (PeerKMeans(2, n_init=1), "clusterer"),
        (GaussianMixture(2, random_state=0), "density estimator"),
        (BernoulliMixture(2, random_state=0), "density estimator"),
        (PeerMixture(2), "density estimator"),
        (SVR(), "regressor"),
        (LinearRegression(), "regressor"),
        (OneClassSVM(), "outlier detector"),
        (IsolationForest(n_estimators=3), "outlier detector"),
        (make_pipeline(StandardScaler(), PeerKMeans(2, n_init=1)), "clusterer"),
        (GridSearchCV(peers.SVR(), {"C": [1.0]}, cv=2), "regressor"),
        (PCA(2), "fitted classifier"),
        (StandardScaler(), "fitted classifier"),
        (make_pipeline(StandardScaler()), "no predict"),
    ],
)
def test_what_is_no_classifier_is_refused(model, what):
    data = (X > 0).astype(float) if isinstance(model, BernoulliMixture) else X
    model.fit(data, Y)
    for role in ("test", "validation", "train"):
        with pytest.raises(
            ValueError, match=rf"estimator=.*must be a fitted classifier.*{what}|{what}"
        ):
            certify(model, FRESH, TRUTH, role=role)
    with pytest.raises(ValueError, match="second=.*must be a fitted classifier"):
        compare_classifiers(TRUTH, model, FRESH, TRUTH)


@each("wrong", [SVC, "predictions", None, 3, object(), np.float64(1)])
def test_what_cannot_predict_is_refused(wrong):
    with pytest.raises(ValueError, match="estimator=.*must be a fitted classifier"):
        certify(wrong, FRESH, TRUTH)


def test_predictions_and_labels_may_be_columns_of_a_frame():
    machine = SVC().fit(X, Y)
    predicted = machine.predict(FRESH)
    expected = certify(predicted, y=TRUTH)
    for names in ([0, 1], ["no", "yes"]):
        said, true = (pd.Series(np.array(names)[v]) for v in (predicted, TRUTH))
        for a, b in [
            (said, true),
            (said.astype("category"), true),
            (said, true.set_axis(said.index + 9)),
        ]:
            found = certify(a, y=b)
            assert found.best.value == expected.best.value and found.inputs == expected.inputs
        assert compare_classifiers(said, true, y=true).counts["first"] == (predicted != TRUTH).sum()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fresh = pd.DataFrame(FRESH, columns=frame.columns)
    found = certify(SVC().fit(frame, pd.Series(Y)), fresh, pd.Series(TRUTH))
    assert found.best.value == expected.best.value


def test_errors_say_what_to_do():
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, refit=False).fit(X, Y)
    machine = LogisticRegression().fit(X, Y)
    p = machine.predict_proba(FRESH)
    behind_steps = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    for call, what in [
        (lambda: certify(search, FRESH, TRUTH), r"GridSearchCV.*refit=False"),
        (lambda: certify(TRUTH, TRUTH), r"y=None must be the true labels.* as y="),
        (lambda: compare_classifiers(TRUTH, TRUTH, TRUTH), r"y=None must be .* as y="),
        (lambda: certify(p[:, 1], y=TRUTH), r"^predictions=0\.\d+ must be .*probabilities"),
        (lambda: certify(lambda Z: p[:, 1], FRESH, TRUTH), r"<lambda>: predictions=0\.\d+ must be"),
        (lambda: certify(p, y=TRUTH), r"shape \(80, 2\) must be 80 labels"),
        (lambda: certify(TRUTH[:0], y=TRUTH[:0]), "at least one label"),
        (lambda: certify(behind_steps, X, Y, role="train"), "not behind steps that were fitted"),
        (lambda: certify(iter(TRUTH), y=TRUTH), "array of predictions"),
    ]:
        with pytest.raises(ValueError, match=what):
            call()


def test_cross_validated_predictions_are_spoken_of():
    predicted = cross_val_predict(SVC(), X, Y, cv=3)
    assert "cross-validated" in str(certify(predicted, y=Y)).splitlines()[1]
    assert "cross-validated" not in str(certify(LogisticRegression().fit(X, Y), FRESH, TRUTH))


def test_a_regressor_is_taken_with_a_loss():
    machine = LinearRegression().fit(X, Y)
    found = certify(machine, FRESH, TRUTH, loss=lambda y, p: np.minimum(1, np.abs(y - p)))
    assert found.best.value < 1
    with pytest.raises(ValueError, match="predictions=.*labels"):
        certify(lambda A: np.full(len(A), 0.5), FRESH, TRUTH)


def test_predictions_and_functions_count_as_the_classifier_does():
    machine = SVC().fit(X, Y)
    expected = certify(machine, FRESH, TRUTH)
    predictions = machine.predict(FRESH)
    for given in (predictions, predictions.tolist(), tuple(predictions)):
        for found in (certify(given, y=TRUTH), certify(given, None, TRUTH)):
            assert found.bounds == expected.bounds and found.interval == expected.interval
            assert found.estimator == "predictions"
            assert str(found).startswith("Unknown: whether these examples are fresh.")
    by_function = certify(machine.predict, FRESH, TRUTH)
    assert by_function.bounds == expected.bounds and by_function.estimator == "predict"
    trained = certify(machine.predict(X), y=Y, role="train", n_hypotheses=5)
    assert trained.best.name == "finite-class bound"
    for call in (
        lambda: certify(predictions),
        lambda: certify(machine, FRESH),
        lambda: certify(machine, y=TRUTH),
        lambda: certify(predictions[:5], y=TRUTH),
        lambda: certify(predictions, y=TRUTH, X_train=X, y_train=Y, n_hypotheses=3),
        lambda: certify([], y=[]),
        lambda: compare_classifiers(machine, predictions, y=TRUTH),
    ):
        with pytest.raises(ValueError, match=r"^(y|X|y_train|predictions)\b.* must be "):
            call()


@pytest.mark.parametrize(
    ("labels", "said", "names"),
    [
        (["a", "b"], [0, 1], ("str", "number")),
        ([0, 1], ["a", "b"], ("number", "str")),
        (np.array(["a", "b"], object), [0, 1], ("str", "number")),
        ([b"a", b"b"], ["a", "b"], ("bytes", "str")),
    ],
)
def test_labels_of_another_type_are_refused_with_both_types(labels, said, names):
    with pytest.raises(ValueError, match="y=.*type") as error:
        certify(said, y=labels)
    assert all(name in str(error.value) for name in names)


def fitted_on(A, b):
    """Machines that keep training examples, each behind something."""
    scaled = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [0.1, 1.0, 10.0]}
    yield scaled
    yield make_pipeline(StandardScaler(), peers.SVC())
    yield make_pipeline(PCA(2, whiten=True), peers.SVC())
    yield make_pipeline(StandardScaler(), PCA(2), KNeighborsClassifier(3))
    yield KNeighborsClassifier(3)
    yield GridSearchCV(scaled, grid, cv=2)
    yield GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2)
    yield RandomizedSearchCV(SVC(), {"C": [0.1, 1.0, 3.0]}, n_iter=2, cv=2, random_state=0)
    yield make_pipeline(StandardScaler(), SVCCV(Cs=[1.0, 2.0], cv=2))
    yield CalibratedClassifierCV(peers.SVC(), cv=2, method="sigmoid")
    yield BaggingClassifier(peers.SVC(), n_estimators=2, max_features=0.7, random_state=0)
    yield VotingClassifier([("a", peers.SVC()), ("b", LogisticRegression())])
    yield OneVsRestClassifier(peers.SVC())


@pytest.mark.parametrize("i", range(13))
def test_training_examples_are_found_behind_pipelines_searches_and_ensembles(i):
    model = list(fitted_on(X, Y))[i].fit(X, Y)
    for role in ("test", "validation"):
        with pytest.raises(ValueError, match=f'(?s)X=.*no training examples for role="{role}"'):
            certify(model, X, Y, role=role)
    assert certify(model, FRESH, TRUTH).unsure is None
    # A few training examples among the fresh ones are told of in the first line.
    kept = np.arange(40)
    mixed = certify(model, np.vstack([FRESH, X[kept]]), np.append(TRUTH, Y[kept]))
    unseen = i in (2, 3)  # rounding of the principal axes: rows are found in their places only
    assert unseen or str(mixed).startswith("Doubtful: whether these examples are fresh.")


def test_the_order_of_training_examples_hides_nothing():
    order = np.random.default_rng(0).permutation(len(X))
    for model in (SVC(), make_pipeline(StandardScaler(), peers.SVC()), KNeighborsClassifier()):
        with pytest.raises(ValueError, match="the fit was to these"):
            certify(model.fit(X, Y), X[order], Y[order])
    for model in (SVC(C=1e-3), KNeighborsClassifier()):  # a part of them is no fresh example
        with pytest.raises(ValueError, match="the fit was to these"):
            certify(model.fit(X, Y), X[order][:60], Y[order][:60])
    rows = sparse.csr_array(X)
    for shown in (X[order], X[order][:50].copy()):
        with pytest.raises(ValueError, match="it is X_train"):
            certify(LogisticRegression().fit(X, Y), shown, Y[order][: len(shown)], X_train=X)
    with pytest.raises(ValueError, match="the fit was to these"):
        certify(SVC().fit(rows, Y), rows[order], Y[order])
    with pytest.raises(ValueError, match="first.*|X=.*"):
        compare_classifiers(SVC().fit(X, Y), Y, X, Y)


def test_rows_that_repeat_themselves_are_not_mistaken():
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 2, (2, 300, 3)).astype(float)
    labels = [np.where(T.sum(axis=1) > 1, 1, 0) for T in (A, B)]
    noisy = np.where(rng.random(300) < 0.1, 1 - labels[0], labels[0])
    for model in (SVC(), KNeighborsClassifier()):
        found = certify(model.fit(A, noisy), B, labels[1])
        assert found.unsure.startswith("Doubtful: whether these examples are fresh. 300 of 300")
    assert certify(LogisticRegression().fit(A, noisy), B, labels[1], X_train=A).unsure is not None


def test_what_cannot_be_known_is_the_first_line():
    machine = LogisticRegression().fit(X, Y)
    found = certify(machine, FRESH, TRUTH)
    for text in (str(found), found.summary()):
        assert text.startswith("Unknown: whether these examples are fresh.")
    assert "Unknown: whether these examples are fresh." in found._repr_html_()
    assert found.to_dict()["unsure"] == found.unsure
    assert certify(machine, FRESH, TRUTH, X_train=X).unsure is None
    assert certify(SVC().fit(X, Y), FRESH, TRUTH).unsure is None
    assert certify(make_pipeline(StandardScaler(), machine).fit(X, Y), FRESH, TRUTH).unsure
    K = X @ X.T
    assert certify(SVC(kernel="precomputed").fit(K, Y), FRESH @ X.T, TRUTH).unsure


def searches():
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.5]}
    yield GridSearchCV(SVC(), grid, cv=2), 6
    yield RandomizedSearchCV(SVC(), grid, n_iter=4, cv=2, random_state=0), 4
    yield HalvingGridSearchCV(peers.SVC(), grid, cv=2, factor=2, random_state=0), 6
    yield SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 0.5], cv=2), 6
    yield GridSearchCV(SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.5], cv=2), {"tol": [1e-3, 1e-4]}), 6
    yield make_pipeline(StandardScaler(), SVCCV(Cs=[0.1, 1.0], gammas=[0.5], cv=2)), 2
    yield SVC(), 1
    yield LogisticRegressionCV(Cs=[0.1, 1.0], l1_ratio=[0.0, 0.5, 1.0], cv=2), 6
    yield LogisticRegressionCV(Cs=4, cv=2), 4
    yield GridSearchCV(LinearSVC(), {"C": [0.1, 1.0, 10.0]}, cv=2), 3


@pytest.mark.parametrize("i", range(10))
def test_candidates_of_searches_are_counted(i):
    model, n = list(searches())[i]
    model.fit(X, Y)
    found = certify(model, FRESH, TRUTH, role="validation")
    assert found.n_candidates == n
    assert math.isclose(found.best.delta, 0.05 / n, rel_tol=1e-15)
    assert n == 1 or f"{n} candidates" in str(found)
    assert certify(model, FRESH, TRUTH, role="validation", n_candidates=3).n_candidates == 3
    assert certify(model, FRESH, TRUTH).n_candidates == 1  # they were chosen by other examples


@each(
    ("model", "n"),
    [
        (ElasticNetCV(l1_ratio=[0.2, 1.0], alphas=7, cv=2), 14),
        (ElasticNetCV(alphas=[0.1, 1.0, 3.0], cv=2), 3),
        (LassoCV(alphas=5, cv=3), 5),
        (PeerElasticNetCV(l1_ratio=[0.2, 0.5, 1.0], alphas=4, cv=2), 12),
        (make_pipeline(StandardScaler(), LassoCV(alphas=6, cv=2)), 6),
    ],
)
def test_penalties_and_shares_of_a_regression_are_candidates(model, n):
    loss = {"loss": lambda y, f: np.minimum((y - f) ** 2, 1)}
    model.fit(X, Y)
    found = certify(model, FRESH, TRUTH, role="validation", **loss)
    assert found.n_candidates == n and math.isclose(found.best.delta, 0.05 / n / 2)
    assert certify(model, FRESH, TRUTH, **loss).n_candidates == 1


def test_a_searched_machine_compresses_at_its_share_of_delta():
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 0.5]}
    model = GridSearchCV(SVC(), grid, cv=2).fit(X, Y)
    k = len(model.best_estimator_.support_)
    for search in (model, SVCCV(Cs=grid["C"], gammas=grid["gamma"], cv=2).fit(X, Y)):
        machine = getattr(search, "best_estimator_", search)
        found = {b.name: b for b in certify(search, X, Y, role="train").bounds}
        bound = found["sample compression bound"]
        assert bound.inputs["bits"] == 0
        outside = np.delete(np.arange(len(X)), machine.support_)
        errors = int((machine.predict(X[outside]) != Y[outside]).sum())
        k = len(machine.support_)
        plain = sample_compression_bound(k, len(X), bound.delta, k=errors)
        assert bound.value == plain and 0.05 / 18 >= bound.delta > 0.05 / 18 * (1 - 1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_support_vectors_are_known_in_their_places_but_for_rounding(kind):
    places = np.array([1, 4, 5])
    machine = SimpleNamespace(support_=places, shape_fit_=X.shape)
    rounded = X[places] * (1 + 1e-9)
    assert _in_place(machine, kind(rounded), kind(X))
    assert not _in_place(machine, kind(X[places] * (1 + 1e-5)), kind(X))
    assert not _in_place(machine, kind(rounded), kind(X[1:]))
    assert not _in_place(machine, kind(rounded), kind(X[:-1]))  # not the samples of the fit


def test_sparse_coefficients_are_no_hyperplane_of_the_margin_bounds():
    model = LogisticRegression().fit(X, Y)
    assert as_machine(model, counted=False).linear
    assert as_machine(model.sparsify(), counted=False) is None
    assert as_machine(LinearRegression().fit(X, Y), counted=False) is None  # no classes
