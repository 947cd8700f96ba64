"""Samples that are no numbers."""

from fractions import Fraction

import numpy as np
from each import each
from scipy import sparse as sp

from mlcore.checks import as_objects


@each(
    "samples",
    [
        ["a", "bb"], ("a", "bb"), np.array(["a", "bb"]), np.array(["a", "bb"], dtype=object),
        [b"a", b"bb"], [["a", "b"], ["c"]], [[1, 2], [3]], [{1}, {2, 3}], [["a", "b"], ["c", "d"]],
    ],
)  # fmt: skip
def test_objects_are_a_column_of_what_was_passed(samples):
    column = as_objects(samples)
    assert column.shape == (2, 1) and column.dtype == object
    assert all(held == passed for held, passed in zip(column[:, 0], samples, strict=True))


@each(
    "X",
    [
        [[1.0], [2.0]], np.ones((2, 2)), [1, 2], [Fraction(1, 2), 3], ["a", None], [], None, "text",
        np.array([["a", "b"]]), sp.csr_array((2, 2)), 3, [True, False],
    ],
)  # fmt: skip
def test_numbers_and_matrices_are_none(X):
    assert as_objects(X) is None
