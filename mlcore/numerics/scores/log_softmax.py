"""Logarithms of probabilities that are proportional to exponentials."""

import numpy as np


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return ``scores - ln sum_j exp(scores_j)`` for each row of scores (n, c), float64.

    Scores may be -inf, but not all of a row.
    """
    scores = scores - scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores
