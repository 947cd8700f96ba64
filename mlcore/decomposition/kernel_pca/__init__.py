"""Kernel PCA, and the samples whose images are nearest to points in feature space."""

from mlcore.decomposition.kernel_pca.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
