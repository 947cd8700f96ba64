"""Class probabilities of a single row, by every classifier that has them.

A row should take 60 microseconds or less: what is timed is the way to the hot loop, not the loop.
"""

import warnings

import numpy as np

from mlcore.bayes import RiskClassifier
from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.linear_model import LogisticRegression
from mlcore.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB
from mlcore.svm import SVC, NuSVC

MODELS = {
    "BernoulliNB": lambda: BernoulliNB(binarize=2.0),
    "CategoricalNB": CategoricalNB,
    "GaussianNB": GaussianNB,
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "LogisticRegression": LogisticRegression,
    "MixedNB": lambda: MixedNB(columns={"gaussian": [0, 1], "categorical": [2, 3]}),
    "MultinomialNB": MultinomialNB,
    "NuSVC": lambda: NuSVC(probability=True),
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis,
    "RiskClassifier": lambda: RiskClassifier(GaussianNB(), 1 - np.eye(3)),
    "SVC": lambda: SVC(probability=True),
}


class OneRow:
    """Irises, rounded to whole centimetres, which are categories too."""

    params, param_names = [*MODELS], ["model"]

    def setup(self, model):
        X, y = load_iris()
        X = np.rint(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = MODELS[model]().fit(X, y)
        self.row = X[:1].copy()
        self.model.predict_proba(self.row)

    def time_predict_proba(self, model):
        self.model.predict_proba(self.row)
