"""Posterior probabilities of each sample from the fit to all others, without refits."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from mlcore.discriminant.class_covariances import Regularisation
from mlcore.discriminant.class_scatters import ClassScatters
from mlcore.discriminant.covariance_roots import Root, root_of_factors, root_of_sums
from mlcore.log_softmax import log_softmax


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
    return log_softmax(scores)


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
    return log_softmax(scores)


def regularised_leave_one_out(
    sums: ClassScatters,
    blocks: Iterator[tuple[slice, np.ndarray]],
    codes: np.ndarray,
    weight: np.ndarray,
    how: Regularisation,
    ridge: np.ndarray,
    priors: np.ndarray | None,
    eps: float,
) -> np.ndarray:
    """Return log posterior probabilities, (n, c), of normal classes with a number for shrinkage.

    Without row i of class k the scatter of that class, and that within all, lose ``a e e'``, with
    ``e = x_i - mu_k`` and ``a = w_i W_k / (W_k - w_i)``; their divisors lose w_i. So each
    covariance is one that rows of equal class and weight share, less a multiple of ``e e'``, which
    a formula inverts, and, with shrinkage s, less that of ``s diag(e)²``: then it is factored
    anew, in O(d³) for each row and class that changes.

    Parameters
    ----------
    sums : ClassScatters
        Of all rows and d features.
    blocks : iterator of (rows, offsets)
        The rows, (m, d), relative to the origin of the sums.
    codes, weight : (n,)
    how : Regularisation
    ridge : (d,)
    priors : (c,) or None
        None is the share of weight of each class, without the row.
    eps : float
        Precision of the sums.

    Raises
    ------
    ValueError
        If a covariance, without one of the rows, has no inverse; it names the row.
    """
    refits = _Refits(sums, how, ridge, eps)
    scores = np.empty((len(codes), len(sums.weights)))
    for rows, offsets in blocks:
        kinds = np.stack((codes[rows], weight[rows]), axis=1)
        for kind in np.unique(kinds, axis=0):
            own = np.flatnonzero((kinds == kind).all(axis=1))
            code, w, places = int(kind[0]), float(kind[1]), rows.start + own
            scores[places] = refits.scores(code, w, offsets[own], places)
            rest = sums.weights.copy()
            rest[code] = max(rest[code] - w, 0.0)
            if priors is not None:
                rest = priors * (rest > 0)
            with np.errstate(divide="ignore"):
                scores[places] += np.log(rest)
    return log_softmax(scores)


class _Refits:
    """Log densities of the fits without one row."""

    def __init__(self, sums, how, ridge, eps):
        self.sums, self.how, self.ridge, self.eps = sums, how, ridge, eps
        self.within = sums.scatters.sum(axis=0)
        self.keep = (1 - how.reg_param) * (1 - how.shrinkage)

    def scores(self, code, w, offsets, places):
        """Return log densities at these rows, (m, c), all of one class and weight w."""
        sums, c = self.sums, len(self.sums.weights)
        rest = sums.weights[code] - w
        alone = rest <= 0
        if alone and self.how.pooling < 1:
            raise _singular(places[0])
        growth = 1.0 if alone else sums.weights[code] / rest
        own = offsets - sums.means[code]
        found = np.empty((len(own), c))
        common = None
        for k in range(c):
            from_mean = own * growth if k == code else offsets - sums.means[k]
            if common is None or self.how.pooling < 1:
                lost = 0.0 if alone else w * growth
                base, share = self._covariance(k, code, w, alone, places)
                common = base, share * lost
            base, lost = common
            found[:, k] = self._log_density(base, lost, own, from_mean, places)
        return found

    def _covariance(self, k, code, w, alone, places):
        """Return the covariance of class k by new divisors, and the share of a row in it."""
        how, sums, ddof = self.how, self.sums, int(self.how.unbiased)
        covariance, share = np.zeros_like(self.within), 0.0
        if how.pooling < 1:
            divisor = sums.weights[k] - ddof - (w if k == code else 0.0)
            if divisor <= 0:
                raise _singular(places[0])
            covariance += sums.scatters[k] * ((1 - how.pooling) / divisor)
            share += (1 - how.pooling) / divisor if k == code else 0.0
        if how.pooling > 0:
            divisor = sums.weights.sum() - w - ddof * (len(sums.weights) - alone)
            if divisor <= 0:
                raise _singular(places[0])
            covariance += self.within * (how.pooling / divisor)
            share += how.pooling / divisor
        return covariance, share

    def _shrunk(self, covariance):
        diagonal = covariance.diagonal()
        covariance = self.keep * covariance
        np.fill_diagonal(covariance, (1 - self.how.reg_param) * diagonal + self.ridge)
        return covariance

    def _log_density(self, covariance, lost, own, from_mean, places):
        """Return log densities, (m,), with ``covariance - lost e e'`` for each row e of `own`."""
        if self.how.shrinkage and lost:
            found = np.empty(len(own))
            for i, e in enumerate(own):
                root = root_of_sums(self._shrunk(covariance - lost * np.outer(e, e)), self.eps)[0]
                found[i] = _log_densities(root, from_mean[i : i + 1], places[i])[0][0]
            return found
        root = root_of_sums(self._shrunk(covariance), self.eps)[0]
        found, lengths = _log_densities(root, from_mean, places[0])
        if lost:
            lost *= self.keep
            along = linalg.solve_triangular(root.R, own.T, trans="T")
            left = 1 - lost * np.square(along).sum(axis=0)
            # What is left is known to the error of the distance; below it could as well be 0.
            if not (left > root.rounding).all():
                raise _singular(places[left.argmin()])
            crossed = (along * lengths).sum(axis=0)
            found -= (lost * np.square(crossed) / left + np.log(left)) / 2
        return found


def _log_densities(root: Root, from_mean, place):
    """Return log densities, (m,), up to a constant, and ``R^-T x``, (d, m)."""
    if root.R is None:
        raise _singular(place)
    lengths = linalg.solve_triangular(root.R, from_mean.T, trans="T")
    log_root = np.log(np.abs(root.R.diagonal())).sum()
    return -np.square(lengths).sum(axis=0) / 2 - log_root, lengths


def _singular(place):
    return ValueError(
        f"without sample {place} the covariance of a class has no inverse: leave_one_out needs "
        "more samples, or more regularisation."
    )
