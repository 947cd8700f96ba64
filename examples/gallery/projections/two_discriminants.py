"""
LDA and QDA decision regions
============================

Linear discriminant analysis (LDA) gives all classes one covariance matrix, and its borders are
straight. Quadratic discriminant analysis (QDA) gives each class its own. Here both misclassify the
same share of flowers in leave-one-out tests, and LDA has a third of the covariances.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.plot import decision_regions

X, y = load_iris()
X, species = X[:, [0, 2]], np.array(["setosa", "versicolor", "virginica"])[y]
names = ["sepal length in cm", "petal length in cm"]
models = {"LDA": LinearDiscriminantAnalysis(), "QDA": QuadraticDiscriminantAnalysis()}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    decision_regions(model.fit(X, species), X, species, feature_names=names, ax=ax)
    wrong = (model.leave_one_out(X, species).argmax(axis=1) != y).mean()
    ax.set(title=f"{name}: leave-one-out error {wrong:.1%}")
axes[0].get_legend().remove()
