"""Loops of mlcore.cluster.density.condensed_tree, each O(n).

Nodes are numbered as in SciPy's linkage matrix: samples 0 to n - 1, then merges by increasing
height. Merges of one height that hang together are one merge of several children, named by the
topmost of them, its head. Clusters are numbered from the root, 0, so that parents come first.

Sums that a choice depends on have an error term (two numbers, D. E. Knuth's exact sum), so that
they are the same, nearly always, for all orders of the samples.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t


cdef inline void add(double* sum, double x) noexcept nogil:
    """Add x to sum[0] + sum[1], where sum[1] is the rounding of sum[0]."""
    cdef double total = sum[0] + x, part = total - sum[0]
    sum[1] += (sum[0] - (total - part)) + (x - part)
    sum[0] = total


cdef inline bint is_large(const double* size, const double* core, Py_ssize_t n, double least,
                          double height, int64_t c) noexcept nogil:
    """Return True if child c of a merge at `height` may be a cluster.

    A sample of weight w stands for w copies, which are merged at their core.
    """
    return size[c] >= least and (c >= n or core[c] < height)


cdef inline double density(double height) noexcept nogil:
    return 1 / height if height > 0 else INFINITY


def condense(const int64_t[:, ::1] children, const double[::1] heights, const double[::1] core,
             double least, double[::1] size, int64_t[::1] head, int64_t[::1] state,
             double[::1] fall, int64_t[::1] parent, double[::1] birth, double[::1] weight,
             int64_t[::1] cluster, double[::1] leave, /):
    """Find the clusters of weight `least` or more; return their number, and that of tied merges.

    `size` (2 n - 1,) has the weights of the samples, and gets those of all nodes; `head`, `state`
    and `fall` (2 n - 1,) are scratch. Cluster m has `parent`, lambda at its `birth` and `weight`
    (2 n,); sample i leaves its last `cluster` at lambda `leave`. Tied merges are those that are
    part of another of the same height.
    """
    cdef Py_ssize_t n = cluster.shape[0], high, low, k, count = 1, tied = 0
    cdef int64_t c, g, s
    cdef int side
    cdef double at
    cdef double* sizes = &size[0]
    cdef const double* cores = &core[0]
    with nogil:
        for k in range(n - 1):
            size[n + k] = size[children[k, 0]] + size[children[k, 1]]
        parent[0], birth[0], weight[0], state[2 * n - 2] = -1, 0, size[2 * n - 2], 0
        for k in range(2 * n - 1):
            head[k] = -1
        high = n - 1
        while high > 0:
            low = high - 1
            while low > 0 and heights[low - 1] == heights[high - 1]:
                low -= 1
            # The heads of merges low, ..., high - 1, all of one height, and their large children,
            # counted where the heads of samples would be.
            for k in range(high - 1, low - 1, -1):
                if head[n + k] < 0:
                    head[n + k] = n + k
                    head[k] = 0
                else:
                    tied += 1
                g = head[n + k]
                for side in range(2):
                    c = children[k, side]
                    if c - n >= low:
                        head[c] = g
                    elif is_large(sizes, cores, n, least, heights[k], c):
                        head[g - n] += 1
            # Their children: clusters, parts of the same cluster, or rows that leave it.
            at = density(heights[low])
            for k in range(high - 1, low - 1, -1):
                g = head[n + k]
                s = state[g]
                for side in range(2):
                    c = children[k, side]
                    if c - n >= low:
                        continue
                    if s < 0:
                        state[c], fall[c] = s, fall[g]
                    elif not is_large(sizes, cores, n, least, heights[k], c):
                        state[c], fall[c] = -1 - s, at
                    elif head[g - n] == 1:
                        state[c] = s
                    else:
                        parent[count], birth[count], weight[count] = s, at, size[c]
                        state[c] = count
                        count += 1
            high = low
        for k in range(n):
            s = state[k]
            cluster[k], leave[k] = (-1 - s, fall[k]) if s < 0 else (s, density(core[k]))
    return count, tied


def stabilities(const int64_t[::1] cluster, const double[::1] leave,
                const double[::1] sample_weight, const int64_t[::1] parent,
                const double[::1] birth, const double[::1] weight, double[:, ::1] sums,
                double[::1] stability, double[::1] last, double[::1] peak, /):
    """Set each cluster's stability, and the largest lambda of it and of all below it.

    `last` is where its own last row leaves or it splits. `sums` (n_clusters, 2) is scratch.
    """
    cdef Py_ssize_t i, m
    cdef int64_t c
    with nogil:
        for m in range(parent.shape[0]):
            sums[m, 0] = sums[m, 1] = 0
            last[m] = birth[m]
        for i in range(cluster.shape[0]):
            c = cluster[i]
            add(&sums[c, 0], sample_weight[i] * (leave[i] - birth[c]))
            last[c] = max(last[c], leave[i])
        for m in range(1, parent.shape[0]):
            c = parent[m]
            add(&sums[c, 0], weight[m] * (birth[m] - birth[c]))
            last[c] = max(last[c], birth[m])
        for m in range(parent.shape[0] - 1, -1, -1):
            stability[m] = sums[m, 0] + sums[m, 1]
            peak[m] = max(last[m], peak[m])
            if m > 0:
                peak[parent[m]] = max(peak[parent[m]], peak[m])


def select(const int64_t[::1] parent, const double[::1] weight, const double[::1] stability,
           bint leaves, bint root, double most, double[:, ::1] sums, uint8_t[::1] chosen, /):
    """Set `chosen` to the clusters, none below another, of the largest sum of stabilities.

    With `leaves` to those that do not split. The root is chosen if `root` allows it, and no cluster
    of more weight than `most`. `sums` (n_clusters, 2) is scratch.
    """
    cdef Py_ssize_t m, count = parent.shape[0]
    cdef bint above
    with nogil:
        for m in range(count):
            sums[m, 0] = sums[m, 1] = 0
            chosen[m] = 1
        for m in range(count - 1, -1, -1):
            if leaves:
                if m > 0:
                    chosen[parent[m]] = 0
                continue
            # Best below, which the cluster replaces if it is no worse.
            if weight[m] > most or (m == 0 and not root):
                chosen[m] = 0
            elif stability[m] >= sums[m, 0] + sums[m, 1]:
                sums[m, 0], sums[m, 1] = stability[m], 0
            else:
                chosen[m] = 0
            if m > 0:
                add(&sums[parent[m], 0], sums[m, 0])
                sums[parent[m], 1] += sums[m, 1]
        chosen[0] = chosen[0] and root
        # What lies below a chosen cluster is not chosen; `sums` says so from the root down.
        for m in range(count):
            above = m > 0 and sums[parent[m], 0] < 0
            if above:
                chosen[m] = 0
            sums[m, 0] = -1 if above or chosen[m] else 0


def merge_splits(const int64_t[::1] parent, const double[::1] birth, bint root, double least,
                 int64_t[::1] top, uint8_t[::1] chosen, /):
    """Replace chosen clusters that were born at lambda `least` or above by what they split from.

    `top` is scratch, (n_clusters,).
    """
    cdef Py_ssize_t m, count = parent.shape[0]
    with nogil:
        top[0] = 0
        for m in range(1, count):
            top[m] = m if birth[m] < least or (parent[m] == 0 and not root) else top[parent[m]]
        for m in range(count - 1, -1, -1):
            if chosen[m]:
                chosen[m] = 0
                chosen[top[m]] = 1


def label_rows(const int64_t[::1] cluster, const double[::1] leave, const int64_t[::1] parent,
               const uint8_t[::1] chosen, double least, int64_t[::1] own, int64_t[::1] number,
               int64_t[::1] labels, int64_t[::1] clusters, /):
    """Label samples by their chosen cluster, -1 for none, in order of first samples.

    Samples that leave the root below lambda `least`, or at 0, are in none. `clusters` gets the
    cluster of each label; their number is returned. `own` and `number` (n_clusters,) are scratch.
    """
    cdef Py_ssize_t i, m
    cdef int64_t c, count = 0
    with nogil:
        for m in range(parent.shape[0]):
            own[m] = m if chosen[m] else (own[parent[m]] if m > 0 else -1)
            number[m] = -1
        for i in range(cluster.shape[0]):
            c = own[cluster[i]]
            labels[i] = -1
            if c < 0 or (c == 0 and cluster[i] == 0 and not (leave[i] > 0 and leave[i] >= least)):
                continue
            if number[c] < 0:
                number[c], clusters[count] = count, c
                count += 1
            labels[i] = number[c]
    return count
