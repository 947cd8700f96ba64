"""Make a code book of 64 words for vectors by k-means, the best of four starts."""

from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

X, _ = make_blobs(n_samples=20000, centers=100, n_features=16, cluster_std=4.0, random_state=0)
words = KMeans(n_clusters=64, n_init=4, random_state=0).fit(X)

RESULT = {"words": words.cluster_centers_, "labels": words.labels_, "distances": words.transform(X)}
