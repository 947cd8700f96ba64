"""Hot loop of mlcore.svm.smo.small_problem: one dual problem, from its start to its solution.

All variables are in one working set, with a principal submatrix of K that fits the nearest caches,
or K itself. Between two descents the product with K is brought up to date in double precision.
Both bounds of a slot that stands for no variable are 0.
"""
from cython cimport floating
from libc.math cimport fabs
from libc.stdint cimport int8_t, int64_t
from libc.stdlib cimport qsort

from mlcore._ext.svm.bias cimport bias, bias_of, bias_over
from mlcore._ext.svm.descent cimport descent, take_over
from mlcore._ext.svm.optimality cimport violation_of
from mlcore._ext.svm.working_set cimport begin, fill_submatrix, run

cdef enum:
    ROUNDS = 50
    PROBES = 256  # variables of the kernel density that the start is chosen by


cdef struct ranked:
    double rank
    int64_t slot


def solve_problem(const floating[:, ::1] K, const floating[::1] diagonal,
                  const int64_t[::1] index, const int8_t[::1] group,
                  const double[::1] linear, const double[::1] lower, const double[::1] upper,
                  double epsilon, const double[::1] total, double tol, bint exact,
                  int64_t max_steps, double[::1] beta,
                  double[::1] gradient, floating[:, ::1] submatrix, floating[:, ::1] face,
                  floating[::1] single, double[::1] wide, int64_t[::1] integers,
                  int8_t[::1] marks, /):
    """Solve one problem to `tol`, or `exact`ly; returns (violation, steps).

    The start is `beta`, or a start with the required sums of the groups if `total` holds them.

    `index` (m,) are the rows of K of the variables; if empty these are all rows in order, with
    group 1 after group 0, and K itself is worked on. `gradient` receives
    K beta + linear. Scratch for slots, each group padded to whole LINEs: `submatrix` slots² with an
    `index`, `face` of any size, `single` 4, `wide` WIDE, `integers` 4 and `marks` 3 for each slot.
    """
    cdef small_problem p
    cdef bint entire = index.shape[0] == 0
    cdef Py_ssize_t m = beta.shape[0], padded = wide.shape[0] // WIDE, t
    cdef int64_t* variables = &integers[2 * padded]  # of the slots, -1 for none
    with nogil:
        lay_out(&p, padded, &wide[0], &integers[0], &marks[0])
        p.size = m if entire else padded
        p.second = take_slots(m, &group[0], entire, p.size, variables)
        p.epsilon, p.single, p.face, p.room = epsilon, &single[0], &face[0, 0], face.shape[0]
        for t in range(p.size):
            p.group[t] = t >= p.second
            if variables[t] < 0:
                p.beta[t] = p.linear[t] = p.lower[t] = p.upper[t] = 0
            else:
                p.beta[t], p.linear[t] = beta[variables[t]], linear[variables[t]]
                p.lower[t], p.upper[t] = lower[variables[t]], upper[variables[t]]
        if entire:
            p.stride, p.diagonal = K.shape[1], <void*> &diagonal[0]
            begin_and_solve(&p, &K[0, 0], total, tol, exact, max_steps)
        else:
            take_submatrix(&K[0, 0], K.shape[1], &diagonal[0], &index[0], padded, variables,
                           &integers[3 * padded], &submatrix[0, 0], &single[3 * padded])
            p.stride, p.diagonal = padded, &single[3 * padded]
            begin_and_solve(&p, &submatrix[0, 0], total, tol, exact, max_steps)
        round_to_bounds(&p)
        for t in range(p.size):
            if variables[t] >= 0:
                beta[variables[t]] = p.beta[t]
                gradient[variables[t]] = p.product[t] + p.linear[t]
    return p.violation, p.steps


cdef Py_ssize_t take_slots(Py_ssize_t m, const int8_t* group, bint entire, Py_ssize_t size,
                           int64_t* variables) noexcept nogil:
    """Assign slots to the variables of group 0, then 1; return the first slot of group 1."""
    cdef Py_ssize_t t, slot = 0, second = size
    cdef int wanted
    for wanted in range(2):
        for t in range(m):
            if group[t] == wanted:
                if wanted == 1:
                    second = min(second, slot)
                variables[slot] = t
                slot += 1
        while slot < size and not entire and slot % LINE != 0:
            variables[slot] = -1
            slot += 1
    return second


