"""Mixtures of distributions, fitted by EM."""

from mlcore.mixture.densities import Statistics
from mlcore.mixture.gaussian import GaussianMixture
from mlcore.mixture.multinomial import MultinomialMixture

__all__ = ["GaussianMixture", "MultinomialMixture", "Statistics"]
