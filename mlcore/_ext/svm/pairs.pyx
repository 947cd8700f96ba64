"""Hot loop of mlcore.svm.multiclass.pairs: many pairwise problems of small classes.

Each problem has a principal submatrix of K of its own, small enough for the nearest caches, for
itself and its folds, which start from the solution on all samples of the pair.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport fabs, sqrt
from libc.stdint cimport int8_t, int64_t

from mlcore._ext.svm.feasible_start cimport balance
from mlcore._ext.svm.optimality cimport optimality, optimality_of
from mlcore._ext.svm.small_problem cimport (
    LINE, WIDE, adopt, lay_out, refine, round_to_bounds, small_problem, solve, start_with_sums
)
from mlcore._ext.svm.working_set cimport fill_submatrix

cdef enum:
    FIGURES = 10     # results of each pair

cdef double NO_MARGIN = 1e-13  # times the largest gradient, as in mlcore.svm.formulations
cdef double ROUNDING = 1e-12   # times the largest multiplier, as in bias.pxd
cdef double CONSTANT = 1e-24   # share of a mean square that is rounding


def solve_pairs(const floating[:, ::1] K, const floating[::1] diagonal, const int64_t[::1] order,
                const int64_t[::1] starts, const int64_t[:, ::1] pairs, const double[::1] cost,
                const int64_t[::1] fold, int n_folds, const double[:, ::1] sums, double tol,
                double margin_tol, double least, double rounding, double distance, bint exact,
                int64_t max_steps, double[:, ::1] dual_coef, double[:, ::1] held_out,
                double[:, ::1] figures, floating[:, ::1] submatrices, floating[:, ::1] faces,
                floating[:, ::1] single, double[:, ::1] wide, int64_t[:, ::1] integers,
                int8_t[:, ::1] marks, Py_ssize_t room, double unopposed, int n_threads, /):
    """Solve the problem of each of `pairs` (positive, negative class), to `tol` or `exact`ly.

    Samples of class c are order[starts[c]:starts[c + 1]]; `fold` is the fold of each sample.
    `dual_coef` (k - 1, n) and `held_out`, decision values, are in LIBSVM's layout. `figures` are
    (dual, primal, KKT violation, |w|², multiplier of each class, steps, violation, largest
    violation of the folds, gap). `rounding` and `distance` are as in optimality.pxd. `sums` is
    empty for machines with costs. With nu, each class has an equality of its own: a row
    is (sum of the multipliers, nu as a multiple of the largest feasible one), and the violation is
    at most `margin_tol` times the margin, or `least`. Held-out values are near the scale of the
    solution on all samples of the pair, and +-`unopposed` if only one class is left. Scratch for
    each thread: `submatrices` padded², `faces` room², `single` 4, `wide` WIDE + 1, `integers` 4 and
    `marks` 3 for each slot.
    """
    cdef Py_ssize_t p
    cdef int thread
    cdef bint nu = sums.shape[0] > 0
    for p in prange(pairs.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        thread = threadid()
        solve_pair(&K[0, 0], K.shape[1], &diagonal[0], &order[0], &starts[0], pairs[p, 0],
                   pairs[p, 1], &cost[0], &fold[0], n_folds, &sums[p, 0] if nu else NULL, tol,
                   margin_tol, least, rounding, distance, exact, max_steps, dual_coef, held_out,
                   &figures[p, 0], &submatrices[thread, 0], &faces[thread, 0], &single[thread, 0],
                   &wide[thread, 0], &integers[thread, 0], &marks[thread, 0], room, unopposed)


cdef void solve_pair(const floating* K, Py_ssize_t stride, const floating* diagonal,
                     const int64_t* order, const int64_t* starts, int64_t positive,
                     int64_t negative, const double* cost, const int64_t* fold, int n_folds,
                     const double* sums, double tol, double margin_tol, double least,
                     double rounding, double distance, bint exact, int64_t max_steps,
                     double[:, ::1] dual_coef, double[:, ::1] held_out, double* figures,
                     floating* submatrix, floating* face, floating* single, double* wide,
                     int64_t* integers, int8_t* marks, Py_ssize_t room,
                     double unopposed) noexcept nogil:
    cdef small_problem own
    cdef optimality found
    cdef double total[2]
    cdef double side, shift, scale
    cdef Py_ssize_t t, s, first = starts[positive + 1] - starts[positive], f
    cdef Py_ssize_t m = first + starts[negative + 1] - starts[negative]
    cdef Py_ssize_t padded = (m + LINE - 1) // LINE * LINE
    cdef floating* slot_diagonal = single + 3 * padded
    cdef int64_t* members = integers + 2 * padded
    cdef double* trained = wide + WIDE * padded  # decision values of the solution on all samples
    cdef bint nu = sums != NULL
    total[0], total[1] = sums[0] if nu else 0.0, -sums[0] if nu else 0.0
    lay_out(&own, padded, wide, integers, marks)
    own.size = own.second = own.stride = padded
    own.epsilon, own.room = 0, min(room, padded)
    own.face, own.single, own.diagonal = face, single, slot_diagonal
    for t in range(padded):
        s = order[starts[positive] + t if t < first else starts[negative] + t - first] \
            if t < m else order[0]
        members[t], own.group[t] = s, nu and t >= first
        side = (1.0 if t < first else -1.0) if t < m else 0.0
        own.linear[t] = 0.0 if nu else -side
        own.beta[t] = own.product[t] = 0
        slot_diagonal[t] = diagonal[s]
        set_box(&own, t, side, cost[s])
    fill_submatrix(K, stride, m, members, padded, submatrix)
    if nu:
        own.second = first
        start_with_sums(&own, submatrix, total)
    solve(&own, submatrix, tol, exact, max_steps)
    if nu:
        settle_margin(&own, submatrix, sums[1], margin_tol, least)
    round_to_bounds(&own)
    found = optimality_of(padded, own.linear, own.lower, own.upper, 0, own.group, own.beta,
                          own.product, own.multiplier, total, rounding, distance)
    figures[0], figures[1], figures[2] = found.dual, found.primal, found.violation
    figures[3], figures[4], figures[5] = found.squared_norm, own.multiplier[0], own.multiplier[1]
    figures[6], figures[7], figures[8] = <double> own.steps, own.violation, 0
    figures[9] = found.gap
    for t in range(m):
        dual_coef[row_of(positive, negative, t < first), members[t]] = own.beta[t]
        trained[t] = own.product[t] - own.multiplier[0]
    for f in range(n_folds):
        begin_fold(&own, submatrix, members, cost, fold, f, dual_coef,
                   row_of(positive, negative, True), row_of(positive, negative, False))
        solve(&own, submatrix, tol, exact, max_steps)
        figures[8] = max(figures[8], own.violation)
        side = only_side(&own)
        if side == 0:
            to_scale_of(&own, trained, m, &shift, &scale)
        for t in range(m):
            if fold[members[t]] == f:
                s = row_of(positive, negative, t < first)
                held_out[s, members[t]] = (shift + (own.product[t] - own.multiplier[0]) * scale
                                           if side == 0 else side * unopposed)


cdef inline int64_t row_of(int64_t positive, int64_t negative, bint first) noexcept nogil:
    """The row of LIBSVM's layout for the duals of one class against the other."""
    cdef int64_t other = negative if first else positive
    return other - (other > (positive if first else negative))


