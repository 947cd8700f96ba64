"""Discretizer against scikit-learn, and a direct search for Fayyad and Irani's edges."""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
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
    empty = Discretizer(missing="ignore").fit(np.full((3, 1), np.nan))
    assert_array_equal(empty.transform([[1.0]]), [[0]])


@pytest.mark.parametrize(
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
