"""
Four ways to normalise an affinity
==================================

Spectral methods differ in one step: the matrix nearest to the affinities whose rows sum to 1, by
four measures of nearness. Samples are ordered by species; squares outline them.
"""

from mlcore.cluster import affinity
from mlcore.datasets import load_iris
from mlcore.plot import normalized_affinities

X, y = load_iris()
picture = normalized_affinities(affinity(X, self_tuning=True), y)
