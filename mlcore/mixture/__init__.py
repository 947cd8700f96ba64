"""Mixtures fitted by expectation-maximisation."""

from mlcore.mixture.latent_class import LatentClassModel

__all__ = ["LatentClassModel"]
