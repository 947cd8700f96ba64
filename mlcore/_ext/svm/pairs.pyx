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
    INTEGERS, LINE, MARKS, SINGLE, WIDE, adopt, lay_out, refine, round_to_bounds, small_problem,
    solve, start_with_sums
)
from mlcore._ext.svm.working_set cimport fill_submatrix

cdef double NO_MARGIN = 1e-13  # times the largest gradient, as in mlcore.svm.formulations
cdef double ROUNDING = 1e-12   # times the largest multiplier, as in bias.pxd
cdef double CONSTANT = 1e-24   # share of a mean square that is rounding


cdef packed struct outcome:      # of a pair: OUTCOME in mlcore.svm.multiclass.pairs
    double dual_objective, primal_objective, duality_gap, kkt_violation, squared_norm, above, below
    int64_t n_iter
    double violation, fold_violation


cdef struct pair_data:           # of all pairs
    const void *K, *diagonal     # rows of K are `stride` values apart
    Py_ssize_t stride
    const int64_t *order, *starts, *pairs, *fold
    const double *cost, *sums    # `sums` is NULL without nu
    int64_t max_steps
    int n_folds
    bint exact
    double tol, margin_tol, least, rounding, distance, unopposed
    Py_ssize_t room              # slots of the scratch, a row of it for each thread:
    void *submatrices, *faces    # room²
    void* single                 # SINGLE room
    double* wide                 # (WIDE + 1) room
    int64_t* integers            # INTEGERS room
    int8_t* marks                # MARKS room


