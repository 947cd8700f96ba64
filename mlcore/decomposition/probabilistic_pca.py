"""Probabilistic principal components of rows with missing values, by EM.

A row is ``mean + W z + noise``, z standard normal and the noise equal in all features. EM counts z
and what is missing as unknown (M. Tipping, C. Bishop, *Probabilistic principal component analysis*,
JRSS B 61, 1999). For each feature the M-step is a regression, on z and 1, of the rows that know it;
the distribution of z is estimated too, and then made standard again by W and the mean, which leaves
the likelihood as it is and saves steps (C. Liu, D. Rubin, Y. Wu, *Parameter expansion to accelerate
EM*, Biometrika 85, 1998).
"""

from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.decomposition import probabilistic_pca as _ext
from mlcore.checks.errors import warn
from mlcore.checks.missing import require_known
from mlcore.decomposition.dimension import NumberWanted
from mlcore.decomposition.scatter_eigenpairs import Spectrum
from mlcore.decomposition.spectrum import LanczosSettings, Settings
from mlcore.decomposition.summary import ColumnUnits, Variances
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import effective_threads, pieces

_GROUP = 256  # rows at most that one group has
_PARTS = 16  # sums that threads fill side by side
_PART_VALUES = 2**22  # of the sums of all parts
_SAMPLE = 256  # rows that the start is taken from
_LEAST_NOISE = 1e-10  # of the mean variance of a feature
_EPS = float(np.finfo(np.float64).eps)


class NormalModel(NamedTuple):
    """Parameters in units of the rows: W (d, k), mean (d,) and the variance of the noise."""

    loadings: np.ndarray
    mean: np.ndarray
    noise: float

    def covariance_times(self, U: np.ndarray) -> np.ndarray:
        """Return the product of the covariance ``WW' + noise I`` with U (d, m)."""
        return self.loadings @ (self.loadings.T @ U) + self.noise * U


class Sums(NamedTuple):
    """Sums of an E-step over rows: log-likelihood, weight, and packed moments of ``(1, z)``."""

    log_likelihood: float
    weight: float
    of_all: np.ndarray  # (t,)
    second: np.ndarray  # (d, t): over the rows that know a feature
    product: np.ndarray  # (d, p): of the feature, less its mean, with these
    squares: np.ndarray  # (d,)


