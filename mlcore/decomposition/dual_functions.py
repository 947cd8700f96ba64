"""Functions in the feature space of a kernel, given by coefficients of samples."""

from typing import Any

import numpy as np
from scipy import sparse

from mlcore.kernels.expansion import Expansion, row_blocks
from mlcore.kernels.kernel import Kernel, as_double, of_numbers, precision
from mlcore.runtime.threads import single_threaded_blas

_VALUES = 1 << 17  # of a block of rows


class DualFunctions:
    """Functions ``intercept + sum_i coef[i] k(x_i, .)``, prepared to be evaluated, float64.

    Their mean over samples weighted by `mean_coef` (n,), of sum 1, is 0; columns of `coef` (n, k)
    sum to 0. Samples are rows, CSR, what `kernel.encode` returns, or a matrix of kernel values.
    """

    dtype: np.dtype

    def __init__(
        self,
        samples: Any,
        kernel: Kernel,
        mean_coef: np.ndarray,
        coef: np.ndarray,
        intercept: np.ndarray,
    ) -> None:
        self.dtype, self._coef, self._intercept = precision(samples), coef, intercept
        self._line = self._expansion = None
        if is_linear(kernel, samples):
            self._line = mean_and_directions(samples, mean_coef, coef)
        elif kernel.precomputed:
            self._expansion = Expansion(np.arange(len(coef)), kernel)
        else:
            self._expansion = Expansion(as_double(samples), kernel)

    def __call__(self, samples: Any) -> np.ndarray:
        """Return the values (m, k) at other samples, in the precision of those of the fit."""
        if self._line is not None:
            mean, U = self._line
            if not sparse.issparse(samples):
                return projected(samples, mean, U)
            return (as_double(samples) @ U - mean @ U).astype(self.dtype, copy=False)
        values = self._expansion.sums(as_double(samples), self._coef)
        values += self._intercept
        return values.astype(self.dtype, copy=False)


def is_linear(kernel: Kernel, samples: Any) -> bool:
    """Return True for the linear kernel of dense samples, from which their mean can be taken."""
    return kernel.linear and isinstance(samples, np.ndarray) and of_numbers(samples)


def without_mean(samples: Any, kernel: Kernel, mean_coef: np.ndarray) -> Any:
    """Return samples in float64 with the same centred Gram matrix, less their mean if they can be.

    An offset far from 0 would leave no digits of the inner products of what differs.
    """
    if not is_linear(kernel, samples):
        return as_double(samples)
    centred = samples - samples[np.argmax(mean_coef)].astype(np.float64)
    centred -= mean_coef @ centred
    return centred


def mean_and_directions(
    samples: np.ndarray, mean_coef: np.ndarray, coef: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean (d,), and U (d, k): a linear kernel's values are ``(x - mean) U``."""
    origin = samples[np.argmax(mean_coef)].astype(np.float64)
    shift, U = np.zeros(samples.shape[1]), np.zeros((samples.shape[1], coef.shape[1]))
    for rows in row_blocks(samples, samples.shape[1]):
        centred = samples[rows] - origin
        shift += mean_coef[rows] @ centred
        U += centred.T @ coef[rows]
    return origin + shift, U


def projected(X: np.ndarray, mean: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return ``(X - mean) @ directions`` in the type of X, block by block."""
    out = np.empty((len(X), directions.shape[1]), X.dtype)
    step = max(256, _VALUES // X.shape[1])
    with single_threaded_blas():
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            np.matmul((X[rows] - mean).astype(X.dtype, copy=False), directions, out=out[rows])
    return out
