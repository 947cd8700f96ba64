"""Probabilities: links, coupling, and that they never contradict predict."""

import numpy as np
import pytest
import sklearn.exceptions
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import expit
from sklearn.datasets import load_iris

from mlcore.svm import SVC, NuSVC
from mlcore.svm.probability.link import Link, apply_link
from mlcore.svm.probability.probability import (
    couple,
    distinct_rows,
    reconciled,
    two_class,
)


def overlapping(n=200, classes=2, seed=0):
    rng = np.random.default_rng([n, classes, seed])
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


@given(st.integers(3, 6), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_coupling_recovers_consistent_probabilities(n_classes, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=5) + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    i, j = np.triu_indices(n_classes, 1)
    assert_allclose(couple(p[:, i] / (p[:, i] + p[:, j]), n_classes), p, atol=1e-8)


@given(st.integers(3, 12), st.integers(0, 2**31), st.sampled_from(["any", "extreme", "mixed"]))
@settings(max_examples=60, deadline=None)
def test_coupling_minimises_the_sum_of_squares(n_classes, seed, kind):
    rng = np.random.default_rng(seed)
    pairs = rng.random((4, n_classes * (n_classes - 1) // 2))
    extreme = {"any": 0.0, "extreme": 1.0, "mixed": 0.5}[kind]  # cycles and certain winners too
    pairs = np.where(rng.random(pairs.shape) < extreme, pairs.round(), pairs)
    found = couple(pairs, n_classes)
    assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    for p, own in zip(found, np.clip(pairs, 1e-7, 1 - 1e-7), strict=True):
        r = np.zeros((n_classes, n_classes))
        r[np.triu_indices(n_classes, 1)] = own
        r += np.tril(1 - r.T, -1)
        # At the minimum, the derivatives along all p_i are equal.
        slopes = (r.T * (r.T * p[:, None] - r * p)).sum(axis=1)
        assert (p >= 0).all()
        assert_allclose(slopes, slopes.mean(), atol=1e-12)


@each("seed", range(3))
@each("n", [300, 1500])  # all pairs in one compiled call, and one problem
def test_machines_next_to_constant_are_calibrated(n, seed):
    # Of few positives among the negatives, the best linear machine is constant, or next to it: the
    # scale of its values, and of each fold's, is what the tolerance leaves.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 5))
    y = rng.random(2 * n) < expit(2 * X[:, 0] + X[:, 1] - 4)
    machine = SVC(kernel="linear", probability=True, random_state=0).fit(X[:n], y[:n])
    found, share = (
        -np.log(np.where(y[n:], p, 1 - p)).mean()
        for p in (machine.predict_proba(X[n:])[:, 1], y[:n].mean())
    )
    assert found < 0.9 * share  # the true probabilities reach about 0.6 of it


def test_coupling_in_pieces_gives_the_same_bytes(monkeypatch):
    pairs = np.random.default_rng(0).random((50, 45))
    whole = couple(pairs, 10)
    assert_array_equal(couple(np.asfortranarray(pairs), 10), whole)
    monkeypatch.setattr("mlcore.runtime.threads.OPERATIONS_PER_CALL", 7000)
    assert_array_equal(couple(pairs, 10), whole)
    assert couple(pairs[:0], 10).shape == (0, 10)


def test_agreement_takes_equal_values_and_leaves_what_agrees():
    p = np.array([[0.4, 0.4, 0.2, 0.0], [0.1, 0.5, 0.4, 0.0], [0.5, 0.3, 0.2, 0.0]])
    found = reconciled(p, np.array([1, 2, 3]), np.dtype(np.float64))
    exact = [[0.4, 0.4, 0.2, 0], [0.1, 0.45, 0.45, 0], [0.8 / 3, 0.8 / 3, 0.2, 0.8 / 3]]
    assert_allclose(found, exact, atol=1e-14)
    assert_array_equal(found.argmax(axis=1), [1, 2, 3])
    assert_array_equal(reconciled(p, p.argmax(axis=1), np.dtype(np.float32)), p)


@given(st.integers(3, 6), st.integers(0, 2**31), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=60, deadline=None)
def test_agreement_is_the_nearest_that_names_the_winner(n_classes, seed, dtype):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n_classes), size=4)
    winner = rng.integers(0, n_classes, 4)
    q = reconciled(p, winner, np.dtype(dtype))
    assert_array_equal(q.astype(dtype).argmax(axis=1), winner)
    assert_allclose(q.sum(axis=1), 1, atol=1e-12)
    assert (q >= 0).all()
    for _ in range(20):  # no admissible point is nearer
        other = rng.dirichlet(np.ones(n_classes), size=4)
        rows = np.flatnonzero(other.argmax(axis=1) == winner)
        near = ((q - p) ** 2).sum(axis=1)[rows]
        assert (near <= ((other - p) ** 2).sum(axis=1)[rows] + 1e-5).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_half_is_crossed_exactly_where_the_decision_is(dtype):
    f = np.array([-1e-300, -1e-20, 0.0, 1e-20, 1e-300, 1e-8])
    link = Link(0.3, np.array([1.0, 2.0, 1.0, 0.5]), np.array([-1.0, 0.0, 1.0]))
    p = two_class(apply_link(f, link, anchored=True), f, np.dtype(dtype))
    assert_array_equal(p.argmax(axis=1), f > 0)
    assert p.dtype == dtype


@each("dtype", [np.float32, np.float64])
@each("machine", [SVC(), NuSVC(nu=0.4), SVC(class_weight={0: 20.0})])
def test_binary_probabilities_are_one_increasing_map_of_decisions(machine, dtype):
    X, y = overlapping()
    X = X.astype(dtype)
    machine.set_params(probability=True, random_state=0, gamma=0.5).fit(X, y)
    new = np.random.default_rng(1).uniform(-3, 5, size=(2000, 2)).astype(dtype)
    p, f = machine.predict_proba(new), machine.decision_function(new)
    assert p.dtype == dtype
    assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    if machine.class_weight is None:
        assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(new))
    order = np.argsort(f, kind="stable")
    assert (np.diff(p[order, 1]) >= 0).all()
    assert_allclose(machine.predict_log_proba(new), np.log(p))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_many_class_probabilities_agree_with_predict(multi_class, break_ties):
    X, y = overlapping(200, classes=4)
    kwargs = dict(gamma=0.5, multi_class=multi_class, break_ties=break_ties)
    machine = SVC(probability=True, random_state=0, **kwargs).fit(X, y)
    new = np.random.default_rng(1).uniform(-3, 7, size=(2000, 2))
    p = machine.predict_proba(new)
    assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(new))
    assert_array_equal(SVC(**kwargs).fit(X, y).predict(new), machine.predict(new))


