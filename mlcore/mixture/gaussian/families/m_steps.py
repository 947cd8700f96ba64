"""M-steps of the families of covariances l D A Dᵀ with equal or varying volume, shape, orientation.

The names are mclust's: E is equal in all components, V varies, I is the identity. For names that
end in I scatters and covariances are diagonals, (k, d); for others matrices, (k, d, d).

References
----------
G. Celeux, G. Govaert, *Gaussian parsimonious clustering models*, Pattern Recognition 28, 1995
(volumes, shapes and orientations but EVE and VVE).
"""

import numpy as np
from scipy.linalg import lapack

from mlcore.decomposition.evidence import signs
from mlcore.estimator.model import warn
from mlcore.mixture.gaussian.families.common_axes import (
    common_axes,
    composed,
    equal_volume,
    of_common_axes,
)
from mlcore.mixture.gaussian.matrices import EPS

_VOLUMES = 1e-12  # relative change of volumes at which their alternation with the shape ends
_ALTERNATIONS = 200
_SCALED, _SCALED_BADLY = 1e-14, 1e-6  # residual of sums, relative
_NEWTON = 1000  # steps, of which tables whose entries differ by 1e31 take about 50
_COUNTED = 1e-18  # least share of the mass
_HALVINGS, _LONGEST = 30, 3.0  # of a step
_CLOSE = 1e-4  # residual, relative


