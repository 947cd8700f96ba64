"""Folds against those of scikit-learn."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, StratifiedKFold

from mlcore.estimator.folds import consecutive_folds, folds_of, stratified_folds


@each("n_folds", [2, 3, 5, 7])
@each("seed", range(5))
def test_folds_are_those_of_stratified_k_fold(n_folds, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, size=160, p=[0.5, 0.3, 0.1, 0.1])
    fold = stratified_folds(y, n_folds)
    for k, (_, test) in enumerate(StratifiedKFold(n_folds).split(y, y)):
        assert_array_equal(np.flatnonzero(fold == k), test)


def test_shuffled_folds_keep_the_shares_and_repeat():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    fold = stratified_folds(y, 5, np.random.default_rng(0))
    assert_array_equal(fold, stratified_folds(y, 5, np.random.default_rng(0)))
    for k in range(5):
        assert_array_equal(np.bincount(y[fold == k]), [10, 6, 4])


@each("n_samples", [7, 10, 23])
@each("n_folds", [2, 3, 7])
def test_consecutive_folds_are_those_of_k_fold(n_samples, n_folds):
    fold = consecutive_folds(n_samples, n_folds)
    for k, (_, test) in enumerate(KFold(n_folds).split(fold)):
        assert_array_equal(np.flatnonzero(fold == k), test)


def test_folds_go_by_the_order_in_x_whatever_the_order_of_rows():
    rows, X = np.array([7, 2, 5, 0, 3]), np.zeros((9, 1))
    labels = np.array(["a", "b"]), np.array([1, 0, 0, 0, 1])
    for fold, others in ((None, [{0, 2, 3}, {5, 7}]), (labels, [{0, 2, 3}, {5, 7}])):
        found = folds_of(2, X, None, rows, 9, "Model", fold)
        assert [set(rows[part.test].tolist()) for part in found] == others
        assert all((part.train != part.test).all() for part in found)


def test_pairs_and_splitters_are_masks_over_rows_with_weight():
    rows, X = np.array([4, 1, 3]), np.zeros((5, 1))
    pairs = [([0, 1], [3, 4]), (np.arange(5) > 2, np.arange(5) < 2)]
    found = folds_of(pairs, X, None, rows, 5, "Model")
    assert_array_equal(found[0].train, [False, True, False])
    assert_array_equal(found[0].test, [True, False, True])
    assert_array_equal(found[1].train, [True, False, True])
    split = folds_of(KFold(2), X, None, np.arange(5), 5, "Model")
    given = folds_of(2, X, None, np.arange(5), 5, "Model")
    assert_array_equal([f.test for f in split], [f.test for f in given])


@each(
    ("cv", "error", "message"),
    [
        (1, ValueError, "Model: cv=1"),
        ("five", TypeError, "cv='five'"),
        (4, ValueError, "Model: cv=4 cannot be greater than n_samples=3"),
        ([], ValueError, "Model: cv yields no pairs"),
        ([([0], [5])], ValueError, "Model: cv must yield pairs .* below 5"),
        ([(1, 2)], ValueError, r"found indices of shape \(\)"),
        ([([0], [])], ValueError, "fold without training or test samples"),
        ([([0], [2])], ValueError, "Model: cv yields a fold without training or test samples"),
    ],
)
def test_folds_that_cannot_be_are_refused(cv, error, message):
    with pytest.raises(error, match=message):
        folds_of(cv, np.zeros((5, 1)), None, np.array([0, 1, 3]), 5, "Model")
