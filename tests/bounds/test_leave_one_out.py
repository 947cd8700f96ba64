"""Leave-one-out bounds against leaving one out."""

import numpy as np
import pytest

from mlcore.bounds import (
    jaakkola_haussler_loo_bound,
    radius_margin_loo_bound,
    support_vector_loo_bound,
)


def hard_margin_without_bias(K, y):
    """Multipliers of the least-norm w with y w.x >= 1, by ascent on one at a time."""
    alpha = np.zeros(len(y))
    for _ in range(400):
        for i in range(len(y)):
            gradient = 1 - y[i] * (K[i] @ (alpha * y))
            alpha[i] = max(0.0, alpha[i] + gradient / K[i, i])
    return alpha


@pytest.mark.parametrize("seed", range(3))
def test_no_more_errors_than_the_bounds_say(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 3))
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(-1))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=14) > 0, 1.0, -1.0)
    alpha = hard_margin_without_bias(K, y)
    errors = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        left = hard_margin_without_bias(K[np.ix_(rest, rest)], y[rest])
        errors += y[i] * (K[i, rest] @ (left * y[rest])) < -1e-6
    y_f = y * (K @ (alpha * y))
    margin = 1 / np.sqrt(alpha.sum())
    by_points = jaakkola_haussler_loo_bound(alpha, np.diag(K), y_f)
    assert errors / 14 <= by_points <= support_vector_loo_bound(int((alpha > 0).sum()), 14)
    assert by_points <= radius_margin_loo_bound(1.0, float(margin), 14) + 1 / 14


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="y_f"):
        jaakkola_haussler_loo_bound([1.0, 2.0], [1.0, 1.0], [0.5])
    with pytest.raises(ValueError, match="alpha"):
        jaakkola_haussler_loo_bound([], [], [])
    with pytest.raises(ValueError, match=r"alpha\[1\]=-1"):
        jaakkola_haussler_loo_bound([1.0, -1.0], [1.0, 1.0], [0.5, 0.5])
    assert jaakkola_haussler_loo_bound([0.0], [1.0], [1.0]) == 0.0
