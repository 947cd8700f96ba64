"""Rows of a regression: their sums, their residuals, and a triangle of the same squares."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.checks.stored import stored
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.numerics.scatter import (
    ROWS,
    BeyondUnits,
    Scatter,
    in_range,
    larger_powers,
    origin_of,
    powers_of_two,
    row_blocks,
    scatter_of,
    scatter_side_by_side,
)
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_PLAIN = {8: 230, 4: 28}  # by bytes of a number: powers of two whose squares are in range
_LARGEST = {8: 2.0**230, 4: 2.0**56}  # target, so that squares of sums are in range
_DEPARTURE = 0.5  # from orthonormal columns, at most: that of a factor which is not too rough
_VALUES = 2**15  # of a block of rows that is not copied: with its residuals it stays in cache
_FAR = 100.0  # squared distance of mean and zero over the variance, up to which digits are kept
_PENALTY = 300  # power of two that penalties do not exceed


@stored(version=1)
class DataUnits(NamedTuple):
    """Points that differences of features and targets refer to, and powers of two they count in.

    Features are ``2^-power (x - origin)``. `several` is False if targets are a vector.
    """

    origin: np.ndarray
    power: np.ndarray
    target_origin: np.ndarray
    target_power: np.ndarray
    several: bool
    _stored = {
        "origin": "float64 f",
        "power": "int f",
        "target_origin": "float64 q",
        "target_power": "int q",
        "several": "bool",
    }

    @classmethod
    def of(
        cls,
        X: Any,
        Y: np.ndarray,
        fit_intercept: bool,
        several: bool,
        zeros: bool = True,
        common: bool = False,
    ) -> "DataUnits":
        """Return the units of these rows, features of powers 0; `zeros` is as in `origin_of`.

        `common`: all targets count in the units of the largest.
        """
        d, k = X.shape[1], Y.shape[1]
        origin = origin_of(X, zeros=zeros) if fit_intercept else np.zeros(d)
        near = origin_of(Y) if fit_intercept else np.zeros(k)
        largest = np.abs(Y - near).max(axis=0)
        if common:
            largest[:] = largest.max()
        power = np.frexp(largest)[1].astype(np.int64)
        power[np.abs(power) <= _PLAIN[X.dtype.itemsize]] = 0
        return cls(origin, np.zeros(d, np.int64), near, power, several)

    def with_powers(self, X: Any, alpha: float, columns: np.ndarray | None = None) -> "DataUnits":
        """Return the units with powers of those columns (default: all) that are out of range.

        Columns whose squares vanish beside alpha stay small, as their penalties would overflow.
        """
        power = powers_of_two(X, self.origin).astype(np.int64)
        power[np.abs(power) <= _PLAIN[X.dtype.itemsize]] = 0
        if alpha > 0:
            least = (int(np.frexp(alpha)[1]) - _PENALTY) // 2
            power = np.maximum(power, min(0, least))
        if columns is not None:
            power[~columns] = 0
        return self._replace(power=power)

    def larger(self, X: Any, Y: np.ndarray, common: bool = False) -> tuple["DataUnits", np.ndarray]:
        """Return the units that these rows need, and by which powers of two they are larger, (d +
        k,); with `common` all targets keep the same.
        """
        power = larger_powers(self.power, X, self.origin)
        target_power = larger_powers(self.target_power, Y, self.target_origin)
        if common:
            target_power[:] = target_power.max()
        more = np.concatenate((power - self.power, target_power - self.target_power))
        return self._replace(power=power, target_power=target_power), more

    def about_zero(self, sums: Scatter) -> tuple["DataUnits", Scatter]:
        """Return units with the origin 0, and sums in them: those of models without intercept."""
        origin = np.ldexp(self.origin, -self.power)
        near = np.ldexp(self.target_origin, -self.target_power)
        mean = sums.mean + np.concatenate((origin, near))
        units = self._replace(origin=0 * self.origin, target_origin=0 * self.target_origin)
        return units, sums._replace(mean=mean)

    def require_targets(self, Y: np.ndarray, several: bool, owner: str) -> None:
        """Raise ValueError for targets (n, k) that are not as many as these."""
        if several != self.several or Y.shape[1] != len(self.target_power):
            raise ValueError(
                f"y has {Y.shape[1]} columns, but {owner} was fitted to "
                f"{len(self.target_power)}{' in columns' if self.several else ''}."
            )

    def point(self, center: np.ndarray) -> np.ndarray:
        """Return the point (d,) of the data that is `center` in these units."""
        return self.origin + (np.ldexp(center, self.power) if self.power.any() else center)


class Rows(NamedTuple):
    """Checked rows of positive weight: X (n, d) dense or CSR, in float32 or float64.

    Y (n, k) is in the units of the data; `weight` (n,) may be None: ones.
    """

    X: Any
    Y: np.ndarray
    weight: np.ndarray | None
    data_units: DataUnits

    @classmethod
    def of(cls, X: Any, Y: np.ndarray, weight: np.ndarray | None, data_units: DataUnits) -> "Rows":
        """Return the rows of targets Y (n, k), not yet in the units of the data."""
        Y = Y - data_units.target_origin
        if data_units.target_power.any():
            with np.errstate(over="ignore"):  # `sums` refuses what does not fit
                Y = np.ldexp(Y, -data_units.target_power)
        return cls(X, Y, weight, data_units)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.X.shape[0] if self.weight is None else self.weight.sum())

    def sums(self, owner: str) -> Scatter:
        """Return the sums over features and targets side by side, the targets after the features.

        NaN in dense features is found.
        """
        X, data_units = self.X, self.data_units
        if data_units.target_power.any() and not np.abs(self.Y).max() <= _LARGEST[X.dtype.itemsize]:
            raise BeyondUnits(owner)
        Y = self.Y.astype(X.dtype)
        k = Y.shape[1]
        origin = np.concatenate((data_units.origin, np.zeros(k)))
        power = np.concatenate((data_units.power, np.zeros(k, np.int64)))
        if sp.issparse(X):
            joined = sp.hstack((X, sp.csr_array(Y)), format="csr")
            return scatter_of(sp.csr_array(joined), self.weight, origin, power=power, owner=owner)
        return scatter_side_by_side(X, Y, self.weight, origin, power=power, owner=owner)

    def sums_in_range(
        self, owner: str, fit_intercept: bool, alpha: float
    ) -> tuple["Rows", Scatter]:
        """Return rows and their sums, in units of powers of two where squares need them.

        `alpha` is the largest penalty of sums of squares.
        """
        rows, sums = self, self.sums(owner)
        outside = self.out_of_range(sums, fit_intercept)
        if outside.any():
            rows = self._replace(data_units=self.data_units.with_powers(self.X, alpha, outside))
            sums = rows.sums(owner)
        return rows, sums

    def out_of_range(self, sums: Scatter, fit_intercept: bool) -> np.ndarray:
        """Return True for each feature that varies and whose squares over- or underflow."""
        X, d = self.X, self.X.shape[1]
        squares = sums.scatter.diagonal()[:d]
        if not fit_intercept:
            with np.errstate(over="ignore"):
                squares = squares + sums.weight * sums.mean[:d] ** 2
        outside = np.flatnonzero(~in_range(squares, X.dtype))
        varies = np.zeros(d, bool)
        if len(outside):
            near = self.data_units.origin.astype(X.dtype)
            if fit_intercept:
                near = X[:1].toarray()[0] if sp.issparse(X) else X[0]
            for _, block in row_blocks(X):
                varies[outside] |= (block[:, outside] != near[outside]).any(axis=0)
                if varies[outside].all():
                    break
        return varies

    def blocks(self, center: np.ndarray) -> Any:
        """Yield ranges of rows, and their features less the center, float64."""
        origin, power = self.data_units.origin, self.data_units.power
        scaled = bool(power.any())
        for rows, block in row_blocks(self.X):
            Z = block - origin
            if scaled:
                Z = np.ldexp(Z, -power)
            Z -= center
            yield rows, Z

    def _long_blocks(self):
        """Yield ranges of dense rows, and their features in float64: of few ones more rows."""
        n, d = self.X.shape
        size = max(ROWS, _VALUES // d)
        for start in range(0, n, size):
            rows = slice(start, start + size)
            yield rows, self.X[rows].astype(np.float64, copy=False)

    def near(self, center: np.ndarray, squares: np.ndarray) -> bool:
        """Return True if products of dense features lose few digits to those less the center, whose
        sums of squares are `squares` (d,).
        """
        if sp.issparse(self.X) or self.data_units.power.any():
            return False
        return bool((self.total * self.data_units.point(center) ** 2 <= _FAR * squares).all())

    def residuals(
        self, coef: np.ndarray, center: np.ndarray, offset: np.ndarray, near: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sums over residuals ``r = y - offset - (x - center) coef``.

        They are ``sum s r²`` (k,), ``sum s r`` (k,) and ``sum s (x - center) r`` (d, k), of
        features as they are if these are `near` the center: float64 is not copied.
        """
        d, k = coef.shape
        if sp.issparse(self.X):
            X = self._scaled_sparse()
            center = center + np.ldexp(self.data_units.origin, -self.data_units.power)
            r = self.Y - offset - (X @ coef - center @ coef)
            weighted = r if self.weight is None else r * self.weight[:, None]
            total = weighted.sum(axis=0)
            products = X.T @ weighted - np.outer(center, total)
            return np.einsum("ij,ij->j", r, weighted), total, products
        squares, total, products = np.zeros(k), np.zeros(k), np.zeros((d, k))
        point = self.data_units.point(center)
        with single_threaded_blas():
            if near:
                offset = offset - point @ coef
            for rows, Z in self._long_blocks() if near else self.blocks(center):
                r = self.Y[rows] - offset
                r -= Z @ coef
                weighted = r if self.weight is None else r * self.weight[rows, None]
                squares += np.einsum("ij,ij->j", r, weighted)
                total += weighted.sum(axis=0)
                products += Z.T @ weighted
        if near:
            products -= np.outer(point, total)
        return squares, total, products

    def sparse_squares(self, center: np.ndarray) -> np.ndarray:
        """Return sums of squares (d,) of features less the center, of rows that are CSR."""
        X = self._scaled_sparse()
        center = center + np.ldexp(self.data_units.origin, -self.data_units.power)
        weight = np.ones(X.shape[0]) if self.weight is None else self.weight
        squares = sp.csr_array((np.square(X.data), X.indices, X.indptr), shape=X.shape).T @ weight
        squares += center * (weight.sum() * center - 2 * (X.T @ weight))
        return np.maximum(squares, 0.0)

    def _scaled_sparse(self):
        X, power = self.X, self.data_units.power
        data = X.data.astype(np.float64)
        if power.any():
            data = np.ldexp(data, -power[X.indices])
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)

    def triangle(
        self, center: np.ndarray, intercept: bool, root: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return R (m, d + k) with the squares and products of [x - center, y], and their mean.

        With an intercept R is of rows less their mean. `root` (d, r), which makes the columns
        nearly orthonormal, replaces QR by products in two thirds of the time.
        """
        triangle = None if root is None else self._triangle_by_products(center, intercept, root)
        return self._triangle_by_qr(center, intercept) if triangle is None else triangle

    def _triangle_by_products(self, center, intercept, root):
        """Return the triangle from sums over the rows times `root`; None if it is too rough.

        T. Fukaya, Y. Nakatsukasa, Y. Yanagisawa, Y. Yamamoto, *CholeskyQR2*, ScalA, 2014.
        """
        d, r, k = self.X.shape[1], root.shape[1], self.Y.shape[1]
        # Sums of the rows times the root, and of the targets less their mean.
        total, near = self.total, np.zeros(k)
        if intercept:
            near = np.average(self.Y, axis=0, weights=self.weight)
        sums, left, shift = np.zeros((r + k, r + k)), np.zeros(r + k), np.zeros(d)
        with single_threaded_blas():
            for rows, Z in self.blocks(center):
                w = np.ones(len(Z)) if self.weight is None else self.weight[rows]
                part = np.hstack((Z @ root, self.Y[rows] - near))
                left += w @ part
                shift += w @ Z
                if self.weight is not None:
                    part *= np.sqrt(w)[:, None]
                sums += part.T @ part
        # About the mean; too far from the identity, they have too few digits.
        mean = np.zeros(d + k)
        if intercept:
            mean = np.concatenate((shift, left[r:])) / total
            mean[d:] += near
            sums -= np.outer(left, left / total)
        G = sums[:r, :r]
        if not np.abs(G - np.eye(r)).sum(axis=0).max(initial=0.0) < _DEPARTURE:
            return None
        # The triangle R: its features, its targets, and the squares left of these.
        U = linalg.cholesky(G)
        kept = np.flatnonzero(root.any(axis=1))
        R = np.zeros((r + k, d + k))
        R[:r, kept] = linalg.solve_triangular(root[kept].T, U.T, lower=True).T
        R[:r, d:] = linalg.solve_triangular(U.T, sums[:r, r:], lower=True)
        beside = sums.diagonal()[r:] - np.square(R[:r, d:]).sum(axis=0)
        R[r:, d:] = np.diag(np.sqrt(np.maximum(beside, 0.0)))
        return R, mean

    def _triangle_by_qr(self, center, intercept):
        n, d = self.X.shape
        k, first = self.Y.shape[1], int(intercept)
        width = first + d + k
        require_memory(
            min(n, width) + min(n, 1024), width, 24, what="a triangle of the rows",
            instead="use fewer features",
        )  # fmt: skip
        R, pending, waiting = np.zeros((0, width)), [], 0
        size = max(1024, width)  # rows of a block: as many as R has

        def absorb(R, pending):
            rows = np.concatenate((R, *pending))
            return stoppable(lambda: np.linalg.qr(rows, mode="r"), 2 * rows.size * width)

        for rows, Z in self.blocks(center):
            part = np.ones((len(Z), width))
            part[:, first : first + d] = Z
            part[:, first + d :] = self.Y[rows]
            if self.weight is not None:
                part *= np.sqrt(self.weight[rows])[:, None]
            pending.append(part)
            waiting += len(part)
            if waiting >= size:
                R, pending, waiting = absorb(R, pending), [], 0
        if pending:
            R = absorb(R, pending)
        mean = R[0, 1:] / R[0, 0] if intercept else np.zeros(d + k)
        return R[first:, first:], mean
