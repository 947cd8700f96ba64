"""
Clusters of several densities, and noise
========================================

One distance does not suit a dense and a sparse cluster: with a small `eps`, DBSCAN loses the sparse
one, and with a large one it merges the two dense ones. HDBSCAN chooses from all distances at once.
Grey samples are noise. The titles say how well the clusters agree with the true ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.cluster import DBSCAN, HDBSCAN, adjusted_rand_index

rng = np.random.default_rng(0)
centers = np.array([[-4.0, 0.0], [-2.6, 0.4], [3.0, 0.0]])
widths, sizes = [0.2, 0.2, 1.0], [150, 150, 150]
groups = [c + w * rng.normal(size=(n, 2)) for c, w, n in zip(centers, widths, sizes, strict=True)]
X = np.concatenate([*groups, rng.uniform([-7, -4], [7, 4], (60, 2))])
true = np.repeat([0, 1, 2, -1], [*sizes, 60])

models = {
    "DBSCAN, eps 0.3": DBSCAN(0.3, min_samples=10),
    "DBSCAN, eps 0.7": DBSCAN(0.7, min_samples=10),
    "HDBSCAN": HDBSCAN(25, min_samples=10),
}
colors = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#BBBBBB"])
agreement = {}
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    labels = model.fit(X).labels_
    agreement[name] = adjusted_rand_index(labels, true)
    ax.scatter(*X.T, c=colors[labels], s=8)
    ax.set(xticks=[], yticks=[], title=f"{name}: {agreement[name]:.2f}")
