"""The dual solver with every way to the rows of K: all kept, some, none; one thread or many."""

import functools
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from dual_problems import EPS, check, check_on_samples, matrix, problem, rows_of, samples
from mlcore.kernels.gram_rows import PackedRows
from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm.smo import smo
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.problem import Problem
from mlcore.svm.smo.working_set import WorkingSet

IN_ROUNDS = smo.Routes(small=0)
solve = partial(smo.solve, routes=IN_ROUNDS)  # small problems too
solve_many = partial(smo.solve_many, routes=IN_ROUNDS)


# n, d, kernel, double, cache_size: how the rows are had. From 2049 samples on not all of K is
# the submatrix of the problem.
PATHS = {
    "all of K at hand": (700, 3, "rbf", True, 200.0),
    "all of K in single": (700, 3, "rbf", False, 200.0),
    "a square smaller than the problem": (900, 3, "rbf", True, 1e-3),
    "rows computed again": (2100, 3, "rbf", False, 1e-3),
    "rows that come and go": (2100, 40, "rbf", False, 1e-3),
    "rows that come and go, in double": (2100, 40, "laplacian", True, 1e-3),
    "rows that stay": (2100, 40, "rbf", False, 200.0),
    "a weight vector": (2100, 20, "linear", False, 200.0),
    "a weight vector, a small square": (2100, 70, "linear", True, 1e-3),
    "many samples, a small square": (2300, 3, "rbf", False, 1.0),
}


KINDS = ["svc", "svr", "one class", "nu svc", "nu svr"]


@functools.cache
def kernel_matrix(n, d, kernel):
    X = samples(n, d) * (0.4 if d > 3 else 1.0)
    return X, matrix(X, problem("svc", n), kernel)


# Two kinds of problem on each path, so that each kind takes four of them.
@pytest.mark.parametrize("path", PATHS)
def test_every_path_leads_to_the_optimum(path):
    n, d, kernel, double, cache_size = PATHS[path]
    eps = EPS if double else 4 * float(np.finfo(np.float32).eps)
    X, K = kernel_matrix(n, d, kernel)
    first = list(PATHS).index(path)
    for kind in (KINDS[first % 5], KINDS[(first + 2) % 5]):
        p = problem(kind, n, C=0.3)
        if kind == "svr":
            p.linear, p.epsilon = -np.sin(2 * X[:, 0]), 0.1
        elif kind == "svc":
            y = np.sign(X[:, 0] + 0.3 * samples(n, 1, 1)[:, 0])
            p = Problem(-y, np.where(y > 0, 0, -0.3), np.where(y > 0, 0.3, 0.0))
        rows = rows_of(X, kernel, double)
        assert rows.dtype == (np.float64 if double else np.float32)
        solution = solve(p, KernelCache(rows, cache_size), tol=1e-3)
        check_on_samples(K, p, solution, 1e-3, eps)


def test_the_optimum_does_not_depend_on_the_cache():
    X = samples(1100, 40) * 0.4
    p = problem("svc", 1100, C=1.0)
    reference = solve(p, KernelCache(rows_of(X), 1e4), tol=1e-5)
    for cache_size in (1e-3, 1.0, 200.0):
        solution = solve(p, KernelCache(rows_of(X), cache_size), tol=1e-5)
        message = f"cache_size={cache_size}"
        assert_allclose(solution.objective, reference.objective, rtol=1e-7, err_msg=message)


def test_working_sets_grow_shrink_and_are_chosen_anew(monkeypatch):
    sizes = []
    plain = WorkingSet.load

    def watched(self, chosen):
        sizes.append(sum(map(len, chosen)))
        plain(self, chosen)

    monkeypatch.setattr(WorkingSet, "load", watched)
    X = samples(2200, 2)
    y = np.sign(np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * samples(2200, 1, 1)[:, 0])
    p = Problem(-y, np.where(y > 0, 0, -10.0), np.where(y > 0, 10.0, 0.0))
    solution = solve(p, KernelCache(rows_of(X), 1e-3), tol=1e-4)
    check(matrix(X, p), p, solution, 1e-4)
    assert len(sizes) > 3 and max(sizes) <= 512 and min(sizes) < max(sizes)


