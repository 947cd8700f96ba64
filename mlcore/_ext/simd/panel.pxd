"""Samples side by side."""
cdef extern from "simd/panel.h" nogil:
    enum:
        PANEL_FLOAT
        PANEL_DOUBLE
