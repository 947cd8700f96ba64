"""Separated classes are refused without penalty, with the direction that separates them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from each import each
from scipy import sparse as sp
from scipy.optimize import linprog

from mlcore.checks.errors import ConvergenceWarning
from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression, SeparatedClasses


def refused(X, y, **options):
    """The error of a fit without penalty, whose direction does separate."""
    model = LogisticRegression(C=np.inf, **options)
    with pytest.raises(
        SeparatedClasses, match=r"separated by a linear function of .*Use a finite C"
    ) as e:
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    A = X.toarray() if sp.issparse(X) else np.asarray(X, float)
    scores = A @ e.value.direction[:, :-1].T + e.value.direction[:, -1]
    codes = np.unique(y, return_inverse=True)[1]
    if scores.shape[1] == 1:
        margins = np.where(codes == 1, 1, -1) * scores[:, 0]
    else:
        own = scores[np.arange(len(A)), codes]
        rest = np.where(np.arange(scores.shape[1]) == codes[:, None], np.inf, own[:, None] - scores)
        margins = rest.min(axis=1)
        assert ((own[:, None] - scores) > 1e-9).any()
    assert margins.min() > -1e-9 * np.abs(scores).max()
    assert (e.value.verdict == "complete") == (margins.min() > 0)
    copied = pickle.loads(pickle.dumps(e.value))
    assert str(copied) == str(e.value) and copied.verdict == e.value.verdict
    assert np.array_equal(copied.direction, e.value.direction)
    return e.value


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_irises(form):
    X, y = load_iris()
    found = refused(form(X), y)
    assert found.verdict == "quasi-complete" and found.direction.shape == (3, 5)
    assert refused(form(X), (y == 0).astype(int)).verdict == "complete"
    LogisticRegression(C=np.inf).fit(form(X[50:]), y[50:])
    LogisticRegression(C=1e6).fit(form(X), y)


def test_columns_are_named():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "dose", "cured"])
    X["cured"] = np.where(y == 1, rng.integers(0, 2, 60), 0)  # only the second class has it
    found = refused(X, y)
    assert found.verdict == "quasi-complete"
    assert "of cured:" in str(found) and abs(found.direction[0, 2]) > 0
    assert np.abs(found.direction[0, :2]).max() < 1e-6 * abs(found.direction[0, 2])


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_any_scale_and_solver(scale, solver):
    X = np.random.default_rng(1).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    assert refused(X * scale + 3 * scale, y, solver=solver).verdict == "complete"


@pytest.mark.filterwarnings("ignore:.*failed to converge")
@each("seed", range(12))
def test_the_verdict_is_that_of_a_linear_programme(seed):
    """Half of these small random problems are separated."""
    rng = np.random.default_rng(seed)
    n, d = 16, 3 + seed % 3
    X = rng.integers(-1, 2, size=(n, d)).astype(float)
    y = rng.integers(0, 2, n)
    A = np.where(y == 1, 1.0, -1.0)[:, None] * np.c_[X, np.ones(n)]
    # max sum_i a_i.u over a_i.u >= 0 in a box is positive if and only if there is a separation.
    found = linprog(-A.sum(axis=0), -A, np.zeros(n), bounds=[(-1, 1)] * (d + 1))
    if -found.fun > 1e-7:
        refused(X, y)
    else:
        model = LogisticRegression(C=np.inf).fit(X, y)
        assert np.abs(model.coef_).max() < 50


def test_large_scores_of_overlapping_classes_are_no_separation():
    X = np.r_[np.linspace(-100, 100, 400), 0.5, -0.5][:, None]
    y = (X[:, 0] > 0).astype(int)
    y[-2:] = 0, 1
    model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.abs(model.decision_function(X)).max() > 20 and model.converged_


def steps_of_blocks(X, y, n_steps=60):
    model = LogisticRegression(C=np.inf, tol=1e-6).begin(X, y)
    for _ in range(n_steps):
        parts = [model.partial_statistics(X[i::2], y[i::2]) for i in range(2)]
        model.update(model.merge(*parts))
        if model.converged_:
            break
    return model


def test_blocks_that_are_separated_are_refused():
    X, y = load_iris()
    X = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(SeparatedClasses, match="completely separated by .* of a, b, c, d:") as e:
        model = LogisticRegression(C=np.inf).begin(X, y == 0)
        for _ in range(30):
            model.update(model.partial_statistics(X, y == 0))
    assert e.value.verdict == "complete"
    scores = X.to_numpy() @ e.value.direction[0, :-1] + e.value.direction[0, -1]
    assert ((scores > 0) == (y == 0)).all()
    # Penalised, they have a minimum.
    model = LogisticRegression(C=1e3).begin(X, y == 0)
    for _ in range(30):
        model.update(model.partial_statistics(X, y == 0))
    assert model.converged_


@pytest.mark.parametrize("k", [2, 3])
def test_blocks_that_are_separated_in_part_do_not_converge(k):
    rng = np.random.default_rng(k)
    y = np.arange(300) % k
    X = rng.normal(size=(300, 3))
    X[:, 2] = np.where(y == 1, rng.integers(0, 2, 300), 0)  # only the second class has it
    with pytest.warns(ConvergenceWarning, match="separated in part"):
        model = steps_of_blocks(X, y)
    assert not model.converged_
    assert refused(X, y).verdict == "quasi-complete"
    # With such rows of all classes there is a minimum again.
    X[[0, 2, 3], 2] = 1.0
    model = steps_of_blocks(X, y)
    assert model.converged_
    whole = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-8)


def test_a_programme_that_cannot_be_solved_refuses_nothing(monkeypatch):
    from mlcore.linear_model.logistic import separation

    def unsolved(rows):
        raise ArithmeticError("not solved")

    monkeypatch.setattr(separation, "separating_direction", unsolved)
    X, y = load_iris()
    assert LogisticRegression(C=np.inf).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "saga", "gradient"])
def test_every_solver_gets_to_the_separation(solver, n_classes):
    """On its way all variances p (1 - p) may vanish."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7][: n_classes - 1])
    X[:, 2] = 3 * y  # wide apart
    with pytest.raises(SeparatedClasses, match="separated by a linear function"):
        LogisticRegression(C=np.inf, solver=solver, max_iter=2000).fit(X, y)
