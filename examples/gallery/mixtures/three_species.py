"""
Gaussian mixture on iris
========================

The mixture is fitted without labels. The colour of a flower mixes the colours of the components by
its responsibilities; the ellipses lie at one and two standard deviations.
"""

import numpy as np

from mlcore.datasets import load_iris
from mlcore.mixture import GaussianMixture
from mlcore.plot import mixture_ellipses

X, y = load_iris()
X, names = X[:, 2:], ["petal length in cm", "petal width in cm"]
model = GaussianMixture(3, n_init=5, random_state=0).fit(X)
picture = mixture_ellipses(model, X, feature_names=names)
sure = np.mean(model.predict_proba(X).max(axis=1) > 0.9)
print(f"{sure:.0%} of the flowers belong to a component with probability above 0.9")
