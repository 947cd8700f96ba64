"""Discriminant analysis: classifiers and projections from the means and scatter of classes."""

from mlcore.discriminant.linear import LinearDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis"]


def __dir__() -> list[str]:
    return __all__
