"""Weight, mean and scatter of each class: the sums from which normal classes are estimated."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import label_type
from mlcore.checks.stored import stored
from mlcore.numerics.scatter import Scatter, merged_scatter, row_blocks, scatter_of
from mlcore.runtime.memory import require_memory

_CHUNK = 16_384  # rows of a class that are copied at a time


@stored(version=1)
class ClassScatters(NamedTuple):
    """Sums over the rows of each class."""

    classes: np.ndarray  # (c,) sorted labels
    weights: np.ndarray  # (c,) float64
    means: np.ndarray  # (c, d) float64: relative to an origin that all statistics of a model share
    # (c, d, d) float64: about these means; or (1, d, d) for c > 1, their sum, where one covariance
    # is enough
    scatters: np.ndarray
    # (c, 2, d, d) float64, optional: sums of ``w r_a² r_b`` and of ``w r_a² r_b²`` over the
    # residuals r, for pairs of features
    higher: np.ndarray | None = None
    _stored = {
        "classes": "labels s",
        "weights": "float64 s",
        "means": "float64 s f",
        "scatters": "float64 s f f | float64 1 f f",
        "higher": "none | float64 s 2 f f",
    }

    @property
    def pooled(self) -> bool:
        """True if only the sum of the scatters is known."""
        return len(self.scatters) < len(self.weights)

    def fourth_moments(self, features: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Return the same as `ClassRows.fourth_moments`."""
        inverse = np.square(1 / deviations)
        fourth = self.higher[:, 1][:, features][:, :, features]
        return np.einsum("cab,ka,kb->ck", fourth, inverse, inverse, optimize=True)

    def total(self) -> Scatter:
        """Return the sums over the rows of all classes."""
        weight = float(self.weights.sum())
        mean = self.weights @ self.means / weight
        between = self.means - mean
        scatter = self.scatters.sum(axis=0) + (between.T * self.weights) @ between
        return Scatter(weight, mean, (scatter + scatter.T) / 2)

    def in_larger_units(self, more: np.ndarray) -> "ClassScatters":
        """Return the same sums in units that are 2^more times as large, (d,) ints."""
        pair, higher = more[:, None] + more, self.higher
        if higher is not None:
            higher = np.ldexp(higher, -np.stack((pair + more[:, None], 2 * pair)))
        scatters = np.ldexp(self.scatters, -pair)
        means = np.ldexp(self.means, -more)
        return self._replace(means=means, scatters=scatters, higher=higher)


def class_scatters(
    X: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    origin: np.ndarray,
    power: np.ndarray,
    owner: str,
) -> ClassScatters:
    """Return the sums over rows of `X`, (n, d) dense or CSR, of the classes `codes` (n,)."""
    sums = []
    for code in range(len(classes)):
        own, total = np.flatnonzero(codes == code), None
        for start in range(0, len(own), _CHUNK):
            rows = own[start : start + _CHUNK]
            part = scatter_of(X[rows], weight[rows], origin, power=power, owner=owner)
            total = part if total is None else merged_scatter(total, part)
        sums.append(total)
    weights, means, scatters = (np.stack(values) for values in zip(*sums, strict=True))
    return ClassScatters(classes, weights, means, scatters)


def merged_classes(a: ClassScatters, b: ClassScatters) -> ClassScatters:
    """Return the sums over the rows of both; classes that only one of them has are kept."""
    # Both are of the same labels, features and moments.
    kinds = label_type(a.classes), label_type(b.classes)
    if kinds[0] != kinds[1]:
        raise TypeError(
            f"labels of types {kinds[0]} and {kinds[1]} cannot be merged: y must have one type."
        )
    if a.means.shape[1] != b.means.shape[1]:
        raise ValueError(
            f"statistics of {a.means.shape[1]} and {b.means.shape[1]} features cannot be merged: "
            "they come from different models."
        )
    if (a.higher is None) != (b.higher is None):
        raise ValueError(
            "statistics with and without moments of fourth order cannot be merged: they come from "
            "models of different shrinkage."
        )
    classes = np.union1d(a.classes, b.classes)
    # Of each class the sums over both, which may have no rows of it.
    merged, higher, between = [], [], 0.0
    own = not (a.pooled or b.pooled)
    for label in classes:
        places = [(s, i) for s in (a, b) for i in np.flatnonzero(s.classes == label)]
        parts = [
            Scatter(s.weights[i], s.means[i], s.scatters[i] if own else 0.0) for s, i in places
        ]
        whole = parts[0] if len(parts) == 1 else merged_scatter(*parts)
        merged.append(whole)
        if not own:
            between = between + whole.scatter
        if a.higher is not None:
            moved = [
                _about(whole.mean, part, s.higher[i])
                for part, (s, i) in zip(parts, places, strict=True)
            ]
            higher.append(sum(moved))
    # The sums of all classes side by side.
    weights, means = (np.stack([whole[i] for whole in merged]) for i in (0, 1))
    if own:
        scatters = np.stack([whole.scatter for whole in merged])
    else:  # the rows of both about their own means, and these means about those of both
        scatters = (a.scatters.sum(axis=0) + b.scatters.sum(axis=0) + between)[None]
    return ClassScatters(classes, weights, means, scatters, np.stack(higher) if higher else None)


