"""Support vector machines: classification, regression, one class, and the choice of C and gamma."""

from mlcore.svm.cross_validation.svc_cv import SVCCV
from mlcore.svm.one_class import OneClassSVM
from mlcore.svm.smo.optimality import Optimality
from mlcore.svm.svc import SVC, NuSVC
from mlcore.svm.svr import SVR, NuSVR

__all__ = ["SVC", "SVCCV", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "Optimality"]


def __dir__() -> list[str]:
    return __all__
