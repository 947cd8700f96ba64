"""Posterior probabilities from a prior and likelihoods, and decisions by the largest of them."""

from typing import Any

import numpy as np

from mlcore.checks import as_bool
from mlcore.checks.arrays import real_array
from mlcore.entropy.entropies import non_negative


def posterior(prior: Any, likelihood: Any, *, log: bool = False) -> np.ndarray:
    """Return the probabilities of hypotheses after an observation, by Bayes' rule.

    Parameters
    ----------
    prior : array-like of shape (k,)
        Probabilities of the hypotheses before; any positive factor is without effect.
    likelihood : array-like of shape (..., k)
        Probability, or density, of each observation under each hypothesis.
    log : bool, default=False
        Prior and likelihood are natural logarithms, -inf for 0, and so is the result.

    Returns
    -------
    posterior : ndarray of shape (..., k)
        Rows sum to 1.

    Raises
    ------
    ValueError
        If an observation is impossible under every hypothesis of positive prior; its row is named.
        Also for negative values, NaN, infinity, and shapes that do not fit.

    References
    ----------
    T. Bayes, *An essay towards solving a problem in the doctrine of chances*, Philosophical
    Transactions 53, 1763.

    Examples
    --------
    An illness of one in a hundred, and an alarm that 98 % of the ill raise, and 3 % of the others:

    >>> from mlcore.bayes import posterior
    >>> posterior([0.01, 0.99], [0.98, 0.03]).round(4)
    array([0.2481, 0.7519])
    """
    if as_bool(log, "log"):
        logs = _logs(prior, "prior"), _logs(likelihood, "likelihood")
    else:
        values = non_negative(prior, "prior"), non_negative(likelihood, "likelihood")
        with np.errstate(divide="ignore"):
            logs = tuple(np.log(value) for value in values)
    _require_fit(*logs)
    joint = logs[0] + logs[1]
    largest = joint.max(axis=-1, keepdims=True)
    _refuse_impossible(largest)
    if log:
        joint = joint - largest
        return joint - np.log(np.exp(joint).sum(axis=-1, keepdims=True))
    # Products keep a digit or two that logarithms lose; only those that underflow need these.
    # Powers of two round nothing, so that equal products stay equal.
    exponents = (np.frexp(value.max(axis=-1, keepdims=True))[1] for value in values)
    scaled = [np.ldexp(value, -exponent) for value, exponent in zip(values, exponents, strict=True)]
    products = scaled[0] * scaled[1]
    small = products.max(axis=-1) < 1e-200
    products[small] = np.exp((joint - largest)[small])
    return products / products.sum(axis=-1, keepdims=True)


def map_decision(prior: Any, likelihood: Any, *, log: bool = False) -> Any:
    """Return the hypothesis of largest posterior probability (maximum a posteriori).

    Parameters
    ----------
    prior : array-like of shape (k,)
    likelihood : array-like of shape (..., k)
    log : bool, default=False
        As in `posterior`.

    Returns
    -------
    decision : int or ndarray of shape (...)
        Index of the hypothesis, the lowest among equals.

    Raises
    ------
    ValueError
        As `posterior`.

    Examples
    --------
    >>> from mlcore.bayes import map_decision, ml_decision
    >>> map_decision([0.01, 0.99], [0.98, 0.03]), ml_decision([0.98, 0.03])
    (1, 0)
    """
    return _largest(posterior(prior, likelihood, log=log))


def ml_decision(likelihood: Any, *, log: bool = False) -> Any:
    """Return the hypothesis under which an observation is most probable (maximum likelihood).

    Parameters
    ----------
    likelihood : array-like of shape (..., k)
    log : bool, default=False
        `likelihood` holds natural logarithms.

    Returns
    -------
    decision : int or ndarray of shape (...)
        Index of the hypothesis, the lowest among equals.

    Raises
    ------
    ValueError
        If an observation is impossible under every hypothesis; for negative values, NaN and
        infinity.

    Examples
    --------
    >>> from mlcore.bayes import ml_decision
    >>> ml_decision([[0.5, 0.5], [0.1, 0.2]])
    array([0, 1])
    """
    check = _logs if as_bool(log, "log") else non_negative
    values = check(likelihood, "likelihood")
    largest = values.max(axis=-1, keepdims=True)
    _refuse_impossible(largest if log else np.where(largest > 0, 0.0, -np.inf))
    return _largest(values)


def _largest(values):
    index = values.argmax(axis=-1)
    return int(index) if index.ndim == 0 else index


def _logs(values, name):
    """Return an array of float64 below infinity, or raise ValueError."""
    array = real_array(values, name).astype(np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} has shape {array.shape}, but needs at least one value.")
    if not (array < np.inf).all():
        raise ValueError(f"{name} has NaN or infinity, but logarithms must be finite or -inf.")
    return array


def _require_fit(prior, likelihood):
    if prior.ndim != 1 or likelihood.shape[-1] != len(prior):
        raise ValueError(
            f"prior of shape {prior.shape} and likelihood of shape {likelihood.shape} do not fit: "
            "they must be (k,) and (..., k) for k hypotheses."
        )


def _refuse_impossible(largest):
    """Refuse observations whose largest log probability (..., 1) is -inf."""
    if np.isneginf(largest).any():
        row = tuple(map(int, np.argwhere(np.isneginf(largest[..., 0]))[0]))
        where = f" in row {row[0] if len(row) == 1 else row}" if row else ""
        raise ValueError(
            f"the observation{where} is impossible under every hypothesis: the product of prior "
            "and likelihood is 0."
        )
