"""The seeded search over more than a few samples, against an exhaustive one and single solves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold
from threadpoolctl import threadpool_limits

from dual_problems import fitted_by
from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm import SVC, SVCCV
from mlcore.svm.cross_validation.alpha_seeding import SeededTask, best_multiple, spans_of
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.smo import ROUTES, solve

CS, GAMMAS = [10.0, 0.1, 1.0], [5.0, 0.1]
EXACT = dict(tol=1e-7)  # the tables are equal, not only up to samples near the boundary


def overlapping(n=330, classes=2, seed=0):
    rng = np.random.default_rng([n, classes, seed])
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 3)) + 0.8 * y[:, None], y


def assert_same_search(X, y, cv=4, gammas=GAMMAS, sizes=(), **kwargs):
    kwargs = {**EXACT, **kwargs}
    grid = {"C": CS} if gammas is None else {"C": CS, "gamma": gammas}
    theirs = GridSearchCV(SVC(**kwargs), grid, cv=cv).fit(X, y)
    ours = fitted_by(dict(sizes), SVCCV(Cs=CS, gammas=gammas, cv=cv, **kwargs), X, y)
    for name in ("mean_test_score", "rank_test_score", "split0_test_score"):
        assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    assert ours.best_index_ == theirs.best_index_
    best = theirs.best_estimator_
    assert_allclose(ours.decision_function(X), best.decision_function(X), atol=1e-4)
    assert (np.atleast_1d(ours.verify(X, y).kkt_violation) < 1e-5).all()
    return ours


@pytest.mark.parametrize(
    ("classes", "class_weight", "multi_class"),
    [(2, None, "ovo"), (2, {0: 2.0}, "ovr"), (4, {0: 2.0}, "ovo"), (4, None, "ovr")],
)
def test_choice_and_scores_are_those_of_an_exhaustive_search(classes, class_weight, multi_class):
    X, y = overlapping(classes=classes)
    assert_same_search(X, y, class_weight=class_weight, multi_class=multi_class)


@pytest.mark.parametrize(
    ("classes", "cv"),
    [
        (2, ShuffleSplit(3, random_state=0)),
        (3, StratifiedKFold(3, shuffle=True, random_state=1)),
    ],
)
def test_folds_may_overlap_and_be_scattered(classes, cv):
    X, y = overlapping(classes=classes)
    assert_same_search(X, y, cv=cv)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_kernels_without_a_width(kernel):
    X, y = overlapping()
    data = X @ X.T if kernel == "precomputed" else X
    assert_same_search(data, y, kernel=kernel, gammas=None)


@pytest.mark.parametrize("classes", [2, 3])
def test_problems_that_pair_steps_do_not_settle_go_to_the_solver_of_one(classes):
    X, y = overlapping(classes=classes)
    assert_same_search(X, y, sizes={"seeded_steps": 0})


def test_a_cache_that_holds_no_kernel_matrix_changes_nothing():
    X, y = overlapping()
    whole = SVCCV(Cs=CS, gammas=GAMMAS, **EXACT).fit(X, y)
    rows = SVCCV(Cs=CS, gammas=GAMMAS, cache_size=0.2, **EXACT).fit(X, y)
    assert_array_equal(whole.cv_results_["mean_test_score"], rows.cv_results_["mean_test_score"])
    assert_allclose(whole.decision_function(X), rows.decision_function(X), atol=1e-4)


def test_large_multipliers_get_double_precision():
    X, y = overlapping(400)
    Cs = [1.0, 1e5]
    ours = SVCCV(Cs=Cs, gammas=[1.0], cv=3).fit(X, y)
    theirs = GridSearchCV(SVC(), {"C": Cs, "gamma": [1.0]}, cv=3).fit(X, y)
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01
    )
    assert ours.best_index_ == theirs.best_index_


def seeded(n, tol=1e-6, max_iter=-1, scattered=False):
    rng = np.random.default_rng(n)
    X, y = overlapping(n)
    signs = np.where(y == 1, 1.0, -1.0)
    if scattered:
        signs[rng.random(n) < 0.2] = 0.0
    boxes = np.ones((4, n))
    for f, row in enumerate(boxes[1:]):
        row[f::3] = 0.0
    store = KernelCache(as_kernel("rbf", gamma=0.5).rows(X, double=True), 500)
    store.complete(10)
    return SeededTask(store, signs, boxes, tol, max_iter, ROUTES.seeded_steps), store


@pytest.mark.parametrize(("n", "scattered"), [(100, False), (900, True), (1500, False)])
def test_each_row_is_the_optimum_of_its_problem(n, scattered):
    task, store = seeded(n, scattered=scattered)
    task.prepare(0.1)
    for C, following in ((0.1, 1.0), (1.0, 5.0), (5.0, None)):
        whole = task.problem(0), task.solution(0)
        assert len(task.advance(following)) == 0
        folds = [(task.problem(row), task.solution(row)) for row in range(1, 4)]
        for problem, found in [whole, *folds]:
            assert found.violation <= 1e-6
            assert (found.beta >= problem.lower).all() and (found.beta <= problem.upper).all()
            assert abs(found.beta.sum()) < 1e-9 * C * n
            problem.start = None
            single = solve(problem, store, tol=1e-6)
            assert_allclose(found.objective, single.objective, rtol=1e-7)
            assert_allclose(found.gradient, single.gradient, atol=1e-3)
            low, high = sorted(single.multipliers[0][:2])  # it may be known to an interval only
            assert low - 1e-4 <= found.multipliers[0][2] <= high + 1e-4


def test_decisions_of_held_out_samples_are_sums_over_the_kernel():
    task, store = seeded(300, scattered=True)
    task.prepare(1.0)
    task.advance(None)
    tests = [np.arange(300) % 3 == f for f in range(3)]
    decisions = task.decisions(spans_of(tests))
    K = store.rows[:, :300]
    for f, test in enumerate(tests):
        expected = task.beta[1 + f] @ K[task.index][:, test] - task.multiplier[1 + f]
        assert_allclose(decisions[1 + f, np.flatnonzero(test)], expected, atol=1e-9)


def test_max_iter_bounds_the_steps_of_each_problem():
    task, _ = seeded(300, max_iter=7)
    task.prepare(1.0)
    assert task.violation[0] > task.tol
    assert len(task.advance(2.0)) == 3
    assert task.violation[0] > task.tol
    assert (task.steps <= 7).all()


def test_a_fold_of_one_class_decides_for_it():
    X, y = overlapping(300)
    store = KernelCache(as_kernel("rbf", gamma=0.5).rows(X, double=True), 500)
    store.complete(10)
    boxes = np.ones((2, 300))
    boxes[1, y == 1] = 0.0
    task = SeededTask(store, np.where(y == 1, 1.0, -1.0), boxes, 1e-3, -1, ROUTES.seeded_steps)
    task.prepare(1.0)
    task.advance(None)
    assert (task.decisions(spans_of([y == 1]))[1] < 0).all()


def test_one_split_alone_is_searched_too():
    X, y = overlapping()
    assert_same_search(X, y, cv=ShuffleSplit(1, random_state=0))


def test_the_best_multiple_is_within_its_bounds():
    beta, linear = np.array([1.0, -1.0]), np.array([-1.0, 1.0])
    assert best_multiple(beta, linear, 0.5 * beta, 10.0) == 2.0
    assert best_multiple(beta, linear, 4.0 * beta, 10.0) == 1.0
    assert best_multiple(beta, linear, 0.0 * beta, 10.0) == 10.0


def test_the_threads_of_blas_change_nothing():
    X, y = overlapping(1500)  # enough free variables for Newton steps, which BLAS factorises

    def tables(threads):
        with threadpool_limits(threads, "blas"):
            found = SVCCV(Cs=[100.0], gammas=[2.0, 5.0], cv=3).fit(X, y)
        return found.duality_gap_, found.dual_coef_, found.decision_function(X)

    for one, three in zip(tables(1), tables(3), strict=True):
        assert_array_equal(one, three)


def test_threads_keep_to_their_scratch():
    X, y = overlapping(n=700)
    signs = np.where(y > 0, 1.0, -1.0)
    folds = np.arange(700) % 4
    boxes = np.stack([np.ones(700)] + [(folds != f).astype(float) for f in range(4)])
    kernel = as_kernel("rbf").with_gamma(0.5)
    found = []
    for guarded in (False, True):
        store = KernelCache(kernel.rows(X, True), 200)
        store.complete(5)
        task = SeededTask(store, signs, boxes, 1e-6, -1, ROUTES.seeded_steps)
        scratch = task._scratch
        if guarded:  # the last columns, and all that a thread has not written
            task._scratch = tuple(np.full((len(a), a.shape[1] + 9), 77, a.dtype) for a in scratch)
        task.prepare(1.0)
        task.advance(None)
        found.append(task.beta.copy())
        if guarded:
            for guard, own in zip(task._scratch, scratch, strict=True):
                assert (guard[:, own.shape[1] :] == 77).all()
            _, _, single, wide, integers, _ = task._scratch
            for used in (single, wide, integers):
                assert used[0, 0] != 77
    assert_array_equal(found[0], found[1])
