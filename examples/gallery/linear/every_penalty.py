"""
Leave-one-out errors of a whole grid
====================================

Exact leave-one-out errors of every penalty cost one decomposition for each width: no refits.
"""

import numpy as np

from mlcore.datasets import load_digits
from mlcore.kernel_ridge import KernelRidgeCV
from mlcore.plot import search_scores

X, y = load_digits()
X, y = X[:500] / 16, np.equal.outer(y[:500], np.arange(10)).astype(float)
search = KernelRidgeCV(np.logspace(-4, 2, 13), [0.01, 0.03, 0.1, 0.3], kernel="rbf").fit(X, y)
picture = search_scores(search)
