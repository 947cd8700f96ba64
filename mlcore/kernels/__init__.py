"""Kernels: Gram matrices, feature maps and Mercer's condition."""

from mlcore.kernels.gram import (
    GramCenterer,
    center_gram,
    gram_matrix,
    is_positive_semidefinite,
    polynomial_features,
)

__all__ = [
    "GramCenterer",
    "center_gram",
    "gram_matrix",
    "is_positive_semidefinite",
    "polynomial_features",
]
