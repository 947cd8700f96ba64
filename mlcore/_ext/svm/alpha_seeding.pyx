"""Hot loops of mlcore.svm.cross_validation.alpha_seeding: a binary problem and its folds.

Row 0 of `beta`, `product` = beta K, `lower` and `upper` belongs to the problem on all m samples,
every other row to a fold, where held-out samples have bounds of 0; beta sums to 0. The bounds of a
sample are 0 and one that is not; `linear` is minus the sign of its class. Arrays are C order,
checked by the caller; `diagonal` is K's.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int8_t, int64_t

from mlcore._ext.svm.bias cimport bias, bias_of, bias_over
from mlcore._ext.svm.descent cimport DEFAULT_WAIT, descent, take_over
from mlcore._ext.svm.feasible_start cimport balance
from mlcore._ext.kernels.gram_rows cimport add_product
from mlcore._ext.svm.optimality cimport up_value, low_value
from mlcore._ext.svm.working_set cimport begin, fill_submatrix, run

cdef enum:
    LINE = 16
    ENTIRE = 640      # up to so many variables, K itself is worked on
    LEAST = 256       # variables of the smallest working set
    EARLY = 8         # rounds of row 0 in which far too many variables are free:
    EARLY_MOST = 512  # variables of a working set then
    HALVINGS = 16


cdef packed struct outcome:  # of a row: OUTCOME in mlcore.svm.cross_validation.alpha_seeding
    int64_t steps
    double violation, multiplier


cdef struct extremes:
    double top, bottom       # the maximum over I_up, the minimum over I_low
    Py_ssize_t up, low       # their variables, the worst violating pair
    Py_ssize_t free


def seed(const floating[:, ::1] K, const double[:, ::1] lower, const double[:, ::1] upper,
         double ratio, double[:, ::1] beta, double[:, ::1] product, int64_t[:, ::1] slots,
         double[:, ::1] change, int n_threads, /):
    """Start the folds from the solution of row 0.

    A fold whose solution has no variable at its old bound, `ratio` times the new one, keeps it,
    because it solves the problem for all larger bounds. `slots` and `change` are scratch,
    (n_threads, m).
    """
    cdef Py_ssize_t r
    cdef int thread
    for r in prange(1, beta.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        if not inside_bounds(beta.shape[1], &lower[r, 0], &upper[r, 0], ratio, &beta[r, 0]):
            thread = threadid()
            seed_row(K, &lower[r, 0], &upper[r, 0], &beta[0, 0], &product[0, 0], &beta[r, 0],
                     &product[r, 0], &slots[thread, 0], &change[thread, 0])


cdef bint inside_bounds(Py_ssize_t m, const double* lower, const double* upper, double ratio,
                        const double* beta) noexcept nogil:
    """True if no variable is at `ratio` times its bound that is not 0."""
    cdef Py_ssize_t t
    for t in range(m):
        if (upper[t] > 0 and beta[t] >= ratio * upper[t]
                or lower[t] < 0 and beta[t] <= ratio * lower[t]):
            return False
    return True


cdef void seed_row(const floating[:, ::1] K, const double* lower, const double* upper,
                   const double* beta0, const double* product0, double* beta, double* product,
                   int64_t* slots, double* change) noexcept nogil:
    cdef Py_ssize_t m = K.shape[0], t
    cdef int64_t count = 0
    cdef double excess = 0
    for t in range(m):
        beta[t] = min(max(beta0[t], lower[t]), upper[t])
        product[t] = product0[t]
        excess += beta[t]
    balance(m, beta, lower, upper, excess)
    for t in range(m):
        if beta[t] != beta0[t]:
            slots[count], change[count] = t, beta[t] - beta0[t]
            count += 1
    add_product(count, slots, change, &K[0, 0], K.shape[1], 0, m, product, 1)


def settle(const floating[:, ::1] K, const floating[::1] diagonal, const double[::1] linear,
           const double[:, ::1] lower, const double[:, ::1] upper, double[:, ::1] beta,
           double[:, ::1] product, Py_ssize_t first, Py_ssize_t last, double tol,
           int64_t max_steps, double unopposed, outcome[::1] outcomes,
           floating[:, ::1] submatrices, floating[:, ::1] single, double[:, ::1] wide,
           int64_t[:, ::1] integers, int8_t[:, ::1] marks, floating[:, ::1] faces, int n_threads,
           /):
    """Bring rows first..last to a violation of `tol`, each in at most `max_steps` pair steps.

    `outcomes` receives the result of each row; its multiplier is that of the sum, +-`unopposed`
    where only one class is left. Scratch for each thread: `submatrices` and `faces` of some number
    squared, the side; `single` 4, `wide` 10, `integers` 4 and `marks` 2 for each variable, rounded
    up to LINE.
    """
    cdef Py_ssize_t r, side = <Py_ssize_t> sqrt(<double> submatrices.shape[1]) - LINE
    cdef Py_ssize_t room = <Py_ssize_t> sqrt(<double> faces.shape[1])
    cdef int thread
    for r in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic"):
        thread = threadid()
        settle_row(
            K, diagonal, &linear[0], &lower[r, 0], &upper[r, 0], &beta[r, 0], &product[r, 0], tol,
            max_steps, unopposed, &submatrices[thread, 0], side, &single[thread, 0],
            &wide[thread, 0], &integers[thread, 0], &marks[thread, 0], &faces[thread, 0], room,
            r == 0, &outcomes[r])


cdef void settle_row(const floating[:, ::1] K, const floating[::1] diagonal,
                     const double* linear, const double* lower, const double* upper,
                     double* beta, double* product, double tol, int64_t max_steps,
                     double unopposed, floating* submatrix, Py_ssize_t side, floating* single,
                     double* wide, int64_t* chosen, int8_t* marks, floating* face,
                     Py_ssize_t room_of_face, bint limits_early, outcome* result) noexcept nogil:
    cdef Py_ssize_t m = K.shape[0], room, count, t
    cdef int64_t spent = 0, allowed, moved
    cdef int64_t* slots = chosen + (m + LINE - 1) // LINE * LINE
    cdef extremes e
    cdef double goal
    cdef bint direct, stuck = False
    cdef int turn = 0
    while True:
        e = find_extremes(m, linear, lower, upper, beta, product)
        result.violation = max(0.0, e.top - e.bottom)
        if result.violation <= tol or spent >= max_steps or stuck:
            result.steps = spent
            result.multiplier = find_multiplier(m, linear, lower, upper, beta, product, unopposed)
            return
        room = max(<Py_ssize_t> LEAST, e.free + e.free // 2)
        if turn < EARLY and limits_early:
            room = min(room, <Py_ssize_t> EARLY_MOST)
        direct = m <= ENTIRE or room > min(side, 6 * m // 10)
        allowed, goal = max_steps - spent, 0.8 * tol
        if direct or turn == 0:
            count = m
            for t in range(m):
                chosen[t] = t
            if not direct:  # as many steps as cost about what a submatrix does
                allowed = min(allowed, 8 * room * room // m)
        else:
            goal = max(goal, 0.1 * result.violation)
            count = choose(m, linear, lower, upper, beta, product, e, room, wide, chosen)
        spent += solve_chosen(K, diagonal, linear, lower, upper, beta, product, count, chosen,
                              direct or turn == 0, submatrix, single, wide, slots, marks, face,
                              room_of_face, goal, allowed)
        moved = take_over(count, chosen, wide, beta, slots, wide, &K[0, 0], K.shape[1], m, product)
        stuck = moved == 0 and turn > 0
        turn += 1


cdef extremes find_extremes(Py_ssize_t m, const double* linear, const double* lower,
                            const double* upper, const double* beta,
                            const double* product) noexcept nogil:
    cdef extremes e
    cdef Py_ssize_t t
    cdef double gradient, up, low
    e.top, e.bottom, e.up, e.low, e.free = -INFINITY, INFINITY, 0, 0, 0
    for t in range(m):
        gradient = product[t] + linear[t]
        up = up_value(gradient, beta[t], upper[t], 0)
        low = low_value(gradient, beta[t], lower[t], 0)
        if up > e.top:
            e.top, e.up = up, t
        if low < e.bottom:
            e.bottom, e.low = low, t
        e.free += lower[t] < beta[t] < upper[t]
    return e


cdef double find_multiplier(Py_ssize_t m, const double* linear, const double* lower,
                            const double* upper, const double* beta, const double* product,
                            double unopposed) noexcept nogil:
    """Return the multiplier of the sum."""
    cdef bias found
    cdef bint up = False, down = False
    cdef Py_ssize_t t
    for t in range(m):
        up, down = up or upper[t] > 0, down or lower[t] < 0
    if not (up and down):
        return unopposed * (<double> down - <double> up)
    found = bias_over(m, product, linear, beta, lower, upper, 0, NULL, 0)
    return bias_of(&found)


cdef Py_ssize_t choose(Py_ssize_t m, const double* linear, const double* lower,
                       const double* upper, const double* beta, const double* product, extremes e,
                       Py_ssize_t room, double* score, int64_t* chosen) noexcept nogil:
    """Choose about `room` variables, the free ones and the worst violators; return their number.

    `score` is scratch of m.
    """
    cdef Py_ssize_t t, count = 0, above
    cdef double gap = e.top - e.bottom, middle = 0.5 * (e.top + e.bottom)
    cdef double low = -gap, high = 1.6 * gap, threshold = low, gain
    cdef int halving
    for t in range(m):
        gain = -(product[t] + linear[t]) - middle
        if lower[t] == upper[t]:
            score[t] = -INFINITY
        elif lower[t] < beta[t] < upper[t]:
            score[t] = gap + fabs(gain)
        else:
            score[t] = gain if beta[t] == lower[t] else -gain
    for halving in range(HALVINGS):
        above = 0
        for t in range(m):
            above += score[t] > threshold
        if above <= room:
            if halving == 0:
                break
            high = threshold
            if above > room - room // 8:
                break
        else:
            low = threshold
        threshold = 0.5 * (low + high)
    if halving > 0:
        threshold = high
    score[e.up] = score[e.low] = 2 * gap  # the worst pair, or nothing may move
    for t in range(m):
        if score[t] > threshold:
            chosen[count] = t
            count += 1
    return count


cdef int64_t solve_chosen(const floating[:, ::1] K, const floating[::1] diagonal,
                          const double* linear, const double* lower, const double* upper,
                          const double* beta, const double* product, Py_ssize_t count,
                          const int64_t* chosen, bint entire, floating* submatrix, floating* single,
                          double* wide, int64_t* slots, int8_t* marks, floating* face,
                          Py_ssize_t room_of_face, double tol, int64_t max_steps) noexcept nogil:
    """Descend on the chosen variables, whose new values go to `wide`; return the steps."""
    cdef descent d
    cdef Py_ssize_t padded = (count + LINE - 1) // LINE * LINE, r, t
    cdef floating* own = single + 3 * padded
    cdef double* low = wide + padded
    cdef double* high = wide + 2 * padded
    d.G, d.wide, d.slots, d.marks = wide + 3 * padded, wide + 4 * padded, slots, marks
    for r in range(padded):
        t = chosen[r] if r < count else 0
        wide[r] = beta[t] if r < count else 0.0
        low[r] = lower[t] if r < count else 0.0
        high[r] = upper[t] if r < count else 0.0
        d.G[r] = product[t] + linear[t]
        own[r] = diagonal[t]
    d.s.K, d.s.stride = &K[0, 0], K.shape[1]
    if not entire:
        fill_submatrix(&K[0, 0], K.shape[1], count, chosen, padded, submatrix)
        d.s.K, d.s.stride = submatrix, padded
    d.s.n_spans, d.s.begin[0], d.s.group[0] = 1, 0, 0
    d.s.end[0] = count if entire else padded
    d.s.G, d.s.up, d.s.low, d.s.diagonal = single, single + padded, single + 2 * padded, own
    d.s.beta, d.s.lower, d.s.upper, d.s.epsilon = wide, low, high, 0
    d.n, d.tol, d.left, d.n_threads = padded, tol, max_steps, 1
    d.H, d.room, d.limit = face, room_of_face, room_of_face
    begin(&d, False, DEFAULT_WAIT)
    run(&d, <const floating*> d.s.K)
    return d.made


def decide(const floating[:, ::1] K, const int64_t[::1] samples, const double[:, ::1] beta,
           const double[:] multiplier, const int64_t[:, ::1] spans, int64_t[::1] slots,
           double[::1] change, double[:, ::1] out, /):
    """out[r, a:b] = sum_t beta[r, t] K[samples[t], a:b] - multiplier[r], (r, a, b) being `spans`.

    `spans` are sorted by r; `slots` and `change` are scratch of m.
    """
    cdef Py_ssize_t p, t, r, row = -1
    cdef int64_t count = 0
    with nogil:
        for p in range(spans.shape[0]):
            r = spans[p, 0]
            if r != row:
                row, count = r, 0
                for t in range(samples.shape[0]):
                    if beta[r, t] != 0:
                        slots[count], change[count] = samples[t], beta[r, t]
                        count += 1
            for t in range(spans[p, 1], spans[p, 2]):
                out[r, t] = -multiplier[r]
            add_product(count, &slots[0], &change[0], &K[0, 0], K.shape[1], spans[p, 1],
                        spans[p, 2], &out[r, 0], 1)
