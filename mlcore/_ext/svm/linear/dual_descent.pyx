"""Hot loop of mlcore.svm.linear.dual_descent: coordinates of the dual of a linear machine.

A step minimises ``|X'beta|²/2 + sum own_i beta_i²/2 + rho/2 (sum beta)² + b sum beta - y'beta +
eps |beta|_1`` in one beta_i between its bounds, and keeps ``w = X'beta``, and b plus rho times the
sum as `bias[0]`; own is 0 for a plain loss, 1/(2 c_i) for a squared one. Rows that are at a bound
and whose slope holds them there by more than a share of the largest violation of the sweep before
are left out of the next ones (Hsieh and others, 2008, with all of it).
"""
from cython cimport floating
from libc.math cimport INFINITY, fabs, fmax
from libc.stdint cimport int32_t, int64_t

cdef extern from *:
    """
    /* Ask for the memory of some bytes before they are used. */
    static inline void fetch(const void *from, long bytes) {
      for (long at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)from + at);
    }
    """
    void fetch(const void* source, long bytes) noexcept nogil

# Rows come in a random order, whose memory is asked for some rows ahead: half the time of a sweep
# over 100,000 rows of 75 values, a fifth less over 2,000 rows of 330.
cdef enum:
    NEXT = 2     # rows ahead: values
    LATER = 12   # rows ahead: ends and terms
    VALUES = 128  # of a row, after which the processor itself asks for more

cdef enum:  # columns of the terms
    Y, LOWER, UPPER, OWN, SQUARE, TERMS

ctypedef fused index:
    int32_t
    int64_t


cdef struct Step:
    double change     # of beta_i
    double violation  # of the condition of optimality before it
    bint held         # True if the row may be left out


cdef inline Step step_of(double slope, double beta, const double* terms, double eps, double rho,
                         double held_by) noexcept nogil:
    """Return the step in one coordinate, of which `slope` is the derivative without eps."""
    cdef Step step
    cdef double low = terms[LOWER], high = terms[UPPER]
    cdef double square = terms[SQUARE] + terms[OWN] + rho
    cdef double right = slope + (eps if beta >= 0 else -eps)
    cdef double left = slope + (eps if beta > 0 else -eps)
    cdef double z
    step.change, step.violation, step.held = 0, 0, False
    if right < 0 and beta < high:
        step.violation = -right
    elif left > 0 and beta > low:
        step.violation = left
    else:
        step.held = ((beta >= high or right > held_by) and (beta <= low or left < -held_by))
        return step
    if not square > 0:
        z = high if right < 0 else low
        if not fabs(z) < INFINITY:
            return step
    else:
        z = beta * square - slope
        z = z - eps if z > eps else (z + eps if z < -eps else 0)
        z = z / square
    z = low if z < low else (high if z > high else z)
    step.change = z - beta
    return step


cdef inline unsigned long long drawn(unsigned long long* state) noexcept nogil:
    """Return the next number of xorshift (Marsaglia, 2003)."""
    state[0] ^= state[0] << 13
    state[0] ^= state[0] >> 7
    state[0] ^= state[0] << 17
    return state[0]


def shuffle(Py_ssize_t[::1] rows, unsigned long long[::1] state, /):
    """Put rows in a random order."""
    cdef Py_ssize_t k, other
    with nogil:
        for k in range(rows.shape[0] - 1, 0, -1):
            other = <Py_ssize_t> (drawn(&state[0]) % <unsigned long long> (k + 1))
            rows[k], rows[other] = rows[other], rows[k]


cdef inline double sparse_dot(const double* data, const index* columns, Py_ssize_t count,
                              const double* w) noexcept nogil:
    cdef Py_ssize_t t = 0
    cdef double z = 0, z1 = 0, z2 = 0, z3 = 0
    while t + 4 <= count:
        z += data[t] * w[columns[t]]
        z1 += data[t + 1] * w[columns[t + 1]]
        z2 += data[t + 2] * w[columns[t + 2]]
        z3 += data[t + 3] * w[columns[t + 3]]
        t += 4
    while t < count:
        z += data[t] * w[columns[t]]
        t += 1
    return (z + z1) + (z2 + z3)


