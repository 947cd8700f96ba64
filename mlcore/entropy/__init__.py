"""Entropies, and distributions, tables and weights nearest to others that have given sums."""

from mlcore.entropy.entropies import entropy, mutual_information, relative_entropy
from mlcore.entropy.maximum_entropy import InfeasibleTargets, MaximumEntropy, maximum_entropy
from mlcore.entropy.rake import Raking, rake
from mlcore.entropy.tables import FittedTable, fit_table

__all__ = [
    "FittedTable",
    "InfeasibleTargets",
    "MaximumEntropy",
    "Raking",
    "entropy",
    "fit_table",
    "maximum_entropy",
    "mutual_information",
    "rake",
    "relative_entropy",
]


def __dir__() -> list[str]:
    return __all__
