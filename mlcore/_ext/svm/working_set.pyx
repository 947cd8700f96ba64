"""Hot loops of mlcore.svm.smo.working_set: submatrices of K, and the problem of a working set.

The problem is solved by pair steps, and by Newton steps (face.pxd) where those are slow.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int64_t
from libc.string cimport memmove

from mlcore._ext.svm.descent cimport (
    DEFAULT_WAIT, ENDED, GOES_ON, NEEDS_ROOM, count_free, descent, outcome, update_gradient_from,
    violation
)
from mlcore._ext.svm.face cimport begin_face, face_round, line_search
from mlcore._ext.svm.optimality cimport up_value, low_value
from mlcore._ext.svm.working_set_h cimport smo, smo_working_set
from mlcore._ext.shared.transpose_h cimport transpose

cdef int64_t FACE_DUE = 1 << 62  # pair steps since the last face: more than any wait

cdef enum:
    CALL_STEPS = 20_000  # pair steps of one advance: some hundredths of a second
    LINE = 16            # values of a cache line, at least


# ---- principal submatrices of K


def gather(const floating[:, ::1] rows, const int64_t[::1] slots, const int64_t[::1] columns,
           floating[:, ::1] K, const int64_t[::1] dest, const int64_t[::1] places,
           int n_threads, /):
    """K[dest[r], places[c]] = rows[slots[r], columns[c]]; runs in both are copied at once."""
    cdef Py_ssize_t m = columns.shape[0], r
    if m == 0 or slots.shape[0] == 0:
        return
    for r in prange(slots.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        gather_row(&rows[slots[r], 0], &columns[0], m, &K[dest[r], 0], &places[0])


cdef inline void gather_row(const floating* source, const int64_t* columns, Py_ssize_t m,
                            floating* to, const int64_t* places) noexcept nogil:
    cdef Py_ssize_t c = 0, run, last
    while c < m:
        run = 1
        while (c + run < m and columns[c + run] == columns[c] + run
               and places[c + run] == places[c] + run):
            run += 1
        if run > 8:
            memmove(to + places[c], source + columns[c], run * sizeof(floating))
            c += run
        else:
            last = c + run
            while c < last:
                to[places[c]] = source[columns[c]]
                c += 1


def mirror_rows(floating[:, ::1] K, const int64_t[::1] rows, const int64_t[::1] others,
                int n_threads, /):
    """K[others, rows] = K[rows, others].T, both ascending."""
    cdef Py_ssize_t m = others.shape[0], tile, r, i
    if m == 0 or rows.shape[0] == 0:
        return
    for tile in prange((m + LINE - 1) // LINE, nogil=True, num_threads=n_threads,
                       schedule="static"):
        for r in range(rows.shape[0]):  # about a cache line of each new row, over LINE rows
            for i in range(tile * LINE, min(m, tile * LINE + LINE)):
                K[others[i], rows[r]] = K[rows[r], others[i]]


cdef void fill_submatrix(const floating* K, Py_ssize_t stride, Py_ssize_t count,
                         const int64_t* chosen, Py_ssize_t padded,
                         floating* submatrix) noexcept nogil:
    """submatrix = K between the chosen variables, 0 in the padding; half is mirrored, by tiles."""
    cdef Py_ssize_t r, c, tile, other
    cdef const floating* row
    for r in range(padded):
        tile = r // LINE * LINE
        if r < count:
            row = K + chosen[r] * stride
            for c in range(tile, count):
                submatrix[r * padded + c] = row[chosen[c]]
        for c in range(count if r < count else tile, padded):
            submatrix[r * padded + c] = 0
    for r in range(padded // LINE):
        tile = r * LINE
        for c in range(r):
            other = c * LINE
            transpose(submatrix + other * padded + tile, padded, LINE, LINE,
                      submatrix + tile * padded + other, padded)


# ---- the small problem


cdef class Descent:
    """Minimise 1/2 beta'K beta + q'beta + epsilon |beta|_1 in bounds, the sum of each group fixed.

    At most `max_steps` pair steps, until the violation is at most `tol`. `G` is K beta + q at the
    start. `spans` are up to four (begin, end, group) of slots; slots of no variable have equal
    bounds. `single` (3, n), `wide` (6, n), `slots` and `marks` (2, n) are scratch. A face has at
    most `limit` free variables.
    """

    cdef descent d
    cdef bint doubles
    cdef int64_t max_steps
    cdef tuple arrays  # keeps alive what d points to
    cdef object face

    def __init__(self, K, diagonal, double[::1] beta, double[::1] G, const double[::1] lower,
                 const double[::1] upper, tuple spans, double epsilon, double tol,
                 int64_t max_steps, single, double[:, ::1] wide, int64_t[:, ::1] slots,
                 int8_t[:, ::1] marks, Py_ssize_t limit, int n_threads):
        cdef int p
        self.arrays = K, diagonal, beta, G, lower, upper, single, wide, slots, marks
        self.d.s.n_spans = len(spans)
        for p in range(self.d.s.n_spans):
            self.d.s.begin[p], self.d.s.end[p], self.d.s.group[p] = spans[p]
        self.d.s.beta, self.d.s.lower, self.d.s.upper = &beta[0], &lower[0], &upper[0]
        self.d.s.epsilon, self.d.G, self.d.n = epsilon, &G[0], beta.shape[0]
        self.d.tol, self.d.left, self.d.n_threads = tol, max_steps, n_threads
        self.max_steps = max_steps
        self.d.wide, self.d.slots, self.d.marks = &wide[0, 0], &slots[0, 0], &marks[0, 0]
        self.d.H, self.d.room, self.d.limit = NULL, 0, limit
        self.doubles = K.itemsize == 8
        if self.doubles:
            point_to[double](&self.d, K, diagonal, single)
        else:
            point_to[float](&self.d, K, diagonal, single)
        begin(&self.d, False, DEFAULT_WAIT)

    def advance(self):
        """Make some pair steps or one Newton step: some hundredths of a second.

        Returns None at the end, else the number of free variables for which `take_face` must give
        scratch before the next call, or 0.
        """
        cdef outcome found
        with nogil:
            found = advance_d(&self.d) if self.doubles else advance_f(&self.d)
        if found == ENDED:
            return None
        return min(self.d.limit, count_free(&self.d) * 5 // 4) if found == NEEDS_ROOM else 0

    def take_face(self, face):
        """Take scratch (f, f) in the precision of K for faces of f variables."""
        self.face, self.d.room = face, len(face)
        if self.doubles:
            self.d.H = address[double](face)
        else:
            self.d.H = address[float](face)

    def counts(self):
        """Return (steps, faces, faces with a whole step); each face counts as one step."""
        return self.d.made, self.d.made - (self.max_steps - self.d.left), self.d.full_steps


cdef void* address(floating[:, ::1] values):
    return &values[0, 0]


cdef void point_to(descent* d, const floating[:, ::1] K, const floating[::1] diagonal,
                   floating[:, ::1] single):
    d.s.K, d.s.stride, d.s.diagonal = &K[0, 0], K.shape[1], &diagonal[0]
    d.s.G, d.s.up, d.s.low = &single[0, 0], &single[1, 0], &single[2, 0]


cdef void begin(descent* d, bint face_first, double wait) noexcept nogil:
    """Begin a descent: with a face if `face_first`, for a start near the solution."""
    d.wait = wait
    d.made = d.full_steps = d.failures = d.rounds = 0
    d.since = FACE_DUE if face_first else 0


cdef void run(descent* d, const floating* K) noexcept nogil:
    """Advance to the end; the face needs all the room that `limit` allows."""
    while advance(d, K) == GOES_ON:
        pass


cdef outcome advance_f(descent* d) noexcept nogil:
    return advance(d, <const float*> d.s.K)


cdef outcome advance_d(descent* d) noexcept nogil:
    return advance(d, <const double*> d.s.K)


cdef outcome advance(descent* d, const floating* K) noexcept nogil:
    """Make some pair steps, or one round of a face."""
    cdef outcome found
    if d.rounds == 0:
        return pair_steps(d, K)
    found = face_round(d, K)
    if found != ENDED:
        return found
    d.made += 1
    d.rounds = 0
    if line_search(d, K) < 1:
        d.failures += 1
        return GOES_ON
    d.full_steps += 1
    d.failures = 0
    return ENDED if violation(d, False) <= d.tol else GOES_ON


# ---- pair steps


cdef outcome pair_steps(descent* d, const floating* K) noexcept nogil:
    cdef smo_working_set* s = &d.s
    cdef double* start = d.wide
    cdef floating* G = <floating*> s.G
    cdef floating* up = <floating*> s.up
    cdef floating* low = <floating*> s.low
    cdef Py_ssize_t t, w = 0
    cdef int64_t allowed, made, patience, f = count_free(d)
    cdef int p
    for p in range(s.n_spans):
        w += s.end[p] - s.begin[p]
    # A face is tried once the steps since the last have cost as much as it will.
    patience = max(<int64_t> (d.wait * w), f * f * f // (20 * w)) << min(d.failures, 4)
    allowed = min(CALL_STEPS, d.left)
    if f <= d.limit:
        allowed = max(0, min(allowed, patience - d.since))
    for p in range(s.n_spans):
        for t in range(s.begin[p], s.end[p]):
            start[t] = s.beta[t]
            G[t] = <floating> d.G[t]
            up[t] = <floating> up_value(0.0, s.beta[t], s.upper[t], s.epsilon)
            low[t] = <floating> low_value(0.0, s.beta[t], s.lower[t], s.epsilon)
    made = smo(K, s, d.tol, allowed)
    d.left -= made
    d.made += made
    d.since += made
    if s.violation <= d.tol or made < allowed or d.left <= 0:
        return ENDED
    update_gradient_from(d, K, start)
    if d.since >= patience and f <= d.limit:
        begin_face(d)
    return GOES_ON
