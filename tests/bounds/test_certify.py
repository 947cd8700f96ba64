"""A certificate against the calculators, against simulation, and against those who would cheat."""

import json
import math
import pickle

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import beta
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC as LibsvmSVC
from sklearn.svm import LinearSVC

from mlcore.bounds import (
    Bound,
    bernstein_epsilon,
    binomial_tail_inversion,
    certify,
    clopper_pearson,
    hoeffding_bentkus_bound,
    hoeffding_epsilon,
    kl_inverse_upper,
    mean_loss_interval,
    occam_bound,
    pac_bayes_margin_bound,
    rademacher_margin_bound,
    sample_compression_bound,
    vc_error_bound,
)
from mlcore.kernels import Kernel, gram_matrix
from mlcore.svm import SVC, SVCCV, NuSVC
from mlcore.svm import LinearSVC as LinearMachine


class Constant:
    """Says the same of every example."""

    def __init__(self, label=1):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


def counted(k, m):
    """Examples of which `Constant` gets k wrong."""
    return np.arange(m, dtype=float)[:, None], np.where(np.arange(m) < k, 0, 1)


def two_classes(n, d=3, seed=0, noise=0.0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) * noise > 0.1, "yes", "no")
    return X, y


def named(certificate):
    return {bound.name: bound for bound in certificate.bounds}


@pytest.mark.parametrize(("k", "m", "delta"), [(30, 1000, 0.05), (0, 7, 0.3), (5, 5, 1e-9)])
def test_a_test_set_gives_the_three_bounds_of_the_calculators(k, m, delta):
    certificate = certify(Constant(), *counted(k, m), delta=delta)
    binomial, chernoff, hoeffding = certificate.bounds
    assert binomial.value == binomial_tail_inversion(k, m, delta)
    assert_allclose(chernoff.value, kl_inverse_upper(k / m, -math.log(delta) / m), rtol=1e-12)
    plain = k / m + hoeffding_epsilon(m, delta, two_sided=False)
    assert_allclose(hoeffding.value, min(1, plain), rtol=1e-12)
    assert binomial.value <= chernoff.value <= hoeffding.value
    assert certificate.best is binomial
    assert {bound.delta for bound in certificate.bounds} == {delta}
    lower, upper = certificate.interval
    assert (lower.value, upper.value) == clopper_pearson(k, m, delta)
    assert certificate.lower is lower and lower.delta == upper.delta == delta / 2


def test_the_illustration():
    bounds = certify(Constant(), *counted(30, 1000)).bounds
    assert [round(b.value, 5) for b in bounds] == [0.04047, 0.04512, 0.06870]
    chosen = certify(Constant(), *counted(30, 1000), role="validation", n_candidates=20)
    assert_allclose(chosen.best.delta, 0.0025, rtol=1e-15)
    assert_allclose(chosen.best.value, binomial_tail_inversion(30, 1000, 0.0025), rtol=1e-12)
    assert "20 candidates" in str(chosen) and chosen.best.sample == "validation"


