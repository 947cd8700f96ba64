"""Monitors: capital by definition, level at every look, late changes, drifting means.

The oracle of the capital is its definition: a sum over all starts and alternatives of products, in
plain Python. Levels are checked over all paths of a short horizon, and by simulations of long ones
whose exact binomial test would notice 1.5 times the level.
"""

import copy
import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import brentq

from mlcore.bounds import (
    RiskMonitor,
    bernoulli_confidence_sequence,
    binomial_tail_inversion,
    hoeffding_bentkus_bound,
    watch,
)


def start_weights(horizon):
    epochs = [math.frexp(t)[1] - 1 for t in range(1, horizon + 1)]
    return np.array([2.0**-i / ((i + 1) * (i + 2)) for i in epochs])


def capitals(losses, level):
    """Capital after each loss by its definition."""
    angle = math.asin(math.sqrt(level))
    alternatives = [math.sin(angle + (math.pi / 2 - angle) * 2 ** (-j / 2)) ** 2 for j in range(16)]
    pays = [[x * q / level + (1 - x) * (1 - q) / (1 - level) for x in losses] for q in alternatives]
    weights = start_weights(len(losses))
    return [
        1 - weights[:t].sum()
        + sum(
            weights[s] / 16 * math.prod(row[s:t])
            for row in pays
            for s in range(t)
        )
        for t in range(1, len(losses) + 1)
    ]  # fmt: skip


@each("level", [0.02, 0.3, 0.5, 0.97])
def test_capital_is_the_sum_over_starts_and_alternatives(level):
    rng = np.random.default_rng(round(100 * level))
    for losses in (rng.random(40), (rng.random(40) < 0.7).astype(float), np.ones(9), np.zeros(9)):
        monitor, most = RiskMonitor(level, delta=1e-100), 1.0
        for loss, held in zip(losses, capitals(losses, level), strict=True):
            most = max(most, held)
            assert_allclose(monitor.update(loss).evidence, most, rtol=1e-12)


def test_worked_capital():
    # One loss of 1: half is invested, and pays the mean of q / m over sixteen sines squared.
    places = math.pi / 4 + math.pi / 4 * 2 ** (-np.arange(16) / 2)
    expected = 0.5 + 0.5 * np.mean(np.sin(places) ** 2) / 0.5
    assert_allclose(RiskMonitor(0.5).update(1).evidence, expected, rtol=1e-14)
    # A loss at the level pays 1 whatever the alternative; so does a monitor that cannot bet.
    assert_allclose(RiskMonitor(0.25).update(np.full(1000, 0.25)).evidence, 1, rtol=1e-11)
    with pytest.warns(UserWarning, match="no alarm is possible"):
        monitor = RiskMonitor(reference=[1, 1])
    assert monitor.level_ == 1
    assert monitor.update(np.ones(5000)).evidence <= 1 + 1e-12
    # The parts for all starts are 1 together.
    assert_allclose(start_weights(2**14 - 1).sum(), 1 - 1 / 15, rtol=1e-13)


@each("level, delta", [(0.1, 0.3), (0.3, 0.5), (0.5, 0.7), (0.8, 0.9)])
def test_level_over_all_paths(level, delta):
    """False alarms of every path of eight losses, each path with its probability."""
    alarms = expected = 0.0
    for path in itertools.product([0.0, 1.0], repeat=8):
        probability = level ** sum(path) * (1 - level) ** (8 - sum(path))
        expected += probability * capitals(path, level)[-1]
        with warnings.catch_warnings():  # of a delta above 1/2
            warnings.simplefilter("ignore")
            monitor = RiskMonitor(level, delta=delta)
        alarms += probability * monitor.update(path).alarm
    assert_allclose(expected, 1, rtol=1e-12)
    assert 0 < alarms <= delta


def stream(kind, level, n, rng):
    """Losses none of whose rates, given the past, is above the level."""
    if kind == "at the level":
        return rng.random(n) < level
    if kind == "bounded":
        return rng.beta(2 * level, 2 * (1 - level), n)
    if kind == "two values":
        return np.where(rng.random(n) < 0.5, 0.5 * level, 1.5 * level)
    losses, rate = np.empty(n), level  # at rest after an error, so that losses depend
    for i, u in enumerate(rng.random(n)):
        losses[i] = u < rate
        rate = level if not losses[i] else 0.3 * level
    return losses


def no_more_than(failures, n, delta):
    """An exact binomial test, which would fail at 1.5 times delta in nine of ten simulations."""
    most = stats.binom.isf(1e-3, n, delta)
    assert stats.binom.sf(most, n, 1.5 * delta) > 0.9
    assert failures <= most


