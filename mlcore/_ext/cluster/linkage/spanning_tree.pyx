"""Hot loops of mlcore.cluster.linkage.spanning_tree.

Borůvka's algorithm on a k-d tree, for few features; Prim's (`grow_tree`) for more, in O(n² m) time
for a screen of m coordinates in single precision, and d for the pairs that it lets through.

In each round of Borůvka's every component takes the shortest edge that leaves it (spanning_tree.c).
The radius within which a point has found no other component is a bound that later rounds start
from.
Where points have cores, an edge is at least as long as those of its ends; an empty array is none.
"""
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.cluster.linkage.spanning_tree_h cimport TREE_FEATURES, point_tree, span_tree
from mlcore._ext.cluster.linkage.spanning_tree_h cimport grow_tree as grow_tree_of_points
from mlcore._ext.cluster.linkage.spanning_tree_h cimport (
    nearest_others as nearest_others_of_leaves,
)
from mlcore._ext.numerics.kd_tree_h cimport KD_LEAF as LEAF
from mlcore._ext.cluster.linkage.union_find cimport root_of

MOST_FEATURES = TREE_FEATURES


def least_of_nodes(const double[::1] values, const int64_t[::1] right, double[::1] least, /):
    """Set `least` to the least value of the points of each node."""
    cdef Py_ssize_t v, i, a
    with nogil:
        for v in range(right.shape[0] - 1, -1, -1):
            if right[v] >= 0:
                least[v] = min(least[v + 1], least[right[v]])
                continue
            a = (-1 - right[v]) * LEAF
            least[v] = values[a]
            for i in range(a + 1, a + LEAF):
                least[v] = min(least[v], values[i])


def begin_round(const int64_t[::1] component, const int64_t[::1] right, int64_t[::1] whole,
                double[::1] best, double above, /):
    """Set `whole` to the component of all points of a node, -1 if several, and `best` to `above`.

    No edge of that squared length is taken, nor a longer one.
    """
    cdef Py_ssize_t i, v, a
    cdef int64_t own
    with nogil:
        for i in range(best.shape[0]):
            best[i] = above
        for v in range(right.shape[0] - 1, -1, -1):
            if right[v] >= 0:
                own = whole[v + 1]
                whole[v] = own if own == whole[right[v]] else -1
                continue
            a = (-1 - right[v]) * LEAF
            whole[v] = component[a]
            for i in range(a, a + LEAF):
                if component[i] != component[a]:
                    whole[v] = -1


def nearest_others(const double[:, :, ::1] panels, const double[:, :, ::1] boxes,
                   const int64_t[::1] right, const int64_t[::1] node,
                   const int64_t[::1] component, const int64_t[::1] whole,
                   const double[::1] core, const double[::1] least_core, double[::1] bound,
                   double[::1] best, int64_t[::1] source, int64_t[::1] target, Py_ssize_t first, /):
    """Find the shortest edges out of components, from leaf `first` on; return the next leaf.

    `core` and `bound` of points, `least_core` of nodes and `best` of components are squared; edges
    go from `source` to `target`.
    """
    cdef point_tree t
    t.tree.leaves, t.tree.d = panels.shape[0], panels.shape[1]
    t.tree.panels, t.tree.boxes = &panels[0, 0, 0], &boxes[0, 0, 0]
    t.tree.right, t.tree.node = &right[0], &node[0]
    t.component, t.whole = &component[0], &whole[0]
    t.core = &core[0] if core.shape[0] else NULL
    t.least_core = &least_core[0] if core.shape[0] else NULL
    t.bound, t.best, t.source, t.target = &bound[0], &best[0], &source[0], &target[0]
    with nogil:
        first = nearest_others_of_leaves(&t, first)
    return first


def join(const double[::1] best, const int64_t[::1] source, const int64_t[::1] target,
         const int64_t[::1] order, int64_t[::1] parent, int64_t[::1] number,
         int64_t[::1] component, int64_t[:, ::1] edges, double[::1] squares, double above, /):
    """Add the edges below `above` except those that close a cycle; return their number.

    All edges of a cycle are equally long, so that any may be left out. `component` of the points
    gets the new numbers. `parent` and `number` are scratch, as long as `best`.
    """
    cdef Py_ssize_t m = best.shape[0], c, i, done = 0
    cdef int64_t a, b, count = 0
    with nogil:
        for c in range(m):
            parent[c], number[c] = c, -1
        for c in range(m):
            if best[c] >= above:
                continue
            a = root_of(&parent[0], c)
            b = root_of(&parent[0], component[target[c]])
            if a != b:
                parent[a] = b
                edges[done, 0], edges[done, 1] = order[source[c]], order[target[c]]
                squares[done] = best[c]
                done += 1
        for c in range(m):
            a = root_of(&parent[0], c)
            if number[a] < 0:
                number[a] = count
                count += 1
            number[c] = number[a]
        for i in range(component.shape[0]):
            component[i] = number[component[i]]
    return done


def grow_tree(const double[:, ::1] X, float[:, :, ::1] panels, float[::1] query,
              float[::1] limit, double[::1] key, int64_t[::1] nearest, int64_t[::1] name,
              int32_t[::1] found, int64_t[::1] state, double slack, double growth,
              const double[::1] core, int64_t[:, ::1] edges, double[::1] lengths, /):
    """Add an edge to the tree for each row of `edges`; `state` is (places left, last to join).

    `core` (n,) is squared, or empty.
    """
    cdef span_tree t
    t.left, t.last, t.d, t.m = state[0], state[1], X.shape[1], panels.shape[1]
    t.slack, t.growth, t.X = slack, growth, &X[0, 0]
    t.core = &core[0] if core.shape[0] else NULL
    t.panels, t.query, t.limit = &panels[0, 0, 0], &query[0], &limit[0]
    t.key, t.nearest, t.name, t.found = &key[0], &nearest[0], &name[0], &found[0]
    with nogil:
        grow_tree_of_points(&t, edges.shape[0], &edges[0, 0], &lengths[0])
    state[0], state[1] = t.left, t.last
