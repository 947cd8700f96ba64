"""PAC learners: concepts learnt from independent examples, each with its guarantee."""

from mlcore.pac.conjunction import ConjunctionLearner
from mlcore.pac.finite_class import FiniteClassLearner
from mlcore.pac.rectangle import RectangleLearner

__all__ = ["ConjunctionLearner", "FiniteClassLearner", "RectangleLearner"]


def __dir__() -> list[str]:
    return __all__
