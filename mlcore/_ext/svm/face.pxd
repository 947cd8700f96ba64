"""Newton steps on the face of the free variables. Inline, so that no call crosses a module.

All other variables are fixed. Free variables that leave their bounds are fixed there and the rest
steps again, until none leaves: near the solution a few Cholesky factorisations replace very many
pair steps. A line search from the start to the point reached keeps the objective from rising. The
pair steps that follow find which variables are free (Moré and Toraldo, SIAM J. Optim. 1, 1991, with
pair steps in place of projected gradients).
"""
from cython cimport floating
from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int8_t, int64_t

from mlcore._ext.shared.blas cimport cholesky, cholesky_solve
from mlcore._ext.svm.descent cimport (
    ENDED, GOES_ON, NEEDS_ROOM, balanced, descent, inside, outcome, update_gradient,
    update_gradient_from, violation
)
from mlcore._ext.svm.working_set_h cimport smo_working_set

cdef enum:
    ROUNDS = 6   # of a face: factorisations
    REFINED = 3  # solves with one of them


cdef inline void begin_face(descent* d) noexcept nogil:
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


cdef inline outcome face_round(descent* d, const floating* K) noexcept nogil:
    """Make a Newton step of the free variables and fix those that leave their bounds.

    Return GOES_ON if the rest must step again, ENDED if not or if no step is possible.
    """
    cdef Py_ssize_t t, f = 0, hits = 0
    cdef int64_t of_group[2]
    cdef int p, _solve
    of_group[0] = of_group[1] = 0
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.marks[t]:
                d.slots[f] = t
                f += 1
                of_group[d.s.group[p]] += 1
    if d.room < f <= d.limit:
        return NEEDS_ROOM
    if f == 0 or f > d.limit or not factorise(d, K, f):
        return ENDED
    for _solve in range(REFINED):
        if not newton_step(d, K, f, of_group):
            return ENDED
        hits = stop_at_bounds(d, K, f)
        if hits > 0 or violation(d, True) <= 0.1 * d.tol:
            break
    d.rounds += 1
    return GOES_ON if hits > 0 and d.rounds <= ROUNDS else ENDED


cdef inline bint factorise(descent* d, const floating* K, Py_ssize_t f) noexcept nogil:
    """Factorise K between the free variables; False where it is not positive definite."""
    cdef const int64_t* slots = d.slots
    cdef floating* H = <floating*> d.H
    cdef double highest = 0
    cdef const floating* row
    cdef Py_ssize_t r, c
    for r in range(f):
        row = K + slots[r] * d.s.stride
        for c in range(r + 1):
            H[r * f + c] = row[slots[c]]
    # A proximal term of the size of K's own rounding: repeating the solve removes its effect.
    for r in range(f):
        highest = max(highest, H[r * f + r])
    highest = max(highest, 1e-300) * f * (1.2e-07 if floating is float else 2.3e-16)
    for r in range(f):
        H[r * f + r] += <floating> highest
    return cholesky(<int> f, H, <int> f)


cdef inline bint newton_step(descent* d, const floating* K, Py_ssize_t f,
                             const int64_t* of_group) noexcept nogil:
    """Move the f free variables to their minimum, all others fixed."""
    cdef const int64_t* slots = d.slots
    cdef double* change = d.wide + 2 * d.n
    cdef floating* x = <floating*> (d.wide + 3 * d.n)  # of -G and of each group's ones
    cdef floating* first = x + f
    cdef floating* second = x + 2 * f
    cdef double missing[2]
    cdef double a[2][2]
    cdef double multiplier[2]
    cdef double determinant
    cdef int columns = 1, p, k, column
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
    cholesky_solve(<int> f, columns, <const floating*> d.H, x)
    # The required sum of each group decides its multiplier: sum(x + multiplier column).
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
        multiplier[0], multiplier[1] = missing[which[0]] / a[0][0], 0
    else:
        determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0]
        multiplier[0] = (a[1][1] * missing[0] - a[0][1] * missing[1]) / determinant
        multiplier[1] = (a[0][0] * missing[1] - a[1][0] * missing[0]) / determinant
    for r in range(f):
        change[r] = x[r] + multiplier[0] * first[r]
        if columns == 3:
            change[r] += multiplier[1] * second[r]
        if not isfinite(change[r]):
            return False
    for r in range(f):
        d.s.beta[slots[r]] += change[r]
    update_gradient(d, K, f, slots, change)
    return True


cdef inline void bounds_of_face(const descent* d, Py_ssize_t t, double* low,
                                double* high) noexcept nogil:
    """Bounds of a free variable: its own, or with epsilon those of its sign."""
    low[0], high[0] = d.s.lower[t], d.s.upper[t]
    if d.s.epsilon > 0:
        if d.marks[d.n + t] > 0:
            low[0] = 0
        elif d.marks[d.n + t] < 0:
            high[0] = 0


cdef inline Py_ssize_t stop_at_bounds(descent* d, const floating* K, Py_ssize_t f) noexcept nogil:
    """Fix variables that left their bounds at the bounds; return their number."""
    cdef double* change = d.wide + 2 * d.n
    cdef double* beta = d.s.beta
    cdef int64_t* moved = d.slots + d.n
    cdef int64_t count = 0
    cdef Py_ssize_t r, t, hits = 0
    cdef double low = 0, high = 0, at
    for r in range(f):
        t = d.slots[r]
        bounds_of_face(d, t, &low, &high)
        if low < beta[t] < high:
            continue
        at = low if beta[t] <= low else high
        d.marks[t] = 0
        hits += 1
        if beta[t] != at:
            moved[count], change[count] = t, at - beta[t]
            count += 1
            beta[t] = at
    update_gradient(d, K, count, moved, change)
    return hits


cdef inline double line_search(descent* d, const floating* K) noexcept nogil:
    """Minimise the objective between the start and the point reached, made feasible.

    Return the part of the way taken, at most 1.
    """
    cdef smo_working_set* s = &d.s
    cdef double* start = d.wide
    cdef double* start_G = d.wide + d.n
    cdef double longest = 0, slope = 0, curve = 0, step, part
    cdef Py_ssize_t t
    cdef int p, k
    # A sum that is not exact would keep a variable off its bound, and make it count as free.
    cdef bint feasible = balanced(d, False)
    if not feasible:
        for k in range(2):
            restore_sum(d, k)
        feasible = balanced(d, True)
        for p in range(s.n_spans):
            for t in range(s.begin[p], s.end[p]):
                d.G[t] = start_G[t]
        if feasible:
            update_gradient_from(d, K, start)
    for p in range(s.n_spans):
        for t in range(s.begin[p], s.end[p]):
            longest = max(longest, fabs(s.beta[t] - start[t]))
    # Without bounds and with a singular matrix, a step may be of any length.
    if not feasible or not longest < 1e30:
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


cdef inline void restore_sum(descent* d, int group) noexcept nogil:
    """Bring a group to its sum by moving its free variables."""
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


cdef inline void move_to_sum(Py_ssize_t n, double* x, const double* low, const double* high,
                             double total) noexcept nogil:
    """x = clip(x + t, low, high), with the t whose sum is nearest to `total`."""
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
