"""Hot loop of mlcore.mixture.gaussian.e_step: one step of EM on blocks of rows that stay in cache.

For each row x: log2 p(x, j) = constants[j] - log2(e)/2 |(x - origin - means[j]) factors[j]|², and
responsibilities w p(j | x), those under 2^-64 w taken as 0; they are kept for a block only. Moments
are taken about `centres`. The rows are cut into as many parts as `moments` has rows, each part is
added to its row, and the caller sums these in order, so that threads never change a bit. At most
O(n k d²) time, or O(n k d) but for full covariances; less where components are far from each other.

Shapes, C order, checked by the caller: X (n, d); weight (n,) or (0,): all 1; constants (k,);
origin (d,), near the data's mean; means (k, d), from the origin; centres (k, d), with up to FEW
features from the origin too; factors (k, d, d), upper triangular, (k, d) or (k,). Tied covariances:
their factor is `rotation` (d, d), upper triangular, means are those of (x - origin) rotation, and
factors (k,) are 1. `directions` (k, k, d + 1), flat, or (0,): by which components of full
covariances are left out, see gaussian_density_loops.h.
`labels` (n,), in 0..k-1: the likeliest components, of the step before (any will do at first: they
only save work) and then of this one. A row of `moments`: log-likelihood, masses (k), first (k, d)
and second moments, (k, d, d) the upper half, or (k, d), or none when tied; no columns at all where
moments are not asked for. `density` (n,) or (0,) receives log p(x), `proba` (n, k) or (0, k) the
responsibilities.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.stdint cimport int32_t

from mlcore._ext.mixture.gaussian_h cimport (
    GAUSSIAN_DIAGONAL, GAUSSIAN_FEW, GAUSSIAN_FULL, gaussian_kept, gaussian_lists, GAUSSIAN_PIECE,
    GAUSSIAN_ROWS, GAUSSIAN_SPHERICAL, GAUSSIAN_TIED, gaussian, gaussian_mixture,
)
from mlcore._ext.shared.panel_h cimport PANEL_DOUBLE, PANEL_FLOAT

KINDS = {"full": GAUSSIAN_FULL, "tied": GAUSSIAN_TIED, "diag": GAUSSIAN_DIAGONAL,
         "spherical": GAUSSIAN_SPHERICAL}

ROWS, FEW = GAUSSIAN_ROWS, GAUSSIAN_FEW


def n_moments(int kind, Py_ssize_t k, Py_ssize_t d, /):
    """Return the number of values in a row of `moments`."""
    return 1 + k + k * d + (k * d * d if kind == GAUSSIAN_FULL else 0 if kind == GAUSSIAN_TIED
                            else k * d)


def scratch_size(int kind, Py_ssize_t k, Py_ssize_t d, int itemsize, /):
    """Return the number of values of scratch for a thread."""
    cdef Py_ssize_t panel = PANEL_FLOAT if itemsize == 4 else PANEL_DOUBLE
    cdef Py_ssize_t line = 64 // itemsize, side = (d + line - 1) // line * line
    cdef Py_ssize_t size = gaussian_lists(k) + (k + 2) * GAUSSIAN_ROWS
    size += (gaussian_kept(kind, d) + 1) * d * panel
    if kind == GAUSSIAN_FULL:
        size += (GAUSSIAN_PIECE + side + 1) * side
    return (size + line - 1) // line * line


def em_step(int kind, const floating[:, ::1] X, const floating[::1] weight,
            const double[::1] constants, const floating[:, ::1] means, const floating[::1] factors,
            const floating[:, ::1] centres, const floating[::1] origin,
            const floating[:, ::1] rotation, const floating[::1] directions, int32_t[::1] labels,
            double[:, ::1] moments, floating[::1] density, floating[:, ::1] proba,
            floating[:, ::1] scratch, int n_threads, /):
    """Fill what is asked for, and `labels`; factors flat; scratch (n_threads, scratch_size())."""
    cdef gaussian_mixture g
    cdef Py_ssize_t n = X.shape[0], n_parts = moments.shape[0], part, blocks, start, stop
    g.kind, g.d, g.k = kind, X.shape[1], means.shape[0]
    g.constants, g.means, g.factors = &constants[0], &means[0, 0], &factors[0]
    g.centres, g.origin, g.rotation = &centres[0, 0], &origin[0], &rotation[0, 0]
    g.directions = &directions[0] if directions.shape[0] > 0 else NULL
    blocks = (n + GAUSSIAN_ROWS - 1) // GAUSSIAN_ROWS
    for part in prange(n_parts, nogil=True, num_threads=n_threads, schedule="dynamic"):
        start = blocks * part // n_parts * GAUSSIAN_ROWS
        stop = min(n, blocks * (part + 1) // n_parts * GAUSSIAN_ROWS)
        em_part(&g, X, weight, labels, start, stop, part, moments, density, proba,
                &scratch[threadid(), 0])


cdef void em_part(const gaussian_mixture* g, const floating[:, ::1] X, const floating[::1] weight,
                  int32_t[::1] labels, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t part,
                  double[:, ::1] moments, floating[::1] density, floating[:, ::1] proba,
                  floating* scratch) noexcept nogil:
    cdef const floating* w = NULL
    cdef floating* p = NULL
    cdef floating* r = NULL
    cdef double* stats = NULL
    cdef Py_ssize_t rows, ahead
    if moments.shape[1] > 0:
        stats = &moments[part, 0]
    while start < stop:
        rows = min(GAUSSIAN_ROWS, stop - start)
        ahead = min(  # of the next part too, which may well be this thread's
            GAUSSIAN_ROWS, X.shape[0] - start - rows)
        if weight.shape[0] > 0:
            w = &weight[start]
        if density.shape[0] > 0:
            p = &density[start]
        if proba.shape[0] > 0:
            r = &proba[start, 0]
        gaussian(g, rows, ahead, &X[start, 0], w, &labels[start], scratch, stats, p, r)
        start = start + GAUSSIAN_ROWS


def column_sums(const floating[:, ::1] X, const double[::1] weight, const double[::1] pivot,
                double[:, :, ::1] sums, int n_threads, /):
    """Add sums of w (x - pivot) and of its squares, (chunks, 2, d), ROWS rows to a chunk."""
    cdef Py_ssize_t n = X.shape[0], chunk
    for chunk in prange((n + GAUSSIAN_ROWS - 1) // GAUSSIAN_ROWS, nogil=True,
                        num_threads=n_threads):
        chunk_sums(X, weight, pivot, chunk * GAUSSIAN_ROWS, min(n, (chunk + 1) * GAUSSIAN_ROWS),
                   &sums[chunk, 0, 0], &sums[chunk, 1, 0])


cdef void chunk_sums(const floating[:, ::1] X, const double[::1] weight,
                     const double[::1] pivot, Py_ssize_t start, Py_ssize_t stop, double* first,
                     double* second) noexcept nogil:
    cdef Py_ssize_t i, f, d = X.shape[1]
    cdef const floating* x
    cdef const double* c = &pivot[0]
    cdef double w = 1, t
    for i in range(start, stop):
        x = &X[i, 0]
        if weight.shape[0] > 0:
            w = weight[i]
        for f in range(d):
            t = x[f] - c[f]
            first[f] += w * t
            second[f] += w * t * t
