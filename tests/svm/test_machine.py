"""Predictions after any change of a machine, and weights of any size."""

import copy
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import mlcore
from mlcore.kernels import gram_matrix
from mlcore.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


def samples(n=60, d=3, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


def values(machine, X):
    """The decision function or prediction from its definition."""
    parameters = {"gamma": machine.gamma_, "degree": machine.degree, "coef0": machine.coef0}
    K = gram_matrix(X, machine.support_vectors_, kernel=machine.kernel, **parameters)
    return K @ machine.dual_coef_[0] + machine.intercept_[0]


def found(machine, X):
    return getattr(machine, "decision_function", machine.predict)(X)


@each("cls", MACHINES)
def test_what_a_user_replaces_after_a_prediction_counts(cls):
    X, y = samples()
    machine = cls().fit(X, y)
    for name, value in {
        "dual_coef_": 2 * machine.dual_coef_,
        "support_vectors_": machine.support_vectors_ + 1,
        "gamma_": 0.125,
        "intercept_": machine.intercept_ + 1,
        "kernel": "polynomial",
        "degree": 2,
        "coef0": 1.0,
    }.items():
        found(machine, X)
        setattr(machine, name, value)
        assert_allclose(found(machine, X), values(machine, X), rtol=0, atol=1e-9)
    found(machine.set_params(kernel="rbf").fit(X[::-1] * 2, y), X)
    assert_allclose(found(machine, X), values(machine, X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_values_of_laid_out_vectors_cannot_be_changed_unheard(layout):
    X, y = samples()
    machine = SVC().fit(layout(X), y)
    machine.predict(X)
    vectors = machine.support_vectors_
    with pytest.raises(ValueError, match="read-only"):
        (vectors.data if sparse.issparse(vectors) else vectors)[0] = 1
    machine.support_vectors_ = vectors + vectors
    assert_allclose(
        machine.decision_function(X),
        gram_matrix(X, 2 * vectors, kernel="rbf", gamma=machine.gamma_) @ machine.dual_coef_[0]
        + machine.intercept_,
        rtol=0,
        atol=1e-12,
    )


def test_the_layout_is_neither_pickled_nor_saved_nor_copied(tmp_path):
    X, y = samples()
    machine = SVC().fit(X, y)
    before, names = pickle.dumps(machine), set(vars(machine))
    expected = machine.decision_function(X)
    assert len(pickle.dumps(machine)) == len(before) and set(vars(machine)) == names
    mlcore.save(machine, tmp_path / "machine.npz")
    others = [
        pickle.loads(pickle.dumps(machine)),
        copy.copy(machine),
        copy.deepcopy(machine),
        mlcore.load(tmp_path / "machine.npz"),
    ]
    for other in others:
        assert_array_equal(other.decision_function(X), expected)
        other.dual_coef_ = 0 * other.dual_coef_
        assert_allclose(other.decision_function(X), np.full(len(X), other.intercept_[0]))
    assert_array_equal(machine.decision_function(X), expected)
    assert_allclose(clone(machine).fit(X, 1 - y).decision_function(X), -expected, atol=1e-6)


def test_many_threads_may_ask_a_machine_at_once():
    X, y = samples(400, 20)
    machines = [SVC(gamma=0.02 * (1 + i)).fit(X, y) for i in range(4)]
    expected = [machine.decision_function(X) for machine in copy.deepcopy(machines)]
    with ThreadPoolExecutor(8) as pool:
        asked = [(i, pool.submit(machines[i].decision_function, X)) for i in [0, 1, 2, 3] * 5]
        for i, answer in asked:
            assert_array_equal(answer.result(), expected[i])


def peak_of_predictions(machine, dtype=np.float64, n=400_000):
    many = np.tile(np.random.default_rng(0).normal(size=(n // 100, 2)).astype(dtype), (100, 1))
    machine.predict(many[:1])
    tracemalloc.start()
    machine.predict(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


# Either kernel with decisions and with values.
@pytest.mark.parametrize(
    ("cls", "kernel"),
    [(SVC, "rbf"), (NuSVC, "linear"), (SVR, "linear"), (NuSVR, "rbf"), (OneClassSVM, "rbf")],
)
def test_predictions_take_little_memory_beside_the_rows(cls, kernel):
    X, y = samples(300, 2)
    machine = cls(kernel=kernel).fit(X.astype(np.float32) + 3, y)
    assert peak_of_predictions(machine, np.float32) < 17e6


def test_several_classes_take_little_memory_beside_the_rows():
    X, y = samples(300, 2)
    machine = SVC().fit(X, y + 2 * (X[:, 1] > 0) + 4 * (X.sum(axis=1) > 0))
    assert peak_of_predictions(machine, n=200_000) < 30e6


@each("power", [-1000, -600, 600, 1000])
@each("machine", [NuSVC(nu=0.3, tol=1e-8), OneClassSVM(nu=0.2, tol=1e-8)])
def test_weights_of_any_size_give_the_same_machine(machine, power):
    X, y = samples()
    y[X[:, 1] > 0.5] += 2  # several binary problems
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    ordinary = clone(machine).fit(X, y, weight)
    extreme = clone(machine).fit(X, y, np.ldexp(weight, power))
    grows = power if isinstance(machine, OneClassSVM) else 0  # rho divides the other
    expected = ordinary.decision_function(X)
    assert_allclose(np.ldexp(extreme.decision_function(X), -grows), expected, rtol=0, atol=1e-6)
    assert_allclose(extreme.margin_, ordinary.margin_, rtol=1e-6)
    again = extreme.verify(X, y, np.ldexp(weight, power))
    for name in vars(again):
        assert not np.any(np.isnan(getattr(again, name)))
        assert not np.any(np.isnan(getattr(extreme, f"{name}_")))
    # The objectives are of the order of the squared weights: zero or infinite here, as they are.
    assert np.all(extreme.dual_objective_ == (0.0 if power < 0 else -np.inf))
