"""GaussianNB against exact moments, scikit-learn, iris and its laws."""

from fractions import Fraction

import numpy as np
import pytest
import sklearn.naive_bayes
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mlcore
from mlcore.blocks import fit_blocks
from mlcore.datasets import load_iris
from mlcore.naive_bayes import GaussianNB


def problem(seed, n=40, d=3, k=3, missing=0.0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(k), 3), rng.integers(0, k, n - 3 * k)])
    X = rng.normal(size=(n, d)) + y[:, None]
    hidden = rng.random((n, d)) < missing
    hidden[: 3 * k] = False
    X[hidden] = np.nan
    return X, y


def exact_moments(column):
    values = [Fraction(float(x)) for x in column if not np.isnan(x)]
    mean = sum(values) / len(values)
    return float(mean), float(sum((x - mean) ** 2 for x in values) / len(values))


def test_iris_and_scikit_learn():
    X, y = load_iris()
    model = GaussianNB().fit(X, y)
    assert (model.predict(X) != y).sum() == 6
    peer = sklearn.naive_bayes.GaussianNB(var_smoothing=0).fit(X, y)
    assert_allclose(model.theta_, peer.theta_, rtol=1e-14)
    assert_allclose(model.epsilon_, 1e-9 * X.var(axis=0), rtol=1e-13)
    assert_allclose(model.var_, peer.var_ + model.epsilon_, rtol=1e-13)
    # The smoothing is at most 1.1e-7 of a variance, of quotients of size up to 500.
    assert_allclose(model.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-5)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_moments_are_those_of_fractions(offset, missing):
    X, y = problem(0, missing=missing)
    X = X + offset
    model = GaussianNB(missing="ignore", var_smoothing=1e-300).fit(X, y)
    expected = np.array([[exact_moments(column) for column in X[y == c].T] for c in range(3)])
    assert_allclose(model.theta_, expected[..., 0], rtol=1e-14)
    # The offsets from the origin, of size 1, are exact to 40 roundings or fewer.
    assert_allclose(model.var_, expected[..., 1], rtol=1e-13)
    mean, variance = expected[..., 0], expected[..., 1]
    terms = np.log(2 * np.pi * variance) + (X[:, None] - mean) ** 2 / variance
    joint = np.log(np.bincount(y) / len(y)) - np.nansum(terms, axis=2) / 2
    assert_allclose(model.predict_joint_log_proba(X), joint, rtol=2e-7 if offset else 1e-12)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 39), st.sampled_from([0.0, 0.3]))
def test_laws(seed, cut, missing):
    X, y = problem(seed, missing=missing)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    whole = GaussianNB(missing="ignore").fit(X, y)
    expected = whole.predict_proba(X)
    # Blocks merged are the whole.
    parts = GaussianNB(missing="ignore").partial_fit(X[:cut], y[:cut])
    parts.partial_fit(X[cut:], y[cut:])
    assert_allclose(parts.predict_proba(X), expected, rtol=1e-9, atol=1e-14)
    # Units and origins do not matter.
    unit = 2.0 ** np.array([-900, 0, 900])
    moved = GaussianNB(missing="ignore").fit((X + [0, 5, 0])[:, :2] * unit[:2], y)
    fewer = GaussianNB(missing="ignore").fit(X[:, :2], y)
    assert_allclose(
        moved.predict_proba((X + [0, 5, 0])[:, :2] * unit[:2]),
        fewer.predict_proba(X[:, :2]),
        rtol=1e-9,
        atol=1e-14,
    )
    # Weights are copies, and a constant column says nothing.
    weight = np.random.default_rng(seed).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    copies = GaussianNB(missing="ignore").fit(X[rows], y[rows]).predict_proba(X)
    weighted = GaussianNB(missing="ignore").fit(X, y, weight).predict_proba(X)
    assert_allclose(weighted, copies, rtol=1e-9, atol=1e-14)
    constant = GaussianNB(missing="ignore").fit(np.c_[X, np.full(len(X), 1e10)], y)
    other = constant.predict_proba(np.c_[X, np.arange(len(X))])
    assert_allclose(other, expected, rtol=1e-12, atol=1e-14)
    # A row of missing values has the prior.
    nothing = whole.predict_proba(np.full((1, 3), np.nan))[0]
    assert_allclose(nothing, whole.class_prior_, rtol=1e-14)


