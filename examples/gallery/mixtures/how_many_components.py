"""
How many components?
====================

Schwarz's criterion pays for likelihood with parameters. All mixtures that were tried stay in the
result, so the choice can be looked at.
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

figure, ax = plt.subplots()
for form, mark in zip(forms, "os^d", strict=True):
    rows = choice.table["covariance_type"] == form
    ax.plot(choice.table["n_components"][rows], choice.table["bic"][rows], mark + "-", label=form)
ax.set(xlabel="components", ylabel="BIC, less is better", xticks=list(counts))
ax.legend()
print(f"the choice: {choice.best.n_components} components, {choice.best.covariance_type}")