def test_probabilities_are_calibrated_on_new_data():
    X, y = overlapping(4000, seed=1)
    machine = SVC(probability=True, random_state=0, gamma=0.3).fit(X[:400], y[:400])
    p = machine.predict_proba(X[400:])[:, 1]
    exact = expit(1.2 * (X[400:].sum(axis=1) - 1.2))  # of the two normal densities
    assert np.mean((p - exact) ** 2) < 0.015
    for low in np.arange(0, 1, 0.2):
        here = (p >= low) & (p < low + 0.2)
        assert abs(p[here].mean() - y[400:][here].mean()) < 0.1


def test_probabilities_repeat_with_the_seed():
    X, y = overlapping(150, classes=3)
    p, q, other = (
        SVC(probability=True, random_state=seed, gamma=0.5).fit(X, y).predict_proba(X)
        for seed in (0, 0, 1)
    )
    assert_array_equal(p, q)
    assert (p != other).any()


def test_methods_exist_only_with_probability():
    X, y = overlapping(40)
    machine = SVC().fit(X, y)
    assert not hasattr(machine, "predict_proba") and not hasattr(machine, "predict_log_proba")
    with pytest.raises(AttributeError, match="only with probability=True"):
        machine.predict_proba(X)
    machine.set_params(probability=True)
    with pytest.raises(sklearn.exceptions.NotFittedError, match="available when .*: fit again"):
        machine.predict_proba(X)


