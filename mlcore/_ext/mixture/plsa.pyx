"""Hot loops of mlcore.mixture.plsa.aspect_tables: EM on the non-zeros of counts.

Shapes, C order, checked by the caller: counts of n documents as CSR (`rows` (n + 1,), `words` and
`counts` (nnz,)); u (v, stride) holds P(word | component), t (n, stride) P(component | document),
components side by side and padded with zeros; u_sums, and t_sums of some documents, are the sums of
the same shapes that the M-step multiplies them by.

A fit visits the non-zeros block by block, documents whose rows of t and t_sums a second-level cache
holds, and word by word within a block: then a row of u, and of u_sums, comes from memory once for
all documents of a block. `arrange` brings the non-zeros into this order, of `words`, `documents`
within the block and `counts`; tiles[b, g] is where the words of group g begin in block b.

Each thread takes a block of documents and goes through the groups of words, some groups behind the
thread of the block before. So each row has one writer at a time, and sums are added in one order,
whatever the number of threads.
"""
from cython cimport floating
from cython.parallel cimport prange, threadid
from libc.math cimport fabs, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from mlcore._ext.mixture.plsa_h cimport plsa_entries, visit

cdef double SMALLEST = 2.2250738585072014e-308  # normal: below, arithmetic is slow
cdef double SMALLEST_SINGLE = 1.1754943508222875e-38


