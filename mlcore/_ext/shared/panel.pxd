"""Samples side by side."""
cdef extern from "shared/panel.h" nogil:
    enum:
        PANEL_FLOAT
        PANEL_DOUBLE
