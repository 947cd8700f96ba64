"""
Confidence sequence of an error rate
====================================

A confidence interval holds for one number of examples that was fixed before. A confidence sequence
holds for all numbers at once, so that a test may stop when its result looks clear. The intervals
of the sequence are a little wider.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.bounds import bernoulli_confidence_sequence, clopper_pearson

errors = np.cumsum(np.random.default_rng(1).random(2000) < 0.1)
m = np.unique(np.logspace(1, np.log10(2000), 60).astype(int))
k = errors[m - 1]
figure, ax = plt.subplots(layout="constrained")
for name, (low, high), style in (
    ("confidence sequence", bernoulli_confidence_sequence(k, m, 0.05), "-"),
    ("interval for one sample size", clopper_pearson(k, m, 0.05), "--"),
):
    (line,) = ax.semilogx(m, high, style, label=name)
    ax.semilogx(m, low, style, color=line.get_color())
ax.axhline(0.1, color="0.6", linestyle=":", label="true error rate")
ax.set(xlabel="examples seen", ylabel="error rate, 95% interval")
ax.legend()
