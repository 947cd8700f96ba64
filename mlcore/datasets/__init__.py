"""Small real data shipped with mlcore, each set with its source and licence beside it."""

from mlcore.datasets.digits import load_digits

__all__ = ["load_digits"]
