"""
The oddest digits
=================

A one-class machine learns a region that holds all but a share `nu` of the samples, without labels.
Those furthest outside are the digits that even people hesitate to read.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.svm import OneClassSVM

X, y = load_digits()
machine = OneClassSVM(nu=0.05, gamma=1e-3).fit(X)
order = np.argsort(machine.decision_function(X))

figure, axes = plt.subplots(2, 8, figsize=(8, 2.6))
for row, (ax_row, which) in enumerate(zip(axes, (order[:8], order[-8:]), strict=True)):
    for ax, index in zip(ax_row, which, strict=True):
        ax.imshow(X[index].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[], title=str(y[index]))
    ax_row[0].set_ylabel(("outside", "inside")[row])
print(f"{np.mean(machine.predict(X) == -1):.1%} of the digits are outside, nu is 5%")
