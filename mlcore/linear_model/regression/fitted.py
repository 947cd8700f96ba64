"""Solution of a regression from sums, and from its rows where sums have too few digits."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks.penalties import by_penalty
from mlcore.checks.stored import stored
from mlcore.estimator.model import warn
from mlcore.linear_model.regression.least_squares import (
    EPS,
    NormalEquations,
    Solution,
    Triangle,
    Units,
)
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.linear_model.regression.samples import (
    SampleRows,
    Samples,
    samples_of,
    solved_by_samples,
    suits_samples,
)
from mlcore.numerics.scatter import Scatter, row_blocks
from mlcore.runtime.threads import single_threaded_blas

_WELL = {8: 1e-6, 4: 1e-3}  # by bytes of a number: rcond of sums from which a factor is taken
_ROUGH = 1e4  # times eps: rcond of sums that still make columns nearly orthonormal
_EXACT = 1e-3  # rcond, and share of squares left over, from which sums show all digits that count


class Fit(NamedTuple):
    """Coefficients (d, k) in the `DataUnits` of a model, and the evidence of their optimality.

    `offset` is the value at `center` (d,). Sums of squares, `gap` and `objective` are weighted,
    (k,). `rank` is -1 if it is unknown. `from_sums`: only sums were there, columns nearly depend.
    """

    coef: np.ndarray
    center: np.ndarray
    offset: np.ndarray
    system: NormalEquations | Triangle | Samples
    rank: int
    rcond: float
    total: float
    squares: np.ndarray
    target_squares: np.ndarray
    gradient_norm: float
    gap: np.ndarray
    objective: np.ndarray
    solver: str
    from_sums: bool


@stored(version=1)
class LinearSolution(NamedTuple):
    """Least squares as later calls need it, in the `DataUnits` of the model.

    `target_mean` (k,) is the value at `center` (d,). `squares` (2, k) are of residuals and targets;
    weights are in units of ``2^weight_power``.
    """

    center: np.ndarray
    target_mean: np.ndarray
    system: NormalEquations | Triangle | Samples
    squares: np.ndarray
    weight_power: int
    alpha: np.ndarray
    intercept: bool
    _stored = {
        "center": "float64 f",
        "target_mean": "float64 q",
        "system": ("|", NormalEquations, Triangle, Samples),
        "squares": "float64 2 q",
        "weight_power": "int",
        "alpha": "float64 q",
        "intercept": "bool",
    }

    def sums(self, data_units: DataUnits, total_weight: float) -> Scatter:
        """Return the sums over the rows of the fit.

        Products of different targets, which no fit needs, are 0 in them.
        """
        A, C = self.system.products()
        scatter = np.block([[A, C], [C.T, np.diag(self.squares[1])]])
        mean = np.zeros(len(scatter))
        if self.intercept:
            near = np.ldexp(self.target_mean - data_units.target_origin, -data_units.target_power)
            mean = np.concatenate((self.center, near))
        return Scatter(total_weight, mean, np.ldexp(scatter, self.weight_power))


def in_units_of_the_data(
    fit: Fit, data_units: DataUnits, dtype: np.dtype, owner: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients (k, d) in `dtype`, intercepts (k,), and values at the center (k,)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        coef = fit.coef
        if data_units.power.any() or data_units.target_power.any():
            coef = np.ldexp(coef, data_units.target_power - data_units.power[:, None])
        coef = coef.astype(dtype)
        mean = data_units.target_origin + np.ldexp(fit.offset, data_units.target_power)
        intercept = mean - data_units.point(fit.center) @ coef
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"{owner}: the coefficients overflow {np.dtype(dtype).name}: rescale the features of "
            "X, or y."
        )
    return np.ascontiguousarray(coef.T), intercept, mean


def warn_of_sums(fit: Fit, owner: str) -> None:
    """Warn of a fit whose sums were not enough."""
    if fit.from_sums:
        warn(
            "UserWarning",
            f"{owner}: features depend on each other, or nearly "
            f"(rcond {fit.rcond:.0e}), which sums of squares show to half the digits "
            "only: fit to all rows at once.",
        )


def predictions(
    X: Any,
    coef: np.ndarray,
    intercept: float | np.ndarray,
    data_units: DataUnits,
    center: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Return the values of a linear function for the rows of checked X; those at `center` are
    `values` (k,), from which far rows lose no digits.
    """
    coef = coef.T.astype(np.float64)
    with single_threaded_blas():
        if sp.issparse(X):
            scores = X @ coef + intercept
        else:
            shift = np.ldexp(center, data_units.power)
            scores = np.empty((len(X), *coef.shape[1:]))
            for rows, block in row_blocks(X):
                np.matmul(block - data_units.origin - shift, coef, out=scores[rows])
            scores += values if data_units.several else values[0]
    return scores.astype(X.dtype, copy=False)