cdef class Pairs:
    """Pairwise problems over all of K, which are solved to `tol` or `exact`ly, and their folds.

    Samples of class c are order[starts[c]:starts[c + 1]]; `pairs` are the positive and the negative
    class of each problem. `rounding` and `distance` are as in optimality.pxd.
    """

    cdef pair_data d
    cdef bint doubles
    cdef list arrays  # keeps alive what d points to

    def __init__(self, K, diagonal, const int64_t[::1] order, const int64_t[::1] starts,
                 const int64_t[:, ::1] pairs, const double[::1] cost, double tol, bint exact,
                 int64_t max_steps, double rounding, double distance, /):
        self.arrays = [K, diagonal, order, starts, pairs, cost]
        self.doubles = K.itemsize == 8
        if self.doubles:
            point_to_rows[double](&self.d, K, diagonal)
        else:
            point_to_rows[float](&self.d, K, diagonal)
        self.d.order, self.d.starts, self.d.pairs = &order[0], &starts[0], &pairs[0, 0]
        self.d.cost, self.d.tol, self.d.exact, self.d.max_steps = &cost[0], tol, exact, max_steps
        self.d.rounding, self.d.distance = rounding, distance
        self.d.n_folds, self.d.sums = 0, NULL

    def hold_out(self, const int64_t[::1] fold, int n_folds, double unopposed, /):
        """Solve folds too; decision values are +-`unopposed` where only one class is left."""
        self.arrays.append(fold)
        self.d.fold, self.d.n_folds, self.d.unopposed = &fold[0], n_folds, unopposed

    def fix_sums(self, const double[:, ::1] sums, double margin_tol, double least, /):
        """With nu: rows (sum of each class's multipliers, nu over the largest feasible one).

        The violation is at most `margin_tol` times the margin, or `least`.
        """
        self.arrays.append(sums)
        self.d.sums, self.d.margin_tol, self.d.least = &sums[0, 0], margin_tol, least

    def use(self, submatrices, faces, single, double[:, ::1] wide, int64_t[:, ::1] integers,
            int8_t[:, ::1] marks, Py_ssize_t room, /):
        """Take scratch, a row for each thread: see `pair_data`; `room` slots are for a pair."""
        self.arrays += [submatrices, faces, single, wide, integers, marks]
        if self.doubles:
            point_to_scratch[double](&self.d, submatrices, faces, single)
        else:
            point_to_scratch[float](&self.d, submatrices, faces, single)
        self.d.wide, self.d.integers, self.d.marks = &wide[0, 0], &integers[0, 0], &marks[0, 0]
        self.d.room = room

    def solve(self, Py_ssize_t first, double[:, ::1] dual_coef, double[:, ::1] held_out,
              outcome[::1] outcomes, int n_threads, /):
        """Solve pairs from `first` on, one for each of `outcomes`.

        In LIBSVM's layout: `dual_coef` (k - 1, n), `held_out` values on the scale of all samples.
        """
        cdef Py_ssize_t p
        cdef const pair_data* d = &self.d
        cdef bint doubles = self.doubles
        for p in prange(outcomes.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
            if doubles:
                solve_pair(d, <const double*> d.K, first + p, threadid(), dual_coef, held_out,
                           &outcomes[p])
            else:
                solve_pair(d, <const float*> d.K, first + p, threadid(), dual_coef, held_out,
                           &outcomes[p])


cdef void point_to_rows(pair_data* d, const floating[:, ::1] K, const floating[::1] diagonal):
    d.K, d.stride, d.diagonal = &K[0, 0], K.shape[1], &diagonal[0]


cdef void point_to_scratch(pair_data* d, floating[:, ::1] submatrices, floating[:, ::1] faces,
                           floating[:, ::1] single):
    d.submatrices, d.faces, d.single = &submatrices[0, 0], &faces[0, 0], &single[0, 0]


cdef void solve_pair(const pair_data* d, const floating* K, Py_ssize_t pair, int thread,
                     double[:, ::1] dual_coef, double[:, ::1] held_out,
                     outcome* result) noexcept nogil:
    cdef small_problem own
    cdef optimality measured
    cdef double total[2], side, shift, scale
    cdef int64_t positive = d.pairs[2 * pair], negative = d.pairs[2 * pair + 1]
    cdef const double* sums = d.sums + 2 * pair if d.sums != NULL else NULL
    cdef bint nu = sums != NULL
    cdef Py_ssize_t t, s, f, first = d.starts[positive + 1] - d.starts[positive]
    cdef Py_ssize_t m = first + d.starts[negative + 1] - d.starts[negative]
    cdef Py_ssize_t padded = (m + LINE - 1) // LINE * LINE
    cdef floating* submatrix = <floating*> d.submatrices + thread * d.room * d.room
    cdef floating* single = <floating*> d.single + thread * SINGLE * d.room
    cdef const floating* diagonal = <const floating*> d.diagonal
    cdef floating* slot_diagonal = single + 3 * padded
    cdef double* wide = d.wide + thread * (WIDE + 1) * d.room
    cdef double* trained = wide + WIDE * padded  # decision values of the solution on all samples
    cdef int64_t* integers = d.integers + thread * INTEGERS * d.room
    cdef int64_t* members = integers + 2 * padded
    # The problem on all samples of the pair, in slots of which some stand for no sample.
    total[0], total[1] = sums[0] if nu else 0.0, -sums[0] if nu else 0.0
    lay_out(&own, padded, wide, integers, d.marks + thread * MARKS * d.room)
    own.size = own.second = own.stride = padded
    own.epsilon, own.room = 0, min(d.room, padded)
    own.face = <floating*> d.faces + thread * d.room * d.room
    own.single, own.diagonal = single, slot_diagonal
    for t in range(padded):
        s = d.order[d.starts[positive] + t if t < first else d.starts[negative] + t - first] \
            if t < m else d.order[0]
        members[t], own.group[t] = s, nu and t >= first
        side = (1.0 if t < first else -1.0) if t < m else 0.0
        own.linear[t] = 0.0 if nu else -side
        own.beta[t] = own.product[t] = 0
        slot_diagonal[t] = diagonal[s]
        set_box(&own, t, side, d.cost[s])
    fill_submatrix(K, d.stride, m, members, padded, submatrix)
    if nu:
        own.second = first
        start_with_sums(&own, submatrix, total)
    solve(&own, submatrix, d.tol, d.exact, d.max_steps)
    if nu:
        settle_margin(&own, submatrix, sums[1], d.margin_tol, d.least)
    round_to_bounds(&own)
    # Its optimality and coefficients.
    measured = optimality_of(padded, own.linear, own.lower, own.upper, 0, own.group, own.beta,
                             own.product, own.multiplier, total, d.rounding, d.distance)
    result.dual_objective, result.primal_objective = measured.dual, measured.primal
    result.kkt_violation, result.duality_gap = measured.violation, measured.gap
    result.squared_norm = measured.squared_norm
    result.above, result.below = own.multiplier[0], own.multiplier[1]
    result.n_iter, result.violation, result.fold_violation = own.steps, own.violation, 0
    for t in range(m):
        dual_coef[row_of(positive, negative, t < first), members[t]] = own.beta[t]
        trained[t] = own.product[t] - own.multiplier[0]
    # The folds, each from that solution, and the decision values of what they hold out.
    for f in range(d.n_folds):
        begin_fold(&own, submatrix, members, d.cost, d.fold, f, dual_coef,
                   row_of(positive, negative, True), row_of(positive, negative, False))
        solve(&own, submatrix, d.tol, d.exact, d.max_steps)
        result.fold_violation = max(result.fold_violation, own.violation)
        side = only_side(&own)
        if side == 0:
            to_scale_of(&own, trained, m, &shift, &scale)
        for t in range(m):
            if d.fold[members[t]] == f:
                s = row_of(positive, negative, t < first)
                held_out[s, members[t]] = (shift + (own.product[t] - own.multiplier[0]) * scale
                                           if side == 0 else side * d.unopposed)


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
    cdef double total = 0, largest = 0, weight, f, mean[2], squares[2]
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
