"""Clustering: groups of samples, found without labels."""

from mlcore.cluster.cuts.cuts import (
    MinCut,
    cut_value,
    min_cut,
    normalized_association,
    normalized_cut_value,
    ratio_cut_value,
)
from mlcore.cluster.density.condensed_tree import CondensedTree
from mlcore.cluster.density.dbscan import DBSCAN
from mlcore.cluster.density.hdbscan import HDBSCAN
from mlcore.cluster.density.verification import TreeVerification
from mlcore.cluster.doubly_stochastic.doubly_stochastic import DoublyStochastic, doubly_stochastic
from mlcore.cluster.doubly_stochastic.frobenius import FrobeniusProjection, frobenius_projection
from mlcore.cluster.k_means.k_means import KMeans
from mlcore.cluster.k_means.k_medians import KMedians
from mlcore.cluster.k_means.mini_batch_k_means import MiniBatchKMeans
from mlcore.cluster.k_medoids.k_medoids import KMedoids
from mlcore.cluster.kernel_k_means.kernel_k_means import KernelKMeans
from mlcore.cluster.linkage.linkage import AgglomerativeClustering
from mlcore.cluster.neighbors import nearest_neighbors
from mlcore.cluster.scaling.sinkhorn import Scaling, sinkhorn
from mlcore.cluster.scores.agreement import (
    adjusted_mutual_info_score,
    adjusted_mutual_information,
    adjusted_rand_index,
    adjusted_rand_score,
    completeness,
    completeness_score,
    fowlkes_mallows_index,
    fowlkes_mallows_score,
    homogeneity,
    homogeneity_score,
    mutual_info_score,
    mutual_information,
    normalized_mutual_info_score,
    normalized_mutual_information,
    pair_confusion_matrix,
    v_measure,
    v_measure_score,
)
from mlcore.cluster.scores.centers import calinski_harabasz_score, davies_bouldin_score
from mlcore.cluster.scores.clustering_report import ClusteringReport, clustering_report
from mlcore.cluster.scores.consensus import consensus_matrix
from mlcore.cluster.scores.contingency import contingency_matrix
from mlcore.cluster.scores.gap_statistic import GapStatistic, gap_statistic
from mlcore.cluster.scores.objectives import clustering_cost
from mlcore.cluster.scores.silhouette import silhouette_samples, silhouette_score
from mlcore.cluster.spectral.affinity import affinity, normalize_affinity
from mlcore.cluster.spectral.probabilistic import ProbabilisticClustering
from mlcore.cluster.spectral.spectral import SpectralClustering

__all__ = [
    "DBSCAN",
    "HDBSCAN",
    "AgglomerativeClustering",
    "ClusteringReport",
    "CondensedTree",
    "DoublyStochastic",
    "FrobeniusProjection",
    "GapStatistic",
    "KMeans",
    "KMedians",
    "KMedoids",
    "KernelKMeans",
    "MinCut",
    "MiniBatchKMeans",
    "ProbabilisticClustering",
    "Scaling",
    "SpectralClustering",
    "TreeVerification",
    "adjusted_mutual_info_score",
    "adjusted_mutual_information",
    "adjusted_rand_index",
    "adjusted_rand_score",
    "affinity",
    "calinski_harabasz_score",
    "clustering_cost",
    "clustering_report",
    "completeness",
    "completeness_score",
    "consensus_matrix",
    "contingency_matrix",
    "cut_value",
    "davies_bouldin_score",
    "doubly_stochastic",
    "fowlkes_mallows_index",
    "fowlkes_mallows_score",
    "frobenius_projection",
    "gap_statistic",
    "homogeneity",
    "homogeneity_score",
    "min_cut",
    "mutual_info_score",
    "mutual_information",
    "nearest_neighbors",
    "normalize_affinity",
    "normalized_association",
    "normalized_cut_value",
    "normalized_mutual_info_score",
    "normalized_mutual_information",
    "pair_confusion_matrix",
    "ratio_cut_value",
    "silhouette_samples",
    "silhouette_score",
    "sinkhorn",
    "v_measure",
    "v_measure_score",
]


def __dir__() -> list[str]:
    return __all__
