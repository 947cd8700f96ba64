"""Select the number of components and the covariances of a Gaussian mixture by BIC."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

X, _ = make_blobs(n_samples=10000, centers=6, n_features=8, cluster_std=3.0, random_state=0)
scores = []
for covariances in ("spherical", "tied", "diag", "full"):
    for n_components in range(2, 10):
        mixture = GaussianMixture(n_components, covariance_type=covariances, random_state=0)
        scores.append(mixture.fit(X).bic(X) / len(X))

RESULT = {"criterion": np.array(scores)}