def _older_frame(origin, *others):
    return DataUnits(origin.astype(np.float64), *others)


def _older_solution(system, center, target_mean, *others):
    kind = Triangle if len(system) == len(Triangle._fields) else NormalEquations
    return LinearSolution(center, target_mean, kind(*system), *others)


OLDER: dict[str, Any] = {  # what 0.2 kept
    "_units_": (_older_frame, "origin_", "powers", "target_origin", "target_powers", "several"),
    "_solution_": (
        _older_solution,
        *("system", "center", "target_mean", "squares", "weight_power", "alpha", "intercepted"),
    ),
    "_sums_": "statistics",
    "solver": None,
    "step": None,
}


def solved(
    rows: Rows | None,
    sums: Scatter | None,
    power: np.ndarray,
    alphas: np.ndarray,
    fit_intercept: bool,
    dtype: np.dtype,
) -> Fit:
    """Fit from the sums over all rows, from the rows, or from both; alphas are those of targets.

    By the normal equations where columns are independent, else by a triangle of the rows.
    """
    d, eps = len(power), float(np.finfo(dtype).eps)
    units = Units(power, float(alphas.min()))  # of the targets with the worst condition

    # The system, and its solution for the least penalty.
    problem = None if sums is None else _of_sums(sums, units, fit_intercept, dtype, rows is None)
    by_rows = problem is None or problem.solution is None
    if by_rows:
        problem = _of_rows(rows, units, fit_intercept, eps, problem)
    solution, offset, total = problem.solution, problem.offset, problem.total
    size, target_squares = np.sqrt(problem.squares[:d]), problem.squares[d:]

    coef, corrections = _by_penalty(problem, units, alphas)
    with np.errstate(over="ignore"):
        ridge = np.ldexp(alphas, -2 * power[:, None])

    # Residuals: from the sums where these show their digits, else from the rows, with a correction.
    squares, lost_squares = None, 0.0
    if not by_rows:
        A, C = problem.products
        gradient = C - A @ coef
        squares = target_squares - np.einsum("ij,ij->j", coef, C + gradient)
        gradient -= ridge * coef
        lost_squares = 2 * d * eps * target_squares
    lost = by_rows or eps > EPS or solution.rcond < _EXACT
    far = size
    if rows is not None and (lost or (squares < _EXACT * target_squares).any()):
        # One reading also shows what a correction of the digits lost does, where products have all.
        once, eps, lost_squares = not by_rows and eps == EPS, EPS, 0.0
        near = rows.near(problem.center, problem.squares[:d])
        if near:
            far = np.sqrt(problem.squares[:d] + total * rows.data_units.point(problem.center) ** 2)
        for step in range(2):
            squares, sums_left, gradient = rows.residuals(coef, problem.center, offset, near)
            if fit_intercept:
                shift = sums_left / total
                offset = offset + shift
                squares -= sums_left * shift
            gradient -= ridge * coef
            if step == 1:
                break
            before = coef.copy()
            for targets, correction in corrections:
                coef[:, targets] += correction(gradient[:, targets])
            if once:
                squares, gradient = _moved(coef - before, before, squares, gradient, A, ridge)
                break
    squares = np.maximum(squares, 0.0)

    # Evidence.
    n = rows.X.shape[0] if rows is not None else total
    wrong, noise = _rounding(size, far, target_squares, coef, ridge, max(n, d), eps, dtype)
    penalty = np.einsum("ij,ij->j", ridge * coef, coef)
    most = _most(squares + lost_squares, wrong, penalty, max(n, d), dtype)
    return Fit(
        coef, problem.center, offset, problem.system, solution.rank, solution.rcond, total, squares,
        target_squares, _relative(gradient, size, target_squares),
        _gap(np.abs(gradient) + noise, ridge, alphas, most),
        squares + penalty, "qr" if by_rows else "cholesky",
        problem.from_sums,
    )  # fmt: skip


