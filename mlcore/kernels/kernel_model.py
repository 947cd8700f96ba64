"""Base class of estimators with a kernel: its parameters, and checks of their samples."""

from typing import Any, ClassVar, get_args

import numpy as np
from scipy import sparse

from mlcore.checks import as_choice, as_integer, as_real, as_samples
from mlcore.estimator.model import Model
from mlcore.kernels.gram import symmetric_part
from mlcore.kernels.kernel import Kernel, of_numbers
from mlcore.kernels.vector_kernels import GammaRule, as_kernel


class KernelModel(Model):
    """An estimator with the parameters ``kernel``, ``degree`` and ``coef0``."""

    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True}

    gamma_: float
    _stored = {"gamma_": "float"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    @property
    def _fitted_kernel(self) -> Kernel:
        """The kernel of a fitted model."""
        parameters = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        return as_kernel(self.kernel, **parameters)

    @property
    def _kernel_of_X(self) -> Any:
        """The parameter for the samples X: of models with several kernels, their first."""
        return self.kernel

    @property
    def _precomputed(self) -> bool:
        kernel = self._kernel_of_X
        return kernel.precomputed if isinstance(kernel, Kernel) else kernel == "precomputed"

    def _checked_kernel(self) -> Kernel:
        """Return the kernel, its parameters but gamma checked."""
        return checked_kernel(self.kernel, self.degree, self.coef0, type(self).__name__)

    def _checked_gamma(self, gamma: Any, name: str = "gamma") -> GammaRule | float:
        return checked_gamma(gamma, type(self).__name__, name)

    def _training_samples(self, X: Any) -> Any:
        """Return X of a fit, checked; a precomputed kernel is made symmetric if it is not."""
        checked = self._check_X(X, reset=True, accept_sparse=not self._precomputed)
        if not self._precomputed:
            return checked
        return given_gram(checked, "X", type(self).__name__)

    def _later_samples(self, X: Any, fitted: Any) -> Any:
        """Return X of a later call, checked, in the type of the samples of the fit."""
        like = getattr(fitted, "dtype", np.dtype(object))
        return self._check_X(X, reset=False, accept_sparse=not self._precomputed, like=like)

    def _set_fitted(self, X_original, **attributes):
        # Samples that the kernel encodes are one column, however many symbols or points each has.
        held = attributes.get("X_fit_", attributes.get("support_vectors_"))
        if held is not None and not of_numbers(held):  # a search without a refit has none
            attributes["n_features_in_"] = held.shape[1]
        super()._set_fitted(X_original, **attributes)

    def _as_samples(self, X, **options):
        return kernel_samples(X, as_kernel(self._kernel_of_X), **options)


def checked_kernel(kernel: Any, degree: Any, coef0: Any, owner: str) -> Kernel:
    """Return the kernel, its parameters but gamma checked."""
    as_kernel(kernel, owner=owner)
    degree = as_integer(degree, "degree", owner=owner, at_least=0, at_most=2**31 - 1)
    coef0 = as_real(coef0, "coef0", owner=owner)
    return as_kernel(kernel, degree=degree, coef0=coef0)


def checked_gamma(gamma: Any, owner: str, name: str = "gamma") -> GammaRule | float:
    """Return gamma, a number or the name of a rule."""
    if isinstance(gamma, str):
        return as_choice(gamma, name, get_args(GammaRule), owner=owner)
    return as_real(gamma, name, owner=owner, at_least=0)


def given_gram(K: np.ndarray, name: str, owner: str) -> np.ndarray:
    """Return the matrix of a precomputed kernel, made symmetric if it is not."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} has shape {K.shape}, but with kernel='precomputed' it must be the square "
            "matrix of kernel values between the training samples."
        )
    return symmetric_part(K, owner, name)


def kernel_samples(X: Any, kernel: Kernel, *, owner: str, name: str = "X", **options: Any) -> Any:
    """Return samples as `kernel` takes them, checked; `options` is what `as_samples` takes too."""
    like = options.get("like")
    if kernel.precomputed and sparse.issparse(X):
        raise TypeError(
            f"Sparse precomputed kernel values were passed to {owner}, which takes dense ones: "
            f"use {name}.toarray()."
        )
    if like is None or like.kind == "O":
        objects = kernel.encode(X)
        if objects is not None:
            return objects
        if like is not None:
            raise TypeError(
                f"{name} holds numbers, but {owner} was fitted to other objects; both are samples "
                "of the same kernel."
            )
    checked = as_samples(X, owner=owner, name=name, **options)
    kernel.require_valid(checked, name)
    return checked


def kept_samples(X: Any, rows: np.ndarray, precomputed: bool) -> Any:
    """Return these rows of X (of a precomputed kernel, and columns); X itself if they are all."""
    if np.array_equal(rows, np.arange(X.shape[0])):
        return X
    return X[np.ix_(rows, rows)] if precomputed else X[rows]
