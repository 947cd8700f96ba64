"""Number of principal components: as wanted, or by the evidence of probabilistic PCA."""

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from mlcore.checks import as_choice, as_integer


def wanted_components(
    n_components: Any, largest: int, name: str, owner: str
) -> tuple[int, float | None]:
    """Return the number of components, and the share of the variance they must explain or None.

    `name` describes `largest` in errors.
    """
    if n_components is None:
        return largest, None
    if isinstance(n_components, str):
        as_choice(n_components, "n_components", ("mle",), owner=owner)
        return largest, None
    if isinstance(n_components, (float, np.floating)):
        if not 0 < n_components < 1:  # NaN too
            raise ValueError(
                f"{owner}: n_components={float(n_components)!r} must be an integer between 1 and "
                f"{name}, or a share of the variance, above 0 and below 1."
            )
        return largest, float(n_components)
    k = as_integer(n_components, "n_components", owner=owner)
    if not 1 <= k <= largest:
        raise ValueError(f"{owner}: n_components={k} must be between 1 and {name}.")
    return k, None


def evidence_dimension(variances: np.ndarray, n_samples: float) -> int:
    """Return the number of components of the greatest evidence, by Laplace's approximation.

    Parameters
    ----------
    variances : (r,)
        All positive eigenvalues of the covariance, descending.
    n_samples : float
        Rows, or the sum of their weights.

    References
    ----------
    T. Minka, *Automatic choice of dimensionality for PCA*, NIPS 2000.
    """
    d = len(variances)
    if d < 2:
        return d
    log_n = math.log(n_samples)
    eps = np.finfo(np.float64).eps
    ranks = (d - np.arange(d)) / 2
    log_uniform = np.cumsum(-math.log(2) + gammaln(ranks) - ranks * math.log(math.pi))
    log_values = np.log(variances)
    # Pairs i < j of kept components: log(1/l_j - 1/l_i) + log(l_i - l_j), ties floored.
    best, most = 1, -np.inf
    for k in range(1, d):
        kept, rest = variances[:k], variances[k:]
        noise = rest.mean()
        smoothed = np.append(kept, np.full(d - k, noise))
        upper = np.arange(k)[:, None] < np.arange(d)
        spread = np.maximum(kept[:, None] - variances, eps * kept[:, None])
        inverse = np.maximum(1 / smoothed - 1 / kept[:, None], eps / kept[:, None])
        hessian = (np.log(spread) + np.log(inverse) + log_n)[upper].sum()
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
