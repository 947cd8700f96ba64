"""Hot loop of mlcore.cluster.cuts.max_flow: a maximum preflow (Goldberg and Tarjan, J. ACM 1988).

First in, first out, with the gap heuristic and global relabelling. Capacities are real numbers: a
push makes either the excess or the residual capacity exactly 0, so that the bounds on the number of
steps hold despite rounding. Edges are entries of a dense matrix, row by row, or of CSR.
"""
from libc.stdint cimport int64_t

cdef enum:
    # Indices of the state.
    HEAD = 0  # first place of the queue
    COUNT = 1  # length of the queue
    RELABELS = 2  # relabels since labels were last exact
    STARTED = 3  # 1 once the edges of the source are saturated


cdef struct network:
    int64_t n, source, sink
    bint dense
    const int64_t* starts  # of the edges that leave a vertex; dense: i * n + j leads from i to j
    const int64_t* heads
    const int64_t* backs   # the same edge the other way
    double* residual       # of edges
    double* excess         # of vertices
    int64_t* label         # a lower bound on the distance to the sink; n: none is left
    int64_t* arc           # current edge of a vertex
    int64_t* counts        # vertices with a label
    int64_t* queue         # vertices with an excess
    int64_t* state


cdef inline int64_t first_edge(const network* g, int64_t v) noexcept nogil:
    return v * g.n if g.dense else g.starts[v]


cdef inline int64_t head(const network* g, int64_t v, int64_t edge) noexcept nogil:
    return edge - v * g.n if g.dense else g.heads[edge]


cdef inline int64_t back(const network* g, int64_t v, int64_t edge) noexcept nogil:
    return (edge - v * g.n) * g.n + v if g.dense else g.backs[edge]


cdef inline void push(network* g, int64_t u, int64_t edge, double amount) noexcept nogil:
    cdef int64_t v = head(g, u, edge)
    if v != g.sink and v != g.source and g.excess[v] == 0 and g.label[v] < g.n:
        g.queue[(g.state[HEAD] + g.state[COUNT]) % g.n] = v
        g.state[COUNT] += 1
    g.residual[edge] -= amount
    g.residual[back(g, u, edge)] += amount
    g.excess[u] -= amount
    g.excess[v] += amount


cdef int64_t relabel_all(network* g) noexcept nogil:
    """Set labels to exact distances to the sink, and rebuild the queue; return the edges seen."""
    cdef int64_t v, u, edge, at = 0, size = 1, seen = 0
    for v in range(g.n):
        g.label[v], g.counts[v], g.arc[v] = g.n, 0, first_edge(g, v)
    g.queue[0], g.label[g.sink], g.counts[0] = g.sink, 0, 1
    while at < size:
        v = g.queue[at]
        at += 1
        for edge in range(first_edge(g, v), first_edge(g, v + 1)):
            u = head(g, v, edge)
            if g.label[u] == g.n and u != g.source and g.residual[back(g, v, edge)] > 0:
                g.label[u] = g.label[v] + 1
                g.counts[g.label[u]] += 1
                g.queue[size] = u
                size += 1
        seen += first_edge(g, v + 1) - first_edge(g, v)
    g.state[HEAD] = g.state[COUNT] = g.state[RELABELS] = 0
    for v in range(g.n):
        if g.excess[v] > 0 and g.label[v] < g.n and v != g.sink:
            g.queue[g.state[COUNT]] = v
            g.state[COUNT] += 1
    return seen


cdef int64_t relabel(network* g, int64_t u) noexcept nogil:
    """Raise the label of `u`, which has no admissible edge; return the edges seen."""
    cdef int64_t old = g.label[u], new = g.n, edge, v
    for edge in range(first_edge(g, u), first_edge(g, u + 1)):
        if g.residual[edge] > 0:
            new = min(new, g.label[head(g, u, edge)] + 1)
    g.state[RELABELS] += 1
    g.counts[old] -= 1
    if g.counts[old] == 0:  # a gap: the sink cannot be reached from above it
        for v in range(g.n):
            if old < g.label[v] < g.n:
                g.counts[g.label[v]] -= 1
                g.label[v] = g.n
        new = g.n
    g.label[u], g.arc[u] = new, first_edge(g, u)
    if new < g.n:
        g.counts[new] += 1
    return first_edge(g, u + 1) - first_edge(g, u) + (g.n if new == g.n else 0)


cdef int64_t discharge(network* g, int64_t u) noexcept nogil:
    """Push the excess of `u` on, or find that it cannot reach the sink; return the edges seen."""
    cdef int64_t seen = 0, edge = g.arc[u], begun = edge
    while g.label[u] < g.n:
        while edge < first_edge(g, u + 1):
            if g.residual[edge] > 0 and g.label[head(g, u, edge)] + 1 == g.label[u]:
                push(g, u, edge, min(g.excess[u], g.residual[edge]))
                if g.excess[u] == 0:
                    g.arc[u] = edge
                    return seen + edge - begun + 1
            edge += 1
        seen += edge - begun + relabel(g, u)
        begun = edge = g.arc[u]
    return seen


def push_relabel(double[::1] residual, const int64_t[::1] starts, const int64_t[::1] heads,
                 const int64_t[::1] backs, Py_ssize_t source, Py_ssize_t sink, double[::1] excess,
                 int64_t[:, ::1] vertices, int64_t[::1] state, int64_t work, /):
    """Push towards the sink until about `work` edges are seen; return True if the flow is maximal.

    Edges are those of a dense matrix if `starts` is empty, else of CSR. `vertices` is (4, n); at
    the end its first row is n on the source's side of a minimum cut, and less on the sink's.
    `excess[sink]` is the flow.
    """
    cdef network g
    cdef int64_t edge, u
    g.n, g.source, g.sink, g.dense = excess.shape[0], source, sink, starts.shape[0] == 0
    g.starts = g.heads = g.backs = NULL
    g.residual = NULL
    if not g.dense:
        g.starts = &starts[0]
    if residual.shape[0] > 0:
        g.residual = &residual[0]
        if not g.dense:
            g.heads, g.backs = &heads[0], &backs[0]
    g.excess, g.state = &excess[0], &state[0]
    g.label, g.arc, g.counts, g.queue = (&vertices[0, 0], &vertices[1, 0], &vertices[2, 0],
                                         &vertices[3, 0])
    with nogil:
        if not state[STARTED]:
            state[STARTED] = True
            for edge in range(first_edge(&g, source), first_edge(&g, source + 1)):
                if g.residual[edge] > 0:
                    u = head(&g, source, edge)
                    g.excess[u] += g.residual[edge]
                    g.residual[back(&g, source, edge)] += g.residual[edge]
                    g.residual[edge] = 0
            work -= relabel_all(&g)
        while work > 0:
            if state[COUNT] == 0:
                relabel_all(&g)  # exact labels define the sides
                if state[COUNT] == 0:
                    break
            if state[RELABELS] >= g.n:
                work -= relabel_all(&g)
                continue
            u = g.queue[state[HEAD]]
            state[HEAD] = (state[HEAD] + 1) % g.n
            state[COUNT] -= 1
            work -= discharge(&g, u) + 1
    return work > 0
