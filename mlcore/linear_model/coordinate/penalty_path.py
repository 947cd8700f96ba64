"""Linear models of many penalties, with the evidence of each."""

from typing import NamedTuple

import numpy as np

from mlcore.estimator.printed import fields_as_table


class PenaltyPath(NamedTuple):
    """Linear models for m penalties, in the order in which these were given.

    With several targets, arrays but `alphas` have an axis of targets more, after the first; with
    ``multi_task=True`` only `coef` and `intercept` do.

    Parameters
    ----------
    alphas : (m,)
    coef : (m, n_features)
    intercept : (m,)
    objective : (m,)
    duality_gap : (m,)
        The objective is at most this much above its minimum.
    n_nonzero : (m,) int64
        Coefficients that are not 0; with ``multi_task=True`` features that have any.
    n_iter : (m,) int64
        Rounds of steps, from the coefficients of the next larger penalty on.

    Examples
    --------
    >>> from mlcore.linear_model import Lasso
    >>> path = Lasso().path([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], alphas=[1.0, 0.5])
    >>> path.coef.ravel().round(12)
    array([0.  , 0.75])
    """

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    duality_gap: np.ndarray
    n_nonzero: np.ndarray
    n_iter: np.ndarray

    __repr__ = fields_as_table
