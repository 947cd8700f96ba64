"""
PCA: digits reconstructed from few components
=============================================

PCA reconstructs images from their first 1, 4, 16 and 32 principal components. The titles have the
root mean squared error of a pixel, whose values go from 0 to 16.
"""

from mlcore.datasets import load_digits
from mlcore.decomposition import PCA
from mlcore.plot import reconstructions

X, _ = load_digits()
picture = reconstructions(PCA(32).fit(X), X[[3, 14, 20]], (8, 8))
