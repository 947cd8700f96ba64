"""Intervals of metrics: the ends of SciPy and brute force, and exact probabilities of failure."""

import itertools
import math

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, multinomial

from mlcore.bounds import (
    auc_interval,
    f1_interval,
    jaccard_interval,
    mean_loss_interval,
    quantile_interval,
    r2_interval,
)


def hoeffding_bentkus(mean, m, delta):
    """The smaller of both bounds by bisection of their definitions, for ``t = ln(1 - p)``."""
    k = math.ceil(round(m * mean, 9))
    if mean == 1:
        return 1.0

    def kl(t):
        p = -math.expm1(t)
        rest = (1 - mean) * (math.log1p(-mean) - t)
        return (mean and mean * math.log(mean / p)) + rest - math.log(1 / delta) / m

    def tail(t):
        return binom.logcdf(k, m, -math.expm1(t)) - math.log(delta) + 1

    first = brentq(kl, math.log1p(-mean) - 1e-12, -1e12, xtol=1e-13, maxiter=999)
    second = brentq(tail, -1e-12, -30, xtol=1e-13) if k < m else -math.inf
    return -math.expm1(max(first, second))


def variance_ends(values, delta):
    """Bounds on the variance of values in [0, 1], each of which may fail with delta."""
    twice, pairs = 2 * np.var(values, ddof=1), len(values) // 2
    low = (1 - hoeffding_bentkus(1 - twice, pairs, delta)) / 2
    return low, min(hoeffding_bentkus(twice, pairs, delta) / 2, 0.25)


def mean_end(values, delta):
    """The smaller of both upper bounds on the mean of values in [0, 1], each at delta / 2."""
    m, mean = len(values), values.mean()
    if m == 1:
        return hoeffding_bentkus(mean, 1, delta)
    variance, a = variance_ends(values, delta / 8)[1], math.log(8 / 3 / delta) / (3 * m)
    bernstein = mean + a + math.sqrt(a**2 + 6 * variance * a)
    return min(hoeffding_bentkus(mean, m, delta / 2), bernstein, 1)


COUNTS = [(1, 0, 0), (0, 1, 0), (0, 0, 9), (80, 10, 10), (5, 3, 1), (10**6, 17, 10**5)]


@each("hits, wrong, missed, delta", [(*c, d) for c in COUNTS for d in (1e-9, 0.05, 0.3)])
def test_jaccard_and_f1_are_scipys_exact_interval_of_the_true_positives(hits, wrong, missed, delta):
    test = binomtest(hits, hits + wrong + missed)
    low, high = test.proportion_ci(1 - delta)
    assert_allclose(jaccard_interval(hits, wrong, missed, delta), (low, high), rtol=1e-7)
    f1 = f1_interval(hits, wrong, missed, delta)
    assert_allclose(f1, (2 * low / (1 + low), 2 * high / (1 + high)), rtol=1e-7)
    estimate = 2 * hits / (2 * hits + wrong + missed)
    assert f1[0] <= estimate <= f1[1] <= 1
    assert f1 == f1_interval(hits, missed, wrong, delta)


def test_no_examples_but_true_negatives_say_nothing_of_f1():
    assert f1_interval(0, 0, 0, 0.05) == jaccard_interval(0, 0, 0, 0.05) == (0, 1)
    lower, upper = f1_interval([0, 5], 0, 0, 0.05)
    assert (lower[0], upper[0]) == (0, 1) and upper[1] == 1
    q = 0.025 ** (1 / 5)
    assert_allclose(lower[1], 2 * q / (1 + q), rtol=1e-13)


def test_f1_fails_with_probability_delta_and_no_less():
    n, delta = 40, 0.1
    k = np.arange(n + 1)
    lower, upper = f1_interval(k, n - k, 0, delta)
    worst = 0.0
    for end in upper[:-1]:
        # A truth just above an end is missed by all smaller counts.
        truth = end * (1 + 1e-12)
        rate = truth / (2 - truth)
        below, above = (
            binom.pmf(k, n, rate)[miss].sum() for miss in (upper < truth, lower > truth)
        )
        assert below <= delta / 2 * (1 + 1e-9) and above <= delta / 2 * (1 + 1e-9)
        worst = max(worst, below)
    assert worst > delta / 2 * (1 - 1e-9)