def _about(mean, part, higher):
    """Return the higher moments of a class about another mean than its own.

    With ``e = part.mean - mean``: sums of ``(r + e)_a² (r + e)_b`` and ``(r + e)_a² (r + e)_b²``.
    """
    (third, fourth), S, weight = higher, part.scatter, part.weight
    e, squares = part.mean - mean, S.diagonal()
    crossed = 2 * third * e + np.outer(squares, e**2)  # and with a and b exchanged
    both = 4 * np.outer(e, e) * S + weight * np.outer(e**2, e**2)
    return np.stack(
        (
            third + np.outer(squares, e) + 2 * e[:, None] * S + weight * np.outer(e**2, e),
            fourth + crossed + crossed.T + both,
        )
    )


class ClassRows(NamedTuple):
    """All rows of a fit, dense or CSR, with the code of their class and their weight."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    origin: np.ndarray
    power: np.ndarray

    def residuals(
        self, features: np.ndarray, means: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield classes and weights of some rows, and these less their means, in float64."""
        for rows, block in row_blocks(self.X):
            offsets = offsets_of(block, self.origin, self.power, features)
            codes = self.codes[rows]
            offsets -= means[codes]
            yield codes, self.weight[rows], offsets

    def triangle_within(self, features: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Return R (r, r) with ``R'R`` the scatter within classes, by QR of the rows."""
        r = len(features)
        R = np.zeros((0, r))
        for _, weight, block in self.residuals(features, means):
            block *= np.sqrt(weight)[:, None]
            R = np.linalg.qr(np.concatenate((R, block)), mode="r")
        return np.concatenate((R, np.zeros((r - len(R), r))))

    def triangles(self, features: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return R (c, r, r) with ``R'R`` the scatter of each class, by QR of the rows.

        The second result is the means, (c, r), with what the type of the data had left out.
        """
        r = len(features)
        factors = [np.zeros((0, r + 1))] * len(means)
        for codes, weight, block in self.residuals(features, means):
            for code in np.unique(codes):
                own = codes == code
                part = np.ones((int(own.sum()), r + 1))
                part[:, 1:] = block[own]
                part *= np.sqrt(weight[own])[:, None]
                factors[code] = np.linalg.qr(np.concatenate((factors[code], part)), mode="r")
        triangles, means = np.zeros((len(means), r, r)), means.copy()
        for code, R in enumerate(factors):
            inner = R[1:, 1:]  # the column of ones takes out what is left of the mean
            triangles[code, : len(inner)] = inner
            means[code] += R[0, 1:] / R[0, 0]
        return triangles, means

    def higher_moments(self, means: np.ndarray) -> np.ndarray:
        """Return `ClassScatters.higher`, (c, 2, d, d), about these means."""
        c, d = means.shape
        require_memory(2 * c * d, d, 8, what="moments of fourth order", instead="use 'oas'")
        moments = np.zeros((c, 2, d, d))
        for codes, weight, block in self.residuals(np.arange(d), means):
            for code in np.unique(codes):
                own = block[codes == code]
                squares = np.square(own)
                weighted = squares.T * weight[codes == code]
                moments[code, 0] += weighted @ own
                moments[code, 1] += weighted @ squares
        return moments

    def fourth_moments(self, features: Any, means: Any, deviations: Any) -> np.ndarray:
        """Return the sums of ``|z / s_j|⁴`` in each class, (c, k), by k rows of deviations s_j."""
        sums, classes = np.zeros((len(means), len(deviations))), np.arange(len(means))
        for codes, weight, block in self.residuals(features, means):
            lengths = np.square(block) @ np.square(1 / deviations).T
            sums += (weight * (codes == classes[:, None])) @ np.square(lengths)
        return sums


def offsets_of(
    block: np.ndarray, origin: np.ndarray, power: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """Return ``2^-power (block - origin)`` of these features, in float64 and C order."""
    if len(features) < len(origin) or (features[1:] < features[:-1]).any():
        block = np.take(block, features, axis=1)
        origin, power = origin[features], power[features]
    offsets = block - origin
    return np.ldexp(offsets, -power) if power.any() else offsets
