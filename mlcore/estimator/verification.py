"""Base class of what `verify` returns."""

from dataclasses import dataclass
from typing import Any

from mlcore.estimator.printed import fields_as_table


@dataclass(frozen=True, repr=False)
class Verification:
    """Objective of a fit on given samples, and a bound on its distance from the optimum.

    `objective` is the value that the fit minimises, `duality_gap` an upper bound of it less its
    minimum; a float or an array each.
    """

    objective: Any
    duality_gap: Any

    __repr__ = fields_as_table
