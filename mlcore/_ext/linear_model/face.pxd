"""A Cholesky factor that is kept while coefficients become 0 or leave it. Inline, so that no call
crosses a module.

The face is G + diag(ridge) of the coefficients that are not 0, of unit diagonal. Rows enter it
together, or leave it by rotations, in time of the square of its size; where many change the factor
is made anew. A column that depends on the members, but for rounding, does not enter: it waits.
"""
from libc.math cimport hypot, sqrt
from libc.string cimport memcpy

from mlcore._ext.shared.blas cimport add_multiple, cholesky, dot, times_inverse

cdef enum:  # of a coefficient in `inside`
    OUTSIDE = 0
    MEMBER = 1
    WAITS = 2   # it is not 0, and its column depended on the members
    RESTS = 3   # the same, and P is least in the direction that this leaves free


cdef struct Face:
    Py_ssize_t count      # of members
    Py_ssize_t width      # of rows of the factor
    double* L             # its lower half
    Py_ssize_t* members   # (width,) coefficients, in the order of the rows
    Py_ssize_t* inside    # (d,)
    double* scale         # (d,) roots of 1 / (G_jj + ridge_j), 0 for columns of zeros
    double* turns         # (2 width,) sines and cosines


cdef inline void begin_face(Face* face, const double* G, Py_ssize_t width, const double* ridge,
                            Py_ssize_t d) noexcept nogil:
    """Set the scales of d columns; there are no members."""
    cdef Py_ssize_t j
    cdef double curvature
    face.count = 0
    for j in range(d):
        curvature = G[j * width + j] + ridge[j]
        face.scale[j] = 1 / sqrt(curvature) if curvature > 0 else 0
        face.inside[j] = 0


cdef inline Py_ssize_t match_face(Face* face, const double* G, Py_ssize_t width, const double* w,
                                  Py_ssize_t d) noexcept nogil:
    """Let the face be that of the coefficients that are not 0.

    Return one whose column depends on the members, with its row behind the last, or -1.
    """
    cdef Py_ssize_t i, j, enter = 0, leave = 0, waiting = 0
    for j in range(d):
        if w[j] == 0:
            leave += face.inside[j] == MEMBER
            if face.inside[j] != MEMBER:
                face.inside[j] = OUTSIDE
        else:
            enter += face.inside[j] == OUTSIDE and face.scale[j] > 0
            waiting += face.inside[j] == WAITS
    if leave > 2 + face.count // 16 or enter > 2 + face.count // 4:
        factor_anew(face, G, width, w, d)
        waiting = 1
    elif enter or leave:
        for i in range(face.count - 1, -1, -1):
            if w[face.members[i]] == 0:
                leave_face(face, i)
        waiting += enter_together(face, G, width, w, d)
    if waiting:
        for j in range(d):
            if face.inside[j] == WAITS and not enters_face(face, G, width, j, 0, face.count):
                return j
    return -1


