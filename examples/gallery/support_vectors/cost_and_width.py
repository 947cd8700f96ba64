"""
SVC: grid search over C and gamma
=================================

The best C depends on gamma, so `SVCCV` cross-validates all pairs of a grid. The fits share kernel
rows, and each fit starts from the solution for the previous C.
"""

from mlcore.datasets import load_digits
from mlcore.plot import search_scores
from mlcore.svm import SVCCV

X, y = load_digits()
search = SVCCV(Cs=(0.1, 1, 10, 100), gammas=(1e-4, 3e-4, 1e-3, 3e-3, 1e-2), cv=3)
search.fit(X[:600], y[:600])

picture = search_scores(search)
right = search.score(X[600:], y[600:])
print(f"C = {search.C_:g}, gamma = {search.gamma_:g}: {right:.1%} of new digits right")
