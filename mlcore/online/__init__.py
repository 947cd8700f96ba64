"""Online learners, which predict, see the label, and learn; mistakes are bounded on any sequence.

Learners share one contract, that of `mlcore.online.learner.OnlineLearner`; `WidrowHoff` has that of
regressors.
"""

from mlcore.online.doubling_trick import DoublingTrick
from mlcore.online.gradient_descent.gradient_descent import OnlineGradientDescent
from mlcore.online.gradient_descent.widrow_hoff import WidrowHoff
from mlcore.online.halving import Halving
from mlcore.online.hedge import Hedge
from mlcore.online.online_to_batch import OnlineToBatch
from mlcore.online.play import Game, play
from mlcore.online.standard_optimal_algorithm import StandardOptimalAlgorithm
from mlcore.online.weighted_majority import WeightedMajority
from mlcore.online.winnow import Winnow

__all__ = [
    "DoublingTrick",
    "Game",
    "Halving",
    "Hedge",
    "OnlineGradientDescent",
    "OnlineToBatch",
    "StandardOptimalAlgorithm",
    "WeightedMajority",
    "WidrowHoff",
    "Winnow",
    "play",
]


def __dir__() -> list[str]:
    return __all__
