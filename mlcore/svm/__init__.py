"""Support vector machines: classification, regression, one class, and the choice of C and gamma."""

from mlcore.svm.cross_validation.nu_svc_cv import NuSVCCV
from mlcore.svm.cross_validation.one_class_svm_cv import OneClassSVMCV
from mlcore.svm.cross_validation.svc_cv import SVCCV
from mlcore.svm.cross_validation.svr_cv import SVRCV
from mlcore.svm.linear.cost_path import CostPath
from mlcore.svm.linear.linear_svc import LinearSVC
from mlcore.svm.linear.linear_svr import LinearSVR
from mlcore.svm.one_class import OneClassSVM
from mlcore.svm.smo.optimality import Optimality
from mlcore.svm.svc import SVC, NuSVC
from mlcore.svm.svr import SVR, NuSVR

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "CostPath",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVCCV",
    "NuSVR",
    "OneClassSVM",
    "OneClassSVMCV",
    "Optimality",
]


def __dir__() -> list[str]:
    return __all__
