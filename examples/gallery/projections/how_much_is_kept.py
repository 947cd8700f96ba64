"""
PCA: explained variance (scree plot)
====================================

The first principal components explain most of the variance of the digits. The model also reports
how much the best subspace of the same dimension could explain at most: the components that the
solver found explain as much, to rounding.
"""

from mlcore.datasets import load_digits
from mlcore.decomposition import PCA
from mlcore.plot import scree

X, _ = load_digits()
model = PCA(20).fit(X)
picture = scree(model)
print(f"20 of 64 components explain {model.explained_variance_ratio_.sum():.0%} of the variance")
