"""Kernels by name, of rows of numbers, and what the parameters `kernel` and `gamma` mean.

They are computed by the loops of `mlcore._ext.kernels.packed`.

To add one, write its class here, with the properties that the layouts of `mlcore.kernels.packed`
need, its name in `VectorKernelName`, and its line and formulas in kernel_formulas.h beside the
loops. Names and codes come from these two files. A kernel of samples of any kind needs no more than
a subclass of `Kernel`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from scipy import sparse

from mlcore.checks import as_choice, as_real
from mlcore.kernels.gram_rows import KernelRows, PackedRows
from mlcore.kernels.kernel import FunctionKernel, Kernel, PrecomputedKernel
from mlcore.kernels.packed import Packed, row_sums

VectorKernelName = Literal[
    "linear", "polynomial", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2"
]
KernelName = VectorKernelName | Literal["precomputed"]
GammaRule = Literal["scale", "auto"]
_BLOCK = 1024  # rows, each with its weight, that are summed at once
_ENTRIES = 2**20  # of a block of dense samples


@dataclass(frozen=True)
class VectorKernel(Kernel):
    """A kernel of rows of numbers; `gamma` is a number, or what `resolve_gamma` makes one."""

    gamma: Any = 1.0
    degree: int = 3
    coef0: float = 0.0

    positive_semidefinite = True
    uses_gamma: ClassVar[bool] = True
    packed: ClassVar[bool] = True

    # Term of each sample beside inner products: gamma times the sum of its "squares", the sum of
    # its "absolute" values, or none.
    row_term: ClassVar[str | None] = None
    exponential: ClassVar[bool] = False  # exp(-gamma ...): the loops compute a power of 2
    differences: ClassVar[bool] = False  # a sum over features of terms other than products
    shift_invariant: ClassVar[bool] = False  # k(x + c, y + c) = k(x, y)
    gamma_power: ClassVar[float | None] = None  # X times gamma ** gamma_power stands for gamma
    overflows: ClassVar[bool] = False  # values may be out of range: `require_range` says so
    unit_norm: ClassVar[bool] = False  # a kernel of the samples' directions only

    def with_gamma(self, gamma: float) -> Self:
        return replace(self, gamma=gamma)

    def diagonal_from(self, squared_norms: np.ndarray) -> np.ndarray:
        """Return k(x, x), float64 (n,), from |x|²; exponential kernels need none: it is 1."""
        raise NotImplementedError

    def largest(self, X: Any) -> float:
        """Return the approximate largest |k(x, y)| on these samples."""
        return 1.0

    def condition_of(self, squared_norm: float) -> float:
        """Return the error of the largest value in units of one rounding, of 1.

        `squared_norm` is the largest |x|²; for kernels whose values are at most 1 any number.
        """
        return 1.0

    def require_range(self, norms: float, dtype: np.dtype) -> None:
        """Refuse values that `dtype` cannot hold, where |x||y| reaches `norms`."""

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        return self.against(Y)(X)

    def diagonal(self, X: Any) -> np.ndarray:
        if self.exponential:
            return np.ones(X.shape[0])
        return self.diagonal_from(row_sums(X, "squares"))

    def rows(self, X: Any, double: bool) -> KernelRows:
        return PackedRows(self, X, double)

    def against(self, V: Any) -> Callable[..., np.ndarray]:
        columns = Packed(V, self, dtype=V.dtype).only_columns()

        def values(X, out=None):
            rows = Packed(X, self, dtype=V.dtype, like=columns)
            order = np.arange(rows.n)
            if out is None:
                out = np.empty((rows.n, columns.n), V.dtype)
            rows.block(order, columns.columns(), out, order)
            return out[: rows.n]

        return values


class Linear(VectorKernel):
    """x.y"""

    name = "linear"
    uses_gamma = False
    linear = origin_free = True

    def diagonal_from(self, squared_norms: np.ndarray) -> np.ndarray:
        return squared_norms

    def largest(self, X: Any) -> float:
        return float(row_sums(X, "squares").max(initial=0.0))

    def condition_of(self, squared_norm: float) -> float:
        return squared_norm


class Polynomial(VectorKernel):
    """(gamma x.y + coef0)^degree"""

    name = "polynomial"
    gamma_power = 0.5
    overflows = True

    @property
    def positive_semidefinite(self) -> bool | None:
        return True if self.coef0 >= 0 else None

    @property
    def origin_free(self) -> bool:
        return self.degree == 1

    def diagonal_from(self, squared_norms: np.ndarray) -> np.ndarray:
        return (self.gamma * squared_norms + self.coef0) ** self.degree

    def largest(self, X: np.ndarray) -> float:
        largest = row_sums(X, "squares").max(initial=0.0)
        with np.errstate(over="ignore", under="ignore"):
            return float((self.gamma * largest + abs(self.coef0)) ** self.degree)

    def condition_of(self, squared_norm: float) -> float:
        base = self.gamma * squared_norm + abs(self.coef0)
        return max(1, self.degree) * base**self.degree

    def require_range(self, norms: float, dtype: Any) -> None:
        base = max(self.gamma * norms + abs(self.coef0), 1.0)
        if self.degree * np.log(base) >= np.log(np.finfo(dtype).max):
            raise ValueError(
                f"The polynomial kernel overflows {np.dtype(dtype)}: its values reach {base:.3g} "
                f"to the power of degree={self.degree}. Scale the features, or lower gamma, coef0 "
                "or degree."
            )


class RBF(VectorKernel):
    """exp(-gamma |x - y|²)"""

    name = "rbf"
    gamma_power = 0.5
    row_term = "squares"
    exponential = shift_invariant = gaussian = True


class Laplacian(VectorKernel):
    """exp(-gamma sum_f |x_f - y_f|)"""

    name = "laplacian"
    gamma_power = 1.0
    row_term = "absolute"
    exponential = shift_invariant = differences = True


class Sigmoid(VectorKernel):
    """tanh(gamma x.y + coef0)"""

    name = "sigmoid"
    positive_semidefinite = None
    gamma_power = 0.5

    def diagonal_from(self, squared_norms: np.ndarray) -> np.ndarray:
        return np.tanh(self.gamma * squared_norms + self.coef0)


class Cosine(VectorKernel):
    """x.y / (|x| |y|), and 0 where x or y is 0"""

    name = "cosine"
    uses_gamma = False
    unit_norm = True

    def diagonal_from(self, squared_norms: Any) -> Any:
        return (squared_norms > 0).astype(np.float64)


class Chi2(VectorKernel):
    """exp(-gamma sum_f (x_f - y_f)² / (x_f + y_f)), for values of at least 0"""

    name = "chi2"
    gamma_power = 1.0
    row_term = "absolute"
    exponential = differences = True

    def require_valid(self, X: Any, name: Any) -> None:
        low = X.data.min(initial=0.0) if sparse.issparse(X) else X.min(initial=0.0)
        if low < 0:
            raise ValueError(
                f"Negative values in data passed as {name} (least: {low:g}); "
                "the chi2 kernel needs values of at least 0."
            )


_BY_NAME = {kernel.name: kernel for kernel in VectorKernel.__subclasses__()}
_ALIASES = {"poly": "polynomial"}
KERNELS = tuple(_BY_NAME)


def as_kernel(
    kernel: Any,
    *,
    gamma: Any = 1.0,
    degree: int = 3,
    coef0: float = 0.0,
    precomputed: bool = True,
    owner: str = "",
) -> Kernel:
    """Return the `Kernel` for a name, for a user's function or for a `Kernel`; else raise.

    `gamma` may be a rule's name; errors name the model `owner`.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FunctionKernel(kernel)
    if not isinstance(kernel, str) or (kernel not in _BY_NAME and kernel not in _ALIASES):
        names = (*KERNELS, *_ALIASES, "precomputed") if precomputed else KERNELS
        as_choice(kernel, "kernel", names, owner=owner)
        return PrecomputedKernel()
    return _by_name(kernel, gamma, degree, coef0)


