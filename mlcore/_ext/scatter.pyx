"""Hot loops of mlcore.scatter: products of the columns of rows with each other.

Rows are read once: of each block, the columns that vary are found, packed in strips with the
origin subtracted and the roots of the weights multiplied, and then multiplied while they are in
cache. Products of 0 may be left out, by lists of the rows that are not the origin. One thread
writes each tile of the sums of a group of rows, blocks follow in order: neither the number of
threads nor the lists change a bit. O(n v²) time for v columns that vary.

The d columns are those of X (n, p) and then of Y (n, d - p). C order, checked by the caller.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memset

from mlcore._ext.scatter_packing cimport begin_rows, pack_part
from mlcore._ext.simd.scatter cimport (
    SCATTER_ROWS_d, SCATTER_ROWS_f, column_sums, panel_d, panel_f, products, step_of_columns,
)

cdef enum:
    GROUP = 24192  # values: columns of a block that stay in the second cache
    ALONE = 1 << 15  # values packed by one thread: .93 of the time of 1 << 17 at 160 columns
    TOGETHER = 1 << 20  # by several, which wait for each other: .8 of 1 << 18 on a busy processor
    PANELS = 4  # that a thread multiplies with a group, so that it is read again from the cache
    TILE = 32
    LINES = 42  # rows that a thread packs: they divide a block


def rows_of_block(int itemsize, /):
    """Return the number of rows in a block."""
    return SCATTER_ROWS_f if itemsize == 4 else SCATTER_ROWS_d


def panel_width(int itemsize, /):
    """Return the number of columns in a panel."""
    return panel_f if itemsize == 4 else panel_d


def values_of_lists(int itemsize, Py_ssize_t width, /):
    """Return the number of values in the lists of rows of a block, `width` columns wide."""
    return width // step_of_columns * (rows_of_block(itemsize) + 1)


def blocks_at_once(Py_ssize_t rows, Py_ssize_t width, int n_threads, /):
    """Return the number of blocks that are packed together, and still in cache when multiplied."""
    return max(1, (ALONE if n_threads == 1 else TOGETHER) // (rows * width))


def add_rows(const floating[:, ::1] X, const floating[:, ::1] Y, const floating[::1] root,
             const int64_t[::1] codes, const floating[::1] first, floating[::1] near,
             int64_t[::1] columns, Py_ssize_t n_varying, int64_t[::1] runs, double[:, :, ::1] S,
             double[:, :, ::1] sums, floating[::1] packed_near, floating[:, ::1] lines,
             floating[::1] packed, uint16_t[::1] lists, Py_ssize_t blocks, int n_threads, /):
    """Add products and sums of w (x - near) for rows x; return the number of columns that vary.

    `columns` (d,) holds first those that differ from `first` (d,), which are the order of S and
    sums, and then all others, sorted. `near` (d,) is set to `first` where a column begins to vary
    after the first rows, as S and sums have nothing of it. `root` (n,) or (0,) are the roots of
    the weights, `codes` (n,) or (0,) the rows of `sums`. S (groups, width, width), of which the
    lower triangle is used, sums (groups, c, width), width being whole panels. One group is added
    by all threads together; of more, each is added by one of them, which waits for no other.

    Scratch: runs (2 d,), packed_near (width,), lines (n_threads, width); for each thread, or for
    one group, packed (blocks rows_of_block width,) and lists (blocks values_of_lists,), or (0,)
    for none.
    """
    cdef Py_ssize_t n = X.shape[0], groups = S.shape[0], group, start = 0, stop, n_runs = 0, width
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t n_panels, n_groups, in_group = GROUP // in_block // panel
    cdef Py_ssize_t n_parts, part, task, top, step = LINES
    cdef Py_ssize_t rows = ((n + in_block - 1) // in_block + groups - 1) // groups * in_block
    cdef Py_ssize_t of_packed = packed.shape[0] // n_threads, of_lists = lists.shape[0] // n_threads
    cdef uint16_t* list_of = NULL
    cdef const floating* w = &root[0] if root.shape[0] > 0 else NULL
    cdef const int64_t* code = &codes[0] if codes.shape[0] > 0 else NULL
    cdef bint begun = n_varying > 0
    if lists.shape[0] > 0:
        list_of, step = &lists[0], in_block
    with nogil:
        memset(&lines[0, 0], 0, lines.shape[0] * lines.shape[1] * sizeof(floating))
        if groups > 1:
            n_varying = begin_rows(X, Y, 0, n, first, near, columns, n_varying, begun, runs,
                                   packed_near, &n_runs)
            for group in prange(groups, num_threads=n_threads, schedule="dynamic"):
                add_alone(X, Y, group * rows, min(n, (group + 1) * rows), blocks * in_block, w,
                          code, &runs[0], n_runs, n_varying, &packed_near[0],
                          &lines[threadid(), 0], &packed[threadid() * of_packed],
                          list_of + threadid() * of_lists if list_of != NULL else NULL,
                          &S[group, 0, 0], &sums[group, 0, 0], S.shape[2])
            start = n
        while start < n:
            stop = min(n, start + blocks * in_block)
            n_varying = begin_rows(X, Y, start, stop, first, near, columns, n_varying, begun, runs,
                                   packed_near, &n_runs)
            begun = True
            width = (n_varying + panel - 1) // panel * panel
            n_panels = width // panel
            for part in prange((stop - start + step - 1) // step, num_threads=n_threads,
                               schedule="static"):
                top = part * step
                pack_part(X, Y, start, top, min(step, stop - start - top), w, &runs[0], n_runs,
                          width, &packed_near[0], &lines[threadid(), 0], &packed[0], list_of)
            n_groups = (n_panels + in_group - 1) // in_group
            n_parts = (n_panels + PANELS - 1) // PANELS
            for task in prange(n_groups * n_parts, num_threads=n_threads, schedule="dynamic"):
                part = task % n_parts * PANELS
                top = task // n_parts * in_group
                multiply(start, stop, part, min(part + PANELS, n_panels), top,
                         min(top + in_group, n_panels), n_varying, width, &packed[0], list_of, w,
                         code, &S[0, 0, 0], &sums[0, 0, 0], S.shape[2])
            start = stop
    return n_varying


cdef void add_alone(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                    Py_ssize_t end, Py_ssize_t at_once, const floating* root, const int64_t* codes,
                    const int64_t* runs, Py_ssize_t n_runs, Py_ssize_t n_varying,
                    const floating* near, floating* line, floating* packed, uint16_t* lists,
                    double* S, double* sums, Py_ssize_t stride) noexcept nogil:
    """Pack and multiply the rows of a group, `at_once` of them after the other."""
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t n_panels = (n_varying + panel - 1) // panel, stop, top
    while start < end:
        stop, top = min(end, start + at_once), 0
        while top < stop - start:
            pack_part(X, Y, start, top, min(in_block, stop - start - top), root, runs, n_runs,
                      n_panels * panel, near, line, packed, lists)
            top += in_block
        multiply(start, stop, 0, n_panels, 0, n_panels, n_varying, n_panels * panel, packed, lists,
                 root, codes, S, sums, stride)
        start = stop


cdef void multiply(Py_ssize_t start, Py_ssize_t stop, Py_ssize_t first_panel,
                   Py_ssize_t last_panel, Py_ssize_t first, Py_ssize_t last,
                   Py_ssize_t n_varying, Py_ssize_t width, const floating* packed,
                   const uint16_t* lists, const floating* root, const int64_t* codes, double* S,
                   double* sums, Py_ssize_t stride) noexcept nogil:
    """Multiply some panels with a group of them, first..last, on or below the diagonal."""
    cdef Py_ssize_t b, top, rows
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    while start < stop:
        rows = min(in_block, stop - start)
        for b in range(first_panel, min(last_panel, last)):
            top = max(b, first)
            products(rows, packed, lists, b, top * panel, min(last * panel, n_varying), S, stride)
            if top == b:
                column_sums(rows, packed + b * in_block * panel,
                            root + start if root != NULL else NULL,
                            codes + start if codes != NULL else NULL, sums + b * panel, stride)
        packed = packed + in_block * width
        if lists != NULL:
            lists = lists + width // step_of_columns * (in_block + 1)
        start = start + in_block


def centred(const double[:, ::1] S, const double[::1] mean, double total,
            const int64_t[::1] columns, double[:, ::1] out, /):
    """out[columns[i], columns[j]] = S[i, j] - total mean_i mean_j, on both sides of the diagonal.

    Of S the lower triangle is read.
    """
    cdef Py_ssize_t n_varying = columns.shape[0]
    cdef Py_ssize_t i, j, top, left
    cdef double value
    with nogil:
        for top in range((n_varying + TILE - 1) // TILE):
            for left in range(top + 1):
                for i in range(top * TILE, min(n_varying, (top + 1) * TILE)):
                    for j in range(left * TILE, min(i + 1, (left + 1) * TILE)):
                        value = S[i, j] - total * (mean[i] * mean[j])
                        if i == j:
                            value = max(value, 0.0)
                        out[columns[i], columns[j]] = value
                        out[columns[j], columns[i]] = value
