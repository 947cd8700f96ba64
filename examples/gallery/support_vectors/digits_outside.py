"""
Outlier detection with a one-class SVM
======================================

A one-class SVM learns, without labels, a region that holds all but a share `nu` of the samples. The
first row has the digits that lie farthest outside, the second row those farthest inside.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.svm import OneClassSVM

X, y = load_digits()
model = OneClassSVM(nu=0.05, gamma=1e-4).fit(X)
order = np.argsort(model.decision_function(X))

figure, axes = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
rows = {"outside": order[:8], "inside": order[-8:]}
for ax_row, (name, samples) in zip(axes, rows.items(), strict=True):
    for ax, index in zip(ax_row, samples, strict=True):
        ax.imshow(X[index].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[], title=str(y[index]))
    ax_row[0].set_ylabel(name)
print(f"{np.mean(model.predict(X) == -1):.1%} of the digits are outside, nu is 5%")