cdef void take_submatrix(const floating* K, Py_ssize_t stride, const floating* diagonal,
                         const int64_t* index, Py_ssize_t size, const int64_t* variables,
                         int64_t* samples, floating* submatrix,
                         floating* slot_diagonal) noexcept nogil:
    cdef Py_ssize_t t
    for t in range(size):  # slots of no variable are copied too, unused
        samples[t] = index[max(variables[t], 0)]
        slot_diagonal[t] = diagonal[samples[t]]
    fill_submatrix(K, stride, size, samples, size, submatrix)


cdef void begin_and_solve(small_problem* p, const floating* submatrix, const double[::1] total,
                          double tol, bint exact, int64_t max_steps) noexcept nogil:
    cdef double sums[2]
    if total.shape[0] > 0:
        sums[0], sums[1] = total[0], total[1] if total.shape[0] > 1 else 0.0
        start_with_sums(p, submatrix, sums)
    else:
        begin_at(p, submatrix, p.beta)
    solve(p, submatrix, tol, exact, max_steps)


cdef void begin_at(small_problem* p, const floating* submatrix,
                   const double* values) noexcept nogil:
    cdef Py_ssize_t t
    for t in range(p.size):
        p.trial[t], p.beta[t], p.product[t] = values[t], 0, 0
    adopt(p, submatrix, p.trial)


cdef void start_with_sums(small_problem* p, const floating* submatrix,
                          const double* total) noexcept nogil:
    """Start as `start_with_sums` of mlcore.svm.smo does, the density being of some variables."""
    cdef ranked* order = <ranked*> p.wide
    cdef double left[2]
    cdef bint plain = True
    cdef Py_ssize_t t, r, step = (p.size + PROBES - 1) // PROBES
    for t in range(p.size):
        plain = plain and p.linear[t] == 0
    if plain:
        for t in range(p.size):
            p.kept[t] = sign_of(p, t) if t % step == 0 and p.upper[t] > p.lower[t] else 0
        begin_at(p, submatrix, p.kept)
    for t in range(p.size):
        order[t].rank, order[t].slot = sign_of(p, t) * (p.product[t] if plain else p.linear[t]), t
        p.kept[t] = 0
    qsort(order, p.size, sizeof(ranked), by_rank)
    left[0], left[1] = total[0], total[1]
    for r in range(p.size):
        t = order[r].slot
        p.kept[t] = left_in_box(p, t, left[p.group[t]])
        left[p.group[t]] -= p.kept[t]
    begin_at(p, submatrix, p.kept)


cdef inline double sign_of(const small_problem* p, Py_ssize_t t) noexcept nogil:
    return 1.0 if p.upper[t] > 0 else -1.0


cdef inline double left_in_box(const small_problem* p, Py_ssize_t t, double left) noexcept nogil:
    return min(left, p.upper[t]) if left > 0 else max(left, p.lower[t])


cdef int by_rank(const void* a, const void* b) noexcept nogil:
    cdef const ranked* p = <const ranked*> a
    cdef const ranked* q = <const ranked*> b
    if p.rank == q.rank:
        return (p.slot > q.slot) - (p.slot < q.slot)
    return (p.rank > q.rank) - (p.rank < q.rank)


cdef void lay_out(small_problem* p, Py_ssize_t padded, double* wide, int64_t* slots,
                  int8_t* marks) noexcept nogil:
    """Divide `wide`, `slots` (2 padded) and `marks` (3 padded) into the arrays of the problem."""
    p.padded, p.slots, p.marks, p.group = padded, slots, marks, marks + 2 * padded
    p.beta, p.product, p.linear = wide, wide + padded, wide + 2 * padded
    p.lower, p.upper, p.trial = wide + 3 * padded, wide + 4 * padded, wide + 5 * padded
    p.kept, p.gradient, p.wide = wide + 6 * padded, wide + 7 * padded, wide + 8 * padded


