"""Rows with missing values under a mixture of Gaussians whose features are correlated.

The sums of EM are those of the complete data, expected given what is known: a missing value counts
by its conditional mean and covariance in each component (Ghahramani and Jordan, *Supervised
learning from incomplete data via an EM approach*, NIPS 6, 1994). Complete rows take `e_step.Rows`.
"""

from typing import Any

import numpy as np

from mlcore._ext.mixture import correlated_rows as _ext
from mlcore.mixture.gaussian.covariances import FULL, CovarianceType
from mlcore.mixture.gaussian.e_step import Rows
from mlcore.mixture.gaussian.missing_rows import MissingRows
from mlcore.mixture.gaussian.parameters import Parameters, Statistics
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

_N_PARTS = 16
_PART_VALUES = 1 << 21  # of the moments of all parts together
_WORST_CONDITION = 1e10  # of a covariance whose inverse is used


class CorrelatedRows(MissingRows):
    """Rows sorted by what is missing; features are correlated within a component."""

    def __init__(
        self, X: np.ndarray, weight: Any, family: CovarianceType, origin: np.ndarray, added: float
    ) -> None:
        super().__init__(X, weight, family, added)
        self._origin = origin
        missing = np.isnan(X)
        count = missing.sum(axis=1)
        marks = np.packbits(missing, axis=1)
        order = np.lexsort((*marks.T[::-1], count))  # by the number missing, then by pattern
        first = int((count == 0).sum())
        self._whole, self._order = order[:first], order[first:]
        marks = marks[self._order]
        changes = (marks[1:] != marks[:-1]).any(axis=1)
        self._patterns = np.zeros(len(marks), np.int64)
        np.cumsum(changes, out=self._patterns[1:])
        self._incomplete = X[self._order].astype(np.float64)
        self._own_weight = np.empty(0) if weight is None else weight[self._order].astype(np.float64)
        own = None if weight is None else weight[self._whole]
        self._complete = Rows(X[self._whole], own, family, origin) if first else None

    def statistics(
        self, parameters: Parameters, *, exact: bool = False, centres: Any = None
    ) -> Statistics:
        """Return the Statistics, about `centres` or else the means."""
        means = parameters.means
        k, d = means.shape
        size = 1 + k + k * d + k * d * d
        parts = min(_N_PARTS, max(1, _PART_VALUES // size), -(-len(self.X) // _ext.BATCH))
        moments = np.zeros((parts, size))
        self._pass(parameters, moments)
        total = moments[0]
        for part in moments[1:]:
            total += part
        first = total[1 + k : 1 + k + k * d].reshape(k, d)
        lower = np.tril(total[1 + k + k * d :].reshape(k, d, d))
        second = lower + np.tril(lower, -1).transpose(0, 2, 1)
        sums = Statistics(float(total[0]), total[1 : 1 + k], first, second)
        if self._family.shared:  # moments about the origin, of all components together
            about = FULL.moved(sums, means - self._origin).second.sum(axis=0)
            if centres is not None:
                sums = FULL.moved(sums, means - centres)
            sums = sums._replace(second=about)
        elif centres is not None:
            sums = FULL.moved(sums, means - centres)
        if self._complete is None:
            return sums
        others = self._complete.statistics(parameters, exact=True, centres=centres)
        return Statistics(*(own + other for own, other in zip(sums, others, strict=True)))

    def densities(self, parameters: Parameters, *, with_proba: bool = False) -> Any:
        """Return log p(x_i), the likeliest components and, if asked for, the responsibilities."""
        n, k = len(self._order), len(parameters.weights)
        density, labels, proba = self._outputs(k, with_proba)
        require_memory(n, k, 8, what="the probabilities", instead="pass fewer rows at a time")
        own, shares = np.empty(n), np.empty((n, k))
        self._pass(parameters, np.zeros((_N_PARTS, 0)), own, shares)
        density[self._order] = np.maximum(own, np.finfo(density.dtype).min)
        labels[self._order] = shares.argmax(axis=1)
        if with_proba:
            proba[self._order] = shares
        if self._complete is not None:
            whole = self._complete.densities(parameters, with_proba=with_proba)
            density[self._whole], labels[self._whole] = whole[:2]
            if with_proba:
                proba[self._whole] = whole[2]
        return density, labels, proba

    def imputed(self, parameters: Parameters) -> np.ndarray:
        """Return the rows with the conditional means of what is missing."""
        values = np.empty_like(self._incomplete)
        self._pass(parameters, np.zeros((_N_PARTS, 0)), imputed=values)
        X = self.X.copy()
        X[self._order] = np.where(np.isnan(self._incomplete), values, X[self._order])
        return X

    def _pass(self, parameters, moments, density=None, proba=None, imputed=None):
        """Take the compiled loop over the incomplete rows, in pieces that a signal waits for."""
        weights, means, sigma, factors = parameters
        k, d = means.shape
        sigma, factors = (np.ascontiguousarray(a).reshape(-1, d, d) for a in (sigma, factors))
        precisions = np.ascontiguousarray(factors @ factors.transpose(0, 2, 1))
        halves = np.empty(k)
        halves[:] = -np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        poor = np.empty(k, np.uint8)
        poor[:] = _condition(sigma, precisions) > _WORST_CONDITION
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights)
        n, work = len(self._incomplete), k * d * d * (2 + d // 16)
        step = max(1, items_per_call(work) // _ext.BATCH) * _ext.BATCH
        size, threads = _ext.scratch_size(k, d), effective_threads(min(n, step) * work)
        require_memory(threads, size, 8, what="work memory", instead="use fewer features")
        scratch = scratch_array((threads, size), np.dtype(np.float64))
        nothing = np.empty((0, 0))
        for lo in range(0, n, step):
            piece = slice(lo, min(n, lo + step))
            _ext.incomplete_step(
                self._incomplete[piece],
                self._own_weight[piece],
                self._patterns[piece],
                log_weights,
                np.ascontiguousarray(means),
                sigma,
                precisions,
                factors,
                halves,
                poor,
                self._added,
                moments,
                nothing[0:0].ravel() if density is None else density[piece],
                nothing if proba is None else proba[piece],
                nothing if imputed is None else imputed[piece],
                scratch,
                threads,
            )


def _condition(sigma, precisions):
    """Return bounds on the condition numbers of covariances (m, d, d) with unit variances."""
    deviations = np.sqrt(np.diagonal(sigma, axis1=1, axis2=2))
    scales = deviations[:, :, None] * deviations[:, None, :]
    with np.errstate(over="ignore", invalid="ignore"):
        of_sigma = np.abs(sigma / scales).sum(axis=2).max(axis=1)
        of_precisions = np.abs(precisions * scales).sum(axis=2).max(axis=1)
    return np.nan_to_num(of_sigma * of_precisions, nan=np.inf)
