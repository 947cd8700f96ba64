"""What estimators with a kernel share: its parameters, and the samples that it can be of."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mlcore.checks import as_choice, as_integer, as_objects, as_real
from mlcore.kernels.gram import KERNELS, require_non_negative, symmetric_part
from mlcore.model import Model


class KernelModel(Model):
    """An estimator with the parameters ``kernel``, ``degree`` and ``coef0``."""

    _tags: ClassVar[dict[str, Any]] = {"input_tags.sparse": True}
    _takes_objects: ClassVar[bool] = False  # as samples of a function

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    @property
    def _kernel(self) -> Any:
        """A function, "precomputed" or the name in `KERNELS`."""
        same = isinstance(self.kernel, str) and self.kernel == "poly"
        return "polynomial" if same else self.kernel

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_kernel(self) -> tuple[int, float]:
        """Check the kernel and its parameters but gamma; return `degree` and `coef0`."""
        owner = type(self).__name__
        if not callable(self.kernel):
            as_choice(self.kernel, "kernel", (*KERNELS, "poly", "precomputed"), owner=owner)
        degree = as_integer(self.degree, "degree", owner=owner, at_least=0, at_most=2**31 - 1)
        return degree, as_real(self.coef0, "coef0", owner=owner)

    def _check_gamma(self, gamma: Any, name: str = "gamma") -> str | float:
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

    def _later_samples(self, X: Any, dtype: Any) -> Any:
        """Return X of a later call, checked, in the type of the fit."""
        return self._check_X(X, reset=False, accept_sparse=not self._precomputed, like=dtype)

    def _as_samples(self, X, **how):
        if self._precomputed and sparse.issparse(X):
            raise TypeError(
                f"Sparse precomputed kernel values were passed to {how['owner']}, which takes "
                "dense ones: use X.toarray()."
            )
        like = how.get("like")
        of_objects = like is None or np.dtype(like).kind == "O"
        if self._takes_objects and callable(self.kernel) and of_objects:
            objects = as_objects(X)
            if objects is not None:
                return objects
            if like is not None:
                raise TypeError(
                    f"X holds numbers, but {how['owner']} was fitted to other objects; both are "
                    "samples of the same kernel."
                )
        checked = super()._as_samples(X, **how)
        if isinstance(self.kernel, str) and self.kernel == "chi2":
            require_non_negative(checked, "X")
        return checked
