"""Hot loops of mlcore.linear_model.coordinate.working_columns: rounds (rounds.pxd) in the columns
that matter, and the proof by all.

A penalty begins with the members and coefficients of the one before, and the columns that the
strong rule adds. Their problem is solved by products; then the residuals of the rows give all
slopes and the certificate. Columns that violate it join, at most as many as there are members.

A column is not read where it cannot matter: its slope is at most that of its last reading, and its
length times how far the residuals have moved since, or the sum of its absolute values times the
largest changes of a row. The certificate takes this bound for its slope.
"""
from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, fabs, fmax, fmin, ldexp, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy

from mlcore._ext.linear_model.columns cimport (
    Columns, Readings, Way, columns_of, move, nth_largest, read_columns, residuals, slopes_of,
    sweep_columns
)
from mlcore._ext.linear_model.face cimport Face, begin_face
from mlcore._ext.linear_model.member_products cimport RowLists, add_products
from mlcore._ext.linear_model.rounds cimport Certificate, Problem, certificate, minimise
from mlcore._ext.shared.blas cimport dot

cdef enum:
    FIRST = 64    # columns that join at first, at most
    SWEEPS = 10   # in a round, over coefficients that are not 0
    PROOFS = 10   # of swept members, each after sweeps down to a smaller fall
    STALLS = 2    # proofs without a better gap, after which rounding is all that is left
    # Places in `state`.
    PENALTY = 0
    MEMBERS = 1
    ROUNDS = 2
    STAGE = 3     # 0: a penalty begins, 1: columns join
    FACE = 4
    STALLED = 5
    MOST = 6      # columns that may join
    WANTED = 7    # members, if there is no room
    LEFT = 8      # operations until the caller looks for Ctrl-C
    PART = 9      # true if only some of the columns above the correlation joined
    SWEPT = 10    # true if members have no products: their columns are swept
    LISTED = 11   # `count` and `used` of RowLists
    USED = 12

cdef struct Work:
    Columns Z
    bint swept
    Readings readings
    Way* way
    Problem all
    Problem part
    Face face
    Py_ssize_t* place    # (d,) among the members, or -1
    Py_ssize_t* members  # (width,)
    const int64_t* shift  # (d,) powers of two of coefficients in float32, or NULL
    double* lasso        # (d,) for alpha = 1, as ridge
    double* ridge
    double* absolute
    double* square
    double* squares      # (d,) of columns
    double* c            # (width,)
    double* w
    double* h
    double* g
    double* scratch
    double* w_part       # (width,)
    double* g_part
    double* u
    double* of_part      # lasso, ridge and size
    double* G
    double* packed
    double* y
    double* r
    double* proved       # (n,) residuals of the last proof
    RowLists lists       # of sparse members
    double y2
    int n_threads


