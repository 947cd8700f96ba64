"""Cuts of graphs of affinities: the lightest, and the values of partitions."""

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import maximum_flow

from mlcore.cluster import cut_value, min_cut, normalized_cut_value
from mlcore.kernels import gram_matrix


def dense(n):
    return gram_matrix(np.random.default_rng(0).normal(size=(n, 5)), kernel="rbf", gamma=0.3)


def sparse(n):
    """Each sample with ten others, half of them near: whole weights, which SciPy needs."""
    rng = np.random.default_rng(0)
    near = (np.arange(n)[:, None] + rng.integers(1, 50, size=(n, 5))) % n
    far = rng.integers(0, n, size=(n, 5))
    columns = np.concatenate([near, far], axis=1).ravel()
    one_way = sp.csr_array((np.ones(10 * n), (np.repeat(np.arange(n), 10), columns)), shape=(n, n))
    return sp.csr_array(one_way + one_way.T)


class MinCut:
    """Against one pass over the memory of K."""

    params = (["all", "between two"], ["dense 2000", "sparse 20000"])
    param_names = ("cuts", "graph")

    def setup(self, cuts, graph):
        kind, n = graph.split()
        self.K = dense(int(n)) if kind == "dense" else sparse(int(n))
        self.ends = () if cuts == "all" else (0, int(n) - 1)

    def time_min_cut(self, cuts, graph):
        min_cut(self.K, *self.ends)

    def time_floor_memory(self, cuts, graph):
        self.K.sum()

    def peakmem_min_cut(self, cuts, graph):
        min_cut(self.K, *self.ends)

    def track_gap(self, cuts, graph):
        """The cut minus the bound below it, relative, in units of rounding."""
        value, _, bound = min_cut(self.K, *self.ends)
        return (value - bound) / value / np.finfo(float).eps if value else 0.0

    track_gap.unit = "eps"


class Flow:
    """Between two samples, against SciPy's flow of whole numbers."""

    def setup(self):
        self.K = sparse(20_000)
        self.whole = sp.csr_array(self.K.astype(np.int32))

    def time_min_cut(self):
        min_cut(self.K, 0, 19_999)

    def time_scipy_flow(self):
        maximum_flow(self.whole, 0, 19_999)


class CutValues:
    """Against one pass over the memory of K; the check that K is symmetric is a second."""

    def setup(self):
        self.K, self.labels = dense(3000), np.arange(3000) % 10

    def time_cut_value(self):
        cut_value(self.K, self.labels)

    def time_normalized_cut_value(self):
        normalized_cut_value(self.K, self.labels)

    def time_floor_memory(self):
        self.K.sum()

    def peakmem_cut_value(self):
        cut_value(self.K, self.labels)
