"""
Spectral clustering: four normalisations
========================================

Methods of spectral clustering differ in one step: they replace the affinities by the nearest
matrix whose rows sum to 1, and measure nearness in four ways. The samples are ordered by species;
white lines separate the species.
"""

from mlcore.cluster import affinity
from mlcore.datasets import load_iris
from mlcore.plot import normalized_affinities

X, y = load_iris()
picture = normalized_affinities(affinity(X, self_tuning=True), y)
