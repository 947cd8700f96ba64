"""Principal angles against subspaces made for known angles."""

import itertools

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles
from scipy.stats import ortho_group

from contract import case
from mlcore.decomposition import principal_angles

EPS = np.finfo(float).eps


def subspaces(angles, n, p, seed):
    """Bases of p and len(angles) columns, mixed at random, that enclose the given angles."""
    k, rng = len(angles), np.random.default_rng(seed)
    frame = ortho_group.rvs(n, random_state=rng)
    A = frame[:, :p]
    B = A[:, :k] * np.cos(angles) + frame[:, p : p + k] * np.sin(angles)
    return A @ rng.normal(size=(p, p)), B @ rng.normal(size=(k, k))


def check_vectors(found, A, B, atol):
    """They lie in the spans, are orthonormal, and enclose the angles."""
    identity = np.eye(len(found.angles))
    for vectors, span in ((found.vectors_a, A), (found.vectors_b, B)):
        assert_allclose(vectors.T @ vectors, identity, atol=atol)
        inside = span @ np.linalg.lstsq(span, vectors, rcond=None)[0]
        assert_allclose(inside, vectors, atol=atol)
    assert_allclose(found.vectors_a.T @ found.vectors_b, np.diag(found.cosines), atol=atol)


@each(
    "angles",
    [
        [0.0, 0.3, 1.0, np.pi / 2],
        [1e-12, 1e-8, 1e-4, 0.5],
        [0.7, np.pi / 4, 0.8, np.pi / 2 - 1e-9],
        [0.2, 0.2, 0.2],
        [np.pi / 2, np.pi / 2],
        [0.0, 0.0],
    ],
)
def test_angles_are_those_the_subspaces_were_made_for(angles):
    for p, seed in itertools.product([4, 6], range(2)):
        with case(p, seed):
            check_angles(angles, p, seed)


def check_angles(angles, p, seed):
    A, B = subspaces(np.array(angles), 14, p, seed)
    # Mixing moves a subspace by eps times its condition.
    atol = 20 * EPS * max(np.linalg.cond(A), np.linalg.cond(B))
    found = principal_angles(A, B)
    assert_allclose(found.angles, angles, rtol=0, atol=atol)
    assert_allclose(found.cosines, np.cos(angles), rtol=0, atol=atol)
    check_vectors(found, A, B, atol)
    swapped = principal_angles(B, A)
    assert_allclose(swapped.angles, angles, rtol=0, atol=atol)
    check_vectors(swapped, B, A, atol)


def exact_angles(A, B):
    """In 50 digits; the cosine of a small angle then still tells it."""
    with mpmath.workdps(50):
        bases = [mpmath.qr(mpmath.matrix(M.tolist()), mode="skinny")[0] for M in (A, B)]
        cosines = mpmath.svd_r(bases[0].T * bases[1], compute_uv=False)
        return np.array([float(mpmath.acos(min(c, 1))) for c in cosines])


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    logs=st.lists(st.floats(-14, np.log10(1.57)), min_size=1, max_size=3),
    condition=st.sampled_from([1.0, 1e4, 1e8]),
    powers=st.lists(st.integers(-490, 490), min_size=3, max_size=3),
)
def test_angles_are_exact_whatever_their_size_the_condition_and_the_units(
    seed, logs, condition, powers
):
    A, B = subspaces(np.sort(10.0 ** np.array(logs)), 8, 3, seed)
    turn = ortho_group.rvs(3, random_state=np.random.default_rng(seed))
    A = A @ (turn * np.logspace(0, -np.log10(condition), 3)) @ turn.T
    atol = 20 * EPS * max(np.linalg.cond(A), np.linalg.cond(B))
    A = np.ldexp(A, powers)
    found = principal_angles(A, B)
    assert_allclose(found.angles, exact_angles(A, B), rtol=0, atol=atol)
    assert (np.diff(found.angles) >= 0).all() and (np.diff(found.cosines) <= 0).all()
    check_vectors(found, np.ldexp(A, np.negative(powers)), B, atol)


