"""The page for users of glmnet and LIBLINEAR: its conversions, and the functions it names."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as Liblinear
from sklearn.svm import LinearSVC as PeerSVC
from sklearn.svm import LinearSVR as PeerSVR

from mlcore.datasets import load_iris
from mlcore.linear_model import ElasticNet, LinearRegression, LogisticRegression
from mlcore.svm import LinearSVC, LinearSVR

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from_glmnet_and_liblinear.md"
TEXT = PAGE.read_text(encoding="utf-8")
X, SPECIES = load_iris()
TWO = SPECIES > 0


@pytest.fixture(scope="module")
def page():
    """The names that the blocks of the page leave, after each of them."""
    names, after = {}, []
    for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, names)
        after.append(dict(names))
    return after


def violation(gradient, w, strength, ratio):
    """Return the distance of 0 from the subgradients of a loss and the penalty of glmnet."""
    slope = gradient + strength * (1 - ratio) * w
    off = np.maximum(np.abs(slope) - strength * ratio, 0)
    return np.where(w == 0, off, np.abs(slope + strength * ratio * np.sign(w))).max()


def test_the_lasso_of_the_page_minimises_the_function_of_glmnet(page):
    model, Z = page[0]["model"], X[:, :3] / X[:, :3].std(axis=0)
    w = model.coef_ * X[:, :3].std(axis=0)
    r = X[:, 3] - Z @ w - model.intercept_
    assert abs(r.mean()) < 1e-9
    assert violation(-Z.T @ r / len(Z), w, 0.02, 1.0) < 1e-4 * 0.02
    assert np.count_nonzero(w) == 2


def test_the_logistic_regression_of_the_page_minimises_the_function_of_glmnet(page):
    names, Z = page[0], X[:, :3] / X[:, :3].std(axis=0)
    w, b = names["coef"] * X[:, :3].std(axis=0), names["intercept"]
    r = expit(Z @ w + b) - (SPECIES == 2)
    assert abs(r.mean()) < 1e-6
    assert violation(Z.T @ r / len(Z), w, 0.02, 1.0) < 1e-3 * 0.02
    assert np.count_nonzero(w) == 1


@pytest.mark.parametrize("ratio", [0.3, 0.8])
def test_the_function_of_glmnet_for_targets_of_another_variance(ratio):
    """glmnet divides y and lambda by sd(y), and multiplies the coefficients by it."""
    y, strength = 7 * X[:, 3], 0.5
    sd = y.std()
    w = sd * ElasticNet(strength / sd, l1_ratio=ratio, tol=1e-12).fit(X[:, :3], y / sd).coef_
    A, r = X[:, :3] - X[:, :3].mean(axis=0), y - y.mean() - (X[:, :3] - X[:, :3].mean(axis=0)) @ w
    slope = -A.T @ r / len(y) + strength / sd * (1 - ratio) * w
    assert violation(slope, w, strength * ratio, 1.0) < 1e-6
    other = ElasticNet(strength, l1_ratio=ratio, tol=1e-12).fit(X[:, :3], y).coef_
    assert np.abs(other - w).max() > 1e-3
    lasso = ElasticNet(strength, l1_ratio=1.0, tol=1e-12).fit(X[:, :3], y).coef_
    scaled = ElasticNet(strength / sd, l1_ratio=1.0, tol=1e-12).fit(X[:, :3], y / sd).coef_
    assert_allclose(sd * scaled, lasso, rtol=1e-6)


def test_the_machines_of_the_page_are_those_of_liblinear(page):
    printed = dict(re.findall(r"^B = +(\d+): b +(\S+),", TEXT, re.MULTILINE))
    assert sorted(map(int, printed)) == [1, 10, 100]
    A, y = X[TWO], page[1]["y"]
    for B, b in printed.items():
        peer = PeerSVC(dual=False, intercept_scaling=float(B), tol=1e-12, max_iter=100_000)
        peer.fit(A, y)
        column = np.full((len(A), 1), float(B))
        ours = LinearSVC(fit_intercept=False, tol=1e-12).fit(np.hstack([A, column]), y)
        assert_allclose(ours.coef_[0, :-1], peer.coef_[0], rtol=1e-4, atol=1e-6)
        assert_allclose(float(B) * ours.coef_[0, -1], peer.intercept_[0], rtol=1e-4)
        assert_allclose(float(b), peer.intercept_[0], rtol=1e-3)
    # A free intercept is lower than any of LIBLINEAR's, and is where these go.
    free, objective = page[1]["free"], page[1]["objective"]
    assert_allclose(free.objective_, objective(free.coef_[0], free.intercept_[0]), rtol=1e-12)
    values = [float(v) for v in re.findall(r"P ([\d.]+)$", TEXT, re.MULTILINE)]
    assert values == sorted(values, reverse=True) and values[0] > 1.1 * values[-1]
    assert_allclose(free.objective_, 13.4752966501593, rtol=1e-8)  # the minimum, in 40 digits


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_costs_of_liblinear_are_those_of_linear_svc(loss):
    A, y, B = X[TWO] - X[TWO].mean(axis=0), SPECIES[TWO], 3.0
    peer = PeerSVC(
        loss=loss, dual=True, C=0.2, intercept_scaling=B, tol=1e-10,
        max_iter=1_000_000, random_state=0,
    ).fit(A, y)  # fmt: skip
    column = np.full((len(A), 1), B)
    ours = LinearSVC(0.2, loss=loss, fit_intercept=False, tol=1e-12)
    ours.fit(np.hstack([A, column]), y)
    assert_allclose(ours.coef_[0, :-1], peer.coef_[0], rtol=1e-4, atol=1e-5)
    assert_allclose(B * ours.coef_[0, -1], peer.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
@pytest.mark.parametrize("B", [1.0, 20.0])
def test_logistic_regression_of_liblinear_has_a_penalised_column(ratio, B):
    A, y = X[TWO], SPECIES[TWO]
    peer = Liblinear(
        solver="liblinear", l1_ratio=ratio, C=0.7, intercept_scaling=B, tol=1e-10,
        max_iter=100_000, random_state=0,
    ).fit(A, y)  # fmt: skip
    column = np.full((len(A), 1), B)
    ours = LogisticRegression(C=0.7, l1_ratio=ratio, fit_intercept=False, tol=1e-9)
    ours.fit(np.hstack([A, column]), y)
    assert_allclose(ours.coef_[0, :-1], peer.coef_[0], rtol=1e-3, atol=1e-4)
    assert_allclose(B * ours.coef_[0, -1], peer.intercept_[0], rtol=1e-3, atol=1e-3)


def test_costs_of_liblinear_are_those_of_linear_svr():
    A, y = X[:, :3] - X[:, :3].mean(axis=0), X[:, 3]
    for loss, epsilon in (("epsilon_insensitive", 0.1), ("squared_epsilon_insensitive", 0.2)):
        peer = PeerSVR(
            epsilon=epsilon, loss=loss, C=0.3, fit_intercept=False, dual=True, tol=1e-10,
            max_iter=1_000_000, random_state=0,
        ).fit(A, y)  # fmt: skip
        ours = LinearSVR(epsilon=epsilon, loss=loss, C=0.3, fit_intercept=False, tol=1e-12)
        assert_allclose(ours.fit(A, y).coef_, peer.coef_, rtol=1e-4, atol=1e-5)


def test_formulas_between_the_classes_of_mlcore():
    rng = np.random.default_rng(0)
    s = rng.integers(1, 4, len(X)).astype(float)
    A, y, W = X[:, :3], X[:, 3], s.sum()
    net = ElasticNet(0.3, l1_ratio=0.0).fit(A, y, s)
    assert_allclose(net.coef_, LinearRegression(alpha=W * 0.3).fit(A, y, s).coef_, rtol=1e-8)
    tube = LinearSVR(C=0.4, epsilon=0.0, loss="squared_epsilon_insensitive", tol=1e-12)
    ridge = LinearRegression(alpha=1 / (2 * 0.4)).fit(A, y, s)
    assert_allclose(tube.fit(A, y, s).coef_, ridge.coef_, rtol=1e-6)
    # The mean loss with a penalty alpha is P / (C W) at C = 1 / (W alpha).
    z, alpha = np.where(SPECIES == 2, 1, -1), 0.01
    svm = LinearSVC(1 / (W * alpha), loss="hinge", tol=1e-12).fit(A, z, s)
    w, b = svm.coef_[0], svm.intercept_[0]
    losses = np.maximum(0, 1 - z * (A @ w + b))
    assert_allclose(svm.objective_, (s @ losses / W + alpha * w @ w / 2) / alpha, rtol=1e-10)


def test_names_of_the_page_exist():
    families = [importlib.import_module(f"mlcore.{name}") for name in ("linear_model", "svm")]
    public = {name: getattr(f, name) for f in families for name in f.__all__}
    peers = {"Ridge"}
    for name, given in re.findall(r"`([A-Z]\w+)(?:\(([^`]*)\))?", TEXT):
        if name.isupper() or name in peers:
            continue
        kind = public[name]
        for parameter in re.findall(r"(\w+)=", given):
            peer = (name, parameter, "liblinear" in given) == ("LogisticRegression", "solver", True)
            assert peer or parameter in kind().get_params(), (name, parameter)
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / target).exists(), target
