"""Increasing link from decision values to probabilities, piecewise linear in the logit.

Platt's sigmoid is a line in the logit. Here the line may bend at the quartiles of the held-out
values, as far as their likelihood pays for it, which asymmetric and imbalanced classes need.
Without class weights both classes are equally probable at a decision value of 0, so the link is
anchored: above 1/2 for positive values only. Class weights move the boundary but not the
probabilities, so with them it is not.
"""

from typing import NamedTuple

import numpy as np

from mlcore._ext.svm import link as _ext
from mlcore.runtime.threads import effective_threads

_STIFFNESS = 8.0  # nats for two changes of slope by as much as the slope of one line
_LEAST_SLOPE = 1e-3  # over the deviation of the values: the slope where labels fall with f
_CONSTANT = 1e-24  # share of a mean square that is rounding
_TERMS = 50  # operations for a probability, about
_QUARTILES = np.array([0.25, 0.5, 0.75])


class Link(NamedTuple):
    """``logit P(+ | f)``: its value at the middle of 3 knots, and 4 positive slopes."""

    offset: float
    slopes: np.ndarray
    knots: np.ndarray


def fit_link(decisions: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> Link:
    """Return the link of greatest penalised likelihood for held-out `decisions` (n,).

    Labels are softened to (N_+ + 1) / (N_+ + 2) and 1 / (N_- + 2), which keeps slopes finite
    (Platt, *Probabilistic outputs for support vector machines*, 1999). Without samples the logit is
    f itself.
    """
    if len(decisions) == 0:  # two classes of one sample each: nothing could be held out
        return Link(0.0, np.ones(4), np.zeros(3))
    order = np.lexsort((signs, decisions))
    f, positive, weight = decisions[order], signs[order] > 0, weight[order]
    sums = np.cumsum(weight)
    total = float(sums[-1])
    n_positive = float(weight[positive].sum())
    n_negative = float(weight[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    knots = f[np.searchsorted(sums, _QUARTILES * total)]
    mean = float((weight * target).sum()) / total
    c = np.full(5, _LEAST_SLOPE)
    c[0] = np.log(mean / (1 - mean))
    size = max(float(np.abs(f).max()), np.finfo(np.float64).tiny)
    scaled = f / size
    center = float((weight * scaled).sum()) / total
    unit = size * float(np.sqrt((weight * (scaled - center) ** 2).sum() / total))
    if unit <= 1e-12 * size:  # all values are one, as far as can be told: so are probabilities
        unit = size
    else:
        _ext.fit(f / unit, target, weight, knots / unit, _STIFFNESS, _LEAST_SLOPE, c)
    return Link(float(c[0]), c[1:] / unit, knots)


def on_scale_of(values: np.ndarray, others: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return `others`, moved to the mean and deviation of `values` if theirs are far from these.

    Far: half a deviation between means, a factor of 2 between deviations (as _ext/svm/pairs.pyx).
    """
    total = weight.sum()
    means = [float((weight * f).sum() / total) for f in (values, others)]
    own, other = (
        float((weight * (f - mean) ** 2).sum() / total)
        for f, mean in zip((values, others), means, strict=True)
    )
    if own <= 4 * other <= 16 * own and 4 * (means[0] - means[1]) ** 2 <= own:
        return others
    constant = other <= _CONSTANT * (means[1] ** 2 + other)
    scale = 1.0 if constant else np.sqrt(own / other)
    return means[0] + (others - means[1]) * scale


def apply_link(decisions: np.ndarray, link: Link, *, anchored: bool) -> np.ndarray:
    """Return P(+) for decision values: increasing, if `anchored` above 1/2 for f > 0 only.

    Decision values may be (n, n_tasks), of as many links: (n_tasks,), (n_tasks, 4), (n_tasks, 3).
    """
    offsets = np.ascontiguousarray(link.offset).reshape(-1)
    slopes = np.ascontiguousarray(link.slopes).reshape(-1, 4)
    knots = np.ascontiguousarray(link.knots).reshape(-1, 3)
    x = np.ascontiguousarray(decisions).reshape(-1, len(offsets))
    p, least = np.empty(x.shape), _LEAST_SLOPE if anchored else 0.0
    _ext.apply(x, offsets, slopes, knots, least, p, effective_threads(_TERMS * x.size))
    return p.reshape(decisions.shape)
