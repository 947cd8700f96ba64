"""Base class of kernels of strings and sets: calls, normalised values, and the transformer."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.estimator.mixins import Transformer
from mlcore.estimator.model import Model
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.kernel_rows import KernelRows, SymmetricRows
from mlcore.runtime.memory import require_memory

_BLOCK = 1 << 16  # values that stay in cache


class EncodedKernel(Transformer, Kernel, Model):
    """A kernel of samples that it encodes, positive semi-definite, with ``normalize=``."""

    positive_semidefinite = True
    normalize: bool

    X_fit_: EncodedSamples
    _stored = {"X_fit_": "rows n _"}

    @abstractmethod
    def _values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, y) without normalisation, float64 (n, m), n and m not 0; X may be Y."""

    @abstractmethod
    def _squares(self, X: Any) -> np.ndarray:
        """Return k(x, x) without normalisation, float64 (n,)."""

    def _checked(self, values: np.ndarray) -> np.ndarray:
        """Return values that are not normalised, in their unit; refuse those out of range."""
        return values

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the kernel values between two lists of samples.

        Parameters
        ----------
        X : list, tuple, array or series of n samples
        Y : the same of m samples, optional
            X by default: then half is computed, and the result is exactly symmetric.

        Returns
        -------
        K : float64 (n, m)

        Raises
        ------
        MemoryError
            If the result does not fit into free memory.
        TypeError, ValueError
            For samples that cannot be encoded or compared, and values out of range.
        """
        X = self.encode(X)
        Y = X if Y is None else self.encode(Y)
        n, m = len(X), len(Y)
        require_memory(n, m, 8, what="the Gram matrix", instead="compute it for blocks of samples")
        if not n * m:
            return np.zeros((n, m))
        K = self._values(X, Y)
        if not self.normalize:
            return self._checked(K)
        return _normalized(K, X, Y, self._squares(X), self._squares(Y))

    def diagonal(self, X: Any) -> np.ndarray:
        """Return k(x, x) of all samples, float64 (n,).

        Parameters
        ----------
        X : list of n samples

        Returns
        -------
        values : (n,) float64
            k(x, x) of each sample.
        """
        X = self.encode(X)
        return np.ones(len(X)) if self.normalize else self._checked(self._squares(X))

    def rows(self, X: EncodedSamples, double: bool) -> KernelRows:
        """Return the rows of the Gram matrix of X, to be computed where they are needed.

        Parameters
        ----------
        X : container of n samples
            As `encode` returns them.
        double : bool
            Whether values are wanted in float64.

        Returns
        -------
        rows : KernelRows
            They are computed when asked for.
        """
        return SymmetricRows(self, X, double)

    # ---- as a transformer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the samples, with which those of `transform` are compared.

        Parameters
        ----------
        X : list, tuple, array or series of n_samples samples
        y : ignored

        Returns
        -------
        self
            This model.
        """
        samples = self.encode(X)
        self._set_fitted(samples, X_fit_=samples, **self._found(samples))
        return self

    def _found(self, samples: Any) -> dict[str, Any]:
        """Return what else a fit finds."""
        return {}

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Return the kernel values between the samples of a fit, float64 (n, n).

        Parameters
        ----------
        X : list of n samples
        y : ignored
        **fit_params : dict
            Passed on to `fit`.

        Returns
        -------
        values : (n, n) float64
            Gram matrix of the samples.
        """
        return self._wrap(self.fit(X)(self.X_fit_), X)

    def transform(self, X: Any) -> np.ndarray:
        """Return the kernel values between samples and those of the fit, float64 (n, n_fit).

        Parameters
        ----------
        X : list of n samples

        Returns
        -------
        values : (n, n_fit) float64
            Of the samples with those of the fit.
        """
        self._check_fitted()
        return self._wrap(self(X, self.X_fit_), X)

    def _scaled_features(self, X: Any, features: Any) -> sp.csr_array:
        """Return features whose inner products are the values; normalised, with a last column."""
        if not self.normalize:
            return sp.csr_array(features)
        squares = self._squares(X)
        empty = squares == 0
        scaled = sp.diags_array(1 / np.sqrt(np.where(empty, 1.0, squares))) @ features
        return sp.csr_array(sp.hstack([scaled, sp.csr_array(empty[:, None].astype(float))]))

    def _n_out(self):
        return len(self.X_fit_)


def _normalized(
    K: np.ndarray, X: EncodedSamples, Y: EncodedSamples, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return k(x, y) / sqrt(k(x, x) k(y, y)) in the place of K, at most 1.

    A sample and itself have exactly 1. Samples without features, of k(x, x) = 0, have 1 with each
    other and 0 with the rest, as if they shared a feature of their own.

    Parameters
    ----------
    K : float64 (n, m)
        k(x, y).
    X, Y : the n and m samples
    rows, columns : float64 (n,), (m,)
        k(x, x) and k(y, y).
    """
    (rows, row_scales), (columns, scales) = map(_apart, (rows, columns))
    step = max(1, _BLOCK // max(1, len(columns)))
    for first in range(0, len(rows), step):
        part, block = slice(first, first + step), K[first : first + step]
        block *= row_scales[part, None]
        block *= scales
        block /= np.sqrt(np.multiply.outer(rows[part], columns))
        np.minimum(block, 1.0, out=block)
    K[np.ix_(row_scales == 0, scales == 0)] = 1.0
    if X.same(Y):
        places = np.argsort(Y.chosen, kind="stable")
        found = np.searchsorted(Y.chosen[places], X.chosen)
        found = places[np.minimum(found, len(places) - 1)]
        itself = Y.chosen[found] == X.chosen
        K[np.flatnonzero(itself), found[itself]] = 1.0
    return K


def _apart(squares):
    """Return squares in [1/2, 2), and the power of two by which each root is to be multiplied.

    The root of a product of two squares is then exact for equal ones, and neither too large nor too
    small. Of 0 it is 1, and the power 0.
    """
    mantissas, exponents = np.frexp(squares)  # in [1/2, 1)
    odd = exponents % 2
    halves = (exponents - odd) // 2
    return (
        np.where(squares > 0, np.ldexp(mantissas, odd), 1.0),
        np.where(squares > 0, np.ldexp(1.0, -halves), 0.0),
    )
