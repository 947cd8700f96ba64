"""Hot loops of mlcore.cluster.k_means.origin_and_unit: moments of samples."""
from cython cimport floating
from cython.parallel cimport prange


def moments(const floating[:, ::1] X, const double[::1] weights, Py_ssize_t step,
            Py_ssize_t rows, /):
    """Return moments of a pilot (every `step`-th sample, `rows` in number) and of all samples.

    The pilot's are the squared norm of its mean and the mean squared distance from it; the others
    the weight, the weighted sum of squared norms, and the squared norm of the weighted mean.
    `weights` is empty for ones.
    """
    cdef Py_ssize_t n = X.shape[0], i, f
    cdef bint weighted = weights.shape[0] > 0
    cdef double center = 0, variance = 0, weight = 0, squares = 0, mean = 0, w, x, own, middle
    with nogil:
        for f in range(X.shape[1]):
            own = 0
            for i in range(rows):
                own += X[i * step, f]
            middle, own = own / rows, 0
            center = center + middle * middle
            for i in range(rows):
                x = X[i * step, f] - middle
                variance = variance + x * x
            for i in range(n):
                w, x = weights[i] if weighted else 1, X[i, f]
                own += w * x
                squares = squares + w * x * x
                if f == 0:
                    weight = weight + w
            mean = mean + own * own
    return center, variance / rows, weight, squares, mean / weight**2


cdef inline void add_rows(Py_ssize_t count, Py_ssize_t width, const floating* X,
                          const double* weights, double* first, double* second) noexcept nogil:
    cdef Py_ssize_t start = 0, row = 0, f
    cdef double x, w = 1
    while start < count:
        if weights != NULL:
            w = weights[row]
        for f in range(min(width, count - start)):
            x = X[start + f]
            first[f] += w * x
            second[f] += w * x * x
        start += width
        row += 1


def add_powers(const floating[:, ::1] X, const double[::1] weights, double[:, :, ::1] sums,
               int n_threads, /):
    """sums[chunk, 0] += sum of w x, and sums[chunk, 1] += sum of w x², in double precision.

    `weights` is empty for ones; then `sums` may have room for several rows side by side, so that no
    addition waits for the one before.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], n_chunks = sums.shape[0], chunk
    cdef Py_ssize_t step = (n + n_chunks - 1) // n_chunks
    for chunk in prange(n_chunks, nogil=True, num_threads=n_threads, schedule="static"):
        if chunk * step < n:
            add_rows(min(n - chunk * step, step) * d, sums.shape[2], &X[chunk * step, 0],
                     &weights[chunk * step] if weights.shape[0] > 0 else NULL,
                     &sums[chunk, 0, 0], &sums[chunk, 1, 0])
