"""
Kernel ridge regression: leave-one-out errors of a grid
=======================================================

`KernelRidgeCV` predicts the petal width of a flower from its three other measurements. One
decomposition for each width gamma gives the exact leave-one-out errors of all penalties alpha, and
no model is fitted again.
"""

import numpy as np

from mlcore.datasets import load_iris
from mlcore.kernel_ridge import KernelRidgeCV
from mlcore.plot import search_scores

X, _ = load_iris()
alphas, gammas = np.logspace(-3, 0, 7), [0.01, 0.03, 0.1, 0.3, 1]
search = KernelRidgeCV(alphas, gammas, kernel="rbf").fit(X[:, :3], X[:, 3])
picture = search_scores(search)
print(f"alpha = {search.alpha_:.2g}, gamma = {search.gamma_:g}")
