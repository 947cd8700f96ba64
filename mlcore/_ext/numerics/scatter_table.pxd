"""Products of columns with each other, for the scatter of rows."""
from cython cimport floating
from libc.stdint cimport int64_t, uint16_t

cdef extern from "numerics/scatter.h" nogil:
    enum:
        SCATTER_ROWS_f
        SCATTER_ROWS_d
    const Py_ssize_t strip_f "scatter_table->f.strip"
    const Py_ssize_t strip_d "scatter_table->d.strip"
    const Py_ssize_t panel_f "scatter_table->f.panel"
    const Py_ssize_t panel_d "scatter_table->d.panel"
    const Py_ssize_t step_of_columns "scatter_table->d.step"
    void pack_f "scatter_table->f.pack"(Py_ssize_t, const float*, const float*, float, float*)
    void pack_d "scatter_table->d.pack"(Py_ssize_t, const double*, const double*, double, double*)
    void list_f "scatter_table->f.list"(Py_ssize_t, const float*, uint16_t*)
    void products_f "scatter_table->f.products"(Py_ssize_t, const float*, const uint16_t*,
                                                Py_ssize_t, Py_ssize_t, Py_ssize_t, double*,
                                                Py_ssize_t)
    void list_d "scatter_table->d.list"(Py_ssize_t, const double*, uint16_t*)
    void products_d "scatter_table->d.products"(Py_ssize_t, const double*, const uint16_t*,
                                                Py_ssize_t, Py_ssize_t, Py_ssize_t, double*,
                                                Py_ssize_t)
    void sums_f "scatter_table->f.sums"(Py_ssize_t, const float*, const float*, const int64_t*,
                                        double*, Py_ssize_t)
    void sums_d "scatter_table->d.sums"(Py_ssize_t, const double*, const double*, const int64_t*,
                                        double*, Py_ssize_t)


cdef inline void pack(Py_ssize_t width, const floating* line, const floating* near, floating root,
                      floating* strips) noexcept nogil:
    if floating is float:
        pack_f(width, line, near, root, strips)
    else:
        pack_d(width, line, near, root, strips)


cdef inline void list_rows(Py_ssize_t rows, const floating* panel,
                           uint16_t* lists) noexcept nogil:
    if floating is float:
        list_f(rows, panel, lists)
    else:
        list_d(rows, panel, lists)


cdef inline void products(Py_ssize_t rows, const floating* strips, const uint16_t* lists,
                          Py_ssize_t b, Py_ssize_t first, Py_ssize_t last, double* C,
                          Py_ssize_t stride) noexcept nogil:
    if floating is float:
        products_f(rows, strips, lists, b, first, last, C, stride)
    else:
        products_d(rows, strips, lists, b, first, last, C, stride)


cdef inline void column_sums(Py_ssize_t rows, const floating* panel, const floating* root,
                             const int64_t* codes, double* sums, Py_ssize_t stride) noexcept nogil:
    if floating is float:
        sums_f(rows, panel, root, codes, sums, stride)
    else:
        sums_d(rows, panel, root, codes, sums, stride)