def test_angles_are_those_of_the_worked_example():
    A, B = [[1, 2], [3, 4], [5, 6]], [[1, 5], [3, 7], [5, -1]]
    assert_allclose(principal_angles(A, B).cosines, [1, 0.8560992833], rtol=0, atol=5e-11)


@each("seed", range(5))
def test_angles_are_scipys(seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(20, 5)), rng.normal(size=(20, 3 + seed))
    assert_allclose(principal_angles(A, B).angles, subspace_angles(A, B)[::-1], atol=1e-13)


def test_dependent_and_zero_columns_and_units_do_not_count():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    expected = principal_angles(A, B)
    more = np.c_[A * [1e-150, 1e120, 1.0], np.zeros(30), A @ [1.0, 2.0, -1.0], A[:, 0]]
    found = principal_angles(more, B * [1e140, 1e-300])
    assert_allclose(found.angles, expected.angles, atol=1e-14)
    assert found.vectors_a.shape == found.vectors_b.shape == (30, 2)


def test_nothing_is_spanned_by_zeros():
    found = principal_angles(np.zeros((4, 2)), np.eye(4))
    assert found.angles.shape == (0,) and found.vectors_b.shape == (4, 0)


def test_more_columns_than_rows():
    found = principal_angles(np.random.default_rng(0).normal(size=(3, 8)), [[1.0], [2.0], [3.0]])
    assert_allclose(found.angles, [0.0], atol=1e-15)


def test_float32_stays_float32():
    rng = np.random.default_rng(1)
    A, B = (rng.normal(size=(40, 3)).astype(np.float32) for _ in range(2))
    dependent = np.c_[A, A[:, 0] + A[:, 1]]  # to the rounding of float32
    found = principal_angles(dependent, B)
    assert {part.dtype for part in found} == {np.dtype(np.float32)}
    expected = principal_angles(A.astype(float), B.astype(float))
    assert_allclose(found.angles, expected.angles, atol=1e-6)
    assert principal_angles(A, B.astype(float)).angles.dtype == np.float64


def test_input_is_unchanged_and_checked():
    A, B = np.eye(3)[:, :2], np.ones((3, 1))
    before = A.copy()
    principal_angles(A, B)
    assert_array_equal(A, before)
    with pytest.raises(ValueError, match="B has 2 rows, but A has 3"):
        principal_angles(A, B[:2])
    with pytest.raises(ValueError, match="Input B contains NaN"):
        principal_angles(A, B * np.nan)
    with pytest.raises(ValueError, match="A: expected 2D array, got 1D"):
        principal_angles([1.0, 2.0], B)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 20), p=st.integers(1, 3), q=st.integers(1, 3))
def test_a_turn_the_order_of_rows_and_other_bases_change_nothing(seed, n, p, q):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, p)), rng.normal(size=(n, q))
    found = principal_angles(A, B)
    turn, order = ortho_group.rvs(n, random_state=rng), rng.permutation(n)
    mixed = A @ (np.eye(p) + 0.3 * np.tril(rng.normal(size=(p, p)), -1)), B[:, ::-1] * -3.0
    for others in ((turn @ A, turn @ B), (A[order], B[order]), mixed):
        atol = 40 * n * EPS * max(np.linalg.cond(part) for part in (A, B, *others))
        assert_allclose(principal_angles(*others).angles, found.angles, atol=atol)
    # The difference of the projections has the sines for eigenvalues.
    projections = [M @ np.linalg.pinv(M) for M in (A, B)]
    sines = np.sort(np.abs(np.linalg.eigvalsh(projections[0] - projections[1])))
    largest = np.sin(found.angles[-1]) if p == q else 1.0
    assert_allclose(sines[-1], largest, atol=atol)


def test_every_form_of_the_columns_gives_the_same_bytes():
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    expected = principal_angles(A, B)
    fixed = A.copy()
    fixed.flags.writeable = False
    for form in (fixed, A.astype(">f8"), np.asfortranarray(A), np.repeat(A, 2, 0)[::2], A.tolist()):
        for found, part in zip(principal_angles(form, B), expected, strict=True):
            assert_array_equal(found, part)
