"""
Hierarchical clustering: dendrogram of Ward's method
====================================================

Each step of Ward's method merges the two clusters whose union increases the sum of squares least.
The dashed line is the height at which merging stopped.
"""

from mlcore.cluster import AgglomerativeClustering
from mlcore.datasets import load_iris
from mlcore.plot import dendrogram

X, y = load_iris()
model = AgglomerativeClustering(3, linkage="ward").fit(X)
picture = dendrogram(model, no_labels=True)
print("flowers in each cluster:", sorted((model.labels_ == k).sum().item() for k in range(3)))
