"""Labels of partitions: any values that sort, in every function that takes a partition."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose

from mlcore.cluster import (
    adjusted_rand_index,
    clustering_cost,
    normalized_cut_value,
    ratio_cut_value,
    silhouette_score,
)

X = np.array([[0.0], [1.0], [4.0], [5.5]])
K = np.exp(-np.abs(X - X.T))
TAKERS = {
    "adjusted_rand_index": lambda labels: adjusted_rand_index(labels, [0, 0, 1, 1]),
    "adjusted_rand_index, second": lambda labels: adjusted_rand_index([0, 0, 1, 1], labels),
    "silhouette_score": lambda labels: silhouette_score(X, labels),
    "kmeans": lambda labels: clustering_cost(X, labels),
    "kmedian": lambda labels: clustering_cost(X, labels, "kmedian"),
    "trace": lambda labels: clustering_cost(K, labels, "trace"),
    "ratio_cut": lambda labels: ratio_cut_value(K, labels),
    "normalized_cut": lambda labels: normalized_cut_value(K, labels),
}


@each("taker", TAKERS)
def test_floats_are_names_as_any_other(taker):
    expected = TAKERS[taker]([0, 0, 1, 0])
    for labels in ([1.5, 1.5, 2.5, 1.5], np.float32([0.1, 0.1, 0.2, 0.1]), ["b", "b", "a", "b"]):
        assert_allclose(TAKERS[taker](labels), expected, rtol=1e-15)


@each("taker", TAKERS)
@each(
    ("labels", "message"),
    [
        ([[1], [2, 3], [1], [1]], "labels.* holds lists of different lengths"),
        ([1.5, np.nan, 2.5, 1.5], "labels.* contains NaN"),
        ([0.5, np.inf, 2.5, 1.5], "labels.* infinity"),
        ([[1.5, 2.5]] * 4, "labels"),
    ],
)
def test_what_are_no_labels_is_refused(taker, labels, message):
    with pytest.raises(ValueError, match=message):
        TAKERS[taker](labels)


def test_objects_that_are_floats_are_names_as_floats_are():
    labels = np.array([1.5, 2.5, 1.5], dtype=object)
    assert adjusted_rand_index(labels, [0, 1, 0]) == 1