SIZES = [(1, 1), (1, 40), (40, 3), (50, 60), (300, 200)]
TYPES = [np.float32, np.float64, np.int64]


@each("n_positives, n_negatives, dtype", [(*size, dtype) for size in SIZES for dtype in TYPES])
def test_auc_counts_pairs(n_positives, n_negatives, dtype):
    rng = np.random.default_rng([n_positives, n_negatives])
    positive = np.round(rng.normal(8, 5, n_positives)).astype(dtype)
    negative = np.round(rng.normal(5, 5, n_negatives)).astype(dtype)
    positive.flags.writeable = negative.flags.writeable = False
    pairs = np.sign(positive[:, None] - negative).astype(float)
    auc, r = (1 + pairs.mean()) / 2, min(n_positives, n_negatives)
    interval = auc_interval(positive, negative, 0.1)
    expected = 1 - hoeffding_bentkus(1 - auc, r, 0.05), hoeffding_bentkus(auc, r, 0.05)
    assert_allclose(interval, expected, atol=1e-9)
    # Swapped classes mirror the interval, and increasing functions of scores leave it.
    assert_allclose(auc_interval(negative, positive, 0.1), (1 - interval[1], 1 - interval[0]))
    positive, negative = positive.astype(float), negative.astype(float)
    assert auc_interval(positive * 2.0**400, negative * 2.0**400, 0.1) == interval
    assert auc_interval(positive[::-1] + 1e8, negative[::-1] + 1e8, 0.1) == interval


def failures(ends, truth, law):
    """Probabilities that an upper and a lower end miss the truth, exactly."""
    lower, upper = np.transpose(ends)
    return law[upper < truth].sum(), law[lower > truth].sum()


def test_ends_fail_rarely_but_too_often_where_the_slack_is_halved():
    # Scores of one class are constant, those of the other above or below: U is a binomial rate.
    m, delta = 60, 0.02
    k = np.arange(m + 1)
    wrong = [np.arange(m) < i for i in k]
    auc = np.array([auc_interval(2.0 * w - 1, np.zeros(m), delta) for w in wrong])
    loss = np.array([mean_loss_interval(w * 4.0, delta, value_range=4.0) for w in wrong]) / 4
    r2 = np.array(
        [r2_interval(w * 8.0 - 4, np.full(m, -4), delta, value_range=(-4, 4)) for w in wrong]
    )
    for ends in (auc, loss):
        halved = (ends + (k / m)[:, None]) / 2
        for truth in (0.03, 0.2, 0.5, 0.8, 0.97):
            law = binom.pmf(k, m, truth)
            assert max(failures(ends, truth, law)) <= delta / 2
            assert max(failures(halved, truth, law)) > 1.5 * delta / 2
    # A fair coin of errors: R2 is -p / (p (1 - p)).
    for truth in (0.03, 0.2, 0.5):
        law = binom.pmf(k, m, truth)
        assert max(failures(r2, -1 / (1 - truth), law)) <= delta / 2


def test_means_of_three_values_fail_with_at_most_delta_over_two():
    # All samples of values 0, 1/2 and 1: the mean and the variance are those of their counts.
    m, delta = 16, 0.3
    counts = np.array([(a, b, m - a - b) for a in range(m + 1) for b in range(m + 1 - a)])
    samples = [np.repeat([0, 0.5, 1], row) for row in counts]
    ends = [mean_loss_interval(sample, delta) for sample in samples]
    for p in ([0.05, 0.9, 0.05], [0.01, 0.04, 0.95], [0.3, 0.1, 0.6], [0.97, 0.02, 0.01]):
        law = multinomial.pmf(counts, m, p)
        assert max(failures(ends, p @ np.array([0, 0.5, 1]), law)) <= delta / 2


