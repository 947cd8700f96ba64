"""Projections on principal components in the feature space of a kernel, and the way back."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_integer,
    as_random_state,
    as_real,
    as_samples,
    as_weights,
    require_enough,
    require_random_state,
    scaled_weights,
)
from mlcore.checks.errors import peer_class
from mlcore.decomposition.kernel_pca.preimages import nearest, ridge
from mlcore.estimator.derived import cached
from mlcore.estimator.model import Transformer
from mlcore.kernels.expansion import Expansion, row_blocks
from mlcore.kernels.kernel import (
    Kernel,
    as_double,
    copied,
    differences,
    mean_if_free,
    of_numbers,
    precision,
)
from mlcore.kernels.kernel_model import KernelModel, kept_samples
from mlcore.kernels.vector_kernels import GammaRule, KernelName, resolve_gamma
from mlcore.runtime.threads import single_threaded_blas


class KernelData(NamedTuple):
    """Samples of a fit that have a positive weight, and their kernel."""

    used: Any  # samples (n,), or the (n, n) matrix of a precomputed kernel
    w: np.ndarray  # float64 (n,): positive; the true weights are 2^power times these
    power: int
    kernel: Kernel
    # (d,) or None: is subtracted from samples before kernel values are computed
    origin: np.ndarray | None


class Settings(NamedTuple):
    """Checked parameters of a projection."""

    owner: str  # name of the class
    k: int | None  # components; None for all
    positive: bool  # leave out components of eigenvalue 0
    kernel: Kernel  # its gamma is not resolved
    gamma: GammaRule | float
    alpha: float | None  # penalty of the way back; None if it is not wanted


class KernelProjection(Transformer, KernelModel):
    """Base of models whose scores are ``intercept_ + sum_i dual_coef_[i] k(x_i, x)``.

    Scores y stand for ``mean + sum_j y_j v_j`` in feature space, mostly the image of no sample.
    """

    _tags: ClassVar[dict[str, Any]] = {
        **KernelModel._tags,
        "transformer_tags.preserves_dtype": ["float64", "float32"],
    }

    _instead = {
        "kernel_params": "give a function of your own with its parameters bound",
        "iterated_power": "use tol=: Lanczos goes on until its residuals are that small",
        "copy_X": "drop it: X is never changed, and X_fit_ is a copy",
    }

    n_components: int | None
    kernel: KernelName | Callable[..., Any] | Kernel
    gamma: float | GammaRule | None
    alpha: float
    fit_inverse_transform: bool
    remove_zero_eig: bool
    tol: float
    max_iter: int
    random_state: Any

    eigenvalues_: np.ndarray
    explained_variance_ratio_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    mean_coef_: np.ndarray
    mean_squared_norm_: float
    next_value_: float
    residuals_: np.ndarray
    orthogonality_: float
    gaps_: np.ndarray
    angle_bounds_: np.ndarray
    condition_: float
    complete_: bool
    solver_: str
    converged_: bool
    X_fit_: Any
    origin_: np.ndarray | None
    inverse_coef_: np.ndarray
    inverse_intercept_: np.ndarray
    _stored = {
        "eigenvalues_": "float64 k",
        "explained_variance_ratio_": "float64 k",
        "dual_coef_": "float64 m k",
        "intercept_": "float64 k",
        "mean_coef_": "float64 m",
        "mean_squared_norm_": "float",
        "next_value_": "float",
        "residuals_": "float64 k",
        "orthogonality_": "float",
        "gaps_": "float64 k",
        "angle_bounds_": "float64 k",
        "condition_": "float",
        "complete_": "bool",
        "solver_": "text",
        "converged_": "bool",
        "X_fit_": "rows m f",
        "origin_": "none | float f",
        "inverse_coef_": "float64 k f",
        "inverse_intercept_": "float64 f",
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            With ``kernel="precomputed"``: the (n_samples, n_samples) matrix of kernel values.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work.
        MemoryError
            If what must be held does not fit.
        """
        settings = self._settings()
        # The samples of positive weight, which is scaled by a power of two.
        samples = self._training_samples(X)
        n = samples.shape[0]
        if n < 2:
            raise ValueError(f"{settings.owner}: n_samples=1, but at least 2 samples are needed.")
        weight = as_weights(sample_weight, n)
        if settings.k is not None:
            require_enough(n, settings.k, "n_components", weight)
        rng = as_random_state(self.random_state, owner=settings.owner)
        kept = np.flatnonzero(weight)
        w, power = scaled_weights(weight[kept])
        used = kept_samples(samples, kept, self._precomputed)
        # The kernel with the width that is asked for.
        kernel, gamma = settings.kernel, settings.gamma
        unused = isinstance(gamma, str) and (self._precomputed or not of_numbers(used))
        gamma = 0.0 if unused else resolve_gamma(gamma, used, w)
        origin = mean_if_free(used, kernel, w)
        # The components, as functions of all samples or of some.
        data = KernelData(used, w, power, kernel.with_gamma(gamma), origin)
        state, chosen = self._components(data, settings, rng, kept, n)
        del used, data  # freed before the samples are copied
        if chosen is not None:
            samples = kept_samples(samples, chosen, self._precomputed)
        self._set_fitted(X, **state, X_fit_=copied(samples), gamma_=gamma, origin_=origin)
        return self

    @abstractmethod
    def _components(
        self, data: KernelData, settings: Settings, rng: Any, kept: np.ndarray, n: int
    ) -> tuple[dict[str, Any], np.ndarray | None]:
        """Return the attributes of the components of `data`, the samples `kept` of all n.

        The second result is the samples, of all n, that their functions are of; None for all.
        """

    def _settings(self):
        owner, k = type(self).__name__, self.n_components
        if k is not None:
            k = as_integer(k, "n_components", owner=owner, at_least=1)
        kernel = self._checked_kernel()
        alpha = as_real(self.alpha, "alpha", owner=owner, at_least=0)
        positive = as_bool(self.remove_zero_eig, "remove_zero_eig", owner=owner) or k is None
        back = as_bool(self.fit_inverse_transform, "fit_inverse_transform", owner=owner)
        if back and kernel.precomputed:
            raise ValueError(
                "Cannot fit_inverse_transform with a precomputed kernel, which gives no samples to "
                "return: pass the kernel as a function."
            )
        gamma = "auto" if self.gamma is None else self._checked_gamma(self.gamma)
        as_real(self.tol, "tol", owner=owner, above=0)
        as_integer(self.max_iter, "max_iter", owner=owner, at_least=1)
        require_random_state(self.random_state, owner=owner)
        return Settings(owner, k, positive, kernel, gamma, alpha if back else None)

    def transform(self, X: Any) -> Any:
        """Return the scores of each row of `X`, in the precision of the samples of the fit.

        Parameters
        ----------
        X : array-like or sparse of shape (n_new, n_features)
            With a precomputed kernel: the values against the training samples, (n_new, n_samples).

        Returns
        -------
        Y : (n_new, n_components)
            One column for each component.
        """
        self._check_fitted()
        samples = self._images(self._later_samples(X, self.X_fit_))
        scores = self._expansion.sums(samples, self.dual_coef_) + self.intercept_
        return self._wrap(scores.astype(precision(self.X_fit_), copy=False), X)

    def _images(self, samples):
        """Return checked samples as the kernel takes them."""
        return differences(samples, self.origin_)

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
            scale = float(np.sqrt(self.gamma_))
            with single_threaded_blas():
                for rows in row_blocks(Z, len(self.dual_coef_)):
                    coef = Y[rows] @ self.dual_coef_.T + self.mean_coef_
                    Z[rows] = nearest(
                        values, training, coef, Z[rows], scale, self.tol, self.max_iter
                    )
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

    def _n_out(self):
        return len(self.eigenvalues_)

    @property
    def _expansion(self):
        kernel = self._fitted_kernel
        if kernel.precomputed:
            return Expansion(self._columns(), kernel)
        vectors = self.X_fit_
        return cached(self, (vectors,), kernel, lambda: Expansion(self._images(vectors), kernel))

    def _columns(self):
        """Return the samples of the fit whose values of a precomputed kernel are summed."""
        return np.arange(len(self.dual_coef_))

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
                f"{type(self).__name__}: inverse_transform needs fit_inverse_transform=True in the "
                "fit, but "
                f"fit_inverse_transform={self.fit_inverse_transform!r}."
            )
        Y = as_samples(Y, owner=type(self).__name__, name=name, like=precision(self.X_fit_))
        if Y.shape[1] != len(self.eigenvalues_):
            raise ValueError(
                f"{name} has {Y.shape[1]} columns, but {type(self).__name__} has "
                f"{len(self.eigenvalues_)} components."
            )
        return Y.astype(np.float64)


