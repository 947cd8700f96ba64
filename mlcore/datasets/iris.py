"""Iris flowers: 150 of three species, four lengths each. Source and licence: LICENSE-iris.txt."""

from pathlib import Path

import numpy as np

_PER_CENTIMETRE = 10  # lengths were taken to a millimetre


def load_iris() -> tuple[np.ndarray, np.ndarray]:
    """Load the measurements of 150 iris flowers, 50 of each of three species.

    They were measured by E. Anderson and published by R. A. Fisher [1]_, in whose order and with
    whose values they are here (some copies differ in two flowers). One species is far from the
    others, which overlap.

    Returns
    -------
    X : ndarray of shape (150, 4), float64
        Length and width of the sepals, then of the petals, in centimetres.
    y : ndarray of shape (150,), int64
        The species: 0 setosa, 1 versicolor, 2 virginica.

    References
    ----------
    .. [1] R. A. Fisher, *The use of multiple measurements in taxonomic problems*, Annals of
       Eugenics 7, 1936, table 1. Also at the UCI Machine Learning Repository,
       https://doi.org/10.24432/C56C76 (CC BY 4.0).

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> X, y = load_iris()
    >>> X.shape, X[0].tolist(), y[0].item()
    ((150, 4), [5.1, 3.5, 1.4, 0.2], 0)
    """
    with np.load(Path(__file__).with_name("iris.npz")) as stored:
        X = stored["lengths"] / _PER_CENTIMETRE
        y = stored["species"].astype(np.int64)
    return X, y