cdef void solve(small_problem* p, const floating* submatrix, double tol, bint exact,
                int64_t max_steps) noexcept nogil:
    """Solve to `tol`, or with `exact` as far as rounding allows, and find the multipliers."""
    cdef double size = 1
    cdef Py_ssize_t t
    p.steps = settle(p, submatrix, tol, max_steps, False)
    p.violation = violation(p)
    if exact and p.violation <= tol:
        for t in range(p.size):
            size = max(size, fabs(p.product[t] + p.linear[t]))
        refine(p, submatrix, min(tol, 1e-12 * size))
    find_multipliers(p)


cdef void refine(small_problem* p, const floating* submatrix, double tol) noexcept nogil:
    """Solve to a smaller `tol`; restore the previous solution if the new one is worse."""
    cdef double before = p.violation
    cdef Py_ssize_t t
    for t in range(p.size):
        p.kept[t] = p.beta[t]
    p.steps += settle(p, submatrix, tol, 100 * p.size, True)
    p.violation = violation(p)
    if p.violation > before:
        adopt(p, submatrix, p.kept)
        p.violation = violation(p)
    find_multipliers(p)


cdef void find_multipliers(small_problem* p) noexcept nogil:
    cdef bias found
    cdef int8_t g
    for g in range(2):
        found = bias_over(p.size, p.product, p.linear, p.beta, p.lower, p.upper, p.epsilon,
                          p.group, g)
        p.multiplier[g] = bias_of(&found)


cdef double violation(const small_problem* p) noexcept nogil:
    return violation_of(p.size, p.linear, p.lower, p.upper, p.epsilon, p.group, p.beta, p.product)


cdef int64_t settle(small_problem* p, const floating* submatrix, double tol, int64_t max_steps,
                    bint face_first) noexcept nogil:
    """Make pair steps and faces until the violation is at most `tol`; return their number."""
    cdef descent d
    cdef Py_ssize_t t
    cdef int64_t spent = 0
    cdef int left = ROUNDS
    d.s.n_spans = 1 if p.second >= p.size else 2
    d.s.begin[0], d.s.end[0], d.s.group[0] = 0, min(p.second, p.size), 0
    d.s.begin[1], d.s.end[1], d.s.group[1] = p.second, p.size, 1
    d.s.K, d.s.stride, d.s.diagonal, d.s.epsilon = submatrix, p.stride, p.diagonal, p.epsilon
    d.s.G = p.single
    d.s.up, d.s.low = <floating*> p.single + p.padded, <floating*> p.single + 2 * p.padded
    d.s.beta, d.s.lower, d.s.upper = p.trial, p.lower, p.upper
    d.G, d.wide, d.slots, d.marks = p.gradient, p.wide, p.slots, p.marks
    d.n, d.tol, d.n_threads = p.padded, 0.4 * tol, 1
    d.H, d.room, d.limit = p.face, p.room, p.room
    while left > 0 and violation(p) > tol and spent < max_steps:
        left -= 1
        for t in range(p.size):
            p.trial[t] = p.beta[t]
            p.gradient[t] = p.product[t] + p.linear[t]
        d.left = max_steps - spent
        begin(&d, face_first, 0.5)  # the submatrix is in cache: a face costs little
        run(&d, submatrix)
        spent += d.made
        if adopt(p, submatrix, p.trial) == 0:
            break
    return spent


cdef int64_t adopt(small_problem* p, const floating* submatrix,
                   const double* values) noexcept nogil:
    """Take these multipliers, update the product, and return the number that changed."""
    return take_over(p.size, NULL, values, p.beta, p.slots, p.wide, submatrix, p.stride, p.size,
                     p.product)


cdef void round_to_bounds(small_problem* p) noexcept nogil:
    """As `mlcore.svm.smo.bias.round_to_bounds`, for the result; the product stays as it is."""
    cdef double rounding = 0
    cdef Py_ssize_t t
    for t in range(p.size):
        rounding = max(rounding, fabs(p.beta[t]))
    rounding *= 1e-12
    for t in range(p.size):
        if fabs(p.upper[t] - p.beta[t]) <= rounding:
            p.beta[t] = p.upper[t]
        if fabs(p.beta[t] - p.lower[t]) <= rounding:
            p.beta[t] = p.lower[t]
        if fabs(p.beta[t]) <= rounding:
            p.beta[t] = 0
