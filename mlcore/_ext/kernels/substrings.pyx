"""Hot loop of mlcore.kernels.structured.substrings: common substrings of pairs of strings.

Of each row's string the suffix automaton is built, in O(|x|) steps; the strings of the columns are
then read through it, in O(1) steps a symbol. Strings are codes (total,) from offsets (n + 1,),
those that can match 0 ... n_symbols - 1; `total` (longest + 2,) has the cumulated weights of the
lengths 0, 1, 2, ... . A thread builds the automata of its rows in its row of `memory`.
"""
from cython.parallel cimport parallel, threadid
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.shared.signals cimport (
    add_to, items_of, leave_items, raise_interrupt, shared_items, take_item,
)
from mlcore._ext.kernels.suffix_automaton cimport (
    SIDE, automaton, build, forget_symbols, lay_out, read_side_by_side, read_through, set_symbols,
    set_table,
)

cdef struct task:  # rows and columns of a Gram matrix
    const int32_t* x
    const int64_t* x_offsets
    const int64_t* rows
    const int64_t* row_places
    const int32_t* y
    const int64_t* y_offsets
    const int64_t* columns
    const int64_t* column_places
    Py_ssize_t n, m, n_symbols, longest
    const double* total
    bint symmetric
    double* out


def automaton_bytes(Py_ssize_t longest, Py_ssize_t n_symbols, /):
    """Return the bytes of an automaton of strings of up to `longest` symbols."""
    cdef automaton a
    return lay_out(&a, NULL, longest, n_symbols)


cdef inline void set_value(const task* of, Py_ssize_t i, Py_ssize_t j, double value) noexcept nogil:
    of.out[of.row_places[i] * of.m + of.column_places[j]] = value
    if of.symmetric:
        of.out[of.column_places[j] * of.m + of.row_places[i]] = value


cdef void fill_rows(const task* of, shared_items* items, bint told, char* memory) noexcept nogil:
    """Fill the rows that a thread takes."""
    cdef automaton a
    cdef Py_ssize_t i, j, k, n
    cdef Py_ssize_t lengths[SIDE]
    cdef const int32_t* others[SIDE]
    cdef double values[SIDE]
    cdef const int32_t* x
    cdef int64_t start
    add_to(&items.working, 1)
    lay_out(&a, memory, of.longest, of.n_symbols)
    a.told, a.stop = told, &items.stop
    while take_item(items, &i):
        start = of.x_offsets[of.rows[i]]
        x, n = of.x + start, of.x_offsets[of.rows[i] + 1] - start
        set_symbols(&a, x, n)
        build(&a, n, of.total)
        if items.stop:
            break
        j = i if of.symmetric else 0
        if a.dense:
            set_table(&a)
        while j < of.m:
            if not a.dense:
                start = of.y_offsets[of.columns[j]]
                values[0] = read_through(&a, of.y + start, of.y_offsets[of.columns[j] + 1] - start,
                                         of.total)
                set_value(of, i, j, values[0])
                j += 1
                continue
            for k in range(SIDE):
                start = of.y_offsets[of.columns[min(j + k, of.m - 1)]]
                others[k] = of.y + start
                lengths[k] = of.y_offsets[of.columns[min(j + k, of.m - 1)] + 1] - start
            read_side_by_side(&a, others, lengths, of.total, values)
            for k in range(min(SIDE, of.m - j)):
                set_value(of, i, j + k, values[k])
            j += SIDE
        forget_symbols(&a, x, n)
    leave_items(items, told)


def products(const int32_t[::1] codes, const int64_t[::1] offsets, const int64_t[::1] rows,
             const int64_t[::1] row_places, const int32_t[::1] other_codes,
             const int64_t[::1] other_offsets, const int64_t[::1] columns,
             const int64_t[::1] column_places, Py_ssize_t n_symbols, const double[::1] total,
             Py_ssize_t longest, bint symmetric, Py_ssize_t first, Py_ssize_t last,
             double[:, ::1] out, char[:, ::1] memory, int n_threads, /):
    """Fill the values of rows first..last in their places of out (len(rows), len(columns)).

    With `symmetric`, rows and columns are the same, and the values of a row are set from the
    diagonal on, on both sides. `longest` is the largest length of a row's string; columns should be
    sorted by length. `memory` is (n_threads, automaton_bytes).
    """
    cdef task of
    cdef shared_items items = items_of(first, last)
    of.x = &codes[0] if codes.shape[0] > 0 else NULL
    of.y = &other_codes[0] if other_codes.shape[0] > 0 else NULL
    of.x_offsets, of.y_offsets, of.rows, of.columns = (
        &offsets[0], &other_offsets[0], &rows[0], &columns[0])
    of.row_places, of.column_places = &row_places[0], &column_places[0]
    of.n, of.m, of.n_symbols, of.longest = rows.shape[0], columns.shape[0], n_symbols, longest
    of.total, of.symmetric, of.out = &total[0], symmetric, &out[0, 0]
    with nogil, parallel(num_threads=n_threads):
        fill_rows(&of, &items, threadid() == 0, &memory[threadid(), 0])
    if items.stop:
        raise_interrupt()


cdef void fill_diagonal(const int32_t* x, const int64_t* offsets, const int64_t* rows,
                        Py_ssize_t n_symbols, const double* total, Py_ssize_t longest,
                        shared_items* items, bint told, double* out, char* memory) noexcept nogil:
    cdef automaton a
    cdef Py_ssize_t i, v, n
    cdef Py_ssize_t lengths[SIDE]
    cdef const int32_t* others[SIDE]
    cdef double values[SIDE]
    add_to(&items.working, 1)
    lay_out(&a, memory, longest, n_symbols)
    a.told, a.stop = told, &items.stop
    while take_item(items, &i):
        n = offsets[rows[i] + 1] - offsets[rows[i]]
        set_symbols(&a, x + offsets[rows[i]], n)
        build(&a, n, total)
        if items.stop:
            break
        if a.dense:
            set_table(&a)
            for v in range(SIDE):
                others[v], lengths[v] = x + offsets[rows[i]], 0
            lengths[0] = n
            read_side_by_side(&a, others, lengths, total, values)
            out[i] = values[0]
        else:
            out[i] = read_through(&a, x + offsets[rows[i]], n, total)
        forget_symbols(&a, x + offsets[rows[i]], n)
    leave_items(items, told)


def diagonal(const int32_t[::1] codes, const int64_t[::1] offsets, const int64_t[::1] rows,
             Py_ssize_t n_symbols, const double[::1] total, Py_ssize_t longest, Py_ssize_t first,
             Py_ssize_t last, double[::1] out, char[:, ::1] memory, int n_threads, /):
    """Fill first..last of out (len(rows),) with values of strings and themselves.

    `memory` is (n_threads, automaton_bytes).
    """
    cdef const int32_t* x = &codes[0] if codes.shape[0] > 0 else NULL
    cdef shared_items items = items_of(first, last)
    with nogil, parallel(num_threads=n_threads):
        fill_diagonal(x, &offsets[0], &rows[0], n_symbols, &total[0], longest, &items,
                      threadid() == 0, &out[0], &memory[threadid(), 0])
    if items.stop:
        raise_interrupt()
