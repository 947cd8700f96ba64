"""Hot loop of mlcore.kernels.structured.fisher_vectors: scores of sets of rows, normalised.

A set is the rows offsets[i] to offsets[i + 1] of X. With z = (x - t c_j) f_j, where c and f are
`centres` and `factors` (k, d) and t is 1 or the row's value of `totals`, its coordinates are means
over its rows of

- (g_j - w_j) / sqrt(w_j) for each of the k components: WEIGHTS;
- g_j z / sqrt(w_j): MEANS, (k, d);
- g_j (z² - 1) / sqrt(2 w_j): SCALES, (k, d), or their sum over the features over sqrt(d):
  ONE_SCALE, (k,).

The weights w of components to be left out are 0, as all their coordinates then are. Then signed
powers are taken, and the coordinates divided by their norm. Rows of a component whose g is 0 are
not read: `out`, zeros at first, is written where there is something else. Sums in double. Sets with
coordinates above the largest number of their type are marked by NaN, and their number returned.

Shapes, C order, checked by the caller: g (rows, k); totals (rows,) or (0,): all 1; out (n, D);
scratch (threads, k + 2 d + D).
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.float cimport DBL_MAX, FLT_MAX
from libc.math cimport NAN, copysign, fabs, pow, sqrt
from libc.stdint cimport int64_t

WEIGHTS, MEANS, SCALES, ONE_SCALE = 1, 2, 4, 8

cdef enum:
    OF_WEIGHTS = 1
    OF_MEANS = 2
    OF_SCALES = 4
    OF_ONE_SCALE = 8

# Sums of squares between these have lost nothing to underflow or overflow.
cdef double LEAST = 1e-280
cdef double MOST = 1e300

cdef struct table:
    Py_ssize_t k
    Py_ssize_t d
    const double* weights
    const double* centres
    const double* factors
    int parts
    double power
    bint normalize
    double largest  # coordinate that `out` can hold
    double most     # sum of squares of which no one is larger


def fisher_vectors(const floating[:, ::1] X, const double[:, ::1] g, const int64_t[::1] offsets,
                   const double[::1] totals, const double[::1] weights,
                   const double[:, ::1] centres, const double[:, ::1] factors, int parts,
                   double power, bint normalize, floating[:, ::1] out, double[:, ::1] scratch,
                   int n_threads, /):
    cdef Py_ssize_t i
    cdef int refused = 0
    cdef table t
    cdef const double* counts = &totals[0] if totals.shape[0] > 0 else NULL
    t.k, t.d, t.parts, t.power, t.normalize = g.shape[1], X.shape[1], parts, power, normalize
    t.largest, t.most = DBL_MAX, MOST
    if floating is float:
        if not normalize:
            t.largest, t.most = FLT_MAX, 1e76
    t.weights, t.centres, t.factors = &weights[0], &centres[0, 0], &factors[0, 0]
    for i in prange(out.shape[0], num_threads=n_threads, nogil=True, schedule="dynamic",
                    chunksize=16):
        if offsets[i] < offsets[i + 1]:
            refused += not of_set(&t, offsets[i + 1] - offsets[i], &X[offsets[i], 0],
                                  &g[offsets[i], 0],
                                  counts + offsets[i] if counts != NULL else NULL, &out[i, 0],
                                  &scratch[threadid(), 0])
    return refused


cdef bint of_set(const table* t, Py_ssize_t m, const floating* X, const double* g,
                 const double* counts, floating* out, double* scratch) noexcept nogil:
    """Return False if a coordinate is too large for its type."""
    cdef Py_ssize_t k = t.k, d = t.d, j
    cdef double* mass = scratch
    cdef double* v = mass + k + 2 * d
    cdef double* means = v + (k if t.parts & OF_WEIGHTS else 0)
    cdef double* scales = means + (k * d if t.parts & OF_MEANS else 0)
    cdef Py_ssize_t n_means = d if t.parts & OF_MEANS else 0
    cdef Py_ssize_t n_scales = d if t.parts & OF_SCALES else 1 if t.parts & OF_ONE_SCALE else 0
    cdef Py_ssize_t n_weights = k if t.parts & OF_WEIGHTS else 0
    cdef double total = 0, largest = 0, factor = 1
    for j in range(k):
        mass[j] = 0
        if t.weights[j] > 0:
            mass[j] = mean_of_column(m, k, g + j)
        if n_weights > 0:
            v[j] = 0
            if t.weights[j] > 0:
                v[j] = (mass[j] - t.weights[j]) / sqrt(t.weights[j])
        if mass[j] > 0:
            moments(t, j, m, X, g, counts, means + j * n_means, scales + j * n_scales, mass + k)
    # Each span of coordinates: of all weights, then of each component that has some mass.
    total = powers(t, n_weights, v)
    for j in range(k):
        if mass[j] > 0:
            total += powers(t, n_means, means + j * n_means)
            total += powers(t, n_scales, scales + j * n_scales)
    if not LEAST < total < t.most:
        largest = largest_of(n_weights, v)
        for j in range(k):
            if mass[j] > 0:
                largest = larger(largest, largest_of(n_means, means + j * n_means))
                largest = larger(largest, largest_of(n_scales, scales + j * n_scales))
        if not largest <= t.largest:
            out[0] = NAN
            return False
        if largest == 0:
            return True
    if t.normalize and not LEAST < total < MOST:
        total = shrunk(n_weights, v, largest)
        for j in range(k):
            if mass[j] > 0:
                total += shrunk(n_means, means + j * n_means, largest)
                total += shrunk(n_scales, scales + j * n_scales, largest)
    if t.normalize:
        factor = 1 / sqrt(total)
    written(n_weights, v, factor, out)
    for j in range(k):
        if mass[j] > 0:
            written(n_means, means + j * n_means, factor, out + (means - v) + j * n_means)
            written(n_scales, scales + j * n_scales, factor, out + (scales - v) + j * n_scales)
    return True


cdef double mean_of_column(Py_ssize_t m, Py_ssize_t k, const double* g) noexcept nogil:
    cdef Py_ssize_t r
    cdef double total = 0
    for r in range(m):
        total += g[r * k]
    return total / m


cdef void moments(const table* t, Py_ssize_t j, Py_ssize_t m, const floating* X, const double* g,
                  const double* counts, double* means, double* scales,
                  double* scratch) noexcept nogil:
    """Fill in the coordinates of the mean and scale of component j; scratch (2 d,).

    Means are formed, in scratch, where only scales are wanted; of scales nothing if none are.
    """
    cdef Py_ssize_t d = t.d, r, c
    cdef const double* centre = t.centres + j * d
    cdef const double* factor = t.factors + j * d
    cdef const floating* x
    cdef double* first = means if t.parts & OF_MEANS else scratch
    cdef double* second = scales if t.parts & OF_SCALES else scratch + d
    cdef double share, half, count = 1, z, total = 0, root = 1 / (m * sqrt(t.weights[j]))
    cdef bint two = t.parts & (OF_SCALES | OF_ONE_SCALE)
    for c in range(d):
        first[c] = 0
    if two:
        for c in range(d):
            second[c] = 0
    for r in range(m):
        if g[r * t.k + j] == 0:
            continue
        share, x = g[r * t.k + j] * root, X + r * d
        half = share * sqrt(0.5)
        if counts != NULL:
            count = counts[r]
        if two:
            for c in range(d):
                z = (x[c] - count * centre[c]) * factor[c]
                first[c] += share * z
                second[c] += half * (z * z - 1)
        else:
            for c in range(d):
                first[c] += share * ((x[c] - count * centre[c]) * factor[c])
    if t.parts & OF_ONE_SCALE:
        for c in range(d):
            total += second[c]
        scales[0] = total / sqrt(<double> d)


cdef double powers(const table* t, Py_ssize_t n, double* v) noexcept nogil:
    """Take signed powers of n values; return their sum of squares."""
    cdef Py_ssize_t c
    cdef double a = 0, b = 0, e = 0, f = 0
    if t.power == 0.5:
        for c in range(n):
            v[c] = copysign(sqrt(fabs(v[c])), v[c])
    elif t.power != 1:
        for c in range(n):
            v[c] = copysign(pow(fabs(v[c]), t.power), v[c])
    for c in range(0, n - 3, 4):  # one sum would wait for each addition
        a += v[c] * v[c]
        b += v[c + 1] * v[c + 1]
        e += v[c + 2] * v[c + 2]
        f += v[c + 3] * v[c + 3]
    for c in range(n - n % 4, n):
        a += v[c] * v[c]
    return (a + b) + (e + f)


cdef inline double larger(double a, double b) noexcept nogil:
    return a if not a <= b else b  # NaN is larger than all


cdef double largest_of(Py_ssize_t n, const double* v) noexcept nogil:
    cdef Py_ssize_t c
    cdef double largest = 0
    for c in range(n):
        largest = larger(largest, fabs(v[c]))
    return largest


cdef double shrunk(Py_ssize_t n, double* v, double largest) noexcept nogil:
    """Divide n values by the largest; return their sum of squares."""
    cdef Py_ssize_t c
    cdef double total = 0
    for c in range(n):
        v[c] /= largest
        total += v[c] * v[c]
    return total


cdef void written(Py_ssize_t n, const double* v, double factor, floating* out) noexcept nogil:
    cdef Py_ssize_t c
    for c in range(n):
        out[c] = <floating> (v[c] * factor)
