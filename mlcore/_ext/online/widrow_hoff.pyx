"""Hot loop of mlcore.online.gradient_descent.widrow_hoff: rounds of prediction and correction.

A round computes the residual r of a row for each target and adds ``2 step s r x`` to its weights,
s the weight of the row. O(k d) time per round for k targets, O(k nnz) for sparse rows.

Shapes: Y (n, k); sample_weight (n,), or no rows for weights of 1; offsets (k,), and `moves`
False where these stay as they are; losses (k,), to which ``s r²`` is added, and squares (k,), to
which ``4 s² r² (|x|² + moves)``; squared_norms (n,) of the rows.
"""
from cython cimport floating

from mlcore._ext.shared.blas cimport add_multiple, dot
from mlcore._ext.shared.index cimport index


cdef inline double corrected(double r, double s, double step, double squared_norm, bint moves,
                             double* offset, double* loss, double* squares) noexcept nogil:
    """Count a residual and return the multiple of its row that the weights change by."""
    cdef double change = 2 * step * s * r
    loss[0] += s * r * r
    squares[0] += 4 * s * r * (s * r) * (squared_norm + moves)
    if moves:
        offset[0] += change
    return change


def dense_rounds(const floating[:, ::1] X, const double[:, ::1] Y, const double[::1] sample_weight,
                 const double[::1] squared_norms, double step, bint moves, floating[:, ::1] weights,
                 double[::1] offsets, double[::1] losses, double[::1] squares,
                 Py_ssize_t first, Py_ssize_t last, /):
    """Play rounds with rows of X (n, d) and weights (k, d)."""
    cdef Py_ssize_t d = X.shape[1], i, t
    cdef double s, r
    with nogil:
        for i in range(first, last):
            s = sample_weight[i] if sample_weight.shape[0] else 1
            for t in range(weights.shape[0]):
                r = Y[i, t] - dot(<int> d, &weights[t, 0], &X[i, 0]) - offsets[t]
                r = corrected(r, s, step, squared_norms[i], moves, &offsets[t], &losses[t],
                              &squares[t])
                add_multiple(<int> d, <floating> r, &X[i, 0], &weights[t, 0])


def sparse_rounds(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                  const double[:, ::1] Y, const double[::1] sample_weight,
                  const double[::1] squared_norms, double step, bint moves,
                  floating[:, ::1] weights, double[::1] offsets, double[::1] losses,
                  double[::1] squares, Py_ssize_t first, Py_ssize_t last, /):
    """Play rounds with rows in CSR, and weights (k, d)."""
    cdef Py_ssize_t i, t, p
    cdef double s, r
    with nogil:
        for i in range(first, last):
            s = sample_weight[i] if sample_weight.shape[0] else 1
            for t in range(weights.shape[0]):
                r = Y[i, t] - offsets[t]
                for p in range(indptr[i], indptr[i + 1]):
                    r -= <double> data[p] * weights[t, indices[p]]
                r = corrected(r, s, step, squared_norms[i], moves, &offsets[t], &losses[t],
                              &squares[t])
                for p in range(indptr[i], indptr[i + 1]):
                    weights[t, indices[p]] += <floating> (r * data[p])
