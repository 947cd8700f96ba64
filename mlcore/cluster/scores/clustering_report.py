"""All scores of the agreement of two partitions, as a table."""

from dataclasses import asdict, dataclass
from typing import Any

from mlcore.cluster.scores import agreement
from mlcore.cluster.scores.contingency import contingency
from mlcore.estimator import tables


@dataclass(frozen=True, repr=False)
class ClusteringReport:
    """Result of `clustering_report`, which prints as a table.

    Parameters
    ----------
    n_samples, n_classes, n_clusters : int
        Copies, with weights; classes and clusters of samples of positive weight.
    mutual_information : float
        In nats.
    normalized_mutual_information, adjusted_mutual_information : float
        With the arithmetic mean of the entropies.
    homogeneity, completeness, v_measure : float
    adjusted_rand_index, fowlkes_mallows_index : float

    Examples
    --------
    >>> from mlcore.cluster import clustering_report
    >>> clustering_report([0, 0, 1, 1], [0, 0, 1, 2]).n_clusters
    3
    """

    n_samples: int
    n_classes: int
    n_clusters: int
    mutual_information: float
    normalized_mutual_information: float
    adjusted_mutual_information: float
    homogeneity: float
    completeness: float
    v_measure: float
    adjusted_rand_index: float
    fowlkes_mallows_index: float

    def __str__(self) -> str:
        names = asdict(self)
        width = max(map(len, names))
        return "\n".join(
            f"{name:{width}}  {value if isinstance(value, int) else f'{value:.6f}'}"
            for name, value in names.items()
        )

    __repr__ = __str__

    def _columns(self):
        return {"score": [*asdict(self)], "value": [*asdict(self).values()]}

    def _repr_html_(self) -> str:
        return tables.table(self._columns())

    def to_frame(self) -> Any:
        """Return the scores as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            One column "value", indexed by "score".

        Raises
        ------
        ImportError
            Without pandas.
        """
        return tables.frame(self._columns(), index="score")


def clustering_report(
    labels_true: Any, labels: Any, *, sample_weight: Any = None
) -> ClusteringReport:
    """Return all scores of the agreement of clusters with classes.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: 2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    report : ClusteringReport
        Prints as a table.

    Raises
    ------
    ValueError, TypeError
        For labels that are empty, or of different lengths, and for weights that are not whole.

    Notes
    -----
    The table of classes and clusters is counted once, in O(n) time.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, *Information theoretic measures for clusterings
       comparison*, JMLR 11, 2010: which scores are comparable for different numbers of clusters.

    Examples
    --------
    >>> from mlcore.cluster import clustering_report
    >>> clustering_report(["a", "a", "b", "b"], [0, 0, 1, 2])
    n_samples                      4
    n_classes                      2
    n_clusters                     3
    mutual_information             0.693147
    normalized_mutual_information  0.800000
    adjusted_mutual_information    0.571429
    homogeneity                    1.000000
    completeness                   0.666667
    v_measure                      0.800000
    adjusted_rand_index            0.571429
    fowlkes_mallows_index          0.707107
    """
    table = contingency(labels_true, labels, sample_weight, "clustering_report", whole=True)
    h, c = agreement.explained(table)
    return ClusteringReport(
        n_samples=table.total,
        n_classes=len(table.classes),
        n_clusters=len(table.clusters),
        mutual_information=agreement.information(table),
        normalized_mutual_information=agreement.normalized(table, "arithmetic"),
        adjusted_mutual_information=agreement.adjusted(table, "arithmetic"),
        homogeneity=h,
        completeness=c,
        v_measure=agreement.harmonic(h, c, 1.0),
        adjusted_rand_index=agreement.rand(table),
        fowlkes_mallows_index=agreement.fowlkes_mallows(table),
    )
