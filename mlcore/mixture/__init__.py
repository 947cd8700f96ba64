"""Mixtures of distributions, fitted by EM."""

from mlcore.mixture.densities import Statistics
from mlcore.mixture.gaussian import GaussianMixture
from mlcore.mixture.selection import MixtureSelection, select_mixture

__all__ = ["GaussianMixture", "MixtureSelection", "Statistics", "select_mixture"]
