"""Hot loop of mlcore.linear_model.regression.samples: rows less the mean of their columns.

One thread writes a block of columns, so the thread count never changes a bit. O(n d) time.
"""
from cython cimport floating
from cython.parallel cimport prange

from mlcore._ext.linear_model.samples_h cimport centred_rows as centred_columns


def centred_rows(const floating[:, ::1] X, const double[::1] origin, const double[::1] share,
                 const double[::1] root, double[:, ::1] F, float[:, ::1] P, double[::1] center,
                 double[::1] squares, Py_ssize_t first, Py_ssize_t last, Py_ssize_t width,
                 int n_threads, /):
    """Set F (n, d) to `root` (n,) times the rows of X less `origin` (d,) and `center` (d,), in
    columns from `first` to `last`, and P to the same in float32 unless it has no rows; `squares`
    (d,) are those of F.

    The center is the sum of the rows less the origin times `share` (n,), or 0 if that is empty.
    `width` is the number of columns of a block.
    """
    cdef Py_ssize_t block, start, n = X.shape[0], d = X.shape[1]
    cdef const double* shares = &share[0] if share.shape[0] else NULL
    cdef float* single = &P[0, 0] if P.shape[0] else NULL
    for block in prange((last - first + width - 1) // width, nogil=True, num_threads=n_threads,
                        schedule="static"):
        start = first + block * width
        centred_columns(n, d, start, min(last, start + width), &X[0, 0], &origin[0], shares,
                        &root[0], &F[0, 0], single, &center[0], &squares[0])
