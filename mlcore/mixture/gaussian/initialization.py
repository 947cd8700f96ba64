"""Initialization of Gaussian mixtures: clusters of k-means on a sample of the rows.

k-means depends on units, and those in which clusters are round are not known beforehand: a second
run takes them from the clusters of the first, and where the two differ, a third follows.
"""

import numpy as np

from mlcore._ext.mixture.gaussian import ROWS, column_sums, lloyd_pass
from mlcore.mixture.gaussian.e_step import Statistics
from mlcore.mixture.seeds import distinct, drawn, far_rows
from mlcore.runtime.threads import effective_threads, items_per_call, pieces

_ROWS_PER_COMPONENT = 100
_LEAST_ROWS = 2048
_ROWS_PER_DIRECTION = 5
_LLOYD_STEPS = 20
_RUNS = 3  # of k-means, where it alone decides: one in eight ends far from the best on iris
_CLUSTERINGS = 3  # of some rows, that starts are compared among
_SETTLED = 0.01  # part of the weight whose labels may still change when k-means ends
_ALIKE = 0.98  # part of the weight on which equal clusterings agree
_LEAST_WITHIN = 1e-4  # of the variance of all rows
_PIECE = 4096
_OPERATIONS_OF_A_VALUE = 4  # of the rows, or of their distances from centres


