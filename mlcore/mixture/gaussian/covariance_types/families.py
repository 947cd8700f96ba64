"""The covariance types by name. A string is resolved here, once, and is an object from then on."""

from typing import Any

from mlcore.checks import as_choice
from mlcore.mixture.gaussian.covariance_types.covariance_type import CovarianceType
from mlcore.mixture.gaussian.covariance_types.matrices import Full, Tied
from mlcore.mixture.gaussian.covariance_types.variances import Diagonal, Spherical

TYPES: dict[str, CovarianceType] = {
    one.name: one for one in (Full(), Tied(), Diagonal(), Spherical())
}
FULL = TYPES["full"]


def as_covariance_type(name: Any, owner: str | None = None) -> CovarianceType:
    """Return the covariance type of a name; ValueError or TypeError for any other value."""
    return TYPES[as_choice(name, "covariance_type", tuple(TYPES), owner=owner)]
