"""Mixtures of distributions, fitted by EM."""

from mlcore.mixture.densities import Statistics
from mlcore.mixture.gaussian import GaussianMixture

__all__ = ["GaussianMixture", "Statistics"]