cdef inline void set_box(small_problem* p, Py_ssize_t t, double side, double cost) noexcept nogil:
    p.lower[t] = -cost if side < 0 else 0.0
    p.upper[t] = cost if side > 0 else 0.0


cdef void settle_margin(small_problem* p, const floating* submatrix, double excess,
                        double margin_tol, double least) noexcept nogil:
    """Solve to a violation that is small beside the margin; set a margin of rounding to 0."""
    cdef double size = 0, more
    cdef double finer = max(margin_tol * 0.5 * (p.multiplier[0] - p.multiplier[1]), least)
    cdef double sides[2]
    cdef Py_ssize_t t
    if finer < p.violation:
        refine(p, submatrix, finer)
    sides[0] = sides[1] = 0
    for t in range(p.size):
        size = max(size, fabs(p.product[t]))
        sides[p.group[t]] += p.upper[t] - p.lower[t]
    if excess > 1:  # any larger margin is optimal too: the lighter class is all margin errors
        more = (1 - 1 / excess) * (p.multiplier[0] - p.multiplier[1])
        if sides[0] < sides[1]:
            p.multiplier[0] += more
        else:
            p.multiplier[1] -= more
    else:
        keep_samples_within(p)
    if not 0.5 * (p.multiplier[0] - p.multiplier[1]) > NO_MARGIN * size:
        p.multiplier[0] = p.multiplier[1] = 0.5 * (p.multiplier[0] + p.multiplier[1])