cdef inline void factor_anew(Face* face, const double* G, Py_ssize_t width, const double* w,
                             Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t i, j, k, m = 0
    cdef double* row
    cdef bint regular
    for j in range(d):
        if w[j] == 0 or face.inside[j] == MEMBER:
            face.inside[j] = OUTSIDE
        if w[j] != 0 and face.scale[j] > 0 and face.inside[j] == OUTSIDE:
            face.members[m] = j
            m += 1
    for i in range(m):
        set_row(face, G, width, face.members[i], face.L + i * face.width, 0, i)
        face.L[i * face.width + i] = 1
    regular = cholesky(<int> m, face.L, <int> face.width)
    for i in range(m):
        row = face.L + i * face.width
        regular = regular and row[i] * row[i] > 1e-13
    face.count = m
    if regular:
        for i in range(m):
            face.inside[face.members[i]] = MEMBER
        return
    face.count = 0
    for k in range(m):  # the place of the next member is not behind its own
        enters_face(face, G, width, face.members[k], 0, face.count)


cdef inline void set_row(Face* face, const double* G, Py_ssize_t width, Py_ssize_t j, double* row,
                         Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Set products of j with the members from first to last, of unit diagonal."""
    cdef Py_ssize_t i, k
    for i in range(first, last):
        k = face.members[i]
        row[i] = G[j * width + k] * face.scale[j] * face.scale[k]


cdef inline Py_ssize_t enter_together(Face* face, const double* G, Py_ssize_t width,
                                      const double* w, Py_ssize_t d) noexcept nogil:
    """Add all that are not 0; return how many wait.

    Their rows are solved for the members before at once, so that the factor is read once.
    """
    cdef Py_ssize_t i, j, m = face.count, last = m, waiting = 0
    for j in range(d):
        if w[j] != 0 and face.scale[j] > 0 and face.inside[j] == OUTSIDE:
            set_row(face, G, width, j, face.L + last * face.width, 0, m)
            face.members[last] = j
            last += 1
    times_inverse(<int> (last - m), <int> m, face.L, face.L + m * face.width, <int> face.width)
    for i in range(m, last):  # the place of the next member is not behind its own
        waiting += not enters_face(face, G, width, face.members[i], m, i)
    return waiting


cdef inline bint enters_face(Face* face, const double* G, Py_ssize_t width, Py_ssize_t j,
                             Py_ssize_t solved, Py_ssize_t place) noexcept nogil:
    """Add a member; False, and it waits, if its column depends on theirs.

    Row `place` of L is solved for the first `solved` members.
    """
    cdef Py_ssize_t i, m = face.count
    cdef double* row = face.L + m * face.width
    cdef double* other
    cdef double pivot
    if m == face.width:
        face.inside[j] = RESTS
        return False
    if place != m:
        memcpy(row, face.L + place * face.width, solved * sizeof(double))
    set_row(face, G, width, j, row, solved, m)
    for i in range(solved, m):
        other = face.L + i * face.width
        row[i] = (row[i] - dot(<int> i, other, row)) / other[i]
    pivot = 1 - dot(<int> m, row, row)
    row[m] = sqrt(pivot) if pivot > 0 else 0
    if not pivot > 1e-13:
        face.inside[j] = WAITS
        return False
    face.members[m] = j
    face.inside[j] = MEMBER
    face.count = m + 1
    return True


cdef inline void leave_face(Face* face, Py_ssize_t place) noexcept nogil:
    """Rotate columns of the rows below that of the member, so that its row can go."""
    cdef Py_ssize_t i, k
    cdef double* row
    cdef double* to
    cdef double* sine = face.turns
    cdef double* cosine = face.turns + face.width
    cdef double a, b
    face.inside[face.members[place]] = OUTSIDE
    for i in range(place + 1, face.count):
        row = face.L + i * face.width
        to = row - face.width
        for k in range(place):
            to[k] = row[k]
        a = row[place]
        for k in range(place, i - 1):
            b = row[k + 1]
            to[k] = cosine[k] * a + sine[k] * b
            a = cosine[k] * b - sine[k] * a
        b = row[i]
        to[i - 1] = hypot(a, b)
        cosine[i - 1], sine[i - 1] = a / to[i - 1], b / to[i - 1]
        face.members[i - 1] = face.members[i]
    face.count -= 1


cdef inline void solve_face(const Face* face, double* x) noexcept nogil:
    """Solve (G + diag(ridge)) u = x for the members, in x (count,), which is replaced."""
    cdef Py_ssize_t i
    cdef double* row
    for i in range(face.count):
        row = face.L + i * face.width
        x[i] = (x[i] * face.scale[face.members[i]] - dot(<int> i, row, x)) / row[i]
    solve_transposed(face, x)


cdef inline void solve_transposed(const Face* face, double* x) noexcept nogil:
    """x (count,) := scales times L^-T x."""
    cdef Py_ssize_t i
    cdef double* row
    for i in range(face.count - 1, -1, -1):
        row = face.L + i * face.width
        x[i] = x[i] / row[i]
        add_multiple(<int> i, -x[i], row, x)
    for i in range(face.count):
        x[i] = x[i] * face.scale[face.members[i]]
