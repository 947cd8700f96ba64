"""Conformal prediction: sets and intervals of any model with a guaranteed coverage."""

from mlcore.conformal.coverage import conformal_coverage, conformal_rank
from mlcore.conformal.intervals import ConformalIntervals, conformal_intervals
from mlcore.conformal.jackknife import JackknifeIntervals, jackknife_plus
from mlcore.conformal.sets import ConformalSets, conformal_sets
from mlcore.conformal.threshold import ConformalThreshold, conformal_threshold

__all__ = [
    "ConformalIntervals",
    "ConformalSets",
    "ConformalThreshold",
    "JackknifeIntervals",
    "conformal_coverage",
    "conformal_intervals",
    "conformal_rank",
    "conformal_sets",
    "conformal_threshold",
    "jackknife_plus",
]


def __dir__() -> list[str]:
    return __all__
