"""
The margin, and who stands on it
================================

A support vector machine keeps the samples on the margin or within it, and forgets the rest.
Circles are support vectors, crosses margin errors: samples nearer to the boundary than the margin,
or on its wrong side. A smaller `C` buys a wider margin with more of them.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_iris
from mlcore.plot import decision_regions
from mlcore.svm import SVC

X, y = load_iris()
X, y = X[y > 0][:, 2:], y[y > 0]  # petals of two species

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, C in zip(axes, (0.1, 10), strict=True):
    machine = SVC(kernel="linear", C=C).fit(X, y)
    decision_regions(machine, X, y, ax=ax)
    ax.set(xlabel="petal length in cm", title=f"C = {C:g}: {len(machine.support_)} support vectors")
    gap = machine.duality_gap_ / machine.dual_objective_
    print(f"C = {C:g}: optimal to {gap:.1e}, {machine.score(X, y):.0%} of the flowers right")
axes[0].set_ylabel("petal width in cm")
