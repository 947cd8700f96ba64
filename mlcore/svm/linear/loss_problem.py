"""Primal and dual of one linear machine.

With residuals ``e_i = y_i - w'x_i - b`` every machine minimises ``1/2 |w|² + sum_i c_i l(e_i)``:
y is ±1 for classes, of which only the side that is violated counts, and l is the absolute value
above eps, or its square. The dual variables beta (n,), between bounds of both signs, add up to 0,
and w = X'beta at the optimum. For any w, b and beta

    P(w, b) - D(beta) = sum_i [c_i l(e_i) + l*(beta_i) - beta_i e_i] + 1/2 |w - X'beta|²,

where every bracket is at least 0 by the inequality of Fenchel and Young.
"""

from typing import NamedTuple

import numpy as np

_ROUNDING = 1e-14  # times the sum of absolute values: that of a sum
_SHIFTS = 20  # of free variables, each of which may take some of them to a bound


class LossProblem(NamedTuple):
    """Losses of n rows: targets y, ±1 if they are `of_classes`, costs c, eps, and if `squared`."""

    y: np.ndarray
    cost: np.ndarray
    eps: float
    squared: bool
    of_classes: bool

    def bounds(self, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds of beta for these costs, infinite for squared losses."""
        if not self.of_classes:
            most = np.full(len(self.y), np.inf) if self.squared else cost
            return -most, most
        most = np.inf if self.squared else cost
        return np.where(self.y < 0, -most, 0.0), np.where(self.y > 0, most, 0.0)

    def excess(self, e: np.ndarray) -> np.ndarray:
        """Return what residuals have above eps, with their sign, on the sides that cost."""
        if self.of_classes:
            return np.where(e * self.y > 0, e, 0.0)
        return np.sign(e) * np.maximum(np.abs(e) - self.eps, 0)

    def losses(self, e: np.ndarray) -> np.ndarray:
        """Return c times the loss of each residual."""
        r = np.abs(self.excess(e))
        return self.cost * (r**2 if self.squared else r)

    def part(self, stride: int) -> "LossProblem":
        """Return the problem of every `stride`-th row, which stands for that many."""
        return self._replace(y=self.y[::stride], cost=stride * self.cost[::stride])

    def own(self) -> np.ndarray:
        """Return the second derivatives that conjugates of the losses add to the dual, (n,)."""
        if not self.squared:
            return np.zeros(len(self.y))
        return 0.5 / self.cost

    def gap(self, e: np.ndarray, beta: np.ndarray, rest: float) -> float:
        """Return the gap for dual variables that add up to 0.

        `e` are residuals, and `rest` is half of ``|w - X'beta|²``.
        """
        if self.squared:  # squares, which do not cancel
            r = self.excess(e)
            brackets = self.cost * (r - beta * self.own()) ** 2
            brackets += beta * (r - e) + self.eps * np.abs(beta)
        else:
            brackets = self.losses(e) + self.eps * np.abs(beta) - beta * e
        return float(brackets.sum()) + rest


class DualPoint(NamedTuple):
    """Parameters and dual variables, with the primal's value and the gap."""

    theta: np.ndarray
    b: float
    beta: np.ndarray
    value: float
    gap: float


def feasible(beta: np.ndarray) -> tuple[np.ndarray, float]:
    """Return beta with the heavier sign multiplied so that the sum is 0, and that factor."""
    plus, minus = float(np.maximum(beta, 0).sum()), -float(np.minimum(beta, 0).sum())
    if plus == minus:
        return beta, 1.0
    heavier = beta > 0 if plus > minus else beta < 0
    t = min(plus, minus) / max(plus, minus)
    return np.where(heavier, t * beta, beta), t


def balanced(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return beta with a sum of 0: what is too much is taken from the free variables alone."""
    for _ in range(_SHIFTS):
        total = float(beta.sum())
        free = np.flatnonzero((beta > lower) & (beta < upper) & (beta != 0))
        if total == 0 or not len(free):
            break
        values = beta[free]
        low, high = np.where(values > 0, 0.0, lower[free]), np.where(values > 0, upper[free], 0.0)
        moved = np.clip(values - total / len(free), low, high)
        if np.array_equal(moved, values):
            break
        beta = beta.copy()
        beta[free] = moved
    # Scaling takes variables from their bounds: it is left to sums above rounding.
    size = float(np.abs(beta).sum())
    return beta if abs(float(beta.sum())) <= _ROUNDING * size else feasible(beta)[0]