def fit_in_span(
    rows: Rows, alphas: np.ndarray, fit_intercept: bool, tol: float = 0.0
) -> Fit | None:
    """Fit in the span of the samples where that pays; None where it does not or has few digits.

    Conjugate gradients leave the share `tol` of the targets, or rounding.
    """
    if not suits_samples(rows.X, alphas):
        return None
    samples = samples_of(rows, fit_intercept, alphas)
    if samples is None:
        return None
    with single_threaded_blas():
        return solved_in_span(samples, alphas, fit_intercept, rows.X.dtype, tol)


def solved_in_span(
    rows: SampleRows, alphas: np.ndarray, intercept: bool, dtype: np.dtype, tol: float = 0.0
) -> Fit | None:
    """Fit by the products of samples, or by conjugate gradients; None if these have few digits."""
    found = solved_by_samples(rows, alphas, intercept, tol)
    if found is None:
        return None
    system, coef, r = rows.system, found.coef, found.residual
    (n, d), u = system.X.shape, system.u
    total, offset = rows.total, rows.offset
    if intercept:
        shift = u @ r / total
        offset, r = offset + shift, r - u[:, None] * shift
    ridge = np.broadcast_to(alphas, coef.shape)
    gradient = system.transposed_times(r) - ridge * coef
    squares, target_squares = (np.einsum("ij,ij->j", A, A) for A in (r, system.c))
    size = np.sqrt(rows.squares)
    far = np.sqrt(rows.squares + total * system.center**2)  # of products that are not of F itself
    wrong, noise = _rounding(size, far, target_squares, coef, ridge, max(n, d), EPS, dtype)
    penalty = np.einsum("ij,ij->j", ridge * coef, coef)
    most = _most(squares, wrong, penalty, max(n, d), dtype)
    return Fit(
        coef, rows.center, offset, system, found.rank, found.rcond, total, squares,
        target_squares, _relative(gradient, size, target_squares),
        _gap(np.abs(gradient) + noise, ridge, alphas, most),
        squares + penalty, found.solver, False,
    )  # fmt: skip


class _Problem(NamedTuple):
    """A system with its solution, None if that needs the rows, and what it was made from."""

    system: NormalEquations | Triangle
    solution: Solution | None
    center: np.ndarray
    offset: np.ndarray
    total: float
    squares: np.ndarray  # (d + k,) of features and targets
    products: tuple[np.ndarray, np.ndarray] | None = None  # F'F and F'c of sums
    from_sums: bool = False  # True if columns depend on each other, and there are no rows
    rough: Solution | None = None  # that of the sums, if it needs the rows


def _of_sums(sums, units, fit_intercept, dtype, alone):
    """Return the problem of sums, which are `alone` without rows."""
    d, (total, mean, gram), eps = len(units.power), sums, float(np.finfo(dtype).eps)
    center, offset = np.zeros(d), np.zeros(len(mean) - d)
    if fit_intercept:
        center, offset = mean[:d], mean[d:].copy()
    else:
        gram = gram + total * np.outer(mean, mean)
    system = NormalEquations(gram[:d, :d], gram[:d, d:], eps)
    solution, rough = system.solve(units), None
    if solution is None or solution.rcond < _WELL[dtype.itemsize]:
        rough, solution = solution, None
        if alone:
            system = system.triangle()
            solution = system.solve(units)
    return _Problem(
        system, solution, center, offset, total, gram.diagonal(), (gram[:d, :d], gram[:d, d:]),
        from_sums=alone and isinstance(system, Triangle), rough=rough,
    )  # fmt: skip


