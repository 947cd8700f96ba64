"""Labels of a partition: any values that tell clusters apart, not classes to be predicted."""

from typing import Any

import numpy as np

from mlcore.checks import as_labels


def as_partition(
    labels: Any, n_samples: int | None, *, owner: str, name: str = "labels", min_clusters: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted names of the clusters, and the number of each sample's cluster.

    Floats that are not whole are names too. At least `min_clusters` names must differ.
    """
    try:
        values = np.asarray(labels)
    except ValueError:
        raise ValueError(
            f"{owner}: {name} holds lists of different lengths, but must be one label for each "
            "sample."
        ) from None
    if values.dtype == object and all(isinstance(value, float) for value in values.flat):
        values = values.astype(float)
    n = values.size if n_samples is None else n_samples
    if n == 0:
        raise ValueError(f"{name} is empty, but {owner} needs at least 1 sample.")
    if values.ndim != 1 or values.dtype.kind != "f" or not np.isfinite(values).all():
        return as_labels(labels, n, owner=owner, min_classes=min_clusters, name=name)
    names, codes = np.unique(values, return_inverse=True)
    used, codes = as_labels(codes, n, owner=owner, min_classes=min_clusters, name=name)
    return names[used], codes
