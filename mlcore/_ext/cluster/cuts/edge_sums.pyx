"""Hot loops of mlcore.cluster.cuts.edge_sums: sums of edges inside and across clusters.

Arrays are in C order and of the right shapes; each sum has one writer and one order.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.shared.index cimport index

cdef enum:
    LANES = 8


cdef inline void split(Py_ssize_t n, const floating* row, const int32_t* codes, int32_t own,
                       const double* weights, double* inside, double* across) noexcept nogil:
    """Sum weights times `row` where the code is `own`, and where it is not."""
    cdef double[LANES] within
    cdef double[LANES] beyond
    cdef double x
    cdef Py_ssize_t j, lane
    for lane in range(LANES):
        within[lane] = beyond[lane] = 0
    for j in range(n // LANES):
        for lane in range(LANES):
            x = weights[j * LANES + lane] * row[j * LANES + lane]
            within[lane] += x if codes[j * LANES + lane] == own else 0
            beyond[lane] += 0 if codes[j * LANES + lane] == own else x
    for j in range(n - n % LANES, n):
        x = weights[j] * row[j]
        if codes[j] == own:
            within[0] += x
        else:
            beyond[0] += x
    inside[0] = across[0] = 0
    for lane in range(LANES):
        inside[0] += within[lane]
        across[0] += beyond[lane]


def dense_sums(const floating[:, ::1] K, Py_ssize_t first, const int32_t[::1] codes,
               const double[::1] weights, double[::1] inside, double[::1] across, int n_threads, /):
    """Set inside[i], across[i] to weighted sums of row i over samples of its own code, and others.

    The rows of K are samples first, first + 1, ...; its columns are all samples.
    """
    cdef Py_ssize_t i, n = K.shape[1]
    for i in prange(K.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        split(n, &K[i, 0], &codes[0], codes[first + i], &weights[0], &inside[first + i],
              &across[first + i])


def sparse_sums(const int64_t[::1] indptr, const index[::1] indices, const floating[::1] data,
                const int32_t[::1] codes, const double[::1] weights, double[::1] inside,
                double[::1] across, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """As `dense_sums` for rows first..last of a CSR matrix."""
    cdef Py_ssize_t i
    cdef int64_t t
    cdef double x, within, beyond
    for i in prange(first, last, nogil=True, num_threads=n_threads, schedule="static"):
        within = 0
        beyond = 0
        for t in range(indptr[i], indptr[i + 1]):
            x = weights[indices[t]] * data[t]
            if codes[indices[t]] == codes[i]:
                within = within + x
            else:
                beyond = beyond + x
        inside[i] = within
        across[i] = beyond
