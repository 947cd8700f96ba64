"""Linear support vector machines of many costs, with the evidence of each."""

from typing import NamedTuple

import numpy as np

from mlcore.estimator.printed import fields_as_table


class CostPath(NamedTuple):
    """Linear machines for m costs, in the order in which these were given.

    With more than two classes, arrays but `Cs` have an axis of classes more, after the first.

    Parameters
    ----------
    Cs : (m,)
    coef : (m, n_features)
    intercept : (m,)
    objective : (m,)
    duality_gap : (m,)
        The objective is at most this much above its minimum.
    n_support : (m,) int64
        Support vectors.
    n_iter : (m,) int64
        Iterations, from the coefficients of the next smaller cost on.

    Examples
    --------
    >>> from mlcore.svm import LinearSVC
    >>> path = LinearSVC(tol=1e-9).path([[0.0], [1.0], [3.0]], [0, 0, 1], Cs=[0.1, 1.0])
    >>> path.coef.ravel().round(6)
    array([0.344828, 0.8     ])
    """

    Cs: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    duality_gap: np.ndarray
    n_support: np.ndarray
    n_iter: np.ndarray

    __repr__ = fields_as_table