cdef void keep_samples_within(small_problem* p) noexcept nogil:
    """Make no sample below its bound a margin error, as `edges` in mlcore.svm.formulations."""
    cdef double middle = 0.5 * (p.multiplier[0] + p.multiplier[1]), rounding = 0, within
    cdef double rho = 0.5 * (p.multiplier[0] - p.multiplier[1])
    cdef Py_ssize_t t
    within = rho
    for t in range(p.size):
        rounding = max(rounding, fabs(p.beta[t]))
    rounding *= ROUNDING
    for t in range(p.size):
        if p.group[t] == 0 and p.upper[t] - p.beta[t] > rounding:
            within = min(within, p.product[t] - middle)
        elif p.group[t] == 1 and p.beta[t] - p.lower[t] > rounding:
            within = min(within, middle - p.product[t])
    if within > 0.5 * rho:
        p.multiplier[0], p.multiplier[1] = middle + within, middle - within


cdef void to_scale_of(const small_problem* p, const double* trained, Py_ssize_t m,
                      double* shift, double* scale) noexcept nogil:
    """Find the map shift + scale f of `on_scale_of` in mlcore.svm.probability.link."""
    cdef double total = 0, largest = 0, weight, f
    cdef double mean[2]
    cdef double squares[2]
    cdef Py_ssize_t t
    mean[0] = mean[1] = squares[0] = squares[1] = 0
    for t in range(m):
        largest = max(largest, p.upper[t] - p.lower[t])
    for t in range(m):
        weight = (p.upper[t] - p.lower[t]) / largest
        total += weight
        mean[0] += weight * trained[t]
        mean[1] += weight * (p.product[t] - p.multiplier[0])
    mean[0], mean[1] = mean[0] / total, mean[1] / total
    for t in range(m):
        weight = (p.upper[t] - p.lower[t]) / largest
        f = p.product[t] - p.multiplier[0]
        squares[0] += weight * (trained[t] - mean[0]) * (trained[t] - mean[0])
        squares[1] += weight * (f - mean[1]) * (f - mean[1])
    shift[0], scale[0] = 0, 1
    f = mean[0] - mean[1]
    if squares[0] <= 4 * squares[1] <= 16 * squares[0] and 4 * total * f * f <= squares[0]:
        return
    if squares[1] > CONSTANT * (mean[1] * mean[1] * total + squares[1]):
        scale[0] = sqrt(squares[0] / squares[1])
    shift[0] = mean[0] - scale[0] * mean[1]


cdef double only_side(const small_problem* p) noexcept nogil:
    """+1 or -1 if only samples of that sign can have a multiplier, else 0."""
    cdef bint up = False, down = False
    cdef Py_ssize_t t
    for t in range(p.size):
        if p.upper[t] > p.lower[t]:
            up, down = up or p.linear[t] < 0, down or p.linear[t] > 0
    return <double> up - <double> down


cdef void begin_fold(small_problem* p, const floating* submatrix, const int64_t* members,
                     const double* cost, const int64_t* fold, Py_ssize_t wanted,
                     double[:, ::1] dual_coef, int64_t row, int64_t other_row) noexcept nogil:
    """Set the bounds of held-out samples to 0, and a start near the solution on all samples."""
    cdef Py_ssize_t t, s
    cdef double excess = 0, before
    for t in range(p.size):
        s = members[t]
        set_box(p, t, -p.linear[t], 0.0 if fold[s] == wanted else cost[s])
        before = dual_coef[row if p.linear[t] < 0 else other_row, s] if p.linear[t] != 0 else 0.0
        p.trial[t] = min(max(before, p.lower[t]), p.upper[t])
        excess += p.trial[t]
    balance(p.size, p.trial, p.lower, p.upper, excess)
    adopt(p, submatrix, p.trial)
