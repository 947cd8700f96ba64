"""
Logistic regression: confidence intervals of the coefficients
=============================================================

Without a penalty, logistic regression has standard errors. The model distinguishes versicolor from
virginica. A hollow mark has an interval that holds 0: the data do not show that its feature matters
beside the others.
"""

import numpy as np

from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression
from mlcore.plot import coefficient_intervals

X, y = load_iris()
X, y = X[y > 0], y[y > 0]
model = LogisticRegression(C=np.inf).fit(X, y)
inference = model.inference(X, y)
print(inference)

names = ["sepal length", "sepal width", "petal length", "petal width"]
picture = coefficient_intervals(inference, feature_names=names)
picture.ax_.set(xlabel="log odds of virginica per cm, 95% interval")
