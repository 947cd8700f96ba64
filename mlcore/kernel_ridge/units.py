"""Powers of two that take a ridge problem of any scale to values whose squares are in range."""

from typing import NamedTuple, Self

import numpy as np

from mlcore.checks import scaled_weights

_PLAIN = 99  # powers up to this are left where they are


class Units(NamedTuple):
    """A problem in its units: the given values are those here times powers of two.

    Attributes
    ----------
    weight : float64 (n,)
    targets : float64 (n, k)
    penalties : float64 (k,)
    kernel_power, target_power : int
        Of the kernel values (even), and of the targets.
    square_power : int
        Of the objective.
    penalty_power : int
    """

    weight: np.ndarray
    targets: np.ndarray
    penalties: np.ndarray
    kernel_power: int
    target_power: int
    square_power: int
    penalty_power: int

    @property
    def weight_power(self) -> int:
        """Power of the weights."""
        return self.square_power - 2 * self.target_power

    @classmethod
    def of(
        cls, largest: float, weight: np.ndarray, targets: np.ndarray, alphas: np.ndarray
    ) -> Self:
        """Choose the units; `largest` is the largest kernel value."""
        weight, weight_power = scaled_weights(weight, plain=_PLAIN)
        penalties = np.ldexp(alphas, -weight_power)
        kernel_power = even_power(max(largest, float(penalties.max())))
        target_power = even_power(float(np.abs(targets).max()))
        return cls(
            weight,
            np.ldexp(targets, -target_power) if target_power else targets,
            np.ldexp(penalties, -kernel_power),
            kernel_power,
            target_power,
            weight_power + 2 * target_power,
            weight_power + kernel_power,
        )


def even_power(size: float) -> int:
    """Return an even p with size of about 2^p, 0 where size needs no scaling."""
    power = int(np.frexp(size)[1])
    return 0 if abs(power) <= _PLAIN else power + power % 2