def sweep_sparse(const double[::1] data, const index[::1] columns, const index[::1] ends,
                 Py_ssize_t[::1] rows, Py_ssize_t first, Py_ssize_t last,
                 const double[:, ::1] terms, double eps, double rho, double held_by,
                 double[::1] beta, double[::1] w, double[::1] bias, /):
    """Take the steps of the rows numbered first to last - 1; return the largest violation.

    The number of a row that may be left out becomes ``-1 - row``. Columns of `terms` (n, 5) are y,
    the bounds, own and squared norms of rows.
    """
    cdef Py_ssize_t k, i, t, start, count
    cdef double worst = 0, slope, change
    cdef Step step
    with nogil:
        for k in range(first, last):
            if k + LATER < last:
                i = rows[k + LATER]
                fetch(&ends[0] + i, 1)
                fetch(&beta[0] + i, 1)
                fetch(&terms[0, 0] + TERMS * i, TERMS * sizeof(double))
            if k + NEXT < last:
                i = rows[k + NEXT]
                start, count = ends[i], min(<Py_ssize_t> VALUES, ends[i + 1] - ends[i])
                fetch(&data[0] + start, count * sizeof(double))
                fetch(&columns[0] + start, count * sizeof(index))
            i = rows[k]
            start, count = ends[i], ends[i + 1] - ends[i]
            slope = bias[0] - terms[i, Y] + terms[i, OWN] * beta[i]
            if count:
                slope += sparse_dot(&data[start], &columns[start], count, &w[0])
            step = step_of(slope, beta[i], &terms[i, 0], eps, rho, held_by)
            worst = fmax(worst, step.violation)
            if step.held:
                rows[k] = -1 - i
            change = step.change
            if change != 0:
                beta[i] += change
                bias[0] += rho * change
                for t in range(start, start + count):
                    w[columns[t]] += change * data[t]
    return worst


cdef inline double dense_dot(Py_ssize_t d, const floating* x, const double* w) noexcept nogil:
    cdef Py_ssize_t t = 0
    cdef double z = 0, z1 = 0, z2 = 0, z3 = 0
    while t + 4 <= d:
        z += x[t] * w[t]
        z1 += x[t + 1] * w[t + 1]
        z2 += x[t + 2] * w[t + 2]
        z3 += x[t + 3] * w[t + 3]
        t += 4
    while t < d:
        z += x[t] * w[t]
        t += 1
    return (z + z1) + (z2 + z3)


def sweep_dense(const floating[:, ::1] X, Py_ssize_t[::1] rows, Py_ssize_t first, Py_ssize_t last,
                const double[:, ::1] terms, double eps, double rho, double held_by,
                double[::1] beta, double[::1] w, double[::1] bias, /):
    """Do the same for dense rows."""
    cdef Py_ssize_t k, i, t, d = X.shape[1]
    cdef double worst = 0, slope, change
    cdef Step step
    cdef const floating* x
    with nogil:
        for k in range(first, last):
            if k + LATER < last:
                i = rows[k + LATER]
                fetch(&beta[0] + i, 1)
                fetch(&terms[0, 0] + TERMS * i, TERMS * sizeof(double))
            if k + NEXT < last:
                i = rows[k + NEXT]
                fetch(&X[i, 0], min(<Py_ssize_t> VALUES, d) * sizeof(floating))
            i = rows[k]
            x = &X[i, 0]
            slope = bias[0] - terms[i, Y] + terms[i, OWN] * beta[i] + dense_dot(d, x, &w[0])
            step = step_of(slope, beta[i], &terms[i, 0], eps, rho, held_by)
            worst = fmax(worst, step.violation)
            if step.held:
                rows[k] = -1 - i
            change = step.change
            if change != 0:
                beta[i] += change
                bias[0] += rho * change
                for t in range(d):
                    w[t] += change * x[t]
    return worst
