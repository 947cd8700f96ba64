"""Interface of fits that are sums over rows, in memory, in files or on other machines."""

from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

__all__ = ["RowSums", "merged"]


def __dir__() -> list[str]:
    return __all__


@runtime_checkable
class RowSums(Protocol):
    """Protocol of models whose fit repeats sums over the rows of the data.

    ``fit`` is a loop over these four methods, and so is a fit to data in blocks::

        model.begin(first_block)
        while model.needs_another_pass():
            total = None
            for block in blocks:
                part = model.partial_statistics(block)
                total = part if total is None else model.merge(total, part)
            model.update(total)

    Statistics are a NamedTuple of arrays that do not grow with the rows; they can be
    pickled, so that another process with a copy of the model may sum a block. The sums are computed
    with the parameters after `begin` or the last `update`.

    The models of mlcore also have ``needs_another_pass() -> bool``: after `begin`, and after each
    `update`, it tells whether `fit` would go on, by the same `tol` and `max_iter`. The loop that
    takes a model need not ask: it may take a number of steps of its own.

    Examples
    --------
    >>> from mlcore.mixture import BernoulliMixture
    >>> from mlcore.row_sums import RowSums
    >>> isinstance(BernoulliMixture(), RowSums)
    True
    """

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the starting parameters, from `X` unless they are given.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like, optional
        sample_weight : array-like of shape (n_samples,), optional
        """

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over the rows of `X`; the parameters do not change.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like, optional
        sample_weight : array-like of shape (n_samples,), optional
        """

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both; the order matters only for rounding.

        Parameters
        ----------
        a, b : NamedTuple
            Sums over different rows.
        """

    def update(self, statistics: Any) -> Self:
        """Compute new parameters from the sums: one step of an iteration, or the whole fit.

        Parameters
        ----------
        statistics : NamedTuple
            Sums over all rows.
        """


class SinglePass:
    """Mixin of models whose `update` is the whole fit, which sets the attribute `_result`.

    What the sums refer to is set by `begin`, for which any rows will do.
    """

    _result: ClassVar[str]
    _start_rows: ClassVar[str] = "block"  # or "sample": `begin` needs rows that stand for all

    def needs_another_pass(self) -> bool:
        """Return True after `begin`, False after `update`: sums over all rows are the whole fit.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        self._check_fitted()
        return not hasattr(self, self._result)


class RepeatedPasses:
    """Mixin of models whose `update` is a step, until `converged_` or `max_iter` of them."""

    _start_rows: ClassVar[str] = "sample"

    def needs_another_pass(self) -> bool:
        """Return whether `fit` would take another step: not if `converged_`, or after `max_iter`.

        Each step is an `update` by the sums over all rows.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        self._check_fitted()
        return not self.converged_ and int(np.max(self.n_iter_)) < self.max_iter


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
