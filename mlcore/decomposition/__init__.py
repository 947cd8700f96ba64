"""Decomposition: projections of data onto few directions."""

from mlcore.decomposition.cca import CCA
from mlcore.decomposition.dimension_test import DimensionTest
from mlcore.decomposition.kernel_pca import KernelPCA
from mlcore.decomposition.pca import PCA
from mlcore.decomposition.principal_angles import PrincipalAngles, principal_angles

__all__ = ["CCA", "PCA", "DimensionTest", "KernelPCA", "PrincipalAngles", "principal_angles"]


def __dir__() -> list[str]:
    return __all__
