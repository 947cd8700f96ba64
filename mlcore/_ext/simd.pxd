"""The vectorised loops of simd/, chosen for the processor at run time."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t


cdef extern from "simd/table.h" nogil:
    enum:
        SYMMETRIC_PRODUCT
        SYMMETRIC_POSITIVE
        SYMMETRIC_ACTIVE
    enum:
        PANEL_FLOAT
        PANEL_DOUBLE
        MIX_BATCH
        BIT_GROUP
    ctypedef struct kernel_spec:
        int kind
        int degree
        double gamma
        double coef0
    ctypedef struct smo_working_set:
        int n_spans
        int group[4]
        int64_t begin[4]
        int64_t end[4]
        int64_t stride
        const void* K
        void* G
        void* up
        void* low
        const void* diagonal
        double* beta
        const double* lower
        const double* upper
        double epsilon
        double violation
    ctypedef struct latent_class_entries:
        Py_ssize_t stride
        const int32_t* runs
        const int32_t* rows
        const void* counts
        const void* own
        const void* members
        double* own_sums
        double* sums
    ctypedef struct simd_copies:
        Py_ssize_t rows
        Py_ssize_t columns
        Py_ssize_t from_stride
        Py_ssize_t stride
        Py_ssize_t at
        const void* source "from"
        void* out
        const int64_t* dest
    enum:
        GAUSSIAN_FULL
        GAUSSIAN_TIED
        GAUSSIAN_DIAGONAL
        GAUSSIAN_SPHERICAL
        GAUSSIAN_ROWS
        GAUSSIAN_PIECE
        GAUSSIAN_FEW
    Py_ssize_t GAUSSIAN_LISTS(Py_ssize_t k)
    Py_ssize_t GAUSSIAN_KEPT(int kind, Py_ssize_t d)
    ctypedef struct gaussian_mixture:
        int kind
        Py_ssize_t d
        Py_ssize_t k
        const double* constants
        const void* means
        const void* factors
        const void* centres
        const void* origin
        const void* rotation
        const void* apart
    enum:
        LLOYD_GROUPS
        LLOYD_BATCH
        LLOYD_SCRATCH
    ctypedef struct lloyd_pass:
        Py_ssize_t d
        Py_ssize_t stride
        int n_groups
        int first
        double slack
        const void* X
        const void* norms
        const void* centers
        const void* groups
        const void* half_norms
        const void* places
        const int32_t* home
        const double* weights
        const float* away
        const float* near
        const float* drift
        const float* apart
        int32_t* labels
        float* upper
        float* lower
        float* bounds
        Py_ssize_t n
        Py_ssize_t k
        Py_ssize_t width
        double error
        double farthest
        double single_error
        double single_farthest
        const float* single_centers
        const float* single_halves
        const double* origin
        const float* passed
        const float* limits
        float* gaps
        int filtered
    enum:
        MEDOID_VALUES
        MEDOID_SQUARES
        MEDOID_ROOTS
        MEDOID_PRODUCTS
        MEDOID_FOURTHS
    ctypedef struct medoid_pass:
        int form
        Py_ssize_t n
        Py_ssize_t k
        const void* near
        const void* second
        const void* limits
        const void* norms
        const double* weights
        const int32_t* labels
        const double* removal
    ctypedef struct row_share:
        pass
    ctypedef struct sparse_rows:
        Py_ssize_t n_components
        Py_ssize_t stride
        Py_ssize_t length
        const int64_t* indptr
        const int32_t* columns
        const double* values
        const double* weights
        const double* start
        const double* table
        uint64_t* near
        double* bounds
        double start_rise
        const double* rises
        const double* trials
        int32_t* alone
        Py_ssize_t held
        const double* start_lacks
        const double* lacks
    enum:
        LINKAGE_SINGLE
        LINKAGE_COMPLETE
        LINKAGE_AVERAGE
        LINKAGE_WEIGHTED
        LINKAGE_WARD
        LINKAGE_CENTROID
        LINKAGE_MEDIAN
        LINKAGE_QUERIES
    ctypedef struct span_tree:
        Py_ssize_t left
        Py_ssize_t last
        Py_ssize_t d
        Py_ssize_t m
        double slack
        double growth
        const double* X
        float* panels
        float* query
        float* limit
        double* key
        int64_t* nearest
        int64_t* name
        int32_t* found
    ctypedef struct cluster_set:
        int kind
        Py_ssize_t n
        Py_ssize_t d
        double slack
        const int64_t* start
        const double* points
        const double* centres
        const double* panels
        const double* spread
        const double* radius
    ctypedef struct cluster_matrix:
        int kind
        Py_ssize_t m
        Py_ssize_t stride
        Py_ssize_t left
        Py_ssize_t next
        Py_ssize_t at
        double* D
        double* gone
        double* size
        double* value
        int32_t* nearest
        int32_t* first
        int32_t* second
        uint8_t* stale
        int64_t* name
        double* na
        double* nb
        double* apart
        double* row
        double* both
        double* x
        double* y
    ctypedef struct float_loops "simd_loops_float":
        void (*panel)(const kernel_spec*, Py_ssize_t, Py_ssize_t, const int64_t*, const int64_t*,
                      const int32_t*, const float*, const float*, const float*, const float*, int,
                      float*, Py_ssize_t, const int64_t*, simd_copies*) noexcept nogil
        void (*transpose)(const float*, Py_ssize_t, Py_ssize_t, Py_ssize_t, float*,
                          Py_ssize_t) noexcept nogil
        void (*copy)(simd_copies*, int) noexcept nogil
        void (*finish)(const kernel_spec*, Py_ssize_t, float, const float*, float*) noexcept nogil
        void (*exponential)(Py_ssize_t, const float*, float*) noexcept nogil
        void (*accumulate)(Py_ssize_t, const int64_t*, const double*, const float*, Py_ssize_t,
                           Py_ssize_t, Py_ssize_t, double*) noexcept nogil
        int64_t (*smo)(smo_working_set*, double, int64_t) noexcept nogil
        void (*gaussian)(const gaussian_mixture*, Py_ssize_t, Py_ssize_t, const float*,
                         const float*, int32_t*, float*, double*, float*, float*) noexcept nogil
        double (*latent_class)(const latent_class_entries*, Py_ssize_t, Py_ssize_t) noexcept nogil
        int64_t (*bits)(Py_ssize_t, const float*, const uint8_t*, float, uint8_t*, int64_t*,
                        int*) noexcept nogil
        void (*lloyd)(const lloyd_pass*, Py_ssize_t, Py_ssize_t, float*, double*, double*,
                      int64_t*) noexcept nogil
        void (*lloyd_plain)(const lloyd_pass*, Py_ssize_t, Py_ssize_t, float*, double*, double*,
                            int64_t*, float*) noexcept nogil
        void (*own_distances)(Py_ssize_t, Py_ssize_t, const float*, const float*, const int32_t*,
                              double*) noexcept nogil
        void (*seed)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const float*, const float*, const double*,
                     float*, float*, double*) noexcept nogil
        double (*medoid_change)(const medoid_pass*, const float*, Py_ssize_t, double*,
                                int32_t*) noexcept nogil
        void (*mirrored)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t,
                         const float*, Py_ssize_t, double, double*, double*,
                         double*) noexcept nogil
        void (*shorten)(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t, const double*,
                        uint16_t*) noexcept nogil
        void (*rescale)(int, Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t, const double*,
                        const double*, float*, Py_ssize_t) noexcept nogil
        void (*symmetric)(int, Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t, const double*,
                          const double*, double*, double*, double*) noexcept nogil
        void (*product)(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t, const double*,
                        Py_ssize_t, double*) noexcept nogil
    ctypedef struct double_loops "simd_loops_double":
        void (*panel)(const kernel_spec*, Py_ssize_t, Py_ssize_t, const int64_t*, const int64_t*,
                      const int32_t*, const double*, const double*, const double*, const double*,
                      int, double*, Py_ssize_t, const int64_t*,
                      simd_copies*) noexcept nogil
        void (*transpose)(const double*, Py_ssize_t, Py_ssize_t, Py_ssize_t, double*,
                          Py_ssize_t) noexcept nogil
        void (*copy)(simd_copies*, int) noexcept nogil
        void (*finish)(const kernel_spec*, Py_ssize_t, double, const double*,
                       double*) noexcept nogil
        void (*exponential)(Py_ssize_t, const double*, double*) noexcept nogil
        void (*accumulate)(Py_ssize_t, const int64_t*, const double*, const double*, Py_ssize_t,
                           Py_ssize_t, Py_ssize_t, double*) noexcept nogil
        int64_t (*smo)(smo_working_set*, double, int64_t) noexcept nogil
        void (*gaussian)(const gaussian_mixture*, Py_ssize_t, Py_ssize_t, const double*,
                         const double*, int32_t*, double*, double*, double*, double*) noexcept nogil
        double (*latent_class)(const latent_class_entries*, Py_ssize_t, Py_ssize_t) noexcept nogil
        int64_t (*bits)(Py_ssize_t, const double*, const uint8_t*, double, uint8_t*, int64_t*,
                        int*) noexcept nogil
        void (*lloyd)(const lloyd_pass*, Py_ssize_t, Py_ssize_t, double*, double*, double*,
                      int64_t*) noexcept nogil
        void (*lloyd_plain)(const lloyd_pass*, Py_ssize_t, Py_ssize_t, double*, double*, double*,
                            int64_t*, float*) noexcept nogil
        void (*own_distances)(Py_ssize_t, Py_ssize_t, const double*, const double*, const int32_t*,
                              double*) noexcept nogil
        void (*seed)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*,
                     const double*, double*, double*, double*) noexcept nogil
        double (*medoid_change)(const medoid_pass*, const double*, Py_ssize_t, double*,
                                int32_t*) noexcept nogil
        void (*mirrored)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t,
                         const double*, Py_ssize_t, double, double*, double*,
                         double*) noexcept nogil
        void (*shorten)(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, const double*,
                        uint16_t*) noexcept nogil
        void (*rescale)(int, Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, const double*,
                        const double*, double*, Py_ssize_t) noexcept nogil
        void (*symmetric)(int, Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, const double*,
                          const double*, double*, double*, double*) noexcept nogil
        void (*product)(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, const double*,
                        Py_ssize_t, double*) noexcept nogil
    ctypedef struct simd_loops:
        float_loops f
        double_loops d
        double (*expect)(const sparse_rows*, Py_ssize_t, Py_ssize_t, double*, double*, double*,
                         double*, double*) noexcept nogil
        double (*responsibilities)(const sparse_rows*, Py_ssize_t, Py_ssize_t, double*, row_share*,
                                   double*) noexcept nogil
        void (*add_rows)(const sparse_rows*, Py_ssize_t, Py_ssize_t, const double*,
                         const row_share*, Py_ssize_t, Py_ssize_t, double*) noexcept nogil
        void (*mixture_table)(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                              Py_ssize_t, const double*, int, double*,
                              double*) noexcept nogil
        void (*mixture_shares)(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                               Py_ssize_t, const double*, double, const double*, Py_ssize_t,
                               double*) noexcept nogil
        void (*mixture_advance)(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                                Py_ssize_t, double, const double*, double*, double*, double*,
                                double*) noexcept nogil
        void (*symmetric_short)(int, Py_ssize_t, Py_ssize_t, const uint16_t*, Py_ssize_t,
                                const float*, const float*, float*, float*,
                                float*) noexcept nogil
        Py_ssize_t (*grow_tree)(span_tree*, Py_ssize_t, int64_t*, double*) noexcept nogil
        void (*nearest_clusters)(const cluster_set*, Py_ssize_t, const int64_t*, int32_t*, double*,
                                 int64_t*, double*) noexcept nogil
        void (*cluster_row)(const cluster_set*, const double*, Py_ssize_t, double*,
                            double*) noexcept nogil
        void (*square_tile)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*,
                            Py_ssize_t, double*) noexcept nogil
        Py_ssize_t (*merge_nearest)(cluster_matrix*, int64_t*, double*) noexcept nogil
        double (*apart)(Py_ssize_t, const double*, const double*) noexcept nogil
        const char* name
    const simd_loops* simd_table()
