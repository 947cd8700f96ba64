"""
Generalization bounds: how many examples are enough?
====================================================

Each curve is an upper bound on the true error after an observed error of 5%: for one function that
was tested on fresh examples, for the best of 1,000 functions, and for the best function of a class
of VC dimension 10. A bound of 1 or more says nothing.
"""

import numpy as np

from mlcore.bounds import binomial_tail_inversion, finite_class_epsilon, vc_deviation
from mlcore.plot import bound_curves

sizes = np.unique(np.logspace(1.5, 6, 25).astype(int))
curves = {
    "one function": binomial_tail_inversion(sizes // 20, sizes, 0.05),
    "best of 1,000": lambda m: 0.05 + finite_class_epsilon(1_000, m, 0.05, setting="uniform"),
    "VC dimension 10": lambda m: 0.05 + vc_deviation(m, 10, 0.05, method="rademacher"),
}
picture = bound_curves(curves, sizes, observed=0.05)
