"""Cluster points on a Swiss roll by merges, with three linkages."""

from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_swiss_roll

X, _ = make_swiss_roll(2500, noise=0.05, random_state=0)
X[:, 1] *= 0.5

RESULT = {
    linkage: AgglomerativeClustering(n_clusters=6, linkage=linkage).fit(X).labels_
    for linkage in ("ward", "average", "complete")
}
