"""The verdict on a separation against enumeration and against programmes of another form."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from mlcore.numerics import linear_programme
from mlcore.numerics.linear_programme import separating_direction

small_rows = st.integers(1, 3).flatmap(
    lambda d: st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=7)
)


def positive_by_enumeration(A):
    """Rows that some u of {u : A u >= 0} makes positive: those of the sum of its extreme rays.

    Modulo the null space of A, an extreme ray is the null space of rank - 1 rows within the row
    space. Integers of at most three columns: the vectors are cross products, and exact.
    """
    A = np.asarray(A)
    d = A.shape[1]
    padded = np.hstack([A, np.zeros((len(A), 3 - d), dtype=int)])
    vectors = np.vstack([np.eye(3, dtype=int), padded])
    lines = np.cross(vectors[:, None], vectors).reshape(-1, 3)
    # Where the row space is smaller than the space, its own vectors are rays as well.
    plane = np.cross(lines[:, None], padded).reshape(-1, 3)
    rays = np.vstack([lines, plane, padded])[:, :d]
    products = A @ np.vstack([rays, -rays]).T
    positive = (products[:, products.min(axis=0) >= 0] > 0).any(axis=1)
    return positive


@settings(max_examples=60, deadline=None)
@given(small_rows)
def test_the_verdict_is_that_of_enumeration(rows):
    A = np.array(rows, dtype=float)
    expected = positive_by_enumeration(rows)
    for form in (A, sp.csr_array(A)):
        found = separating_direction(form)
        assert_array_equal(found.products > 0, expected)
        kinds = {True: "complete", False: "quasi-complete" if expected.any() else "none"}
        assert found.verdict == kinds[bool(expected.all())]
        assert_allclose(A @ found.direction, found.products, rtol=0, atol=1e-7)
        assert found.margin == found.products.min() >= 0
        assert_allclose(found.products.max(), float(expected.any()), rtol=1e-15)


@settings(max_examples=60, deadline=None)
@given(small_rows)
def test_least_squares_find_the_same_rows(rows):
    A = np.array(rows, dtype=float)
    u, positive = linear_programme._by_least_squares(A)
    assert_array_equal(positive, positive_by_enumeration(rows))
    assert (A @ u).min(initial=0) > -1e-7


def positive_by_programmes(A):
    """For each row, whether its product can be positive: one programme each, in another form."""
    return np.array(
        [
            -linprog(-a, A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs-ds").fun
            for a in A
        ]
    )


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_added_until_the_direction_serves_all(seed):
    """Enough rows that most never enter the programme, some in a face on which u must vanish."""
    rng = np.random.default_rng(seed)
    n, d = 4000, 4
    A = rng.normal(size=(n, d))
    A[:, 0] = abs(A[:, 0]) * rng.integers(0, 2, size=n) if seed % 2 else abs(A[:, 0]) + 0.01
    if seed == 4:
        A[n // 2 + 1] *= -1  # one row alone forbids the separation
        A[n // 2 + 1, 1:] = 0
    found = separating_direction(A)
    if seed == 4:
        assert found.verdict == "none"
        assert_array_equal(found.direction, 0)
        return
    assert found.verdict == ("quasi-complete" if seed % 2 else "complete")
    assert_array_equal(found.products > 0, A[:, 0] > 0)
    assert (A @ found.direction).min() > -1e-9


@pytest.mark.parametrize("seed", range(8))
def test_random_faces_against_one_programme_for_each_row(seed):
    rng = np.random.default_rng([1, seed])
    A = rng.integers(-4, 5, size=(30, 5)).astype(float)
    A[:, 4] = rng.integers(0, 2, size=30)
    flipped = A @ rng.integers(-2, 3, size=5) < 0
    A[flipped] *= -1
    expected = positive_by_programmes(A)
    assert ((expected < 1e-9) | (expected > 1e-3)).all()
    assert_array_equal(separating_direction(A).products > 0, expected > 1e-3)


def test_scales_of_rows_and_columns_do_not_matter():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 3))
    A[:, 2] = abs(A[:, 2]) + 0.1
    columns, rows = np.array([1e-150, 1.0, 1e140]), 10.0 ** rng.uniform(-9, 0, size=40)
    for form in (A * columns, A * columns * rows[:, None]):
        found = separating_direction(form)
        assert found.verdict == "complete"
        assert (form @ found.direction).min() > 0


def test_more_columns_than_rows_and_wide_sparse_rows():
    rng = np.random.default_rng(1)
    assert separating_direction(rng.normal(size=(10, 30))).verdict == "complete"
    wide = sp.random_array((40, 3000), density=0.01, random_state=rng, format="csr") - sp.csr_array(
        ([0.5] * 40, (range(40), range(40))), shape=(40, 3000)
    )
    found = separating_direction(sp.csr_array(wide))
    assert found.verdict == "complete"
    assert (wide @ found.direction).min() > 0
    both = sp.csr_array(sp.vstack([wide, -wide[:1]]))
    assert separating_direction(both).verdict == "quasi-complete"


def test_thin_separations_count_and_rounding_does_not():
    third = np.array([[0.1 + 0.2, 0.3], [-0.3, -0.1 - 0.2], [0.3, 0.3], [-0.3, -0.3]])
    assert separating_direction(third).verdict == "none"
    thin = np.array([[1.0, 1e-5], [-1.0, 1e-5]])
    assert separating_direction(thin).verdict == "complete"


@pytest.mark.parametrize("shape", [(0, 2), (3, 2), (4, 0)])
def test_nothing_to_separate(shape):
    found = separating_direction(np.zeros(shape))
    assert found.verdict == "none"
    assert found.direction.shape == shape[1:]
    assert found.products.shape == shape[:1]


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_columns_that_nearly_depend_on_each_other(seed):
    """Programmes that HiGHS does not solve: least squares do."""
    rng = np.random.default_rng(seed)
    f = rng.random((30, 3))
    f = np.column_stack([f, f[:, 0] + 1e-9 * f[:, 1] ** 2])
    A = f - rng.dirichlet(np.ones(30)) @ f
    assert separating_direction(A).verdict == "none"
    A *= np.sign(A @ rng.normal(size=4))[:, None]
    found = separating_direction(A)
    assert found.verdict == "complete" and (A @ found.direction).min() > 0
