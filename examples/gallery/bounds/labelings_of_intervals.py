"""
Growth function and VC dimension of intervals
=============================================

The growth function counts the labelings of m points that a class of functions can produce. Up to
the VC dimension these are all labelings; beyond it Sauer's bound limits them to a polynomial in m.
Intervals reach this bound.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.bounds import growth_function, sauer_bound, vc_dimension

points = np.arange(8)
intervals = [(points >= a) & (points < b) for a in range(9) for b in range(a, 9)]
table = np.unique(np.array(intervals).astype(int), axis=0)
sizes = np.arange(1, 9)
d = vc_dimension(table)

figure, ax = plt.subplots(layout="constrained")
ax.semilogy(sizes, 2.0**sizes, ":", label="all labelings")
ax.semilogy(sizes, [sauer_bound(m, d) for m in sizes], "s--", markersize=9, label="Sauer's bound")
ax.semilogy(sizes, [growth_function(table, m) for m in sizes], "o-", label="intervals")
ax.set(xlabel="points", ylabel="labelings", title=f"VC dimension {d}")
ax.legend()
