"""Products of columns with each other, for the scatter of rows."""
from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "simd/scatter.h" nogil:
    enum:
        SCATTER_ROWS_f
        SCATTER_ROWS_d
    const Py_ssize_t panel_f "scatter_table->f.panel"
    const Py_ssize_t panel_d "scatter_table->d.panel"
    void pack_f "scatter_table->f.pack"(Py_ssize_t, const float*, const float*, float, float*)
    void pack_d "scatter_table->d.pack"(Py_ssize_t, const double*, const double*, double, double*)
    void products_f "scatter_table->f.products"(Py_ssize_t, const float*, Py_ssize_t, Py_ssize_t,
                                                Py_ssize_t, double*, Py_ssize_t)
    void products_d "scatter_table->d.products"(Py_ssize_t, const double*, Py_ssize_t, Py_ssize_t,
                                                Py_ssize_t, double*, Py_ssize_t)
    void sums_f "scatter_table->f.sums"(Py_ssize_t, const float*, const float*, const int64_t*,
                                        double*, Py_ssize_t)
    void sums_d "scatter_table->d.sums"(Py_ssize_t, const double*, const double*, const int64_t*,
                                        double*, Py_ssize_t)


cdef inline void pack(Py_ssize_t width, const floating* line, const floating* near, floating root,
                      floating* panels) noexcept nogil:
    if floating is float:
        pack_f(width, line, near, root, panels)
    else:
        pack_d(width, line, near, root, panels)


cdef inline void products(Py_ssize_t rows, const floating* panels, Py_ssize_t b, Py_ssize_t first,
                          Py_ssize_t last, double* C, Py_ssize_t stride) noexcept nogil:
    if floating is float:
        products_f(rows, panels, b, first, last, C, stride)
    else:
        products_d(rows, panels, b, first, last, C, stride)


cdef inline void column_sums(Py_ssize_t rows, const floating* panel, const floating* root,
                             const int64_t* codes, double* sums, Py_ssize_t stride) noexcept nogil:
    if floating is float:
        sums_f(rows, panel, root, codes, sums, stride)
    else:
        sums_d(rows, panel, root, codes, sums, stride)
