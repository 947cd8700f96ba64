"""Fits that are sums over rows: one seam for data in memory, in files, or on other machines."""

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

__all__ = ["RowSums", "merged"]


def __dir__() -> list[str]:
    return __all__


@runtime_checkable
class RowSums(Protocol):
    """What a model offers whose fit is a repetition of sums over the rows of the data.

    ``fit`` is a loop over these four, and so is any other way through the data::

        model.begin(first_block)
        for step in range(n_steps):
            total = None
            for block in blocks:
                part = model.partial_statistics(block)
                total = part if total is None else model.merge(total, part)
            model.update(total)

    Statistics are a NamedTuple of arrays that do not grow with the rows; they pickle, so that a
    block may be summed by another process that holds a copy of the model. What rows are summed
    under are the parameters after `begin` or the last `update`.

    Examples
    --------
    >>> from mlcore.mixture import BernoulliMixture
    >>> from mlcore.row_sums import RowSums
    >>> isinstance(BernoulliMixture(), RowSums)
    True
    """

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the parameters to start from, by `X` where none are given."""

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over the rows of `X` under the parameters now, which stay."""

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both; in any order, up to rounding."""

    def update(self, statistics: Any) -> Self:
        """Replace the parameters by what the sums say: one step, or the answer."""


def merged(a: Any, b: Any) -> Any:
    """Return statistics added field by field.

    Parameters
    ----------
    a, b : NamedTuple
        Of the same model: arrays of the same shapes, numbers.

    Returns
    -------
    NamedTuple
        Of the same type.

    Raises
    ------
    TypeError
        If they are not of one kind.
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