def test_the_only_sample_of_a_class_is_never_held_out():
    X, y = overlapping(20)
    y[:] = 0
    y[3] = 1
    machine = SVC(probability=True, random_state=0, gamma=0.5)
    with pytest.warns(UserWarning, match="class 1 has no 2 distinct samples"):
        p = machine.fit(X, y).predict_proba(X)
    assert np.isfinite(p).all() and (machine.link_slopes_ > 0).all()
    y[4] = 1
    assert machine.fit(X, y).link_slopes_.shape == (1, 4)
    with pytest.raises(ValueError, match="no class has 2 distinct ones"):
        machine.fit(X[:2], [0, 1])


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_give_the_probabilities_of_copies_in_any_order(classes, container):
    X, y = overlapping(60, classes=classes)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    machine = SVC(probability=True, random_state=0, gamma=0.5)
    expected = machine.fit(container(X), y, sample_weight=weight).predict_proba(X)
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weight))
    found = machine.fit(container(X[order]), y[order]).predict_proba(X)
    assert_allclose(found, expected, rtol=1e-7)
    assert distinct_rows(container(X[order]), y[order])[0].shape == ((weight > 0).sum(),)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_distinct_rows_are_those_that_differ_in_value_place_or_label(dtype, index):
    rng = np.random.default_rng(5)
    X, y = rng.integers(-1, 2, size=(3000, 6)).astype(dtype), rng.integers(0, 3, 3000)
    X[X == 0] = rng.choice([0.0, -0.0], size=(X == 0).sum())
    first, copy_of = distinct_rows(X, y)
    _, same = np.unique(np.column_stack([X, y]) + 0.0, axis=0, return_inverse=True)
    assert len(first) == same.max() + 1 < 2000
    assert_array_equal(same[first][copy_of], same)  # each row is equal to the one it is told to be
    stored = sp.csr_array(X)
    stored.data[::7] = 0  # stored zeros
    order = rng.permutation(6)  # columns of a row in any order
    shuffled = sp.csr_array(stored[:, order])
    shuffled.indices = order[shuffled.indices].astype(index)
    dense = distinct_rows(stored.toarray(), y)
    for ours, theirs in zip(distinct_rows(shuffled, y), dense, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("classes", [2, 3])
def test_class_weights_leave_the_probabilities_of_the_data(classes):
    rng = np.random.default_rng(3)
    shares = [0.9, 0.1] if classes == 2 else [0.8, 0.15, 0.05]
    y = rng.choice(classes, size=1200, p=shares)
    X = rng.normal(size=(1200, 2)) + 1.5 * y[:, None]
    new = rng.choice(classes, size=4000, p=shares)
    Z = rng.normal(size=(4000, 2)) + 1.5 * new[:, None]
    density = np.exp(-0.5 * ((Z[:, None] - 1.5 * np.arange(classes)[:, None]) ** 2).sum(axis=2))
    truth = density * shares / (density @ shares)[:, None]
    machine = SVC(probability=True, random_state=0, gamma=0.2, class_weight="balanced")
    p = machine.fit(X, y).predict_proba(Z)
    assert_allclose(p.mean(axis=0), truth.mean(axis=0), atol=0.02)

    def loss(q):
        return -np.log(q[np.arange(len(new)), new]).mean()

    assert loss(p) < 1.15 * loss(truth) < 0.7 * loss(np.tile(shares, (4000, 1)))
    # The weights move what is predicted, as asked for, and that is not the larger probability.
    assert (machine.predict(Z) != machine.classes_[p.argmax(axis=1)]).any()


def test_pairs_of_classes_of_one_sample_have_probabilities():
    X = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1], [5, 5]])
    with pytest.warns(UserWarning, match="no 2 distinct samples"):
        machine = SVC(probability=True, random_state=0, gamma=1.0).fit(X, [0, 0, 0, 1, 2])
    p = machine.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(p.argmax(axis=1), machine.predict(X))


@pytest.mark.parametrize("C", [1e10, 1e300, np.inf])
def test_a_hard_margin_has_probabilities(C):
    X, y = load_iris(return_X_y=True)
    how = {"kernel": "linear", "probability": True, "random_state": 0}
    for rows in (slice(100), slice(0, 100, 25)):
        found = SVC(C=C, **how).fit(X[rows], y[rows]).predict_proba(X[:100])
        soft = SVC(C=1e6, **how).fit(X[rows], y[rows]).predict_proba(X[:100])
        assert_allclose(found, soft, atol=1e-6)
