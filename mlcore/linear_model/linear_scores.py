"""Scores of samples under linear functions, and coefficients of these that are mostly 0."""

from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks.sparse import dense_if_full
from mlcore.runtime.threads import pieces, single_threaded_blas


class SparseCoefficients:
    """Mixin of linear models whose ``coef_`` may be stored as its values that are not 0."""

    coef_: Any
    _stored = {"coef_": "float c' f | csr c' f"}

    def sparsify(self) -> Self:
        """Store ``coef_`` as a CSR array, which takes less memory if most values are 0.

        Predictions are the same. Fits set a dense array again.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        self._update_state({"coef_": sp.csr_array(self.coef_)})
        return self

    def densify(self) -> Self:
        """Store ``coef_`` as an array, as fits do.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        self._update_state({"coef_": as_dense(self.coef_)})
        return self


def as_dense(coef: Any) -> np.ndarray:
    """Return coefficients that may be stored as a CSR array as an array."""
    return coef.toarray() if sp.issparse(coef) else coef


def linear_scores(X: Any, coef: Any, intercept: np.ndarray) -> np.ndarray:
    """Return ``X @ coef.T + intercept``, (n, k), the same bytes whatever the number of threads.

    X and coef are arrays or CSR, (n, d) and (k, d), intercept (k,); the result is in the type of
    coef.
    """
    X = dense_if_full(X)
    scores = np.empty((X.shape[0], coef.shape[0]), coef.dtype)
    with single_threaded_blas():
        for first, last in pieces(len(scores), coef.size):
            scores[first:last] = as_dense(X[first:last] @ coef.T)
    scores += intercept
    return scores
