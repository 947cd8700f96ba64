"""Projection of rows on orthonormal components, and back."""

from typing import Any

import numpy as np

from mlcore.checks import as_samples
from mlcore.checks.errors import peer_class
from mlcore.estimator.mixins import Transformer
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.threads import single_threaded_blas

_VALUES = 1 << 17  # of a block of rows


class OrthogonalProjection(Transformer):
    """Mixin of models with orthonormal `components_` about `mean_` in units of `scale_`."""

    def _check_components(self):
        """Raise NotFittedError where `begin` was called and `update` was not."""
        self._check_fitted()
        if not hasattr(self, "components_"):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but has no "
                "components. Call 'update' or 'fit' first."
            )

    @single_threaded_blas()
    def transform(self, X: Any) -> Any:
        """Return the projections of the rows of `X`, (n_samples, n_components_), of the fit's type.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        Y : (n_samples, n_components_)
            In the precision of the fit, or the frame of `set_output`.
        """
        self._check_components()
        checked = self._check_X(X, reset=False, like=self.components_)
        out = np.empty((checked.shape[0], self.n_components_), checked.dtype)
        for rows, block in self._centered(checked):
            out[rows] = block @ self.components_.T
        if self.whiten:
            deviations = self._deviations()
            whitening = np.where(deviations > 0, 1 / np.where(deviations > 0, deviations, 1), 0)
            out *= whitening.astype(out.dtype)
        return self._wrap(out, X)

    @single_threaded_blas()
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the points (n_samples, n_features) of which the rows of `X` are projections.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)

        Returns
        -------
        points : (n_samples, n_features)
            In the units of the samples.
        """
        self._check_components()
        Y = as_samples(X, owner=type(self).__name__, like=self.components_)
        if Y.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {Y.shape[1]} columns, but {type(self).__name__} has {self.n_components_} "
                "components."
            )
        if self.whiten:
            Y = Y * self._deviations().astype(Y.dtype)
        return ((Y @ self.components_) * self.scale_ + self.mean_).astype(Y.dtype, copy=False)

    @single_threaded_blas()
    def reconstruction_errors(self, X: Any) -> np.ndarray:
        """Return the squared distances (n_samples,), in units of `scale_`, of rows and projections.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        errors : (n_samples,)
            Squared distances.
        """
        self._check_components()
        checked = self._check_X(X, reset=False, like=self.components_)
        out = np.empty(checked.shape[0])
        for rows, block in self._centered(checked):
            block = block - (block @ self.components_.T) @ self.components_
            out[rows] = np.einsum("ij,ij->i", block, block)
        return out

    def _centered(self, X):
        """Yield slices of rows, and the rows less the mean in units of `scale_`."""
        near = self.mean_.astype(X.dtype)
        rest = (self.mean_ - near).astype(X.dtype)
        scale = self.scale_.astype(X.dtype)
        for rows, block in row_blocks(X):
            block = block - near
            block -= rest
            if self.scale:
                block /= scale
            yield rows, block

    def _deviations(self):
        exponent = 0 if self.scale else self._power_[0]
        return np.ldexp(np.sqrt(self._values_), exponent)

    def _n_out(self):
        return self.n_components_


def projected(X, mean, directions):
    """Return ``(X - mean) @ directions`` in the type of X, block by block."""
    out = np.empty((len(X), directions.shape[1]), X.dtype)
    step = max(256, _VALUES // X.shape[1])
    with single_threaded_blas():
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            np.matmul((X[rows] - mean).astype(X.dtype, copy=False), directions, out=out[rows])
    return out
