"""
Gap statistic: how many clusters, and which flowers they are
============================================================

The cost of k-means falls with every further cluster, in data without clusters too. The gap is what
it falls by beyond that; the least number of clusters is chosen whose gap is within a standard error
of the next one. The table compares the clusters with the species, of which two overlap.
"""

import matplotlib.pyplot as plt

from mlcore.cluster import KMeans, clustering_report, gap_statistic
from mlcore.datasets import load_iris
from mlcore.plot import contingency_table, gap_curve

X, y = load_iris()
found = gap_statistic(X, n_clusters=range(1, 9), random_state=0)
labels = KMeans(found.best_n_clusters, n_init=10, random_state=0).fit_predict(X)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
gap_curve(found, ax=axes[0])
contingency_table(y, labels, ax=axes[1])
print(clustering_report(y, labels))
