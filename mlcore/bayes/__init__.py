"""Bayes' rule, decisions of least expected loss, joint tables and conjugate families."""

from mlcore.bayes.conjugate import BetaBernoulli, DirichletCategorical, NormalMean
from mlcore.bayes.decisions import Decisions, minimum_risk
from mlcore.bayes.joint_table import Independence, JointTable
from mlcore.bayes.posterior import map_decision, ml_decision, posterior
from mlcore.bayes.risk_classifier import RiskClassifier
from mlcore.bayes.sequential import SequentialBayes

__all__ = [
    "BetaBernoulli",
    "Decisions",
    "DirichletCategorical",
    "Independence",
    "JointTable",
    "NormalMean",
    "RiskClassifier",
    "SequentialBayes",
    "map_decision",
    "minimum_risk",
    "ml_decision",
    "posterior",
]


def __dir__() -> list[str]:
    return __all__
