"""Hot loop of mlcore.decomposition.probabilistic_pca: rows by what they know, NaN being unknown.

Groups of rows that know the same features are cut into as many parts as there are sums; each part
is added to its own, and the caller sums these in order, so that threads never change a bit.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t

from mlcore._ext.decomposition.probabilistic_pca_h cimport (
    group, probabilistic_model, probabilistic_sums,
)


def pass_over_groups(
        const floating[:, ::1] X, const double[::1] weights, const int64_t[::1] order,
        const int64_t[::1] starts, double noise, bint centred, const double[:, ::1] loadings,
        const double[::1] mean, const double[::1] origin, const double[::1] unit,
        double[:, ::1] total, double[:, :, ::1] second, double[:, :, ::1] product,
        double[:, ::1] squares, double[::1] density, floating[:, ::1] imputed,
        int64_t[::1] failed, double[:, ::1] scratch, int64_t[:, ::1] at, int n_threads, /):
    """Visit rows order[starts[g]..starts[g + 1]] of each group g.

    Sums `total` (parts, 2 + t), `second` (parts, d, t), `product` (parts, d, p), `squares` (parts,
    d), `density` in the order of `order`, and `imputed` (n, d) are empty where not wanted;
    `failed[part]` becomes 1 where the noise is too small. Scratch: a row for each thread.
    """
    cdef probabilistic_model m
    cdef Py_ssize_t n_groups = starts.shape[0] - 1, n_parts = failed.shape[0], part
    m.d, m.k, m.centred, m.noise = X.shape[1], loadings.shape[1], centred, noise
    m.loadings, m.mean, m.origin, m.unit = &loadings[0, 0], &mean[0], &origin[0], &unit[0]
    for part in prange(n_parts, nogil=True, num_threads=n_threads, schedule="dynamic"):
        visit(&m, X, weights, order, starts, n_groups * part // n_parts,
              n_groups * (part + 1) // n_parts, part, total, second, product, squares, density,
              imputed, failed, &scratch[threadid(), 0], &at[threadid(), 0])


cdef void visit(const probabilistic_model* m, const floating[:, ::1] X, const double[::1] weights,
                const int64_t[::1] order, const int64_t[::1] starts, Py_ssize_t first,
                Py_ssize_t last, Py_ssize_t part, double[:, ::1] total, double[:, :, ::1] second,
                double[:, :, ::1] product, double[:, ::1] squares, double[::1] density,
                floating[:, ::1] imputed, int64_t[::1] failed, double* scratch,
                int64_t* at) noexcept nogil:
    cdef probabilistic_sums sums
    cdef bint summed = total.shape[1] > 0
    cdef Py_ssize_t g
    if summed:
        sums.total, sums.second = &total[part, 0], &second[part, 0, 0]
        sums.product, sums.squares = &product[part, 0, 0], &squares[part, 0]
    for g in range(first, last):
        if group(m, starts[g + 1] - starts[g], &order[starts[g]], &X[0, 0],
                 &weights[0] if weights.shape[0] > 0 else NULL, scratch, at,
                 &sums if summed else NULL,
                 &density[starts[g]] if density.shape[0] > 0 else NULL,
                 &imputed[0, 0] if imputed.shape[0] > 0 else NULL) < 0:
            failed[part] = 1