@lru_cache(typed=True)
def _by_name(name, gamma, degree, coef0):
    return _BY_NAME[_ALIASES.get(name, name)](gamma, degree, coef0)


def resolve_gamma(gamma: float | GammaRule, X: Any, weight: np.ndarray | None = None) -> float:
    """Return the number that `gamma` means for these samples, X (n, d).

    "scale" is 1 / (d Var(X)), with `weight` (n,) in the variance; "auto" is 1 / d.
    """
    if isinstance(gamma, str):
        as_choice(gamma, "gamma", get_args(GammaRule))
        d = X.shape[1]
        if gamma == "auto":
            return 1.0 / d
        if weight is not None and np.ptp(weight) > 0:
            return _weighted_scale(X, weight)
        if sparse.issparse(X):
            size = X.shape[0] * d
            mean = X.data.sum(dtype=np.float64) / size
            variance = np.square(X.data, dtype=np.float64).sum() / size - mean**2
        else:
            mean, squares = X.sum(dtype=np.float64) / X.size, 0.0
            # No copy of X, and Ctrl-C is heard between the blocks.
            n_rows = max(1, _ENTRIES // d)
            for start in range(0, X.shape[0], n_rows):
                centred = X[start : start + n_rows] - mean
                squares += float(np.einsum("ij,ij->", centred, centred))
            variance = squares / X.size
        return 1.0 / (d * variance) if variance > 0 and np.isfinite(1.0 / variance) else 1.0
    return as_real(gamma, "gamma", at_least=0.0)


def _weighted_scale(X, weight) -> float:
    """Return gamma="scale" of weighted samples; a weight of 2 counts as a copy."""
    weight = weight / weight.max()
    n_features = X.shape[1]
    total = weight.sum() * n_features
    rows = X.sum(axis=1, dtype=np.float64)
    mean = float((weight * np.asarray(rows).ravel()).sum()) / total
    squares = 0.0
    for start in range(0, X.shape[0], _BLOCK):
        block, w = X[start : start + _BLOCK], weight[start : start + _BLOCK]
        if sparse.issparse(block):
            stored = np.diff(block.indptr)
            inside = np.repeat(w, stored) @ (block.data.astype(np.float64) - mean) ** 2
            squares += float(inside + mean**2 * (w @ (n_features - stored)))
        else:
            squares += float(w @ ((block.astype(np.float64) - mean) ** 2).sum(axis=1))
    variance = squares / total
    return 1.0 / (n_features * variance) if variance > 0 else 1.0
