"""
k-means on the digits
=====================

k-means finds ten clusters without labels. The picture shows their means, each with the most
frequent digit of its cluster; a digit can have two clusters or none.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.cluster import KMeans, adjusted_rand_index
from mlcore.datasets import load_digits

X, y = load_digits()
model = KMeans(10, n_init=10, random_state=0).fit(X)

figure, axes = plt.subplots(2, 5, figsize=(7, 3.4), layout="constrained")
for k, ax in enumerate(axes.ravel()):
    members = y[model.labels_ == k]
    digit = np.bincount(members).argmax()
    ax.imshow(model.cluster_centers_[k].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"{np.mean(members == digit):.0%} are {digit}")
print(f"adjusted Rand index with the labels: {adjusted_rand_index(y, model.labels_):.2f}")
