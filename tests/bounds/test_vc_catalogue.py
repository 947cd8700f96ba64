"""The catalogue of VC dimensions, by shattering where a class is small enough to be listed."""

import itertools
import math

import numpy as np
import pytest
from each import each

from mlcore.bounds import known_vc_dimension, sauer_bound, vc_dimension_upper_bound

KNOWN = {
    ("thresholds",): 1,
    ("signed_thresholds",): 2,
    ("intervals",): 2,
    ("unions_of_intervals", ("k", 4)): 8,
    ("rectangles", ("n", 3)): 6,
    ("halfspaces", ("n", 3)): 4,
    ("homogeneous_halfspaces", ("n", 3)): 3,
    ("balls", ("n", 3)): 4,
    ("convex_polygons", ("k", 3)): 7,
    ("convex_sets",): math.inf,
    ("polynomial_threshold", ("n", 3), ("degree", 2)): 10,
    ("sine",): math.inf,
    ("nearest_neighbor",): math.inf,
    ("unbounded_unions_of_intervals",): math.inf,
    ("monotone_conjunctions", ("n", 5)): 5,
    ("conjunctions", ("n", 5)): 5,
    ("parities", ("n", 5)): 5,
    ("decision_stumps", ("n", 1)): 2,
    ("decision_stumps", ("n", 3)): 4,
    ("decision_stumps", ("n", 10)): 6,
    ("finite", ("n_hypotheses", 1023)): 9,
    ("finite", ("n_hypotheses", 2**100)): 100,
}


@pytest.mark.parametrize("entry", KNOWN)
def test_known_dimensions(entry):
    found = known_vc_dimension(entry[0], **dict(entry[1:]))
    assert found == KNOWN[entry] and type(found) is (float if KNOWN[entry] == math.inf else int)


def largest_shattered(H):
    """By trying every set of columns."""
    best = 0
    for d in range(1, H.shape[1] + 1):
        for columns in itertools.combinations(range(H.shape[1]), d):
            if len(np.unique(H[:, columns], axis=0)) == 2**d:
                best = d
                break
        else:
            return best
    return best


def test_classes_over_the_cube_by_trying():
    n = 3
    X = np.array(list(itertools.product([0, 1], repeat=n)))
    conjunctions = [
        np.all([X[:, i] == s for i, s in enumerate(signs) if s < 2] + [X[:, 0] < 2], axis=0)
        for signs in itertools.product([0, 1, 2], repeat=n)
    ]
    assert largest_shattered(np.array(conjunctions)) == known_vc_dimension("conjunctions", n=n)
    monotone = [
        np.all(X[:, list(s)] == 1, axis=1)
        for r in range(n + 1)
        for s in itertools.combinations(range(n), r)
    ]
    found = known_vc_dimension("monotone_conjunctions", n=n)
    assert largest_shattered(np.array(monotone)) == found
    parities = X @ X.T % 2
    assert largest_shattered(parities) == known_vc_dimension("parities", n=n)


def test_upper_bounds_are_what_their_inequalities_say():
    two = vc_dimension_upper_bound("intersection", vc_dimension=3, k=2)
    assert (
        two == vc_dimension_upper_bound("intersection", d=3, k=2) == math.floor(12 * math.log2(6))
    )
    assert vc_dimension_upper_bound("union", vc_dimension=5, k=1) == math.floor(10 * math.log2(3))
    found = vc_dimension_upper_bound("threshold_network", n_weights=100, n_units=11)
    assert found == math.floor(200 * math.log2(math.e * 11))
    for d, T in ((3, 3), (3, 50), (10, 7)):
        found = vc_dimension_upper_bound("boosting", vc_dimension=d, T=T)
        assert found < T * (d + 1) * (3 * math.log(T * (d + 1)) + 2)
        assert growth_of_votes(found, d, T) >= 2**found
        assert growth_of_votes(found + 1, d, T) < 2 ** (found + 1)
    for n, s in ((5, 1), (100, 3)):
        m = vc_dimension_upper_bound("sparse_halfspaces", n=n, s=s)
        assert math.comb(n, s) * sauer_bound(m, s + 1) >= 2**m
        assert math.comb(n, s) * sauer_bound(m + 1, s + 1) < 2 ** (m + 1)
        m = vc_dimension_upper_bound("decision_tree", n_features=n, n_splits=s)
        assert trees(m, n, s) >= 2**m and trees(m + 1, n, s) < 2 ** (m + 1)
    assert vc_dimension_upper_bound("sparse_halfspaces", n=4, s=4) >= 5


def growth_of_votes(m, d, T):
    return sauer_bound(m, d) ** T * sauer_bound(m, T)


def trees(m, n, s):
    return math.comb(2 * s, s) // (s + 1) * (n * (m + 1)) ** s * 2 ** (s + 1)


def test_a_stump_is_a_tree_with_one_split():
    for n in range(1, 40):
        stumps = known_vc_dimension("decision_stumps", n=n)
        assert stumps <= vc_dimension_upper_bound("decision_tree", n_features=n, n_splits=1)


@each(
    ("function", "name", "params", "message"),
    [
        (known_vc_dimension, "halfspace", {}, "name='halfspace' must be one of 'thresholds'"),
        (known_vc_dimension, None, {}, "name=None"),
        (known_vc_dimension, "halfspaces", {}, "params={} must be .*'halfspaces': n >= 1"),
        (known_vc_dimension, "halfspaces", {"d": 3}, "params=.*n >= 1"),
        (known_vc_dimension, "thresholds", {"n": 3}, "params=.*none"),
        (known_vc_dimension, "halfspaces", {"n": 2.5}, "n=2.5 must be an integer >= 1"),
        (known_vc_dimension, "convex_polygons", {"k": 2}, "k=2 must be an integer >= 3"),
        (
            vc_dimension_upper_bound,
            "boosting",
            {"vc_dimension": 2, "T": 5},
            "vc_dimension=2 must be an integer >= 3",
        ),
        (
            vc_dimension_upper_bound,
            "threshold_network",
            {"n_weights": 5, "n_units": 1},
            "n_units=1",
        ),
        (vc_dimension_upper_bound, "trees", {}, "name='trees' must be one of 'intersection'"),
    ],
)
def test_unknown_names_and_parameters(function, name, params, message):
    with pytest.raises(ValueError, match=message):
        function(name, **params)
