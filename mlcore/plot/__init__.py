"""Pictures of models and results, one function for each question; drawn with matplotlib.

Each takes ``ax=`` as scikit-learn's displays do and returns a `Picture` with ``figure_``, ``ax_``
and what was drawn. Colours are those of Okabe and Ito, which readers of all kinds of colour vision
tell apart; markers or hatches repeat what they say in print without colours. matplotlib is imported
with the first picture: ``python -m pip install "mlcore[plot]"``.
"""

from mlcore.plot.affinities import normalized_affinities
from mlcore.plot.bounds import bound_curves, certificate_bounds, report_intervals
from mlcore.plot.calibration import reliability_curve
from mlcore.plot.clusters.density import condensed_tree, reachability
from mlcore.plot.clusters.partitions import contingency_table, gap_curve
from mlcore.plot.clusters.silhouettes import silhouettes
from mlcore.plot.clusters.trees import dendrogram
from mlcore.plot.coefficients import coefficient_intervals, penalty_path
from mlcore.plot.decision_regions import decision_regions
from mlcore.plot.directions.correlations import canonical_correlations
from mlcore.plot.directions.projections import biplot, reconstructions
from mlcore.plot.directions.spectra import eigengaps, scree
from mlcore.plot.fits import objective_trace, start_quality
from mlcore.plot.mixtures import mixture_ellipses
from mlcore.plot.picture import Picture
from mlcore.plot.searches import search_scores
from mlcore.plot.topics import topics
from mlcore.plot.transport import transport_plan

__all__ = [
    "Picture",
    "biplot",
    "bound_curves",
    "canonical_correlations",
    "certificate_bounds",
    "coefficient_intervals",
    "condensed_tree",
    "contingency_table",
    "decision_regions",
    "dendrogram",
    "eigengaps",
    "gap_curve",
    "mixture_ellipses",
    "normalized_affinities",
    "objective_trace",
    "penalty_path",
    "reachability",
    "reconstructions",
    "reliability_curve",
    "report_intervals",
    "scree",
    "search_scores",
    "silhouettes",
    "start_quality",
    "topics",
    "transport_plan",
]


def __dir__() -> list[str]:
    return __all__
