"""Starts for problems of the linear kernel: feasible, near the optimum, and taken by the solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import svm as peer

from dual_problems import check, fitted_by, matrix, problem, rows_of, samples, violation
from mlcore.svm import SVC, SVR, LinearSVC
from mlcore.svm.smo import smo
from mlcore.svm.smo.dual_start import dual_start
from mlcore.svm.smo.kernel_cache import KernelCache

AT_ONCE = {"many": 0, "small": 0}  # sizes with which all problems begin from such a start


@settings(max_examples=20)
@given(
    st.sampled_from(["svc", "svr", "weights", "repeated"]), st.integers(10, 60), st.integers(1, 2),
    st.integers(0, 2**32 - 1), st.floats(-3, 3), st.sampled_from([np.asarray, sparse.csr_array]),
)  # fmt: skip
def test_starts_are_feasible_and_near_the_optimum(kind, n, d, seed, log_C, layout):
    X, p = samples(n, d, seed), problem(kind, n, seed, C=10.0**log_C)
    K, tol = matrix(X, p, "linear"), 1e-3
    beta, steps = dual_start(p, layout(X), tol)
    size = np.abs(beta).sum()
    assert steps <= 1000
    assert (beta >= p.lower).all() and (beta <= p.upper).all()
    assert abs(beta.sum()) <= 1e-13 * size
    assert violation(K, p, beta) <= tol + 1e-13 * np.abs(K).max() * size
    # The solver goes on from there to any tol.
    cache = KernelCache(rows_of(layout(X), "linear"), 200.0)
    tol = 1e-6 * (1 + np.abs(K).max())
    check(K, p, smo.solve(p, cache, tol=tol, routes=smo.Routes(**AT_ONCE)), tol)


def test_there_is_no_start_out_of_range_or_for_bounds_of_no_loss():
    X, p = samples(20, 2), problem("points", 20)
    assert dual_start(p, X, 1e-3) == (None, 0)
    assert dual_start(problem("svc", 20), 1e100 * X, 1e-3) == (None, 0)


@pytest.mark.parametrize("C", [0.1, 1e4])
def test_machines_are_those_of_libsvm_and_of_linear_machines(C):
    X = samples(300, 4)
    noise = samples(300, 1, seed=1)[:, 0]
    y = np.sign(X[:, 0] + noise)
    weight = 1.0 + np.arange(300) % 3
    ours = fitted_by(AT_ONCE, SVC(kernel="linear", C=C, tol=1e-6), X, y, weight)
    linear = LinearSVC(loss="hinge", C=C, tol=1e-9).fit(X, y, weight)
    assert ours.converged_ and ours.duality_gap_ <= 1e-6 * ours.objective_
    assert_allclose(ours.objective_, linear.objective_, rtol=2e-6)
    assert_allclose(ours.coef_, linear.coef_, rtol=1e-3)
    if C < 1:  # LIBSVM ends for such costs
        other = peer.SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, weight)
        assert_allclose(ours.coef_, other.coef_, rtol=1e-5)
        assert_allclose(ours.intercept_, other.intercept_, atol=1e-5)
        assert set(ours.support_) == set(other.support_)
        mine = fitted_by(AT_ONCE, SVR(kernel="linear", C=C, tol=1e-6), X, X[:, 0] + noise)
        other = peer.SVR(kernel="linear", C=C, tol=1e-6).fit(X, X[:, 0] + noise)
        assert_allclose(mine.coef_, other.coef_, rtol=1e-4, atol=1e-6)


def test_a_hard_problem_of_many_pair_steps_ends(monkeypatch):
    X = samples(2000, 5)
    y = np.sign(X[:, 0] + samples(2000, 1, seed=1)[:, 0])
    steps = []
    machine = SVC(kernel="linear", C=1e3, callback=lambda step, **_: steps.append(step))
    machine.fit(X, y)
    assert machine.converged_ and machine.kkt_violation_ <= 1e-3
    assert machine.n_iter_[0] <= smo.ROUTES.easy_steps * 2000 + 1000
    assert steps == sorted(steps)
    assert machine.verify(X, y).kkt_violation <= 2e-3
    # Only SMO's own steps count where their number is limited.
    monkeypatch.setattr(smo, "dual_start", None)
    with pytest.warns(UserWarning, match="after max_iter=10000 steps"):
        machine.set_params(max_iter=10_000).fit(X, y)
