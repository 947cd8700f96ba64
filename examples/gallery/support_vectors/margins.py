"""
SVC: margin and support vectors
===============================

A support vector machine depends only on its support vectors, the samples on the margin or inside
it (circles). Margin errors are the samples inside the margin or on the wrong side of the boundary
(crosses). A smaller `C` gives a wider margin with more margin errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_iris
from mlcore.plot import decision_regions
from mlcore.svm import SVC

X, y = load_iris()
species = np.array(["setosa", "versicolor", "virginica"])[y]
X, species = X[y > 0][:, 2:], species[y > 0]
names = ["petal length in cm", "petal width in cm"]

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, C in zip(axes, (0.1, 10), strict=True):
    model = SVC(kernel="linear", C=C).fit(X, species)
    decision_regions(model, X, species, feature_names=names, ax=ax)
    ax.set_title(f"C = {C:g}: {len(model.support_)} support vectors")
    gap = model.duality_gap_ / model.dual_objective_
    print(f"C = {C:g}: relative gap {gap:.1e}, {model.score(X, species):.0%} of the flowers right")
axes[0].get_legend().remove()
