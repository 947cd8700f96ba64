"""Certificates of perceptrons, PAC learners and logistic regression, from what they show."""

import math

import numpy as np
import pytest
from scipy import sparse

from mlcore.bounds import (
    certify,
    online_to_batch_expected,
    pac_bayes_margin_bound,
    sample_compression_bound,
    vc_error_bound,
)
from mlcore.linear_model import KernelPerceptron, LogisticRegression, Perceptron
from mlcore.pac import ConjunctionLearner, FiniteClassLearner, RectangleLearner

DIRECTION = np.array([1.0, 2.0, 0.0])


def two_classes(seed, n=300, gap=0.3, noise=0.0):
    rng = np.random.default_rng([seed, n])
    X = rng.normal(size=(n, 3))
    X[:, 0] += np.where(X @ DIRECTION > 0, gap, -gap)
    y = np.where(X @ DIRECTION > 0, "yes", "no")
    flip = rng.random(n) < noise
    return X, np.where(flip, np.where(y == "yes", "no", "yes"), y)


def named(certificate):
    return {bound.name: bound for bound in certificate.bounds}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shuffle", [False, True])
def test_mistakes_and_their_epochs_tell_a_perceptron(form, shuffle):
    X, y = two_classes(0, noise=0.02)
    model = Perceptron(max_iter=3, shuffle=shuffle, random_state=0).fit(form(X), y)
    bound = named(certify(model, form(X), y, role="train", simultaneous=False))[
        "mistake compression bound"
    ]
    k, trace = len(model.support_), model.mistake_trace_.tolist()
    if shuffle:
        M = sum(trace)
        nats = M * math.log(k) + math.log((M + 1) * (M + 2))
    else:
        nats = sum(math.log((k + 1) * math.comb(k, t)) for t in trace) + math.log(3 * 4)
    rest = np.setdiff1d(np.arange(300), model.support_)
    errors = int((model.predict(X[rest]) != y[rest]).sum())
    expected = sample_compression_bound(k, 300, 0.05, k=errors, log_messages=nats)
    assert bound.value == pytest.approx(expected, rel=1e-9) and bound.value >= expected
    assert bound.inputs == {
        "m": 300, "n_mistaken": k, "mistakes": sum(trace), "errors_on_the_rest": errors,
    }  # fmt: skip


def test_its_mistakes_alone_make_the_same_perceptron():
    """The rule behind the bound: rounds in the order of the epochs, with mistaken rows alone."""
    X, y = two_classes(1, noise=0.05)
    for kind in (Perceptron(max_iter=4), KernelPerceptron(max_iter=4, kernel="poly", gamma=1.0)):
        model = kind.fit(X, y)
        rows = model.support_
        again = type(model)(**model.get_params()).fit(X[rows], y[rows])
        np.testing.assert_array_equal(again.mistake_trace_, model.mistake_trace_)
        np.testing.assert_allclose(
            again.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9
        )


def test_the_compression_bound_fails_at_most_delta_of_the_time():
    fresh, truth = two_classes(10_000, n=5_000, gap=0.2)
    failures, values = 0, []
    for seed in range(25):
        X, y = two_classes(seed, gap=0.2)
        model = Perceptron(max_iter=2).fit(X, y)
        bound = certify(model, X, y, role="train", delta=0.3, simultaneous=False)
        values.append(named(bound)["mistake compression bound"].value)
        failures += 1 - model.score(fresh, truth) > values[-1]
    assert np.mean(values) < 0.4
    assert failures <= 25 * 0.3 + 3.1 * math.sqrt(25 * 0.3 * 0.7)


def test_kernels_pay_for_a_width_from_the_data():
    X, y = two_classes(2)
    values = {}
    for gamma in (0.2, "scale"):
        model = KernelPerceptron(gamma=gamma, max_iter=2).fit(X, y)
        certificate = certify(model, X, y, role="train")
        values[gamma] = named(certificate)["mistake compression bound"]
        assert {"PAC-Bayes margin bound", "Rademacher margin bound"} <= set(named(certificate))
        told = [word for word in values[gamma].assumptions if "bits" in word]
        assert len(told) == 1
    fixed = KernelPerceptron(gamma=0.2, max_iter=2).fit(X, y)
    assert len(fixed.support_) == values[0.2].inputs["n_mistaken"]


