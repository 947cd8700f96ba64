"""The small problem of a working set: pair steps, and Newton steps where they crawl.

On a face, the free variables make a Newton step, all others fixed; those that leave their box are
fixed at its wall and the rest steps again, until none leaves. Near the solution this takes a few
Cholesky factorisations where pair steps crawl. The objective is then minimised along the way from
the start to the point reached: it never rises. Which variables are free is for the pair steps to
find out, to which it returns (Moré and Toraldo, SIAM J. Optim. 1, 1991, with pair steps in place
of projected gradients).
"""
from cpython.exc cimport PyErr_CheckSignals
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int8_t, int64_t
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs, spotrf, spotrs

from mlcore._ext.simd cimport simd_table, smo_working_set

cdef enum:
    CALL_STEPS = 20_000  # pair steps of one advance: some hundredths of a second
    ROUNDS = 6           # of a face: factorisations
    REFINED = 3          # solves with one of them
    SPAN = 2048          # of the gradient: 16 KiB of doubles, half of a small first-level cache
    WORTH = 1_000_000    # operations that pay for waking threads, as in mlcore.threads

cdef double ENDLESS = 1e30  # a step as long as this comes from an open box and a singular matrix


def descend(const floating[:, ::1] K, const floating[::1] diagonal, double[::1] beta,
            double[::1] G, const double[::1] lower, const double[::1] upper, tuple spans,
            double epsilon, double tol, int64_t max_steps, floating[:, ::1] single,
            double[:, ::1] wide, int64_t[:, ::1] slots, int8_t[:, ::1] marks, square,
            int n_threads):
    """Lower 1/2 beta'K beta + q'beta + epsilon |beta|_1 in a box, with the sum of each group fixed.

    At most `max_steps` pair steps, until the violation is at most `tol`. `G` is K beta + q at the
    start. `spans` are up to four (begin, end, group) of slots; slots of no variable have a box
    that is a point. `single` (3, n), `wide` (6, n), `slots` and `marks` (2, n) are scratch;
    `square(f)` returns float64 scratch (f, f). Returns (steps, faces, faces with a whole step),
    where a face is one of the steps.
    """
    cdef descent d
    cdef double[:, ::1] H
    cdef int p
    cdef outcome found
    d.s.n_spans = len(spans)
    for p in range(d.s.n_spans):
        d.s.begin[p], d.s.end[p], d.s.group[p] = spans[p]
    d.s.stride = K.shape[1]
    d.s.K, d.s.diagonal, d.s.epsilon = &K[0, 0], &diagonal[0], epsilon
    d.s.G, d.s.up, d.s.low = &single[0, 0], &single[1, 0], &single[2, 0]
    d.s.beta, d.s.lower, d.s.upper = &beta[0], &lower[0], &upper[0]
    d.G, d.tol, d.left, d.n_threads, d.n = &G[0], tol, max_steps, n_threads, beta.shape[0]
    d.wide, d.slots, d.marks = &wide[0, 0], &slots[0, 0], &marks[0, 0]
    d.H, d.room, d.limit = NULL, 0, d.n
    begin(&d)
    while True:
        with nogil:
            found = advance_f(&d) if floating is float else advance_d(&d)
        PyErr_CheckSignals()
        if found == NEEDS_ROOM:
            d.room = min(d.limit, count_free(&d) * 5 // 4)
            H = square(d.room)
            d.H = &H[0, 0]
        elif found == ENDED:
            return d.made, d.made - (max_steps - d.left), d.whole


cdef void begin(descent* d) noexcept nogil:
    d.made = d.whole = d.since = d.failures = d.rounds = 0


cdef outcome advance_f(descent* d) noexcept nogil:
    return advance(d, <const float*> d.s.K)


cdef outcome advance_d(descent* d) noexcept nogil:
    return advance(d, <const double*> d.s.K)


cdef outcome advance(descent* d, const floating* K) noexcept nogil:
    """Some pair steps, or one round of a face."""
    cdef outcome found
    if d.rounds == 0:
        return pair_steps(d, K)
    found = face_round(d, K)
    if found != ENDED:
        return found
    d.made += 1
    d.rounds = 0
    if line_search(d, K) < 1:
        d.failures += 1
        return GOES_ON
    d.whole += 1
    d.failures = 0
    return ENDED if violation(d, False) <= d.tol else GOES_ON


# ---- pair steps


cdef outcome pair_steps(descent* d, const floating* K) noexcept nogil:
    cdef smo_working_set* s = &d.s
    cdef double* start = d.wide
    cdef floating* G = <floating*> s.G
    cdef floating* up = <floating*> s.up
    cdef floating* low = <floating*> s.low
    cdef Py_ssize_t t, w = 0
    cdef int64_t allowed, made, patience, f = count_free(d)
    cdef int p
    for p in range(s.n_spans):
        w += s.end[p] - s.begin[p]
    # A face is tried once the steps since the last have cost as much as it will.
    patience = max(3 * w, f * f * f // (20 * w)) << min(d.failures, 4)
    allowed = min(CALL_STEPS, d.left)
    if f <= d.limit:
        allowed = max(0, min(allowed, patience - d.since))
    for p in range(s.n_spans):
        for t in range(s.begin[p], s.end[p]):
            start[t] = s.beta[t]
            G[t] = <floating> d.G[t]
            up[t] = <floating> rise_of(s, t, 0.0)
            low[t] = <floating> fall_of(s, t, 0.0)
    if floating is float:
        made = simd_table().f.smo(s, d.tol, allowed)
    else:
        made = simd_table().d.smo(s, d.tol, allowed)
    d.left -= made
    d.made += made
    d.since += made
    if s.violation <= d.tol or made < allowed or d.left <= 0:
        return ENDED
    follow_from(d, K, start)
    if d.since >= patience and f <= d.limit:
        begin_face(d)
    return GOES_ON


cdef inline double rise_of(const smo_working_set* s, Py_ssize_t t, double G) noexcept nogil:
    """Gain of a rise of a variable; -inf where it cannot."""
    if not s.beta[t] < s.upper[t]:
        return -INFINITY
    return -G - (s.epsilon if s.beta[t] >= 0 else -s.epsilon)


cdef inline double fall_of(const smo_working_set* s, Py_ssize_t t, double G) noexcept nogil:
    """Loss of a fall of a variable; inf where it cannot."""
    if not s.beta[t] > s.lower[t]:
        return INFINITY
    return -G - (s.epsilon if s.beta[t] > 0 else -s.epsilon)


cdef inline bint inside(const smo_working_set* s, Py_ssize_t t) noexcept nogil:
    return (s.lower[t] < s.beta[t] < s.upper[t]) and (s.epsilon == 0 or s.beta[t] != 0)


cdef Py_ssize_t count_free(const descent* d) noexcept nogil:
    """Variables inside their box, or in the face in hand."""
    cdef Py_ssize_t t, f = 0
    cdef int p
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.marks[t] != 0 if d.rounds > 0 else inside(&d.s, t):
                f += 1
    return f


cdef void follow(descent* d, const floating* K, int64_t count, const int64_t* slots,
                 const double* change) noexcept nogil:
    """Bring G up to date after beta[slots] += change."""
    cdef Py_ssize_t chunk, first, last
    cdef int p, threads
    if count == 0:
        return
    for p in range(d.s.n_spans):
        first, last = d.s.begin[p], d.s.end[p]
        threads = d.n_threads if count * (last - first) > WORTH else 1
        if threads == 1:
            add_rows(d, K, count, slots, change, first, last)
        else:
            for chunk in prange((last - first + SPAN - 1) // SPAN, num_threads=threads,
                                schedule="static"):
                add_rows(d, K, count, slots, change, first + chunk * SPAN,
                         min(last, first + (chunk + 1) * SPAN))


cdef inline void add_rows(descent* d, const floating* K, int64_t count, const int64_t* slots,
                          const double* change, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    if floating is float:
        simd_table().f.accumulate(count, slots, change, K, d.s.stride, first, last, d.G)
    else:
        simd_table().d.accumulate(count, slots, change, K, d.s.stride, first, last, d.G)


cdef void follow_from(descent* d, const floating* K, const double* start) noexcept nogil:
    """Bring G up to date after beta moved away from `start`."""
    cdef double* change = d.wide + 2 * d.n
    cdef int64_t* moved = d.slots + d.n
    cdef int64_t count = 0
    cdef Py_ssize_t t
    cdef int p
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.s.beta[t] != start[t]:
                moved[count], change[count] = t, d.s.beta[t] - start[t]
                count += 1
    follow(d, K, count, moved, change)


# ---- a face


cdef void begin_face(descent* d) noexcept nogil:
    cdef double* start = d.wide
    cdef double* start_G = d.wide + d.n
    cdef int8_t* free = d.marks
    cdef int8_t* side = d.marks + d.n
    cdef Py_ssize_t t
    cdef int p
    d.rounds, d.since = 1, 0
    d.total[0] = d.total[1] = 0
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            start[t], start_G[t] = d.s.beta[t], d.G[t]
            free[t] = inside(&d.s, t)
            side[t] = 1 if d.s.beta[t] > 0 else -1 if d.s.beta[t] < 0 else 0
            d.total[d.s.group[p]] += d.s.beta[t]


cdef outcome face_round(descent* d, const floating* K) noexcept nogil:
    """A Newton step of the free variables, and their walls; ENDED where none is left to take."""
    cdef int64_t* slots = d.slots
    cdef Py_ssize_t t, f = 0, hits = 0
    cdef int64_t of_group[2]
    cdef int p, _solve
    of_group[0] = of_group[1] = 0
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.marks[t]:
                slots[f] = t
                f += 1
                of_group[d.s.group[p]] += 1
    if d.room < f <= d.limit:
        return NEEDS_ROOM
    if f == 0 or f > d.limit or not factorise(d, K, f):
        return ENDED
    for _solve in range(REFINED):
        if not newton_step(d, K, f, of_group):
            return ENDED
        hits = stop_at_walls(d, K, f)
        if hits > 0 or violation(d, True) <= 0.1 * d.tol:
            break
    d.rounds += 1
    return GOES_ON if hits > 0 and d.rounds <= ROUNDS else ENDED


cdef bint factorise(descent* d, const floating* K, Py_ssize_t f) noexcept nogil:
    """Factorise K between the free variables, in its precision; False where it is not positive."""
    cdef const int64_t* slots = d.slots
    cdef floating* H = <floating*> d.H
    cdef double highest = 0
    cdef int order = <int> f, info = 0, threads = d.n_threads if f * f > WORTH else 1
    cdef Py_ssize_t r
    if threads == 1:
        for r in range(f):
            gather_row(K + slots[r] * d.s.stride, slots, r + 1, H + r * f)
    else:
        for r in prange(f, num_threads=threads, schedule="static", chunksize=16):
            gather_row(K + slots[r] * d.s.stride, slots, r + 1, H + r * f)
    # A proximal term of the size of K's own rounding: repeating the solve removes its effect.
    for r in range(f):
        highest = max(highest, H[r * f + r])
    highest = max(highest, 1e-300) * f * (1.2e-07 if floating is float else 2.3e-16)
    for r in range(f):
        H[r * f + r] += <floating> highest
    # The lower half by rows is the upper half by columns.
    if floating is float:
        spotrf(b"U", &order, H, &order, &info)
    else:
        dpotrf(b"U", &order, H, &order, &info)
    return info == 0


cdef bint newton_step(descent* d, const floating* K, Py_ssize_t f,
                      const int64_t* of_group) noexcept nogil:
    """Move the f free variables to their minimum, all others fixed."""
    cdef const int64_t* slots = d.slots
    cdef double* change = d.wide + 2 * d.n
    cdef floating* x = <floating*> (d.wide + 3 * d.n)  # of -G and of each group's ones
    cdef floating* first = x + f
    cdef floating* second = x + 2 * f
    cdef double missing[2]
    cdef double a[2][2]
    cdef double level[2]
    cdef double determinant
    cdef int order = <int> f, columns = 1, info = 0, p, k, column
    cdef int which[2]  # the group of each column
    cdef Py_ssize_t r = 0, t
    for k in range(2):
        missing[k] = d.total[k]
        if of_group[k] > 0:
            which[columns - 1] = k
            columns += 1
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            missing[d.s.group[p]] -= d.s.beta[t]
            if d.marks[t]:
                x[r] = <floating> -(d.G[t] + d.s.epsilon * d.marks[d.n + t])
                for column in range(columns - 1):
                    first[column * f + r] = 1 if which[column] == d.s.group[p] else 0
                r += 1
    if floating is float:
        spotrs(b"U", &order, &columns, <float*> d.H, &order, x, &order, &info)
    else:
        dpotrs(b"U", &order, &columns, d.H, &order, x, &order, &info)
    # The sums decide the level of G in each group: row by row of A, sum(x + level column).
    a[0][0] = a[0][1] = a[1][0] = a[1][1] = 0
    r = 0
    for p in range(d.s.n_spans):
        k = 0 if d.s.group[p] == which[0] else 1
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.marks[t]:
                missing[d.s.group[p]] -= x[r]
                a[k][0] += first[r]
                if columns == 3:
                    a[k][1] += second[r]
                r += 1
    if columns == 2:
        level[0], level[1] = missing[which[0]] / a[0][0], 0
    else:
        determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0]
        level[0] = (a[1][1] * missing[0] - a[0][1] * missing[1]) / determinant
        level[1] = (a[0][0] * missing[1] - a[1][0] * missing[0]) / determinant
    for r in range(f):
        change[r] = x[r] + level[0] * first[r]
        if columns == 3:
            change[r] += level[1] * second[r]
        if not isfinite(change[r]):
            return False
    for r in range(f):
        d.s.beta[slots[r]] += change[r]
    follow(d, K, f, slots, change)
    return True


cdef inline void gather_row(const floating* row, const int64_t* columns, Py_ssize_t count,
                            floating* out) noexcept nogil:
    cdef Py_ssize_t c
    for c in range(count):
        out[c] = row[columns[c]]


cdef inline void walls(const descent* d, Py_ssize_t t, double* low, double* high) noexcept nogil:
    """Where a free variable must stay: its box, or with epsilon its half of its sign."""
    low[0], high[0] = d.s.lower[t], d.s.upper[t]
    if d.s.epsilon > 0:
        if d.marks[d.n + t] > 0:
            low[0] = 0
        elif d.marks[d.n + t] < 0:
            high[0] = 0


cdef Py_ssize_t stop_at_walls(descent* d, const floating* K, Py_ssize_t f) noexcept nogil:
    """Fix the variables that left their walls there; how many."""
    cdef double* change = d.wide + 2 * d.n
    cdef double* beta = d.s.beta
    cdef int64_t* moved = d.slots + d.n
    cdef int64_t count = 0
    cdef Py_ssize_t r, t, hits = 0
    cdef double low = 0, high = 0, at
    for r in range(f):
        t = d.slots[r]
        walls(d, t, &low, &high)
        if low < beta[t] < high:
            continue
        at = low if beta[t] <= low else high
        d.marks[t] = 0
        hits += 1
        if beta[t] != at:
            moved[count], change[count] = t, at - beta[t]
            count += 1
            beta[t] = at
    follow(d, K, count, moved, change)
    return hits


cdef double violation(const descent* d, bint of_face) noexcept nogil:
    """The largest, of all variables or of those of the face."""
    cdef double most = -INFINITY, top, bottom
    cdef Py_ssize_t t
    cdef int p, k
    for k in range(2):
        top, bottom = -INFINITY, INFINITY
        for p in range(d.s.n_spans):
            if d.s.group[p] == k:
                for t in range(d.s.begin[p], d.s.end[p]):
                    if d.marks[t] or not of_face:
                        top = max(top, rise_of(&d.s, t, d.G[t]))
                        bottom = min(bottom, fall_of(&d.s, t, d.G[t]))
        most = max(most, top - bottom)
    return most


cdef bint balanced(const descent* d) noexcept nogil:
    """Whether each group has its sum, up to the rounding of summing it."""
    cdef double total[2]
    cdef double size[2]
    cdef Py_ssize_t t
    cdef int p, k
    total[0] = total[1] = size[0] = size[1] = 0
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            total[d.s.group[p]] += d.s.beta[t]
            size[d.s.group[p]] += fabs(d.s.beta[t])
    for k in range(2):
        if not fabs(total[k] - d.total[k]) <= 1e-13 * size[k]:
            return False
    return True


cdef double line_search(descent* d, const floating* K) noexcept nogil:
    """Go from the start towards the point reached, made feasible, as far as the objective falls.

    How far: 1 is all the way.
    """
    cdef smo_working_set* s = &d.s
    cdef double* start = d.wide
    cdef double* start_G = d.wide + d.n
    cdef double longest = 0, slope = 0, curve = 0, step, part
    cdef Py_ssize_t t
    cdef int p, k
    cdef bint feasible = balanced(d)
    if not feasible:
        for k in range(2):
            level_group(d, k)
        feasible = balanced(d)
        for p in range(s.n_spans):
            for t in range(s.begin[p], s.end[p]):
                d.G[t] = start_G[t]
        if feasible:
            follow_from(d, K, start)
    for p in range(s.n_spans):
        for t in range(s.begin[p], s.end[p]):
            longest = max(longest, fabs(s.beta[t] - start[t]))
    if not feasible or not longest < ENDLESS:
        for p in range(s.n_spans):
            for t in range(s.begin[p], s.end[p]):
                s.beta[t], d.G[t] = start[t], start_G[t]
        return 0
    # |b| is convex: the chord bounds it, so this model bounds the objective from above.
    for p in range(s.n_spans):
        for t in range(s.begin[p], s.end[p]):
            step = s.beta[t] - start[t]
            slope += start_G[t] * step + s.epsilon * (fabs(s.beta[t]) - fabs(start[t]))
            curve += step * (d.G[t] - start_G[t])
    part = min(1.0, -slope / max(curve, 1e-300)) if slope < 0 else 0.0
    if part == 1:
        return part
    for p in range(s.n_spans):
        for t in range(s.begin[p], s.end[p]):
            d.G[t] = start_G[t] + part * (d.G[t] - start_G[t])
            step = start[t] + part * (s.beta[t] - start[t])
            s.beta[t] = min(max(step, s.lower[t]), s.upper[t])
    return part


cdef void level_group(descent* d, int group) noexcept nogil:
    """Bring a group to its sum by its free variables."""
    cdef double* x = d.wide + 3 * d.n
    cdef int64_t* slots = d.slots
    cdef double rest = d.total[group]
    cdef Py_ssize_t t, f = 0, r
    cdef int p
    for p in range(d.s.n_spans):
        if d.s.group[p] == group:
            for t in range(d.s.begin[p], d.s.end[p]):
                if d.marks[t]:
                    slots[f] = t
                    f += 1
                else:
                    rest -= d.s.beta[t]
    if f == 0:
        return
    for r in range(f):
        t = slots[r]
        x[r], x[d.n + r], x[2 * d.n + r] = d.s.beta[t], d.s.lower[t], d.s.upper[t]
    move_to_sum(f, x, x + d.n, x + 2 * d.n, rest)
    for r in range(f):
        d.s.beta[slots[r]] = x[r]


cdef void move_to_sum(Py_ssize_t n, double* x, const double* low, const double* high,
                      double total) noexcept nogil:
    """x = clip(x + t, low, high) with t such that the sum is `total`, as near as t can bring it."""
    cdef double left = INFINITY, right = -INFINITY, middle, reached
    cdef Py_ssize_t i
    cdef int _halving
    for i in range(n):
        left = min(left, low[i] - x[i])
        right = max(right, high[i] - x[i])
    for _halving in range(200):
        middle = 0.5 * (left + right)
        if not left < middle < right:
            break
        reached = 0
        for i in range(n):
            reached += min(max(x[i] + middle, low[i]), high[i])
        if reached < total:
            left = middle
        else:
            right = middle
    for i in range(n):
        x[i] = min(max(x[i] + right, low[i]), high[i])


def nearest_with_sum(double[::1] x, const double[::1] low, const double[::1] high, double total):
    """Move x within its box by one amount for all, to a sum of `total`, or as near as that goes."""
    move_to_sum(x.shape[0], &x[0], &low[0], &high[0], total)
