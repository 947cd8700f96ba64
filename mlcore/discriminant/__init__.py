"""Discriminant analysis: classifiers and projections from the means and scatter of classes."""

from mlcore.discriminant.linear import LinearDiscriminantAnalysis
from mlcore.discriminant.quadratic import QuadraticDiscriminantAnalysis

__all__ = ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]


def __dir__() -> list[str]:
    return __all__
