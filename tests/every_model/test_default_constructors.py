"""Every public model fits as it is constructed, without a parameter that it does not demand."""

import inspect
import warnings

import numpy as np
from each import each

import mlcore
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.linear_model import Perceptron
from mlcore.mixture import GaussianMixture
from mlcore.online import Hedge, play

RNG = np.random.default_rng(0)
X = RNG.random((60, 3)) / 2  # of norms below 1, as an online learner of losses wants them
Y = np.where(X[:, 0] > 0.25, 1, -1)
BITS = (X > 0.25).astype(int)
CONCEPTS = (np.arange(4) >= np.arange(5)[:, None]).astype(int)
THRESHOLDS = [lambda X, t=t: np.where(np.asarray(X)[:, 0] > t, 1, -1) for t in (0.1, 0.25, 0.4)]

# What a model demands, and data of its own kind.
DEMANDED = {
    "FiniteClassLearner": {"hypotheses": THRESHOLDS},
    "FisherVectors": {"mixture": GaussianMixture(2, covariance_type="diag", random_state=0)},
    "Halving": {"H": CONCEPTS},
    "Hedge": {"n_experts": 3},
    "DoublingTrick": {"make": lambda horizon: Hedge(3, horizon=horizon), "alpha": 1.0},
    "OnlineToBatch": {"learner": Perceptron(), "selection": "random"},
    "RiskClassifier": {"estimator": LinearDiscriminantAnalysis()},
    "StandardOptimalAlgorithm": {"H": CONCEPTS},
    "WeightedMajority": {"n_experts": 3},
    "Winnow": {"n_features": 3},
}
POINTS = np.arange(60) % 4
DATA = {
    "BernoulliMixture": (BITS, None),
    "BinomialMixture": (BITS, None),
    "CategoricalMixture": (BITS, None),
    "CategoricalNB": (BITS, Y),
    "ConjunctionLearner": (BITS, BITS[:, 0]),
    "FiniteClassLearner": (X, Y),
    "GramCenterer": (X @ X.T, None),
    "Halving": (POINTS, CONCEPTS[2][POINTS]),
    "DoublingTrick": (None, X),
    "Hedge": (None, X),
    "MultinomialMixture": (BITS + 1, None),
    "PLSA": (BITS + 1, None),
    "PyramidMatch": ([X[i : i + 4] for i in range(9)], None),
    "RectangleLearner": (X, (X[:, 0] > 0.25).astype(int)),
    "StandardOptimalAlgorithm": (POINTS, CONCEPTS[2][POINTS]),
    "StringKernel": (["abc", "abd", "cab"], None),
    "WeightedMajority": (BITS, BITS[:, 0]),
    "WordCounts": (["a word", "two words"], None),
    "Winnow": (BITS, BITS[:, 0]),
}


def models():
    for family in mlcore.__all__:
        module = getattr(mlcore, family)
        for name in module.__all__ if inspect.ismodule(module) else ():
            kind = getattr(module, name)
            if hasattr(kind, "fit") and hasattr(kind, "get_params"):
                yield name, kind


@each(("name", "kind"), list(models()))
def test_what_is_constructed_without_arguments_fits(name, kind):
    model = kind(**DEMANDED.get(name, {}))
    X_of_its_kind, y = DATA.get(name, (X, Y))
    if X_of_its_kind is None:  # rounds without points
        assert play(model, None, y).losses.shape == (60,)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # of steps that ran out
        assert model.fit(X_of_its_kind, y) is model


def test_only_what_must_be_known_is_demanded():
    for name, kind in models():
        demanded = {
            p.name
            for p in inspect.signature(kind).parameters.values()
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD
        }
        given = set(DEMANDED.get(name, {})) - {"selection"}
        assert demanded == given, name
