"""
Choosing the cost and the width together
========================================

The two parameters of a Gaussian machine pull on each other, so `SVCCV` tries a table of them.
Kernel rows are shared by all costs and folds, and each fit begins at the last one's end.
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