def test_several_classes_texts_and_other_libraries_are_counted_alike():
    X, y = two_classes(90)
    y = np.where(X[:, 1] > 1, "maybe", y)
    for machine in (SVC(C=10), KNeighborsClassifier(), LogisticRegression(), LibsvmSVC()):
        machine.fit(X[:60], y[:60])
        certificate = certify(machine, X[60:], y[60:])
        k = int((machine.predict(X[60:]) != y[60:]).sum())
        assert certificate.best.value == binomial_tail_inversion(k, 30, 0.05)
        assert certificate.best.inputs == {"k": k, "m": 30}
    assert certify(Constant(), [[0.0]] * 4, [True] * 4).inputs["k"] == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial", "laplacian", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margins_of_the_augmented_machine_against_dense_matrices(kernel, dtype):
    X, y = two_classes(80, noise=1.0)
    X = X.astype(dtype)
    machine = SVC(kernel=kernel, C=2.0, gamma=0.25, coef0=1.0).fit(X, y)
    options = {"kernel": kernel, "gamma": 0.25, "degree": 3, "coef0": 1.0}
    K = gram_matrix(X.astype(np.float64), **options)
    weights = np.zeros(80)
    weights[machine.support_] = machine.dual_coef_[0]
    bias = machine.intercept_[0]
    # With the constant feature the kernel is k + 1, which is the same function: w there is the
    # combination of the support vectors' images and of the constant, whose weight is b.
    f = K @ weights + bias
    norm = np.sqrt(weights @ K @ weights + bias**2)
    cosines = np.where(y == "yes", 1, -1) * f / (norm * np.sqrt(K.diagonal() + 1))
    bounds = named(certify(machine, X, y, role="train", simultaneous=False))
    rtol = 1e-9 if dtype is np.float64 else 1e-4
    found = bounds["PAC-Bayes margin bound"]
    assert_allclose(found.value, pac_bayes_margin_bound(cosines, 0.05), rtol=rtol)
    assert_allclose(found.inputs["mean_cosine"], cosines.mean(), rtol=rtol)
    margin = bounds["Rademacher margin bound"]
    rho = margin.inputs["rho"]
    assert margin.inputs["margin_error"] == np.mean(cosines - 1e-6 * (dtype is np.float32) <= rho)
    assert margin.value == rademacher_margin_bound(
        margin.inputs["margin_error"], 80, 0.05, radius=1.0, rho=rho, rho_max=1.0, uniform=True
    )


class CountedProducts(Kernel):
    """x.y, with the number of values computed."""

    positive_semidefinite = True
    n_values = 0

    def __call__(self, X, Y):
        self.n_values += len(X) * len(Y)
        return X @ Y.T


def test_training_examples_pass_the_kernel_twice():
    X, y = two_classes(200, noise=1.0)
    kernel = CountedProducts()
    machine = SVC(kernel=kernel).fit(X, y)
    kernel.n_values = 0
    kernel.diagonal(X)
    diagonal, kernel.n_values = kernel.n_values, 0
    bounds = named(certify(machine, X, y, role="train"))
    assert {"PAC-Bayes margin bound", "Rademacher margin bound"} <= set(bounds)
    # The labels, and the decision function.
    assert kernel.n_values == 2 * len(X) * len(machine.support_) + diagonal


@pytest.mark.parametrize("make", [LogisticRegression, LinearSVC, lambda: LibsvmSVC(kernel="rbf")])
def test_machines_of_scikit_learn_show_their_margins(make):
    X, y = two_classes(200, noise=1.0)
    machine = make().fit(X, y)
    bounds = named(certify(machine, X, y, role="train", simultaneous=False))
    if hasattr(machine, "coef_"):
        w, b = machine.coef_[0], machine.intercept_[0]
        z = np.column_stack([X, np.ones(200)])
        cosines = z @ np.append(w, b) / np.linalg.norm(np.append(w, b)) / np.linalg.norm(z, axis=1)
        cosines = np.where(y == "yes", 1, -1) * cosines
        delta = 0.05
    else:  # its width came from the data: 64 bits
        K = gram_matrix(X, kernel="rbf", gamma=machine._gamma)
        rows, weights = machine.support_, machine.dual_coef_[0]
        norm = weights @ K[np.ix_(rows, rows)] @ weights + machine.intercept_[0] ** 2
        f = K[:, rows] @ weights + machine.intercept_[0]
        cosines, delta = np.where(y == "yes", 1, -1) * f / np.sqrt(2 * norm), 0.05 * 2.0**-64
    found = bounds["PAC-Bayes margin bound"]
    assert_allclose(found.value, pac_bayes_margin_bound(cosines, delta), rtol=1e-9)


def test_the_best_rho_is_the_best_of_all():
    X, y = two_classes(4000, noise=0.3)
    found = named(certify(LogisticRegression().fit(X, y), X, y, role="train", simultaneous=False))
    margin = found["Rademacher margin bound"]
    assert margin.value < 1
    machine = LogisticRegression().fit(X, y)
    w = np.append(machine.coef_[0], machine.intercept_[0])
    z = np.column_stack([X, np.ones(4000)])
    cosines = np.where(y == "yes", 1, -1) * (z @ w) / np.linalg.norm(w) / np.linalg.norm(z, axis=1)
    for rho in np.linspace(0.001, 1, 200):
        error = np.mean(cosines <= rho)
        other = rademacher_margin_bound(
            error, 4000, 0.05, radius=1.0, rho=rho, rho_max=1.0, uniform=True
        )
        assert margin.value <= other + 1e-12


