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
not read: `out`, zeros at first, is written where there is something else. Sums in double.

Shapes, C order, checked by the caller: g (rows, k); totals (rows,) or (0,): all 1; out (n, D);
scratch (threads, k + 2 d + D).
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport copysign, fabs, pow, sqrt
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


def fisher_vectors(const floating[:, ::1] X, const double[:, ::1] g, const int64_t[::1] offsets,
                   const double[::1] totals, const double[::1] weights,
                   const double[:, ::1] centres, const double[:, ::1] factors, int parts,
                   double power, bint normalize, floating[:, ::1] out, double[:, ::1] scratch,
                   int n_threads, /):
    cdef Py_ssize_t i
    cdef table t
    cdef const double* counts = &totals[0] if totals.shape[0] > 0 else NULL
    t.k, t.d, t.parts, t.power, t.normalize = g.shape[1], X.shape[1], parts, power, normalize
    t.weights, t.centres, t.factors = &weights[0], &centres[0, 0], &factors[0, 0]
    for i in prange(out.shape[0], num_threads=n_threads, nogil=True, schedule="dynamic",
                    chunksize=16):
        if offsets[i] < offsets[i + 1]:
            of_set(&t, offsets[i + 1] - offsets[i], &X[offsets[i], 0], &g[offsets[i], 0],
                   counts + offsets[i] if counts != NULL else NULL, &out[i, 0],
                   &scratch[threadid(), 0])


cdef void of_set(const table* t, Py_ssize_t m, const floating* X, const double* g,
                 const double* counts, floating* out, double* scratch) noexcept nogil:
    cdef Py_ssize_t k = t.k, d = t.d, j, r, c
    cdef double* mass = scratch
    cdef double* first = mass + k
    cdef double* second = first + d
    cdef double* v = second + d
    cdef double* means = v + (k if t.parts & OF_WEIGHTS else 0)
    cdef double* scales = means + (k * d if t.parts & OF_MEANS else 0)
    cdef Py_ssize_t n_scales = d if t.parts & OF_SCALES else 1 if t.parts & OF_ONE_SCALE else 0
    cdef double weight, total, largest = 0, root
    for j in range(k):
        mass[j] = 0
        weight = t.weights[j]
        if weight > 0:
            for r in range(m):
                mass[j] += g[r * k + j]
        if t.parts & OF_WEIGHTS:
            v[j] = (mass[j] / m - weight) / sqrt(weight) if weight > 0 else 0
        if mass[j] == 0:
            continue
        moments(t, j, m, X, g, counts, first, second)
        root = 1 / (m * sqrt(weight))
        if t.parts & OF_MEANS:
            for c in range(d):
                means[j * d + c] = first[c] * root
        root *= sqrt(0.5)
        if t.parts & OF_SCALES:
            for c in range(d):
                scales[j * d + c] = second[c] * root
        elif t.parts & OF_ONE_SCALE:
            total = 0
            for c in range(d):
                total += second[c]
            scales[j] = total * root / sqrt(<double> d)
    # Each span of coordinates: of all weights, then of each component that has some mass.
    total = 0
    if t.parts & OF_WEIGHTS:
        total += powers(t, k, v, &largest)
    for j in range(k):
        if mass[j] > 0:
            if t.parts & OF_MEANS:
                total += powers(t, d, means + j * d, &largest)
            total += powers(t, n_scales, scales + j * n_scales, &largest)
    root = 1
    if t.normalize and not LEAST < total < MOST:
        if not 0 < largest:
            return
        total = 0
        if t.parts & OF_WEIGHTS:
            total += shrunk(k, v, largest)
        for j in range(k):
            if mass[j] > 0:
                if t.parts & OF_MEANS:
                    total += shrunk(d, means + j * d, largest)
                total += shrunk(n_scales, scales + j * n_scales, largest)
    if t.normalize:
        root = sqrt(total)
    if t.parts & OF_WEIGHTS:
        written(k, v, root, out)
    for j in range(k):
        if mass[j] > 0:
            if t.parts & OF_MEANS:
                written(d, means + j * d, root, out + (means - v) + j * d)
            written(n_scales, scales + j * n_scales, root, out + (scales - v) + j * n_scales)


cdef void moments(const table* t, Py_ssize_t j, Py_ssize_t m, const floating* X, const double* g,
                  const double* counts, double* first, double* second) noexcept nogil:
    """Fill in the sums over m rows of g z and g (z² - 1), (d,) each, for component j."""
    cdef Py_ssize_t d = t.d, r, c
    cdef const double* centre = t.centres + j * d
    cdef const double* factor = t.factors + j * d
    cdef const floating* x
    cdef double share, count = 1, z
    cdef bint two = t.parts & (OF_SCALES | OF_ONE_SCALE)
    for c in range(d):
        first[c] = 0
        second[c] = 0
    for r in range(m):
        share, x = g[r * t.k + j], X + r * d
        if share == 0:
            continue
        if counts != NULL:
            count = counts[r]
        if two:
            for c in range(d):
                z = (x[c] - count * centre[c]) * factor[c]
                first[c] += share * z
                second[c] += share * (z * z - 1)
        else:
            for c in range(d):
                first[c] += share * ((x[c] - count * centre[c]) * factor[c])


cdef double powers(const table* t, Py_ssize_t n, double* v, double* largest) noexcept nogil:
    """Take signed powers of n values; return their sum of squares, and note the largest."""
    cdef Py_ssize_t c
    cdef double total = 0
    if t.power == 0.5:
        for c in range(n):
            v[c] = copysign(sqrt(fabs(v[c])), v[c])
    elif t.power != 1:
        for c in range(n):
            v[c] = copysign(pow(fabs(v[c]), t.power), v[c])
    if t.normalize:
        for c in range(n):
            total += v[c] * v[c]
            largest[0] = max(largest[0], fabs(v[c]))
    return total


cdef double shrunk(Py_ssize_t n, double* v, double largest) noexcept nogil:
    """Divide n values by the largest; return their sum of squares."""
    cdef Py_ssize_t c
    cdef double total = 0
    for c in range(n):
        v[c] /= largest
        total += v[c] * v[c]
    return total


cdef void written(Py_ssize_t n, const double* v, double root, floating* out) noexcept nogil:
    cdef Py_ssize_t c
    for c in range(n):
        out[c] = <floating> (v[c] / root)
