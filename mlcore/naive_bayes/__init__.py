"""Naive Bayes: classifiers whose features are independent given the class."""

from mlcore.naive_bayes.bernoulli import BernoulliNB
from mlcore.naive_bayes.categorical import CategoricalNB
from mlcore.naive_bayes.discretizer import Discretizer
from mlcore.naive_bayes.gaussian import GaussianNB
from mlcore.naive_bayes.mixed import MixedNB
from mlcore.naive_bayes.multinomial import MultinomialNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "Discretizer",
    "GaussianNB",
    "MixedNB",
    "MultinomialNB",
]


def __dir__() -> list[str]:
    return __all__
