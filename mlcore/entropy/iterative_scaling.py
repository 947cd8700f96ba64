"""Generalised and improved iterative scaling of Gibbs distributions.

Both are stated for features f of at least 0 and are the faster the smaller these are: each is
shifted so that its least value is 0, which changes the normaliser alone.
"""

import numpy as np

from mlcore.entropy.gibbs import Gibbs, Moments
from mlcore.entropy.newton import Undecided

_PATIENCE = 30  # steps before it is asked whether the minimum is attained
_ROOT_STEPS = 100
_ROOT_TOLERANCE = 1e-6  # of a change, which the next step would square


class _Scaling:
    """Base of the two: features of at least 0, their means and their totals f#."""

    second_order = False
    default_max_iter = 10_000

    def __init__(self, gibbs: Gibbs, certain: bool):
        self.gibbs = gibbs
        self._patience = None if certain else _PATIENCE
        self.used = ~gibbs.constant
        # f = scale (h - lower)
        self.targets = np.where(self.used, -gibbs.scale * gibbs.lower, 0.0)
        self.totals = np.empty(len(gibbs.points))
        weights = np.where(self.used, gibbs.scale, 0.0)
        for place, h in gibbs.blocks():
            self.totals[place] = h @ weights
        self.totals += self.targets.sum()

    def step(self, mu: np.ndarray, at: Moments) -> tuple[np.ndarray, Moments, np.ndarray]:
        """Return the next mu, the sums there, and the directions (m, 1) that they were asked for.

        Raise `Undecided` if factors cannot reach a target, or after many steps if not certain.
        """
        if self._patience is not None:
            if self._patience == 0:
                raise Undecided
            self._patience -= 1
        used, scale = self.used, self.gibbs.scale
        means = self.targets + scale * at.gradient
        if (self.targets[used] <= 0).any() or (means[used] <= 0).any():
            raise Undecided
        change = np.zeros(len(mu))
        change[used] = self._change(mu, means)[used]
        new = mu + change * scale
        directions = -at.gradient[:, None]
        return new, self.gibbs.moments(new, directions, covariance=False), directions


class GeneralisedIterativeScaling(_Scaling):
    """``mu_j += ln(c_j / E f_j) / F``, with a feature that fills the sum of all up to F.

    J. N. Darroch, D. Ratcliff, *Generalized iterative scaling for log-linear models*, 1972.
    """

    def _change(self, mu, means):
        most, least = self.totals.max(), self.totals.min()
        ratio = np.log(np.divide(self.targets, means, where=self.used, out=np.ones_like(means)))
        if most - least <= 1e-12 * most:
            return ratio / most
        rest, mean_rest = most - self.targets.sum(), most - means[self.used].sum()
        if rest <= 0 or mean_rest <= 0:
            raise Undecided
        # exp(nu (F - sum_j f_j)) is a constant and a factor exp(-nu f_j) for each feature.
        return (ratio - np.log(rest / mean_rest)) / most


class ImprovedIterativeScaling(_Scaling):
    """``mu_j += delta_j`` with ``sum_i p_i f_ij exp(delta_j f#_i) = c_j``, where f# sums f_i.

    A. Berger et al., *A maximum entropy approach to natural language processing*, 1996.
    """

    def _change(self, mu, means):
        """Newton's method for all j at once, on the logarithm of the sum, which is convex."""
        used, targets = self.used, self.targets
        wanted = np.log(np.where(used, targets, 1.0))
        delta = np.zeros(len(targets))
        p, totals = self.gibbs.probabilities(mu), self.totals
        for _ in range(_ROOT_STEPS):
            # Exponents are at most 0, whatever delta.
            reference = np.where(delta > 0, totals.max(), totals.min())
            sums, slopes = np.zeros(len(delta)), np.zeros(len(delta))
            for place, h in self.gibbs.blocks():
                h *= self.gibbs.scale
                h += targets
                np.maximum(h, 0.0, out=h)
                h *= np.exp(delta * (totals[place, None] - reference))
                h *= p[place, None]
                sums += h.sum(axis=0)
                slopes += totals[place] @ h
            good = used & (sums > 0) & (slopes > 0)
            error = np.where(
                good, np.log(np.where(good, sums, 1.0)) + delta * reference - wanted, 0
            )
            change = np.divide(error * sums, slopes, where=good, out=np.zeros(len(delta)))
            delta -= change
            if abs(change).max() <= _ROOT_TOLERANCE * abs(delta).max():
                break
        return delta
