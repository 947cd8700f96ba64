"""All pairs in one compiled call are what the solver of single problems makes of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_limits

from dual_problems import fitted_by
from mlcore.kernels import gram_matrix
from mlcore.svm import SVC, NuSVC, svc
from mlcore.svm.multiclass import pairs
from mlcore.svm.smo.smo import ROUTES

EXACT = ["dual_coef_", "intercept_", "link_offsets_", "link_slopes_", "coef_", "margin_"]
EXACT += ["dual_objective_", "primal_objective_", "rho_"]
EQUAL = ["support_", "n_support_", "margin_error_indices_", "converged_", "fit_status_"]


def blobs(n_classes, n=20, d=4, seed=0):
    rng = np.random.default_rng([n_classes, n, d, seed])
    centers = 2 * rng.normal(size=(n_classes, d))
    y = rng.permutation(np.repeat(np.arange(n_classes), n))
    return centers[y] + rng.normal(size=(len(y), d)), y


def one_by_one(machine, *data):
    return fitted_by({"pair": 0}, machine, *data)


@pytest.fixture
def asked(monkeypatch):
    """The number of calls of the pairs' solver that found a solution."""
    found, solve = [], pairs.solve_pairs

    def counted(*arguments):
        result = solve(*arguments)
        found.append(result is not None)
        return result

    monkeypatch.setattr(svc, "solve_pairs", counted)
    return found


MACHINES = {
    "two classes": (2, {}),
    "three": (3, {}),
    "seven": (7, {"C": 50.0}),
    "linear": (4, {"kernel": "linear"}),
    "class weights": (4, {"class_weight": {1: 5.0, 2: 0.3}}),
    "probability": (3, {"probability": True, "random_state": 0}),
    "two with probability": (2, {"probability": True, "random_state": 1, "C": 0.01}),
    "folds on another scale": (3, {"probability": True, "random_state": 0, "C": 1e-6}),
    "one-vs-rest of two": (2, {"multi_class": "ovr"}),
    "nu of two": (2, {"nu": 0.3}),
    "nu of three": (3, {"nu": 0.05}),
    "nu of five, wide": (5, {"nu": 0.3, "gamma": 0.02}),
    "nu, linear": (4, {"nu": 0.2, "kernel": "linear"}),
    "nu, class weights": (3, {"nu": 0.4, "class_weight": {0: 1e3, 2: 0.1}}),
}


def machine(parameters):
    return (NuSVC if "nu" in parameters else SVC)(**parameters)


@pytest.mark.parametrize("name", MACHINES)
def test_pairs_are_solved_as_single_problems_are(name, asked):
    n_classes, parameters = MACHINES[name]
    X, y = blobs(n_classes)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], size=len(y))
    found = machine(parameters).fit(X, y, weight)
    assert asked == [True]
    expected = one_by_one(machine(parameters), X, y, weight)
    assert asked == [True]
    assert set(vars(found)) == set(vars(expected))
    for attribute in set(EXACT) & set(vars(found)):
        a, b = (np.asarray(getattr(m, attribute)) for m in (found, expected))
        # Both are solved to a violation of 1e-12, beside which single multipliers may vary more.
        assert_allclose(a, b, rtol=1e-7, atol=1e-8 * abs(b).max(), err_msg=attribute)
        assert a.dtype == b.dtype
    for attribute in EQUAL:
        assert_array_equal(getattr(found, attribute), getattr(expected, attribute))
    assert_allclose(found.verify(X, y, weight).duality_gap, found.duality_gap_, atol=1e-8)


@pytest.mark.parametrize("kind", ["precomputed", "callable", "sparse", "float32"])
def test_every_kind_of_data_gives_the_same_pairs(kind, asked):
    X, y = blobs(4)
    expected = SVC(gamma=0.1).fit(X, y)
    if kind == "precomputed":
        found = SVC(kernel="precomputed").fit(gram_matrix(X, kernel="rbf", gamma=0.1), y)
    elif kind == "callable":
        found = SVC(kernel=lambda A, B: gram_matrix(A, B, kernel="rbf", gamma=0.1)).fit(X, y)
    else:
        given = sparse.csr_array(X) if kind == "sparse" else X.astype(np.float32)
        found = SVC(gamma=0.1).fit(given, y)
    assert asked == [True, True]
    atol = 1e-4 if kind == "float32" else 1e-8
    assert_allclose(found.intercept_, expected.intercept_, atol=atol)
    assert_allclose(found.dual_objective_, expected.dual_objective_, rtol=atol)


def test_many_classes_are_optimal_to_tol_and_the_same_on_any_number_of_threads(asked):
    X, y = blobs(30)
    bytes_found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            found = SVC(C=5.0, probability=True, random_state=0).fit(X, y)
        names = ("dual_coef_", "intercept_", "link_slopes_", "n_iter_")
        bytes_found.append([getattr(found, name).tobytes() for name in names])
    assert asked == [True] * 3
    assert bytes_found[0] == bytes_found[1] == bytes_found[2]
    optimality = found.verify(X, y)
    # float32 rows of K are off by 6e-8 each, and 40 multipliers of at most 5 weigh them.
    assert optimality.kkt_violation.max() <= 1e-3 + 40 * 5 * 6e-8
    assert (optimality.duality_gap >= -1e-4).all()
    assert_allclose(optimality.dual_objective, found.dual_objective_, rtol=1e-5)


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.9])
def test_violations_are_small_beside_a_narrow_margin_too(nu, asked):
    X, y = blobs(3, n=120)
    found = NuSVC(nu=nu, tol=1e-2).fit(X, y)
    assert asked == [True]
    # float32 rows of K are off by 6e-8 each; the multipliers sum to 240 nu.
    bound = 1e-2 * np.minimum(1, found.rho_) + 240 * nu * 6e-8
    assert (found.kkt_violation_ <= bound).all()
    expected = one_by_one(NuSVC(nu=nu, tol=1e-2), X, y)
    assert_allclose(found.rho_, expected.rho_, rtol=2e-2)
    assert_allclose(found.dual_objective_, expected.dual_objective_, rtol=2e-2)


def test_pairs_whose_hulls_meet_have_no_margin(asked):
    X = np.tile(np.random.default_rng(0).normal(size=(10, 2)), (3, 1))
    y = np.repeat([0, 1, 2], 10)
    X[y == 2] += 30
    with pytest.warns(UserWarning, match="NuSVC: at nu=1.0 the margin is zero"):
        found = NuSVC(nu=1.0, kernel="linear").fit(X, y)
    assert asked == [True]
    assert 0 <= found.rho_[0] < 1e-12 and (found.rho_[1:] > 1).all()


def test_large_classes_and_indefinite_kernels_are_left_to_the_other_solver(asked):
    X, y = blobs(3, n=ROUTES.pair // 2 + 1, d=2)
    assert SVC().fit(X, y).converged_
    assert asked == []
    assert fitted_by({"steps": 0}, SVC(), *blobs(3)).converged_
    assert asked == [False]


def test_progress_is_reported_for_every_pair():
    seen = []
    SVC(callback=lambda **step: seen.append(step)).fit(*blobs(5))
    assert len(seen) == 10
    assert all(step["change"] <= 1e-3 and step["objective"] > 0 for step in seen)
