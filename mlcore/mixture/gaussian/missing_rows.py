"""Rows with missing values: what `IncompleteRows` and `CorrelatedRows` have in common."""

from typing import Any

import numpy as np

from mlcore.mixture.gaussian.families.covariance_type import CovarianceType
from mlcore.mixture.gaussian.parameters import Parameters
from mlcore.runtime.memory import require_memory

_ROWS = 4096  # of a product of marks


class MissingRows:
    """As `e_step.Rows`, with NaN for what is missing; sums in float64.

    `added` is the number that the M-step adds to variances; imputed values do not count it.
    """

    weight: Any
    total: float

    def __init__(self, X: np.ndarray, weight: Any, family: CovarianceType, added: float) -> None:
        self.X, self.weight, self._family, self._added = X, weight, family, added
        self.total = float(len(X) if weight is None else weight.sum())
        self.merged = False  # as of `e_step.Rows`

    def in_single(self, parameters: Parameters) -> bool:
        """Return False: sums are in float64."""
        return False

    def n_empty(self) -> int:
        """Return the number of rows of positive weight of which nothing is known."""
        empty = np.isnan(self.X).all(axis=1)
        return int(empty.sum() if self.weight is None else (empty & (self.weight > 0)).sum())

    def never_together(self) -> np.ndarray:
        """Return pairs (n_pairs, 2) intp of features that no row of positive weight has both of.

        None where features are independent: there a pair has no parameter of its own.
        """
        d = self.X.shape[1]
        if self._family.independent:
            return np.zeros((0, 2), np.intp)
        together = np.zeros((d, d), bool)
        for lo in range(0, len(self.X), _ROWS):
            known = ~np.isnan(self.X[lo : lo + _ROWS])
            if self.weight is not None:
                known &= self.weight[lo : lo + _ROWS, None] > 0
            if known.all(axis=1).any():
                return np.zeros((0, 2), np.intp)
            marks = known.astype(np.float32)
            together |= marks.T @ marks > 0
        return np.argwhere(np.triu(~together, 1)).astype(np.intp)

    def _outputs(self, k, with_proba):
        """Return arrays for log p(x_i), components and, if asked for, responsibilities."""
        n, out = len(self.X), self.X.dtype
        if with_proba:
            what, instead = "the probabilities", "pass fewer rows at a time"
            require_memory(n, k, out.itemsize, what=what, instead=instead)
        proba = np.empty((n if with_proba else 0, k), out)
        return np.empty(n, out), np.empty(n, np.intp), proba
