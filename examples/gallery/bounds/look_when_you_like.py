"""
An interval to look at after every example
==========================================

An interval for a fixed number of examples fails if one stops when it looks good. A confidence
sequence holds at all times at once, and costs little more.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.bounds import bernoulli_confidence_sequence, clopper_pearson

errors = np.cumsum(np.random.default_rng(1).random(2000) < 0.1)
m = np.unique(np.logspace(1, np.log10(2000), 60).astype(int))
k = errors[m - 1]
figure, ax = plt.subplots()
for name, (low, high), style in (
    ("at all times", bernoulli_confidence_sequence(k, m, 0.05), "-"),
    ("at one time", clopper_pearson(k, m, 0.05), "--"),
):
    (line,) = ax.semilogx(m, high, style, label=name)
    ax.semilogx(m, low, style, color=line.get_color())
ax.axhline(0.1, color="0.6", linestyle=":")
ax.set(xlabel="examples seen", ylabel="error rate, 95% interval")
ax.legend()
