"""Ctrl-C inside of a loop of which one item may take longer than a second."""

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept


cdef inline bint interrupted() noexcept nogil:
    """Return True, the exception being set, if a signal has come; Python's main thread is told."""
    with gil:
        return PyErr_CheckSignals() < 0


cdef inline int raise_interrupt() except -1:
    """Raise the exception that `interrupted` has set."""
    return -1
