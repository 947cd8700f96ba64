"""State of a descent on a small problem, and what pair steps and Newton steps share.

Inline, so that no call crosses a module.
"""
from cython cimport floating
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t, int64_t

from mlcore._ext.kernels.gram_rows cimport add_product
from mlcore._ext.svm.optimality cimport up_value, low_value
from mlcore._ext.svm.working_set_h cimport smo_working_set

cdef enum:
    WORTH = 1_000_000  # operations that pay for waking threads, as in mlcore.runtime.threads
    DEFAULT_WAIT = 3   # for a face, see `descent`


cdef enum outcome:
    ENDED
    GOES_ON
    NEEDS_ROOM  # H is too small for the face


cdef struct descent:
    smo_working_set s  # its G, up and low are scratch in the precision of K
    double* G          # K beta + q
    double tol
    int64_t left       # pair steps that may still be made
    int64_t made       # pair steps and faces
    int64_t full_steps  # faces whose step was taken whole
    int n_threads
    void* H            # scratch in the precision of K, room²
    Py_ssize_t room    # variables of the largest face that H can hold
    Py_ssize_t limit   # variables of the largest face that is tried
    Py_ssize_t n       # slots, in use or not
    double* wide       # scratch, 6 n
    int64_t* slots     # scratch, 2 n
    int8_t* marks      # scratch, 2 n
    int64_t since      # pair steps since the last face
    double wait        # pair steps per variable before the next face, at least
    int failures, rounds
    double total[2]


cdef inline bint inside(const smo_working_set* s, Py_ssize_t t) noexcept nogil:
    return (s.lower[t] < s.beta[t] < s.upper[t]) and (s.epsilon == 0 or s.beta[t] != 0)


cdef inline Py_ssize_t count_free(const descent* d) noexcept nogil:
    """Number of variables strictly within their bounds, or of the face under way."""
    cdef Py_ssize_t t, f = 0
    cdef int p
    for p in range(d.s.n_spans):
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.marks[t] != 0 if d.rounds > 0 else inside(&d.s, t):
                f += 1
    return f


cdef inline double violation(const descent* d, bint of_face) noexcept nogil:
    """Largest KKT violation, of all variables or of those of the face."""
    cdef double top[2]
    cdef double bottom[2]
    cdef Py_ssize_t t
    cdef int p, k
    top[0] = top[1] = -INFINITY
    bottom[0] = bottom[1] = INFINITY
    for p in range(d.s.n_spans):
        k = d.s.group[p]
        for t in range(d.s.begin[p], d.s.end[p]):
            if d.marks[t] or not of_face:
                top[k] = max(top[k], up_value(d.G[t], d.s.beta[t], d.s.upper[t], d.s.epsilon))
                bottom[k] = min(bottom[k], low_value(d.G[t], d.s.beta[t], d.s.lower[t],
                                                     d.s.epsilon))
    return max(top[0] - bottom[0], top[1] - bottom[1])


cdef inline bint balanced(const descent* d, bint summing) noexcept nogil:
    """True if each group has its sum, up to the rounding of one value, or with `summing` of all."""
    cdef double excess[2]
    cdef double size[2]
    cdef double value
    cdef Py_ssize_t t
    cdef int p, k
    excess[0], excess[1], size[0], size[1] = -d.total[0], -d.total[1], 0, 0
    for p in range(d.s.n_spans):
        k = d.s.group[p]
        for t in range(d.s.begin[p], d.s.end[p]):
            excess[k] += d.s.beta[t]
            value = fabs(d.s.beta[t])
            size[k] = size[k] + value if summing else max(size[k], value)
    return fabs(excess[0]) <= 1e-13 * size[0] and fabs(excess[1]) <= 1e-13 * size[1]


cdef inline void update_gradient(descent* d, const floating* K, int64_t count,
                                 const int64_t* slots, const double* change) noexcept nogil:
    """Bring G up to date after beta[slots] += change."""
    cdef Py_ssize_t first, last
    cdef int p
    if count == 0:
        return
    for p in range(d.s.n_spans):
        first, last = d.s.begin[p], d.s.end[p]
        add_product(count, slots, change, K, d.s.stride, first, last, d.G,
                    d.n_threads if count * (last - first) > WORTH else 1)


cdef inline void update_gradient_from(descent* d, const floating* K,
                                      const double* start) noexcept nogil:
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
    update_gradient(d, K, count, moved, change)


cdef inline int64_t take_over(Py_ssize_t count, const int64_t* variables, const double* values,
                              double* beta, int64_t* moved, double* change, const floating* K,
                              Py_ssize_t stride, Py_ssize_t m, double* product) noexcept nogil:
    """Set beta[variables] = values, update product = K beta, and return the number that changed.

    `variables` is NULL for the first `count`. `moved` and `change` (count,) are scratch, `change`
    may be `values`. K has m columns, rows `stride` values apart.
    """
    cdef Py_ssize_t r, t
    cdef int64_t n_moved = 0
    cdef double value
    for r in range(count):
        t = r if variables == NULL else variables[r]
        value = values[r]
        if value != beta[t]:
            moved[n_moved], change[n_moved] = t, value - beta[t]
            beta[t] = value
            n_moved += 1
    add_product(n_moved, moved, change, K, stride, 0, m, product, 1)
    return n_moved
