"""Posterior probabilities of each sample from the regularised fit to all others."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from mlcore.discriminant.class_covariances import Regularisation
from mlcore.discriminant.class_scatters import ClassScatters
from mlcore.discriminant.covariance_roots import Root, root_of_sums


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
    return scores - logsumexp(scores, axis=1, keepdims=True)


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
