"""Scores of samples under linear functions."""

from typing import Any

import numpy as np

from mlcore.checks.sparse import dense_if_full
from mlcore.threads import pieces, single_threaded_blas


def linear_scores(X: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return ``X @ coef.T + intercept``, (n, k), the same bytes whatever the number of threads.

    X is an array or CSR (n, d), coef (k, d), intercept (k,); the result is in the type of coef.
    """
    X = dense_if_full(X)
    scores = np.empty((X.shape[0], len(coef)), coef.dtype)
    with single_threaded_blas():
        for first, last in pieces(len(scores), coef.size):
            scores[first:last] = X[first:last] @ coef.T
    scores += intercept
    return scores
