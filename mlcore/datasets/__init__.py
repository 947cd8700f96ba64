"""Small real data shipped with mlcore, each set with its source and licence beside it."""

from mlcore.datasets.digits import load_digits
from mlcore.datasets.iris import load_iris

__all__ = ["load_digits", "load_iris"]


def __dir__() -> list[str]:
    return __all__
