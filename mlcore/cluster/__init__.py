"""Clustering: groups of samples, found without labels."""

from mlcore.cluster.cuts.cuts import (
    MinCut,
    cut_value,
    min_cut,
    normalized_association,
    normalized_cut_value,
    ratio_cut_value,
)
from mlcore.cluster.doubly_stochastic.doubly_stochastic import DoublyStochastic, doubly_stochastic
from mlcore.cluster.doubly_stochastic.frobenius import FrobeniusProjection, frobenius_projection
from mlcore.cluster.k_means.k_means import KMeans
from mlcore.cluster.k_means.k_medians import KMedians
from mlcore.cluster.k_means.mini_batch_k_means import MiniBatchKMeans
from mlcore.cluster.k_medoids.k_medoids import KMedoids
from mlcore.cluster.kernel_k_means.kernel_k_means import KernelKMeans
from mlcore.cluster.linkage.linkage import AgglomerativeClustering
from mlcore.cluster.scores.objectives import adjusted_rand_index, clustering_cost
from mlcore.cluster.scores.silhouette import silhouette_samples, silhouette_score
from mlcore.cluster.spectral.affinity import affinity, normalize_affinity
from mlcore.cluster.spectral.probabilistic import ProbabilisticClustering
from mlcore.cluster.spectral.spectral import SpectralClustering

__all__ = [
    "AgglomerativeClustering",
    "DoublyStochastic",
    "FrobeniusProjection",
    "KMeans",
    "KMedians",
    "KMedoids",
    "KernelKMeans",
    "MinCut",
    "MiniBatchKMeans",
    "ProbabilisticClustering",
    "SpectralClustering",
    "adjusted_rand_index",
    "affinity",
    "clustering_cost",
    "cut_value",
    "doubly_stochastic",
    "frobenius_projection",
    "min_cut",
    "normalize_affinity",
    "normalized_association",
    "normalized_cut_value",
    "ratio_cut_value",
    "silhouette_samples",
    "silhouette_score",
]


def __dir__() -> list[str]:
    return __all__
