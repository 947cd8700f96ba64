"""Hot loop of mlcore.calibration.venn_abers: all isotonic fits with one more positive sample.

The fit to groups of samples is the slope of the greatest convex minorant of the points P_i, the
sums of their numbers and of their positives. A positive sample added to group i moves P_0 to
P_{i-1} by (-1, -1), to Q_0 .. Q_{i-1}: the value of the group is the slope of the line that bridges
the minorants of Q_0 .. Q_{i-1} and of P_i .. P_k. As i increases the bridge moves to the right, so
that all of them take O(k) time.
"""
from libc.stdint cimport int64_t


cdef inline int64_t turn(const int64_t* a, const int64_t* b, int64_t x, int64_t y) noexcept nogil:
    """Return a positive number if (x, y) is above the line through a and b, a to the left."""
    return (y - a[1]) * (b[0] - a[0]) - (b[1] - a[1]) * (x - a[0])


def bridges(const int64_t[:, ::1] P, int64_t[:, ::1] stack, int64_t[:, ::1] bridge, /):
    """Write (run, rise) of the bridge of each group 1 .. k into `bridge` (k, 2).

    P (k + 1, 2) are the sums, below 2**31, from (0, 0); `stack` (k + 1, 2) is scratch.
    """
    cdef Py_ssize_t k = bridge.shape[0], top = -1, i
    cdef int64_t x, y
    with nogil:
        # The minorant of Q_0, P_1 .. P_k, its left end on top.
        for i in range(k, -1, -1):
            x, y = P[i, 0], P[i, 1]
            if i == 0:
                x, y = -1, -1
            while top > 0 and turn(&stack[top, 0], &stack[top - 1, 0], x, y) <= 0:
                top -= 1
            top += 1
            stack[top, 0], stack[top, 1] = x, y
        for i in range(1, k + 1):
            bridge[i - 1, 0] = stack[top - 1, 0] - stack[top, 0]
            bridge[i - 1, 1] = stack[top - 1, 1] - stack[top, 1]
            x, y = P[i, 0] - 1, P[i, 1] - 1
            if turn(&stack[top, 0], &stack[top - 1, 0], x, y) >= 0:
                continue
            # Q_i is below the bridge, and so is the left end of the next one.
            top -= 1
            while top > 0 and turn(&stack[top, 0], &stack[top - 1, 0], x, y) <= 0:
                top -= 1
            top += 1
            stack[top, 0], stack[top, 1] = x, y
