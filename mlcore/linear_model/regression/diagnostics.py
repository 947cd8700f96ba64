"""Leave-one-out errors of a linear regression, and its path over the penalty."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks.penalties import by_penalty
from mlcore.estimator.printed import fields_as_table
from mlcore.linear_model.regression.least_squares import Units
from mlcore.linear_model.regression.rows import Rows
from mlcore.linear_model.regression.samples import Samples, samples_of
from mlcore.runtime.threads import single_threaded_blas

_SAME = 1e-7  # relative gradient above which rows are not those of the fit
_DEPENDENT = 1e-10  # 1 less a leverage below which a row alone determines a direction


class LinearPath(NamedTuple):
    """Linear models for m penalties.

    With several targets, arrays but `alphas` and `effective_dimension` have an axis of targets
    more, after the first.

    Parameters
    ----------
    alphas : (m,)
    coef : (m, n_features)
    intercept : (m,)
    effective_dimension : (m,)
        Trace of the map from targets to fitted values, the intercept included.
    gcv : (m,)
        Generalised cross-validation ``W |r|² / (W - effective_dimension)²``, W the sum of the
        weights and ``|r|²`` the weighted squares of the residuals; the least is best.

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    >>> model.path([0.0, 2.0]).coef.ravel()
    array([1.5 , 0.75])
    """

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    effective_dimension: np.ndarray
    gcv: np.ndarray

    __repr__ = fields_as_table


def leave_one_out(model: Any, rows: Rows, weight: np.ndarray | None) -> np.ndarray:
    """Return the errors (n, k) of a `LinearRegression` for its rows, NaN where the weight is 0.

    `rows` have the samples of positive weight, `weight` (n,) is that of all.
    """
    solution, data_units, total = model._solution_, model._units_, model.total_weight_
    n = rows.X.shape[0]
    if not np.isclose(rows.total, total, rtol=1e-9, atol=0):
        raise ValueError(
            f"leave_one_out needs the samples of the fit: their weight is "
            f"{total:g}, not {rows.total:g}."
        )
    if solution.intercept and n < 2:
        raise ValueError(f"{type(model).__name__}: n_samples=1, but to leave one out needs 2.")
    power = solution.weight_power
    s = np.ones(n) if rows.weight is None else np.ldexp(rows.weight, -power)
    coef = np.ldexp(
        model.coef_.reshape(len(data_units.target_power), -1).T.astype(np.float64),
        data_units.power[:, None] - data_units.target_power,
    )
    offset = np.ldexp(solution.target_mean - data_units.target_origin, -data_units.target_power)
    gradient = _require_optimum(model, rows, s, coef, offset)

    penalties = by_penalty(np.ldexp(solution.alpha, -power))
    errors = None
    if isinstance(solution.system, Samples) and n <= len(coef):
        errors = _errors_in_span(rows._replace(weight=s), penalties, solution.intercept)
    if errors is None:
        errors = _errors_by_leverages(solution, rows, s, coef, gradient, offset, penalties)
    if weight is not None:
        of_all = np.full((len(weight), coef.shape[1]), np.nan)
        of_all[weight > 0] = errors
        errors = of_all
    return np.ldexp(errors, data_units.target_power)


def _errors_in_span(rows, penalties, intercept):
    """Return the errors (n, k) from n x n matrices; None where these lose digits."""
    samples, errors = samples_of(rows, intercept), np.empty_like(rows.Y)
    if samples is None:
        return None
    with single_threaded_blas():
        for alpha, targets in penalties:
            own = samples.system.of_targets(targets).left_out(alpha, intercept)
            if own is None:
                return None
            errors[:, targets] = own
    return errors


def _errors_by_leverages(solution, rows, s, coef, gradient, offset, penalties):
    """Return the errors (n, k) from leverages, weights s (n,).

    Coefficients by conjugate gradients are corrected by their gradient: they have the digits of
    `tol`.
    """
    data_units, total = rows.data_units, s.sum()
    # For each penalty its targets, and roots in units of the data and in one unit.
    roots = []
    for alpha, targets in penalties:
        units = Units(data_units.power, alpha)
        own = solution.system.of_targets(targets).solve(units)
        if isinstance(solution.system, Samples):
            coef[:, targets] += own.correction(gradient[:, targets])
        root = own.root()
        roots.append((targets, root, np.ldexp(root, -units.shift[:, None])))

    # An error is the residual over 1 - h, h the leverage.
    shift, errors = Units(data_units.power, 0.0).shift[:, None], np.empty_like(rows.Y)
    with single_threaded_blas():
        for block, Z in rows.blocks(solution.center):
            r = rows.Y[block] - offset - Z @ coef
            for targets, root, in_one_unit in roots:
                projected = Z @ root
                h = s[block] * np.einsum("ij,ij->i", projected, projected)
                if solution.intercept:
                    h += s[block] / total
                lone = 1 - h < _DEPENDENT
                own = r[:, targets] / np.where(lone, 1.0, 1 - h)[:, None]
                if lone.any():  # "shortest" is meant in one unit of all features
                    squares = np.square(projected[lone] @ in_one_unit.T).sum(axis=1)
                    right = in_one_unit.T @ np.ldexp(coef[:, targets], -shift)
                    alone = projected[lone] @ right
                    own[lone] = alone / (s[block][lone] * squares)[:, None]
                errors[block, targets] = own
    return errors


def _require_optimum(model, rows, s, coef, offset):
    """Return the gradient (d, k); refuse rows of which the coefficients, in units of the data, are
    not the optimum.

    Their gradient may be ten times that of the fit, and what rounding does to it.
    """
    solution, data_units = model._solution_, model._units_
    alphas = np.ldexp(solution.alpha, -solution.weight_power)
    gradient = -np.ldexp(alphas, -2 * data_units.power[:, None]) * coef
    sums, size, target = np.zeros(coef.shape[1]), np.zeros(len(coef)), np.zeros(coef.shape[1])
    sparse = sp.issparse(rows.X)
    if sparse:
        weighted = rows._replace(weight=s)
        _, sums, products = weighted.residuals(coef, solution.center, offset)
        gradient += products
        size, target = weighted.sparse_squares(solution.center), s @ (rows.Y - offset) ** 2
    for block, Z in () if sparse else rows.blocks(solution.center):
        y, weight = rows.Y[block] - offset, s[block]
        left = weight[:, None] * (y - Z @ coef)
        gradient += Z.T @ left
        sums += left.sum(axis=0)
        size += weight @ Z**2
        target += weight @ y**2
    size, total, eps = np.sqrt(size), s.sum(), float(np.finfo(model.coef_.dtype).eps)
    near = (10 * model.gradient_norm_ + _SAME) * np.sqrt(target)
    mean = np.ldexp(np.abs(solution.target_mean), -data_units.target_power)
    near += 16 * eps * (size @ np.abs(coef) + np.sqrt(total) * mean)
    off = (np.abs(gradient) > np.outer(size, near)).any()
    if solution.intercept:
        off |= (np.abs(sums) > np.sqrt(total) * near).any()
    if off:
        raise ValueError(
            "leave_one_out needs the samples of the fit: its coefficients are not the best for "
            "these X, y and sample_weight."
        )
    return gradient


def path(model: Any, alphas: np.ndarray) -> LinearPath:
    """Return the models of a fitted `LinearRegression` for other penalties."""
    solution, data_units = model._solution_, model._units_
    weight_power, units = solution.weight_power, Units(data_units.power, 0.0)
    total = np.ldexp(model.total_weight_, -weight_power)
    coefs, dimensions, gcv = [], [], []
    with single_threaded_blas():
        values, projected, combined = solution.system.spectrum(units)
        residual, squares_of_targets = solution.squares
        left = squares_of_targets - np.square(projected / np.sqrt(values)[:, None]).sum(axis=0)
        left = np.maximum(left, np.where(solution.alpha == 0, residual, 0.0))
        for alpha in alphas:
            penalty = units._replace(alpha=float(np.ldexp(alpha, -weight_power))).common_alpha
            shrunk = values + penalty
            coefs.append(combined(projected / shrunk[:, None]))
            share = (penalty / shrunk)[:, None] / np.sqrt(values)[:, None]
            squares = left + np.square(share * projected).sum(axis=0)
            dimension = float((values / shrunk).sum()) + float(solution.intercept)
            dimensions.append(dimension)
            with np.errstate(divide="ignore", invalid="ignore"):
                gcv.append(total * squares / max(total - dimension, 0.0) ** 2)

    # To units of the data.
    coef = np.ldexp(np.stack(coefs), data_units.target_power - int(data_units.power.max()))
    coef = coef.swapaxes(1, 2)
    intercept = np.zeros(coef.shape[:2])
    if solution.intercept:
        center = data_units.origin + np.ldexp(solution.center, data_units.power)
        intercept = solution.target_mean - coef @ center
    gcv = np.ldexp(np.stack(gcv), 2 * data_units.target_power + weight_power)
    if not data_units.several:
        coef, intercept, gcv = coef[:, 0], intercept[:, 0], gcv[:, 0]
    return LinearPath(alphas, coef, intercept, np.array(dimensions), gcv)