def advance(const double[:, ::1] dense, const int64_t[::1] indptr, const int32_t[::1] indices,
            const double[::1] values, const double[::1] mean, const double[::1] root,
            const double[::1] alphas, double y2, double tol, Py_ssize_t max_rounds,
            const double[::1] noise, const int64_t[::1] shift, double[:, ::1] of_columns,
            Py_ssize_t[::1] place, const int8_t[::1] out, double[:, ::1] of_members,
            Py_ssize_t[:, ::1] members, double[:, ::1] G, double[:, ::1] factor,
            double[:, ::1] packed, int64_t[:, ::1] lists, int32_t[::1] places, double[::1] listed,
            double[:, ::1] of_rows, int64_t[::1] state, double[::1] figure, double[:, ::1] W,
            double[:, ::1] figures, int n_threads, /):
    """Go on with the penalties from where `state` says; return True at the end.

    It ends early where ``state[WANTED]`` members need more room, and when ``state[LEFT]``
    operations are done. W (m, d) are coefficients, `figures` (m, 3) P, the gap, and rounds.
    `of_columns` (14, d): lasso, ridge, size, w, h, squares, scratch (4, d), and `size`, `sums`,
    `length`, `largest` of `Readings`; `of_members` (10, width): c, w, g and scratch; `packed`
    (width, n): dense members; `lists` (2, n): starts and lengths of `RowLists`, with their places
    and values; `of_rows` (3, n): y, r, and r of the last proof; `figure` (7,): the last gap, the
    least, the correlation for alpha = 1 above which columns join, the squares of the members'
    problem, the fields of `Way`, and the fall of P at which sweeps end.
    """
    cdef Work a
    cdef Py_ssize_t width = of_members.shape[1]
    a.Z = columns_of(dense, indptr, indices, values, mean, root)
    a.shift = &shift[0] if shift.shape[0] else NULL
    a.place, a.members = &place[0], &members[0, 0]
    a.lasso, a.ridge = &of_columns[0, 0], &of_columns[1, 0]
    a.w, a.h, a.squares = &of_columns[3, 0], &of_columns[4, 0], &of_columns[5, 0]
    a.g, a.scratch, a.swept = &of_columns[9, 0], &of_columns[8, 0], state[SWEPT]
    a.readings.out, a.readings.place, a.readings.h = &out[0], a.place, a.h
    a.readings.size, a.readings.sums = &of_columns[10, 0], &of_columns[11, 0]
    a.readings.length, a.readings.largest = &of_columns[12, 0], &of_columns[13, 0]
    a.way = <Way*> &figure[4]
    a.absolute, a.square = &of_columns[6, 0], &of_columns[7, 0]
    a.c, a.w_part, a.g_part = &of_members[0, 0], &of_members[1, 0], &of_members[2, 0]
    a.u, a.of_part = &of_members[3, 0], &of_members[4, 0]
    a.y, a.r, a.proved = &of_rows[0, 0], &of_rows[1, 0], &of_rows[2, 0]
    a.lists.starts, a.lists.lengths = &lists[0, 0], &lists[1, 0]
    a.lists.places, a.lists.values = &places[0], &listed[0]
    a.lists.count, a.lists.used = &state[LISTED], &state[USED]
    a.G, a.packed, a.y2, a.n_threads = &G[0, 0], &packed[0, 0], y2, n_threads
    a.all.d, a.all.y2, a.all.size = a.Z.d, y2, &of_columns[2, 0]
    a.all.lasso, a.all.ridge, a.all.errors.of_size = a.absolute, a.square, noise[0]
    a.all.errors.of_coef, a.all.errors.of_ridge = noise[1], noise[2]
    a.part = a.all
    a.part.width, a.part.G, a.part.c = width, a.G, a.c
    a.part.lasso, a.part.ridge, a.part.size = a.of_part, a.of_part + width, a.of_part + 2 * width
    a.face.L, a.face.width, a.face.members = &factor[0, 0], width, &members[1, 0]
    a.face.inside, a.face.scale = &members[2, 0], &of_members[7, 0]
    a.face.turns, a.face.count = &of_members[8, 0], state[FACE]
    with nogil:
        while state[PENALTY] < alphas.shape[0] and state[LEFT] > 0:
            if state[STAGE] == 0:
                begin_penalty(&a, alphas, &state[0], &figure[0], W, figures)
            elif not join(&a, width, &state[0], &figure[0]):
                break
            else:
                solve_and_prove(&a, alphas, tol, max_rounds, &state[0], &figure[0], W, figures)
    state[FACE] = a.face.count
    return state[PENALTY] >= alphas.shape[0]


