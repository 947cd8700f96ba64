"""Number of principal components: given, by a share of the variance, or of the most evidence."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from mlcore.checks import as_choice, as_integer

Pick = Callable[[np.ndarray], int]  # the number of components for all eigenvalues
_ALL = 2**63 - 1


class NumberWanted(NamedTuple):
    """The number of components that a fit looks for."""

    k: int = _ALL  # as many, or at most as many
    share: float | None = None  # of the variance, which the fewest components are to reach
    most_likely: bool = False  # the number of the greatest evidence

    def among(self, largest: int, name: str, owner: str) -> "NumberWanted":
        """Return the same for data of `largest` components, which `name` describes in errors."""
        if self.k == _ALL:
            return self._replace(k=largest)
        if self.k > largest:
            raise _out_of_range(self.k, name, owner)
        return self

    def picker(self, weight: float, limit: float, rank: int) -> Pick | None:
        """Return the function that chooses the number by all eigenvalues; None if k is given.

        Those up to `limit` times the largest are rounding errors; at most `rank` are not 0.
        """
        if self.share is None and not self.most_likely:
            return None

        def pick(values):
            values = without_rounding(values, limit, rank)
            if self.share is not None:
                return components_for(values, float(values.sum()), self.share)
            return max(1, evidence_dimension(values[values > 0], weight))

        return pick


def wanted_components(n_components: Any, owner: str) -> NumberWanted:
    """Return the number of components that the parameter asks for, checked."""
    largest = "min(n_samples, n_features)"
    if n_components is None:
        return NumberWanted()
    if isinstance(n_components, str):
        as_choice(n_components, "n_components", ("mle",), owner=owner)
        return NumberWanted(most_likely=True)
    if isinstance(n_components, (float, np.floating)):
        if not 0 < n_components < 1:  # NaN too
            raise ValueError(
                f"{owner}: n_components={float(n_components)!r} must be an integer between 1 and "
                f"{largest}, or a share of the variance, above 0 and below 1."
            )
        return NumberWanted(share=float(n_components))
    k = as_integer(n_components, "n_components", owner=owner)
    if not 1 <= k < _ALL:
        raise _out_of_range(k, largest, owner)
    return NumberWanted(k)


def _out_of_range(k, largest, owner):
    return ValueError(f"{owner}: n_components={k} must be between 1 and {largest}.")


def components_for(values: np.ndarray, trace: float, share: float) -> int:
    """Return the fewest eigenvalues, all or the leading ones, of at least `share` of the trace."""
    reached = np.cumsum(values) >= share * trace * (1 - len(values) * np.finfo(np.float64).eps)
    return int(np.argmax(reached)) + 1 if reached.any() else len(values)


def without_rounding(values: np.ndarray, limit: float, rank: int) -> np.ndarray:
    """Return descending eigenvalues with 0 for those up to `limit` times the first, and from `rank`
    on.
    """
    kept = np.where(values > limit * values[0], values, 0.0)
    kept[rank:] = 0
    return kept


def evidence_dimension(variances: np.ndarray, n_samples: float) -> int:
    """Return the number of components of the greatest evidence, by Laplace's approximation.

    `variances` descend. T. Minka, *Automatic choice of dimensionality for PCA*, NIPS 2000.
    """
    d = len(variances)
    if d < 2:
        return d
    log_n = math.log(n_samples)
    eps = np.finfo(np.float64).eps
    ranks = (d - np.arange(d)) / 2
    log_uniform = np.cumsum(-math.log(2) + gammaln(ranks) - ranks * math.log(math.pi))
    log_values = np.log(variances)
    best, most = 1, -np.inf
    for k in range(1, d):
        # Pairs i < j, i kept: log(1/l_j - 1/l_i) + log(l_i - l_j), with a floor for ties.
        kept, rest = variances[:k], variances[k:]
        noise = rest.mean()
        smoothed = np.append(kept, np.full(d - k, noise))
        upper = np.arange(k)[:, None] < np.arange(d)
        distance = np.maximum(kept[:, None] - variances, eps * kept[:, None])
        inverse = np.maximum(1 / smoothed - 1 / kept[:, None], eps / kept[:, None])
        hessian = (np.log(distance) + np.log(inverse) + log_n)[upper].sum()
        # Laplace's approximation, of m parameters of the orthonormal axes.
        m = d * k - k * (k + 1) / 2
        evidence = (
            log_uniform[k - 1]
            - n_samples / 2 * (log_values[:k].sum() + (d - k) * math.log(noise))
            + (m + k) / 2 * math.log(2 * math.pi)
            - hessian / 2
            - k / 2 * log_n
        )
        if evidence > most:
            best, most = k, evidence
    return best
