"""Hot loop of mlcore.linear_model.logistic.logistic_path: fits of two classes, of few columns.

Minimised is ``F(w, b) = sum_i s_i l_i + sum_j lasso_j |w_j| + ridge_j w_j²/2`` for folds, which are
weights s of the same rows, and from the largest penalty to the least. Steps are those of Newton's
method with a Hessian that is kept while it serves, the intercept eliminated; with `lasso` the
quadratic model is minimised with it. A fit starts from the minimum of the model at the last one,
plus the error of that start in the last fit, and ends at a duality gap of `tol` F.

One thread fits a fold, so that the number of threads changes no bit.
"""
from cython.parallel cimport parallel, threadid
from libc.math cimport log

from mlcore._ext.linear_model.logistic_folds cimport (
    FIGURES, certify, evaluate, fold, keep, look, point, problem, set_hessian, set_penalty,
)
from mlcore._ext.linear_model.logistic_model cimport set_direction
from mlcore._ext.linear_model.logistic_path_h cimport PATH_ROWS
from mlcore._ext.shared.signals cimport (
    add_to, items_of, leave_items, raise_interrupt, shared_items, take_item,
)

cdef double ARMIJO = 1e-4
cdef double ROUNDING = 1e-14  # of F
cdef double SLOW = 0.03       # factor of the gap in a step, above which the Hessian is made anew


def rows_of_block():
    """Return the number of rows of a block."""
    return PATH_ROWS


def work_size(Py_ssize_t blocks, Py_ssize_t width, /):
    """Return the number of values that each thread needs."""
    return 4 * blocks * PATH_ROWS + (width + 1) * (PATH_ROWS + 22) + 3 * width * width


def descend(const double[:, :, ::1] X, const double[::1] sign, const double[:, ::1] weights,
            const double[:, ::1] scale, const double[::1] Cs, const double[:, ::1] start,
            double l1_ratio, double tol, Py_ssize_t max_iter, bint equal, bint intercept,
            double[:, ::1] work, double[:, :, ::1] theta, double[:, :, ::1] slopes,
            double[:, :, ::1] figures, int n_threads, /):
    """Fit folds `weights` (f, rows) for ascending Cs (m,), from `start` (f, width + 1) on.

    X (blocks, width, rows) and sign (blocks rows,) are as in logistic_path.h; the penalty is of
    coefficients times `scale` (f, d). Results are `theta` (f, m, width + 1), `slopes` (f, m, width)
    and `figures` (f, m, 6). Scratch: `work` (n_threads, work_size(blocks, width)).
    """
    cdef problem p
    cdef shared_items items = items_of(0, weights.shape[0])
    p.blocks, p.width, p.d, p.max_iter = X.shape[0], X.shape[1], scale.shape[1], max_iter
    p.X, p.sign, p.scale = &X[0, 0, 0], &sign[0], &scale[0, 0]
    p.equal, p.intercept, p.l1_ratio, p.tol = equal, intercept, l1_ratio, tol
    with nogil, parallel(num_threads=n_threads):
        fit_folds(&p, &weights[0, 0], &Cs[0], Cs.shape[0], &start[0, 0], &items, threadid() == 0,
                  &work[threadid(), 0], &theta[0, 0, 0], &slopes[0, 0, 0], &figures[0, 0, 0])
    if items.stop:
        raise_interrupt()


cdef void fit_folds(const problem* p, const double* weights, const double* Cs, Py_ssize_t m,
                    const double* start, shared_items* items, bint main, double* work,
                    double* theta, double* slopes, double* figures) noexcept nogil:
    cdef fold f
    cdef point at, trial
    cdef Py_ssize_t i, k, D = p.width + 1, n = p.blocks * PATH_ROWS
    add_to(&items.working, 1)
    lay_out(p, &f, &at, &trial, work)
    while take_item(items, &i):
        f.s = weights + i * n
        for k in range(D):
            at.theta[k] = start[i * D + k]
            trial.theta[k] = f.error[k] = f.direction[k] = 0
        evaluate(p, &f, &at)
        set_hessian(p, &f, &at, items, main)
        for k in range(m):
            if items.stop:
                break
            set_penalty(p, &f, p.scale + i * p.d, 1 / Cs[k])
            figures[(i * m + k) * FIGURES + 5] = fit(
                p, &f, &at, &trial, log(Cs[k] / Cs[k - 1]) if k > 0 else 0,
                log(Cs[k - 1] / Cs[k - 2]) if k > 1 else 0, items, main)
            keep(p, &f, &at, theta + (i * m + k) * D, slopes + (i * m + k) * p.width,
                 figures + (i * m + k) * FIGURES)
    leave_items(items, main)