def test_support_vectors_compress():
    X, y = two_classes(300)
    machine = SVC(kernel="rbf", gamma=0.5, C=100.0).fit(X, y)
    found = named(certify(machine, X, y, role="train", simultaneous=False))
    n_sv = len(machine.support_)
    bound = found["sample compression bound"]
    assert bound.value == sample_compression_bound(n_sv, 300, 0.05)
    told = named(certify(SVC(C=100.0).fit(X, y), X, y, role="train", simultaneous=False))
    bits = told["sample compression bound"].inputs
    assert bits["bits"] == 64
    assert_allclose(
        told["sample compression bound"].value,
        sample_compression_bound(bits["n_sv"], 300, 0.05, log_messages=64 * math.log(2)),
        rtol=1e-12,
    )
    grid = SVCCV(cv=3).fit(X, y)
    searched = named(certify(grid, X, y, role="train"))["sample compression bound"]
    assert searched.inputs["bits"] == 64  # of a width from the data; the costs are candidates
    unpaid = certify(grid, X, y, role="train", n_candidates=1)
    assert named(unpaid)["sample compression bound"].inputs["bits"] == 128
    # Trained on its support vectors alone, the machine is the same.
    rows = machine.support_
    again = SVC(kernel="rbf", gamma=0.5, C=100.0).fit(X[rows], y[rows])
    assert (again.predict(X) == machine.predict(X)).all()
    other = certify(machine, X[:299], y[:299], role="train")
    assert any("not those that it was fitted to" in reason for reason in other.left_out)
    for bounded in (SVC(C=1e-6), LibsvmSVC(C=1e-6)):
        certificate = certify(bounded.fit(X, y), X, y, role="train", n_hypotheses=2)
        assert any("no multiplier" in reason for reason in certificate.left_out)
    nu = certify(NuSVC(nu=0.1).fit(X, y), X, y, role="train")
    assert any("do not determine" in reason for reason in nu.left_out)


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"no": 2.0}])
@pytest.mark.parametrize("n", [100, 400])
def test_linear_support_vectors_compress_as_those_of_a_kernel(n, class_weight, as_table):
    X, y = two_classes(n, noise=1.0)
    options = {"C": 10.0, "class_weight": class_weight}
    machine = LinearMachine(loss="hinge", tol=1e-9, **options).fit(as_table(X), y)
    kernel = SVC(kernel="linear", tol=1e-9, **options).fit(X, y)
    ours, other = (certify(m, as_table(X), y, role="train") for m in (machine, kernel))
    bound, expected = (named(c)["sample compression bound"] for c in (ours, other))
    assert bound.inputs["n_sv"] == expected.inputs["n_sv"] == len(kernel.support_)
    bits = 128 if class_weight == "balanced" else 0
    assert bound.inputs["bits"] == expected.inputs["bits"] == bits
    assert bound.inputs["errors_on_the_rest"] == expected.inputs["errors_on_the_rest"]
    assert (bound.value, bound.delta) == (expected.value, expected.delta)
    assert "Features and cost were fixed" in bound.assumptions[1]
    assert [h.name for h in ours.heuristics] == [h.name for h in other.heuristics]
    # Trained on its support vectors alone, the machine is the same.
    rows = np.flatnonzero(machine.dual_coef_[0])
    if class_weight != "balanced":
        again = LinearMachine(loss="hinge", tol=1e-9, **options).fit(X[rows], y[rows])
        assert_allclose(again.coef_, machine.coef_, rtol=1e-3)
        assert_allclose(again.intercept_, machine.intercept_, rtol=1e-3, atol=1e-3)


