"""Kernel ridge regression: least squares in the feature space of any kernel."""

from mlcore.kernel_ridge.alpha_path.alpha_path import RidgePath
from mlcore.kernel_ridge.kernel_ridge import KernelRidge
from mlcore.kernel_ridge.kernel_ridge_cv import KernelRidgeCV
from mlcore.kernel_ridge.nystroem_ridge import NystroemRidge
from mlcore.kernel_ridge.verification import RidgeVerification

__all__ = ["KernelRidge", "KernelRidgeCV", "NystroemRidge", "RidgePath", "RidgeVerification"]


def __dir__() -> list[str]:
    return __all__
