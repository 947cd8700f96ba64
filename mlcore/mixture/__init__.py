"""Mixtures of distributions, fitted by EM."""

from mlcore.mixture.densities import Statistics
from mlcore.mixture.gaussian import GaussianMixture
from mlcore.mixture.latent_class import LatentClassModel
from mlcore.mixture.selection import MixtureSelection, select_mixture

__all__ = [
    "GaussianMixture",
    "LatentClassModel",
    "MixtureSelection",
    "Statistics",
    "select_mixture",
]
