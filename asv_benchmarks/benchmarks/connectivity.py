"""Agglomerative clustering along a graph, against scikit-learn's."""

import numpy as np
from sklearn.cluster import AgglomerativeClustering as ScikitLearns
from sklearn.feature_extraction.image import grid_to_graph

from mlcore.cluster import AgglomerativeClustering


class MergesOfAnImage:
    params = ["single", "complete", "average", "ward"], [12, 100]
    param_names = "linkage", "side"

    def setup(self, linkage, side):
        self.X = np.random.default_rng(0).normal(size=(side * side, 3))
        self.parameters = {"connectivity": grid_to_graph(side, side), "linkage": linkage}

    def time_fit(self, *_):
        AgglomerativeClustering(10, **self.parameters).fit(self.X)

    def time_scikit_learn(self, *_):
        ScikitLearns(10, **self.parameters).fit(self.X)

    def peakmem_fit(self, *_):
        AgglomerativeClustering(10, **self.parameters).fit(self.X)
