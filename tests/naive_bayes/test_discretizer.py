"""Discretizer against scikit-learn, and a direct search for Fayyad and Irani's edges."""

import math
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer

from mlcore.datasets import load_iris
from mlcore.mixture import CategoricalMixture
from mlcore.naive_bayes import CategoricalNB, Discretizer


def entropy(labels):
    return stats.entropy(list(Counter(labels).values()), base=2)


def searched_edges(values, labels):
    """Every division is tried, as the article has it, by lists."""
    pairs = sorted(zip(values, labels, strict=True))
    values, labels = [v for v, _ in pairs], [c for _, c in pairs]
    n, best = len(values), None
    for i in range(1, n):
        if values[i] > values[i - 1]:
            mean = (i * entropy(labels[:i]) + (n - i) * entropy(labels[i:])) / n
            if best is None or mean < best[0] - 1e-12:
                best = mean, i
    if best is None:
        return []
    mean, i = best
    k, low, high = (len(set(part)) for part in (labels, labels[:i], labels[i:]))
    whole, below, above = entropy(labels), entropy(labels[:i]), entropy(labels[i:])
    delta = math.log2(3**k - 2) - (k * whole - low * below - high * above)
    if whole - mean <= (math.log2(n - 1) + delta) / n:
        return []
    lower, upper = (searched_edges(values[s], labels[s]) for s in (slice(i), slice(i, n)))
    return [*lower, (values[i - 1] + values[i]) / 2, *upper]


def test_edges_of_fayyad_and_irani():
    X, y = load_iris()
    found = Discretizer(strategy="mdl").fit(X, y)
    for edges, column in zip(found.edges_, X.T, strict=True):
        np.testing.assert_allclose(edges, searched_edges(column, y), rtol=1e-15)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    noise = rng.normal(size=(60, 1))
    assert_array_equal(Discretizer(strategy="mdl").fit(noise, labels).n_bins_, [1])


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_scikit_learn_has_the_same_bins(strategy):
    X = np.random.default_rng(1).normal(size=(203, 3))
    how = {"quantile_method": "averaged_inverted_cdf"} if strategy == "quantile" else {}
    try:
        peer = KBinsDiscretizer(7, encode="ordinal", strategy=strategy, **how)
    except TypeError:  # older versions interpolate
        return
    assert_array_equal(
        Discretizer(n_bins=7, strategy=strategy).fit_transform(X), peer.fit_transform(X)
    )


def test_missing_values_stay_and_equal_values_share_a_bin():
    X = np.array([[1.0, 2], [1, np.nan], [1, 3], [1, 4], [5, np.nan], [np.nan, 5]])
    with pytest.warns(UserWarning, match=r"X\[:, 0\] has one interval"):
        model = Discretizer(n_bins=4, missing="ignore").fit(X)
    codes = model.transform(X)
    assert_array_equal(np.isnan(codes), np.isnan(X))
    assert_array_equal(codes[:5, 0], [0, 0, 0, 0, 1] if len(model.edges_[0]) else [0] * 5)
    assert all(len(np.unique(e)) == len(e) for e in model.edges_)
    y = np.array([0, 0, 0, 1, 1, 1])
    CategoricalNB(missing="ignore").fit(codes, y).predict(codes)
    CategoricalMixture(2, missing="ignore", random_state=0).fit(codes)
    assert_array_equal(
        Discretizer(edges=[[0.0], []]).fit(X[2:4]).transform([[-1.0, 7], [0, 7]]), [[0, 0], [1, 0]]
    )
    with pytest.warns(UserWarning, match="one interval"):
        empty = Discretizer(missing="ignore").fit(np.full((3, 1), np.nan))
    assert_array_equal(empty.transform([[1.0]]), [[0]])


@each(
    ("params", "message"),
    [
        ({"edges": [[1.0]]}, "edges must be a list of 2"),
        ({"edges": [[1.0, 1.0], []]}, r"edges\[0\] must be finite and increasing"),
        ({"edges": [[1.0], [np.nan]]}, r"edges\[1\] must be finite"),
        ({"strategy": "mdl"}, "requires y to be passed"),
        ({"n_bins": 1}, "n_bins"),
    ],
)
def test_what_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        Discretizer(**params).fit(np.eye(2))


def test_features_that_are_lost_are_named():
    rows = np.array([[0.0, 1, 5]] * 8 + [[1.0, 2, 5], [2.0, 3, 5]])
    frame = pd.DataFrame(rows, columns=["gain", "pay", "year"])
    with pytest.warns(UserWarning, match=r"X\[:, 0\] \(column 'gain'.*'year'.* have one inter"):
        codes = Discretizer(n_bins=3).fit_transform(frame)
    assert not codes.any()
    with pytest.warns(UserWarning, match=r"X\[:, 2\] \(column 'year'.* has one interval"):
        codes = Discretizer(n_bins=3, strategy="uniform").fit_transform(frame)
    assert_array_equal(codes[:, 0], [0] * 8 + [1, 2])
    labels = [0] * 8 + [1, 1]
    assert_array_equal(Discretizer(strategy="mdl").fit(frame, labels).n_bins_, [2, 2, 1])
    with pytest.warns(UserWarning, match="one interval"):  # as its value of weight is one
        Discretizer().fit(rows[:, :1], sample_weight=[1] * 8 + [0, 0])


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["quantile", "uniform", "mdl"]),
    st.integers(2, 6),
    st.sampled_from([1.0, 2.0**-60, 2.0**60]),
)
def test_weights_are_copies(seed, strategy, n_bins, scale):
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 9, (30, 2)) / 4 + rng.normal(size=(30, 1)) * (seed % 2)
    y, weights = (X[:, 0] > 0).astype(int), rng.integers(0, 4, 30)
    if scale != 1 and strategy == "mdl":
        scale = 1.0  # its description counts rows
    weights[:2] = 1
    copies = np.repeat(np.arange(30), weights)
    model = Discretizer(n_bins=n_bins, strategy=strategy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clone(model).fit(X, y, sample_weight=weights * scale)
        expected = clone(model).fit(X[copies], y[copies])
    for one, other in zip(found.edges_, expected.edges_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15, atol=1e-15)


def test_fractional_weights_end_where_sums_of_whole_ones_do():
    """Ten weights of 0.1 sum to less than 1, by rounding: the median is between the fifth and
    the sixth value all the same.
    """
    X = np.arange(10.0)[:, None]
    found = Discretizer(n_bins=2).fit(X, sample_weight=np.full(10, 0.1))
    assert found.edges_[0].tolist() == [4.5]
    assert Discretizer(n_bins=2).fit(X).edges_[0].tolist() == [4.5]


def test_arguments_of_scikit_learn_have_a_hint():
    for name in ("encode", "subsample", "random_state"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}': drop it"):
            Discretizer(**{name: None})
