"""Kernel PCA, and the samples whose images are nearest to points in feature space."""

from mlcore.decomposition.kernel_pca.kernel_pca import KernelPCA
from mlcore.decomposition.kernel_pca.nystroem_pca import NystroemPCA

__all__ = ["KernelPCA", "NystroemPCA"]
