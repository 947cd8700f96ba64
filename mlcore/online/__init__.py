"""Online learners, which predict, see the label, and learn; mistakes are bounded on any sequence.

All learners share one contract, that of `mlcore.online.learner.OnlineLearner`.
"""

from mlcore.online.halving import Halving
from mlcore.online.standard_optimal_algorithm import StandardOptimalAlgorithm
from mlcore.online.weighted_majority import WeightedMajority

__all__ = ["Halving", "StandardOptimalAlgorithm", "WeightedMajority"]


def __dir__() -> list[str]:
    return __all__
