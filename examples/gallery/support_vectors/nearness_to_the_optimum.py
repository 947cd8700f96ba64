"""
What a tolerance buys
=====================

`tol` stops the fit of a machine; the duality gap says how far the objective then is from the best
there is, as a theorem and not by comparison with a longer run. Predictions settle long before it.
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
    machine = SVC(C=10, gamma=1e-3, tol=tol).fit(X[train], y[train])
    gaps.append(np.sum(machine.duality_gap_) / np.sum(machine.dual_objective_))
    errors.append(1 - machine.score(X[test], y[test]))

figure, ax = plt.subplots()
ax.loglog(tolerances, gaps, "o-", color="#0072B2", label="duality gap / objective")
ax.loglog(tolerances, errors, "s--", color="#D55E00", label="error on new digits")
ax.invert_xaxis()
ax.set(xlabel="tol")
ax.legend()
print(f"with the default of 0.001 the gap is {gaps[3]:.1e} of the objective")
