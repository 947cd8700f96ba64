"""Components on tied rows: values that many rows share, to which no density does justice."""

from typing import NamedTuple, Self

import numpy as np

from mlcore.checks.stored import stored
from mlcore.mixture.gaussian.e_step import Rows
from mlcore.mixture.gaussian.families.covariance_type import CovarianceType
from mlcore.mixture.gaussian.parameters import Parameters

_SHARE = 0.9  # least part of a component's mass that is one value's
_ROWS, _WEIGHT = 3, 5  # least rows, and least weight of these
_PIECE = 4096  # rows looked at in one go
_REACH = 5.0  # deviations from the component's mean in which its value is looked for


@stored(version=1)
class Ties(NamedTuple):
    """Values that many rows share."""

    value: np.ndarray  # (m, d) float64
    share: np.ndarray  # (m,) of the weight of all rows
    _stored = {"value": "float64 tied? f", "share": "float64 tied?"}


@stored(version=1)
class Spikes(NamedTuple):
    """Components that describe tied rows, by component.

    `component` (n_spikes,) are their numbers, `value` (n_spikes, d) float64 the rows' common
    values, `mass` (n_spikes,) float64 the weight of these rows, as far as they are the component's.
    """

    component: np.ndarray
    value: np.ndarray
    mass: np.ndarray
    _stored = {
        "component": "int64 spikes? < k",
        "value": "float64 spikes? f",
        "mass": "float64 spikes?",
    }

    def reorder(self, order: np.ndarray) -> Self:
        """Return the spikes of the mixture whose component j was component ``order[j]``."""
        place = np.argsort(order, kind="stable")[self.component]
        ascending = np.argsort(place, kind="stable")
        return type(self)(place[ascending], self.value[ascending], self.mass[ascending])


def no_spikes(n_features: int) -> Spikes:
    """Return the spikes of a mixture that has none."""
    return Spikes(np.zeros(0, np.intp), np.zeros((0, n_features)), np.zeros(0))


def tied_values(
    X: np.ndarray,
    weight: np.ndarray | None,
    origin: np.ndarray,
    power: int,
    *,
    merged: bool = False,
) -> Ties:
    """Return the values of at least 3 complete rows of total weight at least max(d + 2, 5).

    2^power is a weight of 1; if rows are `merged`, one for equal ones, only their weight counts.
    """
    d = X.shape[1]
    key = np.empty(len(X))
    direction = np.sqrt(np.arange(2.0, 2.0 + d)) % 1 + 0.5
    for lo in range(0, len(X), _PIECE):
        deviations = X[lo : lo + _PIECE] - origin.astype(X.dtype)
        # By rows: a product by BLAS rounds equal rows differently in its remainder.
        key[lo : lo + _PIECE] = (np.ascontiguousarray(deviations) * direction).sum(axis=1)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    count = np.diff(np.append(first, len(key)))
    order = order[np.repeat(merged | (count >= _ROWS), count)]
    if not len(order):
        return Ties(np.zeros((0, d)), np.zeros(0))
    # -0.0 equals 0.0, NaN nothing.
    rows = X[order]
    first = np.flatnonzero(np.r_[True, ~(rows[1:] == rows[:-1]).all(axis=1)])
    count = np.diff(np.append(first, len(rows)))
    w = count.astype(np.float64) if weight is None else np.add.reduceat(weight[order], first)
    tied = (np.ldexp(w, power) >= max(d + 2, _WEIGHT)) & (merged | (count >= _ROWS))
    tied &= ~np.isnan(rows[first]).any(axis=1)
    total = len(X) if weight is None else weight.sum()
    return Ties(rows[first[tied]].astype(np.float64) + 0.0, w[tied] / total)


def with_earlier(ties: Ties, rows: Rows, known: Ties, share: float) -> Ties:
    """Return the ties of earlier rows, `known`, and of new ones, which are `share` of all.

    `ties` are those of the new `rows`, which need not be many to add to what was tied before.
    """
    own = np.zeros(len(known.share))
    new = np.ones(len(ties.share), bool)
    for i, value in enumerate(known.value):
        same = np.ones(len(rows.X), bool)
        for j, number in enumerate(value):
            same &= rows.X[:, j] == number
        own[i] = np.count_nonzero(same) if rows.weight is None else rows.weight[same].sum()
        new &= (ties.value != value).any(axis=1)
    shares = share * own / rows.total + (1 - share) * known.share
    return Ties(
        np.concatenate([known.value, ties.value[new]]),
        np.append(shares, share * ties.share[new]),
    )


def spikes_among(
    shrunk: np.ndarray,
    parameters: Parameters,
    family: CovarianceType,
    origin: np.ndarray,
    ties: Ties,
    mass: np.ndarray,
) -> Spikes:
    """Return which of the `shrunk` components have at least 90 % of their mass from one tied value.

    `mass` (k,) is that of the components, in the unit of the sample weights.
    """
    k, d = parameters.means.shape
    deviations = np.sqrt(family.variances(parameters.covariances, k, d))
    pairs = []
    for j in shrunk[mass[shrunk] > 0]:
        away = np.abs(ties.value - parameters.means[j])
        near = np.flatnonzero((away <= _REACH * deviations[j]).all(axis=1))
        if len(near):
            pairs.append((j, near[np.argmax(ties.share[near])]))
    if not pairs:
        return no_spikes(d)
    component, place = np.array(pairs, np.intp).T
    value = ties.value[place]
    rows = Rows(value, None, family, origin.astype(np.float64))
    r = rows.densities(parameters, with_proba=True)[2][np.arange(len(place)), component]
    own = r * ties.share[place] * mass.sum()
    kept = own >= _SHARE * mass[component]
    return Spikes(component[kept], value[kept], own[kept])
