"""Base class of what `verify` returns."""

from dataclasses import dataclass
from typing import Any

from mlcore.estimator.printed import fields_as_table


@dataclass(frozen=True, repr=False)
class Verification:
    """Objective of a fit on given samples, and a bound on its distance from the optimum.

    Parameters
    ----------
    objective : float or ndarray
        Value that the fit minimises.
    duality_gap : float or ndarray
        Upper bound of `objective` less its minimum.

    Examples
    --------
    >>> from mlcore.kernel_ridge import KernelRidge
    >>> X, y = [[0.0], [0.5], [2.0]], [1.0, 2.0, 4.0]
    >>> shown = KernelRidge().fit(X, y).verify(X, y)
    >>> shown.duality_gap < 1e-9 * shown.objective
    True
    """

    objective: Any
    duality_gap: Any

    __repr__ = fields_as_table
