"""Clustering: groups of samples, found without labels."""

from mlcore.cluster.k_means import KMeans
from mlcore.cluster.kernel_k_means import KernelKMeans
from mlcore.cluster.mini_batch_k_means import MiniBatchKMeans

__all__ = ["KMeans", "KernelKMeans", "MiniBatchKMeans"]
