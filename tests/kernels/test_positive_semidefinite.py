"""Mercer's condition for given matrices: both sides of the tolerance, and what has no answer."""

import numpy as np
import pytest

from mlcore.kernels import is_positive_semidefinite


def test_definite_semidefinite_indefinite():
    assert is_positive_semidefinite(np.eye(3)) == (True, 1.0)
    answer, smallest = is_positive_semidefinite(np.ones((4, 4)))
    assert answer and abs(smallest) < 1e-15
    assert is_positive_semidefinite([[0.0]]) == (True, 0.0)
    answer, smallest = is_positive_semidefinite([[1.0, 2.0], [2.0, 1.0]])
    assert not answer and smallest == pytest.approx(-1.0)


def test_sides_of_the_tolerance():
    K = np.diag([1.0, -1e-10])
    assert not is_positive_semidefinite(K)[0]
    assert is_positive_semidefinite(K, tol=1e-9)[0]
    assert not is_positive_semidefinite(K, tol=1e-11)[0]
    assert is_positive_semidefinite(np.diag([1.0, -1e-9]).astype(np.float32))[0]  # its rounding


def test_a_matrix_that_is_not_symmetric_is_none():
    answer, smallest = is_positive_semidefinite([[2.0, 1.0], [0.0, 2.0]])
    assert answer is False and smallest == pytest.approx(1.5)
    assert is_positive_semidefinite([[2.0, 1.0], [1.0 + 1e-16, 2.0]])[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"K": np.ones((2, 3))}, r"K has shape \(2, 3\); is_positive_semidefinite needs a square"),
        ({"K": [[np.nan]]}, "NaN"),
        ({"K": [[1.0]], "tol": -1.0}, "tol"),
    ],
)
def test_what_has_no_answer(arguments, message):
    with pytest.raises(ValueError, match=message):
        is_positive_semidefinite(**arguments)
