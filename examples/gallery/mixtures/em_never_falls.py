"""
The likelihood never falls
==========================

Each step of EM raises the likelihood, and the trace of a fit shows it: a step that fell would be a
fault in the code. Three starts reach different heights.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_iris
from mlcore.mixture import GaussianMixture
from mlcore.plot import objective_trace

X, _ = load_iris()
figure, ax = plt.subplots()
for seed in range(3):
    model = GaussianMixture(
        4, init_params="random_from_data", random_state=seed, tol=1e-6, max_iter=500
    ).fit(X)
    objective_trace(model, label=f"start {seed}: {model.n_iter_} steps", ax=ax)
ax.legend()
