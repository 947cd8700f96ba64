"""
Lasso: logistic regression with few pixels
==========================================

The lasso (an L1 penalty) sets the coefficients of many pixels to exactly 0: the smaller C, the
fewer pixels remain. Red pixels raise the score of a digit, blue pixels lower it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.linear_model import LogisticRegression

X, y = load_digits()
train, test = slice(None, 1200), slice(1200, None)
Cs = [0.002, 0.01, 0.1]
figure, axes = plt.subplots(len(Cs), 10, figsize=(8, 3), layout="constrained")
for C, row in zip(Cs, axes, strict=True):
    model = LogisticRegression(C=C, l1_ratio=1.0).fit(X[train], y[train])
    used = np.count_nonzero(model.coef_)
    right = model.score(X[test], y[test])
    gap = model.duality_gap_ / model.objective_
    print(f"C={C:<5g} {used:3d} of 640 coefficients, {right:.1%} right, gap {gap:.0e}")
    limit = np.abs(model.coef_).max()
    for digit, ax in enumerate(row):
        ax.imshow(model.coef_[digit].reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(f"C={C:g}", rotation=0, ha="right", va="center")
for digit, ax in enumerate(axes[0]):
    ax.set_title(digit)
