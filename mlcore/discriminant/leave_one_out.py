"""Posterior probabilities of each sample from the fit to all others, without refits."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.discriminant.class_covariances import Regularisation
from mlcore.discriminant.class_scatters import (
    ClassRows,
    ClassScatters,
    class_scatters,
    offsets_of,
)
from mlcore.discriminant.covariance_roots import Root, root_of_factors, root_of_sums
from mlcore.numerics.scatter import row_blocks
from mlcore.numerics.scores.log_softmax import log_softmax
from mlcore.runtime.threads import single_threaded_blas

_SAME = {4: 1e-3, 8: 1e-7}  # by bytes of a number: share of a deviation that a mean is known to
_HIDDEN = 64  # eps of a variance: a remainder of fewer counts as 0


def leave_one_out_log_posteriors(
    offsets: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    means: np.ndarray,
    covariance: np.ndarray,
    divisor: float,
    priors: np.ndarray | None,
    eps: float,
    wanted: np.ndarray,
) -> np.ndarray:
    """Return log posterior probabilities, (m, c), of normal classes of one covariance matrix.

    Without row i of class k the scatter loses ``a e e'``, with ``e = x_i - mu_k`` and ``a = w_i W_k
    / (W_k - w_i)``. `offsets` and `means` are less the mean of all; `priors` None: the share of
    weight without the row; `wanted` (m,) are left out. No inverse: ValueError.
    """
    # Rows and means where the covariance is 1.
    root, ill = root_of_sums(covariance, eps)
    if ill:
        residuals = (offsets - means[codes]) * np.sqrt(weight / divisor)[:, None]
        root = root_of_factors([residuals], len(offsets), eps)
    if root.R is None:
        raise ValueError("the covariance within classes has no inverse, which leave_one_out needs.")
    totals = np.bincount(codes, weights=weight, minlength=len(means))
    n_rows, codes, weight = len(codes), codes[wanted], weight[wanted]
    Z = linalg.solve_triangular(root.R, offsets[wanted].T, trans="T").T
    M = linalg.solve_triangular(root.R, means.T, trans="T").T
    # How a row changes its class: growth of its distance, and share of the covariance lost.
    rows = np.arange(len(Z))
    rest = totals[codes] - weight
    alone = rest <= 0
    growth = np.where(alone, 1.0, totals[codes] / np.where(alone, 1.0, rest))
    own = Z - M[codes]
    lost = np.where(alone, 0.0, weight * growth) / divisor
    left = 1 - lost * np.square(own).sum(axis=1)
    # What is left is known to the error of the distance; below it could as well be 0.
    if not (left > root.rounding).all():
        few = n_rows <= len(root.R) + len(M)
        raise ValueError(
            f"without sample {wanted[left.argmin()]} the covariance within classes has no inverse: "
            + (
                "leave_one_out needs more samples than features and classes."
                if few
                else "features depend on each other within the classes of the others. Leave some "
                "out, or use shrinkage."
            )
        )
    # Distances after the change of rank one, and log posteriors.
    products = (Z * own).sum(axis=1)[:, None] - own @ M.T
    squares = np.stack([np.square(Z - mean).sum(axis=1) for mean in M], axis=1)
    squares[rows, codes] *= growth**2
    products[rows, codes] *= growth
    distances = squares + products**2 * (lost / left)[:, None]
    distances *= (1 - weight / divisor)[:, None]
    if priors is None:
        shares = np.repeat(totals[None], len(Z), axis=0)
        shares[rows, codes] = np.maximum(rest, 0.0)
    else:
        shares = np.repeat(priors[None], len(Z), axis=0)
        shares[rows[alone], codes[alone]] = 0.0
    with np.errstate(divide="ignore"):
        scores = np.log(shares) - distances / 2
    return log_softmax(scores)


def quadratic_leave_one_out(
    distances: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    totals: np.ndarray,
    log_determinants: np.ndarray,
    rank: int,
    ddof: int,
    rounding: np.ndarray,
    priors: np.ndarray | None,
) -> np.ndarray:
    """Return log posterior probabilities, (n, c), of normal classes, each with its covariance.

    Without row i its class's divisor ``D = W_k - ddof`` becomes ``D - w_i``, its determinant is
    multiplied by ``(D / (D - w_i))^rank (1 - a m / D)``, and the squared Mahalanobis distance m
    becomes ``(D - w_i) / D (W_k / (W_k - w_i))² m / (1 - a m / D)``. `distances` (n, c) are
    squared, of relative error `rounding` (c,). No inverse: ValueError.
    """
    # How a row changes its class: growth of its distance, and what is left of the determinant.
    rows, own = np.arange(len(codes)), distances[np.arange(len(codes)), codes]
    rest, divisor = totals[codes] - weight, totals[codes] - ddof
    less = divisor - weight
    few = rest <= 0 if not rank else less <= 0
    growth = np.where(few, 1.0, totals[codes] / np.where(few, 1.0, rest))
    left = 1 - weight * growth * own / divisor
    # What is left is known to the error of the distance; below it could as well be 0.
    few |= left <= rounding[codes]
    if few.any():
        place = int(few.argmax())
        enough = np.count_nonzero(codes == codes[place]) > rank + 1
        raise ValueError(
            f"without sample {place} the covariance of its class has no inverse: "
            + (
                "features are constant in the others of the class, or depend on each other there: "
                "use reg_param, pooling or shrinkage."
                if enough
                else "leave_one_out needs more samples of each class than features, and one."
            )
        )
    # Log posteriors: those of the own class go by the change.
    scores = -(distances + log_determinants) / 2
    ratio = less / divisor
    moved = ratio * growth**2 * own / left
    scores[rows, codes] = (
        -(moved + log_determinants[codes] - rank * np.log(ratio) + np.log(left)) / 2
    )
    shares = np.repeat((totals if priors is None else priors)[None], len(codes), axis=0)
    if priors is None:
        shares[rows, codes] = rest
    with np.errstate(divide="ignore"):
        scores += np.log(shares)
    return log_softmax(scores)


def filled_by_one(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns, (k,) intp each, of columns of X that are constant without a row."""
    n = len(X)
    if n < 2:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    differ = X != X[0]
    counts = differ.sum(axis=0)
    one = np.flatnonzero(counts == 1)
    rows, columns = [differ[:, one].argmax(axis=0)], [one]
    rest = np.flatnonzero(counts == n - 1)  # all but the first
    first = rest[(X[1:, rest] == X[1, rest]).all(axis=0)]
    rows.append(np.zeros(len(first), np.intp))
    columns.append(first)
    return np.concatenate(rows), np.concatenate(columns)