def test_simulated_means_fail_rarely_but_too_often_where_the_slack_is_halved():
    delta, runs, m, failed = 0.001, 250, 400, [0, 0]
    rng = np.random.default_rng(0)
    for _ in range(runs):
        losses = rng.beta(0.1, 0.1, m)
        mean, ends = losses.mean(), mean_loss_interval(losses, delta)
        for i, share in enumerate((1, 0.5)):
            lower, upper = (mean + share * (end - mean) for end in ends)
            failed[i] += not lower <= 0.5 <= upper
    assert binomtest(failed[0], runs, delta, alternative="greater").pvalue > 0.01
    assert binomtest(failed[1], runs, 1.5 * delta, alternative="greater").pvalue < 1e-3


def tables(m, cells):
    """All counts (n_tables, cells) that add up to m."""
    return np.array([c for c in itertools.product(range(m + 1), repeat=cells) if sum(c) == m])


def test_auc_of_tied_scores_fails_with_at_most_delta_over_two():
    # All samples of 4 and 5 scores 0, 1 and 2, by their counts.
    delta, values = 0.5, np.arange(3)
    better = (values[:, None] > values) + (values[:, None] == values) / 2
    of_positives, of_negatives = tables(4, 3), tables(5, 3)
    areas = of_positives @ better @ of_negatives.T
    pairs = [np.argwhere(areas == area)[0] for area in np.unique(areas)]
    found = [
        auc_interval(np.repeat(values, of_positives[i]), np.repeat(values, of_negatives[j]), delta)
        for i, j in pairs
    ]
    ends = np.array(found)[np.searchsorted(np.unique(areas), areas).ravel()]
    for p, q in (([0.1, 0.2, 0.7], [0.6, 0.3, 0.1]), ([0.0, 0.5, 0.5], [0.1, 0.9, 0.0])):
        law = np.outer(multinomial.pmf(of_positives, 4, p), multinomial.pmf(of_negatives, 5, q))
        assert max(failures(ends, p @ better @ q, law.ravel())) <= delta / 2


def test_r2_of_two_values_fails_with_at_most_delta():
    # All samples of 6 targets 0 and 1 with predictions 0 and 1.
    delta, pairs = 0.5, np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    y, predictions = pairs.T
    counts = tables(6, 4)
    ends = [
        r2_interval(np.repeat(y, n), np.repeat(predictions, n), delta, value_range=(0, 1))
        for n in counts
    ]
    for p in ([0.4, 0.1, 0.1, 0.4], [0.05, 0.0, 0.05, 0.9], [0.25, 0.25, 0.25, 0.25]):
        rate = p @ y
        truth = 1 - p @ (y != predictions) / (rate * (1 - rate))
        assert sum(failures(ends, truth, multinomial.pmf(counts, 6, p))) <= delta


@each("scale, m", itertools.product([1e-150, 1.0, 1e150], [1, 2, 50, 3000]))
def test_mean_loss_is_the_tighter_bound_of_both_sides(scale, m):
    rng = np.random.default_rng(m)
    for losses in (rng.beta(0.5, 3, m), np.clip(rng.normal(0.1, 0.01, m), 0, 1)):
        mean = losses.mean()
        interval = mean_loss_interval(losses * scale, 0.1, value_range=scale)
        expected = 1 - mean_end(1 - losses, 0.05), mean_end(losses, 0.05)
        assert_allclose(np.array(interval) / scale, expected, atol=1e-9)
        assert interval[0] <= mean * scale <= interval[1] <= scale
        assert mean_loss_interval(np.sort(losses) * scale, 0.1, value_range=scale) == (
            pytest.approx(interval, rel=1e-12)
        )


