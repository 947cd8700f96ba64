"""A working set's small problem and the state of its descent, for loops that own many of them."""
from libc.stdint cimport int8_t, int64_t

from mlcore._ext.simd cimport smo_working_set


cdef enum outcome:
    ENDED
    GOES_ON
    NEEDS_ROOM  # H is too small for the face


cdef struct descent:
    smo_working_set s  # its G, up and low are scratch in the precision of K
    double* G          # K beta + q
    double tol
    int64_t left       # pair steps that may still be made
    int64_t made       # pair steps and faces
    int64_t whole      # faces whose step was taken whole
    int n_threads
    double* H          # scratch, room²
    Py_ssize_t room    # a face of more variables waits for a larger H,
    Py_ssize_t limit   # of still more is not tried
    Py_ssize_t n       # slots, in use or not
    double* wide       # scratch, 6 n
    int64_t* slots     # scratch, 2 n
    int8_t* marks      # scratch, 2 n
    int64_t since      # pair steps since the last face
    int failures, rounds
    double total[2]


cdef void begin(descent* d) noexcept nogil
cdef outcome advance_f(descent* d) noexcept nogil
cdef outcome advance_d(descent* d) noexcept nogil
