"""
Do sepals know about petals?
============================

Canonical correlation analysis finds the pairs of directions, one of each block, that correlate
most, and tests which of them may be chance.
"""

from mlcore.datasets import load_iris
from mlcore.decomposition import CCA
from mlcore.plot import canonical_correlations

X, _ = load_iris()
model = CCA(2).fit(X[:, :2], X[:, 2:])
picture = canonical_correlations(model)
print("correlations:", model.canonical_correlations_.round(3))
