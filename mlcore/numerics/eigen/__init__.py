"""Eigenvectors of symmetric matrices: the leading ones by block Lanczos, or LAPACK's."""

from mlcore.numerics.eigen.dense_lanczos import largest_by_lanczos
from mlcore.numerics.eigen.lanczos import (
    Eigenpairs,
    Operator,
    Scaled,
    block_size,
    by_lapack,
    largest_by_lapack,
    leading_eigenpairs,
    orthonormal,
    times,
)

__all__ = [
    "Eigenpairs",
    "Operator",
    "Scaled",
    "block_size",
    "by_lapack",
    "largest_by_lanczos",
    "largest_by_lapack",
    "leading_eigenpairs",
    "orthonormal",
    "times",
]
