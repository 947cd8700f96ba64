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
from libc.string cimport memcpy, memset

from mlcore._ext.simd.scatter cimport (
    SCATTER_ROWS_d, SCATTER_ROWS_f, column_sums, list_rows, pack, panel_d, panel_f, products,
    step_of_columns, strip_d, strip_f,
)

cdef enum:
    GROUP = 24192  # values: columns of a block that stay in the second cache
    ALONE = 1 << 15  # values packed by one thread: .93 of the time of 1 << 17 at 160 columns
    TOGETHER = 1 << 20  # by several, which wait for each other: .8 of 1 << 18 on a busy processor
    PANELS = 4  # that a thread multiplies with a group, so that it is read again from the cache
    LONG = 48  # columns side by side, packed without a copy: .9 of the time at 160 columns
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


cdef Py_ssize_t add_varying(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                            Py_ssize_t stop, const floating[::1] first, int64_t* rest,
                            Py_ssize_t n_rest, int64_t* same) noexcept nogil:
    """Move the columns of `rest`, sorted, that differ from `first` in rows start..stop to its
    front; return their number. `same` is scratch as large.
    """
    cdef Py_ssize_t p = X.shape[1], n_same = n_rest, i, t, kept, new = 0
    cdef int64_t j
    cdef floating x
    memcpy(same, rest, n_rest * sizeof(int64_t))
    for i in range(start, stop):
        kept = 0
        for t in range(n_same):
            j = same[t]
            x = X[i, j] if j < p else Y[i, j - p]
            same[kept] = j
            kept += x == first[j]
        n_same = kept
        if n_same == 0:
            break
    kept = 0
    for t in range(n_rest):
        if kept < n_same and rest[t] == same[kept]:
            kept += 1
        else:
            rest[new] = rest[t]
            new += 1
    memcpy(rest + new, same, n_same * sizeof(int64_t))
    return new


cdef Py_ssize_t find_runs(const int64_t* columns, Py_ssize_t n, Py_ssize_t p,
                          int64_t* runs) noexcept nogil:
    """Cut columns into runs that lie side by side in X or in Y: (first, length) in `runs`."""
    cdef Py_ssize_t n_runs = 0, t
    for t in range(n):
        if t > 0 and columns[t] == columns[t - 1] + 1 and columns[t] != p:
            runs[2 * n_runs - 1] += 1
        else:
            runs[2 * n_runs] = columns[t]
            runs[2 * n_runs + 1] = 1
            n_runs += 1
    return n_runs


cdef void pack_rows(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                    Py_ssize_t rows, const floating* root, const int64_t* runs,
                    Py_ssize_t n_runs, Py_ssize_t width, const floating* near, floating* line,
                    floating* strips) noexcept nogil:
    """Pack rows: long runs of columns from where they are, all others from a copy in `line`."""
    cdef Py_ssize_t p = X.shape[1], i, r, at, j, length, head, body, packed
    cdef Py_ssize_t strip = strip_f if floating is float else strip_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef const floating* source
    cdef floating* to
    cdef floating w
    for i in range(rows):
        to = strips + i * strip
        w = <floating> 1 if root == NULL else root[i]
        at = packed = 0
        for r in range(n_runs):
            j, length = runs[2 * r], runs[2 * r + 1]
            source = &X[start + i, j] if j < p else &Y[start + i, j - p]
            head, body = length, 0
            if length >= max(LONG, 2 * strip):
                head = (strip - at % strip) % strip
                body = (length - head) // strip * strip
            memcpy(line + at, source, head * sizeof(floating))
            if body > 0:
                at += head
                pack(at - packed, line + packed, near + packed, w, to + packed * in_block)
                pack(body, source + head, near + at, w, to + at * in_block)
                at += body
                packed = at
                head = length - head - body
                memcpy(line + at, source + length - head, head * sizeof(floating))
            at += head
        pack(width - packed, line + packed, near + packed, w, to + packed * in_block)


cdef Py_ssize_t begin_rows(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                           Py_ssize_t stop, const floating[::1] first, floating[::1] near,
                           int64_t[::1] columns, Py_ssize_t n_varying, bint begun,
                           int64_t[::1] runs, floating[::1] packed_near,
                           Py_ssize_t* n_runs) noexcept nogil:
    """Find the columns that vary, up to rows start..stop, and how to pack them; return how many."""
    cdef Py_ssize_t d = columns.shape[0], t, new = 0
    if n_varying < d:
        new = add_varying(X, Y, start, stop, first, &columns[n_varying], d - n_varying, &runs[0])
        if begun:
            for t in range(n_varying, n_varying + new):
                near[columns[t]] = first[columns[t]]
    n_runs[0] = find_runs(&columns[0], n_varying + new, X.shape[1], &runs[0])
    memset(&packed_near[0], 0, packed_near.shape[0] * sizeof(floating))
    for t in range(n_varying + new):
        packed_near[t] = near[columns[t]]
    return n_varying + new


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


cdef void pack_part(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                    Py_ssize_t top, Py_ssize_t rows, const floating* root, const int64_t* runs,
                    Py_ssize_t n_runs, Py_ssize_t width, const floating* near, floating* line,
                    floating* packed, uint16_t* lists) noexcept nogil:
    """Pack some rows of one block, the first of them `top` rows after the first packed."""
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t strip = strip_f if floating is float else strip_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t b
    packed = packed + top // in_block * in_block * width
    pack_rows(X, Y, start + top, rows, root + start + top if root != NULL else NULL, runs, n_runs,
              width, near, line, packed + top % in_block * strip)
    if lists != NULL:  # of whole blocks
        lists = lists + top // in_block * (width // step_of_columns * (in_block + 1))
        for b in range(width // panel):
            list_rows(rows, packed + b * in_block * panel,
                      lists + b * panel // step_of_columns * (in_block + 1))


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
