"""Losses in a known range that `certify` and `compare_models` measure."""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mlcore.bounds.arguments import as_range, refuse

LossName = Literal["absolute", "squared"]
NAMES = get_args(LossName)


class Loss(NamedTuple):
    """Loss of each example, by name or a function of targets and predictions.

    All losses are in `value_range`; for a name `targets` is the range of targets, else None.
    """

    name: str
    function: Callable[[np.ndarray, np.ndarray], Any]
    value_range: tuple[float, float]
    targets: tuple[float, float] | None

    def __call__(self, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Return the losses as float64 (m,), or raise ValueError for one outside of the range."""
        if self.targets is not None:
            y, predicted = numbers_in(self.targets, y, predicted)
        losses = np.asarray(self.function(y, predicted))
        low, high = self.value_range
        if losses.shape != y.shape or losses.dtype.kind not in "biuf":
            refuse("loss", self.function, f"a function that returns {len(y)} numbers")
        losses = losses.astype(np.float64)
        outside = ~((losses >= low) & (losses <= high))
        if outside.any():
            value = float(losses[outside][0])
            allowed = f"in [{low:g}, {high:g}] for every example; value_range says it is"
            refuse("loss", value, allowed)
        return losses


def as_loss(loss: Any, value_range: Any) -> Loss:
    """Return a loss by name, for which the range is that of targets, or of a function."""
    if isinstance(loss, str) and loss in NAMES:
        if value_range is None:
            refuse("value_range", None, "the least and the largest possible target")
        low, high = as_range(value_range, "value_range")
        if loss == "absolute":
            return Loss(loss, _absolute, (0.0, high - low), (low, high))
        square = (high - low) * (high - low)
        if not 0 < square < math.inf:
            refuse("value_range", value_range, "of a length whose square is a finite float above 0")
        return Loss(loss, _squared, (0.0, square), (low, high))
    if not callable(loss):
        refuse("loss", loss, f"{' or '.join(map(repr, NAMES))}, or a function of y and predictions")
    ends = (0.0, 1.0) if value_range is None else as_range(value_range, "value_range")
    return Loss(getattr(loss, "__name__", type(loss).__name__), loss, ends, None)


def mean_of(losses: np.ndarray) -> float:
    """Return the mean of losses (m,), whose sum may be no float."""
    power = int(np.frexp(np.abs(losses).max())[1])
    return math.ldexp(math.fsum(np.ldexp(losses, -power)) / len(losses), power)


def numbers_in(
    targets: tuple[float, float], y: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return targets and predictions as float64, or raise ValueError for one out of range."""
    return _inside(y, "y", targets), _inside(predicted, "predictions", targets)


def _absolute(y, predicted):
    return np.abs(y - predicted)


def _squared(y, predicted):
    return (y - predicted) ** 2


def _inside(values, name, targets):
    """Return numbers as float64, or raise ValueError for one outside of the range of targets."""
    low, high = targets
    if values.dtype.kind not in "biuf":
        refuse(name, values.dtype, "numbers, for a loss of numbers")
    values = values.astype(np.float64)
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        place = int(np.argmax(outside))
        hint = "" if name == "y" else "; clip predictions to it"
        allowed = f"in [{low:g}, {high:g}], the value_range of targets{hint}"
        refuse(f"{name}[{place}]", float(values[place]), allowed)
    return values
