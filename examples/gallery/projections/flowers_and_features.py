"""
Flowers and their measurements in one plane
===========================================

A biplot: points are flowers, arrows features; an arrow points to where its feature is large.
"""

from mlcore.datasets import load_iris
from mlcore.decomposition import PCA
from mlcore.plot import biplot

X, y = load_iris()
picture = biplot(PCA(2).fit(X), X, y)
