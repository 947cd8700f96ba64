"""
k-medoids on iris
=================

A medoid is the sample that represents its cluster, for any metric. The fit ends when no swap of a
medoid with another sample lowers the sum of distances. Large marks are the medoids.
"""

import matplotlib.pyplot as plt

from mlcore.cluster import KMedoids
from mlcore.datasets import load_iris

X, _ = load_iris()
model = KMedoids(3, metric="manhattan", random_state=0).fit(X)

figure, ax = plt.subplots(layout="constrained")
for k, (color, mark) in enumerate(zip(("#0072B2", "#D55E00", "#009E73"), "o^s", strict=True)):
    cluster = X[model.labels_ == k]
    ax.plot(cluster[:, 2], cluster[:, 3], mark, color=color, alpha=0.5)
    medoid = X[model.medoid_indices_[k]]
    ax.plot(medoid[2], medoid[3], mark, color=color, markersize=14, markeredgecolor="black")
ax.set(xlabel="petal length in cm", ylabel="petal width in cm")
print(f"sum of distances {model.inertia_:.1f}, medoids are flowers {model.medoid_indices_}")
