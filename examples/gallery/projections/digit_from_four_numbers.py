"""
A digit from four numbers
=========================

What the first 1, 4 and 16 principal components make of images, with the error of a pixel.
"""

from mlcore.datasets import load_digits
from mlcore.decomposition import PCA
from mlcore.plot import reconstructions

X, _ = load_digits()
picture = reconstructions(PCA(32).fit(X), X[[3, 14, 20]], (8, 8))