def test_linear_machines_that_their_vectors_do_not_determine():
    X, y = two_classes(120, noise=1.0)
    hinge = LinearMachine(loss="hinge").fit(X, y)

    def reasons(machine, X, y):
        return " ".join(certify(machine, X, y, role="train").left_out)

    assert "sample compression" not in reasons(hinge, X, y)
    order = np.random.default_rng(0).permutation(120)
    for other in ((X[order], y[order]), (X[1:], y[1:]), (X + 0.1, y), (2 * X, y)):
        assert "not those that it was fitted to" in reasons(hinge, *other)
    # Every multiplier of a class of 60 is at the bound where the cost is small.
    labels = np.repeat(["no", "yes"], 60)
    small = LinearMachine(loss="hinge", C=1e-6).fit(X, labels)
    assert "no multiplier is below its bound" in reasons(small, X, labels)
    through_zero = LinearMachine(loss="hinge", C=1e-6, fit_intercept=False).fit(X, labels)
    assert "no multiplier" not in reasons(through_zero, X, labels)
    with pytest.warns(ConvergenceWarning):
        early = LinearMachine(loss="hinge", tol=1e-14, max_iter=1).fit(np.tile(X, (5, 1)), 5 * [*y])
    assert "before it converged" in reasons(early, np.tile(X, (5, 1)), np.array(5 * [*y]))
    hard = LinearMachine(loss="hinge", C=math.inf).fit(X, X[:, 0] > 0)
    assert "sample compression" not in reasons(hard, X, X[:, 0] > 0)
    # Of the squared hinge there is no such bound, and delta is not divided for one.
    squared = certify(LinearMachine().fit(X, y), X, y, role="train")
    assert {math.floor(0.05 / b.delta) for b in squared.bounds} == {4}
    assert "sample compression bound" not in named(squared)
    assert not any("sample compression" in reason for reason in squared.left_out)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_margins_of_linear_machines_are_those_of_their_coefficients(loss, dtype):
    X, y = two_classes(200, noise=1.0)
    X = (X + 3).astype(dtype)
    machine = LinearMachine(loss=loss).fit(X, y)
    found = named(certify(machine, X, y, role="train"))
    w = np.append(machine.coef_[0].astype(float), machine.intercept_[0])
    Z = np.column_stack([X.astype(float), np.ones(200)])
    cosines = np.where(y == "yes", 1, -1) * (Z @ w)
    cosines /= np.linalg.norm(w) * np.linalg.norm(Z, axis=1)
    bound = found["PAC-Bayes margin bound"]
    expected = pac_bayes_margin_bound(cosines, bound.delta)
    assert expected <= bound.value <= expected + 400 * np.finfo(dtype).eps
    assert found["relative VC bound"].inputs["vc_dimension"] == 4


def test_kernels_given_as_values_or_as_functions():
    X, y = two_classes(60, noise=1.0)
    K = gram_matrix(X, kernel="rbf", gamma=0.5)
    plain = named(certify(SVC(gamma=0.5).fit(X, y), X, y, role="train"))
    values = named(certify(SVC(kernel="precomputed").fit(K, y), K, y, role="train"))
    for name, bound in values.items():
        assert_allclose(bound.value, plain[name].value, rtol=1e-9)
    machine = SVC(kernel=lambda A, B: gram_matrix(A, B, kernel="rbf", gamma=0.5)).fit(X, y)
    own = certify(machine, X, y, role="train")
    assert own.best.value == plain["sample compression bound"].value
    assert len(own.bounds) == 1 and len(own.left_out) == 2
    tangent = SVC(kernel="polynomial", coef0=-1.0, gamma=0.1, degree=2, max_iter=500)
    with pytest.warns(UserWarning):
        tangent.fit(X, y)
    left_out = certify(tangent, X, y, role="train", n_hypotheses=3).left_out
    assert len(left_out) == 3


def test_classes_of_known_size():
    X, y = two_classes(5000)
    machine = SVC(kernel="linear").fit(X, y)
    k = int((machine.predict(X) != y).sum())
    found = named(certify(machine, X, y, role="train", simultaneous=False, n_hypotheses=1000))
    assert found["relative VC bound"].value == vc_error_bound(k, 5000, 4, 0.05)
    log_prior = -math.log(1000)
    assert_allclose(
        found["finite-class bound"].value,
        occam_bound(k, 5000, 0.05, log_prior=log_prior),
        rtol=1e-12,
    )
    stump = certify(
        KNeighborsClassifier(1).fit(X, y), X, y, role="train", vc_dimension=2, simultaneous=False
    )
    exact = named(stump)["double-sampling VC bound"]
    assert exact.value == vc_error_bound(0, 5000, 2, 0.05, method="double_sampling")
    wrong = certify(Constant("yes"), X, y, role="train", vc_dimension=2)
    assert any("its delta is spent" in reason for reason in wrong.left_out)
    assert wrong.best.delta == 0.025


