"""Mixtures of distributions, fitted by EM."""

from mlcore.mixture.bernoulli import BernoulliMixture
from mlcore.mixture.binomial import BinomialMixture
from mlcore.mixture.categorical import CategoricalMixture
from mlcore.mixture.gaussian_e_step import Statistics
from mlcore.mixture.gaussian_mixture import GaussianMixture
from mlcore.mixture.multinomial import MultinomialMixture
from mlcore.mixture.plsa import PLSA
from mlcore.mixture.selection import MixtureSelection, select_mixture

__all__ = [
    "BernoulliMixture",
    "BinomialMixture",
    "CategoricalMixture",
    "GaussianMixture",
    "PLSA",
    "MixtureSelection",
    "MultinomialMixture",
    "Statistics",
    "select_mixture",
]


def __dir__() -> list[str]:
    return __all__