def features_of_refits(
    filled: tuple[np.ndarray, np.ndarray], n: int, d: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows that are left out, and the features of d that vary without each of them.

    A feature that one row fills is constant without it, and a fit leaves it out.
    """
    rows, columns = filled
    plain = np.ones(n, bool)
    plain[rows] = False
    yield np.flatnonzero(plain), np.arange(d)
    groups: dict[tuple[int, ...], list[int]] = {}
    for row in np.unique(rows).tolist():
        groups.setdefault(tuple(sorted(columns[rows == row].tolist())), []).append(row)
    for missing, members in groups.items():
        yield np.array(members), np.setdiff1d(np.arange(d), missing)


def require_rows_of_fit(
    rows: ClassRows, means: np.ndarray, classes: np.ndarray, itemsize: int
) -> None:
    """Refuse other samples than those of the fit, which has these means of classes, (c, d).

    `itemsize` is the bytes of a number of the samples of the fit.
    """
    X, codes, weight = rows.X, rows.codes, rows.weight
    every = np.arange(X.shape[1])
    c, sums, squares = len(means), np.zeros(means.shape), np.zeros(len(every))
    for places, block in row_blocks(X):
        offsets = offsets_of(block, rows.origin, rows.power, every)
        one_hot = (codes[places] == np.arange(c)[:, None]) * weight[places]
        sums += one_hot @ offsets
        squares += weight[places] @ np.square(offsets)
    totals = np.bincount(codes, weights=weight, minlength=c)
    size, present = np.sqrt(squares / totals.sum()), np.where(totals > 0, totals, 1.0)
    moved = np.abs(sums / present[:, None] - means) > _SAME[itemsize] * size
    if moved.any():
        code, feature = np.argwhere(moved)[0]
        raise ValueError(
            "leave_one_out needs the samples of the fit: the mean of feature "
            f"{feature} in class {classes[code]} is another one."
        )


def regularised_posteriors(
    rows: ClassRows,
    classes: np.ndarray,
    settings: Regularisation,
    kept: np.ndarray,
    ridge: np.ndarray,
    priors: np.ndarray | None,
    dtype: np.dtype,
    owner: str,
) -> np.ndarray:
    """Return log posteriors of each row from the fit to all others, (n, c), of the features `kept`.

    `dtype` is that of the samples of the fit, `owner` the model to name in errors.
    """
    if isinstance(settings.shrinkage, str):
        raise ValueError(
            f"{owner}: leave_one_out needs a number for shrinkage, or None: "
            f"{settings.shrinkage!r} changes with each sample."
        )
    X, codes, weight = rows.X, rows.codes, rows.weight
    sums = class_scatters(X, classes, codes, weight, rows.origin, rows.power, owner)
    out = np.empty((X.shape[0], len(sums.weights)))
    lone = lone_in_classes(rows, kept, len(classes)) if settings.shrinkage else {}
    # Rows without which the same features vary are left out together.
    for places, features in features_of_refits(filled_columns(rows, kept), X.shape[0], len(kept)):
        chosen = kept[features]
        square = np.ix_(range(len(sums.weights)), chosen, chosen)
        part = sums._replace(means=sums.means[:, chosen], scatters=sums.scatters[square])
        alone = {row: np.flatnonzero(np.isin(features, lone[row])) for row in lone}
        with single_threaded_blas():
            regularised_leave_one_out(
                part, offset_blocks(rows, places, chosen), codes, weight, settings, ridge[chosen],
                priors, float(np.finfo(dtype).eps), alone, out,
            )  # fmt: skip
    return log_softmax(out)


def offset_blocks(
    rows: ClassRows, places: np.ndarray, features: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield some of these places, and the values of the rows there in the units of the sums."""
    member = np.zeros(rows.X.shape[0], bool)
    member[places] = True
    for block_rows, block in row_blocks(rows.X):
        own = np.flatnonzero(member[block_rows])
        if len(own):
            offsets = offsets_of(block[own], rows.origin, rows.power, features)
            yield block_rows.start + own, offsets


def filled_columns(rows: ClassRows, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and places in `kept` of features that are constant without each."""
    present = np.flatnonzero(rows.weight)
    places, columns = filled_by_one(_dense(rows.X[present])[:, kept])
    return present[places], columns


def lone_in_classes(rows: ClassRows, kept: np.ndarray, n_classes: int) -> dict[int, list[int]]:
    """Return of a row the places in `kept` of features constant in its class without it."""
    lone: dict[int, list[int]] = {}
    for code in range(n_classes):
        own = np.flatnonzero((rows.codes == code) & (rows.weight > 0))
        places, columns = filled_by_one(_dense(rows.X[own])[:, kept])
        for row, column in zip(own[places].tolist(), columns.tolist(), strict=True):
            lone.setdefault(row, []).append(column)
    return lone


def _dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


def regularised_leave_one_out(
    sums: ClassScatters,
    blocks: Iterator[tuple[np.ndarray, np.ndarray]],
    codes: np.ndarray,
    weight: np.ndarray,
    settings: Regularisation,
    ridge: np.ndarray,
    priors: np.ndarray | None,
    eps: float,
    lone: dict[int, np.ndarray],
    out: np.ndarray,
) -> None:
    """Set log joint densities, rows of `out` (n, c), of normal classes with shrinkage by a number.

    Each covariance is one that rows of equal class and weight share, less a multiple of ``e e'``,
    which a formula inverts, and, with shrinkage s, less that of ``s diag(e)²``: then it is factored
    anew, in O(d³) for each row. `lone` maps a row to the features that are constant in its class
    without it. No inverse: ValueError that names the row.
    """
    refits = _Refits(sums, settings, ridge, eps, lone)
    for rows, offsets in blocks:
        kinds = np.stack((codes[rows], weight[rows]), axis=1)
        for kind in np.unique(kinds, axis=0):
            own = np.flatnonzero((kinds == kind).all(axis=1))
            code, w, places = int(kind[0]), float(kind[1]), rows[own]
            out[places] = refits.scores(code, w, offsets[own], places)
            rest = sums.weights.copy()
            rest[code] = max(rest[code] - w, 0.0)
            if priors is not None:
                rest = priors * (rest > 0)
            with np.errstate(divide="ignore"):
                out[places] += np.log(rest)


class _Refits:
    """Log densities of the fits without one row."""

    def __init__(self, sums, settings, ridge, eps, lone):
        self.sums, self.settings, self.ridge = sums, settings, ridge
        self.eps, self.lone = eps, lone
        self.within = sums.scatters.sum(axis=0)
        self.keep = (1 - settings.reg_param) * (1 - settings.shrinkage)

    def scores(self, code, w, offsets, places):
        """Return log densities at these rows, (m, c), all of one class and weight w."""
        sums, c = self.sums, len(self.sums.weights)
        rest = sums.weights[code] - w
        alone = rest <= 0
        if alone and self.settings.pooling < 1:
            raise _singular(places[0])
        growth = 1.0 if alone else sums.weights[code] / rest
        own = offsets - sums.means[code]
        densities = np.empty((len(own), c))
        common = None
        for k in range(c):
            from_mean = own * growth if k == code else offsets - sums.means[k]
            if common is None or self.settings.pooling < 1:
                lost = 0.0 if alone else w * growth
                base, share = self._covariance(k, code, w, alone, places)
                common = base, share * lost
            base, lost = common
            if self.settings.shrinkage:
                target = self._target(own, w, 0.0 if alone else w * growth, alone)
                densities[:, k] = self._shrunk_density(base, lost, own, from_mean, places, target)
            else:
                densities[:, k] = self._log_density(base, lost, own, from_mean, places)
        return densities

    def _covariance(self, k, code, w, alone, places):
        """Return the covariance of class k by new divisors, and the share of a row in it."""
        settings, sums, ddof = self.settings, self.sums, int(self.settings.unbiased)
        covariance, share = np.zeros_like(self.within), 0.0
        if settings.pooling < 1:
            divisor = sums.weights[k] - ddof - (w if k == code else 0.0)
            if divisor <= 0:
                raise _singular(places[0])
            covariance += sums.scatters[k] * ((1 - settings.pooling) / divisor)
            share += (1 - settings.pooling) / divisor if k == code else 0.0
        if settings.pooling > 0:
            divisor = sums.weights.sum() - w - ddof * (len(sums.weights) - alone)
            if divisor <= 0:
                raise _singular(places[0])
            covariance += self.within * (settings.pooling / divisor)
            share += settings.pooling / divisor
        return covariance, share

    def _target(self, own, w, lost, alone):
        """Return the variances within all classes without each row, (m, d)."""
        weights, ddof = self.sums.weights, int(self.settings.unbiased)
        divisor = weights.sum() - w - ddof * (len(weights) - alone)
        left = self.within.diagonal() - lost * np.square(own)
        return left / (divisor if divisor > 0 else np.inf)

    def _shrunk(self, covariance):
        diagonal = covariance.diagonal()
        covariance = self.keep * covariance
        np.fill_diagonal(covariance, (1 - self.settings.reg_param) * diagonal + self.ridge)
        return covariance

    def _shrunk_density(self, covariance, lost, own, from_mean, places, target):
        """Return log densities, (m,), with ``covariance - lost e e'`` for each row e of `own`.

        Features that are constant in the class have the variances of `target`.
        """
        still = covariance.diagonal() == 0
        if not lost:
            return self._density_beside(covariance, still, from_mean, target, places)
        densities = np.empty(len(own))
        for i, e in enumerate(own):
            one, flat = slice(i, i + 1), still.copy()
            if self.settings.pooling == 0:
                flat[self.lone.get(int(places[i]), [])] = True
            matrix, row = covariance - lost * np.outer(e, e), from_mean[one]
            hidden = matrix.diagonal() <= _HIDDEN * self.eps * covariance.diagonal()
            if (hidden & ~flat).any():  # the rest is rounding
                raise _singular(places[i])
            densities[i] = self._density_beside(matrix, flat, row, target[one], places[one])[0]
        return densities

    def _density_beside(self, covariance, flat, from_mean, target, places):
        """Return log densities, (m,), of features that vary in the class, and of those that not."""
        matrix = self._shrunk(covariance)
        if not flat.any():
            return _log_densities(root_of_sums(matrix, self.eps)[0], from_mean, places[0])[0]
        vary = np.flatnonzero(~flat)
        root = root_of_sums(np.ascontiguousarray(matrix[np.ix_(vary, vary)]), self.eps)[0]
        variance = (1 - self.settings.reg_param) * self.settings.shrinkage * target[:, flat]
        variance += self.ridge[flat]
        if not (variance > 0).all():
            raise _singular(places[(variance <= 0).any(axis=1).argmax()])
        beside = np.square(from_mean[:, flat]) / variance + np.log(variance)
        return _log_densities(root, from_mean[:, vary], places[0])[0] - beside.sum(axis=1) / 2

    def _log_density(self, covariance, lost, own, from_mean, places):
        """Return the same without shrinkage."""
        root = root_of_sums(self._shrunk(covariance), self.eps)[0]
        densities, lengths = _log_densities(root, from_mean, places[0])
        if lost:
            lost *= self.keep
            along = linalg.solve_triangular(root.R, own.T, trans="T")
            left = 1 - lost * np.square(along).sum(axis=0)
            # What is left is known to the error of the distance; below it could as well be 0.
            if not (left > root.rounding).all():
                raise _singular(places[left.argmin()])
            crossed = (along * lengths).sum(axis=0)
            densities -= (lost * np.square(crossed) / left + np.log(left)) / 2
        return densities


def _log_densities(root: Root, from_mean, place):
    """Return log densities, (m,), up to a constant, and ``R^-T x``, (d, m)."""
    if root.R is None:
        raise _singular(place)
    lengths = linalg.solve_triangular(root.R, from_mean.T, trans="T")
    log_root = np.log(np.abs(root.R.diagonal())).sum()
    return -np.square(lengths).sum(axis=0) / 2 - log_root, lengths


def _singular(place):
    return ValueError(
        f"without sample {place} the covariance of a class has no inverse, as its other samples "
        "are too few, or features are constant there or depend on each other: leave_one_out needs "
        "more samples, or more regularisation."
    )
