"""
Logistic regression: confidence intervals of the coefficients
=============================================================

Without a penalty, logistic regression has standard errors. The model distinguishes versicolor from
virginica. If an interval holds 0, the data do not show that its feature matters beside the others.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression

X, y = load_iris()
X, y = X[y > 0], y[y > 0]
model = LogisticRegression(C=np.inf).fit(X, y)
inference = model.inference(X, y)
print(inference)

names = ["sepal length", "sepal width", "petal length", "petal width"]
low, high = inference.confidence_interval(0.95)[:4].T
figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
middle = inference.estimates[:4]
ax.errorbar(middle, range(4), xerr=[middle - low, high - middle], fmt="o", capsize=4)
ax.axvline(0, color="0.6", linestyle="--")
ax.set_yticks(range(4), names)
ax.set(xlabel="log odds of virginica per cm, 95% interval", ylim=(-0.5, 3.5))
