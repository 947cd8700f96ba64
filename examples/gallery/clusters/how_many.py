"""
Spectral clustering: eigengap and number of clusters
====================================================

A graph of k separate parts has k eigenvalues of 1. If few edges join the parts, then k eigenvalues
are near 1 and a large gap follows. The residuals show that the eigenvectors are accurate.
"""

import numpy as np

from mlcore.cluster import SpectralClustering
from mlcore.plot import eigengaps

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])
X = centres[rng.integers(4, size=300)] + 0.7 * rng.normal(size=(300, 2))

model = SpectralClustering(4, n_components=9, affinity="nearest_neighbors", random_state=0).fit(X)
picture = eigengaps(model)
print(f"largest residual of an eigenvector: {np.max(model.residuals_):.1e}")
