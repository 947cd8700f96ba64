"""Samples whose images are near the points in feature space that scores stand for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.checks import as_samples
from mlcore.checks.errors import peer_class
from mlcore.kernels.expansion import row_blocks
from mlcore.kernels.kernel import as_double, of_numbers, precision
from mlcore.runtime.threads import single_threaded_blas

_SHORTEST = 2.0**-30  # a step that is shorter than this part of the whole one is not taken


class PreImages:
    """Mixin of a kernel PCA: its way back, from scores to samples, and distances in feature space.

    The scores y of a sample stand for the point ``P = mean + sum_j y_j v_j`` in feature space, v
    the components, which is the image of no sample as a rule.
    """

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return samples whose images are near the points that the rows of `X` are scores of.

        For the linear kernel they are these points, as in PCA; for others the prediction of a ridge
        regression of the samples on their scores, with the penalty `alpha`. For the rbf kernel this
        is where an iteration begins that brings the image nearer with each of its steps.

        Parameters
        ----------
        X : array-like of shape (n_new, n_components)
            As `transform` returns.

        Returns
        -------
        Z : (n_new, n_features)
            Samples in the space of the data.

        Raises
        ------
        NotFittedError
            Without ``fit_inverse_transform=True``.
        """
        Y = self._checked_scores(X, "X")
        Z = Y @ self.inverse_coef_ + self.inverse_intercept_
        if self._fitted_kernel.gaussian:
            values, training = self._expansion.values, as_double(self.X_fit_)
            how = float(np.sqrt(self.gamma_)), self.tol, self.max_iter
            with single_threaded_blas():
                for rows in row_blocks(Z, len(self.dual_coef_)):
                    coef = Y[rows] @ self.dual_coef_.T + self.mean_coef_
                    Z[rows] = nearest(values, training, coef, Z[rows], *how)
        return Z.astype(precision(self.X_fit_), copy=False)

    def feature_residuals(self, X: Any) -> np.ndarray:
        """Return the squared distance in feature space of each row from the span of the components.

        ``|phi(x) - mean|² - |y|²``, at least 0: large for samples unlike those of the fit, whose
        own add up, by weight, to the eigenvalues that are left out.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features)

        Returns
        -------
        residuals : (n_new,)
            Squared distances in feature space.

        Raises
        ------
        ValueError
            For a precomputed kernel, which does not tell k(x, x).
        """
        squares, scores = self._distances(X, "feature_residuals")
        residuals = np.maximum(squares - (scores**2).sum(axis=1), 0.0)
        return residuals.astype(precision(self.X_fit_), copy=False)

    def preimage_errors(self, Z: Any, Y: Any) -> np.ndarray:
        """Return the squared distances in feature space of samples from what scores stand for.

        Parameters
        ----------
        Z : array-like or sparse of shape (n_new, n_features)
            Samples, such as ``inverse_transform(Y)``.
        Y : array-like of shape (n_new, n_components)
            Scores.

        Returns
        -------
        errors : (n_new,)
            ``|phi(z) - mean - sum_j y_j v_j|²``, at least 0.

        Raises
        ------
        ValueError
            For a precomputed kernel, which does not tell k(z, z).
        """
        scores = self._checked_scores(Y, "Y", inverse=False)
        squares, own = self._distances(Z, "preimage_errors")
        if len(own) != len(scores):
            raise ValueError(
                f"Z has {len(own)} rows, but Y has {len(scores)}; as many of both are needed."
            )
        # A component of eigenvalue 0 has no direction.
        scores = scores * (self.eigenvalues_ > 0)
        errors = np.maximum(squares + ((scores - 2 * own) * scores).sum(axis=1), 0.0)
        return errors.astype(precision(self.X_fit_), copy=False)

    def _way_back(self, used, w, state, V, kernel, vectors, origin):
        """Return what `inverse_transform` needs.

        Parameters
        ----------
        used : samples of positive weight w
        state : dict
            The fitted attributes of the components.
        V : (n, k)
            Weighted scores of these samples over the eigenvalues.
        kernel : Kernel
        vectors : samples
            Those that the coefficients belong to.
        origin : (d,) or None
            Is subtracted from samples before kernel values are computed.
        """
        if not of_numbers(used):
            raise TypeError(
                f"{type(self).__name__}: fit_inverse_transform=True needs samples that are rows of "
                f"numbers, not those of the kernel {kernel.name!r}."
            )
        values = state["eigenvalues_"]
        if kernel.linear:  # points in feature space are samples, and the same sums of others
            far = np.zeros(used.shape[1]) if origin is None else origin
            sums = np.c_[state["dual_coef_"], state["mean_coef_"]]
            found = ridge(vectors, sums, far, np.ones(len(values) + 1))
            return {"inverse_coef_": found[:-1], "inverse_intercept_": found[-1] + far}
        mean = np.asarray(w @ used).ravel() / w.sum()
        shrinkage = np.zeros(len(values))
        np.divide(values, values + self.alpha, out=shrinkage, where=values > 0)
        return {"inverse_coef_": ridge(used, V, mean, shrinkage), "inverse_intercept_": mean}

    def _distances(self, X, method):
        """Return the squared distances of images from the mean, (n_new,), and their scores."""
        self._check_fitted()
        if self._precomputed:
            raise ValueError(
                f"{type(self).__name__}: {method} needs k(x, x) of new samples, which "
                "kernel='precomputed' does not give: pass the kernel as a function."
            )
        samples = self._images(self._later_samples(X, self.X_fit_))
        sums = self._expansion.sums(samples, np.c_[self.dual_coef_, self.mean_coef_])
        squares = self._fitted_kernel.diagonal(samples) - 2 * sums[:, -1] + self.mean_squared_norm_
        return squares, sums[:, :-1] + self.intercept_

    def _checked_scores(self, Y, name, inverse=True):
        self._check_fitted()
        if inverse and not hasattr(self, "inverse_coef_"):
            raise peer_class("NotFittedError")(
                "KernelPCA: inverse_transform needs fit_inverse_transform=True in the fit, but "
                f"fit_inverse_transform={self.fit_inverse_transform!r}."
            )
        Y = as_samples(Y, owner=type(self).__name__, name=name, like=precision(self.X_fit_))
        if Y.shape[1] != len(self.eigenvalues_):
            raise ValueError(
                f"{name} has {Y.shape[1]} columns, but {type(self).__name__} has "
                f"{len(self.eigenvalues_)} components."
            )
        return Y.astype(np.float64)


