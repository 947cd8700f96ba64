"""Interface of fits that are sums over rows, in memory, in files or on other machines."""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

__all__ = ["RowSums", "merged"]


def __dir__() -> list[str]:
    return __all__


@runtime_checkable
class RowSums(Protocol):
    """Protocol of models whose fit repeats sums over the rows of the data.

    ``fit`` is a loop over these four methods, and so is a fit to data in blocks::

        model.begin(first_block)
        for step in range(n_steps):
            total = None
            for block in blocks:
                part = model.partial_statistics(block)
                total = part if total is None else model.merge(total, part)
            model.update(total)

    Statistics are a NamedTuple of arrays that do not grow with the rows; they can be
    pickled, so that another process with a copy of the model may sum a block. The sums are computed
    with the parameters after `begin` or the last `update`.

    Examples
    --------
    >>> from mlcore.mixture import BernoulliMixture
    >>> from mlcore.row_sums import RowSums
    >>> isinstance(BernoulliMixture(), RowSums)
    True
    """

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the starting parameters, from `X` unless they are given."""

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over the rows of `X`; the parameters do not change."""

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both; the order matters only for rounding."""

    def update(self, statistics: Any) -> Self:
        """Compute new parameters from the sums: one step of an iteration, or the whole fit."""


def merged(a: Any, b: Any) -> Any:
    """Return statistics added field by field.

    Parameters
    ----------
    a, b : NamedTuple
        Statistics of the same model: numbers, and arrays of the same shapes.

    Returns
    -------
    NamedTuple
        The sums, of the same type.

    Raises
    ------
    TypeError
        If their types differ.
    ValueError
        If their shapes differ.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from mlcore.row_sums import merged
    >>> class Mass(NamedTuple):
    ...     weight: float
    >>> merged(Mass(1.0), Mass(2.5))
    Mass(weight=3.5)
    """
    if type(a) is not type(b) or not hasattr(a, "_fields"):
        raise TypeError(
            f"statistics of types {type(a).__name__} and {type(b).__name__} cannot be merged: "
            "both must come from partial_statistics of the same model."
        )
    for name, one, other in zip(a._fields, a, b, strict=True):
        if np.shape(one) != np.shape(other):
            raise ValueError(
                f"statistics with {name} of shapes {np.shape(one)} and {np.shape(other)} cannot "
                "be merged: they come from different models."
            )
    return type(a)(*(one + other for one, other in zip(a, b, strict=True)))
