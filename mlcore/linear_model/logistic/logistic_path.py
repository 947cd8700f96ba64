"""Logistic regressions of many penalties on one set of rows, also on parts of it.

Parts of the rows are weights of 0 for the others, so that nothing is copied for each. Fits of two
classes and few columns of dense data are made by one compiled loop, from the largest penalty to the
least, also in coordinates of the span of few rows, or in the columns in use of many; others by the
steps of a single fit, each from the coefficients of the one before.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.special import expit, log_expit

from mlcore._ext.linear_model import logistic_path as _ext
from mlcore.checks import as_integer
from mlcore.checks.arrays import real_array
from mlcore.checks.parameters import as_real
from mlcore.estimator.model import warn
from mlcore.estimator.printed import fields_as_table
from mlcore.estimator.progress import Progress
from mlcore.linear_model.logistic.evidence import duality_gap, rise_as_stored
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.rounding import ULP, roundings_of_score, roundings_of_sum
from mlcore.linear_model.logistic.separation import require_overlap
from mlcore.linear_model.logistic.solution import GAP, Settings, scaled_objective, solve
from mlcore.linear_model.logistic.steps.sample_span import Span, in_span
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, single_threaded_blas

_COLUMNS = 256  # that the compiled loop takes: its blocks stay in the second cache
_SET = 512  # columns that are in use, of more
_NEAR = 0.9  # of the slope that a coefficient needs, for one that may soon be in use
_ROWS = 1 << 17  # of which columns in use are copied from many others
_DECADES = 3, (1e-4, 1e4)  # of Cs from the least with coefficients, and with squares alone
_BELOW = 1 - 1e-12  # times the largest C without coefficients: that they are 0 in float64 too


class LogisticPath(NamedTuple):
    """Logistic regressions for m costs, in the order in which these were given.

    With more than two classes `coef` and `intercept` have an axis of classes more, after the first.

    Parameters
    ----------
    Cs : (m,)
    coef : (m, n_features)
    intercept : (m,)
    objective : (m,)
    duality_gap : (m,)
        The objective is at most this much above its minimum.
    n_nonzero : (m,) int64
        Coefficients that are not 0.
    n_iter : (m,) int64
        Steps, from the coefficients of the next smaller cost on.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.linear_model import LogisticRegression
    >>> X, y = load_iris()
    >>> path = LogisticRegression(l1_ratio=1.0).path(X, y == 2, Cs=[0.01, 1.0])
    >>> path.n_nonzero
    array([0, 3])
    """

    Cs: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    duality_gap: np.ndarray
    n_nonzero: np.ndarray
    n_iter: np.ndarray

    __repr__ = fields_as_table


class Paths(NamedTuple):
    """Fits to f parts of the rows for m costs, in the units of the data."""

    coef: np.ndarray  # (f, m, n_scores, d)
    intercept: np.ndarray  # (f, m, n_scores)
    objective: np.ndarray  # (f, m)
    gap: np.ndarray  # (f, m)
    n_iter: np.ndarray  # (f, m)
    converged: np.ndarray  # (f, m)

    def stored(self, dtype: Any) -> np.ndarray:
        """Return coefficients and intercepts, (f, m, n_scores, d + 1), in a type."""
        return np.concatenate([self.coef, self.intercept[..., None]], axis=-1).astype(dtype)


def as_costs(Cs: Any, owner: str) -> int | np.ndarray:
    """Return the number of costs, or the costs (m,) as float64, each above 0."""
    if np.ndim(Cs) == 0:
        return as_integer(Cs, "Cs", owner=owner, at_least=1)
    costs = real_array(Cs, "Cs").astype(np.float64)
    if costs.ndim != 1 or len(costs) == 0:
        raise ValueError(f"{owner}: Cs has shape {costs.shape}, but must be of shape (m,).")
    for C in costs:
        as_real(float(C), "Cs", owner=owner, above=0, allow_inf=True)
    return costs


def grid_of_costs(number: int, least: float) -> np.ndarray:
    """Return costs in equal ratios; the first is `least`, if finite, without coefficients."""
    if math.isfinite(least):
        return least * _BELOW * np.logspace(0, _DECADES[0], number)
    low, high = np.log10(_DECADES[1])
    return np.logspace(low, high, number)


def least_cost(rows: LogisticRows, l1_ratio: float, deviation: np.ndarray | None = None) -> float:
    """Return the largest C for which all coefficients are 0; infinite if there is no such C, or if
    they are 0 for any.

    Coefficients are penalised in columns divided by `deviation` (d,), if given.
    """
    if l1_ratio == 0:
        return math.inf
    gradient = rows.sums(without_columns(rows)).gradient[:, :-1] / rows.scale
    if deviation is not None:
        gradient = gradient / deviation
    largest = float(np.abs(gradient).max(initial=0.0))
    return l1_ratio / largest if largest > 0 else math.inf


def without_columns(rows: LogisticRows) -> np.ndarray:
    """Return the best parameters whose coefficients are 0, (n_scores, d + 1), without offsets."""
    theta = np.zeros((rows.n_scores, rows.d + 1))
    if not rows.intercept:
        return theta
    weight = np.bincount(rows.codes, weights=rows.weight, minlength=max(2, rows.n_scores))
    logarithms = np.log(weight / rows.total)
    if rows.n_scores == 1:
        theta[0, -1] = logarithms[1] - logarithms[0]
    else:
        theta[:, -1] = logarithms - logarithms.mean()
    return theta


def deviations_of(X: Any, weights: np.ndarray) -> np.ndarray:
    """Return the deviations (f, d) of columns by weights (f, n), 1 for constant columns."""
    first = np.zeros(X.shape[1])
    if not sp.issparse(X):
        first = X[0].astype(np.float64)
    out = np.empty((len(weights), X.shape[1]))
    for of_part, weight in zip(out, weights, strict=True):
        present = np.flatnonzero(weight)
        share, part = weight[present] / weight.sum(), X[present]
        if sp.issparse(X):
            mean, square = share @ part, share @ part.power(2)
        else:
            part = part - first
            mean, square = share @ part, share @ np.square(part)
            mean = share @ (part - mean) + mean
        variance = square - mean**2
        of_part[:] = np.sqrt(np.where(variance > 1e-14 * square, variance, 1.0))
    return out


def divided(rows: LogisticRows, deviation: np.ndarray) -> LogisticRows:
    """Return a copy of rows with columns divided by `deviation` (d,)."""
    inverse = 1 / deviation
    X = sp.csr_array(rows.X.multiply(inverse)) if sp.issparse(rows.X) else rows.X * inverse
    X = X.astype(rows.X.dtype, copy=False)
    return LogisticRows(X, rows.codes, rows.weight, None, rows.n_scores, rows.intercept)


def fit_paths(
    rows: LogisticRows,
    weights: np.ndarray,
    Cs: np.ndarray,
    settings: Settings,
    owner: str,
    names: Any = None,
    deviations: np.ndarray | None = None,
) -> Paths:
    """Fit parts of the rows, of weights (f, n), for each of the costs (m,).

    Coefficients are penalised in columns divided by `deviations` (f, d), if given. A class that a
    part lacks has intercepts of -inf.
    """
    order = np.argsort(Cs, kind="stable")
    costs, back = Cs[order], np.argsort(order, kind="stable")
    finite = int(np.searchsorted(costs, math.inf))
    with single_threaded_blas(), np.errstate(over="ignore", under="ignore"):
        first = None
        if finite and rows.n_scores == 1 and len(rows.offset) == 0:
            if not sp.issparse(rows.X) and rows.d <= _COLUMNS:
                first = _compiled(rows, weights, costs[:finite], settings, deviations)
            elif settings.l1_ratio == 0 and deviations is None:
                first = _compiled_in_span(rows, weights, costs[:finite], settings)
            elif settings.l1_ratio > 0 and rows.n <= _ROWS:
                first = _by_working_sets(rows, weights, costs[:finite], settings, deviations)
        done = 0 if first is None else first.objective.shape[1]
        parts = [] if first is None else [first]
        if done < len(costs):
            last = None if first is None else first.stored(np.float64)[:, -1]
            rest = weights, costs[done:], settings, owner, names, deviations, last
            parts.append(_by_steps(rows, *rest))
        joined = Paths(*(np.concatenate(field, axis=1) for field in zip(*parts, strict=True)))
    return Paths(*(field[:, back] for field in joined))


def warn_of_ends(paths: Paths, settings: Settings, owner: str) -> None:
    """Warn of fits that `max_iter` ended."""
    ended = ~paths.converged & (paths.n_iter >= settings.max_iter)
    if ended.any():
        warn(
            "ConvergenceWarning",
            f"{owner}: max_iter={settings.max_iter} steps ended {ended.sum()} of {ended.size} "
            f"fits, with duality gaps up to {paths.gap[ended].max():.3g}: raise max_iter, or "
            f"tol={settings.tol:g}, or scale the features.",
        )


# ---- two classes, few columns


def _compiled(rows, weights, costs, settings, deviations):
    X, squares = _blocks(rows.X, rows.shift, rows.scale, weights.max(axis=0))
    scale, start = _scales(rows, weights, deviations), without_columns_of(rows, weights)
    fits = _descend(X, rows, weights, scale, costs, settings, start)
    return _as_paths(rows, fits, scale, costs, weights, squares, settings)


def _scales(rows, weights, deviations):
    """Return scales of the coefficients that are penalised, (f, d)."""
    scale = np.ones((len(weights), 1)) * rows.scale
    return scale if deviations is None else scale * deviations


def without_columns_of(rows: LogisticRows, weights: np.ndarray) -> np.ndarray:
    """Return the best parameters (f, d + 1) of two classes whose coefficients are 0."""
    start = np.zeros((len(weights), rows.d + 1))
    if rows.intercept:
        ones = weights @ (rows.codes == 1)
        start[:, -1] = np.log(ones) - np.log(weights.sum(axis=1) - ones)
    return start


def _blocks(X, shift, scale, weight):
    """Return samples as `_ext` takes them, and weighted squares of their columns (d,)."""
    n, d, size = *X.shape, _ext.rows_of_block()
    blocks, width = -(-n // size), -(-d // 4) * 4
    require_memory(
        blocks * size, width, 8, what="a copy of the samples", instead="use fewer samples"
    )
    out, squares, step = np.zeros((blocks, width, size)), np.zeros(d), 64
    for first in range(0, blocks, step):
        at = slice(first * size, min(n, (first + step) * size))
        part = (X[at] - shift) * scale
        squares += weight[at] @ np.square(part)
        whole = len(part) // size
        if whole:
            shaped = part[: whole * size].reshape(whole, size, d)
            out[first : first + whole, :d] = shaped.transpose(0, 2, 1)
        rest = part[whole * size :]
        out[first + whole : first + whole + 1, :d, : len(rest)] = rest.T
    return out, squares


def _descend(X, rows, weights, scale, costs, settings, start):
    """Return the fits of the compiled loop to blocks X, of d columns, from `start` (f, d + 1)."""
    (blocks, width, size), n, (n_parts, d), m = X.shape, rows.n, scale.shape, len(costs)
    sign, filled = np.ones(blocks * size), np.zeros((n_parts, blocks * size))
    sign[:n] = 2.0 * rows.codes - 1
    filled[:, :n] = weights
    padded = np.zeros((n_parts, width + 1))
    padded[:, :d], padded[:, -1] = start[:, :-1], start[:, -1]
    equal = bool(((weights == 1) | (weights == 0)).all())
    theta, slopes = np.empty((n_parts, m, width + 1)), np.empty((n_parts, m, width))
    figures = np.zeros((n_parts, m, 6))
    n_threads = min(n_parts, effective_threads(n_parts * m * n * d * 4.0))
    scratch = scratch_array((n_threads, _ext.work_size(blocks, width)), np.float64)
    _ext.descend(
        X, sign, filled, np.ascontiguousarray(scale), costs, padded, settings.l1_ratio,
        GAP * settings.tol, settings.max_iter, equal, rows.intercept, scratch, theta, slopes,
        figures, n_threads,
    )  # fmt: skip
    return _Fits(theta[:, :, :d], theta[:, :, -1], slopes[:, :, :d], figures)


def _as_paths(rows, fits, scale, costs, weights, squares, settings):
    total = weights.sum(axis=1)
    objective, gap = _certified(rows, fits, scale, costs, total, squares, settings.l1_ratio)
    coef = fits.theta * rows.scale
    return Paths(
        coef[:, :, None],
        (fits.intercept - coef @ rows.shift)[:, :, None],
        objective,
        gap,
        fits.figures[:, :, 5].astype(np.int64),
        fits.figures[:, :, 4] * costs <= GAP * settings.tol * objective,
    )


class _Fits(NamedTuple):
    """Results of the compiled loop, its slopes those at feasible residuals."""

    theta: np.ndarray  # (f, m, d)
    intercept: np.ndarray  # (f, m)
    slopes: np.ndarray  # (f, m, d)
    figures: np.ndarray  # (f, m, 6)


def _certified(rows, fits, scale, costs, total, squares, l1_ratio):
    """Return P (f, m) and its duality gaps, rounding included, as `evidence` does for one fit."""
    theta, strength = np.abs(fits.theta), 1 / costs[:, None]
    loss, of_delta, near, far = (fits.figures[:, :, k] for k in range(4))
    total, scale = total[:, None], scale[:, None]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ridge = np.minimum(strength * (1 - l1_ratio) * scale**2, 1e300)
        lasso = np.minimum(strength * l1_ratio * scale, 1e300)
        # Errors of slopes, and of losses as parameters are rounded to their type.
        root = np.sqrt(squares / total)
        terms = theta @ root[..., None] + (theta * rows.scale) @ np.abs(rows.shift)[:, None]
        terms = terms[:, :, 0] + np.abs(fits.intercept)
        of_sum = roundings_of_sum(rows.n) if rows.d <= _COLUMNS else 16 + rows.n  # one by one
        per_row = of_sum + roundings_of_score(rows) * terms
        error = ULP * (1.25 * (total * per_row)[..., None] * root[:, None] + ridge * theta)
        unit = np.finfo(rows.X.dtype).eps / 2 + roundings_of_score(rows) * ULP
        slopes = np.abs(fits.slopes) + error
        rise = unit * ((slopes + ridge * theta + lasso) * theta).sum(axis=2)
        rise += total * (unit * terms) ** 2 + ULP * per_row * loss
        # The gap, with residuals times t <= 1.
        pull = np.sign(fits.theta) * fits.slopes
        penalty = theta * (lasso + 0.5 * ridge * theta)
        if l1_ratio == 0:
            left = np.abs(ridge * fits.theta + fits.slopes) + error
            gap = of_delta + _sum(np.where(left > 0, 0.5 * left / ridge * left, 0.0))
        else:
            inside = np.where(slopes > lasso, lasso / slopes, 1.0).min(axis=2)
            off = 1 - inside
            entropy = np.minimum(
                off * loss + of_delta, 2 * off**2 * near + off * far + 2 * of_delta
            )
            linear = inside[..., None] * theta * (pull + error)
            gap = entropy + _sum(penalty + linear)
            if l1_ratio < 1:
                outside = np.maximum(slopes - lasso, 0)
                conjugate = np.where(outside > 0, 0.5 * outside / ridge * outside, 0.0)
                gap = np.fmin(gap, of_delta + _sum(penalty + theta * (pull + error) + conjugate))
        gap += 8 * ULP * _sum(penalty + theta * slopes)
        objective = costs * (loss + _sum(penalty))
        gap = costs * (gap + rise)
    return objective, np.where(gap >= 0, gap, math.inf)


def _sum(terms):
    return terms.sum(axis=2)


# ---- two classes, more columns than rows


def _compiled_in_span(rows, weights, costs, settings):
    """Return fits in coordinates of the span of few samples; None if they are more."""
    if sp.issparse(rows.X) or not rows.n <= _COLUMNS < rows.d:
        return None
    span = in_span(Objective(rows, 1.0))
    if span is None:
        return None
    inner = span.objective.rows
    X, _ = _blocks(inner.X, inner.shift, inner.scale, inner.weight)
    scale, start = _scales(inner, weights, None), without_columns_of(inner, weights)
    fits = _descend(X, inner, weights, scale, costs, settings, start)
    # What is certified are the coefficients of the columns.
    B, sign, shape = (
        (rows.X - rows.shift) * rows.scale,
        2.0 * rows.codes - 1,
        (*fits.intercept.shape,),
    )
    theta, slopes, intercept = (
        np.empty((*shape, rows.d)),
        np.empty((*shape, rows.d)),
        np.empty(shape),
    )
    for f, weight in enumerate(weights):
        whole = span.theta(np.c_[fits.theta[f], fits.intercept[f]])
        theta[f], intercept[f] = whole[:, :-1], whole[:, -1]
        margin = sign * (theta[f] @ B.T + intercept[f, :, None])
        other = expit(-margin)
        residual, mass = -sign * weight * other, weight * other * expit(margin)
        delta = np.zeros(len(costs))
        if rows.intercept:
            delta = residual.sum(axis=1) / np.maximum(mass.sum(axis=1), 1e-300)
        slopes[f] = (residual - delta[:, None] * mass) @ B
        fits.figures[f, :, 0] = -(log_expit(margin) @ weight)
        fits.figures[f, :, 1] = np.where(
            np.abs(delta) <= 0.5, delta**2 * mass.sum(axis=1), math.inf
        )
    squares = weights.max(axis=0) @ np.square(B)
    fits = _Fits(theta, intercept, slopes, fits.figures)
    return _as_paths(rows, fits, _scales(rows, weights, None), costs, weights, squares, settings)


# ---- two classes, many columns of which few are in use


def _by_working_sets(rows, weights, costs, settings, deviations):
    """Return fits for the first of the costs; None if the first takes too many columns."""
    X = rows.X.tocsc() if sp.issparse(rows.X) else rows.X
    weight = weights.max(axis=0)
    if sp.issparse(X):
        squares = (X.multiply(X).T @ weight) * rows.scale**2
    else:
        squares = np.zeros(rows.d)
        for part, block in row_blocks(X):
            squares += weight[part] @ np.square((block - rows.shift) * rows.scale)
    scale, start = _scales(rows, weights, deviations), without_columns_of(rows, weights)
    out, done = _empty_paths(len(weights), len(costs), 1, rows.d), len(costs)
    for f, one in enumerate(zip(weights, scale, start, strict=True)):
        part = (array[None] for array in one)
        found = _path_of_sets(rows, X, *part, costs[:done], squares, settings)
        k = -1
        for k, (theta, b, P, gap, n_iter) in enumerate(found):
            out.coef[f, k, 0] = theta * rows.scale
            out.intercept[f, k, 0] = b - out.coef[f, k, 0] @ rows.shift
            out.objective[f, k], out.gap[f, k], out.n_iter[f, k] = P, gap, n_iter
        done = k + 1
    out.converged[:] = out.gap <= GAP * settings.tol * out.objective
    return Paths(*(field[:, :done] for field in out)) if done else None


def _path_of_sets(rows, X, weight, scale, start, costs, squares, settings):
    """Yield parameters, P, its gap and the number of steps, until a fit takes too many columns."""
    theta, at, total, l1_ratio = start[0, :-1], start, weight.sum(axis=1), settings.l1_ratio
    slopes = _slopes(rows, X, np.zeros((rows.n, 0)), weight[0], start[:, -1:])
    # The largest penalty without coefficients, from which the strong rule goes on.
    before = float(np.abs(slopes / scale[0]).max()) / l1_ratio
    for C in costs:
        cost, lasso = np.array([C]), np.clip(l1_ratio / C * scale[0], 1e-300, 1e300)
        least = max(_NEAR, 2 - max(before, 1 / C) * C)  # the strong rule, if steps are short
        chosen, known, n_iter = _with_largest(theta != 0, np.abs(slopes) / lasso, least), 0, 0
        while True:
            columns = np.flatnonzero(chosen)
            if known < len(columns):
                part = X[:, columns].toarray() if sp.issparse(X) else X[:, columns]
                part = (part - rows.shift[columns]) * rows.scale[columns]
                blocks, known = _blocks(part, 0.0, 1.0, weight[0])[0], len(columns)
            inner = np.c_[theta[None, columns], at[:, -1:]]
            found = _descend(blocks, rows, weight, scale[:, columns], cost, settings, inner)
            n_iter += int(found.figures[0, 0, 5])
            at = np.c_[found.theta[0], found.intercept]
            theta = np.zeros(rows.d)
            theta[columns] = found.theta[0, 0]
            # The proof, by the slopes of all columns.
            slopes = _slopes(rows, X, part, weight[0], at)
            whole = found._replace(theta=theta[None, None], slopes=slopes[None, None])
            proof = _certified(rows, whole, scale, cost, total, squares, l1_ratio)
            P, gap = (float(number[0, 0]) for number in proof)
            ratios = np.where(chosen, 0.0, np.abs(slopes) / lasso)
            if gap <= GAP * settings.tol * P or not (ratios > 1).any():
                break
            if known >= _SET:
                return
            chosen = _with_largest(chosen, ratios, 1.0)
        before = 1 / C
        yield theta, at[0, -1], P, gap, n_iter


def _with_largest(chosen, ratios, least):
    """Return what is chosen, at least one, and half as much of the largest ratios from `least`."""
    worth = np.where(chosen, -1.0, ratios)
    used = np.count_nonzero(chosen)
    count = max(1, min(32 + used // 2, _SET - used, len(worth)))
    most = np.argpartition(-worth, count - 1)[:count]
    most = most[worth[most] >= min(least, worth.max())]
    chosen = chosen.copy()
    chosen[most] = True
    return chosen


def _slopes(rows, X, part, weight, theta):
    """Return the slopes (d,) of the losses at feasible residuals, near the parameters (1, k + 1) of
    the columns `part` (n, k).
    """
    sign = 2.0 * rows.codes - 1
    margin = sign * (part @ theta[0, :-1] + theta[0, -1])
    other = expit(-margin)
    residual, mass = -sign * weight * other, weight * other * expit(margin)
    if rows.intercept and mass.sum() > 0:
        residual = residual - residual.sum() / mass.sum() * mass
    return (X.T @ residual - rows.shift * residual.sum()) * rows.scale


# ---- all others: the steps of single fits


def _by_steps(rows, weights, costs, settings, owner, names, deviations, starts):
    n_parts, m, c = len(weights), len(costs), rows.n_scores
    out = _empty_paths(n_parts, m, c, rows.d)
    shared = None
    if deviations is None and settings.l1_ratio == 0 and costs[0] < math.inf:
        shared = in_span(Objective(rows, 1.0))
    for f, weight in enumerate(weights):
        part, present = _part(rows, weight, None if deviations is None else deviations[f])
        span = shared
        if span is None and settings.l1_ratio == 0 and costs[0] < math.inf:
            span = in_span(Objective(part, 1.0))
        elif span is not None:
            span = span._replace(rows=part)
        start = None if starts is None else _theta_of(part, starts[f])
        for k, fit in enumerate(_steps_of_part(part, span, costs, settings, start)):
            theta, out.objective[f, k], out.gap[f, k], out.n_iter[f, k], out.converged[f, k] = fit
            if costs[k] == math.inf and settings.max_iter > 0:
                require_overlap(Objective(part, 0.0), theta, names, owner)
            coef = theta[:, :-1] * part.scale
            intercept = theta[:, -1] - coef @ part.shift
            if deviations is not None:
                coef = coef / deviations[f]
            _fill(out.coef[f, k], out.intercept[f, k], coef, intercept, present)
    return out


def _empty_paths(n_parts, m, n_scores, d):
    return Paths(
        np.zeros((n_parts, m, n_scores, d)),
        np.zeros((n_parts, m, n_scores)),
        *np.zeros((2, n_parts, m)),
        np.zeros((n_parts, m), np.int64),
        np.ones((n_parts, m), bool),
    )


def _part(rows, weight, deviation):
    """Return rows with other weights, and the classes that have some."""
    n_classes = max(2, rows.n_scores)
    present = np.flatnonzero(np.bincount(rows.codes, weights=weight, minlength=n_classes))
    n_scores, codes, like = rows.n_scores, rows.codes, rows.columns
    if deviation is None and len(present) == n_classes:
        return rows.weighted(weight), present
    if len(present) < n_classes:
        codes = np.maximum(np.searchsorted(present, codes), 0)
        codes = np.minimum(codes, len(present) - 1)  # of rows without weight
        n_scores = 1 if len(present) == 2 else len(present)
    part = LogisticRows(rows.X, codes, weight, None, n_scores, rows.intercept, like)
    return part if deviation is None else divided(part, deviation), present


def _fill(coef, intercept, found, b, present):
    """Set the parameters of all classes from those of the classes that are present."""
    if coef.shape == found.shape:
        coef[:], intercept[:] = found, b
        return
    intercept[:] = -math.inf
    if len(found) == 1:  # two of several classes
        found, b = np.concatenate([-found, found]) / 2, np.concatenate([-b, b]) / 2
    coef[present], intercept[present] = found, b


def _theta_of(rows, parameters):
    coef = parameters[:, :-1]
    return np.c_[coef / rows.scale, parameters[:, -1] + coef @ rows.shift]


def _steps_of_part(rows, span: Span | None, costs, settings, start):
    """Yield parameters, P, its gap, the number of steps and if it has converged, for each cost."""
    inner = rows if span is None else span.objective.rows.weighted(rows.weight)
    least = least_cost(rows, settings.l1_ratio)
    theta = without_columns(inner) if start is None else start
    nothing = Progress()
    for C in costs:
        if C == math.inf and span is not None:
            span, inner, theta = None, rows, span.theta(theta)
        at = settings._replace(C=C)
        outer, factor = scaled_objective(rows, at)
        if C <= least < math.inf:
            point = outer.at(without_columns(rows))
            yield *_with_gap(outer, point, factor), 0, True
            continue
        objective = outer if span is None else scaled_objective(inner, at)[0]
        solution = solve(objective, factor, theta, at, nothing, lambda _: {})
        theta = solution.theta
        ends = solution.n_iter, solution.converged
        if span is None:
            yield theta, factor * solution.value, solution.duality_gap, *ends
        else:
            yield *_with_gap(outer, outer.at(span.theta(theta)), factor), *ends


def _with_gap(objective, point, factor):
    gap, _, point = duality_gap(objective, point, factor)
    gap += rise_as_stored(objective, point, factor)
    return point.theta, factor * point.value, gap