@each("kind", ["at the level", "bounded", "two values", "dependent"])
def test_false_alarms_at_all_looks(kind):
    rng, n_paths = np.random.default_rng(len(kind)), 1000
    level, delta = 0.3, 0.2
    n = 300 if kind == "dependent" else 1000
    paths = [stream(kind, level, n, rng) for _ in range(n_paths)]
    alarms = sum(RiskMonitor(level, delta=delta).update(path).alarm for path in paths)
    no_more_than(alarms, n_paths, delta)


@each("bounded", [False, True])
def test_false_alarms_against_a_reference(bounded):
    rng, n_paths = np.random.default_rng(7), 500
    draw = rng.random if bounded else (lambda n: rng.random(n) < 0.3)
    alarms = sum(
        RiskMonitor(reference=draw(50), delta=0.2).update(draw(1000)).alarm for _ in range(n_paths)
    )
    no_more_than(alarms, n_paths, 0.2)


def test_a_reference_is_its_bound():
    errors = np.arange(200) % 20 == 0
    for given in (errors, errors.astype(int), errors.tolist()):
        level = RiskMonitor(reference=given, delta=0.1).level_
        assert level == binomial_tail_inversion(10, 200, 0.05)
    bound = hoeffding_bentkus_bound(0.05, 200, 0.05)
    assert_allclose(RiskMonitor(reference=errors * 1.0, delta=0.1).level_, bound, rtol=1e-12)
    level = RiskMonitor(reference=errors * 3.0, delta=0.1, value_range=10.0).level_
    assert_allclose(level, 10 * hoeffding_bentkus_bound(0.015, 200, 0.05), rtol=1e-12)
    # Half of delta is for the alarm.
    monitor = RiskMonitor(reference=errors, delta=0.1)
    while not monitor.alarm:
        before = monitor.evidence
        monitor.update(1)
    assert before < 20 <= monitor.evidence


@each("before, least, most", [(0, 30, 400), (1000, 30, 600), (20_000, 30, 800)])
def test_a_change_is_found_soon_however_late(before, least, most):
    delays = []
    for seed in range(20):
        rng = np.random.default_rng([before, seed])
        monitor = RiskMonitor(0.1, delta=0.01).update(rng.random(before) < 0.08)
        assert not monitor.alarm
        monitor.update(rng.random(5000) < 0.2)
        assert monitor.alarm
        delays.append(monitor.alarm_at_ - before)
    assert least < np.median(delays) < most


def test_two_models_on_one_stream():
    rng = np.random.default_rng(9)
    old, new = rng.random((2, 2000)) < [[0.1], [0.2]]
    monitor = RiskMonitor(0.5).update((1 + new - old.astype(float)) / 2)
    assert monitor.alarm
    assert not RiskMonitor(0.5).update((1 + old - new.astype(float)) / 2).alarm
    # Where both are right or both wrong nothing is paid.
    same = RiskMonitor(0.5).update(np.full(500, 0.5))
    assert_allclose(same.evidence, 1, rtol=1e-11)


def test_the_alarm_is_at_its_first_loss_and_stays():
    errors = np.random.default_rng(0).random(3000) < 0.3
    monitor = RiskMonitor(0.2).update(errors)
    first = RiskMonitor(0.2).update(errors[: monitor.alarm_at_ - 1])
    assert not first.alarm
    assert first.update(errors[monitor.alarm_at_ - 1]).alarm_at_ == monitor.alarm_at_
    assert monitor.evidence >= 20 > first.reset().evidence
    evidence = monitor.evidence
    assert monitor.update(np.zeros(5000)).alarm
    assert monitor.evidence == evidence
    assert monitor.n_seen_ == 8000


def test_pieces_and_copies_give_the_same_bytes():
    rng = np.random.default_rng(3)
    losses = rng.random(5000) * 0.4
    whole = RiskMonitor(0.3).update(losses)
    pieces = RiskMonitor(0.3)
    for part in np.split(losses, np.sort(rng.integers(0, 5000, 40))):
        pieces = pickle.loads(pickle.dumps(pieces)).update(part)
    singles = RiskMonitor(0.3)
    for loss in losses:
        singles.update(loss)
    assert pickle.dumps(whole) == pickle.dumps(pieces) == pickle.dumps(singles)
    assert whole.interval() == pieces.interval()
    # A copy goes its own way, and a reset forgets.
    twin = copy.deepcopy(whole).update(np.ones(100))
    assert twin.alarm
    assert not whole.alarm
    assert pickle.dumps(twin.reset()) == pickle.dumps(RiskMonitor(0.3))
    assert twin.interval() == (0, 1)
    assert math.isnan(twin.mean)


