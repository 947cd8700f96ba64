"""
Straight borders or curved ones
===============================

Linear discriminants give all classes one covariance matrix, quadratic ones each its own. Here
the curves win nothing: both err on as many samples left out, and the straight borders need a third
of the covariances.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.plot import decision_regions

X, y = load_iris()
X = X[:, [0, 2]]
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
models = (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis())
for ax, model in zip(axes, models, strict=True):
    decision_regions(model.fit(X, y), X, y, ax=ax)
    left_out = (model.leave_one_out(X, y).argmax(axis=1) != y).mean()
    ax.set(title=f"{type(model).__name__[:-20]}: {left_out:.1%} wrong left out")
    ax.set_xlabel("sepal length in cm")
axes[0].set_ylabel("petal length in cm")