def location_and_variances(X: np.ndarray, weight) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and variances of the columns, float64; a constant column has exactly 0.

    NaN are left out; a column of NaN alone gives NaN.
    """
    head = X[:_PIECE].astype(np.float64)
    same = (head == head[0]).all(axis=0)
    pivot = np.where(same, head[0], head.mean(axis=0))
    n, d = X.shape
    given = np.empty(0) if weight is None else weight
    total = float(n) if weight is None else weight.sum()
    sums = np.zeros((2, d))
    step = items_per_call(_OPERATIONS_OF_A_VALUE * d * ROWS) * ROWS
    for lo in range(0, n, step):
        rows = X[lo : lo + step]
        parts = np.zeros((-(-len(rows) // ROWS), 2, d))
        column_sums(rows, given[lo : lo + step], pivot, parts, effective_threads(rows.size))
        sums += parts.sum(axis=0)
    first, second = sums
    if np.isnan(first).any() and np.isnan(X).any():
        return _location_and_variances_of_known(X, weight)
    mean = first / total
    return pivot + mean, np.maximum(second / total - mean**2, 0.0)


def _location_and_variances_of_known(X, weight):
    d = X.shape[1]
    known = ~np.isnan(X)
    pivot = X[known.argmax(axis=0), np.arange(d)].astype(np.float64)
    total, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
    for lo in range(0, len(X), _PIECE):
        present = known[lo : lo + _PIECE]
        rows = np.where(present, X[lo : lo + _PIECE] - pivot, 0.0)
        w = np.ones(len(rows)) if weight is None else weight[lo : lo + _PIECE]
        total += w @ present
        first += w @ rows
        second += w @ rows**2
    mean = first / np.where(total > 0, total, 1.0)
    return pivot + mean, np.maximum(second / np.where(total > 0, total, 1.0) - mean**2, 0.0)


def sampled(X: np.ndarray, weight, n_components: int, variances, rng, origin) -> tuple:
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


def whitened(rows, weight, kind: str, *, rotated: bool = False) -> np.ndarray:
    """Return the rows with features of unit variance; for spherical covariances, one unit for all.

    Covariances of the type `kind` do not depend on these units. Full and tied ones
    may be `rotated` too: uncorrelated, where there are rows enough to know (else all would be
    equally far from each other). That finds narrow clusters side by side, but with many features
    it makes noise as large as the distances between clusters. Features without variance are
    left out.
    """
    w = weight / weight.sum()
    Z = rows - w @ rows
    deviation = np.sqrt(w @ Z**2)
    Z = Z[:, deviation > 0]
    deviation = deviation[deviation > 0]
    if kind == "spherical" or not len(deviation):
        return Z / (deviation.max() if len(deviation) else 1.0)
    Z = Z / deviation
    n_distinct = 1 + int((np.diff(Z, axis=0) != 0).any(axis=1).sum())  # equal rows are neighbours
    if not rotated or kind == "diag" or n_distinct < _ROWS_PER_DIRECTION * Z.shape[1]:
        return Z
    values, vectors = np.linalg.eigh((Z * w[:, None]).T @ Z)
    kept = values > 1e-3 * values[-1]
    return Z @ (vectors[:, kept] / np.sqrt(values[kept]))


def best_k_means_labels(Z: np.ndarray, weight: np.ndarray, n_components: int, rng) -> tuple:
    """Return `k_means_labels` of the least sum of squares within clusters of a few runs."""
    runs = [k_means_labels(Z, weight, n_components, rng) for _ in range(_RUNS)]
    return min(runs, key=lambda run: _within(Z, weight, run[0], n_components))


def _within(Z, weight, labels, k: int) -> float:
    """Return the sum of squares within clusters, up to that of all rows about their mean."""
    mass = np.maximum(np.bincount(labels, weight, k), np.finfo(np.float64).tiny)
    return -float((_sums_by_label(labels, Z * weight[:, None], k) ** 2 / mass[:, None]).sum())


def k_means_labels(Z: np.ndarray, weight: np.ndarray, n_components: int, rng) -> tuple:
    """Return the rows' clusters, and the indices of their seeds: k-means++, then Lloyd's steps."""
    if Z.shape[1] == 0:  # no feature varies: all rows are equal, and compiled loops need a feature
        Z = np.zeros((len(Z), 1))
    columns = np.ascontiguousarray(Z.T)
    seeds = far_rows(np.ascontiguousarray(Z), weight, n_components, rng)
    centres = Z[seeds]
    labels, most = np.full(len(Z), -1, np.int32), _SETTLED * weight.sum()
    work = _OPERATIONS_OF_A_VALUE * (n_components * Z.shape[1] + 1)
    for _ in range(_LLOYD_STEPS):
        sums, mass, changed = np.zeros_like(centres), np.zeros(n_components), 0.0
        for lo, hi in pieces(len(Z), work):
            changed += lloyd_pass(columns, weight, centres, lo, hi, labels, sums, mass)
        if changed <= most:
            break
        filled = mass > 0
        centres = np.where(filled[:, None], sums / np.where(filled, mass, 1.0)[:, None], centres)
    return labels, seeds


def clusterings(X, Z, weight, n_components: int, variances, rng) -> list:
    """Labels and seeds of up to three runs of k-means: on Z, then in units within clusters.

    A run that finds the clusters of the run before replaces it, and is the last.
    """
    found: list = []
    while len(found) < _CLUSTERINGS:
        labels, places = k_means_labels(Z, weight, n_components, rng)
        same = bool(found) and _alike(labels, found[-1][0], weight, n_components)
        found = [*found[: len(found) - same], (labels, X[places])]
        if same or n_components == 1:
            break
        Z = _within_units(X, weight, labels, variances)
    return found


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
    means = _sums_by_label(labels, X * weight[:, None], k) / mass[:, None]
    within = weight @ (X - means[labels]) ** 2
    within = np.maximum(within / weight.sum(), _LEAST_WITHIN * variances)[varying]
    Z = X[:, varying]
    return (Z - weight @ Z / weight.sum()) / np.sqrt(within)


def _sums_by_label(labels, values, k: int) -> np.ndarray:
    """Return sums of the rows of each label, (k, n_columns)."""
    d = values.shape[1]
    places = labels[:, None].astype(np.intp) * d + np.arange(d)
    return np.bincount(places.ravel(), values.ravel(), k * d).reshape(k, d)


def cluster_statistics(kind: str, X, weight, labels, seeds, scale, missing) -> Statistics:
    """Return the sums over rows with responsibilities of 0 and 1, by `labels`, about the seeds.

    A seed without rows, and every seed if `labels` is None, counts as one row with the variances
    of the data; these are added for `missing` values too.
    """
    k, d = seeds.shape
    mass = np.zeros(k) if labels is None else np.bincount(labels, weight, k)
    empty = mass == 0
    mass = np.where(empty, weight.mean(), mass)
    first, second = np.zeros((k, d)), mass[:, None] * scale.variances
    if kind == "full":
        second = second[:, :, None] * np.eye(d)
    if labels is not None:
        filled = ~empty
        differences = X - seeds[labels]
        weighted = differences * weight[:, None]
        first[filled] = _sums_by_label(labels, weighted, k)[filled]
        if kind == "full":
            for j in np.flatnonzero(filled):
                own = labels == j
                second[j] = weighted[own].T @ differences[own]
        else:
            second[filled] = _sums_by_label(labels, weighted * differences, k)[filled]
        if kind == "diag" and missing.any():
            missing_mass = _sums_by_label(labels, weight[:, None] * missing, k)
            second[filled] += missing_mass[filled] * scale.variances
    if kind == "tied":
        differences = X - scale.origin
        second = (differences * weight[:, None]).T @ differences * (mass.sum() / weight.sum())
    return Statistics(0.0, mass, first, second)


def single_row_statistics(kind: str, seeds, scale) -> Statistics:
    """Return the sums of one row at each seed, with the variances of the data."""
    weight, nowhere = np.ones(len(seeds)), np.zeros(seeds.shape, bool)
    return cluster_statistics(kind, seeds, weight, None, seeds, scale, nowhere)


def poorly_explained(density: np.ndarray, weight, uniform: np.ndarray) -> np.ndarray:
    """Return indices of rows drawn from the half of least log-density, by the gap to its top."""
    order = np.argsort(density, kind="stable")
    w = np.ones(len(density)) if weight is None else weight[order]
    gap = w * np.maximum(density[order[len(order) // 2]] - density[order], 0.0)
    return order[drawn(gap if 0 < gap.sum() < np.inf else w, uniform)]


def with_room(weights: np.ndarray, places) -> np.ndarray:
    """Return the weights with 1 / k at the places, the others scaled so that the sum is 1."""
    kept = weights.copy()
    kept[places] = 0
    kept *= (1 - len(places) / len(kept)) / (kept.sum() or 1.0)
    kept[places] = 1 / len(kept)
    return kept


def nearest_labels(Z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index of the nearest centre of each row."""
    return np.argmin((centres**2).sum(axis=1) - 2 * (Z @ centres.T), axis=1)
