"""Rows with missing values under a mixture of Gaussians with variances alone.

Features are independent given the component, so a row's density is that of its known features.
A missing value counts in the sums as its distribution under the component: the mean and variance
of the parameters the sums are taken under. This is EM with the missing values among the unknowns,
exact where they are missing at random. The sums stay sums over rows, which can be merged, and a
feature that no row of a component has keeps its mean and variance there.
"""

from typing import Any

import numpy as np

from mlcore.mixture.gaussian.missing_rows import MissingRows
from mlcore.mixture.gaussian.parameters import Parameters, Statistics

_BLOCK_VALUES = 1 << 17
_LOG_2_PI = np.log(2 * np.pi)


class IncompleteRows(MissingRows):
    """Rows in their order; features are independent within a component."""

    def statistics(
        self, parameters: Parameters, *, exact: bool = False, centres: Any = None
    ) -> Any:
        """Return the Statistics, about `centres` or else the means."""
        means = parameters.means
        k, d = means.shape
        variances = self._family.variances(parameters.covariances, k, d)
        offsets = 0.0 if centres is None else means - centres
        imputed = np.maximum(variances - self._added, 0.0) + offsets**2
        log_likelihood, mass = 0.0, np.zeros(k)
        first, second, absent = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
        for rows, X, missing in self._blocks(k):
            density, r = _responsibilities(X, missing, parameters)
            if self.weight is not None:
                r *= self.weight[rows, None]
                density *= self.weight[rows]
            log_likelihood += density.sum()
            mass += r.sum(axis=0)
            absent += r.T @ missing
            for j in range(k):
                t = np.where(missing, 0.0, X - (means if centres is None else centres)[j])
                weighted = t * r[:, j, None]
                first[j] += weighted.sum(axis=0)
                second[j] += np.einsum("id,id->d", weighted, t)
        return Statistics(
            float(log_likelihood), mass, first + absent * offsets, second + absent * imputed
        )

    def densities(self, parameters: Parameters, *, with_proba: bool = False) -> Any:
        """Return log p(x_i), the likeliest components and, if asked for, the responsibilities."""
        k = len(parameters.weights)
        density, labels, proba = self._outputs(k, with_proba)
        for rows, X, missing in self._blocks(k):
            log_densities, r = _responsibilities(X, missing, parameters)
            density[rows] = np.maximum(log_densities, np.finfo(density.dtype).min)
            labels[rows] = r.argmax(axis=1)
            if with_proba:
                proba[rows] = r
        return density, labels, proba

    def imputed(self, parameters: Parameters) -> np.ndarray:
        """Return the rows with the conditional means of what is missing."""
        out = self.X.copy()
        for rows, X, missing in self._blocks(len(parameters.weights)):
            _, r = _responsibilities(X, missing, parameters)
            out[rows][missing] = (r @ parameters.means)[missing]
        return out

    def _blocks(self, k):
        """Yield blocks of rows: their slice, float64 values and marks of NaN."""
        n, d = self.X.shape
        step = max(1, _BLOCK_VALUES // max(d, k))
        for lo in range(0, n, step):
            rows = slice(lo, min(n, lo + step))
            X = self.X[rows].astype(np.float64)
            yield rows, X, np.isnan(X)


def _responsibilities(X, missing, parameters):
    """Return log p(x) of the known values, and the probabilities of the components."""
    weights, means, _, factors = parameters
    factors = np.broadcast_to(factors.reshape(len(means), -1), means.shape)
    known = ~missing
    log_joint = np.empty((len(X), len(weights)))
    with np.errstate(divide="ignore", over="ignore"):
        constants = np.log(weights)
        for j in range(len(weights)):
            z = np.where(missing, 0.0, (X - means[j]) * factors[j])
            norm = np.minimum(np.einsum("id,id->i", z, z), 4e307)
            log_joint[:, j] = constants[j] + known @ np.log(factors[j]) - 0.5 * norm
    log_joint -= 0.5 * _LOG_2_PI * known.sum(axis=1, keepdims=True)
    top = log_joint.max(axis=1, keepdims=True)
    r = np.exp(log_joint - top)
    total = r.sum(axis=1, keepdims=True)
    r /= total
    return (top + np.log(total))[:, 0], r
