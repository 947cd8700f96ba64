"""Gram matrix of weighted samples whose mean in feature space is the origin, as an operator."""

from typing import Any

import numpy as np

from mlcore.checks.errors import warn
from mlcore.kernels.gram_rows import KernelRows
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.single_precision import Single, centered_single
from mlcore.numerics.eigen import Scaled, times

_EPS = float(np.finfo(np.float64).eps)
_FEW = 10  # an eigenvalue of a small matrix is wrong by some roundings too
_SAFE = 1e-100, 1e100  # kernel values between these can be squared and summed
_HIDDEN = 1e-3  # of the largest eigenvalue: rounding above this share is reported


def warn_of_rounding(share: float, owner: str) -> None:
    """Warn that the rounding of kernel values makes up this share of the largest eigenvalue."""
    if share > _HIDDEN:
        warn(
            "UserWarning",
            f"{owner}: kernel values are far larger than what differs among samples, and their "
            f"rounding makes up {share:.1g} of the largest eigenvalue: subtract the mean "
            "of the samples first, or use another width of the kernel.",
        )


def warn_of_negative(kernel: Kernel, value: float) -> None:
    """Warn that the centred Gram matrix has this negative eigenvalue."""
    warn(
        "UserWarning",
        f"kernel {kernel.name!r} is not positive semi-definite on these samples: the centred Gram "
        f"matrix has the eigenvalue {value:.6g}, and negative ones count as 0.",
    )


class CenteredGram:
    """The matrix ``P diag(s) K diag(s) P``, s = w^(1/2), P = I - s s'/W, which is never formed.

    It equals ``w^(1/2) H K H' w^(1/2)`` with H = I - 1 w'/W. K and all attributes are 2^-power
    times those of the kernel (`power` is even): `mean_coef` (n,) is w / W, `means` (n,) ``K w /
    W``, `mean_squared_norm` ``w'K w / W²``.
    """

    n: Any
    power: int
    w: np.ndarray
    s: np.ndarray
    total: float
    unit: np.ndarray
    mean_coef: np.ndarray
    means: np.ndarray
    mean_squared_norm: float
    trace: float

    sparse = False

    def __init__(self, rows: KernelRows, w: np.ndarray) -> None:
        K, self.n, self.power = rows.gram(), rows.n, 0
        largest = float(np.abs(rows.diagonal).max())
        if largest > 0 and not _SAFE[0] < largest < _SAFE[1]:
            self.power = int(np.frexp(largest)[1]) // 2 * 2
            K = np.ldexp(K, -self.power)
        self.w, self.s, self.total = w, np.sqrt(w), float(w.sum())
        self.unit = self.s / np.linalg.norm(self.s)
        self.mean_coef = w / self.total
        self.means = times(K, self.mean_coef[:, None])[:, 0].copy()
        self.mean_squared_norm = float(self.mean_coef @ self.means)
        self.trace = float(w @ (K.diagonal() - 2 * self.means + self.mean_squared_norm))
        flat = bool((K[0] == K[0, 0]).all() and (K == K[0, 0]).all())
        self._of_equals = flat and rows.are_equal()
        self._rounding = _EPS * float(np.ldexp(largest, -self.power))
        self._scaled = Scaled(K, None if (self.s == 1).all() else self.s)

    @property
    def size(self) -> float:
        """The Frobenius norm before centring: a bound of all eigenvalues by modulus."""
        return float(np.linalg.norm(self._scaled.dense()))

    def rounding(self, largest: float) -> float:
        """Return how large an eigenvalue may be that is 0, given the largest one."""
        return max((self.n + _FEW) * _EPS * largest, self.total * self._rounding)

    def hidden(self, largest: float) -> float:
        """Return the share of the largest eigenvalue that rounding of the kernel makes up.

        0 for samples that are equal.
        """
        rounding = self.total * self._rounding
        return rounding / max(largest, rounding) if rounding and not self._of_equals else 0.0

    def rounded(self) -> Single:
        """Return the matrix formed in float32, times a number that makes its largest entry 1."""
        K, scale = self._scaled.K, self.s
        largest = float((K.diagonal() * self.w).max())
        if largest > 0:
            scale = scale / np.sqrt(largest)
        return centered_single(K, self.means, self.mean_squared_norm, scale)

    def coefficients(self, Q: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return ``H's Q values^(-1/2)``, whose columns sum to 0; 0 where the value is."""
        inverse = np.zeros(len(values))
        np.divide(1.0, np.sqrt(values), out=inverse, where=values > 0)
        V = self.s[:, None] * Q * inverse
        return V - self.mean_coef[:, None] * V.sum(axis=0)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, m), float64."""
        return self._projected(self._scaled @ self._projected(V))

    def dense(self) -> np.ndarray:
        """Return a copy of the matrix, float64."""
        A = self._scaled.K - (self.means - self.mean_squared_norm)
        A -= self.means[:, None]
        A *= self.s[:, None]
        A *= self.s
        u = self.unit
        along = times(A, u[:, None])[:, 0]  # rounding errors, which add up
        along -= (along @ u / 2) * u
        A -= along[:, None] * u
        A -= u[:, None] * along
        return A

    def _projected(self, V):
        return V - self.unit[:, None] * (self.unit @ V)


class Negative:
    """The matrix -S, whose leading eigenvalue is the lowest of S."""

    n: Any

    sparse = False

    def __init__(self, S: CenteredGram) -> None:
        self.S, self.n = S, S.n

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, m), float64."""
        return -(self.S @ V)

    def dense(self) -> np.ndarray:
        """Return a copy of the matrix, float64."""
        return -self.S.dense()
