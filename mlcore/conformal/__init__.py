"""Conformal prediction: sets and intervals of any model with a guaranteed coverage."""

from mlcore.conformal.coverage import conformal_coverage, conformal_rank
from mlcore.conformal.intervals import ConformalIntervals, conformal_intervals
from mlcore.conformal.jackknife import JackknifeIntervals, jackknife_plus
from mlcore.conformal.jackknife_sets import JackknifeSets, jackknife_plus_sets
from mlcore.conformal.sets import ConformalSets, conformal_sets
from mlcore.conformal.threshold import ConformalThreshold, conformal_threshold
from mlcore.conformal.weighted import weighted_thresholds

__all__ = [
    "ConformalIntervals",
    "ConformalSets",
    "ConformalThreshold",
    "JackknifeIntervals",
    "JackknifeSets",
    "conformal_coverage",
    "conformal_intervals",
    "conformal_rank",
    "conformal_sets",
    "conformal_threshold",
    "jackknife_plus",
    "jackknife_plus_sets",
    "weighted_thresholds",
]


def __dir__() -> list[str]:
    return __all__
