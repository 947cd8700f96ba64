"""
SVC: duality gap and test error against `tol`
=============================================

`tol` says when the fit of an SVM stops. The duality gap is an upper bound on the distance of its
objective from the optimum, computed from the fit alone. The test error no longer changes while the
gap still falls.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.svm import SVC

X, y = load_digits()
train, test = slice(0, 1000), slice(1000, None)
tolerances = 10.0 ** -np.arange(0, 7)
gaps, errors = [], []
for tol in tolerances:
    model = SVC(C=10, gamma=1e-3, tol=tol).fit(X[train], y[train])
    gaps.append(np.sum(model.duality_gap_) / np.sum(model.dual_objective_))
    errors.append(1 - model.score(X[test], y[test]))

figure, ax = plt.subplots(layout="constrained")
ax.loglog(tolerances, gaps, "o-", color="#0072B2", label="duality gap / objective")
ax.loglog(tolerances, errors, "s--", color="#D55E00", label="error on new digits")
ax.invert_xaxis()
ax.set(xlabel="tol")
ax.legend()
print(f"with the default of 0.001 the gap is {gaps[3]:.1e} of the objective")
