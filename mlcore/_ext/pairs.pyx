"""Hot loop of mlcore.svm.pairs: the problems of many pairs of small classes, with their evidence.

Each problem has a square of K of its own, small enough for the nearest caches, and so have those
of its folds, which begin at the solution on all samples of the pair.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t, int64_t

from mlcore._ext.bias cimport bias, bias_begin, bias_of, bias_take
from mlcore._ext.descent cimport GOES_ON, descent
from mlcore._ext.row_store cimport add_product
from mlcore._ext.working_set cimport advance_d, advance_f, begin, fill_square

cdef enum:
    LINE = 16
    ROUNDS = 50
    WIDE = 14        # vectors of doubles for each problem
    FIGURES = 8      # found for each pair

cdef double UNOPPOSED = 1e100  # decision value where a fold leaves only one class


cdef struct problem:
    Py_ssize_t m, padded  # variables, and slots
    double* beta
    double* product       # K beta
    double* sign
    double* lower
    double* upper
    double* now           # beta of the descent
    double* kept          # beta before a refinement
    double* gradient
    double* wide          # scratch of the descent, 6 padded
    int64_t* members      # samples of the slots
    int64_t* slots        # 2 padded
    int8_t* marks         # 2 padded
    void* square          # K, padded²
    void* face            # scratch, room²
    void* single          # 3 padded
    void* diagonal
    Py_ssize_t room
    double violation, level
    int64_t steps


def solve_pairs(const floating[:, ::1] K, const floating[::1] diagonal, const int64_t[::1] order,
                const int64_t[::1] starts, const int64_t[:, ::1] pairs, const double[::1] cost,
                const int64_t[::1] fold, int n_folds, double tol, bint exact, int64_t max_steps,
                double[:, ::1] dual_coef, double[:, ::1] held_out, double[:, ::1] figures,
                floating[:, ::1] squares, floating[:, ::1] faces, floating[:, ::1] single,
                double[:, ::1] wide, int64_t[:, ::1] whole, int8_t[:, ::1] marks,
                Py_ssize_t room, int n_threads):
    """Solve the problem of each of `pairs` (positive, negative class), to `tol` or `exact`ly.

    Samples of class c are order[starts[c]:starts[c + 1]]; `fold` is where each sample is held out.
    `dual_coef` (k - 1, n) and `held_out`, decision values, are in LIBSVM's layout. `figures` are
    (dual, primal, KKT violation, |w|², level, steps, violation, largest violation of the folds).
    Scratch for each thread: `squares` padded², `faces` room², `single` 4, `wide` WIDE, `whole` 3
    and `marks` 2 for each slot.
    """
    cdef Py_ssize_t p
    cdef int thread
    for p in prange(pairs.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        thread = threadid()
        solve_pair(&K[0, 0], K.shape[1], &diagonal[0], &order[0], &starts[0], pairs[p, 0],
                   pairs[p, 1], &cost[0], &fold[0], n_folds, tol, exact, max_steps, dual_coef,
                   held_out, &figures[p, 0], &squares[thread, 0], &faces[thread, 0],
                   &single[thread, 0], &wide[thread, 0], &whole[thread, 0], &marks[thread, 0],
                   room)


cdef void solve_pair(const floating* K, Py_ssize_t stride, const floating* diagonal,
                     const int64_t* order, const int64_t* starts, int64_t positive,
                     int64_t negative, const double* cost, const int64_t* fold, int n_folds,
                     double tol, bint exact, int64_t max_steps, double[:, ::1] dual_coef,
                     double[:, ::1] held_out, double* figures, floating* square, floating* face,
                     floating* single, double* wide, int64_t* whole, int8_t* marks,
                     Py_ssize_t room) noexcept nogil:
    cdef problem own
    cdef Py_ssize_t t, s, first = starts[positive + 1] - starts[positive], f
    cdef Py_ssize_t m = first + starts[negative + 1] - starts[negative]
    cdef Py_ssize_t padded = (m + LINE - 1) // LINE * LINE
    cdef floating* of_slots = single + 3 * padded
    own.m, own.padded, own.room = m, padded, min(room, padded)
    own.beta, own.product, own.sign = wide, wide + padded, wide + 2 * padded
    own.lower, own.upper, own.now = wide + 3 * padded, wide + 4 * padded, wide + 5 * padded
    own.kept, own.gradient, own.wide = wide + 6 * padded, wide + 7 * padded, wide + 8 * padded
    own.members, own.slots, own.marks = whole, whole + padded, marks
    own.square, own.face, own.single, own.diagonal = square, face, single, of_slots
    for t in range(padded):
        s = order[starts[positive] + t if t < first else starts[negative] + t - first] \
            if t < m else order[0]
        own.members[t] = s
        own.sign[t] = (1.0 if t < first else -1.0) if t < m else 0.0
        own.beta[t] = own.product[t] = 0
        of_slots[t] = diagonal[s]
        set_box(&own, t, cost[s])
    fill_square(K, stride, m, own.members, padded, square)
    solve(&own, square, tol, exact, max_steps)
    figures[6] = own.violation
    round_to_bounds(&own)
    evidence(&own, figures)
    for t in range(m):
        dual_coef[row_of(positive, negative, t < first), own.members[t]] = own.beta[t]
    figures[7] = 0
    for f in range(n_folds):
        begin_fold(&own, square, cost, fold, f, dual_coef, row_of(positive, negative, True),
                   row_of(positive, negative, False))
        solve(&own, square, tol, exact, max_steps)
        figures[7] = max(figures[7], own.violation)
        for t in range(m):
            if fold[own.members[t]] == f:
                s = row_of(positive, negative, t < first)
                held_out[s, own.members[t]] = (own.product[t] - own.level
                                               if fabs(own.level) < UNOPPOSED else -own.level)


cdef inline int64_t row_of(int64_t positive, int64_t negative, bint first) noexcept nogil:
    """The row of LIBSVM's layout for the duals of one class against the other."""
    cdef int64_t other = negative if first else positive
    return other - (other > (positive if first else negative))


