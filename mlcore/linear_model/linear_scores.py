"""Scores of samples under linear functions."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks.sparse import dense_if_full
from mlcore.runtime.threads import pieces, single_threaded_blas


def as_dense(coef: Any) -> np.ndarray:
    """Return coefficients that may be stored as a CSR array as an array."""
    return coef.toarray() if sp.issparse(coef) else coef


def linear_scores(X: Any, coef: Any, intercept: np.ndarray) -> np.ndarray:
    """Return ``X @ coef.T + intercept``, (n, k), the same bytes whatever the number of threads.

    X and coef are arrays or CSR; the result is in the type of coef.
    """
    X = dense_if_full(X)
    scores = np.empty((X.shape[0], coef.shape[0]), coef.dtype)
    with single_threaded_blas():
        for first, last in pieces(len(scores), coef.size):
            scores[first:last] = as_dense(X[first:last] @ coef.T)
    scores += intercept
    return scores
