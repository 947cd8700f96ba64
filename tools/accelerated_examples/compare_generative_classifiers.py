"""Compare classifiers that describe each class, by cross-validation on many rows."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

X, y = make_classification(20000, 60, n_informative=40, n_redundant=0, n_classes=5, random_state=0)
counts = np.maximum(0, np.rint(X))
models = {
    "discriminant": (LinearDiscriminantAnalysis(), X),
    "normal": (GaussianNB(), X),
    "counts": (MultinomialNB(), counts),
    "signs": (BernoulliNB(), X),
}

RESULT = {
    name: cross_val_predict(model, data, y, cv=3, method="predict_proba")
    for name, (model, data) in models.items()
}