@pytest.mark.parametrize("with_fresh", [True, False])
def test_the_deltas_of_families_add_up(with_fresh):
    X, y = two_classes(300)
    machine = SVC(kernel="linear").fit(X[:200], y[:200])
    given = {"n_hypotheses": 10**400, "delta": 0.07}
    if with_fresh:
        fresh = {"X_train": X[:200], "y_train": y[:200]}
        certificate = certify(machine, X[200:], y[200:], **fresh, **given)
    else:
        certificate = certify(machine, X[:200], y[:200], role="train", **given)
    families = 6 + with_fresh
    for bound in certificate.bounds:
        assert 0.07 / families * (1 - 1e-15) <= bound.delta <= 0.07 / families
    assert "All lines hold together" in str(certificate)
    values = [bound.value for bound in certificate.bounds]
    assert values == sorted(values) and certificate.best.value == values[0]
    assert (certificate.lower is None) == (not with_fresh)


def test_an_unpaid_choice_is_named():
    X, y = two_classes(300)
    machine = SVC(kernel="linear").fit(X, y)
    unpaid = certify(machine, X, y, role="train", simultaneous=False)
    assert {bound.delta for bound in unpaid.bounds} == {0.05}
    for text in (str(unpaid), unpaid.summary(), unpaid._repr_html_()):
        assert "not a statement at" in " ".join(text.split())
    assert "not a statement" not in str(certify(machine, X, y, role="train"))
    assert certify(Constant(), *counted(3, 9), simultaneous=False).simultaneous  # one family


@pytest.mark.parametrize("value_range", [(0.0, 1.0), (-1.0, 3.0)])
def test_losses_of_a_regression(value_range):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = X @ [1.0, -1.0] + 0.1 * rng.normal(size=400)
    machine = Ridge().fit(X[:200], y[:200])
    low, high = value_range

    def loss(y, predicted):
        return low + (high - low) * np.minimum(1, np.abs(y - predicted))

    certificate = certify(machine, X[200:], y[200:], loss=loss, value_range=value_range)
    losses = np.minimum(1, np.abs(y[200:] - machine.predict(X[200:])))
    found = named(certificate)
    expected = hoeffding_bentkus_bound(losses.mean(), 200, 0.025)
    scale = high - low
    assert_allclose(found["Hoeffding-Bentkus bound"].value, low + scale * expected, rtol=1e-9)
    variance = hoeffding_bentkus_bound(2 * losses.var(ddof=1), 100, 0.025 / 4) / 2
    deviation = bernstein_epsilon(200, 0.025 * 3 / 4, variance)
    assert_allclose(
        found["empirical Bernstein bound"].value,
        low + scale * (losses.mean() + deviation),
        rtol=1e-9,
    )
    expected = mean_loss_interval((losses * scale), 0.05, value_range=scale)
    assert_allclose([float(end) - low for end in certificate.interval], expected, rtol=1e-9)
    assert certificate.lower.value < low + scale * losses.mean() < certificate.best.value
    assert "mean loss" in str(certificate)
    with pytest.raises(ValueError, match="target"):
        certificate.required(0.5)


