"""Rows of the kernel matrix that a solver keeps, within the ``cache_size`` of a machine."""

import numpy as np

from mlcore.kernels.gram_rows import GramRows, padded
from mlcore.kernels.kernel_rows import KernelRows


class KernelCache(GramRows):
    """Rows of K over all training samples, and the bound on a principal submatrix.

    Parameters
    ----------
    kernel : KernelRows
    cache_size : float
        Megabytes for the rows, the submatrix of a working set and the packed samples together.

    Attributes
    ----------
    largest_submatrix : int
        Side of the largest principal submatrix of K that a solver may keep.
    """

    LITTLE = 256 << 20  # bytes of a K of cheap values: up to this, all of it is computed at once
    SMALL = 2048  # samples: up to this, the submatrix of all is the only one that is needed

    def __init__(self, kernel: KernelRows, cache_size: float) -> None:
        n, size, self._cache_size = kernel.n, kernel.dtype.itemsize, cache_size
        budget = max(0.0, cache_size * 1e6 - kernel.nbytes)
        # The rest of the budget is for packed samples and the lists of a round. With too few rows,
        # or too small a submatrix, every round would fetch everything again.
        super().__init__(kernel, int(min(n, max(64, 0.66 * budget // (padded(n) * size)))))
        self.largest_submatrix = int(max(512, (0.25 * budget / size) ** 0.5))

    def of_samples(self, chosen: np.ndarray) -> "KernelCache":
        """Return rows between some of the samples, within the same bound."""
        return KernelCache(self.kernel.of_samples(chosen), self._cache_size)

    def complete(self, sharing: int = 1) -> None:
        """Compute and keep all of K, if it fits and that pays for `sharing` problems on it."""
        n = self.n
        little = not self.keeps and n * padded(n) * self.dtype.itemsize <= self.LITTLE
        if self.whole or self.capacity < n or not (sharing > 2 or n <= self.SMALL or little):
            return
        self.compute_first()
