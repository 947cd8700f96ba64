"""
Kernel PCA of two circles
=========================

No straight line separates two concentric circles. In the feature space of a Gaussian kernel they
lie in different directions, and the first kernel principal component separates them.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.decomposition import KernelPCA

rng = np.random.default_rng(0)
angle, inner = rng.uniform(0, 2 * np.pi, 300), np.arange(300) % 2
X = np.c_[np.cos(angle), np.sin(angle)] * np.c_[1 + 2 * inner] + 0.12 * rng.normal(size=(300, 2))
model = KernelPCA(2, kernel="rbf", gamma=0.5).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
views = {"samples": X, "kernel principal components": model.transform(X)}
for ax, (title, points) in zip(axes, views.items(), strict=True):
    for group, (color, mark) in enumerate((("#0072B2", "o"), ("#D55E00", "^"))):
        ax.plot(*points[inner == group].T, mark, color=color, markersize=4)
    ax.set_title(title)
print(f"largest residual of an eigenpair: {np.max(model.residuals_):.1e}")
