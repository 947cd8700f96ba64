"""Entropies of distributions, and the relative entropy of non-negative vectors."""

import math
from typing import Any

import numpy as np

from mlcore.checks import as_real
from mlcore.checks.arrays import real_array
from mlcore.numerics.information import deviance, entropies


def entropy(p: Any, base: float = math.e) -> Any:
    """Return the entropy ``-sum_i p_i ln p_i`` of a distribution, with ``0 ln 0 = 0``.

    Parameters
    ----------
    p : array-like of shape (..., k)
        Non-negative, such as probabilities or counts; each row is scaled to sum 1.
    base : float, default=e
        Of the logarithm, positive and not 1: 2 for bits, e for nats.

    Returns
    -------
    entropy : float or ndarray of shape (...)
        Between 0 and the logarithm of k.

    Raises
    ------
    ValueError
        For negative or infinite values and NaN, and for a row of zeros.

    References
    ----------
    C. E. Shannon, *A mathematical theory of communication*, Bell System Technical Journal 27, 1948.

    Examples
    --------
    >>> from mlcore.entropy import entropy
    >>> entropy([0.5, 0.25, 0.25], base=2)
    1.5
    """
    p = as_distributions(p, "p")
    return _in_base(entropies(p), base)


def mutual_information(joint: Any, base: float = math.e) -> Any:
    """Return the mutual information of the two variables of a joint table.

    It is the relative entropy of the table from the product of its margins: 0 if they are
    independent. Near independence it keeps its digits, unlike a difference of entropies.

    Parameters
    ----------
    joint : array-like of shape (a, b)
        Probabilities or counts, non-negative; scaled to sum 1.
    base : float, default=e
        Of the logarithm, positive and not 1.

    Returns
    -------
    information : float
        At least 0.

    Raises
    ------
    ValueError
        If `joint` has not two axes, for negative or infinite values and NaN, and if all are 0.

    References
    ----------
    T. M. Cover, J. A. Thomas, *Elements of Information Theory*, 2nd ed., 2006, section 2.3.

    Examples
    --------
    >>> from mlcore.entropy import mutual_information
    >>> round(mutual_information([[0.5, 0.0], [0.0, 0.5]], base=2), 12)
    1.0
    """
    joint = non_negative(joint, "joint")
    if joint.ndim != 2:
        raise ValueError(f"joint has shape {joint.shape}, but must have two axes.")
    joint = as_distributions(joint.ravel(), "joint").reshape(joint.shape)
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return _in_base(divergences(joint.ravel(), independent.ravel()), base)


def relative_entropy(x: Any, y: Any) -> Any:
    """Return the relative entropy ``sum_i x_i ln(x_i / y_i) - x_i + y_i`` of non-negative vectors.

    Also called Kullback-Leibler divergence; x and y need not be distributions. A term is ``y_i``
    where ``x_i = 0``, and infinite where ``y_i = 0 < x_i``. Every term is computed as a number of
    at least 0 that keeps its digits where x and y are nearly equal.

    Parameters
    ----------
    x, y : array-like of shape (..., k)
        Non-negative; they broadcast.

    Returns
    -------
    divergence : float or ndarray of shape (...)
        At least 0, and 0 only if x = y.

    Raises
    ------
    ValueError
        For negative or infinite values and NaN, and for shapes that do not broadcast.

    References
    ----------
    S. Kullback, R. A. Leibler, *On information and sufficiency*, Annals of Mathematical Statistics
    22, 1951.

    Examples
    --------
    >>> from mlcore.entropy import relative_entropy
    >>> round(relative_entropy([0.5, 0.5], [0.9, 0.1]), 12)
    0.510825623766
    >>> relative_entropy([1.0, 0.0], [0.0, 1.0])
    inf
    """
    x, y = non_negative(x, "x"), non_negative(y, "y")
    try:
        return _plain(divergences(x, y))
    except ValueError:
        raise ValueError(
            f"x of shape {x.shape} and y of shape {y.shape} do not broadcast."
        ) from None


def divergences(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the relative entropies along the last axis of checked arrays."""
    with np.errstate(all="ignore"):  # of terms that are not chosen
        return deviance(x, y, y - x).sum(axis=-1)


def non_negative(values: Any, name: str) -> np.ndarray:
    """Return an array of finite float64 of at least 0, of one axis or more, or raise ValueError."""
    array = real_array(values, name).astype(np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} has shape {array.shape}, but needs at least one value.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinity.")
    if array.min(initial=0) < 0:
        raise ValueError(f"{name} has the negative value {array.min():.15g}.")
    return array


def as_distributions(values: Any, name: str) -> np.ndarray:
    """Return `values` (..., k), checked, with every row scaled to sum 1."""
    p = non_negative(values, name)
    largest = p.max(axis=-1, keepdims=True)
    if (largest == 0).any():
        row = tuple(map(int, np.argwhere(largest == 0)[0][:-1]))
        where = f" in row {row[0] if len(row) == 1 else row}" if row else ""
        raise ValueError(f"{name} has only zeros{where}, which no scale makes a distribution.")
    p = p / largest
    return p / p.sum(axis=-1, keepdims=True)


def _in_base(nats, base):
    base = as_real(base, "base", above=0)
    if base == 1:
        raise ValueError("base=1 must be a positive number other than 1.")
    return _plain(nats if base == math.e else nats / math.log(base))


def _plain(value):
    """Return a float for an array without axes."""
    return float(value) if np.ndim(value) == 0 else value