class KnownValues:
    """Rows (n, d) with NaN, grouped by the features they know.

    ``(x - origin) / unit`` are in range; `weight` (n,) float64 is empty for ones.
    """

    def __init__(
        self, X: np.ndarray, weight: np.ndarray, origin: np.ndarray, units: ColumnUnits
    ) -> None:
        self.X, self.weight, self.origin = X, weight, origin
        self.unit = np.ldexp(units.scale, units.power)
        n, d = X.shape
        marks = np.empty((n, -(-d // 8)), dtype=np.uint8)
        for rows, block in row_blocks(X):
            marks[rows] = np.packbits(np.isnan(block), axis=1)
        # Equal patterns are neighbours if sorted by a hash; other patterns begin another group.
        factors = np.random.default_rng(0).integers(0, 2**63, marks.shape[1], dtype=np.uint64)
        keys = np.zeros(n, dtype=np.uint64)
        for column, number in zip(marks.T, factors, strict=True):
            keys += column * number
        self.order = np.argsort(keys, kind="stable")
        begins = np.ones(n, dtype=bool)
        begins[1:] = keys[self.order[1:]] != keys[self.order[:-1]]
        same = np.flatnonzero(~begins)
        for at in np.array_split(same, 1 + same.size * marks.shape[1] // 2**20):
            begins[at] = (marks[self.order[at]] != marks[self.order[at - 1]]).any(axis=1)
        place = np.arange(n)
        since = place - np.maximum.accumulate(np.where(begins, place, 0))
        self.starts = np.append(np.flatnonzero(since % _GROUP == 0), n)

    def sums(self, model: NormalModel, centred: bool) -> Sums:
        """Return the sums of an E-step; moments are of z alone if the mean is no parameter."""
        d, k = model.loadings.shape
        p = k + centred
        t = p * (p + 1) // 2
        parts = max(1, min(_PARTS, _PART_VALUES // (d * (t + p)), len(self.starts) - 1))
        require_memory(parts * d, t + p, 8, what="the sums", instead="use fewer components")
        shapes = (parts, 2 + t), (parts, d, t), (parts, d, p), (parts, d)
        arrays = [np.zeros(shape) for shape in shapes]
        self._visit(model, centred, arrays)
        total, *others = (array.sum(axis=0) for array in arrays)
        return Sums(float(total[0]), float(total[1]), total[2:], *others)

    def densities(self, model: NormalModel) -> np.ndarray:
        """Return the log densities (n,) of what is known, in the units of the rows."""
        found, out = np.empty(len(self.X)), np.empty(len(self.X))
        self._visit(model, False, density=found)
        out[self.order] = found
        return out

    def imputed(self, model: NormalModel) -> np.ndarray:
        """Return the rows with what is expected, given the known values, for missing ones."""
        out = self.X.copy()
        self._visit(model, False, imputed=out)
        return out

    def _visit(self, model, centred, sums=None, density=None, imputed=None):
        """Take the compiled loop over the groups, in pieces that a signal waits for."""
        (n, d), k, n_groups = self.X.shape, model.loadings.shape[1], len(self.starts) - 1
        p = k + centred
        work = d * k * k + k**3 + n / n_groups * (4 * d * k + k * k)
        threads = effective_threads(work * n_groups)
        scratch = np.zeros((threads, k * k + 2 * k + 1 + d + p * (p + 1) // 2))
        sums = sums or (
            np.empty((0, 0)),
            np.empty((0, 0, 0)),
            np.empty((0, 0, 0)),
            np.empty((0, 0)),
        )
        failed = np.zeros(len(sums[0]) or _PARTS, dtype=np.int64)
        for first, last in pieces(n_groups, work):
            _ext.pass_over_groups(
                self.X, self.weight, self.order, self.starts[first : last + 1], model.noise,
                centred, np.ascontiguousarray(model.loadings), model.mean, self.origin,
                1 / self.unit, *sums, np.empty(0) if density is None else density,
                np.empty((0, 0), self.X.dtype) if imputed is None else imputed, failed, scratch,
                np.empty((threads, d), dtype=np.int64), threads,
            )  # fmt: skip
        if failed.any():
            raise ValueError(
                "X has features whose variances are so far apart that the covariance of the "
                "components is singular: rescale X, or use scale=True."
            )


class Columns(NamedTuple):
    """Weights, means and sums of squares about these of the known values of features, (d,)."""

    weight: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


class Run(NamedTuple):
    """Result of EM: parameters, those after one more step, and the objective of each step."""

    model: NormalModel
    following: NormalModel
    trace: list[float]
    remaining: float
    converged: bool


def rows_to_fit(
    X: np.ndarray, weight: np.ndarray | None, owner: str
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows of positive weight of which something is known, and their weights.

    Where all that is known of a feature is one value, for every feature, that value fills the gaps.
    """
    require_known(X, weight, owner)
    kept = np.ones(len(X), dtype=bool) if weight is None else weight > 0
    for rows, block in row_blocks(X):
        kept[rows] &= ~np.isnan(block).all(axis=1)
    if not kept.all():
        X, weight = X[kept], None if weight is None else weight[kept]
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    return (np.where(np.isnan(X), low, X) if (low == high).all() else X), weight


def known_columns(X: np.ndarray, weight: Any, origin: np.ndarray, unit: np.ndarray) -> Columns:
    """Return the sums of ``(x - origin) / unit`` over the known values of rows (n, d)."""
    mass, first, second = np.zeros((3, X.shape[1]))
    for rows, block in row_blocks(X):
        known = ~np.isnan(block)
        values = np.where(known, (block - origin) / unit, 0)
        w = np.ones(len(block)) if weight is None else weight[rows]
        mass += w @ known
        first += w @ values
        second += w @ values**2
    mean = first / mass
    return Columns(mass, mean, np.maximum(0, second - mass * mean**2))


def largest_deviations(X: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return the largest ``|x - origin|`` of the known values of each feature, (d,)."""
    out = np.zeros(X.shape[1])
    for _, block in row_blocks(X):
        out = np.fmax(out, np.fmax.reduce(np.abs(block - origin), axis=0))
    return out


def start(rows: KnownValues, columns: Columns, k: int, centred: bool) -> NormalModel:
    """Return parameters from the singular vectors of some rows, the means for what is missing."""
    n = len(rows.X)
    at = np.unique(np.linspace(0, n - 1, min(n, max(_SAMPLE, 4 * k))).astype(np.intp))
    Z = (rows.X[at] - rows.origin) / rows.unit
    mean = columns.mean if centred else np.zeros(Z.shape[1])
    Z = np.where(np.isnan(Z), 0, Z - mean)
    variance = float((columns.squares / columns.weight + (columns.mean - mean) ** 2).mean())
    _, values, V = np.linalg.svd(Z, full_matrices=False)
    noise = max((values[k:] ** 2).sum() / len(at) / Z.shape[1], 0.01 * variance)
    along = np.maximum(values[:k] ** 2 / len(at), 2 * noise)
    return NormalModel(V[:k].T * np.sqrt(along - noise), mean, float(noise))


def maximized(
    model: NormalModel, sums: Sums, columns: Columns, centred: bool, least: float
) -> NormalModel:
    """Return the parameters of the greatest expected likelihood; the noise is `least` or more."""
    d, k = model.loadings.shape
    p = k + centred
    theta, step = np.empty((d, p)), max(1, 2**20 // (p * p))
    for first in range(0, d, step):
        some = slice(first, first + step)
        theta[some] = np.linalg.solve(_square(sums.second[some], p), sums.product[some, :, None])[
            ..., 0
        ]
    rest = sums.squares - np.einsum("fj,fj->f", theta, sums.product)
    noise = max(float(rest.sum() / columns.weight.sum()), least)
    # Make z standard again: its mean goes into that of x, its covariance into W.
    moments = _square(sums.of_all[None], p)[0] / sums.weight
    mean, W = model.mean, theta[:, centred:]
    if centred:
        mean = mean + theta[:, 0] + W @ moments[0, 1:]
        moments = moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:])
    return NormalModel(W @ np.linalg.cholesky(moments), mean, noise)


def _square(packed, p):
    """Return symmetric matrices (m, p, p) of packed lower triangles (m, t)."""
    out = np.empty((len(packed), p, p))
    i, j = np.tril_indices(p)
    out[:, i, j] = out[:, j, i] = packed
    return out


def em(
    rows: KnownValues,
    columns: Columns,
    model: NormalModel,
    centred: bool,
    settings: LanczosSettings,
    steps: int,
    constant: float,
) -> Run:
    """Take steps until the gain that is left, as their ratios predict it, is `tol` or less, twice.

    The objective is the mean log-likelihood of a row and `constant`.
    """
    variances = columns.squares / columns.weight
    if not centred:
        variances = variances + columns.mean**2
    least = _LEAST_NOISE * float(variances.mean())
    trace: list[float] = []
    change = ratio = remaining = np.inf
    near, progress = 0, settings.progress
    while True:
        sums = rows.sums(model, centred)
        trace.append(sums.log_likelihood / sums.weight + constant)
        following = maximized(model, sums, columns, centred, least)
        if len(trace) > 1:
            before, change = change, trace[-1] - trace[-2]
            last, ratio = ratio, change / before if 0 < change < before < np.inf else np.inf
            most = max(ratio, min(last, 1 - _EPS)) if ratio < 1 else ratio
            rounding = 64 * _EPS * abs(trace[-1])
            remaining = change * most / (1 - most) if most < 1 else np.inf
            remaining = rounding if abs(change) <= rounding else remaining
            near = near + 1 if remaining <= max(settings.tol, rounding) else 0
        if progress.active:
            progress.step(len(trace), trace[-1], change)
        if near == 2 or len(trace) > steps:
            break
        model = following
    at_least = model.noise <= least
    if at_least:
        warn(
            "ConvergenceWarning",
            f"{settings.owner}: components explain the known values to rounding, so that the "
            "likelihood has no maximum: use fewer components, or rows that know more.",
        )
    return Run(model, following, trace, float(remaining), near == 2 and not at_least)


def spectrum_of(run: Run, weight: float) -> Spectrum:
    """Return eigenpairs of the covariance times `weight`, with residuals after one more step."""
    model, d = run.model, len(run.model.mean)
    U, roots, _ = np.linalg.svd(model.loadings, full_matrices=False)
    values = roots**2 + model.noise
    residuals = np.linalg.norm(run.following.covariance_times(U) - U * values, axis=0) / values[0]
    trace = float(values.sum() + (d - len(values)) * model.noise)
    return Spectrum(
        values=weight * values,
        vectors=U,
        trace=weight * trace,
        basis_trace=weight * trace,
        residuals=residuals,
        next_value=weight * model.noise,
        complete=False,
        solver="em",
        converged=run.converged,
    )


def fit_known(
    X: np.ndarray, weight: np.ndarray | None, k: int, settings: Settings, divisor: float
) -> tuple[Run, Spectrum, np.ndarray, np.ndarray, ColumnUnits]:
    """Return the run of EM, the spectrum, and origin, mean and units of rows with NaN.

    `settings` are those of `PCA`; every row knows something.
    """
    (n, d), centred = X.shape, settings.center
    total = float(n if weight is None else weight.sum())
    # Origin and units, in which deviations are at most 1.
    origin = np.zeros(d)
    if centred:
        columns = known_columns(X, weight, origin, np.ones(d))
        origin = columns.mean.astype(X.dtype).astype(np.float64)
    power = np.frexp(largest_deviations(X, origin))[1].astype(np.int64)
    power = power if settings.scale else np.full(d, power.max())
    columns = known_columns(X, weight, origin, np.ldexp(1.0, power))
    squares = columns.squares if centred else columns.squares + columns.weight * columns.mean**2
    units = settings.units(power, squares / columns.weight * total, divisor)
    unit = np.ldexp(units.scale, units.power)
    columns = known_columns(X, weight, origin, unit)
    # EM, whose objective is in the units of the data.
    rows = KnownValues(X, np.empty(0) if weight is None else weight, origin, units)
    constant = -float(columns.weight @ log_units(units)) / total
    first = start(rows, columns, k, centred)
    run = em(rows, columns, first, centred, settings.lanczos, settings.em_steps, constant)
    return run, spectrum_of(run, total), origin, run.model.mean * units.scale, units


def require_number(wanted: NumberWanted, most: int, owner: str) -> int:
    """Return the number of components; ValueError where the parameter needs complete rows."""
    if wanted.share is not None or wanted.most_likely:
        raise ValueError(
            f"{owner}: n_components as a share or 'mle' needs complete rows: with missing values "
            "it must be an integer or None."
        )
    return wanted.among(most, f"min(n_samples, n_features - 1)={most}", owner).k


def log_units(units: ColumnUnits) -> np.ndarray:
    """Return the logarithms (d,) of the units."""
    return np.log(units.scale) + units.power * np.log(2.0)


def known_values(
    X: np.ndarray,
    U: np.ndarray,
    mean: np.ndarray,
    origin: np.ndarray,
    units: ColumnUnits,
    variances: Variances,
) -> tuple[KnownValues, NormalModel]:
    """Return rows and the parameters of components U (k, d) and `mean` in the units of the data.

    Noise that is 0 becomes next to nothing.
    """
    rows, along = KnownValues(X, np.empty(0), origin, units), variances.along
    noise = max(variances.noise, 1e-13 * len(mean) * float(along[0]), 1e-300)
    loadings = U.T * np.sqrt(np.maximum(along - noise, 0))
    return rows, NormalModel(loadings, (mean - origin) / rows.unit, noise)


def known_log_densities(rows: KnownValues, model: NormalModel, units: ColumnUnits) -> np.ndarray:
    """Return the log density (n,) of what is known of each row, in the units of the data."""
    out, logs = rows.densities(model), log_units(units)
    for some, block in row_blocks(rows.X):
        out[some] -= ~np.isnan(block) @ logs
    return out
