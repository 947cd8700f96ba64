"""Decomposition: projections of data onto few directions."""

from mlcore.decomposition.cca.cca import CCA
from mlcore.decomposition.cca.dimension_test import DimensionTest
from mlcore.decomposition.cca.kernel_cca import KernelCCA
from mlcore.decomposition.kernel_pca import KernelPCA, NystroemPCA
from mlcore.decomposition.pca import PCA
from mlcore.decomposition.principal_angles import PrincipalAngles, principal_angles
from mlcore.decomposition.verification import PCAVerification

__all__ = [
    "CCA",
    "PCA",
    "DimensionTest",
    "KernelCCA",
    "KernelPCA",
    "NystroemPCA",
    "PCAVerification",
    "PrincipalAngles",
    "principal_angles",
]


def __dir__() -> list[str]:
    return __all__
