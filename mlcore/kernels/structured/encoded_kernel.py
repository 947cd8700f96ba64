"""Base class of kernels of strings and sets: calls, normalised values, and the transformer."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.estimator.mixins import Transformer
from mlcore.estimator.model import Model
from mlcore.kernels.kernel import Kernel
from mlcore.runtime.memory import require_memory

_BLOCK = 1 << 16  # values that stay in cache


class StructuredKernel(Kernel):
    """A kernel of encoded strings or sets, positive semi-definite, with checked parameters.

    With `normalize` k(x, y) is divided by the root of k(x, x) k(y, y).
    """

    positive_semidefinite = True
    halves = True
    normalize: bool

    @abstractmethod
    def products(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, y) without normalisation, float64 (n, m), n and m not 0; X may be Y."""

    @abstractmethod
    def squares(self, X: Any) -> np.ndarray:
        """Return k(x, x) without normalisation, float64 (n,)."""

    def in_unit(self, values: np.ndarray) -> np.ndarray:
        """Return values that are not normalised, in their unit; refuse those out of range."""
        return values

    def fitted(self, samples: Any) -> dict[str, Any]:
        """Return the attributes of a fit to these samples."""
        return {}

    def __call__(self, X: EncodedSamples, Y: EncodedSamples) -> np.ndarray:
        n, m = len(X), len(Y)
        require_memory(n, m, 8, what="the Gram matrix", instead="compute it for blocks of samples")
        if not n * m:
            return np.zeros((n, m))
        K = self.products(X, Y)
        if not self.normalize:
            return self.in_unit(K)
        return _normalized(K, X, Y, self.squares(X), self.squares(Y))

    def diagonal(self, X: EncodedSamples) -> np.ndarray:
        return np.ones(len(X)) if self.normalize else self.in_unit(self.squares(X))

    def scaled_features(self, X: EncodedSamples, features: Any) -> sp.csr_array:
        """Return features whose inner products are the values; normalised, with a last column."""
        if not self.normalize:
            return sp.csr_array(features)
        squares = self.squares(X)
        empty = squares == 0
        scaled = sp.diags_array(1 / np.sqrt(np.where(empty, 1.0, squares))) @ features
        return sp.csr_array(sp.hstack([scaled, sp.csr_array(empty[:, None].astype(float))]))


class EncodedKernel(Transformer, Kernel, Model):
    """A kernel of samples that it encodes, an estimator, and a transformer to kernel values.

    `_settings` returns a `StructuredKernel` of checked parameters, which computes the values.
    """

    positive_semidefinite = True
    normalize: bool

    X_fit_: EncodedSamples
    _stored = {"X_fit_": "rows n _"}

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
        kernel, X = self._settings(), self.encode(X)
        return kernel(X, X if Y is None else self.encode(Y))

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
        return self._settings().diagonal(self.encode(X))

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
        kernel, samples = self._settings(), self.encode(X)
        self._set_fitted(samples, X_fit_=samples, **kernel.fitted(samples))
        return self

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

    def _n_out(self):
        return len(self.X_fit_)


def _normalized(
    K: np.ndarray, X: EncodedSamples, Y: EncodedSamples, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return k(x, y) / sqrt(k(x, x) k(y, y)) in the place of K = k(x, y), (n, m), at most 1.

    `rows` and `columns` are k(x, x) and k(y, y); where both are 0 the value is 1, else 0.
    """
    (rows, row_scales), (columns, scales) = map(_scaled_squares, (rows, columns))
    step = max(1, _BLOCK // max(1, len(columns)))
    for first in range(0, len(rows), step):
        batch, block = slice(first, first + step), K[first : first + step]
        block *= row_scales[batch, None]
        block *= scales
        block /= np.sqrt(np.multiply.outer(rows[batch], columns))
        np.minimum(block, 1.0, out=block)
    K[np.ix_(row_scales == 0, scales == 0)] = 1.0
    if X.same(Y):
        places = np.argsort(Y.chosen, kind="stable")
        columns = np.searchsorted(Y.chosen[places], X.chosen)
        columns = places[np.minimum(columns, len(places) - 1)]
        itself = Y.chosen[columns] == X.chosen
        K[np.flatnonzero(itself), columns[itself]] = 1.0
    return K


def _scaled_squares(squares):
    """Return squares in [1/2, 2), and the power of two by which each root is to be multiplied.

    The root of a product of two equal ones is then exact. Of 0 it is 1, and the power 0.
    """
    mantissas, exponents = np.frexp(squares)  # in [1/2, 1)
    odd = exponents % 2
    halves = (exponents - odd) // 2
    return (
        np.where(squares > 0, np.ldexp(mantissas, odd), 1.0),
        np.where(squares > 0, np.ldexp(1.0, -halves), 0.0),
    )
