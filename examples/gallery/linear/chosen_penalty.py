"""
Lasso: path of the coefficients and the chosen penalty
======================================================

Each line is the coefficient of a pixel. The larger C, the smaller the penalty, and the more pixels
have a coefficient. Cross-validation chooses C for new images; the dotted line marks it.
"""

from mlcore.datasets import load_digits
from mlcore.linear_model import LogisticRegression, LogisticRegressionCV
from mlcore.plot import penalty_path

X, y = load_digits()
ones_and_eights = (y == 1) | (y == 8)
X, y = X[ones_and_eights] / 16, y[ones_and_eights]
train, test = slice(None, 200), slice(200, None)

search = LogisticRegressionCV(Cs=40, l1_ratio=1.0).fit(X[train], y[train])
path = LogisticRegression(l1_ratio=1.0).path(X[train], y[train], Cs=search.Cs_)
names = [f"row {row}, column {column}" for row in range(8) for column in range(8)]
picture = penalty_path(path, chosen=search, feature_names=names, n_names=6)

right = search.score(X[test], y[test])
print(f"C={search.C_:.2g}: {right:.1%} of {len(y[test])} new images right")
print(f"largest gap of the path: {(path.duality_gap / path.objective).max():.0e} of the objective")
