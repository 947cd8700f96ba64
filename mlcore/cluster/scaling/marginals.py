"""Sums that rows and columns must have, exactly or at a penalty."""

from typing import NamedTuple

import numpy as np


class Marginals(NamedTuple):
    """Row sums r (n,) and column sums c (m,), all positive.

    A sum p that may differ from r costs ``KL(p | r) / slack``; slack is reg / rho, 0 for exact
    sums. At the optimum it is ``r exp(-slack a)``, where a is the logarithm of the row's factor.
    """

    rows: np.ndarray
    columns: np.ndarray
    row_slack: float = 0.0
    column_slack: float = 0.0

    def column_targets(self, b: np.ndarray) -> np.ndarray:
        """Return the column sums that are optimal for the logarithms b."""
        return _tilted(self.columns, self.column_slack, b)

    def row_targets(self, a: np.ndarray) -> np.ndarray:
        """Return the row sums that are optimal for the logarithms a."""
        return _tilted(self.rows, self.row_slack, a)

    def row_power(self) -> float:
        """Return the power of (target / sum) that solves a row: 1 for exact sums."""
        return 1.0 / (1.0 + self.row_slack)

    def column_power(self) -> float:
        """Return the same for a column."""
        return 1.0 / (1.0 + self.column_slack)

    def balanced(self, a: np.ndarray, b: np.ndarray) -> float:
        """Return the constant that a must gain and b lose for the largest dual objective."""
        if not self.row_slack or not self.column_slack:
            return 0.0
        rows, columns = self.row_targets(a).sum(), self.column_targets(b).sum()
        return float(np.log(rows / columns)) / (self.row_slack + self.column_slack)

    def change(self, a: np.ndarray, b: np.ndarray, to_a: np.ndarray, to_b: np.ndarray) -> float:
        """Return the change of the negative dual objective over reg, rows being solved at both."""
        mass = self.row_targets(to_a).sum() - self.row_targets(a).sum() if self.row_slack else 0.0
        rows = _fall(self.rows, self.row_slack, a, to_a)
        return float(mass + rows + _fall(self.columns, self.column_slack, b, to_b))


def _tilted(sums, slack, logarithms):
    return sums * np.exp(-slack * logarithms) if slack else sums


def _fall(sums, slack, start, end):
    """Return the change of ``sum (exp(-slack x) - 1) / slack``, of -sum x without slack."""
    if not slack:
        return -sums @ (end - start)
    return (sums * np.exp(-slack * start)) @ np.expm1(-slack * (end - start)) / slack
