"""Linear models of classes and numbers."""

from mlcore.linear_model.coordinate.elastic_net import ElasticNet, Lasso
from mlcore.linear_model.coordinate.elastic_net_cv import ElasticNetCV, LassoCV
from mlcore.linear_model.coordinate.penalty_path import PenaltyPath
from mlcore.linear_model.inference import Inference, LikelihoodRatio
from mlcore.linear_model.logistic.evidence import LogisticVerification
from mlcore.linear_model.logistic.logistic_path import LogisticPath
from mlcore.linear_model.logistic.logistic_regression import LogisticRegression
from mlcore.linear_model.logistic.logistic_regression_cv import LogisticRegressionCV
from mlcore.linear_model.logistic.separation import SeparatedClasses
from mlcore.linear_model.perceptron.kernel_perceptron import KernelPerceptron
from mlcore.linear_model.perceptron.perceptron import Perceptron
from mlcore.linear_model.regression.diagnostics import LinearPath
from mlcore.linear_model.regression.linear_inference import LinearInference
from mlcore.linear_model.regression.linear_regression import LinearRegression

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Inference",
    "KernelPerceptron",
    "Lasso",
    "LassoCV",
    "LikelihoodRatio",
    "LinearInference",
    "LinearPath",
    "LinearRegression",
    "LogisticPath",
    "LogisticRegression",
    "LogisticRegressionCV",
    "LogisticVerification",
    "PenaltyPath",
    "Perceptron",
    "SeparatedClasses",
]


def __dir__() -> list[str]:
    return __all__


# Classes of scikit-learn that this family does not have.
_INSTEAD = {
    "Ridge": "use LinearRegression(alpha=...)",
    "RidgeCV": "use LinearRegression().fit(X, y).path(alphas), of which the least gcv is best",
}


def __getattr__(name: str) -> None:
    if name in _INSTEAD:  # `from ... import` shows the text of no other error than this one
        raise ImportError(f"{__name__} has no {name}: {_INSTEAD[name]}.", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
