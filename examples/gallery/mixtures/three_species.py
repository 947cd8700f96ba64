"""
Three species as three Gaussians
================================

A mixture fitted without labels: colours mix as the responsibilities do, ellipses are one and two
standard deviations.
"""

import numpy as np

from mlcore.datasets import load_iris
from mlcore.mixture import GaussianMixture
from mlcore.plot import mixture_ellipses

X, y = load_iris()
X = X[:, 2:]
model = GaussianMixture(3, n_init=5, random_state=0).fit(X)
picture = mixture_ellipses(model, X)
picture.ax_.set(xlabel="petal length in cm", ylabel="petal width in cm")
sure = np.mean(model.predict_proba(X).max(axis=1) > 0.9)
print(f"{sure:.0%} of the flowers belong to a component with probability above 0.9")
