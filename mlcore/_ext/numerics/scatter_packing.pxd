"""Columns that vary, packed in strips or few as they are (mlcore/_ext/numerics/scatter.pyx)."""
from cython cimport floating
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy, memset

from mlcore._ext.numerics.scatter_h cimport (
    SCATTER_ROWS_d, SCATTER_ROWS_f, list_rows, pack, panel_d, panel_f, step_d, strip_d,
    strip_f,
)

cdef enum:
    LONG = 48  # columns side by side, packed without a copy: .9 of the time at 160 columns
    FEW = 4  # columns up to which products without panels, of 16 and more, take less time


cdef inline Py_ssize_t add_varying(const floating[:, ::1] X, const floating[:, ::1] Y,
                                   Py_ssize_t start, Py_ssize_t stop, const floating[::1] first,
                                   int64_t* rest, Py_ssize_t n_rest, int64_t* same) noexcept nogil:
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


cdef inline Py_ssize_t find_runs(const int64_t* columns, Py_ssize_t n, Py_ssize_t p,
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


cdef inline Py_ssize_t begin_rows(const floating[:, ::1] X, const floating[:, ::1] Y,
                                  Py_ssize_t start, Py_ssize_t stop, const floating[::1] first,
                                  floating[::1] near, int64_t[::1] columns, Py_ssize_t n_varying,
                                  bint begun, int64_t[::1] runs, floating[::1] packed_near,
                                  Py_ssize_t* n_runs) noexcept nogil:
    """Find the columns that vary, up to rows start..stop, and how to pack them; return how many.

    `near` is set to `first` where a column begins to vary when others have `begun`, or after the
    first block: chunks may be longer, and must not matter.
    """
    cdef Py_ssize_t d = columns.shape[0], t, middle = start, new
    if n_varying < d and not begun:
        middle = min(stop, start + (SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d))
        n_varying += add_varying(X, Y, start, middle, first, &columns[n_varying], d - n_varying,
                                 &runs[0])
    if n_varying < d:
        new = add_varying(X, Y, middle, stop, first, &columns[n_varying], d - n_varying, &runs[0])
        for t in range(n_varying, n_varying + new):
            near[columns[t]] = first[columns[t]]
        n_varying += new
    n_runs[0] = find_runs(&columns[0], n_varying, X.shape[1], &runs[0])
    memset(&packed_near[0], 0, packed_near.shape[0] * sizeof(floating))
    for t in range(n_varying):
        packed_near[t] = near[columns[t]]
    return n_varying


cdef inline void pack_rows(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                           Py_ssize_t rows, const floating* root, const int64_t* runs,
                           Py_ssize_t n_runs, Py_ssize_t width, const floating* near,
                           floating* line, floating* strips) noexcept nogil:
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


cdef inline void pack_part(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                           Py_ssize_t top, Py_ssize_t rows, const floating* root,
                           const int64_t* runs, Py_ssize_t n_runs, Py_ssize_t width,
                           const floating* near, floating* line, floating* packed,
                           uint16_t* lists) noexcept nogil:
    """Pack some rows of one block, the first of them `top` rows after the first packed."""
    cdef Py_ssize_t panel = panel_f if floating is float else panel_d
    cdef Py_ssize_t strip = strip_f if floating is float else strip_d
    cdef Py_ssize_t in_block = SCATTER_ROWS_f if floating is float else SCATTER_ROWS_d
    cdef Py_ssize_t b
    packed = packed + top // in_block * in_block * width
    pack_rows(X, Y, start + top, rows, root + start + top if root != NULL else NULL, runs, n_runs,
              width, near, line, packed + top % in_block * strip)
    if lists != NULL:  # of whole blocks
        lists = lists + top // in_block * (width // step_d * (in_block + 1))
        for b in range(width // panel):
            list_rows(rows, packed + b * in_block * panel,
                      lists + b * panel // step_d * (in_block + 1))


cdef inline void multiply_few(const floating[:, ::1] X, const floating[:, ::1] Y, Py_ssize_t start,
                              Py_ssize_t stop, const floating* root, const int64_t* codes,
                              const int64_t* columns, Py_ssize_t k, const floating* near, double* S,
                              double* sums, Py_ssize_t stride) noexcept nogil:
    """Multiply k columns of the rows of a block, up to `FEW`, without packing them."""
    cdef double of_pairs[FEW * FEW]
    cdef double of_columns[FEW]
    cdef floating z[FEW]
    cdef floating w = 1
    cdef Py_ssize_t p = X.shape[1], i, a, b
    memset(of_pairs, 0, sizeof(of_pairs))
    memset(of_columns, 0, sizeof(of_columns))
    for i in range(start, stop):
        if root != NULL:
            w = root[i]
        for a in range(k):
            z[a] = X[i, columns[a]] if columns[a] < p else Y[i, columns[a] - p]
            z[a] = (z[a] - near[a]) * w
            for b in range(a + 1):
                of_pairs[a * FEW + b] += <double> z[a] * z[b]
            if codes == NULL:
                of_columns[a] += <double> w * z[a]
            else:
                sums[codes[i] * stride + a] += <double> w * z[a]
    for a in range(k):
        sums[a] += of_columns[a]
        for b in range(a + 1):
            S[a * stride + b] += of_pairs[a * FEW + b]
