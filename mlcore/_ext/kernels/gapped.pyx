"""Hot loop of mlcore.kernels.structured.gapped: common subsequences with gaps of pairs of strings.

O(length |x| |y|) for a pair. Columns are taken in groups of lanes(), which the caller has sorted by
length, so that strings of a group are nearly as long; a group is interleaved once for all rows.
Strings are codes (total,) from offsets (n + 1,). Each value is computed by one thread.
"""
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.kernels.gapped_h cimport lanes as gapped_lanes
from mlcore._ext.kernels.gapped_h cimport values as gapped_values


def lanes():
    """Return the number of strings of a group."""
    return gapped_lanes


def interleave(const int32_t[::1] codes, const int64_t[::1] offsets, const int64_t[::1] columns,
               const int64_t[::1] starts, double[::1] out, /):
    """Put the strings of each group side by side, from starts (n_groups + 1,) of `out`.

    Places beyond the end of a string, and strings that a last group lacks, are -1.
    """
    cdef Py_ssize_t g, lane, j, at, width = gapped_lanes, n_groups = starts.shape[0] - 1, size
    cdef int64_t first, length
    with nogil:
        for g in range(n_groups):
            size = (starts[g + 1] - starts[g]) // width
            for lane in range(width):
                at = g * width + lane
                first = length = 0
                if at < columns.shape[0]:
                    first = offsets[columns[at]]
                    length = offsets[columns[at] + 1] - first
                for j in range(size):
                    out[starts[g] + j * width + lane] = codes[first + j] if j < length else -1


def products(const int32_t[::1] codes, const int64_t[::1] offsets, const int64_t[::1] rows,
             const int64_t[::1] starts, const double[::1] groups, const int64_t[::1] tasks,
             Py_ssize_t length, double decay, Py_ssize_t first, Py_ssize_t last, bint kept,
             double[:, ::1] sums, double[:, ::1] out, int n_threads, /):
    """Fill values of row t // n_groups and group t % n_groups for the given tasks t.

    `out` (len(rows), n_groups lanes()), columns in the order of the groups. Of the strings of rows
    the symbols first..last are read, after those before; with `kept`, so that the next call can go
    on, each task has its own row of `sums`, else each thread: (rows, the largest scratch).
    """
    cdef Py_ssize_t t, i, g, n, width = gapped_lanes, n_groups = starts.shape[0] - 1
    cdef const int32_t* x = &codes[0] if codes.shape[0] > 0 else NULL
    for t in prange(tasks.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        i = tasks[t] // n_groups
        g = tasks[t] % n_groups
        n = min(last, offsets[rows[i] + 1] - offsets[rows[i]])
        if n > first or first == 0:
            gapped_values(length, decay, first, n, x + offsets[rows[i]],
                          (starts[g + 1] - starts[g]) // width, &groups[starts[g]],
                          &sums[t if kept else threadid(), 0], &out[i, g * width])