def ridge(X: Any, coef: np.ndarray, mean: np.ndarray, shrinkage: np.ndarray) -> np.ndarray:
    """Return the coefficients (k, d) of a ridge regression of samples on their scores.

    Scores Y are uncorrelated, ``Y'WY = diag(lambda)``, and ``Y = KV`` with ``WY = V diag(lambda)``
    for coefficients V whose columns sum to 0. So ``(Y'WY + alpha I)^-1 Y'WX`` is ``lambda / (lambda
    + alpha) V'X``.

    Parameters
    ----------
    X : ndarray (n, d) or CSR
    coef : (n, k)
        V.
    mean : (d,)
        A point near the samples, from which they are taken to lose no digits.
    shrinkage : (k,)
        ``lambda / (lambda + alpha)``.
    """
    if sparse.issparse(X):
        sums = (X.T @ coef).T
    else:
        sums = np.zeros((coef.shape[1], X.shape[1]))
        for rows in row_blocks(X, coef.shape[1]):
            sums += coef[rows].T @ (X[rows] - mean)
    return shrinkage[:, None] * sums


def nearest(
    values: Callable[[np.ndarray], np.ndarray],
    X: Any,
    coef: np.ndarray,
    Z: np.ndarray,
    scale: float,
    tol: float,
    max_iter: int,
) -> np.ndarray:
    """Return points z near `Z` whose images under the rbf kernel are near sums of others' images.

    ``|phi(z) - sum_i g_i phi(x_i)|²`` is a constant less 2 m(z), ``m(z) = sum_i g_i k(z, x_i)``.
    At its optimum z is the mean of the samples with the weights ``g_i k(z, x_i)``. Where m is
    positive this mean lies in an ascending direction, so that a step on the way to it, halved
    until m does not fall, never makes the distance larger; else the point stays where it is.

    Parameters
    ----------
    values : callable
        Kernel values (r, n) of points with the samples.
    X : ndarray (n, d) or CSR
    coef : (r, n)
        g, a row for each point.
    Z : (r, d)
    scale : float
        The root of the kernel's gamma.
    tol : float
        Length of the last step, in units of 1 / scale.
    max_iter : int

    References
    ----------
    .. [1] S. Mika, B. Schölkopf, A. Smola, K.-R. Müller, M. Scholz, G. Rätsch, *Kernel PCA and
       de-noising in feature spaces*, Advances in Neural Information Processing Systems 11, 1999.
    """
    Z = Z.copy()
    parts = values(Z) * coef
    m = parts.sum(axis=1)
    step = np.ones(len(Z))
    active = np.flatnonzero(m > 0)
    for _ in range(max_iter):
        if not len(active):
            break
        means = (parts[active] @ X) / m[active, None]
        new = Z[active] + step[active, None] * (means - Z[active])
        new_parts = values(new) * coef[active]
        new_m = new_parts.sum(axis=1)
        better = new_m >= m[active]
        length = scale * np.linalg.norm(new - Z[active], axis=1)
        taken = active[better]
        Z[taken], parts[taken], m[taken] = new[better], new_parts[better], new_m[better]
        step[active] = np.where(better, 1.0, step[active] / 2)
        active = active[(length > tol) & (step[active] >= _SHORTEST)]
    return Z
