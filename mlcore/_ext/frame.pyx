"""Hot loop of mlcore.cluster.frame: the moments of few samples, in one pass."""
from cython cimport floating


def moments(const floating[:, ::1] X, const double[::1] weights, Py_ssize_t step, Py_ssize_t rows):
    """Of `rows` samples, each the `step`-th: the squared norm of their mean, and how far they are
    from it, squared, on average. Of all: their weight, the weighted sum of their squares, and the
    squared norm of their weighted mean. `weights` is empty for ones.
    """
    cdef Py_ssize_t n = X.shape[0], i, f
    cdef bint weighted = weights.shape[0] > 0
    cdef double center = 0, spread = 0, weight = 0, squares = 0, mean = 0, w, x, own, middle
    with nogil:
        for f in range(X.shape[1]):
            own = 0
            for i in range(rows):
                own += X[i * step, f]
            middle, own = own / rows, 0
            center = center + middle * middle
            for i in range(rows):
                x = X[i * step, f] - middle
                spread = spread + x * x
            for i in range(n):
                w, x = weights[i] if weighted else 1, X[i, f]
                own += w * x
                squares = squares + w * x * x
                if f == 0:
                    weight = weight + w
            mean = mean + own * own
    return center, spread / rows, weight, squares, mean / weight**2
