"""Number of OpenMP threads that a loop may use; 1 if the build has no OpenMP."""

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static int omp_get_max_threads(void) { return 1; }
    #endif
    """
    int omp_get_max_threads() noexcept nogil


def max_threads():
    """Return the limit that OMP_NUM_THREADS or threadpoolctl sets for the calling thread."""
    return omp_get_max_threads()