cdef void lay_out(const problem* p, fold* f, point* at, point* trial,
                  double* work) noexcept nogil:
    cdef Py_ssize_t D = p.width + 1, n = p.blocks * PATH_ROWS
    at.z, at.h, trial.z, trial.h = work, work + n, work + 2 * n, work + 3 * n
    work += 4 * n
    f.r = work
    work += D * PATH_ROWS
    f.H, f.M, f.face = work, work + p.width * p.width, work + 2 * p.width * p.width
    work += 3 * p.width * p.width
    at.theta, at.sums, at.slope = work, work + D, work + 3 * D
    trial.theta, trial.sums, trial.slope = work + 4 * D, work + 5 * D, work + 7 * D
    f.ridge, f.lasso, f.direction = work + 8 * D, work + 9 * D, work + 10 * D
    f.start, f.error, f.w = work + 11 * D, work + 12 * D, work + 13 * D
    f.members = <Py_ssize_t*> (work + 19 * D)
    f.work = 0


cdef double fit(const problem* p, fold* f, point* at, point* trial, double step,
                double before, shared_items* items, bint main) noexcept nogil:
    """Move `at` to the minimum; return the number of steps.

    `step` and `before` are the last two steps of log C: errors of starts grow by their square.
    """
    cdef Py_ssize_t j, count = 0, D = p.width + 1
    cdef double slope, length, last, bend = step / before if before > 0 else 0
    cdef bint ended = False, predicted = 0 < bend < 2
    bend = bend * bend
    certify(p, f, at)
    while at.gap > p.tol * at.value and count < p.max_iter and not (ended or items.stop):
        slope = set_direction(p, f, at)
        if not slope < 0:
            break
        if count == 0:
            for j in range(D):
                f.start[j] = at.theta[j] + f.direction[j]
        # The first point that is low enough: the predicted one, full, half, quarter ... steps.
        length = 1
        while True:
            for j in range(D):
                trial.theta[j] = at.theta[j] + length * f.direction[j]
            if predicted:
                add_error(p, f, bend, trial.theta)
            evaluate(p, f, trial)
            certify(p, f, trial)
            look(f, items, main)
            if -length * slope < ROUNDING * at.value:  # the gap may still fall, by exact slopes
                if not trial.gap < at.gap:
                    return count
                ended = not trial.gap < 0.5 * at.gap
                break
            if trial.value <= at.value + ARMIJO * length * slope:
                break
            if items.stop or not f.current and length < 1:
                break
            if not predicted:
                length *= 0.5
            predicted = False
        count += 1
        predicted = False
        if trial.value > at.value and trial.gap >= at.gap:  # the kept Hessian leads nowhere
            set_hessian(p, f, at, items, main)
            continue
        last = at.gap
        at[0], trial[0] = trial[0], at[0]
        f.current = False
        if at.gap > p.tol * at.value and at.gap > SLOW * last:
            set_hessian(p, f, at, items, main)
    if count > 0:
        for j in range(D):
            f.error[j] = at.theta[j] - f.start[j]
    return count


cdef void add_error(const problem* p, const fold* f, double bend, double* theta) noexcept nogil:
    """Add the expected error of a start; coefficients of 0 stay so, and none changes its sign."""
    cdef Py_ssize_t j
    cdef double old
    for j in range(p.width + 1):
        old = theta[j]
        if p.l1_ratio == 0 or old != 0 or j == p.width:
            theta[j] += bend * f.error[j]
            if p.l1_ratio > 0 and theta[j] * old < 0 and j < p.width:
                theta[j] = old