cdef inline void set_box(problem* p, Py_ssize_t t, double cost) noexcept nogil:
    p.lower[t] = -cost if p.sign[t] < 0 else 0.0
    p.upper[t] = cost if p.sign[t] > 0 else 0.0


cdef void begin_fold(problem* p, const floating* square, const double* cost, const int64_t* fold,
                     Py_ssize_t wanted, double[:, ::1] dual_coef, int64_t row,
                     int64_t other_row) noexcept nogil:
    """Boxes without the samples held out, and a start in them near the solution on all."""
    cdef Py_ssize_t t, s, turn
    cdef double excess = 0, take, before
    cdef int64_t count = 0
    for t in range(p.m):
        s = p.members[t]
        set_box(p, t, 0.0 if fold[s] == wanted else cost[s])
        p.kept[t] = p.beta[t]
        before = dual_coef[row if p.sign[t] > 0 else other_row, s]
        p.beta[t] = min(max(before, p.lower[t]), p.upper[t])
        excess += p.beta[t]
    # What one side has too much is taken from its free variables first: bounds are often right.
    for turn in range(2):
        for t in range(p.m):
            if excess * p.beta[t] > 0 and (
                    turn == 1 or p.lower[t] < p.beta[t] < p.upper[t]):
                take = min(fabs(p.beta[t]), fabs(excess)) * (1.0 if excess > 0 else -1.0)
                p.beta[t] -= take
                excess -= take
    for t in range(p.m):
        if p.beta[t] != p.kept[t]:
            p.slots[count], p.wide[count] = t, p.beta[t] - p.kept[t]
            count += 1
    add_product(count, p.slots, p.wide, square, p.padded, 0, p.padded, p.product, 1)


cdef void solve(problem* p, const floating* square, double tol, bint exact,
                int64_t max_steps) noexcept nogil:
    """To `tol`, then as far as rounding lets `exact` go; the level is that of the solution."""
    cdef bias b
    cdef bint up = False, down = False
    cdef double size = 1, before
    cdef Py_ssize_t t
    p.steps = settle(p, square, tol, max_steps)
    p.violation = violation_of(p)
    if exact and p.violation <= tol:
        for t in range(p.m):
            size = max(size, fabs(p.product[t] - p.sign[t]))
            p.kept[t] = p.beta[t]
        before = p.violation
        p.steps += settle(p, square, min(tol, 1e-12 * size), 100 * p.m)
        p.violation = violation_of(p)
        if p.violation > before:
            take_over(p, square, p.kept)
            p.violation = violation_of(p)
    b = bias_begin(p.m, p.beta, NULL, 0)
    for t in range(p.m):
        if p.upper[t] > p.lower[t]:
            up, down = up or p.sign[t] > 0, down or p.sign[t] < 0
            bias_take(&b, p.product[t] - p.sign[t], p.beta[t], p.lower[t], p.upper[t], 0)
    p.level = bias_of(&b) if up and down else UNOPPOSED * (<double> down - <double> up)


