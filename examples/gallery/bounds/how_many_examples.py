"""
How many examples do I need?
============================

Bounds on the true error after 5% errors: on fresh examples, on the best of a thousand functions,
and for a class of VC dimension 10. Above 1 a bound says nothing.
"""

import numpy as np

from mlcore.bounds import binomial_tail_inversion, finite_class_epsilon, vc_deviation
from mlcore.plot import bound_curves

sizes = np.unique(np.logspace(1.5, 6, 25).astype(int))
curves = {
    "fresh examples": binomial_tail_inversion(sizes // 20, sizes, 0.05),
    "best of 1,000 functions": lambda m: 0.05 + finite_class_epsilon(1_000, m, 0.05),
    "VC dimension 10": lambda m: 0.05 + vc_deviation(m, 10, 0.05, method="rademacher"),
}
picture = bound_curves(curves, sizes, observed=0.05)
