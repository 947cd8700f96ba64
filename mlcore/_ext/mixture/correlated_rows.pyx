"""Hot loop of mlcore.mixture.gaussian.correlated_rows: EM on rows with missing values, NaN.

Batches of rows are cut into as many parts as `moments` has rows; each part is added to its row, and
the caller sums these in order, so that threads never change a bit.
"""
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint8_t

from mlcore._ext.mixture.correlated_rows_h cimport (
    INCOMPLETE_BATCH, batch, incomplete_mixture, incomplete_scratch,
)

BATCH = INCOMPLETE_BATCH


def scratch_size(Py_ssize_t k, Py_ssize_t d, /):
    """Return the number of values of scratch for a thread."""
    return incomplete_scratch(k, d)


def incomplete_step(const double[:, ::1] X, const double[::1] weight, const int64_t[::1] patterns,
                    const double[::1] log_weights, const double[:, ::1] means,
                    const double[:, :, ::1] covariances, const double[:, :, ::1] precisions,
                    const double[:, :, ::1] factors, const double[::1] halves,
                    const uint8_t[::1] poor, double added, double[:, ::1] moments,
                    double[::1] density, double[:, ::1] proba, double[:, ::1] imputed,
                    double[:, ::1] scratch, int n_threads, /):
    """Add to `moments` (parts, 1 + k + k d + k d d) and fill density, proba and imputed, as far as
    these have columns or rows; equal `patterns` are neighbours, and matrices one for all or k.
    """
    cdef incomplete_mixture g
    cdef Py_ssize_t n_batches = (X.shape[0] + INCOMPLETE_BATCH - 1) // INCOMPLETE_BATCH, part
    cdef Py_ssize_t n_parts = moments.shape[0]
    g.d, g.k = X.shape[1], means.shape[0]
    g.side = g.d * g.d if covariances.shape[0] > 1 else 0
    g.log_weights, g.halves, g.means = &log_weights[0], &halves[0], &means[0, 0]
    g.covariances, g.precisions = &covariances[0, 0, 0], &precisions[0, 0, 0]
    g.factors, g.poor, g.added = &factors[0, 0, 0], &poor[0], added
    for part in prange(n_parts, nogil=True, num_threads=n_threads, schedule="dynamic"):
        part_step(&g, X, weight, patterns, n_batches * part // n_parts * INCOMPLETE_BATCH,
                  min(X.shape[0], n_batches * (part + 1) // n_parts * INCOMPLETE_BATCH), part,
                  moments, density, proba, imputed, &scratch[threadid(), 0])


cdef void part_step(const incomplete_mixture* g, const double[:, ::1] X, const double[::1] weight,
                    const int64_t[::1] patterns, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t part,
                    double[:, ::1] moments, double[::1] density, double[:, ::1] proba,
                    double[:, ::1] imputed, double* scratch) noexcept nogil:
    while start < stop:
        batch(
            g, min(INCOMPLETE_BATCH, stop - start), &X[start, 0],
            &weight[start] if weight.shape[0] > 0 else NULL, &patterns[start], scratch,
            &moments[part, 0] if moments.shape[1] > 0 else NULL,
            &density[start] if density.shape[0] > 0 else NULL,
            &proba[start, 0] if proba.shape[0] > 0 else NULL,
            &imputed[start, 0] if imputed.shape[0] > 0 else NULL)
        start = start + INCOMPLETE_BATCH