cdef void begin_penalty(Work* a, const double[::1] alphas, int64_t* state, double* figure,
                        double[:, ::1] W, double[:, ::1] figures) noexcept nogil:
    """Set the penalties of this alpha, and who is to join by the strong rule."""
    cdef Py_ssize_t i, j, k = state[PENALTY], d = a.Z.d, support = 0
    cdef double alpha = alphas[k], before = 0, squares = dot(<int> a.Z.n, a.r, a.r)
    cdef bint penalised = False
    cdef Certificate proof
    for j in range(d):
        if k == 0 and a.h[j] != 0:
            before = fmax(before, fabs(a.h[j]) / a.lasso[j])
    figure[2] = fmax(2 * alpha - (alphas[k - 1] if k else before), 0)
    read_columns(&a.Z, a.r, &a.readings, a.lasso, figure[2], 0.2, a.way, a.n_threads)
    for j in range(d):
        a.absolute[j] = min(alpha * a.lasso[j], 1e300)
        a.square[j] = min(alpha * a.ridge[j], 1e300)
        penalised = penalised or a.square[j] > 0
        squares += a.square[j] * a.w[j] * a.w[j]
        support += a.w[j] != 0
    slopes_of(&a.readings, a.Z.d, a.square, a.w, a.way, a.g)
    for i in range(state[MEMBERS]):
        a.of_part[i] = a.absolute[a.members[i]]
        a.of_part[a.part.width + i] = a.square[a.members[i]]
    if (penalised or k == 0) and not a.swept:
        begin_face(&a.face, a.G, a.part.width, a.part.ridge, state[MEMBERS])
    state[ROUNDS] = state[STALLED] = 0
    proof = certificate(&a.all, a.w, a.g, squares)
    figure[0], figure[1] = proof.gap, INFINITY
    if proof.gap <= DBL_EPSILON * proof.objective:
        store(a, state, &proof, W, figures)
        return
    state[MOST] = FIRST + support
    state[STAGE] = 1


cdef void store(Work* a, int64_t* state, const Certificate* proof, double[:, ::1] W,
                double[:, ::1] figures) noexcept nogil:
    """Keep the coefficients of this penalty; the next is to begin."""
    cdef Py_ssize_t j, k = state[PENALTY]
    for j in range(a.Z.d):
        W[k, j] = a.w[j]
    figures[k, 0], figures[k, 1], figures[k, 2] = proof.objective, proof.gap, state[ROUNDS]
    state[PENALTY] += 1
    state[STAGE] = 0


cdef bint join(Work* a, Py_ssize_t width, int64_t* state, const double* figure) noexcept nogil:
    """Let columns above the correlation join, the largest first; False if there is no room."""
    cdef Py_ssize_t i, j, count = 0, before = state[MEMBERS], f = before
    cdef double least = figure[2], curvature
    for j in range(a.Z.d):
        if a.place[j] < 0 and not a.readings.out[j] and fabs(a.h[j]) > least * a.lasso[j]:
            a.scratch[count] = fabs(a.h[j]) / a.lasso[j]
            count += 1
    state[PART] = count > state[MOST]
    if state[PART]:
        least = nth_largest(a.scratch, count, state[MOST])
        count = state[MOST]
    if before + count > width:
        state[WANTED] = before + count
        return False
    for j in range(a.Z.d):
        if f == before + count:
            break
        if (a.place[j] < 0 and not a.readings.out[j] and fabs(a.h[j]) > figure[2] * a.lasso[j]
                and fabs(a.h[j]) / a.lasso[j] >= least):
            a.members[f] = j
            a.place[j] = f
            f += 1
    state[MEMBERS] = f
    if f > before:
        state[STALLED] = 0
    if a.swept:
        return True
    add_products(&a.Z, a.members, before, f, a.packed, &a.lists, a.G, width)
    for i in range(before, f):
        j = a.members[i]
        a.w_part[i] = 0
        a.of_part[i], a.of_part[width + i] = a.absolute[j], a.square[j]
        a.of_part[2 * width + i] = a.all.size[j]
        a.face.inside[i] = 0
        curvature = a.G[i * width + i] + a.square[j]
        a.face.scale[i] = 1 / sqrt(curvature) if curvature > 0 else 0
        a.c[i] = a.h[j] + dot(<int> before, a.G + i * width, a.w_part)
    state[LEFT] -= (f - before) * f * a.Z.n
    return True