@pytest.mark.parametrize("kind", ["nu svc", "one class"])
@pytest.mark.parametrize("cache_size", [1e-3, 200.0])
def test_a_group_of_few_is_not_starved(cache_size, kind):
    """Three samples of one class among thousands, or three that must carry all."""
    X = samples(2100, 40) * 0.4
    few = np.arange(2100) % 1000 == 7
    box = np.full(2100, 1.0)
    if kind == "nu svc":
        sign = np.where(few, -1.0, 1.0)
        low, high = np.where(few, -1.0, 0.0), np.where(few, 0.0, 1.0)
        group = few.astype(np.int8)
        p = Problem(0.1 * X[:, 0] * sign, low, high, group=group, total=(1.5, -1.5))
    else:
        p = Problem(0.1 * X[:, 0], 0 * box, np.where(few, box, 1e-4), total=(2.0,))
    solution = solve(p, KernelCache(rows_of(X), cache_size), tol=1e-5)
    check(matrix(X, p), p, solution, 1e-5)


# Rows that are computed again, and rows that are kept.
@pytest.mark.parametrize(("kind", "d"), [("one class", 8), ("one class", 40), ("nu svc", 8)])
def test_few_support_vectors_need_few_kernel_values(kind, d, monkeypatch):
    """Sums that some hundredths of the variables reach, one class being a tenth of the samples."""
    values = []
    fill, fill_all = PackedRows.fill, PackedRows.fill_all

    def filled(self, rows, out, dest, columns=None):
        values.append(len(rows) * (self.n if columns is None else len(columns)))
        fill(self, rows, out, dest, columns)

    def filled_all(self, out, chosen=None):
        m = self.n if chosen is None else len(chosen)
        values.append(m * (m + 1) // 2)
        fill_all(self, out, chosen)

    n = 2200
    y = np.where(np.arange(n) % 10 == 0, 1.0, -1.0)
    X = samples(n, d) + np.where(y > 0, 1.0, 0.0)[:, None]
    if kind == "one class":
        p = Problem(np.zeros(n), np.zeros(n), np.ones(n), total=(0.03 * n,))
    else:
        p = Problem(
            np.zeros(n), np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0),
            group=(y < 0).astype(np.int8), total=(0.05 * n, -0.05 * n),
        )  # fmt: skip
    rows = as_kernel("rbf", gamma=1.0 / d).rows(X, double=False)
    monkeypatch.setattr(PackedRows, "fill", filled)
    monkeypatch.setattr(PackedRows, "fill_all", filled_all)
    solution = solve(p, KernelCache(rows, 200.0), tol=1e-3)
    monkeypatch.undo()
    K = rows.block(np.arange(n)).astype(np.float64)
    check(K, p, solution, 1e-3, 4 * float(np.finfo(np.float32).eps))
    assert sum(values) < (0.4 if kind == "one class" else 0.75) * n**2


@pytest.mark.parametrize("n_runs", [1, 2, 4, 9])
def test_some_of_the_samples(n_runs):
    """A problem on runs of the samples, as between two of several classes, beside others."""
    X = samples(600)
    runs = [np.arange(start, start + 30) for start in np.linspace(0, 570, n_runs).astype(int)]
    index = np.concatenate(runs)
    p = problem("svc", len(index))
    p.index = index
    for cache_size in (1e-3, 200.0):
        store = KernelCache(rows_of(X), cache_size)
        check(matrix(X, p), p, solve(p, store, tol=1e-6), 1e-6)


def test_problems_that_share_samples_share_their_rows():
    X = samples(400, 40)
    problems = [problem("svc", 400, seed) for seed in range(4)]
    store = KernelCache(rows_of(X), 200.0)
    together = solve_many(problems, store, tol=1e-6)
    assert store.whole
    for p, solution in zip(problems, together, strict=True):
        check(matrix(X, p), p, solution, 1e-6)
        alone = solve(p, KernelCache(rows_of(X), 200.0), tol=1e-6)
        assert_allclose(solution.objective, alone.objective, rtol=1e-10)


def test_precomputed_and_users_kernels():
    X = samples(200)
    p = problem("svc", 200)
    K = matrix(X, p)

    def kernel(A, B):
        return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))

    for asked, Z in (("precomputed", K), (kernel, X)):
        rows = as_kernel(asked).rows(Z, double=True)
        check(K, p, solve(p, KernelCache(rows, 1e-3), tol=1e-6), 1e-6)


def test_any_number_of_threads_gives_the_same_bytes():
    X = samples(1300)
    p = problem("svr", 1300, C=100.0)
    found = []
    for threads in (1, 2, 7):
        with threadpool_limits(threads):
            found.append(solve(p, KernelCache(rows_of(X), 200.0), tol=1e-4))
    for other in found[1:]:
        assert_array_equal(other.beta, found[0].beta)
        assert_array_equal(other.gradient, found[0].gradient)
        assert other.multipliers == found[0].multipliers
        assert (other.objective, other.n_iter) == (found[0].objective, found[0].n_iter)