@each("m, low, high", [(2, 0, 1), (50, -1, 1), (3000, 1e8, 1e8 + 64), (700, -1e150, 3e150)])
def test_r2_is_of_four_ends(m, low, high):
    rng = np.random.default_rng(m)
    y = low + (high - low) * rng.random(m)
    predictions = low + (y - low) * 0.9
    lower, upper = r2_interval(y, predictions, 0.2, value_range=(low, high))
    z, errors = (y - low) / (high - low), ((y - predictions) / (high - low)) ** 2
    least, most = variance_ends(z, 0.05)
    assert_allclose(lower, 1 - mean_end(errors, 0.05) / least if least > 1e-9 else -math.inf)
    assert_allclose(upper, 1 - (1 - mean_end(1 - errors, 0.05)) / most, rtol=1e-7)
    assert lower <= 1 - errors.mean() / z.var() <= upper
    mirrored = r2_interval(
        low + (high - y), low + (high - predictions), 0.2, value_range=(low, high)
    )
    assert_allclose(mirrored, (lower, upper), rtol=1e-6)


def test_r2_of_constant_targets_says_nothing():
    assert r2_interval([3.0] * 90, [3.0] * 90, 0.1, value_range=(0, 4)) == (-math.inf, 1)
    assert r2_interval([1.0], [3.0], 0.1, value_range=(0, 4)) == (-math.inf, 1)


LEVELS = [0.001, 0.1, 0.5, 0.9, 1 - 1e-9]


@each("m, q, delta", itertools.product([1, 2, 7, 60, 500], LEVELS, [1e-6, 0.05, 0.5]))
def test_ranks_of_quantiles_are_the_best_that_hold(m, q, delta):
    values = np.random.default_rng(m).permutation(m).astype(float)
    lower, upper = quantile_interval(values, q, delta)
    ranks = np.arange(m)  # counts from 0: the end k is above the quantile if k or fewer are not
    holds = ranks[binom.cdf(ranks, m, q) <= delta / 2]
    assert lower == (holds.max() if len(holds) else -math.inf)
    holds = ranks[binom.sf(ranks, m, q) <= delta / 2]
    assert upper == (holds.min() if len(holds) else math.inf)


def test_quantiles_of_ties_and_mirrored_values():
    assert quantile_interval(np.full(100, 3.0), 0.3, 0.05) == (3, 3)
    # The fair coin's tail is exactly delta / 2: the least and the greatest value hold.
    assert quantile_interval([5, 1, 4, 2, 3], 0.5, 2.0**-4) == (1, 5)
    assert quantile_interval([5, 1, 4, 2, 3], 0.5, 2.0**-4 - 1e-12) == (-math.inf, math.inf)
    values = np.random.default_rng(0).normal(1e8, 1e-3, 400)
    lower, upper = quantile_interval(values[::2], 0.75, 0.1)
    assert quantile_interval(-values[::2], 0.25, 0.1) == (-upper, -lower)


@each(
    "call, message",
    [
        (lambda: auc_interval([], [1.0], 0.1), "positive_scores="),
        (lambda: auc_interval([1.0], [math.nan], 0.1), r"negative_scores\[0\]=nan must be"),
        (lambda: auc_interval([[1.0]], [1.0], 0.1), "positive_scores="),
        (lambda: quantile_interval([1.0, math.inf], 0.5, 0.1), r"values\[1\]=inf must be"),
        (lambda: auc_interval([1.0], [0.0], 5e-324), "delta=5e-324 must be .* >= 4.4.*e-308"),
        (lambda: quantile_interval([1.0], 0.5, 5e-324), "delta=5e-324 must be"),
        (lambda: mean_loss_interval([1.0], 5e-324), "delta=5e-324 must be"),
        (lambda: mean_loss_interval([0.5, 2.0], 0.1), r"losses\[1\]=2.0 must be .* <= 1"),
        (
            lambda: r2_interval([0.5], [2.0], 0.1, value_range=(0, 1)),
            r"predictions\[0\]=2.0 must be",
        ),
        (
            lambda: r2_interval([0.5], [0.5, 0], 0.1, value_range=(0, 1)),
            "predictions=2 must be 1 num",
        ),
        (lambda: r2_interval([0.5], [0.5], 0.1, value_range=(1, 1)), r"value_range=\(1, 1\) must"),
    ],
)
def test_bad_samples_are_named(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_a_confidence_in_place_of_delta_is_warned_of():
    with pytest.warns(UserWarning, match="is the probability that the bound fails"):
        quantile_interval([1.0, 2.0], 0.5, 0.95)
