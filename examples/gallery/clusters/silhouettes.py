"""
Silhouettes of k-means clusters
===============================

The silhouette of a sample compares its mean distance to the samples of its own cluster with that
to the nearest other cluster. A negative silhouette means that the other cluster is nearer. mlcore
computes silhouettes without storing the distance matrix.
"""

import matplotlib.pyplot as plt

from mlcore.cluster import KMeans
from mlcore.datasets import load_iris
from mlcore.plot import silhouettes

X, _ = load_iris()
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True, layout="constrained")
for k, ax in zip((2, 3, 4), axes, strict=True):
    silhouettes(X, KMeans(k, random_state=0).fit_predict(X), ax=ax)
    ax.set_title(f"{k} clusters")