def test_constant_data_and_empty_classes():
    model = GaussianNB().fit(np.ones((4, 2)), [0, 0, 0, 1])
    assert_allclose(model.predict_proba([[1.0, 1.0], [5.0, 7.0]]), [[0.75, 0.25]] * 2, rtol=1e-15)
    X, y = problem(1)
    declared = GaussianNB().partial_fit(X, y, classes=[0, 1, 2, 9])
    assert not declared.predict_proba(X)[:, 3].any()
    known = GaussianNB().fit(X, y).predict_proba(X)
    assert_array_equal(declared.predict_proba(X)[:, :3], known)
    unknown = np.where((y == 1)[:, None] & [True, False, False], np.nan, X)
    model = GaussianNB(missing="ignore").fit(unknown, y)
    assert_allclose(model.theta_[1, 0], X[y != 1, 0].mean(), rtol=1e-14)
    assert_allclose(model.var_[1, 0], X[y != 1, 0].var(), rtol=1e-8)


# ---- no smoothing, units of the first rows


def test_without_smoothing_the_posteriors_are_those_of_scikit_learn():
    X, y = load_iris()
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    peer = sklearn.naive_bayes.GaussianNB(var_smoothing=0.0).fit(X, y)
    assert_allclose(model.var_, peer.var_, rtol=1e-13)
    assert_array_equal(model.epsilon_, 0)
    assert_allclose(model.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-11)


def test_without_smoothing_a_constant_class_is_refused():
    X = np.array([[1.0, 7.0, 1.0], [2, 7, 1], [3, 7, 2], [4, 7, 2]])
    model = GaussianNB(var_smoothing=0).fit(X[:, :2], [0, 0, 1, 1])  # 7 in all classes is left out
    before = model.theta_
    with pytest.raises(ValueError, match="feature 2 is constant in class number 0.*var_smoothing"):
        model.fit(X, [0, 0, 1, 1])
    assert model.theta_ is before
    GaussianNB().fit(X, [0, 0, 1, 1])


@each("power", [-564, -166, -100, 100, 300])
@each("column", [0, None])
def test_first_rows_of_another_size_change_nothing(power, column):
    """Rows are added in units of the largest: what the first rows are in does not matter."""
    X, y = problem(1, n=60)
    X[:20, slice(None) if column is None else column] *= 2.0**power
    whole = GaussianNB().fit(X, y)
    for order in ((0, 20, 40), (40, 20, 0), (20, 0, 40)):
        model = GaussianNB()
        for first in order:
            model.partial_fit(X[first : first + 20], y[first : first + 20], classes=[0, 1, 2])
        # Ratios of 2^300 leave a share of a rounding of the mean that the first origin had.
        assert_allclose(model.var_, whole.var_, rtol=1e-12)
        assert_allclose(model.theta_, whole.theta_, rtol=1e-12, atol=1e-15 * np.abs(X).max())
        assert_array_equal(model.predict(X), whole.predict(X))
    parts = [(X[i : i + 20], y[i : i + 20]) for i in (0, 20, 40)]
    assert_allclose(fit_blocks(GaussianNB(), parts).var_, whole.var_, rtol=1e-12)
    assert_allclose(fit_blocks(GaussianNB(), parts[::-1]).var_, whole.var_, rtol=1e-12)


def test_variances_of_a_small_class_stay_when_units_grow():
    """At a ratio of 2^515 the squares of later rows overflow in the first unit, and the variance
    of the first ones, 2^-1030, has 44 bits left.
    """
    X, y = problem(3, n=60)
    expected = np.ldexp(X[:20].var(axis=0), -1030)
    X[:20] *= 2.0**-515
    y[:20], y[20:] = 0, 1
    model = GaussianNB(var_smoothing=0).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert_allclose(model.var_[0], expected, rtol=1e-12)
    assert_allclose(model.var_[1], X[20:].var(axis=0), rtol=1e-12)


def test_units_outlive_a_file(tmp_path):
    X, y = problem(2, n=40)
    X[:20] *= 1e-170
    mlcore.save(GaussianNB().fit(X[:20], y[:20]), tmp_path / "m")
    model = mlcore.load(tmp_path / "m").partial_fit(X[20:], y[20:])
    assert_allclose(model.var_, GaussianNB().fit(X, y).var_, rtol=1e-12)


# ---- scores of foreign labels


def test_labels_of_which_none_is_a_class_are_a_warning():
    X, y = load_iris()
    names = np.array(["<=50K", ">50K"])[(y > 0).astype(int)]
    model = GaussianNB().fit(X, names)
    foreign = np.char.add(names, ".")
    with pytest.warns(UserWarning, match=r"none of the labels of y, such as '<=50K.', is a class"):
        assert model.score(X, foreign) == 0
    some = np.where(np.arange(150) < 1, "<=50K", foreign)
    assert model.score(X, some) == 1 / 150
    with pytest.raises(TypeError, match="none could be equal"):
        model.score(X, y)