@each("name, power", [("absolute", 1), ("squared", 2)])
def test_named_losses_are_of_targets_in_a_range(name, power):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = 20 + X @ [2.0, -1.0] + 0.1 * rng.normal(size=400)
    machine = Ridge().fit(X[:200], y[:200])
    found = certify(machine, X[200:], y[200:], loss=name, value_range=(10, 30))
    errors = np.abs(y[200:] - machine.predict(X[200:])) ** power
    assert found.inputs["value_range"] == (0, 20**power)
    assert_allclose(found.inputs["mean_loss"], errors.mean(), rtol=1e-12)
    expected = mean_loss_interval(errors, 0.05, value_range=20.0**power)
    assert_allclose([float(end) for end in found.interval], expected, rtol=1e-12)
    for given, match in [
        ({"loss": name}, "value_range=None must be the least and the largest possible target"),
        ({"loss": name, "value_range": (20, 30)}, r"y\[.*must be in \[20, 30\], the value_range"),
        ({"loss": name, "value_range": (1, 1)}, r"value_range=\(1, 1\) must be two finite"),
        ({"loss": "huber"}, "loss='huber' must be 'absolute' or 'squared', or a function"),
    ]:
        with pytest.raises(ValueError, match=match):
            certify(machine, X[200:], y[200:], **given)
    with pytest.raises(ValueError, match=r"predictions\[0\]=31.0 must be .*clip"):
        certify(np.full(9, 31), y=y[:9], loss=name, value_range=(10, 30))
    with pytest.raises(ValueError, match="delta=1e-308 must be .*2\\*\\*-1021"):
        certify(y[:9], y=y[:9], loss=name, value_range=(10, 30), delta=1e-308)


