"""
Gaussian mixtures: number of components by BIC
==============================================

The Bayesian information criterion (BIC) adds a penalty for each parameter to the negative
log-likelihood. `select_mixture` fits all mixtures, chooses the least BIC and keeps the whole table.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_iris
from mlcore.mixture import select_mixture

X, _ = load_iris()
forms = ("full", "tied", "diag", "spherical")
counts = range(1, 7)
choice = select_mixture(
    X, n_components=counts, covariance_type=forms, n_init=3, random_state=0, max_iter=500
)

figure, ax = plt.subplots(layout="constrained")
for form, mark in zip(forms, "os^d", strict=True):
    rows = choice.table["covariance_type"] == form
    ax.plot(choice.table["n_components"][rows], choice.table["bic"][rows], mark + "-", label=form)
ax.set(xlabel="components", ylabel="BIC, less is better", xticks=list(counts))
ax.legend(title="covariances")
print(f"the choice: {choice.best.n_components} components, {choice.best.covariance_type}")
