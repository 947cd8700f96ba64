"""Base class of estimators with a kernel: its parameters, and checks of their samples."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mlcore.checks import as_choice, as_integer, as_real
from mlcore.kernels.gram import symmetric_part
from mlcore.kernels.kernel import Kernel
from mlcore.kernels.resolve import as_kernel
from mlcore.model import Model


class KernelModel(Model):
    """An estimator with the parameters ``kernel``, ``degree`` and ``coef0``."""

    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True}

    gamma_: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    @property
    def _fitted_kernel(self) -> Kernel:
        """The kernel of a fitted model."""
        how = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        return as_kernel(self.kernel, **how)

    @property
    def _precomputed(self) -> bool:
        kernel = self.kernel
        return kernel.precomputed if isinstance(kernel, Kernel) else kernel == "precomputed"

    def _checked_kernel(self) -> Kernel:
        """Return the kernel, its parameters but gamma checked."""
        owner = type(self).__name__
        as_kernel(self.kernel, owner=owner)
        degree = as_integer(self.degree, "degree", owner=owner, at_least=0, at_most=2**31 - 1)
        coef0 = as_real(self.coef0, "coef0", owner=owner)
        return as_kernel(self.kernel, degree=degree, coef0=coef0)

    def _checked_gamma(self, gamma: Any, name: str = "gamma") -> str | float:
        owner = type(self).__name__
        if isinstance(gamma, str):
            return as_choice(gamma, name, ("scale", "auto"), owner=owner)
        return as_real(gamma, name, owner=owner, at_least=0)

    def _training_samples(self, X: Any) -> Any:
        """Return X of a fit, checked; a precomputed kernel is made symmetric if it is not."""
        checked = self._check_X(X, reset=True, accept_sparse=not self._precomputed)
        if not self._precomputed:
            return checked
        if checked.shape[0] != checked.shape[1]:
            raise ValueError(
                f"X has shape {checked.shape}, but with kernel='precomputed' it must be the square "
                "matrix of kernel values between the training samples."
            )
        return symmetric_part(checked, type(self).__name__)

    def _later_samples(self, X: Any, fitted: Any) -> Any:
        """Return X of a later call, checked, in the type of the samples of the fit."""
        like = getattr(fitted, "dtype", np.dtype(object))
        return self._check_X(X, reset=False, accept_sparse=not self._precomputed, like=like)

    def _as_samples(self, X, **how):
        kernel, like = as_kernel(self.kernel), how.get("like")
        if kernel.precomputed and sparse.issparse(X):
            raise TypeError(
                f"Sparse precomputed kernel values were passed to {how['owner']}, which takes "
                "dense ones: use X.toarray()."
            )
        if like is None or like.kind == "O":
            objects = kernel.encode(X)
            if objects is not None:
                return objects
            if like is not None:
                raise TypeError(
                    f"X holds numbers, but {how['owner']} was fitted to other objects; both are "
                    "samples of the same kernel."
                )
        checked = super()._as_samples(X, **how)
        kernel.require_valid(checked, "X")
        return checked


def kept_samples(X: Any, rows: np.ndarray, precomputed: bool) -> Any:
    """Return these rows of X (of a precomputed kernel, and columns); X itself if they are all."""
    if np.array_equal(rows, np.arange(X.shape[0])):
        return X
    return X[np.ix_(rows, rows)] if precomputed else X[rows]
