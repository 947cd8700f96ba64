"""Dual problem of few variables on one principal submatrix of K, for other loops."""
from cython cimport floating
from libc.stdint cimport int8_t, int64_t

cdef enum:
    LINE = 16
    WIDE = 14      # vectors of scratch of a problem: float64,
    INTEGERS = 4   # int64,
    MARKS = 3      # int8,
    SINGLE = 4     # and as K; as in mlcore.svm.smo.small_problem


cdef struct small_problem:
    Py_ssize_t size       # slots: variables, and some that cannot move
    Py_ssize_t padded     # room for slots
    Py_ssize_t second     # the first slot of group 1
    double* beta
    double* product       # K beta
    double* linear
    double* lower
    double* upper
    double* trial         # beta of the descent
    double* kept          # beta before a refinement, and of the start
    double* gradient
    double* wide          # scratch of the descent, 6 padded
    int64_t* slots        # 2 padded
    int8_t* marks         # 2 padded
    int8_t* group
    Py_ssize_t stride     # of the submatrix of K
    void* diagonal        # of that submatrix
    void* face            # scratch, room²
    void* single          # scratch, 3 padded
    Py_ssize_t room
    double epsilon
    double violation
    double multiplier[2]
    int64_t steps


cdef void lay_out(small_problem* p, Py_ssize_t padded, double* wide, int64_t* slots,
                  int8_t* marks) noexcept nogil
cdef int64_t adopt(small_problem* p, const floating* submatrix,
                   const double* values) noexcept nogil
cdef void solve(small_problem* p, const floating* submatrix, double tol, bint exact,
                int64_t max_steps) noexcept nogil
cdef void round_to_bounds(small_problem* p) noexcept nogil
cdef void start_with_sums(small_problem* p, const floating* submatrix,
                          const double* total) noexcept nogil
cdef void refine(small_problem* p, const floating* submatrix, double tol) noexcept nogil