@pytest.mark.parametrize(
    ("k", "m", "target", "delta"),
    [(30, 1000, 0.04, 0.05), (0, 100, 0.01, 0.05), (1, 3, 0.6, 0.2), (7, 150, 0.0501, 1e-3)],
)
def test_required_is_the_least_number_of_examples(k, m, target, delta):
    certificate = certify(Constant(), *counted(k, m), target=target, delta=delta)
    need = certificate.required(target)
    sizes = np.arange(1, need + 1) if need < 10**5 else np.arange(need - 2000, need + 1)
    bounds = binomial_tail_inversion(-(-k * sizes // m), sizes, delta)
    assert bounds[-1] <= target and (bounds[:-1] > target).all()
    clean = certificate.required(target, error_rate=0)
    assert binomial_tail_inversion(0, clean, delta) <= target
    assert binomial_tail_inversion(0, max(1, clean - 1), delta) > target
    assert f"{need} fresh examples" in " ".join(str(certificate).split())
    assert certificate.required(k / m / 2 + 1e-12) == math.inf or k == 0


def test_certificates_fail_no_more_often_than_delta():
    """Half-planes at random angles: the true error is the angle's share of the circle."""
    delta, runs, failures = 0.2, 50, {"test": 0, "train": 0, "lower": 0, "both": 0}
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(120, 2))
        y = np.where(X[:, 0] > 0, 1, 0)
        machine = SVC(kernel="linear", C=10.0).fit(X[:60], y[:60])
        fresh = np.random.default_rng([seed, 1]).normal(size=(4000, 2))
        error = np.mean(machine.predict(fresh) != (fresh[:, 0] > 0))
        slack = 0.005  # of the estimate of the true error
        test = certify(machine, X[60:], y[60:], delta=delta)
        failures["test"] += test.best.value < error - slack
        failures["lower"] += test.lower.value > error + slack
        train = certify(machine, X[:60], y[:60], role="train", delta=delta)
        failures["train"] += train.best.value < error - slack
        both = certify(machine, X[60:], y[60:], X_train=X[:60], y_train=y[:60], delta=delta)
        failures["both"] += both.best.value < error - slack
    for kind, count in failures.items():
        assert beta.ppf(1e-4, count, runs - count + 1) <= delta if count else True, kind


def test_choosing_among_candidates_is_paid_for():
    delta, runs, failures, n = 0.2, 400, {"unpaid": 0, "paid": 0}, 20
    least = [
        int(np.random.default_rng(seed).binomial(50, 0.3, size=n).min())  # all of true error 0.3
        for seed in range(runs)
    ]
    for k in set(least):  # a certificate depends on nothing else
        X, y = counted(k, 50)
        unpaid = certify(Constant(), X, y, delta=delta).best.value
        paid = certify(Constant(), X, y, delta=delta, role="validation", n_candidates=n).best.value
        failures["unpaid"] += least.count(k) * (unpaid < 0.3)
        failures["paid"] += least.count(k) * (paid < 0.3)
    assert failures["paid"] <= delta * runs < failures["unpaid"]


def test_training_examples_are_refused_as_fresh_ones():
    X, y = two_classes(200, noise=1.0)
    machine = SVC().fit(X, y)
    neighbours = KNeighborsClassifier().fit(X, y)
    for role in ("test", "validation"):
        for again in (X, X.copy(), X[:], X[20:80], X.tolist()):
            with pytest.raises(ValueError, match="X="):
                certify(neighbours, again, y[: len(again)], role=role, X_train=X)
        with pytest.raises(ValueError, match="the fit was to these"):
            certify(machine, X, y, role=role)
    rows = sparse.csr_matrix(X)
    neighbours = KNeighborsClassifier().fit(rows, y)
    with pytest.raises(ValueError, match="X="):
        certify(neighbours, rows.copy(), y, X_train=rows)
    half = KNeighborsClassifier().fit(X[::2], y[::2])  # interleaved rows of one array are apart
    assert certify(half, X[1::2], y[1::2], X_train=X[::2]).best.value < 1


@each(
    ("given", "match"),
    [
        ({"n_candidates": 2}, "n_candidates=2"),
        ({"role": "train", "X_train": [[0.0]]}, "X_train"),
        ({"role": "train", "y_train": [0]}, "y_train"),
        ({"y_train": [0]}, "y_train"),
        ({"role": "train", "loss": abs}, "loss"),
        ({"value_range": (0, 1)}, "value_range"),
        ({"loss": lambda y, p: p, "value_range": (1, 0)}, "value_range"),
        ({"loss": lambda y, p: p, "value_range": 1}, "value_range"),
        ({"loss": lambda y, p: p + 5}, "loss=6.0"),
        ({"loss": lambda y, p: 0.5}, "loss"),
        ({"loss": lambda y, p: p, "target": 0.1}, "target"),
        ({"role": "train"}, "estimator"),
        ({"X": []}, "X="),
        ({"X": "text"}, "X="),
        ({"y": [0, 1]}, "y of shape"),
        ({"y": [[0]] * 9}, "y of shape"),
        ({"y": ["a"] * 9}, "y="),
        ({"y": [0.5] * 9}, "y="),
        ({"y": [math.nan] * 9}, "y="),
        ({"estimator": object()}, "estimator"),
        ({"delta": 1e-300, "role": "validation", "n_candidates": 10**100}, "delta=1e-300"),
    ],
)
def test_what_is_no_certificate_is_refused(given, match):
    X, y = counted(3, 9)
    with pytest.raises(ValueError, match=match):
        certify(**({"estimator": Constant(), "X": X, "y": y} | given))


def test_a_report_is_complete_escaped_and_plain():
    X, y = two_classes(300)
    machine = SVC(kernel="linear").fit(X[:200], y[:200])
    certificate = certify(machine, X[200:], y[200:], X_train=X[:200], y_train=y[:200], target=0.03)
    text = str(certificate)
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    for bound in certificate.bounds:
        assert bound.name in text
        for sentence in bound.assumptions:
            assert sentence in flat
    assert "Not guarantees" in text and "Cross-validation" in text and "independent" in text
    hostile = type("<script>alert(1)</script>", (Constant,), {})()
    shown = certify(hostile, *counted(3, 9))._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert certificate._repr_html_().count("<tr>") == 1 + len(certificate.bounds)
    plain = certificate.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    for bound in certificate.heuristics:
        assert bound.delta is None and bound.kind in ("heuristic", "expected")


def test_a_shown_value_is_on_the_safe_side():
    certificate = certify(Constant(), *counted(29, 977))
    shown = [float(line[44:54]) for line in str(certificate).splitlines() if line[:1] == "["]
    for value, bound in zip(shown, certificate.bounds, strict=True):
        assert bound.value <= value < bound.value + 1.001e-5


def test_what_says_nothing_is_flagged():
    bound = Bound("b", 1.0, 0.1, "upper", "test", {}, (), "")
    assert bound.vacuous and bound.trivial
    assert Bound("b", 0.0, 0.1, "lower", "test", {}, (), "").vacuous
    assert Bound("b", 3.0, 0.1, "upper", "test", {"value_range": (0.0, 3.0)}, (), "").vacuous
    assert not Bound("b", 0.6, 0.1, "upper", "test", {"value_range": (0.0, 3.0)}, (), "").trivial
    assert "vacuous" in str(certify(Constant(), *counted(9, 9)))
