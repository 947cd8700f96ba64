"""Centring in feature space: Gram matrices of samples whose mean is moved to the origin."""

import numpy as np

from mlcore.checks import as_samples, require_memory
from mlcore.exceptions import peer_class
from mlcore.kernels.gram import as_square, require_out


def center_gram(K, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return the Gram matrix of samples after moving their mean in feature space to the origin.

    K - 1K/n - K1/n + 1K1/n², where 1 is the matrix of ones.

    Parameters
    ----------
    K : array-like (n, n)
    out : array (n, n), optional
        May be K itself.

    Returns
    -------
    centered : array (n, n)
        Its rows and columns sum to 0 up to rounding.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, *Nonlinear Component Analysis as a Kernel
       Eigenvalue Problem*, Neural Computation 10, 1998, appendix A.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernels import center_gram
    >>> center_gram(np.eye(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    return GramCenterer().fit(K)._centered(as_square(K, "center_gram"), out)


class GramCenterer:
    """Centres Gram matrices of new rows as the training matrix was centred.

    Attributes
    ----------
    column_means_ : float64 (n,)
    mean_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernels import GramCenterer
    >>> centerer = GramCenterer().fit(np.eye(2))
    >>> centerer.transform([[1.0, 0.0]])
    array([[ 0.5, -0.5]])
    """

    def fit(self, K) -> "GramCenterer":
        """Learn the means of a training matrix (n, n)."""
        K = as_square(K, "GramCenterer")
        self.column_means_ = K.mean(axis=0, dtype=np.float64)
        self.mean_ = float(self.column_means_.mean())
        return self

    def transform(self, K) -> np.ndarray:
        """Centre the kernel values (m, n) of new rows with the training samples."""
        if not hasattr(self, "column_means_"):
            raise peer_class("NotFittedError")("GramCenterer is not fitted yet: call `fit` first.")
        K = as_samples(K, owner="GramCenterer", name="K")
        if K.shape[1] != len(self.column_means_):
            raise ValueError(
                f"K has {K.shape[1]} columns, but GramCenterer was fitted to "
                f"{len(self.column_means_)} samples."
            )
        return self._centered(K, None)

    def _centered(self, K, out):
        if out is None:
            require_memory(
                *K.shape, K.itemsize, what="the centred matrix", instead="centre K in place, out=K"
            )
            out = np.empty_like(K)
        else:
            require_out(out, K.shape, K.dtype)
        rows = K.mean(axis=1, dtype=np.float64)[:, None] - self.mean_
        step = max(1, 1_000_000 // K.shape[1])  # float64 sums, without an n x n copy of them
        for start in range(0, len(K), step):
            part = slice(start, start + step)
            np.subtract(K[part], rows[part] + self.column_means_, out=out[part], casting="unsafe")
        return out
