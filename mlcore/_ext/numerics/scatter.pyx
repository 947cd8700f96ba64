"""Hot loops of mlcore.numerics.scatter: products of the columns of rows with each other.

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

from mlcore._ext.numerics.scatter_packing cimport FEW, begin_rows, multiply_few, pack_part
from mlcore._ext.shared.signals cimport add_to, rest
from mlcore._ext.numerics.scatter_h cimport (
    SCATTER_ROWS_d, SCATTER_ROWS_f, column_sums, panel_d, panel_f, products, step_d,
)

cdef enum:
    GROUP = 24192  # values: columns of a block that stay in the second cache
    ALONE = 1 << 15  # values packed by one thread: .93 of the time of 1 << 17 at 160 columns
    TOGETHER = 1 << 22  # bytes, by several: less is quicker alone, and slower on a busy processor
    CHUNKS = 4  # that these hold: one is packed, one ready, one multiplied, and one nearly done
    PANELS = 4  # that a thread multiplies with a group, so that it is read again from the cache
    TILE = 32
    LINES = 42  # rows that a thread packs: they divide a block

cdef struct turns:  # progress of the threads, in counters that only grow
    int chunks  # CHUNKS, or 1
    Py_ssize_t task  # the next one
    Py_ssize_t begun  # chunks
    Py_ssize_t packed[CHUNKS]  # parts, of all chunks that were in this place
    Py_ssize_t multiplied[CHUNKS]  # tasks, of these
    Py_ssize_t* added  # (tasks,) chunks
    Py_ssize_t n_varying[CHUNKS + 1]
    Py_ssize_t n_runs[CHUNKS + 1]


def rows_of_block(int itemsize, /):
    """Return the number of rows in a block."""
    return SCATTER_ROWS_f if itemsize == 4 else SCATTER_ROWS_d


def panel_width(int itemsize, /):
    """Return the number of columns in a panel."""
    return panel_f if itemsize == 4 else panel_d


def values_of_lists(int itemsize, Py_ssize_t width, /):
    """Return the number of values in the lists of rows of a block, `width` columns wide."""
    return width // step_d * (rows_of_block(itemsize) + 1)


def blocks_at_once(int itemsize, Py_ssize_t width, bint together, /):
    """Return the number of blocks of a chunk: packed together, and in cache when multiplied."""
    cdef Py_ssize_t values = TOGETHER // itemsize if together else ALONE
    return max(1, values // (rows_of_block(itemsize) * width))


def chunks_at_once(bint together, /):
    """Return the number of chunks that are packed at a time."""
    return CHUNKS if together else 1


def tasks_of_chunk(int itemsize, Py_ssize_t width, /):
    """Return the number of tasks into which the products of a chunk are cut."""
    return tasks_of(width // panel_width(itemsize), rows_of_block(itemsize), panel_width(itemsize))


cdef Py_ssize_t tasks_of(Py_ssize_t n_panels, Py_ssize_t in_block, Py_ssize_t panel) noexcept nogil:
    cdef Py_ssize_t in_group = GROUP // in_block // panel
    return (n_panels + in_group - 1) // in_group * ((n_panels + PANELS - 1) // PANELS)


def add_rows(const floating[:, ::1] X, const floating[:, ::1] Y, const floating[::1] root,
             const int64_t[::1] codes, const floating[::1] first, floating[::1] near,
             int64_t[::1] columns, Py_ssize_t n_varying, int64_t[:, ::1] runs, double[:, :, ::1] S,
             double[:, :, ::1] sums, floating[:, ::1] packed_near, floating[:, ::1] lines,
             floating[::1] packed, uint16_t[::1] lists, Py_ssize_t[::1] added, Py_ssize_t blocks,
             int n_threads, /):
    """Add products and sums of w (x - near) for rows x; return the number of columns that vary.

    `columns` (d,) holds first those that differ from `first` (d,), which are the order of S and
    sums, and then all others, sorted. `near` (d,) is set to `first` where a column begins to vary
    after the first rows, as S and sums have nothing of it. `root` (n,) or (0,) are the roots of
    the weights, `codes` (n,) or (0,) the rows of `sums`. S (groups, width, width), of which the
    lower triangle is used, sums (groups, c, width), width being whole panels. One group is added
    by all threads in turns; of more, each is added by one of them, which waits for no other.

    Scratch: lines (n_threads, width); for each thread, or for each of the chunks of one group,
    packed (blocks rows_of_block width,) and lists (blocks values_of_lists,), or (0,) for none; runs
    (chunks + 1, 2 d) and packed_near (chunks + 1, width); added (tasks_of_chunk,) zeros.
    """
    cdef Py_ssize_t n = X.shape[0], groups = S.shape[0], group, n_runs = 0, _worker, start
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t rows = ((n + in_block - 1) // in_block + groups - 1) // groups * in_block
    cdef Py_ssize_t of_packed = packed.shape[0] // n_threads, of_lists = lists.shape[0] // n_threads
    cdef uint16_t* list_of = &lists[0] if lists.shape[0] > 0 else NULL
    cdef const floating* w = &root[0] if root.shape[0] > 0 else NULL
    cdef const int64_t* code = &codes[0] if codes.shape[0] > 0 else NULL
    cdef turns turn
    with nogil:
        memset(&lines[0, 0], 0, lines.shape[0] * lines.shape[1] * sizeof(floating))
        if groups > 1:
            n_varying = begin_rows(X, Y, 0, n, first, near, columns, n_varying, n_varying > 0,
                                   runs[0], packed_near[0], &n_runs)
            for group in prange(groups, num_threads=n_threads, schedule="dynamic"):
                add_alone(X, Y, group * rows, min(n, (group + 1) * rows), blocks * in_block, w,
                          code, &runs[0, 0], n_runs, &columns[0], n_varying, &packed_near[0, 0],
                          &lines[threadid(), 0], &packed[threadid() * of_packed],
                          list_of + threadid() * of_lists if list_of != NULL else NULL,
                          &S[group, 0, 0], &sums[group, 0, 0], S.shape[2])
        else:
            memset(&turn, 0, sizeof(turn))
            turn.chunks, turn.added = runs.shape[0] - 1, &added[0]
            turn.n_varying[turn.chunks] = n_varying
            for _worker in prange(n_threads, num_threads=n_threads, schedule="static"):
                add_in_turns(X, Y, blocks * in_block, w, code, first, near, columns, runs,
                             packed_near, &lines[threadid(), 0], &packed[0], list_of, S, sums,
                             &turn)
            start = (n + blocks * in_block - 1) // (blocks * in_block) + turn.chunks
            n_varying = turn.n_varying[start % (turn.chunks + 1)]  # of the last chunk
    return n_varying


cdef void add_alone(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                    Py_ssize_t end, Py_ssize_t at_once, const floating* root, const int64_t* codes,
                    const int64_t* runs, Py_ssize_t n_runs, const int64_t* columns,
                    Py_ssize_t n_varying, const floating* near, floating* line, floating* packed,
                    uint16_t* lists, double* S, double* sums, Py_ssize_t stride) noexcept nogil:
    """Pack and multiply the rows of a group, `at_once` of them after the other."""
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t n_panels = (n_varying + panel - 1) // panel, stop, top, task
    while start < end and n_varying <= FEW:
        stop = min(end, start + in_block)
        if n_varying == 1:  # each compiled for its number
            multiply_few(X, Y, start, stop, root, codes, columns, 1, near, S, sums, stride)
        elif n_varying == 2:
            multiply_few(X, Y, start, stop, root, codes, columns, 2, near, S, sums, stride)
        elif n_varying == 3:
            multiply_few(X, Y, start, stop, root, codes, columns, 3, near, S, sums, stride)
        else:
            multiply_few(X, Y, start, stop, root, codes, columns, n_varying, near, S, sums, stride)
        start = stop
    while start < end:
        stop, top = min(end, start + at_once), 0
        while top < stop - start:
            pack_part(X, Y, start, top, min(in_block, stop - start - top), root, runs, n_runs,
                      n_panels * panel, near, line, packed, lists)
            top += in_block
        for task in range(tasks_of(stride // panel, in_block, panel)):
            multiply(start, stop, task, n_varying, packed, lists, root, codes, S, sums, stride)
        start = stop


cdef void add_in_turns(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t at_once,
                       const floating* root, const int64_t* codes, const floating[::1] first,
                       floating[::1] near, int64_t[::1] columns, int64_t[:, ::1] runs,
                       floating[:, ::1] packed_near, floating* line, floating* packed,
                       uint16_t* lists, double[:, :, ::1] S, double[:, :, ::1] sums,
                       turns* turn) noexcept nogil:
    """Do what is next, until all rows are added: the work of one of several threads.

    In turn t, chunk t + 1 is begun, t packed and t - 2 multiplied. What a task has to wait for
    lies so far back that others are seldom at work on it, even if one of them has lost its
    processor to another program for some milliseconds. A thread alone multiplies t.
    """
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t step = LINES if lists == NULL else in_block, n_parts = at_once // step
    cdef Py_ssize_t n_tasks = tasks_of(S.shape[2] // panel, in_block, panel), width
    cdef Py_ssize_t of_lists = S.shape[2] // step_d * (in_block + 1) * at_once // in_block
    cdef floating* to
    cdef uint16_t* list_to
    cdef Py_ssize_t n = X.shape[0], n_chunks = (n + at_once - 1) // at_once
    cdef Py_ssize_t chunks = turn.chunks, back = max(chunks - 2, 0), t, task, place, state, top
    cdef Py_ssize_t start
    while True:
        task = add_to(&turn.task, 1)  # from turn -1 on, in which chunk 0 is begun
        t, task = task // (1 + n_parts + n_tasks) - 1, task % (1 + n_parts + n_tasks)
        if task == 0:
            t = t + 1
            if t < n_chunks:
                begin_chunk(X, Y, t, at_once, n_tasks, first, near, columns, runs, packed_near,
                            turn)
            continue
        task = task - 1
        t = t if task < n_parts else t - back
        if t >= n_chunks:
            if task >= n_parts:
                return
            continue
        if t < 0:
            continue
        start, place, state = t * at_once, t % chunks, t % (chunks + 1)
        wait_for(&turn.begun, t + 1)
        to = packed + place * at_once * S.shape[2]
        list_to = lists + place * of_lists if lists != NULL else NULL
        if task < n_parts:
            top = task * step
            wait_for(&turn.multiplied[place], t // chunks * n_tasks)
            if start + top < n:
                width = (turn.n_varying[state] + panel - 1) // panel * panel
                pack_part(X, Y, start, top, min(step, n - start - top), root, &runs[state, 0],
                          turn.n_runs[state], width, &packed_near[state, 0], line, to, list_to)
            add_to(&turn.packed[place], 1)
        else:
            task = task - n_parts
            wait_for(&turn.packed[place], (t // chunks + 1) * n_parts)
            wait_for(&turn.added[task], t)
            multiply(start, min(n, start + at_once), task, turn.n_varying[state], to, list_to, root,
                     codes, &S[0, 0, 0], &sums[0, 0, 0], S.shape[2])
            add_to(&turn.added[task], 1)
            add_to(&turn.multiplied[place], 1)


cdef void begin_chunk(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t t,
                      Py_ssize_t at_once, Py_ssize_t n_tasks, const floating[::1] first,
                      floating[::1] near, int64_t[::1] columns, int64_t[:, ::1] runs,
                      floating[:, ::1] packed_near, turns* turn) noexcept nogil:
    """Find the columns of chunk t, when those of the last one are known and the place is free."""
    cdef Py_ssize_t chunks = turn.chunks, state = t % (chunks + 1), before = t - chunks - 1
    cdef Py_ssize_t known
    wait_for(&turn.begun, t)
    if before >= 0:
        wait_for(&turn.multiplied[before % chunks], (before // chunks + 1) * n_tasks)
    known = turn.n_varying[(t + chunks) % (chunks + 1)]
    turn.n_varying[state] = begin_rows(X, Y, t * at_once, min(X.shape[0], (t + 1) * at_once), first,
                                       near, columns, known, known > 0 or t > 0, runs[state],
                                       packed_near[state], &turn.n_runs[state])
    add_to(&turn.begun, 1)


cdef void wait_for(Py_ssize_t* counter, Py_ssize_t least) noexcept nogil:
    """Return when a counter, to which other threads add, is at least that large."""
    cdef Py_ssize_t looks = 0
    while add_to(counter, 0) < least:
        looks += 1
        if looks > 20000:
            rest()


cdef void multiply(Py_ssize_t start, Py_ssize_t stop, Py_ssize_t task, Py_ssize_t n_varying,
                   const floating* packed, const uint16_t* lists, const floating* root,
                   const int64_t* codes, double* S, double* sums, Py_ssize_t stride) noexcept nogil:
    """Multiply some panels with a group of them, on or below the diagonal."""
    cdef Py_ssize_t b, i, rows
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t in_group = GROUP // in_block // panel
    cdef Py_ssize_t n_panels = (n_varying + panel - 1) // panel
    cdef Py_ssize_t n_parts = (stride // panel + PANELS - 1) // PANELS
    cdef Py_ssize_t part = task % n_parts * PANELS, top = task // n_parts * in_group
    cdef Py_ssize_t last = min(top + in_group, n_panels)
    while start < stop:
        rows = min(in_block, stop - start)
        for b in range(part, min(part + PANELS, last)):
            i = max(b, top)
            products(rows, packed, lists, b, i * panel, min(last * panel, n_varying), S, stride)
            if i == b:
                column_sums(rows, packed + b * in_block * panel,
                            root + start if root != NULL else NULL,
                            codes + start if codes != NULL else NULL, sums + b * panel, stride)
        packed = packed + in_block * n_panels * panel
        if lists != NULL:
            lists = lists + n_panels * panel // step_d * (in_block + 1)
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
