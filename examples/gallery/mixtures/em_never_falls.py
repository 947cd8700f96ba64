"""
EM: log-likelihood of a Gaussian mixture at each step
=====================================================

No step of EM lowers the likelihood, and the fit keeps the trace that shows it. EM ends in a local
maximum: three random starts end at different log-likelihoods.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_iris
from mlcore.mixture import GaussianMixture
from mlcore.plot import objective_trace

X, _ = load_iris()
figure, ax = plt.subplots(layout="constrained")
for seed in range(3):
    model = GaussianMixture(
        4, init_params="random_from_data", random_state=seed, tol=1e-6, max_iter=500
    ).fit(X)
    end = model.log_likelihood_trace_[-1]
    objective_trace(model, label=f"start {seed}: {model.n_iter_} steps, {end:.3f}", ax=ax)
ax.set(ylabel="log-likelihood of a flower", ylim=(-2, -1))
