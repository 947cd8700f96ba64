"""
Two moons: k-means, single linkage and spectral clustering
==========================================================

k-means separates two clusters by a straight line, and no line separates the moons. Single linkage
and spectral clustering join samples by chains of neighbours. The titles say how many samples are
in the cluster of their moon.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.cluster import AgglomerativeClustering, KMeans, SpectralClustering

rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, 300)
upper = np.arange(300) % 2 == 0
X = np.c_[np.cos(angle) + ~upper, np.sin(angle)] * np.c_[np.ones(300), np.where(upper, 1, -1)]
X += np.c_[np.zeros(300), np.where(upper, 0, 0.4)] + 0.06 * rng.normal(size=X.shape)

models = {
    "k-means": KMeans(2, random_state=0),
    "single linkage": AgglomerativeClustering(2, linkage="single"),
    "spectral clustering": SpectralClustering(2, gamma=30.0, random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    labels = model.fit(X).labels_
    same = max(np.mean(labels == upper), np.mean(labels != upper))
    ax.scatter(*X.T, c=np.where(labels == labels[0], "#0072B2", "#D55E00"), s=8)
    ax.set(xticks=[], yticks=[], title=f"{name}: {same:.0%}")