def _of_rows(rows, units, fit_intercept, eps, of_sums):
    """Return the problem of rows, by the rough solution of that of their sums if it helps."""
    d, rough = len(units.power), None if of_sums is None else of_sums.rough
    center = np.zeros(d) if of_sums is None else of_sums.center
    if rough is not None and units.alpha > 0:
        rough = of_sums.system.solve(units._replace(alpha=0.0))
    usable = rough is not None and rough.rcond > _ROUGH * eps
    R, mean = rows.triangle(center, fit_intercept, rough.root() if usable else None)
    system = Triangle(np.ascontiguousarray(R[:, :d]), R[:, d:].copy(), rows.X.shape[0], eps)
    squares = np.einsum("ij,ij->j", R, R)
    return _Problem(
        system, system.solve(units), center + mean[:d], mean[d:].copy(), rows.total, squares
    )


def _by_penalty(problem, units, alphas):
    """Return the coefficients (d, k), and pairs of the targets of a penalty and corrections."""
    coef, corrections = problem.solution.coef, []
    for alpha, targets in by_penalty(alphas):
        own = problem.solution
        if alpha > units.alpha:
            own = problem.system.of_targets(targets).solve(units._replace(alpha=alpha))
            coef[:, targets] = own.coef
        corrections.append((targets, own.correction))
    return coef, corrections


def _moved(step, before, squares, gradient, A, ridge):
    """Return squares of residuals and gradient after a step (d, k) from `before`."""
    products = A @ step
    squares = squares - np.einsum("ij,ij->j", step, 2 * (gradient + ridge * before) - products)
    return squares, gradient - products - ridge * step


def _relative(gradient, size, target_squares):
    """Return the largest product of the gradient with a feature, all of unit length."""
    scale = np.outer(size, np.sqrt(target_squares))
    relative = np.divide(np.abs(gradient), scale, out=np.zeros_like(scale), where=scale > 0)
    return float(relative.max())


def _gap(gradient, ridge, alphas, most):
    """Return the duality gaps (k,) for a bound on the gradient, infinite without penalty.

    They are not above `most`, which bounds the objective: a minimum is not below 0.
    """
    gap, penalised = np.full(len(alphas), np.inf), alphas > 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if not penalised.all():
            gradient, ridge = gradient[:, penalised], ridge[:, penalised]
        left = gradient / np.sqrt(ridge)
        gap[penalised] = np.fmin(np.einsum("ij,ij->j", left, left), most[penalised])
    return gap


def _most(squares, wrong, penalty, n, dtype):
    """Return bounds of the objectives (k,).

    `wrong` bounds errors of the roots of `squares` of n residuals; coefficients are in `dtype`.
    """
    rounding = 1 + 2 * n * EPS + 4 * float(np.finfo(dtype).eps)
    return (np.square(np.sqrt(squares) + wrong) + penalty) * rounding


def _rounding(size, far, target_squares, coef, ridge, n, eps, dtype):
    """Return bounds of the rounding errors of coefficients in `dtype`: of the length of residuals,
    (k,), and of the gradient, (d, k).

    Features less the center are of the lengths `size`, and as they are read `far`.
    """
    read = 2 * np.sqrt(n) * eps * (np.sqrt(target_squares) + far @ np.abs(coef))
    single = float(np.finfo(dtype).eps)
    stored = single * (size @ np.abs(coef))
    noise = np.outer(far, read) + np.outer(size, stored)
    return read + stored, noise + (single + 2 * EPS) * ridge * np.abs(coef)
