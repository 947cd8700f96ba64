"""Mixtures of distributions, fitted by EM."""

from mlcore.mixture.bootstrap_lrt import BootstrapLRT, bootstrap_lrt
from mlcore.mixture.discrete.bernoulli import BernoulliMixture
from mlcore.mixture.discrete.binomial import BinomialMixture
from mlcore.mixture.discrete.categorical import CategoricalMixture, ProbabilityTable
from mlcore.mixture.discrete.multinomial import MultinomialMixture
from mlcore.mixture.gaussian.gaussian_mixture import GaussianMixture
from mlcore.mixture.mixed import MixedMixture
from mlcore.mixture.plsa.plsa import PLSA
from mlcore.mixture.selection import MixtureSelection, select_mixture
from mlcore.mixture.standard_errors import StandardErrors

__all__ = [
    "PLSA",
    "BernoulliMixture",
    "BinomialMixture",
    "BootstrapLRT",
    "CategoricalMixture",
    "GaussianMixture",
    "MixedMixture",
    "MixtureSelection",
    "MultinomialMixture",
    "ProbabilityTable",
    "StandardErrors",
    "bootstrap_lrt",
    "select_mixture",
]


def __dir__() -> list[str]:
    return __all__