cdef Py_ssize_t sweep_members(Work* a, const int64_t* state, double enough,
                              Py_ssize_t most) noexcept nogil:
    """Sweep over the columns of members until P falls by no more than `enough`; return the number
    of rounds.
    """
    cdef Py_ssize_t i, _step, count = 0, f = state[MEMBERS], rest = f, inner
    cdef double fall, first, shift = 0
    for i in range(f):
        rest -= a.w_part[i] != 0
    inner = SWEEPS if 2 * rest > f else 0  # where most are 0
    while count < most:
        count += 1
        fall = first = sweep_columns(&a.Z, a.members, f, a.absolute, a.square, a.squares, False,
                                     a.w, a.r, &shift)
        for _step in range(inner):
            if fall <= enough:
                break
            fall = sweep_columns(&a.Z, a.members, f, a.absolute, a.square, a.squares, True,
                                 a.w, a.r, &shift)
        if first <= enough:
            break
    for i in range(f):
        a.w_part[i] = a.w[a.members[i]]
    return count


cdef void solve_and_prove(Work* a, const double[::1] alphas, double tol, Py_ssize_t max_rounds,
                          int64_t* state, double* figure, double[:, ::1] W,
                          double[:, ::1] figures) noexcept nogil:
    """Minimise P in the members, and compute the certificate of all columns from the rows."""
    cdef Py_ssize_t i, j, f = state[MEMBERS], d = a.Z.d, width = a.part.width, rounds = 0
    cdef Certificate proof
    cdef double squares
    a.part.d, a.part.y2 = f, figure[3]
    if a.swept:
        if state[STALLED]:  # no column has joined: the gap is of the order of the root of the fall
            figure[6] *= fmin(fmax((0.5 * tol / figure[0]) ** 2, 1e-4), 0.3)
        rounds = sweep_members(a, state, figure[6], max_rounds - state[ROUNDS])
    elif f:
        minimise(&a.part, a.w_part, a.g_part, a.u, &a.face, True,
                 fmax(0.3 * tol, 0.05 * figure[0] if state[PART] else 0),
                 max_rounds - state[ROUNDS], &rounds)
    state[ROUNDS] += rounds
    # All slopes, from the rows, for the coefficients as they are stored.
    for i in range(f):
        j = a.members[i]
        if a.shift != NULL:
            a.w_part[i] = ldexp(<float> ldexp(a.w_part[i], <int> a.shift[j]), <int> -a.shift[j])
        a.w[j] = a.w_part[i]
    residuals(&a.Z, a.y, a.w, a.members, f, a.r)
    move(&a.Z, a.r, a.proved, a.way)
    memcpy(a.proved, a.r, a.Z.n * sizeof(double))
    read_columns(&a.Z, a.r, &a.readings, a.lasso, (1 - 1e-6) * alphas[state[PENALTY]], 1, a.way,
                 a.n_threads)
    figure[3] = squares = dot(<int> a.Z.n, a.r, a.r)
    for i in range(d):
        squares += a.square[i] * a.w[i] * a.w[i]
    slopes_of(&a.readings, a.Z.d, a.square, a.w, a.way, a.g)
    proof = certificate(&a.all, a.w, a.g, squares)
    # What products have lost is in those with the residuals.
    for i in range(0 if a.swept else f):
        a.c[i] = a.h[a.members[i]] + dot(<int> f, a.G + i * width, a.w_part)
        figure[3] += a.w_part[i] * (a.c[i] + a.h[a.members[i]])
    state[LEFT] -= a.Z.n * (d + f) + f * f * (rounds + 2)
    state[STALLED] = state[STALLED] + 1 if a.swept or proof.gap > 0.5 * figure[1] else 0
    figure[0], figure[1] = proof.gap, fmin(figure[1], proof.gap)
    if (proof.gap <= tol or state[ROUNDS] >= max_rounds
            or state[STALLED] >= (PROOFS if a.swept else STALLS)):
        store(a, state, &proof, W, figures)
        return
    figure[2] = alphas[state[PENALTY]]
    state[MOST] = f if f > FIRST else FIRST
