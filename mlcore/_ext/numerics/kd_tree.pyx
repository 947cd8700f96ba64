"""Hot loop of mlcore.numerics.kd_tree.

The tree halves the points across the widest side of their box until each leaf has one panel of
points; all leaves but the last are full. Nodes are in preorder, root 0.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from mlcore._ext.shared.panel_h cimport PANEL_DOUBLE, PANEL_FLOAT
from mlcore._ext.numerics.kd_tree_h cimport KD_LEAF as LEAF

cdef enum:
    WORK = 1 << 24  # coordinates that a call reads, about

LEAF_POINTS = LEAF
PANEL_WIDTH = {4: PANEL_FLOAT, 8: PANEL_DOUBLE}


def build(const double[:, ::1] columns, Py_ssize_t v, int64_t[:, ::1] orders, int64_t[::1] spare,
          uint8_t[::1] side, int64_t[:, ::1] span, int64_t[::1] right, int64_t[::1] node,
          double[:, :, ::1] boxes, double[:, :, ::1] panels, /):
    """Build the nodes v, v + 1, ... of the tree; return the first node that is not built yet.

    `columns` are the features, `orders` the points sorted by each of them; in the end, those of a
    node stand together. `span` has the first leaf of each node and the end of its leaves, at first
    of the root alone; `spare` and `side` are scratch. `boxes` are (nodes, 2, features).
    """
    cdef Py_ssize_t n = columns.shape[1], d = columns.shape[0], work = 0
    cdef Py_ssize_t first, end, low, high, middle, i, f, widest, front, back
    cdef int64_t row
    cdef int64_t* order
    cdef double least, most, width
    with nogil:
        while v < boxes.shape[0] and work < WORK:
            first, end = span[v, 0], span[v, 1]
            low, high = first * LEAF, min(end * LEAF, n)
            work += (high - low) * d
            widest, width = 0, -1
            for f in range(d):
                least, most = columns[f, orders[f, low]], columns[f, orders[f, high - 1]]
                boxes[v, 0, f], boxes[v, 1, f] = least, most
                if most - least > width:
                    widest, width = f, most - least
            if end - first == 1:
                right[v], node[first] = -1 - first, v
                for f in range(d):
                    for i in range(low, high):
                        panels[first, f, i - low] = columns[f, orders[0, i]]
                    for i in range(high - low, LEAF):
                        panels[first, f, i] = INFINITY
            else:
                middle = (first + end + 1) // 2
                right[v] = v + 2 * (middle - first)
                span[v + 1, 0], span[v + 1, 1] = first, middle
                span[right[v], 0], span[right[v], 1] = middle, end
                order = &orders[widest, 0]
                middle *= LEAF
                for i in range(low, high):
                    side[order[i]] = i >= middle
                for f in range(d):
                    if f == widest:
                        continue
                    order = &orders[f, 0]
                    front, back = low, 0
                    for i in range(low, high):
                        row = order[i]
                        order[front] = spare[back] = row
                        front += 1 - side[row]
                        back += side[row]
                    memcpy(order + middle, &spare[0], back * sizeof(int64_t))
            v += 1
    return v