def way_back(
    data: KernelData, vectors: Any, V: np.ndarray, state: dict[str, Any], alpha: float, owner: str
) -> dict[str, np.ndarray]:
    """Return ``inverse_coef_`` and ``inverse_intercept_``, which predict samples by their scores.

    `vectors` are those that the coefficients belong to; `V` (n, k) are weighted scores of the
    samples of the fit over the eigenvalues; `state` has the attributes of the components.
    """
    used, values = data.used, state["eigenvalues_"]
    if not of_numbers(used):
        raise TypeError(
            f"{owner}: fit_inverse_transform=True needs samples that are rows of "
            f"numbers, not those of the kernel {data.kernel.name!r}."
        )
    if data.kernel.linear:  # points in feature space are samples, and the same sums of others
        far = np.zeros(used.shape[1]) if data.origin is None else data.origin
        sums = np.c_[state["dual_coef_"], state["mean_coef_"]]
        coef = ridge(vectors, sums, far, np.ones(len(values) + 1))
        return {"inverse_coef_": coef[:-1], "inverse_intercept_": coef[-1] + far}
    mean = np.asarray(data.w @ used).ravel() / data.w.sum()
    shrinkage = np.zeros(len(values))
    np.divide(values, values + alpha, out=shrinkage, where=values > 0)
    return {"inverse_coef_": ridge(used, V, mean, shrinkage), "inverse_intercept_": mean}
