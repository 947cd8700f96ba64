"""Hot loops of mlcore.mixture.latent_class: expectation-maximisation on the non-zeros of counts.

Shapes, C order, checked by the caller: counts of n documents as CSR (`rows` (n + 1,), `words` and
`counts` (nnz,)); u (v, stride) holds P(word | component), t (n, stride) P(component | document),
components side by side and padded with zeros; u_sums and t_sums are the sums of the same shapes
that the M-step multiplies them by.

Documents are cut into chunks with a table of words' sums each, which are added in one order: how
many there are depends on the counts alone, so the bytes do not depend on the threads.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs, log
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.simd cimport latent_class_counts, simd_table

cdef double SMALLEST = 2.2250738585072014e-308  # normal: below, arithmetic is slow
cdef double SMALLEST_SINGLE = 1.1754943508222875e-38


def row_sums(const int64_t[::1] rows, const floating[::1] counts, double[::1] totals,
             int n_threads):
    """totals[d] = the sum of the counts of document d."""
    cdef Py_ssize_t d
    cdef int64_t i
    cdef double total
    for d in prange(totals.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        total = 0
        for i in range(rows[d], rows[d + 1]):
            total = total + counts[i]
        totals[d] = total


cdef latent_class_counts tables(const int64_t[::1] rows, const int32_t[::1] words,
                                const floating[::1] counts, const double[::1] weights,
                                const floating[:, ::1] u, const floating[:, ::1] t,
                                double[:, ::1] t_sums) noexcept nogil:
    cdef latent_class_counts s
    s.stride = u.shape[1]
    s.rows, s.weights = &rows[0], &weights[0]
    s.words, s.counts = NULL, NULL
    if words.shape[0] > 0:
        s.words, s.counts = &words[0], &counts[0]
    s.u, s.t, s.t_sums, s.u_sums = &u[0, 0], &t[0, 0], &t_sums[0, 0], NULL
    return s


cdef inline double visit(floating* which, const latent_class_counts* s, Py_ssize_t first,
                         Py_ssize_t last) noexcept nogil:
    if floating is float:
        return simd_table().f.latent_class(s, first, last)
    else:
        return simd_table().d.latent_class(s, first, last)


def expect(const int64_t[::1] rows, const int32_t[::1] words, const floating[::1] counts,
           const double[::1] weights, const floating[:, ::1] u, const floating[:, ::1] t,
           double[:, :, ::1] u_sums, double[:, ::1] t_sums, const int64_t[::1] bounds,
           Py_ssize_t part, Py_ssize_t n_parts, double[::1] log_likelihoods, int n_threads):
    """The E-step of one of the equal parts that each chunk of documents has.

    log_likelihoods[c] += sum weight count log p over what it meets of chunk c.
    """
    cdef Py_ssize_t c
    for c in prange(u_sums.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        log_likelihoods[c] += expect_part(
            rows, words, counts, weights, u, t, &u_sums[c, 0, 0], t_sums, bounds[c],
            bounds[c + 1] - bounds[c], part, n_parts)


cdef double expect_part(const int64_t[::1] rows, const int32_t[::1] words,
                        const floating[::1] counts, const double[::1] weights,
                        const floating[:, ::1] u, const floating[:, ::1] t, double* u_sums,
                        double[:, ::1] t_sums, int64_t first, int64_t n, Py_ssize_t part,
                        Py_ssize_t n_parts) noexcept nogil:
    cdef latent_class_counts s = tables(rows, words, counts, weights, u, t, t_sums)
    s.u_sums = u_sums
    return visit(<floating*> NULL, &s, first + n * part // n_parts,
                 first + n * (part + 1) // n_parts)


def fold_in(const int64_t[::1] rows, const int32_t[::1] words, const floating[::1] counts,
            const double[::1] weights, const floating[:, ::1] u, floating[:, ::1] t,
            double[:, ::1] t_sums, double[::1] change, Py_ssize_t first, Py_ssize_t last,
            Py_ssize_t k, double alpha, double tol, Py_ssize_t max_steps, int n_threads):
    """Steps of EM on t[first:last] with u fixed, where the last change was more than `tol`.

    `t_sums` is zero before and after; change[d] receives the largest change of the last step.
    """
    cdef Py_ssize_t d
    for d in prange(first, last, nogil=True, num_threads=n_threads, schedule="dynamic",
                    chunksize=16):
        fold_in_document(rows, words, counts, weights, u, t, t_sums, change, d, k, alpha, tol,
                         max_steps)


cdef void fold_in_document(const int64_t[::1] rows, const int32_t[::1] words,
                           const floating[::1] counts, const double[::1] weights,
                           const floating[:, ::1] u, floating[:, ::1] t, double[:, ::1] t_sums,
                           double[::1] change, Py_ssize_t d, Py_ssize_t k, double alpha,
                           double tol, Py_ssize_t max_steps) noexcept nogil:
    cdef latent_class_counts s = tables(rows, words, counts, weights, u, t, t_sums)
    cdef Py_ssize_t _step
    for _step in range(max_steps):
        if change[d] <= tol:
            return
        visit(<floating*> NULL, &s, d, d + 1)
        change[d] = move(k, alpha, &t[d, 0], &t_sums[d, 0])


cdef double move(Py_ssize_t k, double alpha, floating* t, double* t_sums) noexcept nogil:
    """The M-step of one document, and its largest change; with nothing to go by it stays."""
    cdef Py_ssize_t j
    cdef double total = 0, value, change = 0
    cdef double smallest = SMALLEST_SINGLE if floating is float else SMALLEST
    for j in range(k):
        t_sums[j] = alpha + t[j] * t_sums[j]
        total += t_sums[j]
    for j in range(k):
        if total > 0:
            value = t_sums[j] / total
            value = value if value >= smallest else 0.0
            change = max(change, fabs(value - t[j]))
            t[j] = <floating> value
        t_sums[j] = 0
    return change


def move_documents(floating[:, ::1] t, double[:, ::1] t_sums, Py_ssize_t k, double alpha,
                   int n_threads):
    """The M-step of all documents, t = (alpha + t t_sums) / its sum; t_sums = 0."""
    cdef Py_ssize_t d
    for d in prange(t.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        move(k, alpha, &t[d, 0], &t_sums[d, 0])


def expected_counts(const floating[:, ::1] u, double[:, :, ::1] u_sums, Py_ssize_t k, double alpha,
                    double[:, ::1] masses, Py_ssize_t span, int n_threads):
    """u_sums[0] = alpha + u sum_c u_sums[c]; masses[b] = its sum over the words of span b."""
    cdef Py_ssize_t b, c, w, j
    for b in prange(masses.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        for j in range(k):
            masses[b, j] = 0
        for w in range(b * span, min(u.shape[0], (b + 1) * span)):
            for c in range(1, u_sums.shape[0]):
                for j in range(k):
                    u_sums[0, w, j] += u_sums[c, w, j]
                    u_sums[c, w, j] = 0
            for j in range(k):
                u_sums[0, w, j] = alpha + u[w, j] * u_sums[0, w, j]
                masses[b, j] += u_sums[0, w, j]


def move_words(floating[:, ::1] u, double[:, :, ::1] u_sums, const double[::1] masses,
               int n_threads):
    """u = u_sums[0] / masses where there is mass; u_sums[0] = 0."""
    cdef Py_ssize_t w, j, k = masses.shape[0]
    cdef double value, smallest = SMALLEST_SINGLE if floating is float else SMALLEST
    for w in prange(u.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        for j in range(k):
            if masses[j] > 0:
                value = u_sums[0, w, j] / masses[j]
                u[w, j] = <floating> (value if value >= smallest else 0.0)
            u_sums[0, w, j] = 0


def sums_of_logs(const floating[:, ::1] table, Py_ssize_t k, double[::1] out, int n_threads):
    """out[r] = sum_j log table[r, j] over the first k columns."""
    cdef Py_ssize_t r
    for r in prange(table.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        out[r] = sum_of_logs(k, &table[r, 0])


cdef double sum_of_logs(Py_ssize_t k, const floating* row) noexcept nogil:
    # A logarithm takes as long as ten products.
    cdef double product = 1, total = 0
    cdef Py_ssize_t j
    for j in range(k):
        if product < 1e-200:
            total += log(product)
            product = 1
        if row[j] < 1e-100:
            total += log(row[j])
        else:
            product *= row[j]
    return total + log(product)