cdef double violation_of(const problem* p) noexcept nogil:
    cdef double top = -INFINITY, bottom = INFINITY, gain
    cdef Py_ssize_t t
    for t in range(p.m):
        gain = p.sign[t] - p.product[t]
        if p.beta[t] < p.upper[t]:
            top = max(top, gain)
        if p.beta[t] > p.lower[t]:
            bottom = min(bottom, gain)
    return max(0.0, top - bottom)


cdef int64_t settle(problem* p, const floating* square, double tol,
                    int64_t max_steps) noexcept nogil:
    """Pair steps and faces until the violation is at most `tol`; their number."""
    cdef descent d
    cdef Py_ssize_t t
    cdef int64_t spent = 0
    cdef int left = ROUNDS
    d.s.n_spans, d.s.begin[0], d.s.end[0], d.s.group[0] = 1, 0, p.padded, 0
    d.s.K, d.s.stride, d.s.diagonal, d.s.epsilon = square, p.padded, p.diagonal, 0
    d.s.G = p.single
    d.s.up, d.s.low = <floating*> p.single + p.padded, <floating*> p.single + 2 * p.padded
    d.s.beta, d.s.lower, d.s.upper = p.now, p.lower, p.upper
    d.G, d.wide, d.slots, d.marks = p.gradient, p.wide, p.slots, p.marks
    d.n, d.tol, d.n_threads = p.padded, 0.4 * tol, 1
    d.H, d.room, d.limit = p.face, p.room, p.room
    while left > 0 and violation_of(p) > tol and spent < max_steps:
        left -= 1
        for t in range(p.padded):
            p.now[t] = p.beta[t]
            p.gradient[t] = p.product[t] - p.sign[t]
        d.left = max_steps - spent
        begin(&d)
        if floating is float:
            while advance_f(&d) == GOES_ON:
                pass
        else:
            while advance_d(&d) == GOES_ON:
                pass
        spent += d.made
        if take_over(p, square, p.now) == 0:
            break
    return spent


cdef int64_t take_over(problem* p, const floating* square, const double* values) noexcept nogil:
    """Make these the multipliers, and the product theirs; how many changed."""
    cdef int64_t count = 0
    cdef Py_ssize_t t
    for t in range(p.m):
        if values[t] != p.beta[t]:
            p.slots[count], p.wide[count] = t, values[t] - p.beta[t]
            p.beta[t] = values[t]
            count += 1
    add_product(count, p.slots, p.wide, square, p.padded, 0, p.padded, p.product, 1)
    return count


cdef void evidence(const problem* p, double* figures) noexcept nogil:
    """As `mlcore.svm.evidence.measure`."""
    cdef double squared_norm = 0, linear = 0, slacks = 0, rate
    cdef Py_ssize_t t
    for t in range(p.m):
        squared_norm += p.beta[t] * p.product[t]
        linear += p.sign[t] * p.beta[t]
        rate = p.level - (p.product[t] - p.sign[t])
        slacks += p.upper[t] * max(rate, 0.0) - p.lower[t] * max(-rate, 0.0)
    figures[0] = linear - 0.5 * squared_norm
    figures[1] = 0.5 * squared_norm + slacks
    figures[2] = violation_of(p)
    figures[3], figures[4], figures[5] = squared_norm, p.level, <double> p.steps


cdef void round_to_bounds(problem* p) noexcept nogil:
    """As `mlcore.svm.bias.round_to_bounds`, for the result; the product stays as it is."""
    cdef double rounding = 0
    cdef Py_ssize_t t
    for t in range(p.m):
        rounding = max(rounding, fabs(p.beta[t]))
    rounding *= 1e-12
    for t in range(p.m):
        if p.upper[t] - p.beta[t] <= rounding:
            p.beta[t] = p.upper[t]
        if p.beta[t] - p.lower[t] <= rounding:
            p.beta[t] = p.lower[t]
