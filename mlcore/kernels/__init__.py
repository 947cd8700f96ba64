"""Kernels: Gram matrices, feature maps and Mercer's condition.

Width and constant of a kernel by name differ by family, as scikit-learn's do. Support vector
machines, kernel k-means and perceptrons have ``gamma="scale"``, 1 / (d Var(X)), and ``coef0=0``;
spectral clustering ``gamma="scale"`` and ``coef0=1``; kernel ridge regression, PCA, CCA and
`gram_matrix` ``gamma=None``, 1 / d, and ``coef0=1``.
"""

from mlcore.kernels.centering import GramCenterer, center_gram
from mlcore.kernels.gram import gram_matrix, is_positive_semidefinite, polynomial_features
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
