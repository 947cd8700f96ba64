"""softmax and its logarithm against SciPy, and where exponentials would overflow or vanish."""

import numpy as np
import pytest
from scipy import special

from mlcore.numerics.scores.log_softmax import log_softmax, softmax


@pytest.mark.parametrize("size", [1.0, 1e3, 1e300])
def test_equals_scipy(size):
    for c in (1, 2, 7, 16, 17, 40):
        scores = size * np.random.default_rng(c).normal(size=(50, c))
        for ours, peer in ((log_softmax, special.log_softmax), (softmax, special.softmax)):
            np.testing.assert_allclose(ours(scores), peer(scores, axis=1), rtol=3e-14, atol=1e-14)


def test_impossible_classes_have_probability_zero():
    scores = np.array([[-np.inf, 0.0, 0.0], [-np.inf, -np.inf, 5.0]])
    found = log_softmax(scores)
    np.testing.assert_allclose(softmax(scores), [[0, 0.5, 0.5], [0, 0, 1]], rtol=1e-15)
    np.testing.assert_array_equal(np.exp(found[1]), [0, 0, 1])
    np.testing.assert_allclose(np.exp(found[0]), [0, 0.5, 0.5], rtol=1e-15)


def test_scores_are_left_as_they_are():
    scores = np.ones((2, 3))
    log_softmax(scores)
    softmax(scores)
    np.testing.assert_array_equal(scores, 1)
