"""A Cholesky factor that is kept while coefficients become 0 or leave it. Inline, so that no call
crosses a module.

The face is G + diag(ridge) of the coefficients that are not 0, of unit diagonal. A row enters it,
or leaves it by rotations, in time of the square of its size; where many change the factor is made
anew. A column that depends on the members, but for rounding, does not enter: it waits.
"""
from libc.math cimport hypot, sqrt

from mlcore._ext.shared.blas cimport add_multiple, cholesky, dot

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
    cdef Py_ssize_t i, j, changes = 0, waiting = 0
    for j in range(d):
        if w[j] == 0:
            changes += face.inside[j] == MEMBER
            if face.inside[j] != MEMBER:
                face.inside[j] = OUTSIDE
        else:
            changes += face.inside[j] == OUTSIDE and face.scale[j] > 0
            waiting += face.inside[j] == WAITS
    if changes > 2 + face.count // 16:
        factor_anew(face, G, width, w, d)
        waiting = 1
    elif changes:
        for i in range(face.count - 1, -1, -1):
            if w[face.members[i]] == 0:
                leave_face(face, i)
        for j in range(d):
            if w[j] != 0 and face.scale[j] > 0 and face.inside[j] == OUTSIDE:
                waiting += not enters_face(face, G, width, j)
    if waiting:
        for j in range(d):
            if face.inside[j] == WAITS and not enters_face(face, G, width, j):
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
        set_row(face, G, width, face.members[i], i)
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
        enters_face(face, G, width, face.members[k])


cdef inline void set_row(Face* face, const double* G, Py_ssize_t width, Py_ssize_t j,
                         Py_ssize_t count) noexcept nogil:
    """Row `count` of L := products of j with the members before, of unit diagonal."""
    cdef Py_ssize_t i, k
    cdef double* row = face.L + count * face.width
    for i in range(count):
        k = face.members[i]
        row[i] = G[j * width + k] * face.scale[j] * face.scale[k]


cdef inline bint enters_face(Face* face, const double* G, Py_ssize_t width,
                             Py_ssize_t j) noexcept nogil:
    """Add a member; False, and it waits, if its column depends on theirs."""
    cdef Py_ssize_t i, m = face.count
    cdef double* row = face.L + m * face.width
    cdef double* other
    cdef double pivot
    if m == face.width:
        face.inside[j] = RESTS
        return False
    set_row(face, G, width, j, m)
    for i in range(m):
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