def row_sums(const int64_t[::1] rows, const floating[::1] counts, double[::1] totals,
             int n_threads, /):
    """totals[d] = the sum of the counts of document d."""
    cdef Py_ssize_t d
    cdef int64_t i
    cdef double total
    for d in prange(totals.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        total = 0
        for i in range(rows[d], rows[d + 1]):
            total = total + counts[i]
        totals[d] = total


def arrange(const int64_t[::1] rows, const int32_t[::1] words, const floating[::1] counts,
            const double[::1] weights, const int64_t[::1] blocks, const int64_t[::1] groups,
            int32_t[::1] words_out, int32_t[::1] documents, floating[::1] counts_out,
            int64_t[:, ::1] tiles, int64_t[:, ::1] places, int n_threads, /):
    """Sort the non-zeros of each block of documents by words; counts times the document's weight.

    `places` is scratch, one row per thread and one place per word.
    """
    cdef Py_ssize_t b
    for b in prange(blocks.shape[0] - 1, nogil=True, num_threads=n_threads, schedule="dynamic"):
        arrange_block(rows, words, counts, weights, blocks[b], blocks[b + 1], groups, words_out,
                      documents, counts_out, tiles[b], places[threadid()])


cdef void arrange_block(const int64_t[::1] rows, const int32_t[::1] words,
                        const floating[::1] counts, const double[::1] weights, int64_t first,
                        int64_t last, const int64_t[::1] groups, int32_t[::1] words_out,
                        int32_t[::1] documents, floating[::1] counts_out, int64_t[::1] tiles,
                        int64_t[::1] places) noexcept nogil:
    cdef Py_ssize_t w, g
    cdef int64_t d, i, n, at = rows[first]
    cdef double count, smallest = SMALLEST_SINGLE if floating is float else SMALLEST
    places[:] = 0
    for i in range(rows[first], rows[last]):
        places[words[i]] += 1
    for w in range(places.shape[0]):
        n = places[w]
        places[w] = at
        at += n
    for g in range(groups.shape[0]):
        tiles[g] = places[groups[g]] if groups[g] < places.shape[0] else at
    for d in range(first, last):
        for i in range(rows[d], rows[d + 1]):
            at = places[words[i]]
            places[words[i]] = at + 1
            count = counts[i] * weights[d]
            words_out[at] = words[i]
            documents[at] = <int32_t> (d - first)
            counts_out[at] = <floating> (count if count >= smallest else 0.0)


def expect(const int64_t[::1] blocks, const int64_t[:, ::1] tiles, const int32_t[::1] words,
           const int32_t[::1] documents, const floating[::1] counts, const double[::1] weights,
           const floating[:, ::1] u, const floating[:, ::1] t, double[:, ::1] u_sums,
           double[:, :, ::1] t_sums, Py_ssize_t first, Py_ssize_t last,
           double[::1] log_likelihoods, floating[:, ::1] moved, Py_ssize_t k, double alpha,
           int n_threads, /):
    """The E-step of blocks first ... last - 1, and the M-step of their documents, from t to `moved`
    of the same shape; of (0, stride) where that is not wanted.

    `t_sums` is scratch, a block of documents per thread; log_likelihoods[b] = sum weight count
    log p over block b.
    """
    cdef int thread, threads = <int> max(1, min(n_threads, last - first, tiles.shape[1] - 1))
    cdef Py_ssize_t step, n_turns = (last - first + threads - 1) // threads
    with nogil:
        # In a step each thread visits one of `threads` parts of the words; the part that it is at
        # was left by the block before in the step before.
        for step in range((n_turns + 1) * threads - 1):
            for thread in prange(threads, num_threads=threads, schedule="static"):
                expect_part(blocks, tiles, words, documents, counts, weights, u, t, u_sums,
                            t_sums[thread], first + thread, last, step - thread, threads,
                            log_likelihoods, moved, k, alpha)


cdef void expect_part(const int64_t[::1] blocks, const int64_t[:, ::1] tiles,
                      const int32_t[::1] words, const int32_t[::1] documents,
                      const floating[::1] counts, const double[::1] weights,
                      const floating[:, ::1] u, const floating[:, ::1] t, double[:, ::1] u_sums,
                      double[:, ::1] t_sums, Py_ssize_t first, Py_ssize_t last, Py_ssize_t number,
                      Py_ssize_t threads, double[::1] log_likelihoods, floating[:, ::1] moved,
                      Py_ssize_t k, double alpha) noexcept nogil:
    """Part `number` of the words of blocks first, first + threads, ..., `threads` parts in each."""
    cdef plsa_entries s
    cdef Py_ssize_t n_groups = tiles.shape[1] - 1, d, b, g, part
    if number < 0:
        return
    b, part = first + number // threads * threads, number % threads
    if b >= last:
        return
    s.stride = u.shape[1]
    s.runs, s.rows, s.counts = &words[0], &documents[0], &counts[0]
    s.own, s.own_sums, s.members, s.sums = &u[0, 0], &u_sums[0, 0], &t[blocks[b], 0], &t_sums[0, 0]
    if part == 0:
        log_likelihoods[b] = 0
        memset(s.sums, 0, (blocks[b + 1] - blocks[b]) * s.stride * sizeof(double))
    for g in range(n_groups * part // threads, n_groups * (part + 1) // threads):
        log_likelihoods[b] += visit(<floating*> NULL, &s, tiles[b, g], tiles[b, g + 1])
    if moved.shape[0] > 0 and part == threads - 1:
        for d in range(blocks[b], blocks[b + 1]):
            move(k, s.stride, alpha * weights[d], &t[d, 0], &t_sums[d - blocks[b], 0],
                 &moved[d, 0])


def fold_in(const int64_t[::1] rows, const int32_t[::1] words, const floating[::1] counts,
            const floating[:, ::1] u, floating[:, ::1] t, double[:, :, ::1] t_sums,
            double[::1] change, Py_ssize_t first, Py_ssize_t last, Py_ssize_t k, double alpha,
            double tol, Py_ssize_t max_steps, int n_threads, /):
    """Take steps of EM on t[first:last] with u fixed, until a document changes by at most `tol`.

    `t_sums` is scratch, a document per thread; change[d] receives the largest change of the last
    step.
    """
    cdef Py_ssize_t d
    for d in prange(first, last, nogil=True, num_threads=n_threads, schedule="guided"):
        fold_in_document(rows, words, counts, u, &t[d, 0], t_sums[threadid()], &change[d], d, k,
                         alpha, tol, max_steps)


cdef void fold_in_document(const int64_t[::1] rows, const int32_t[::1] words,
                           const floating[::1] counts, const floating[:, ::1] u, floating* t,
                           double[:, ::1] t_sums, double* change, Py_ssize_t d, Py_ssize_t k,
                           double alpha, double tol, Py_ssize_t max_steps) noexcept nogil:
    cdef plsa_entries s
    cdef Py_ssize_t _step
    s.stride = u.shape[1]
    s.runs, s.rows, s.counts = NULL, NULL, NULL
    if words.shape[0] > 0:
        s.rows, s.counts = &words[0], &counts[0]
    s.own, s.own_sums, s.members, s.sums = t, &t_sums[0, 0], &u[0, 0], NULL
    for _step in range(max_steps):
        if change[0] <= tol:
            return
        memset(s.own_sums, 0, s.stride * sizeof(double))
        visit(<floating*> NULL, &s, rows[d], rows[d + 1])
        change[0] = move(k, s.stride, alpha, t, s.own_sums, t)


cdef double move(Py_ssize_t k, Py_ssize_t stride, double alpha, const floating* t, double* t_sums,
                 floating* moved) noexcept nogil:
    """The M-step of one document, from t to `moved`, which may be t; return its largest change.

    Without counts it stays.
    """
    cdef Py_ssize_t j
    cdef double total = 0, scale, value, change = 0
    cdef double smallest = SMALLEST_SINGLE if floating is float else SMALLEST
    for j in range(k):
        t_sums[j] = alpha + t[j] * t_sums[j]
        total += t_sums[j]
    if not total >= SMALLEST:
        for j in range(stride):
            moved[j] = t[j]
        return 0
    scale = 1 / total
    for j in range(k):
        value = t_sums[j] * scale
        value = value if value >= smallest else 0.0
        change = max(change, fabs(value - t[j]))
        moved[j] = <floating> value
    for j in range(k, stride):
        moved[j] = 0
    return change


def expected_counts(const floating[:, ::1] u, double[:, ::1] u_sums, Py_ssize_t k, double alpha,
                    double[:, ::1] masses, Py_ssize_t span, int n_threads, /):
    """u_sums = alpha + u u_sums; masses[b] = its sum over the words of span b."""
    cdef Py_ssize_t b, w, j
    for b in prange(masses.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        for j in range(k):
            masses[b, j] = 0
        for w in range(b * span, min(u.shape[0], (b + 1) * span)):
            for j in range(k):
                u_sums[w, j] = alpha + u[w, j] * u_sums[w, j]
                masses[b, j] += u_sums[w, j]


def move_words(const floating[:, ::1] u, double[:, ::1] u_sums, const double[::1] masses,
               double[:, ::1] scales, floating[:, ::1] moved, int n_threads, /):
    """moved = u_sums / masses where there is mass, else u; u_sums = 0. `scales` (2, k) is scratch.
    """
    cdef Py_ssize_t w, j, k = masses.shape[0]
    for j in range(k):
        scales[0, j] = 1 / masses[j] if masses[j] >= SMALLEST else 0.0
        scales[1, j] = 0 if masses[j] >= SMALLEST else 1.0
    for w in prange(u.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        move_word(k, u.shape[1], &scales[0, 0], &scales[1, 0], &u[w, 0], &u_sums[w, 0],
                  &moved[w, 0])


cdef void move_word(Py_ssize_t k, Py_ssize_t stride, const double* scale, const double* keep,
                    const floating* u, double* u_sums, floating* moved) noexcept nogil:
    cdef Py_ssize_t j
    cdef double value, smallest = SMALLEST_SINGLE if floating is float else SMALLEST
    for j in range(k):
        value = u_sums[j] * scale[j] + u[j] * keep[j]
        moved[j] = <floating> (value if value >= smallest else 0.0)
        u_sums[j] = 0
    for j in range(k, stride):
        moved[j] = 0


def sums_of_logs(const floating[:, ::1] table, Py_ssize_t k, double[::1] out, int n_threads, /):
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
