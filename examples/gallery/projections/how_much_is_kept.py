"""
How much do a few directions keep?
==================================

The first components of the digits explain most of their variance. The bound says what no other
directions could exceed: components found by iteration are checked against it.
"""

from mlcore.datasets import load_digits
from mlcore.decomposition import PCA
from mlcore.plot import scree

X, _ = load_digits()
model = PCA(20).fit(X)
picture = scree(model)
print(f"20 of 64 directions keep {model.explained_variance_ratio_.sum():.0%} of the variance")