def n_parameters(family: str, k: int, d: int) -> int:
    """Return the number of free parameters of the covariances of k components and d features."""
    volume, shape, orientation = family
    count = k if volume == "V" else 1
    count += {"I": 0, "E": 1, "V": k}[shape] * (d - 1)
    return count + {"I": 0, "E": 1, "V": k}[orientation] * (d * (d - 1) // 2)


def maximized(
    family: str, mass: np.ndarray, W: np.ndarray, before: np.ndarray | None = None
) -> np.ndarray:
    """Return the likeliest covariances of a family for scatters W about the means.

    `mass` (k,) and `W` are positive (definite); `before` are the covariances of the step before, of
    the same family, which EVE and VVE start from, and VEE.
    """
    k, d = W.shape[:2]
    total = mass.sum()
    if family in ("EII", "VII"):
        equal = np.full(k, W.sum() / (total * d))
        volumes = W.sum(axis=1) / (mass * d) if family == "VII" else equal
        return np.repeat(volumes[:, None], d, axis=1)
    if family in ("EEI", "EEE"):
        return np.broadcast_to(W.sum(axis=0) / total, W.shape).copy()
    if family in ("VVI", "VVV"):
        return W / mass.reshape(-1, *(W.ndim - 1) * [1])
    if family == "EVI":
        return W * equal_volume(np.log(W).mean(axis=1), total)[:, None]
    if family == "EVV":
        return W * equal_volume(np.linalg.slogdet(W)[1] / d, total)[:, None, None]
    if family == "VEI":
        return _equal_shape(mass, W)
    if family == "VEE":
        return _equal_correlations(mass, W, before)
    if family in ("EVE", "VVE"):
        return of_common_axes(mass, W, before, family == "EVE")
    values, axes = np.linalg.eigh(W)
    values = np.maximum(values, EPS**2 * values[:, -1:])
    if family == "EEV":
        variances = np.broadcast_to(values.sum(axis=0) / total, (k, d))
    else:
        variances = _equal_shape(mass, values)
    return composed(variances, axes)


def decomposed(family: str, covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return volumes (k,), shapes (k, d), descending, and orientations (k, d, d) of covariances.

    The columns of an orientation are the axes, each with a positive entry of largest modulus.
    """
    k, d, _ = covariances.shape
    volume, shape, orientation = family
    if orientation == "I":
        axes = np.broadcast_to(np.eye(d), covariances.shape)
    elif family in ("EVE", "VVE"):
        axes = np.broadcast_to(common_axes(covariances), covariances.shape)
    else:
        axes = np.linalg.eigh(covariances)[1]
        if orientation == "E":
            axes = np.broadcast_to(axes[0], covariances.shape)
    values = (axes * (covariances @ axes)).sum(axis=1)
    logs = np.log(np.maximum(values, np.finfo(float).tiny))
    volumes = np.exp(logs.mean(axis=1))
    shapes = np.exp(logs - logs.mean(axis=1, keepdims=True))
    order = np.argsort(-shapes, axis=1, kind="stable")
    if shape != "V":  # equal but for rounding
        shapes = np.broadcast_to(shapes[0, order[0]] if shape == "E" else np.ones(d), (k, d)).copy()
        order = order if orientation == "V" else np.broadcast_to(order[0], (k, d))
    else:
        shapes = np.take_along_axis(shapes, order, axis=1)
    axes = np.take_along_axis(axes, order[:, None, :], axis=2)
    axes = axes * np.array([signs(one) for one in axes])[:, None, :]
    return np.full(k, volumes[0]) if volume == "E" else volumes, shapes, axes


def _equal_shape(mass, table):
    """Return variances of one shape for sums of squares (k, d) along the axes."""
    d, total = table.shape[1], mass.sum()
    counted = mass > _COUNTED * total  # others have a volume, and do not change the shape
    _, shape = scaled_table(table[counted], mass[counted] * d, np.full(d, total))
    shape = shape / np.exp(np.log(shape).mean())
    volumes = (table / shape).mean(axis=1) / mass
    # Volumes fit the shape; the sums that prove the shape are those of the columns.
    sums = (table[counted] / np.multiply.outer(volumes[counted], shape)).sum(axis=0)
    residual = np.abs(sums / total - 1).max()
    if not residual <= _SCALED_BADLY:
        warn(
            "ConvergenceWarning",
            "GaussianMixture: volumes and a common shape agree with scatters but for "
            f"{residual:.1e} after {_NEWTON} steps of Newton's method: variances differ by too "
            "much for a common shape. Set reg_covar, or choose a type of varying shapes.",
        )
    return np.multiply.outer(volumes, shape)


def scaled_table(
    table: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return positive u and v for which table / (u vᵀ) has the given sums of rows and columns.

    Newton's method on a convex function of ln u, with shorter steps where a whole one does not
    lower it; ln v is that which makes the columns right. The table (k, d) is positive. A step takes
    O((k + d) min(k, d)²).
    """
    if table.shape[0] > table.shape[1]:
        v, u = scaled_table(table.T, columns, rows)
        return u, v
    k, logs = len(table), np.log(table)

    def at(u):
        """Return ln v, the function, the table scaled, and the residual of its rows."""
        moved = logs - u[:, None]
        top = moved.max(axis=0)
        v = top + np.log(np.exp(moved - top).sum(axis=0) / columns)
        P = np.exp(moved - v)
        return v, columns @ v + rows @ u, P, P.sum(axis=1) - rows

    u = np.log(table.mean(axis=1)) - np.log(rows)
    v, value, P, residual = at(u)
    for _ in range(_NEWTON):
        size = np.abs(residual).max() / rows.max()
        if size <= _SCALED:
            break
        # The residual is minus the gradient; adding the same to all u changes nothing.
        sums = residual + rows
        hessian = np.diag(sums) - (P / columns) @ P.T + sums.mean() / k
        factor, singular = lapack.dpotrf(hessian)
        step = residual / rows if singular else lapack.dpotrs(factor, residual)[0]
        for length in min(1, _LONGEST / np.abs(step).max()) * 0.5 ** np.arange(_HALVINGS):
            following = at(u + length * step)
            # Near the end the function is rounded too much to tell.
            smaller = np.abs(following[3]).max() < size * rows.max() * (0.5 + 0.5 * (size < _CLOSE))
            lower = following[1] < value - 1e-4 * length * (residual @ step)
            better = smaller if size < _CLOSE else lower or size < 0.1 and smaller
            if better:
                u = u + length * step
                break
        else:
            # No step helps: an alternating update, which at the end is as good.
            updated = u + np.log(np.maximum(sums, 1e-100) / rows)
            following = at(updated)
            if size < _CLOSE and np.abs(following[3]).max() >= size * rows.max():
                break
            u = updated
        v, value, P, residual = following
    return np.exp(u - u.mean()), np.exp(v + u.mean())


def _equal_correlations(mass, W, before):
    """Return covariances l_j C of det C = 1: volumes and C in turn."""
    k, d, _ = W.shape
    # In units in which the diagonal of the sum is 1: products of large and small ones do not round.
    unit = np.sqrt(np.diagonal(W.sum(axis=0)))
    flat = (W / np.multiply.outer(unit, unit)).reshape(k, d * d)
    start = np.einsum("jaa->j", flat.reshape(W.shape)) if before is None else None
    volumes = start / (mass * d) if start is not None else _volumes(before / unit[:, None] / unit)
    for _ in range(_ALTERNATIONS):
        C = ((1 / volumes) @ flat).reshape(d, d)
        C /= np.exp(np.linalg.slogdet(C)[1] / d)
        last, volumes = volumes, flat @ np.linalg.inv(C).ravel() / (mass * d)
        if np.abs(volumes - last).max() <= _VOLUMES * volumes.min():
            break
    C = C * np.multiply.outer(unit, unit)
    return volumes[:, None, None] * ((C + C.T) / 2)


def _volumes(covariances):
    return np.exp(np.linalg.slogdet(covariances)[1] / covariances.shape[-1])
