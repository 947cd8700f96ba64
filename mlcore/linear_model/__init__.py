"""Linear models of classes and numbers."""

from mlcore.estimator.peer_parameters import refuse_class
from mlcore.linear_model.inference import Inference, LikelihoodRatio
from mlcore.linear_model.logistic.logistic_regression import LogisticRegression
from mlcore.linear_model.logistic.separation import SeparatedClasses
from mlcore.linear_model.perceptron.kernel_perceptron import KernelPerceptron
from mlcore.linear_model.perceptron.perceptron import Perceptron
from mlcore.linear_model.regression.diagnostics import LinearPath
from mlcore.linear_model.regression.linear_inference import LinearInference
from mlcore.linear_model.regression.linear_regression import LinearRegression

__all__ = [
    "Inference",
    "KernelPerceptron",
    "LikelihoodRatio",
    "LinearInference",
    "LinearPath",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "SeparatedClasses",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> None:
    refuse_class(__name__, name)
