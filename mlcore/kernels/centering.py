"""Centring in feature space: Gram matrices of samples whose mean is moved to the origin."""

from typing import Any, ClassVar, Self

import numpy as np

from mlcore.estimator.model import Model, Transformer
from mlcore.kernels.gram import as_square, require_out
from mlcore.runtime.memory import require_memory


def center_gram(K: Any, *, out: np.ndarray | None = None) -> np.ndarray:
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
    K = as_square(K, "center_gram")
    return _centered(K, *_means(K), out)


class GramCenterer(Transformer, Model):
    """Centres Gram matrices of new rows as the training matrix was centred.

    The inner products with the training samples, in feature space, after their mean was moved to
    the origin.

    Attributes
    ----------
    column_means_ : (n,) float64
    mean_ : float
        Of all values.
    n_features_in_ : int
        Training samples, n.
    feature_names_in_ : (n,) object

    Notes
    -----
    O(n²) time to fit and O(n) a new row; sums in float64, results in the type of the values.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, *Nonlinear Component Analysis as a Kernel
       Eigenvalue Problem*, Neural Computation 10, 1998, appendix A.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.kernels import GramCenterer
    >>> centerer = GramCenterer().fit(np.eye(2))
    >>> centerer.transform([[1.0, 0.0]])
    array([[ 0.5, -0.5]])
    """

    _tags: ClassVar[dict[str, Any]] = {
        "input_tags.pairwise": True,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    column_means_: np.ndarray
    mean_: float
    _stored = {"column_means_": "float f", "mean_": "float"}

    def fit(self, K: Any, y: Any = None) -> Self:
        """Learn the means of the kernel values between the training samples.

        Parameters
        ----------
        K : array-like of shape (n, n)
        y : ignored

        Returns
        -------
        self
            This model.
        """
        checked = self._check_X(K, reset=True)
        if checked.shape[0] != checked.shape[1]:
            raise ValueError(f"K has shape {checked.shape}; GramCenterer needs a square matrix.")
        column_means, mean = _means(checked)
        self._set_fitted(K, column_means_=column_means, mean_=mean)
        return self

    def transform(self, K: Any) -> Any:
        """Centre the kernel values of new rows with the training samples.

        Parameters
        ----------
        K : array-like of shape (m, n)

        Returns
        -------
        centered : (m, n)
            Inner products of centred features.
        """
        checked = self._check_X(K, reset=False)
        return self._wrap(_centered(checked, self.column_means_, self.mean_, None), K)

    def _n_out(self):
        return self.n_features_in_


def _means(K):
    column_means = K.mean(axis=0, dtype=np.float64)
    return column_means, float(column_means.mean())


def _centered(K, column_means, mean, out):
    if out is None:
        require_memory(
            *K.shape, K.itemsize, what="the centred matrix", instead="centre K in place, out=K"
        )
        out = np.empty_like(K)
    else:
        require_out(out, K.shape, K.dtype)
    rows = K.mean(axis=1, dtype=np.float64)[:, None] - mean
    step = max(1, 1_000_000 // K.shape[1])  # float64 sums, without an n x n copy of them
    for start in range(0, len(K), step):
        batch = slice(start, start + step)
        np.subtract(K[batch], rows[batch] + column_means, out=out[batch], casting="unsafe")
    return out
