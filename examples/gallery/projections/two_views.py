"""
Canonical correlations (CCA) with significance tests
====================================================

Canonical correlation analysis finds pairs of directions, one for sepals and one for petals, with
the largest correlations. A test says which correlations could be chance: their bars are hatched.
"""

from mlcore.datasets import load_iris
from mlcore.decomposition import CCA
from mlcore.plot import canonical_correlations

X, _ = load_iris()
model = CCA(2).fit(X[:, :2], X[:, 2:])
picture = canonical_correlations(model)
print("correlations:", model.canonical_correlations_.round(3))
