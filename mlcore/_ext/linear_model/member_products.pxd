"""Products of columns with those that came before. Inline, so that no call crosses a module.

Entries of sparse columns are listed by rows; rows that the last column does not have are not read.
F. G. Gustavson, *Two fast algorithms for sparse matrices*, 1978.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from mlcore._ext.linear_model.columns cimport Columns
from mlcore._ext.shared.blas cimport gemm_nt

cdef enum:
    SHORTEST = 4  # list
    AHEAD = 8     # entries whose lists are asked for before they are read

cdef extern from *:
    """
    /* Ask for memory that is to be read. */
    static inline void ask_to_read(const void *at) { __builtin_prefetch(at); }
    """
    void ask_to_read(const void* at) noexcept nogil


cdef struct RowLists:
    int64_t* starts     # (n,) of the lists
    int64_t* lengths    # (n,)
    int32_t* places     # of the columns of entries, in the order in which they came
    double* values
    int64_t* count      # of columns
    int64_t* used       # entries of `places` and `values`, with the room of lists


cdef inline void add_products(const Columns* Z, const Py_ssize_t* members, Py_ssize_t before,
                              Py_ssize_t count, double* packed, RowLists* lists, double* G,
                              Py_ssize_t width) noexcept nogil:
    """Set rows and columns of G from member `before` on; `packed` (width, n) has dense members."""
    cdef Py_ssize_t i, j, n = Z.n
    if Z.sparse:
        while lists.count[0] < count:
            j = lists.count[0]
            list_column(Z, members[j], lists)
            if j >= before:
                products_of_last(Z, members, lists, G + j * width)
    else:
        for j in range(before, count):
            memcpy(packed + j * n, Z.dense + members[j] * n, n * sizeof(double))
        gemm_nt(<int> (count - before), <int> count, <int> n, <double> 1, packed + before * n,
                <int> n, packed, <int> n, <double> 0, G + before * width, <int> width)
    for j in range(before, count):
        for i in range(j):
            G[i * width + j] = G[j * width + i]


cdef inline void list_column(const Columns* Z, Py_ssize_t j, RowLists* lists) noexcept nogil:
    """Add the entries of a column.

    A list whose length is a power of two is full: it moves to a place of twice the length.
    """
    cdef Py_ssize_t i
    cdef int64_t at, length, to
    for at in range(Z.indptr[j], Z.indptr[j + 1]):
        i = Z.indices[at]
        length = lists.lengths[i]
        if length == 0 or (length >= SHORTEST and length & (length - 1) == 0):
            to = lists.used[0]
            memcpy(lists.places + to, lists.places + lists.starts[i], length * sizeof(int32_t))
            memcpy(lists.values + to, lists.values + lists.starts[i], length * sizeof(double))
            lists.starts[i] = to
            lists.used[0] += max(2 * length, <int64_t> SHORTEST)
        to = lists.starts[i] + length
        lists.places[to], lists.values[to] = <int32_t> lists.count[0], Z.values[at]
        lists.lengths[i] += 1
    lists.count[0] += 1


cdef inline void products_of_last(const Columns* Z, const Py_ssize_t* columns,
                                  const RowLists* lists, double* products) noexcept nogil:
    """Set the products (count,) of the last listed column with all of `columns` (count,)."""
    cdef Py_ssize_t i, j = columns[lists.count[0] - 1]
    cdef int64_t at, k
    cdef double value, mean = Z.mean[j] * Z.total  # its product with the root
    cdef const int32_t* places
    cdef const double* values
    memset(products, 0, lists.count[0] * sizeof(double))
    for at in range(Z.indptr[j], Z.indptr[j + 1]):
        if at + AHEAD < Z.indptr[j + 1]:
            k = lists.starts[Z.indices[at + AHEAD]]
            ask_to_read(lists.places + k)
            ask_to_read(lists.values + k)
            ask_to_read(lists.values + k + 8)
        i, value = Z.indices[at], Z.values[at]
        places, values = lists.places + lists.starts[i], lists.values + lists.starts[i]
        for k in range(lists.lengths[i]):
            products[places[k]] += value * values[k]
    for i in range(lists.count[0]):
        products[i] -= Z.mean[columns[i]] * mean
