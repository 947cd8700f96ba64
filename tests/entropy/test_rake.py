"""Raking against tables of the same categories, forms of input, refusals."""

import numpy as np
import pandas as pd
import pytest
from each import each
from numpy.testing import assert_allclose

from mlcore.entropy import fit_table, rake

RNG = np.random.default_rng(0)
SEX, AGE = np.array(["f", "m"])[RNG.integers(2, size=60)], RNG.integers(3, size=60)
PEOPLE = np.column_stack([SEX, np.array(["young", "middle", "old"])[AGE]])
TARGETS = [{"f": 51.0, "m": 49.0}, {"young": 30.0, "middle": 45.0, "old": 25.0}]


def test_weights_are_those_of_a_fitted_table():
    start = RNG.random(60)
    found = rake(PEOPLE, TARGETS, start)
    table = np.zeros((2, 3))
    np.add.at(table, ((SEX == "m").astype(int), AGE), start)
    fitted = fit_table(table, {0: [51, 49], 1: [30, 45, 25]}).table
    expected = start * (fitted / table)[(SEX == "m").astype(int), AGE]
    assert_allclose(found.weights, expected, rtol=1e-8)
    for column, totals in enumerate(TARGETS):
        for label, total in totals.items():
            assert_allclose(found.weights[PEOPLE[:, column] == label].sum(), total, rtol=1e-8)
    assert found.converged and found.residual <= 1e-10


def test_names_numbers_and_columns_without_targets():
    expected = rake(PEOPLE[:, :1], TARGETS[:1]).weights
    frame = pd.DataFrame({"sex": SEX, "age": PEOPLE[:, 1]})
    assert_allclose(rake(frame, {"sex": TARGETS[0]}).weights, expected)
    assert_allclose(rake(PEOPLE, {0: TARGETS[0]}).weights, expected)
    assert_allclose(
        rake(frame, {"age": TARGETS[1], "sex": TARGETS[0]}).weights,
        rake(PEOPLE, TARGETS).weights,
        rtol=1e-8,
    )


def test_rows_without_weight_and_categories_without_people():
    found = rake([["a"], ["b"], ["b"]], [{"a": 1, "b": 2, "c": 0}], [1, 0, 1])
    assert found.weights.tolist() == [1, 0, 2]


def test_rows_that_count_for_nothing_need_no_target():
    found = rake([["a"], ["b"], ["c"]], [{"a": 1, "b": 3}], sample_weight=[1, 1, 0])
    assert_allclose(found.weights, [1, 3, 0])


def test_series_are_totals():
    people = pd.DataFrame({"sex": ["f", "f", "m"], "age": ["old", "young", "old"]})
    census = pd.Series(["f"] * 3 + ["m"] * 2).value_counts()
    expected = rake(people, {"sex": {"f": 3, "m": 2}}).weights
    for targets in ({"sex": census}, pd.Series({"sex": census.to_dict()}), {"sex": census / 1}):
        assert_allclose(rake(people, targets).weights, expected)
    assert_allclose(rake(people[["sex"]], [census]).weights, expected)


@each(
    ("targets", "message"),
    [
        (TARGETS[:1], "1 items, but there are 2 columns"),
        ([{"f": 1}, TARGETS[1]], "lack the category 'm'"),
        ([{"f": 50, "m": 49}, TARGETS[1]], "one positive total"),
        ([{**TARGETS[0], "x": 5}, {**TARGETS[1], "old": 30}], "category 'x' of column 0 has the"),
        ([{"f": -1, "m": 101}, TARGETS[1]], "negative"),
        ({"sex": TARGETS[0]}, "unknown"),
        ({0: TARGETS[0], np.int64(1): {}}, "must map"),
        ({}, "names no column"),
    ],
)
def test_refusals(targets, message):
    with pytest.raises(ValueError, match=message):
        rake(PEOPLE, targets)


def test_combinations_that_make_the_targets_impossible():
    rows = [["a", "x"], ["a", "y"], ["b", "y"]]
    with pytest.raises(ValueError, match="rake: no numbers in the positive cells.*category"):
        rake(rows, [{"a": 1, "b": 3}, {"x": 3, "y": 1}])
    with pytest.raises(ValueError, match="shape"):
        rake(["a", "b"], [{"a": 1, "b": 1}])
