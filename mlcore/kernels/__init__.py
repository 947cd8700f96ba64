"""Kernels: Gram matrices, feature maps and Mercer's condition."""

from mlcore.kernels.centering import GramCenterer, center_gram
from mlcore.kernels.gram import (
    gram_matrix,
    is_positive_semidefinite,
    polynomial_features,
)
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.structured.combined import ProductKernel, SumKernel
from mlcore.kernels.structured.fisher_vectors import FisherVectors
from mlcore.kernels.structured.pyramid_match import PyramidMatch
from mlcore.kernels.structured.string_kernel import StringKernel
from mlcore.kernels.structured.tf_idf import TfidfTransformer
from mlcore.kernels.structured.word_counts import WordCounts

__all__ = [
    "FisherVectors",
    "GramCenterer",
    "Kernel",
    "ProductKernel",
    "PyramidMatch",
    "StringKernel",
    "SumKernel",
    "TfidfTransformer",
    "WordCounts",
    "center_gram",
    "gram_matrix",
    "is_positive_semidefinite",
    "polynomial_features",
]


def __dir__() -> list[str]:
    return __all__
