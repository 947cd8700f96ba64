"""Density of the normal distribution of probabilistic principal components."""

from typing import Any

import numpy as np

from mlcore.checks import as_weights
from mlcore.checks.errors import warn
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.threads import single_threaded_blas

_ROUNDING = 1e-10  # squared distance off the hull of the data over its size, below which it is none


class NormalDensity:
    """Mixin of models whose components and noise are the covariance of a normal distribution."""

    @single_threaded_blas()
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row of `X`.

        The covariance is that of `get_covariance`. Without noise the density is that within the
        hull of the data, and that of other points is 0.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_densities : (n_samples,) float64
            Natural logarithms.
        """
        self._check_components()
        checked = self._check_X(X, reset=False, like=self.components_)
        variances, noise, U = self._values_, self._noise_, self.components_.astype(np.float64)
        d = self.n_features_in_
        present = variances > 0
        kept = np.where(present, variances, 1.0)
        hull = noise == 0 and int(np.count_nonzero(present)) < d
        if hull:
            warn(
                "UserWarning",
                f"{type(self).__name__}: without discarded variance the density is that "
                f"within the hull of the data: choose n_components < rank_={self.rank_}.",
            )
        out = np.empty(checked.shape[0])
        for rows, z in self._standardized(checked):
            y = z @ U.T
            off = z - y @ U
            off = np.einsum("ij,ij->i", off, off) + np.einsum("ij,ij->i", y, y * ~present)
            out[rows] = np.square(y)[:, present] @ (1 / kept[present])
            if noise > 0:
                out[rows] += off / noise
            elif hull:
                size = np.einsum("ij,ij->i", z, z)
                out[rows][off > _ROUNDING * (size + variances[0])] = np.inf
        volume = np.log(kept).sum() + 2 * np.log(self._unit_).sum()
        volume += 2 * np.log(2.0) * self._power_.sum()
        n_dimensions = d
        if noise > 0:
            volume += (d - len(variances)) * np.log(noise)
        elif hull:
            n_dimensions = int(np.count_nonzero(present))
        return -(out + volume + n_dimensions * np.log(2 * np.pi)) / 2

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density of the rows of `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
            Natural logarithm, mean over the rows.
        """
        found = self.score_samples(X)
        weights = as_weights(sample_weight, len(found))
        return float(np.average(found[weights > 0], weights=weights[weights > 0]))

    @single_threaded_blas()
    def get_covariance(self) -> np.ndarray:
        """Return the covariance (n_features, n_features) of components and noise, float64.

        Returns
        -------
        covariance : (n_features, n_features) float64
            Of the model of probabilistic PCA.
        """
        self._check_components()
        U, noise = self.components_.astype(np.float64), self.noise_variance_
        C = (U.T * (self.explained_variance_ - noise)) @ U
        C.flat[:: len(C) + 1] += noise
        return C * self.scale_[:, None] * self.scale_

    @single_threaded_blas()
    def get_precision(self) -> np.ndarray:
        """Return the inverse (n_features, n_features) of `get_covariance`.

        Returns
        -------
        precision : (n_features, n_features) float64
            Inverse of the covariance.

        Raises
        ------
        ValueError
            If there is no noise and the components do not span all features.
        """
        self._check_components()
        U, noise = self.components_.astype(np.float64), self.noise_variance_
        variances = self.explained_variance_
        if noise > 0:
            P = (U.T * (1 / variances - 1 / noise)) @ U
            P.flat[:: len(P) + 1] += 1 / noise
        elif self.rank_ == U.shape[1]:
            P = (U.T / variances) @ U
        else:
            raise ValueError(
                f"{type(self).__name__}: the covariance is singular, as the discarded variance is "
                f"0: choose n_components < rank_={self.rank_}."
            )
        return P / self.scale_[:, None] / self.scale_

    def _standardized(self, X):
        """Yield slices of rows, and the rows less the mean in the units of `_values_`, float64."""
        for rows, block in row_blocks(X):
            z = np.ldexp(block - self.mean_, -self._power_)
            yield rows, z / self._unit_
