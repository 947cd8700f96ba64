"""Posterior probabilities of each sample from the fit to all others, without refits."""

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from mlcore.discriminant.covariance_roots import root_of_factors, root_of_sums


def leave_one_out_log_posteriors(
    offsets: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    means: np.ndarray,
    covariance: np.ndarray,
    divisor: float,
    priors: np.ndarray | None,
    eps: float,
) -> np.ndarray:
    """Return log posterior probabilities, (n, c), of normal classes of one covariance matrix.

    Without row i of class k the scatter within classes loses ``a e e'``, with ``e = x_i - mu_k``
    and ``a = w_i W_k / (W_k - w_i)``, a change of rank one of its inverse; mu_k moves away from
    x_i, and their difference becomes ``e W_k / (W_k - w_i)``.

    Parameters
    ----------
    offsets : (n, d) float64
        Rows less the mean of all.
    codes, weight : (n,)
    means : (c, d) float64
        Of the classes, less the mean of all.
    covariance : (d, d) float64
        The scatter within classes over `divisor`.
    priors : (c,) or None
        None is the share of weight of each class, without the row.
    eps : float
        Precision of the covariance.

    Raises
    ------
    ValueError
        If the covariance, or that without one of the rows, has no inverse.
    """
    root, ill = root_of_sums(covariance, eps)
    if ill:
        residuals = (offsets - means[codes]) * np.sqrt(weight / divisor)[:, None]
        root = root_of_factors([residuals], len(offsets), eps)
    if root.R is None:
        raise ValueError("the covariance within classes has no inverse, which leave_one_out needs.")
    Z = linalg.solve_triangular(root.R, offsets.T, trans="T").T
    M = linalg.solve_triangular(root.R, means.T, trans="T").T
    rows, totals = np.arange(len(Z)), np.bincount(codes, weights=weight, minlength=len(M))
    rest = totals[codes] - weight
    alone = rest <= 0
    growth = np.where(alone, 1.0, totals[codes] / np.where(alone, 1.0, rest))
    own = Z - M[codes]
    lost = np.where(alone, 0.0, weight * growth) / divisor
    left = 1 - lost * np.square(own).sum(axis=1)
    # What is left is known to the error of the distance; below it could as well be 0.
    if not (left > root.rounding).all():
        raise ValueError(
            f"without sample {left.argmin()} the covariance within classes has no inverse: "
            "leave_one_out needs more samples than features and classes."
        )
    products = (Z * own).sum(axis=1)[:, None] - own @ M.T
    squares = np.stack([np.square(Z - mean).sum(axis=1) for mean in M], axis=1)
    squares[rows, codes] *= growth**2
    products[rows, codes] *= growth
    distances = squares + products**2 * (lost / left)[:, None]
    distances *= (1 - weight / divisor)[:, None]
    if priors is None:
        shares = np.repeat(totals[None], len(Z), axis=0)
        shares[rows, codes] = np.maximum(rest, 0.0)
    else:
        shares = np.repeat(priors[None], len(Z), axis=0)
        shares[rows[alone], codes[alone]] = 0.0
    with np.errstate(divide="ignore"):
        scores = np.log(shares) - distances / 2
    return scores - logsumexp(scores, axis=1, keepdims=True)


def quadratic_leave_one_out(
    distances: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    totals: np.ndarray,
    log_determinants: np.ndarray,
    rank: int,
    ddof: int,
    rounding: np.ndarray,
    priors: np.ndarray | None,
) -> np.ndarray:
    """Return log posterior probabilities, (n, c), of normal classes, each with its covariance.

    Only the class k of row i changes without it: its scatter loses ``a e e'``, as above, and its
    divisor ``D = W_k - ddof`` becomes ``D - w_i``. With m the squared Mahalanobis distance of x_i
    to mu_k, the determinant is multiplied by ``(D / (D - w_i))^rank (1 - a m / D)``, and m becomes
    ``(D - w_i) / D (W_k / (W_k - w_i))² m / (1 - a m / D)``.

    Parameters
    ----------
    distances : (n, c) float64
        Squared Mahalanobis distances of rows to means.
    codes, weight : (n,)
    totals, log_determinants : (c,)
    ddof : int
        The divisor of the scatter of a class is its weight less this.
    rounding : (c,) float64
        Relative error of the distances.
    priors : (c,) or None
        None is the share of weight of each class, without the row.

    Raises
    ------
    ValueError
        If the covariance of a class, without one of its rows, has no inverse.
    """
    rows, own = np.arange(len(codes)), distances[np.arange(len(codes)), codes]
    rest, divisor = totals[codes] - weight, totals[codes] - ddof
    less = divisor - weight
    few = rest <= 0 if not rank else less <= 0
    growth = np.where(few, 1.0, totals[codes] / np.where(few, 1.0, rest))
    left = 1 - weight * growth * own / divisor
    # What is left is known to the error of the distance; below it could as well be 0.
    few |= left <= rounding[codes]
    if few.any():
        raise ValueError(
            f"without sample {few.argmax()} the covariance of its class has no inverse: "
            "leave_one_out needs more samples of each class than features, and one."
        )
    scores = -(distances + log_determinants) / 2
    ratio = less / divisor
    moved = ratio * growth**2 * own / left
    scores[rows, codes] = (
        -(moved + log_determinants[codes] - rank * np.log(ratio) + np.log(left)) / 2
    )
    shares = np.repeat((totals if priors is None else priors)[None], len(codes), axis=0)
    if priors is None:
        shares[rows, codes] = rest
    with np.errstate(divide="ignore"):
        scores += np.log(shares)
    return scores - logsumexp(scores, axis=1, keepdims=True)
