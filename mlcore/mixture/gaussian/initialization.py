"""Initialization of Gaussian mixtures: clusters of k-means on a sample of the rows.

k-means depends on units, and those in which clusters are round are not known beforehand: a second
run takes them from the clusters of the first, and where the two differ, a third follows.
"""

from operator import itemgetter
from typing import Any

import numpy as np

from mlcore.cluster.k_means.assignment import assignment_of
from mlcore.cluster.k_means.lloyd import lloyd
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit
from mlcore.mixture.gaussian.families.covariance_type import CovarianceType
from mlcore.mixture.gaussian.parameters import Clusters, DataScale, Statistics, sums_by_label
from mlcore.mixture.seeds import distinct, drawn, far_rows

_ROWS_PER_COMPONENT = 100
_LEAST_ROWS = 2048
_ROWS_PER_DIRECTION = 5
_LLOYD_STEPS = 20
_RUNS = 3  # of k-means, where it alone decides: one in eight ends far from the best on iris
_CLUSTERINGS = 3  # of some rows, that starts are compared among
_SETTLED = 1e-4  # `tol` of k-means, as KMeans has it: less or more loses as many fits
_ALIKE = 0.98  # part of the weight on which equal clusterings agree
_LEAST_WITHIN = 1e-4  # of the variance of all rows


def sampled(
    X: np.ndarray,
    weight: np.ndarray | None,
    n_components: int,
    variances: np.ndarray,
    rng: np.random.Generator,
    origin: np.ndarray,
) -> tuple[Any, ...]:
    """Return rows, float64, ordered by their values, and their weights: all, or a draw of many.

    NaN counts as `origin` in that order, and stays NaN.
    """
    unit = np.sqrt(np.where(variances > 0, variances, 1.0))
    direction = np.sqrt(np.arange(2.0, 2.0 + X.shape[1])) % 1 + 0.5  # no two values alike
    key = X @ (direction / unit)
    if np.isnan(key).any():
        key = np.where(np.isnan(X), origin, X) @ (direction / unit)
    places, w = distinct(key, weight, max(_LEAST_ROWS, _ROWS_PER_COMPONENT * n_components), rng)
    return X[places].astype(np.float64), w


def whitened(
    rows: np.ndarray, weight: np.ndarray, family: CovarianceType, *, rotated: bool = False
) -> np.ndarray:
    """Return the rows with unit variances, or one unit for all, without constant features.

    With `rotated` uncorrelated too, if there are rows enough: narrow clusters side by side are then
    seen, but noise of many features may hide the distances between clusters.
    """
    w = weight / weight.sum()
    Z = rows - w @ rows
    deviation = np.sqrt(w @ Z**2)
    Z = Z[:, deviation > 0]
    deviation = deviation[deviation > 0]
    if not family.any_unit or not len(deviation):
        return Z / (deviation.max() if len(deviation) else 1.0)
    Z = Z / deviation
    n_distinct = 1 + int((np.diff(Z, axis=0) != 0).any(axis=1).sum())  # equal rows are neighbours
    few = n_distinct < _ROWS_PER_DIRECTION * Z.shape[1]
    if not rotated or not family.any_rotation or few:
        return Z
    values, vectors = np.linalg.eigh((Z * w[:, None]).T @ Z)
    kept = values > 1e-3 * values[-1]
    return Z @ (vectors[:, kept] / np.sqrt(values[kept]))


def best_of_k_means(
    Z: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator, n_runs: int = _RUNS
) -> tuple[Any, ...]:
    """Return `k_means` of the least objective of a few runs."""
    return min((k_means(Z, weight, k, rng) for _ in range(n_runs)), key=itemgetter(2))


