"""Reasons of models that are not fitted to blocks, one sentence each."""

from typing import Any

_WHY = {
    "svm": "its dual problem compares all pairs of rows: see cache_size, or use KernelRidge("
    'solver="nystroem") or LogisticRegression',
    "kernel_ridge": 'blocks need its solver="nystroem"',
    "online": "it learns row by row, in their order: use partial_fit or update",
    "pac": "it learns from labelled examples one after the other: use partial_fit or fit",
    "entropy": "its constraints are on a table that is in memory",
    "bayes": "its tables are in memory",
    "KMedians": "medians are no sums over rows",
    "KMedoids": "it compares all pairs of rows",
    "KernelKMeans": "its Gram matrix is of all pairs of rows",
    "KernelPCA": "its Gram matrix is of all pairs of rows",
    "KernelCCA": "its Gram matrices are of all pairs of rows",
    "AgglomerativeClustering": "it compares all pairs of rows",
    "SpectralClustering": "its affinity matrix is of all pairs of rows",
    "ProbabilisticClustering": "its affinity matrix is of all pairs of rows",
    "Perceptron": "it learns row by row, in their order: use partial_fit",
    "FisherVectors": "fit its mixture to blocks",
    "WordCounts": "it has nothing to fit: use its transform on each block",
}


def reason(model: Any) -> str:
    """Return the sentence for a model that is no `RowSums`."""
    cls = type(model)
    words = [cls.__name__, *reversed(cls.__module__.split("."))]
    why = next((_WHY[word] for word in words if word in _WHY), None)
    if cls.__module__.partition(".")[0] != "mlcore":
        why = "it lacks begin, partial_statistics, merge or update (mlcore.row_sums.RowSums)"
    return (
        f"model: {cls.__name__} cannot be fitted to blocks: {why or 'its fit is no sum over rows'}."
    )
