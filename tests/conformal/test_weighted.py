"""Weighted thresholds against a brute force in fractions, and their coverage by simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal
from scipy.stats import norm

from mlcore.conformal import conformal_threshold, weighted_thresholds


@each("seed", range(60))
def test_thresholds_are_those_of_a_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    scores = rng.integers(0, 6, n).astype(float)  # ties
    weight = rng.integers(0, 4, n).astype(float)
    weight[0] += 1
    new = rng.integers(0, 6, 8).astype(float)
    found = weighted_thresholds(scores, weight, new, 0.7)
    for v, t in zip(new, found, strict=True):
        wanted = Fraction(7, 10) * (Fraction(weight.sum()) + Fraction(v))
        enough = [s for s in scores if Fraction(weight[scores <= s].sum()) >= wanted]
        assert t == min(enough, default=math.inf)
    for scale in (2.0**-500, 2.0**500):
        assert_array_equal(weighted_thresholds(scores, weight * scale, new * scale, 0.7), found)


@each("n, coverage", [(n, c) for n in (1, 9, 19, 99, 399) for c in (0.1, 0.3, 0.9, 0.95)])
@pytest.mark.filterwarnings("ignore:Too few")
def test_equal_weights_are_none(n, coverage):
    scores = np.random.default_rng(n).normal(size=n)
    expected = conformal_threshold(scores, coverage).thresholds[0]
    for weight in (1.0, 0.1, 3.3, 1e-150, 1e150):
        found = weighted_thresholds(scores, np.full(n, weight), [weight], coverage)
        assert_array_equal(found, expected)


def test_coverage_under_a_shift_by_simulation():
    """Features are moved by 1, the noise grows with them: without weights the coverage falls."""
    rng, runs, n, m = np.random.default_rng(0), 400, 60, 40
    covered, plain = np.empty(runs), np.empty(runs)
    for i in range(runs):
        x, z = rng.normal(size=n), rng.normal(size=m) + 1
        scores, new = (np.abs(rng.normal(size=len(v))) * np.exp(v) for v in (x, z))
        weight, of_new = np.exp(x - 0.5), np.exp(z - 0.5)
        covered[i] = (new <= weighted_thresholds(scores, weight, of_new, 0.8)).mean()
        plain[i] = (new <= conformal_threshold(scores, 0.8).thresholds[0]).mean()
    error = covered.std() / math.sqrt(runs)
    assert covered.mean() > 0.8 + error * norm.ppf(1e-4)
    assert covered.mean() < 0.86
    assert plain.mean() < 0.65


@each(("given", "said"), [
    ({"scores": []}, "^scores="),
    ({"scores": [math.nan] * 3}, r"^scores\[0\]="),
    ({"sample_weight": None}, "^sample_weight="),
    ({"sample_weight": [1.0, 2.0]}, "sample_weight"),
    ({"sample_weight": [1.0, -1.0, 1.0]}, "sample_weight"),
    ({"new_weight": 1.0}, "^new_weight="),
    ({"new_weight": [-1.0]}, "^new_weight"),
    ({"new_weight": [math.inf]}, "^new_weight"),
    ({"coverage": 1.0}, "^coverage="),
])  # fmt: skip
def test_refusals_name_the_argument(given, said):
    valid = {"scores": [1.0, 2.0, 3.0], "sample_weight": [1.0] * 3, "new_weight": [1.0]}
    with pytest.raises(ValueError, match=said):
        weighted_thresholds(**{**valid, **given})
