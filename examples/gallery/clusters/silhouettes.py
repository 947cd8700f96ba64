"""
Which cluster is a cluster?
===========================

The silhouette of a sample compares its mean distance from its own cluster with that from the next
one. Negative ones would rather be elsewhere. Distances are never stored as a matrix.
"""

import matplotlib.pyplot as plt

from mlcore.cluster import KMeans, silhouette_score
from mlcore.datasets import load_iris
from mlcore.plot import silhouettes

X, _ = load_iris()
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True)
for k, ax in zip((2, 3, 4), axes, strict=True):
    labels = KMeans(k, random_state=0).fit_predict(X)
    silhouettes(X, labels, ax=ax)
    ax.set_title(f"{k} clusters, mean {silhouette_score(X, labels):.2f}")
