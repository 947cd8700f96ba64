"""How many OpenMP threads a loop may use here; 1 where the build has no OpenMP."""

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
    """The limit of OMP_NUM_THREADS or of threadpoolctl for the calling thread."""
    return omp_get_max_threads()
