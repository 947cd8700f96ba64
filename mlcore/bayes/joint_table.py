"""Joint distributions of several variables as tables: margins, conditionals, independence."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mlcore.entropy.entropies import as_distributions, divergences, non_negative
from mlcore.estimator.printed import fields_as_table

_HOLDS = 1e-12  # largest deviation of independent variables: rounding


class Independence(NamedTuple):
    """Result of a test of independence in a table.

    Parameters
    ----------
    holds : bool
        `largest_deviation` is at most 1e-12.
    largest_deviation : float
        Largest ``|P(a, b | g) - P(a | g) P(b | g)|``.
    cell : tuple of int
        Where that is: the values of a, of b and of what is given.
    mutual_information : float
        Of a and b, given g, in nats.

    Examples
    --------
    >>> from mlcore.bayes import JointTable
    >>> JointTable([[0.25, 0.25], [0.25, 0.25]]).independence(0, 1).holds
    True
    """

    holds: bool
    largest_deviation: float
    cell: tuple[int, ...]
    mutual_information: float


class JointTable:
    """Joint distribution of two or more variables, an axis of the table for each.

    Parameters
    ----------
    table : array-like of at least one axis
        Counts or probabilities, non-negative; scaled to sum 1.
    names : sequence of str, optional
        Of the axes, which may then be named where axes are asked for.

    Attributes
    ----------
    probabilities : ndarray of the shape of `table`
    names : tuple of str, or None

    Raises
    ------
    ValueError
        For negative values, NaN and infinity, a table of zeros, and names that do not fit.

    Examples
    --------
    Two hypotheses and five observations:

    >>> from mlcore.bayes import JointTable
    >>> table = JointTable([[2, 5, 4, 2, 1], [0, 0, 3, 3, 2]], names=["h", "x"])
    >>> table.marginal("h").round(4)
    array([0.6364, 0.3636])
    >>> round(float(table.conditional("x", given="h")[2, 1]), 12)
    0.375
    >>> table.independence("h", "x").holds
    False
    """

    probabilities: np.ndarray

    __repr__ = fields_as_table

    def __init__(self, table: Any, names: Sequence[str] | None = None) -> None:
        array = non_negative(table, "table")
        if names is not None:
            scalar = isinstance(names, np.ndarray) and names.ndim == 0
            named = tuple(names) if isinstance(names, Iterable) and not scalar else ()
            strings = all(isinstance(name, str) for name in named)
            if len(named) != array.ndim or not strings or len(set(named)) < len(named):
                raise ValueError(
                    f"names={names!r} must be {array.ndim} different names, one for each axis of "
                    "table."
                )
            names = named
        self.probabilities = as_distributions(array.ravel(), "table").reshape(array.shape)
        self.names = names

    def marginal(self, axes: Any) -> np.ndarray:
        """Return the joint distribution of some variables.

        Parameters
        ----------
        axes : int, str or sequence of them

        Returns
        -------
        probabilities : ndarray
            Its axes are in the order asked for.
        """
        return self._margin(self._axes(axes, "axes"))

    def conditional(self, of: Any, given: Any) -> np.ma.MaskedArray:
        """Return the distribution of some variables for every value of others.

        Parameters
        ----------
        of, given : int, str or sequence of them
            Different axes.

        Returns
        -------
        probabilities : masked array
            The axes of `of`, then those of `given`. Masked where the condition has probability 0.
        """
        of, given = self._axes(of, "of"), self._axes(given, "given")
        self._require_different(of=of, given=given)
        joint, condition = self._margin((*of, *given)), self._margin(given)
        impossible = np.broadcast_to(condition == 0, joint.shape)
        quotient = np.divide(joint, condition, where=~impossible, out=np.zeros_like(joint))
        return np.ma.MaskedArray(quotient, mask=impossible)

    def independence(self, a: Any, b: Any, given: Any = ()) -> Independence:
        """Return whether variables are independent, perhaps given the values of others.

        Parameters
        ----------
        a, b : int, str or sequence of them
            Different axes; a sequence stands for the variables together.
        given : int, str or sequence of them, optional
            Independence must hold for each value of these, of positive probability.

        Returns
        -------
        result : Independence
            With the largest deviation and its cell.
        """
        a, b, given = self._axes(a, "a"), self._axes(b, "b"), self._axes(given, "given")
        self._require_different(a=a, b=b, given=given)
        joint = self._margin((*a, *b, *given))
        condition = joint.sum(axis=tuple(range(len(a) + len(b))))
        possible = np.broadcast_to(condition > 0, joint.shape)
        both = np.divide(joint, condition, where=possible, out=np.zeros_like(joint))
        first = both.sum(axis=tuple(range(len(a), len(a) + len(b))), keepdims=True)
        second = both.sum(axis=tuple(range(len(a))), keepdims=True)
        product = first * second
        deviation = abs(both - product)
        cell = np.unravel_index(deviation.argmax(), deviation.shape)
        information = divergences(joint.ravel(), (product * condition).ravel())
        return Independence(
            bool(deviation.max() <= _HOLDS),
            float(deviation.max()),
            tuple(map(int, cell)),
            float(information),
        )

    def total_correlation(self) -> float:
        """Return the relative entropy of the table from the product of its one-way margins.

        Returns
        -------
        nats : float
            0 only if all variables are independent together: the table is of rank one.
        """
        product = np.ones(())
        for axis in range(self.probabilities.ndim):
            product = np.multiply.outer(product, self._margin((axis,)))
        return float(divergences(self.probabilities.ravel(), product.ravel()))

    def _margin(self, axes):
        rest = tuple(axis for axis in range(self.probabilities.ndim) if axis not in axes)
        kept = sorted(axes)
        return self.probabilities.sum(axis=rest).transpose([kept.index(axis) for axis in axes])

    def _axes(self, axes, argument):
        """Return a tuple of axes by number, each once."""
        axes = axes.item() if isinstance(axes, np.ndarray) and axes.ndim == 0 else axes
        several = isinstance(axes, Iterable) and not isinstance(axes, str)
        numbers = tuple(self._axis(axis, argument) for axis in (axes if several else (axes,)))
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"{argument}={axes!r} names an axis twice.")
        return numbers

    def _axis(self, axis, argument):
        if self.names is not None and axis in self.names:
            return self.names.index(axis)
        n = self.probabilities.ndim
        whole = isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)
        if whole and -n <= axis < n:
            return int(axis) % n
        or_name = f" or one of {self.names}" if self.names else ""
        raise ValueError(f"{argument}={axis!r} must be an axis from 0 to {n - 1}{or_name}.")

    def _require_different(self, **groups):
        axes = [axis for group in groups.values() for axis in group]
        if len(set(axes)) < len(axes):
            raise ValueError(f"{', '.join(groups)} must be different axes, but are {axes}.")