def test_every_kind_of_array():
    errors = np.random.default_rng(4).random(400) < 0.2
    expected = pickle.dumps(RiskMonitor(0.3).update(errors))
    readonly = np.repeat(errors, 2).astype(np.float32)[::2]
    readonly.flags.writeable = False
    for given in (readonly, errors.astype(np.int8), errors.tolist(), errors[::-1].copy()[::-1]):
        assert pickle.dumps(RiskMonitor(0.3).update(given)) == expected
    assert RiskMonitor(0.3).update([]).update(True).update(np.True_).update(range(2)).n_seen_ == 4


@each("scale", [2.0**-500, 2.0**500])
def test_units_change_nothing(scale):
    losses = np.random.default_rng(5).random(500)
    unit = RiskMonitor(0.4).update(losses)
    scaled = RiskMonitor(0.4 * scale, value_range=scale).update(losses * scale)
    assert scaled.alarm_at_ == unit.alarm_at_
    assert scaled.evidence == unit.evidence
    assert scaled.mean == unit.mean * scale
    assert_allclose(scaled.interval(), np.array(unit.interval()) * scale, rtol=1e-15)


def test_extremes_stay_finite():
    for level, delta in ((1e-150, 1e-150), (1 - 2**-53, 1e-150), (0.5, 1e-150)):
        monitor = RiskMonitor(level, delta=delta).update(np.ones(2000))
        assert monitor.alarm == (level < 0.9)
        assert 1 <= monitor.evidence < math.inf
    monitor = RiskMonitor(1e-9).update(np.zeros(100_000))
    assert monitor.evidence == 1
    assert 0 == monitor.interval()[0] < monitor.interval()[1] < 1e-3


def test_sums_keep_their_digits():
    losses = np.random.default_rng(6).random(100_000) ** 9
    assert_allclose(
        RiskMonitor(0.9).update(losses).mean, math.fsum(losses) / len(losses), rtol=3e-16
    )


def evidence_of(mean, total, squares, m):
    """Log of the mixture that excludes means below, by its formula."""
    lambdas = [2.0**j for j in range(4, -21, -1)]
    etas = [0.95 * 2.0**j for j in range(0, -21, -1)]
    weights = [(1 + abs(j)) ** -1.5 for j in (*range(4, -21, -1), *range(0, -21, -1))]
    parts = [0.875 * w / sum(weights[:25]) for w in weights[:25]]
    parts += [0.125 * w / sum(weights[25:]) for w in weights[25:]]
    exponents = [x * total - m * np.log(1 + mean * (math.exp(x) - 1)) for x in lambdas]
    exponents += [x * (total - m * mean) + (math.log(1 - x) + x) * squares for x in etas]
    logs = [e + math.log(part) for e, part in zip(exponents, parts, strict=True)]
    return np.logaddexp.reduce(logs, axis=0)


def running_sums(losses):
    m = np.arange(1, losses.shape[-1] + 1)
    total = losses.cumsum(axis=-1)
    forecasts = (0.5 + total - losses) / m
    return m, total, ((losses - forecasts) ** 2).cumsum(axis=-1)


@each("seed", range(6))
def test_intervals_solve_their_equation(seed):
    rng = np.random.default_rng(seed)
    n = int(10 ** rng.uniform(0.5, 4))
    losses = rng.random(n) * 0.1 + 0.2 if seed % 2 else (rng.random(n) < 0.3).astype(float)
    lower, upper = RiskMonitor(0.9, delta=0.1).update(losses).interval()
    m, total, squares = (x[-1] for x in running_sums(losses))
    limit, mean = math.log(20), total / m
    low = brentq(lambda p: evidence_of(p, total, squares, m) - limit, 0, mean, xtol=1e-14)
    high = brentq(lambda p: evidence_of(p, m - total, squares, m) - limit, 0, 1 - mean, xtol=1e-14)
    assert_allclose([lower, 1 - upper], [low, high], rtol=1e-9, atol=1e-12)


@each("kind", ["constant", "drifting", "bounded"])
def test_intervals_hold_drifting_means_at_all_looks(kind):
    rng, n_paths, n, delta = np.random.default_rng(11), 600, 150, 0.2
    rates = np.full(n, 0.3) if kind == "constant" else 0.3 + 0.25 * np.sin(np.arange(n) / 20)
    losses = (rng.random((n_paths, n)) < rates) * 1.0
    if kind == "bounded":
        losses = rates + 0.1 * (rng.random((n_paths, n)) - 0.5)
    m, total, squares = running_sums(losses)
    means = rates.cumsum() / m
    low = evidence_of(means, total, squares, m) >= math.log(2 / delta)
    high = evidence_of(1 - means, m - total, squares, m) >= math.log(2 / delta)
    no_more_than((low | high).any(axis=1).sum(), n_paths, delta)
    # An interval fails where this evidence says so.
    failed = np.argwhere(low)[:5].tolist() + [[0, n - 1]]
    for path, look in failed:
        monitor = RiskMonitor(0.9, delta=delta).update(losses[path, : look + 1])
        assert (monitor.interval()[0] > means[look] - 1e-9) == low[path, look]


