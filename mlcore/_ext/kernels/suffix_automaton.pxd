"""Suffix automata: strings read through them tell what they share with the automaton's string.

A state v stands for the substrings that end at the same places of the string, of lengths above that
of its link up to its own; `base[v] + count[v] * total[l]` sums occurrences times weights of all
substrings that end where one of l symbols of v does.

For strings that are not too long the automaton becomes a table: for each state and symbol the
state that follows, after as many links as are needed, and how much is left of the match. Reading is
then without branches, several others side by side, since each step waits for the one before.

Memory comes from the caller, a block for each thread: `lay_out` says how large, and divides it.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from mlcore._ext.shared.signals cimport interrupted

cdef enum:
    OFTEN = 1 << 16  # symbols between two looks for Ctrl-C
    TABLE = 1 << 22  # cells of a table, beyond which steps are kept in lists
    SIDE = 4  # others that are read side by side
    LINE = 64  # bytes of a cache line

cdef struct step:
    int32_t row  # where the state that follows begins in the table
    int32_t left  # symbols of the match that are kept before the new one, at most; -1 for none

cdef union cell:
    step after
    double value

cdef struct automaton:
    Py_ssize_t n_states, n_symbols, n_edges
    bint dense
    int32_t* link  # of a state
    int32_t* length
    double* count
    double* base
    int32_t* order  # scratch
    int32_t* next  # (states, n_symbols), or of the first state alone
    int32_t* head  # first edge of a state
    int32_t* edge_symbol
    int32_t* edge_to
    int32_t* edge_after
    int32_t* local  # from symbol -1 on: number among those of the string, from 1; 0 for others
    int32_t* string  # the string in these numbers, from 0
    int* stop  # becomes true at Ctrl-C, for the automata of all threads
    bint told  # true for the thread that may call PyErr_CheckSignals
    cell* table  # of a state: base, count, the steps after other symbols, and after each of its own


cdef inline bint stopped(const automaton* a, Py_ssize_t i) noexcept nogil:
    """Return True, sometimes asking, if step i shall not be done."""
    if i % OFTEN == OFTEN - 1:
        if a.told and not a.stop[0] and interrupted():
            a.stop[0] = 1
        return a.stop[0] != 0
    return False


cdef inline void* place(char* memory, Py_ssize_t* used, Py_ssize_t size) noexcept nogil:
    """Return where the next `size` bytes are, on a cache line; NULL without memory."""
    cdef Py_ssize_t begin = used[0]
    used[0] += (size + LINE - 1) // LINE * LINE
    return memory + begin if memory != NULL else NULL


cdef inline Py_ssize_t lay_out(automaton* a, char* memory, Py_ssize_t longest,
                               Py_ssize_t n_symbols) noexcept nogil:
    """Set the arrays for strings of up to `longest` symbols, and return how many bytes they take.

    Without memory only the bytes are counted.
    """
    cdef Py_ssize_t states = 2 * longest + 2, edges = 3 * longest + 1, most, size, used = 0
    most = min(longest, n_symbols)  # symbols that a string has
    size = min(TABLE, states * (most + 3))
    a.link = <int32_t*> place(memory, &used, states * sizeof(int32_t))
    a.length = <int32_t*> place(memory, &used, states * sizeof(int32_t))
    a.count = <double*> place(memory, &used, states * sizeof(double))
    a.base = <double*> place(memory, &used, states * sizeof(double))
    a.order = <int32_t*> place(memory, &used, (states + longest + 2) * sizeof(int32_t))
    a.next = <int32_t*> place(memory, &used, max(size, most) * sizeof(int32_t))
    a.table = <cell*> place(memory, &used, size * sizeof(cell))
    a.local = <int32_t*> place(memory, &used, (n_symbols + 1) * sizeof(int32_t))
    a.string = <int32_t*> place(memory, &used, (longest + 1) * sizeof(int32_t))
    if states * (most + 3) > TABLE:
        a.head = <int32_t*> place(memory, &used, states * sizeof(int32_t))
        a.edge_symbol = <int32_t*> place(memory, &used, edges * sizeof(int32_t))
        a.edge_to = <int32_t*> place(memory, &used, edges * sizeof(int32_t))
        a.edge_after = <int32_t*> place(memory, &used, edges * sizeof(int32_t))
    if memory != NULL:
        memset(a.local, 0, (n_symbols + 1) * sizeof(int32_t))
    return used


cdef inline int32_t target(const automaton* a, int32_t v, int32_t c) noexcept nogil:
    """Return the state after symbol c of state v, -1 if there is none."""
    cdef int32_t e
    if a.dense or v == 0:
        return a.next[v * a.n_symbols + c]
    e = a.head[v]
    while e >= 0:
        if a.edge_symbol[e] == c:
            return a.edge_to[e]
        e = a.edge_after[e]
    return -1


cdef inline void set_target(automaton* a, int32_t v, int32_t c, int32_t to) noexcept nogil:
    cdef int32_t e
    if a.dense or v == 0:
        a.next[v * a.n_symbols + c] = to
        return
    e = a.head[v]
    while e >= 0:
        if a.edge_symbol[e] == c:
            a.edge_to[e] = to
            return
        e = a.edge_after[e]
    e = <int32_t> a.n_edges
    a.n_edges += 1
    a.edge_symbol[e], a.edge_to[e], a.edge_after[e] = c, to, a.head[v]
    a.head[v] = e


cdef inline int32_t new_state(automaton* a, int32_t length, double count,
                              int32_t like) noexcept nogil:
    """Return a state with the transitions of another one, or none for -1."""
    cdef int32_t v = <int32_t> a.n_states, e
    a.n_states += 1
    a.length[v], a.count[v] = length, count
    if a.dense or v == 0:
        if like < 0:
            memset(a.next + v * a.n_symbols, 255, a.n_symbols * sizeof(int32_t))
        else:
            memcpy(a.next + v * a.n_symbols, a.next + like * a.n_symbols,
                   a.n_symbols * sizeof(int32_t))
    if not a.dense:
        a.head[v] = -1
        if like >= 0:
            e = a.head[like]
            while e >= 0:
                set_target(a, v, a.edge_symbol[e], a.edge_to[e])
                e = a.edge_after[e]
    return v


cdef inline void set_symbols(automaton* a, const int32_t* x, Py_ssize_t n) noexcept nogil:
    """Number the symbols of a string, and write it in these numbers."""
    cdef Py_ssize_t i
    a.n_symbols = 0
    for i in range(n):
        if a.local[x[i] + 1] == 0:
            a.n_symbols += 1
            a.local[x[i] + 1] = <int32_t> a.n_symbols
        a.string[i] = a.local[x[i] + 1] - 1
    a.dense = (2 * n + 2) * (a.n_symbols + 3) <= TABLE


cdef inline void forget_symbols(automaton* a, const int32_t* x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        a.local[x[i] + 1] = 0


cdef inline void build(automaton* a, Py_ssize_t n, const double* total) noexcept nogil:
    """Build the automaton of the string, n symbols; what is there after Ctrl-C is of no use."""
    cdef int32_t last, now, p, q, clone, c, v
    cdef Py_ssize_t i
    cdef int32_t* starts
    a.n_states = a.n_edges = 0
    last = new_state(a, 0, 0, -1)
    a.link[0] = -1
    for i in range(n):
        if stopped(a, i):
            return
        c = a.string[i]
        now = new_state(a, a.length[last] + 1, 1, -1)
        p = last
        while p >= 0 and target(a, p, c) < 0:
            set_target(a, p, c, now)
            p = a.link[p]
        if p < 0:
            a.link[now] = 0
        else:
            q = target(a, p, c)
            if a.length[q] == a.length[p] + 1:
                a.link[now] = q
            else:
                clone = new_state(a, a.length[p] + 1, 0, q)
                a.link[clone] = a.link[q]
                while p >= 0 and target(a, p, c) == q:
                    set_target(a, p, c, clone)
                    p = a.link[p]
                a.link[q] = a.link[now] = clone
        last = now
    # States by length: occurrences are added from the longest on, sums from the shortest.
    starts = a.order + a.n_states
    memset(starts, 0, (n + 2) * sizeof(int32_t))
    for v in range(a.n_states):
        starts[a.length[v] + 1] += 1
    for i in range(n + 1):
        starts[i + 1] += starts[i]
    for v in range(a.n_states):
        a.order[starts[a.length[v]]] = v
        starts[a.length[v]] += 1
    for i in range(a.n_states - 1, 0, -1):
        v = a.order[i]
        a.count[a.link[v]] += a.count[v]
    a.count[0] = 0
    a.base[0] = 0
    for i in range(1, a.n_states):
        v = a.order[i]
        p = a.link[v]
        a.base[v] = a.base[p] + a.count[p] * total[a.length[p]] - a.count[v] * total[a.length[p]]


cdef inline void set_table(automaton* a) noexcept nogil:
    cdef Py_ssize_t i, c, width = a.n_symbols + 3
    cdef int32_t v, to
    cdef cell* row
    for i in range(a.n_states):
        v = a.order[i]
        row = a.table + v * width
        row[0].value, row[1].value = a.base[v], a.count[v]
        if v == 0:
            for c in range(a.n_symbols + 1):
                row[2 + c].after.row, row[2 + c].after.left = 0, -1
        else:
            memcpy(row + 2, a.table + a.link[v] * width + 2, (a.n_symbols + 1) * sizeof(cell))
        for c in range(a.n_symbols):
            to = a.next[v * a.n_symbols + c]
            if to >= 0:
                row[3 + c].after.row = <int32_t> (to * width)
                row[3 + c].after.left = a.length[v]


cdef inline void read_symbol(const automaton* a, int32_t c, const double* total,
                             const cell** row, int32_t* length, double* value) noexcept nogil:
    cdef step after = row[0][2 + a.local[c + 1]].after
    row[0] = a.table + after.row
    length[0] = min(length[0], after.left) + 1
    value[0] += row[0][0].value + row[0][1].value * total[length[0]]


cdef inline void read_side_by_side(const automaton* a, const int32_t** y, const Py_ssize_t* m,
                                   const double* total, double* values) noexcept nogil:
    """Set the kernel values of the automaton's string and of SIDE others."""
    # Names instead of arrays: these stay in registers.
    cdef const cell* row0 = a.table
    cdef const cell* row1 = a.table
    cdef const cell* row2 = a.table
    cdef const cell* row3 = a.table
    cdef int32_t length0 = 0, length1 = 0, length2 = 0, length3 = 0
    cdef double value0 = 0, value1 = 0, value2 = 0, value3 = 0
    cdef Py_ssize_t j, shortest = min(min(m[0], m[1]), min(m[2], m[3]))
    for j in range(shortest):
        read_symbol(a, y[0][j], total, &row0, &length0, &value0)
        read_symbol(a, y[1][j], total, &row1, &length1, &value1)
        read_symbol(a, y[2][j], total, &row2, &length2, &value2)
        read_symbol(a, y[3][j], total, &row3, &length3, &value3)
    for j in range(shortest, m[0]):
        read_symbol(a, y[0][j], total, &row0, &length0, &value0)
    for j in range(shortest, m[1]):
        read_symbol(a, y[1][j], total, &row1, &length1, &value1)
    for j in range(shortest, m[2]):
        read_symbol(a, y[2][j], total, &row2, &length2, &value2)
    for j in range(shortest, m[3]):
        read_symbol(a, y[3][j], total, &row3, &length3, &value3)
    values[0], values[1], values[2], values[3] = value0, value1, value2, value3


cdef inline double read_through(const automaton* a, const int32_t* y, Py_ssize_t m,
                                const double* total) noexcept nogil:
    """Return the kernel value of the automaton's string and another one, by links."""
    cdef int32_t v = 0, length = 0, c, to
    cdef double value = 0
    cdef Py_ssize_t j
    for j in range(m):
        if stopped(a, j):
            return 0
        c = a.local[y[j] + 1] - 1
        if c < 0:
            v = length = 0
            continue
        to = target(a, v, c)
        while to < 0 and v > 0:
            v = a.link[v]
            length = a.length[v]
            to = target(a, v, c)
        if to >= 0:
            v = to
            length += 1
            value += a.base[v] + a.count[v] * total[length]
    return value