def k_means(
    Z: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return labels of the rows, indices of the seeds and the objective: Lloyd's algorithm."""
    if Z.shape[1] == 0:  # no feature varies: all rows are equal, and compiled loops need a feature
        Z = np.zeros((len(Z), 1))
    Z = np.ascontiguousarray(Z)
    seeds = far_rows(Z, weight, k, rng)
    squares = float(weight @ np.einsum("id,id->i", Z, Z))
    tol = _SETTLED * squares / (weight.sum() * Z.shape[1])
    assignment = assignment_of(Z, weight, OriginAndUnit(), k, _LLOYD_STEPS)
    clustering = lloyd(assignment, Z[seeds], _LLOYD_STEPS, tol, squares)
    return clustering.labels, seeds, clustering.inertia


def clusterings(
    X: np.ndarray,
    Z: np.ndarray,
    weight: np.ndarray,
    n_components: int,
    variances: np.ndarray,
    rng: np.random.Generator,
) -> list[Any]:
    """Labels and seeds of up to three runs of k-means: on Z, then in units within clusters.

    A run that finds the clusters of the run before replaces it, and is the last.
    """
    runs: list[Any] = []
    while len(runs) < _CLUSTERINGS:
        # Of the first, two runs: where both clusterings end at one bad optimum, no third follows.
        n_runs = 1 if runs or n_components == 1 else 2
        labels, places, _ = best_of_k_means(Z, weight, n_components, rng, n_runs)
        same = bool(runs) and _alike(labels, runs[-1][0], weight, n_components)
        runs = [*runs[: len(runs) - same], (labels, X[places])]
        if same or n_components == 1:
            break
        Z = _within_units(X, weight, labels, variances)
    return runs


def _alike(labels, others, weight, n_components: int) -> bool:
    """Return whether two clusterings are the same but for their numbering and a few rows."""
    together = np.bincount(labels.astype(np.intp) * n_components + others, weight, n_components**2)
    together = together.reshape(n_components, n_components)
    matched = min(together.max(axis=0).sum(), together.max(axis=1).sum())
    return matched >= _ALIKE * weight.sum()


def _within_units(X, weight, labels, variances) -> np.ndarray:
    """Return the rows over their deviations within clusters, or a floor for tiny ones."""
    k = int(labels.max()) + 1
    mass = np.maximum(np.bincount(labels, weight, k), np.finfo(np.float64).tiny)
    varying = variances > 0
    means = sums_by_label(labels, X * weight[:, None], k) / mass[:, None]
    within = weight @ (X - means[labels]) ** 2
    within = np.maximum(within / weight.sum(), _LEAST_WITHIN * variances)[varying]
    Z = X[:, varying]
    return (Z - weight @ Z / weight.sum()) / np.sqrt(within)


def cluster_statistics(
    family: CovarianceType,
    X: np.ndarray,
    weight: np.ndarray,
    labels: np.ndarray | None,
    seeds: np.ndarray,
    scale: DataScale,
    missing: np.ndarray,
) -> Statistics:
    """Return the sums about the seeds over rows with responsibilities 0 and 1, by `labels`.

    A seed without rows (all, if `labels` is None) counts as one row with the variances of the data.
    """
    k, d = seeds.shape
    mass = np.zeros(k) if labels is None else np.bincount(labels, weight, k)
    filled = mass != 0
    mass = np.where(filled, mass, weight.mean())
    first, differences = np.zeros((k, d)), None
    if labels is not None:
        differences = X - seeds[labels]
        first[filled] = sums_by_label(labels, differences * weight[:, None], k)[filled]
    clusters = Clusters(X, weight, labels, differences, missing, mass, filled)
    return Statistics(0.0, mass, first, family.cluster_moments(clusters, scale))


def single_row_statistics(
    family: CovarianceType, seeds: np.ndarray, scale: DataScale
) -> Statistics:
    """Return the sums of one row at each seed, with the variances of the data."""
    weight, nowhere = np.ones(len(seeds)), np.zeros(seeds.shape, bool)
    return cluster_statistics(family, seeds, weight, None, seeds, scale, nowhere)


def poorly_explained(
    density: np.ndarray, weight: np.ndarray | None, uniform: np.ndarray
) -> np.ndarray:
    """Return indices of rows drawn from the half of least log-density, by the gap to its top."""
    order = np.argsort(density, kind="stable")
    w = np.ones(len(density)) if weight is None else weight[order]
    gap = w * np.maximum(density[order[len(order) // 2]] - density[order], 0.0)
    return order[drawn(gap if 0 < gap.sum() < np.inf else w, uniform)]


def with_room(weights: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the weights with 1 / k at the places, the others scaled so that the sum is 1."""
    kept = weights.copy()
    kept[places] = 0
    kept *= (1 - len(places) / len(kept)) / (kept.sum() or 1.0)
    kept[places] = 1 / len(kept)
    return kept


def nearest_labels(Z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index of the nearest centre of each row."""
    return np.argmin((centres**2).sum(axis=1) - 2 * (Z @ centres.T), axis=1)