def test_intervals_are_narrow():
    """Little wider than those of one unchanging rate, narrower for many losses or few errors."""
    for k, m, most in ((30, 100, 1.05), (300, 1000, 1.02), (1, 1000, 0.7), (30_000, 100_000, 0.97)):
        errors = np.zeros(m)
        errors[np.linspace(0, m - 1, k).astype(int)] = 1
        lower, upper = RiskMonitor(0.9).update(errors).interval()
        other = bernoulli_confidence_sequence(k, m, 0.05)
        assert lower < k / m < upper
        assert upper - lower < most * (other[1] - other[0])
    # Losses of small variance have small intervals.
    lower, upper = RiskMonitor(0.9).update(np.linspace(0.29, 0.31, 1000)).interval()
    assert 0.28 < lower < 0.3 < upper < 0.32


def test_watch_stops_with_its_proof():
    taken = []

    def batches(rate):
        rng = np.random.default_rng(8)
        for _ in range(1000):
            taken.append(1)
            yield rng.random(20) < rate

    found = watch(RiskMonitor(0.1, delta=0.01), batches(0.3))
    assert found.proved == "above"
    assert 20 * (len(taken) - 1) < found.alarm_at <= found.n_seen == 20 * len(taken) < 1000
    assert found.evidence >= 100
    found = watch(RiskMonitor(0.1), batches(0.05), until="proof")
    assert found.proved == "below"
    assert found.upper <= found.level == 0.1
    found = watch(RiskMonitor(0.1), [0, 1, 0])
    assert (found.proved, found.n_seen, found.alarm_at) == (None, 3, None)
    assert "evidence" in repr(found)
    # After an alarm nothing is taken.
    done, rest = RiskMonitor(0.1).update(np.ones(100)), iter([1, 2])
    assert watch(done, rest).proved == "above"
    assert next(rest) == 1


def test_reports_say_what_is_proved():
    assert "No alarm after 0 losses" in repr(RiskMonitor(0.1))
    assert "ALARM after 3 losses: the rate has exceeded 0.1" in repr(
        RiskMonitor(0.1).update([1] * 9)
    )
    assert "from 100 reference losses" in repr(RiskMonitor(reference=np.zeros(100, dtype=int)))


@each(
    "call, message",
    [
        (lambda: RiskMonitor(), "level=None must be"),
        (lambda: RiskMonitor(0.1, reference=[0]), "level=0.1 must be"),
        (lambda: RiskMonitor(0.0), "level=0.0 must be"),
        (lambda: RiskMonitor(1.0), "level=1.0 must be"),
        (lambda: RiskMonitor(1e-200), "level=1e-200 must be"),
        (lambda: RiskMonitor(0.1, delta=1.0), "delta=1.0 must be"),
        (lambda: RiskMonitor(0.1, delta=1e-200), "delta=1e-200 must be"),
        (lambda: RiskMonitor(0.1, value_range=0), "value_range=0 must be"),
        (lambda: RiskMonitor(reference=[]), "reference="),
        (lambda: RiskMonitor(reference=[0, 2]), r"reference\[1\]=2 must be"),
        (lambda: RiskMonitor(reference=[[0], [1, 2]]), "reference="),
        (lambda: RiskMonitor(0.1).update([0, 1.5]), r"losses\[1\]=1.5 must be"),
        (lambda: RiskMonitor(0.1).update(math.nan), "losses=nan must be"),
        (lambda: RiskMonitor(0.1).update([[1.0]]), r"losses=of shape \(1, 1\)|losses="),
        (lambda: RiskMonitor(0.1).update("1"), "losses='1' must be"),
        (lambda: watch(3, [1]), "monitor=3 must be"),
        (lambda: watch(RiskMonitor(0.1), 3), "losses=3 must be"),
        (lambda: watch(RiskMonitor(0.1), [1], until="never"), "until='never' must be"),
        (lambda: watch(RiskMonitor(reference=[0] * 9), [1], until="proof"), "until='proof' must"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_refused_update_changes_nothing():
    monitor = RiskMonitor(0.1).update([0, 1])
    before = pickle.dumps(monitor)
    with pytest.raises(ValueError, match="losses"):
        monitor.update(np.append(np.ones(100), np.nan))
    assert pickle.dumps(monitor) == before
    assert_array_equal(monitor.n_seen_, 2)