def test_other_examples_averages_and_streams_have_no_compression():
    X, y = two_classes(3)
    model = Perceptron(max_iter=2).fit(X, y)
    for other in (X * 3, X[::-1][:299]):
        labels = model.predict(other)
        left = certify(model, other, labels, role="train").left_out
        assert any("mistake compression bound: the examples are not those" in s for s in left)
    averaged = Perceptron(average=True, max_iter=2).fit(X, y)
    kernel = KernelPerceptron(average=True, max_iter=2).fit(X, y)
    stream = Perceptron(max_iter=2).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    for classifier in (averaged, kernel, stream):
        found = named(certify(classifier, X, y, role="train"))
        assert not any("compression" in name for name in found)
        assert "PAC-Bayes margin bound" in found


def test_mistakes_of_one_epoch_are_an_estimate():
    X, y = two_classes(4)
    model = Perceptron(max_iter=1).fit(X, y)
    found = {b.name: b for b in certify(model, X, y, role="train").heuristics}
    estimate = found["mistakes of the only epoch"]
    assert estimate.value == online_to_batch_expected(model.mistakes_, 300)
    assert (estimate.kind, estimate.sample, estimate.delta) == ("expected", "stream", None)
    more = certify(Perceptron(max_iter=2).fit(X, y), X, y, role="train").heuristics
    assert "mistakes of the only epoch" not in {b.name for b in more}


def test_several_classes_are_certified_by_mistakes():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    X = rng.normal(size=(400, 2)) + 6 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    for model in (Perceptron(max_iter=1), KernelPerceptron(gamma=0.1, max_iter=1)):
        certificate = certify(model.fit(X, y), X, y, role="train")
        assert certificate.best.name == "mistake compression bound" and certificate.best.value < 0.4


def test_learners_of_concepts_give_their_guarantee():
    rng = np.random.default_rng(0)
    X = rng.random((400, 2))
    inside = (X > 0.2).all(axis=1).astype(int)
    bits = rng.integers(0, 2, size=(400, 5))
    thresholds = [lambda X, t=t: (np.asarray(X)[:, 0] > t / 10).astype(int) for t in range(10)]
    for learner, data, y in (
        (RectangleLearner(), X, inside),
        (ConjunctionLearner(), bits, bits[:, 0] & bits[:, 1]),
        (FiniteClassLearner(thresholds), X, (X[:, 0] > 0.35).astype(int)),
    ):
        learner.fit(data, y)
        certificate = certify(learner, data, y, role="train", delta=0.1)
        own = learner.guarantee(0.1)
        assert certificate.best == own and certificate.best.inputs == own.inputs
        assert own.name in str(certificate)
        fewer = certify(learner, data[:300], y[:300], role="train", vc_dimension=4)
        assert any("guarantee of the learner: the examples" in s for s in fewer.left_out)
    wrong = RectangleLearner().fit(X, rng.integers(0, 2, size=400))
    found = certify(wrong, X, np.where(wrong.predict(X) == 1, 1, 0), role="train", vc_dimension=4)
    assert "guarantee of the learner" in found.left_out[0]
    errors = RectangleLearner().fit(X, inside ^ (rng.random(400) < 0.05))
    y = inside ^ (np.random.default_rng(1).random(400) < 0.02)
    errors.fit(X, y)
    best = certify(errors, X, y, role="train").best
    assert best.value == vc_error_bound(errors.training_errors_, 400, 4, 0.05)


def test_norm_and_margins_of_logistic_regression():
    X, y = two_classes(5)
    model = LogisticRegression().fit(X, y)
    certificate = certify(model, X, y, role="train", simultaneous=False)
    bound = named(certificate)["PAC-Bayes margin bound"]
    w = np.r_[model.coef_[0], model.intercept_]
    Z = np.c_[X, np.ones(300)]
    signs = np.where(y == "yes", 1, -1)
    cosines = signs * (Z @ w) / np.linalg.norm(w) / np.linalg.norm(Z, axis=1)
    assert bound.value == pytest.approx(pac_bayes_margin_bound(cosines, 0.05), rel=1e-6)
    assert {"Rademacher margin bound", "relative VC bound"} <= set(named(certificate))
