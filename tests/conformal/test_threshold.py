"""Thresholds against sorted scores, with ties, groups, infinite scores and too few of them."""

import math
import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal

from mlcore.conformal import conformal_coverage, conformal_rank, conformal_threshold


def test_worked_numbers():
    """n = 9 and 0.8: k = 8, the second largest; 0.9: k = 9, the largest."""
    scores = [3.0, -1.0, 7.0, 2.0, 2.0, 9.0, 0.0, 5.0, 4.0]
    assert conformal_threshold(scores, 0.8).thresholds == (7.0,)
    assert conformal_threshold(scores, 0.9).thresholds == (9.0,)
    assert conformal_threshold(scores, 0.5).thresholds == (3.0,)
    with pytest.warns(UserWarning, match=r"of at least 11 needed: all \(9\)"):
        found = conformal_threshold(scores, 0.91)
    assert found.thresholds == (math.inf,) and found.covers([1e308, math.inf]).all()


@each("seed", range(20))
def test_each_group_has_the_order_statistic_of_its_own_scores(seed):
    rng = np.random.default_rng(seed)
    scores, groups = rng.integers(0, 30, 300).astype(float), rng.integers(0, 4, 300)
    scores[:3] = math.inf
    delta = None if seed % 2 else 0.1
    found = conformal_threshold(scores, 0.7, delta=delta, groups=groups)
    new, of = rng.integers(0, 30, 50).astype(float), rng.integers(0, 4, 50)
    expected = []
    for g in range(4):
        own = np.sort(scores[groups == g])
        k = conformal_rank(len(own), 0.7, delta)
        expected.append(own[k - 1])
        assert found.sizes[g] == len(own) and found.ranks[g] == k
    assert found.groups == (0, 1, 2, 3)
    assert_array_equal(found.thresholds, expected)
    assert_array_equal(found.covers(new, of), new <= np.array(expected)[of])
    labels = np.column_stack([new, new + 1])
    assert_array_equal(found.covers(labels, of), labels <= np.array(expected)[of][:, None])
    assert_array_equal(
        found.guarantee(0.2),
        [conformal_coverage(k, n, 0.2) for k, n in zip(found.ranks, found.sizes, strict=True)],
    )


def test_coverage_by_simulation_is_exact_without_ties_and_no_smaller_with_them():
    rng, n, runs = np.random.default_rng(1), 19, 4000
    draws = rng.random((runs, n + 1))
    covered = {"all": 0, "ties": 0, "a": 0}
    groups = ["a"] * 9 + ["b"] * 10
    for row in draws:
        covered["all"] += row[-1] <= conformal_threshold(row[:-1], 0.9).thresholds[0]
        tied = np.floor(row * 4)
        covered["ties"] += tied[-1] <= conformal_threshold(tied[:-1], 0.9).thresholds[0]
        shifted = row[:-1] + 5.0 * (np.arange(n) >= 9)
        covered["a"] += row[-1] <= conformal_threshold(shifted, 0.9, groups=groups).of(["a"])[0]
    sd = 3.5 * math.sqrt(0.9 * 0.1 / runs)
    assert abs(covered["all"] / runs - 0.9) < sd  # 18 / 20
    assert abs(covered["a"] / runs - 0.9) < sd  # 9 / 10, whatever the other group
    assert covered["ties"] / runs > 0.9 + sd


def test_small_groups_are_named_and_cover_all():
    groups = ["a"] * 50 + ["b"] * 3
    with pytest.warns(UserWarning, match=r"of at least 9 needed: b \(3\)"):
        found = conformal_threshold(np.arange(53), 0.9, groups=groups)
    assert found.too_small() == [1] and found.thresholds == (45.0, math.inf)
    assert found.covers([1e9, 1e9], ["a", "b"]).tolist() == [False, True]
    assert "infinite" in repr(found) and "infinite" in found._repr_html_()
    with pytest.warns(UserWarning, match=f"at least {2**50} needed"):
        assert conformal_threshold([1.0], 1 - 2**-53).thresholds == (math.inf,)


@each("dtype", [np.float32, np.float64, np.int64])
def test_input_of_any_type_and_layout_is_left_as_it_is(dtype):
    scores = np.arange(200).astype(dtype)[::-2]
    scores.flags.writeable = False
    groups = np.array(["b", "a"] * 50)
    found = conformal_threshold(scores, 0.5, groups=groups)
    assert found.thresholds == (
        float(np.sort(scores[1::2])[25]), float(np.sort(scores[::2])[25])
    )  # fmt: skip


@each("scale", [1e-150, 1.0, 1e150, 1e308])
def test_thresholds_are_scores_whatever_their_units(scale):
    scores = np.random.default_rng(0).random(101) * scale
    assert conformal_threshold(scores, 0.5).thresholds == (np.sort(scores)[50],)
    assert conformal_threshold(np.full(20, scale), 0.9).covers(scale)


def test_report_shows_the_guarantee():
    found = conformal_threshold(np.arange(99), 0.9, delta=0.05)
    text = repr(found)
    assert "given these scores" in text and "0.909926" in text and "at least 0.95" in text
    assert "on average" in repr(conformal_threshold(np.arange(99), 0.9))
    assert found.to_frame().loc["all", "threshold"] == 94


@each(("call", "name"), [
    (lambda: conformal_threshold([]), "scores"),
    (lambda: conformal_threshold([1.0, math.nan]), "scores"),
    (lambda: conformal_threshold([[1.0]]), "scores"),
    (lambda: conformal_threshold(3.0), "scores"),
    (lambda: conformal_threshold(["a"]), "scores"),
    (lambda: conformal_threshold(range(20), 90), "coverage"),
    (lambda: conformal_threshold(range(20), delta=0), "delta"),
    (lambda: conformal_threshold(range(20), groups=[1]), "groups"),
    (lambda: conformal_threshold(range(20)).of([1]), "groups"),
    (lambda: conformal_threshold(range(20), groups=[1] * 20).of(), "groups"),
    (lambda: conformal_threshold(range(20), groups=[1] * 20).of([2]), "groups"),
    (lambda: conformal_threshold(range(20), groups=[1] * 20).of([]), "groups"),
    (lambda: conformal_threshold(range(20), groups=[1] * 20).of(1), "groups"),
    (lambda: conformal_threshold(range(20), groups=[1] * 20).covers([1, 2], [1]), "groups"),
    (lambda: conformal_threshold(range(20)).covers([math.nan]), "scores"),
])  # fmt: skip
def test_refusals_name_the_argument(call, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=name):
            call()
