"""Decision values, votes and confidences of pairs equal their definitions, one pair at a time."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.svm import SVC
from mlcore.svm.multiclass.multiclass import (
    binary_tasks,
    from_layout,
    pair_decisions,
    votes,
)


def machine(n_classes, seed, n_rows=5):
    """Kernel values, dual coefficients, vectors of each class (of some: none) and intercepts."""
    rng = np.random.default_rng([n_classes, seed])
    n_support = rng.integers(0, 5, n_classes)
    m = n_support.sum()
    values = rng.normal(size=(n_rows, m))
    dual_coef = rng.normal(size=(n_classes - 1, m))
    intercept = rng.normal(size=n_classes * (n_classes - 1) // 2)
    return values, dual_coef, n_support, intercept


@each("dtype", [np.float32, np.float64])
@each("n_classes", [3, 4, 9])
def test_pair_decisions_are_the_sums_of_each_duel(n_classes, dtype):
    for n_rows in (0, 1, 63, 64, 65, 200):
        values, dual_coef, n_support, intercept = machine(n_classes, 0, n_rows)
        values = values.astype(dtype)
        chosen = binary_tasks(n_classes, "ovo")
        betas = from_layout(chosen, dual_coef, np.repeat(np.arange(n_classes), n_support))
        expected = values.astype(np.float64) @ betas.T + intercept
        found = pair_decisions(values, dual_coef, n_support, intercept)
        with case(n_rows):
            assert_allclose(found, expected, rtol=0, atol=1e-13 * (1 + abs(betas).sum()))
            fortran = pair_decisions(np.asfortranarray(values), dual_coef, n_support, intercept)
            assert_array_equal(fortran, found)


def test_pair_decisions_are_the_same_bytes_on_any_number_of_threads():
    arguments = machine(30, 1, 1000)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            found.append(pair_decisions(*arguments).tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("n_classes", [3, 4, 9])
def test_votes_and_confidences_count_each_duel(n_classes):
    decisions = np.random.default_rng(n_classes).normal(size=(50, n_classes * (n_classes - 1) // 2))
    decisions[::3, ::2] = 0.0  # not positive: won by the second
    won, total = np.zeros((2, 50, n_classes))
    for column, task in zip(decisions.T, binary_tasks(n_classes, "ovo"), strict=True):
        for row, value in enumerate(column):
            won[row, task.positive if value > 0 else task.negative] += 1
            total[row, task.positive] += value
            total[row, task.negative] -= value
    assert_array_equal(votes(decisions, n_classes), won)
    expected = won + total / (3 * (abs(total) + 1))
    assert_allclose(votes(decisions, n_classes, confidence=True), expected, rtol=1e-14)


@pytest.mark.parametrize(("fit", "later"), [("ovr", "ovo"), ("ovo", "ovr")])
def test_three_classes_keep_the_layout_of_the_fit(fit, later):
    """Both ways have three binary problems then, of other rows of coefficients."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = SVC(multi_class=fit).fit(X, np.arange(30) % 3).set_params(multi_class=later)
    with pytest.raises(ValueError, match="is not that of the fit"):
        model.predict(X)
