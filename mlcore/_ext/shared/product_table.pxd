"""A dense matrix times a few vectors."""
from cython cimport floating

cdef extern from "shared/product.h" nogil:
    void product_f "product_table->f"(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t,
                                      const float*, Py_ssize_t, float*)
    void product_d "product_table->d"(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t,
                                      const double*, Py_ssize_t, double*)
    void product_widened "product_table->widened"(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t,
                                                  const double*, Py_ssize_t, double*)


cdef inline void product(Py_ssize_t n_rows, Py_ssize_t n, const floating* K, Py_ssize_t stride,
                         const double* V, Py_ssize_t width, double* out) noexcept nogil:
    if floating is float:
        product_widened(n_rows, n, K, stride, V, width, out)
    else:
        product_d(n_rows, n, K, stride, V, width, out)
