"""Sums of distances from samples to groups of samples, without a matrix of distances."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlcore._ext.cluster import distance_sums as _ext
from mlcore.checks import as_samples
from mlcore.cluster.k_medoids.dissimilarities import given_distances
from mlcore.cluster.metrics import PLAIN, as_metric, distances
from mlcore.runtime.threads import effective_threads, items_per_call, pieces, single_threaded_blas

_BLOCK = 2**22  # distances or sums in memory at a time
_IN_CACHE = 2**16  # values
_SMALL, _LARGE = 2.0**-600, 2.0**600  # between them squares and their sums are plain numbers
_SUMS = 2**24  # with at most so many sums, each distance is formed once, in half the time


def check_distances(
    X: Any, metric: str | Callable[..., Any], owner: str
) -> tuple[np.ndarray, str | Callable[..., Any]]:
    """Return checked samples, or distances where `metric` is "precomputed", and the metric."""
    metric = as_metric(metric, owner, PLAIN)
    X = as_samples(X, owner=owner)
    if metric == "precomputed":
        X = given_distances(X, owner, symmetric=False)
    return X, metric


def distance_sums(
    X: Any,
    metric: str | Callable[..., Any],
    order: Any,
    starts: Any,
    *,
    weights: Any = None,
    squared: bool = False,
    single: bool = False,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield places in `order`, and sums of distances from these samples to each group, (places, k).

    `order`, int64 (m,), has the samples group by group, `starts`, int64 (k + 1,), the start of each
    group in it, and the end; no group is empty. `single` allows products in single precision.
    """
    weights = np.ones(len(order)) if weights is None else weights
    if metric == "euclidean" or (metric == "sqeuclidean" and not squared):
        squared = squared or metric == "sqeuclidean"
        yield from _euclidean_sums(X, order, starts, weights, squared, single)
        return
    precomputed = metric == "precomputed"
    members = order if precomputed else X[order]
    step = max(1, _BLOCK // len(order))
    for start in range(0, len(order), step):
        places = slice(start, min(len(order), start + step))
        if precomputed:
            block = X[np.ix_(members[places], members)].astype(np.float64, copy=False)
        else:
            block = distances(members[places], members, metric)
        with np.errstate(over="ignore"):
            block = (block * block if squared else block) * weights
            yield places, np.add.reduceat(block, starts[:-1], axis=1)


def _euclidean_sums(X, order, starts, weights, squared, single):
    X, norms, power = _placed(X, order, single)
    n, d = X.shape
    k = len(starts) - 1
    threads = effective_threads(float(n) * n * d)
    if n * k <= _SUMS:
        sums = _symmetric_sums(X, norms, starts, weights, squared, single, threads)
        with np.errstate(over="ignore"):
            yield slice(0, n), np.ldexp(sums, (1 + squared) * power, out=sums)
        return
    scratch = np.empty((threads, _ext.SCRATCH))
    step = max(1, min(items_per_call(n * d), _BLOCK // k))
    for start in range(0, n, step):
        places = slice(start, min(n, start + step))
        sums = np.empty((places.stop - start, k))
        rows = X[places], norms[places]
        with single_threaded_blas():
            _ext.distance_sums(*rows, X, norms, weights, starts, squared, sums, scratch, threads)
        with np.errstate(over="ignore"):
            sums = np.ldexp(sums, (1 + squared) * power)
        yield places, sums


def _symmetric_sums(X, norms, starts, weights, squared, single, threads):
    n, d = X.shape
    shortened = X.astype(np.float32) if single else np.empty((0, d), dtype=np.float32)
    short_norms = np.square(shortened, dtype=np.float64).sum(axis=1).astype(np.float32)
    sums = np.zeros((n, len(starts) - 1))
    band = _ext.BAND_ROWS
    groups = np.searchsorted(starts, np.arange(0, n, band), side="right") - 1
    scratch = np.empty((threads, band * band + band))
    with single_threaded_blas():
        for first, last in pieces(len(groups), n * band * d / 2):
            _ext.symmetric_sums(
                X, norms, shortened, short_norms, weights, starts, groups, squared, sums, first,
                last, scratch, threads,
            )  # fmt: skip
    return sums


def _placed(X, order, single):
    """Return samples in float64, centred, their squared norms, and what power of two divided them.

    In single precision they are below 1; else they are divided only if squares would not be plain.
    """
    placed, total = np.empty((len(order), X.shape[1])), np.zeros(X.shape[1])
    step = max(1, _IN_CACHE // X.shape[1])
    blocks = [slice(start, start + step) for start in range(0, len(order), step)]
    for rows in blocks:
        placed[rows] = X[order[rows]]
        total += placed[rows].sum(axis=0)
    mean, norms = total / len(order), np.empty(len(order))
    for rows in blocks:
        placed[rows] -= mean
        norms[rows] = np.einsum("ij,ij->i", placed[rows], placed[rows])
    if _SMALL < norms.max() < _LARGE and not single:
        return placed, norms, 0
    power = int(np.frexp(max(placed.max(), -placed.min()))[1])
    for rows in blocks:
        # In two steps, as the factor itself may overflow.
        placed[rows] *= 2.0 ** (-power // 2)
        placed[rows] *= 2.0 ** (-power - -power // 2)
        norms[rows] = np.einsum("ij,ij->i", placed[rows], placed[rows])
    return placed, norms, power


def by_cluster(codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples ordered by cluster, and the start of each cluster and the end."""
    order = np.argsort(codes, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(codes))])
