"""Ridge functions in a span for any alpha, and criteria that choose among them, from sums."""

from collections.abc import Callable, Iterator

import numpy as np

from mlcore.kernel_ridge.alpha_path.search import POINTS, around, best_alphas, grid, vertex
from mlcore.kernel_ridge.linear_system.system import EPS
from mlcore.kernel_ridge.span_system import SpanSystem
from mlcore.numerics.eigen.lapack import eigenpairs
from mlcore.runtime.threads import single_threaded_blas

_PASSES = 2  # over the rows, each with 50 alphas between the neighbours of the best before

Blocks = Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]


class SpanPath:
    """Eigenvectors of the features' inner products, and what follows for any alpha in O(m).

    With F (n, m) the weighted features, ``A = F'F`` has eigenvalues s, r of them above 0, t are the
    products of its eigenvectors with F'y, and e is the sum of squares beyond the span:

    - ``log det(S + alpha I) = sum log(s + alpha) + (n - r) log alpha``;
    - ``alpha tr (S + alpha I)^-1 = sum alpha / (s + alpha) + n - r``;
    - ``y'(S + alpha I)^-1 y = sum t²/s / (s + alpha) + e / alpha``;
    - the sum of squared residuals is ``sum t²/s (alpha / (s + alpha))² + e``.

    With an intercept features and targets are less their means, and n is n - 1. O(m³) time once.
    """

    values: np.ndarray
    vectors: np.ndarray
    products: np.ndarray

    def __init__(self, system: SpanSystem) -> None:
        self.system = system
        with single_threaded_blas():
            values, vectors = eigenpairs(system.A)
            good = values > system.m * EPS * max(values[-1], 0.0)
            self.values, self.vectors = values[good], vectors[:, good]
            self.products = self.vectors.T @ system.C
        self._free = max(system.n_contrasts - len(self.values), 0)
        self._squares = self.products**2 / self.values[:, None]
        left = system.squares - self._squares.sum(axis=0)
        rounding = 2 * np.sqrt(max(system.n_samples, system.m)) * EPS * system.squares
        self._left = np.where((left > rounding) & (self._free > 0), left, 0.0)

    def theta(self, alpha: float) -> np.ndarray:
        """Return the coordinates of the functions, (m, k)."""
        with single_threaded_blas():
            return self.vectors @ (self.products / (self.values + alpha)[:, None])

    def degrees_of_freedom(self, alpha: float) -> float:
        """Return the trace of the map from targets to fitted values."""
        return float((self.values / (self.values + alpha)).sum()) + self.system.fit_intercept

    def criterion(self, name: str, alpha: float, columns: np.ndarray) -> np.ndarray:
        """Return "gcv" or "likelihood" as `AlphaPath` defines them, (k,)."""
        squares, left = self._squares[:, columns], self._left[columns]
        system, shrunk = self.system, alpha / (self.values + alpha)
        if name == "gcv":
            trace = float(shrunk.sum()) + self._free
            return system.n_samples * ((shrunk / trace) ** 2 @ squares + left / trace**2)
        log = float(np.log(self.values + alpha).sum()) + self._free * np.log(alpha)
        if system.fit_intercept:
            log += np.log(system.total)
        n = max(system.n_contrasts, 1)
        with np.errstate(divide="ignore"):
            return log + n * np.log((shrunk @ squares + left) / (alpha * n))

    def left_out(
        self, blocks: Blocks, groups: list[tuple[np.ndarray, np.ndarray]]
    ) -> list[np.ndarray]:
        """Return weighted means of squared leave-one-out errors, an (a, j) array for each group.

        A group is alphas (a,) and targets (j,); a block is features, targets and weights of rows.
        """
        system, m, total = self.system, self.system.m, 0.0
        error_sums = [np.zeros((len(alphas), len(columns))) for alphas, columns in groups]
        own = 1 / system.total if system.fit_intercept else 0.0
        for phi, y, weight in blocks:
            if system.fit_intercept:
                phi, y = phi - system.mean[:m], y - system.mean[m:]
            total += float(weight.sum())
            with single_threaded_blas():
                z = phi @ self.vectors
                for sums, (alphas, columns) in zip(error_sums, groups, strict=True):
                    h = 1 / (self.values[:, None] + alphas)
                    left = np.maximum(1 - weight[:, None] * (z**2 @ h + own), EPS)
                    for j, column in enumerate(columns):
                        fitted = z @ (h * self.products[:, column, None])
                        sums[:, j] += weight @ ((y[:, column, None] - fitted) / left) ** 2
        return [sums / total for sums in error_sums]

    def best_alphas(self, name: str, blocks: Callable[[int], Blocks] | None) -> np.ndarray:
        """Return for each target the alpha of the least criterion, (k,).

        `blocks`, for "loo", takes the number of values computed at a time for each row.
        """
        top, every = float(self.values.max(initial=0.0)), np.arange(self.products.shape[1])
        if blocks is None:
            return best_alphas(
                lambda alpha, columns: self.criterion(name, alpha, columns), top, len(every)
            )
        groups = [(grid(top), every)]
        for _ in range(_PASSES):
            errors = self.left_out(blocks(POINTS), groups)
            curves = [
                (alphas, of_target)
                for (alphas, _), values in zip(groups, errors, strict=True)
                for of_target in values.T
            ]
            groups = [
                (np.geomspace(*around(alphas, values.argmin()), POINTS), every[j : j + 1])
                for j, (alphas, values) in enumerate(curves)
            ]
        return np.array([vertex(alphas, values) for alphas, values in curves])
