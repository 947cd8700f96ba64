"""
Beta-Bernoulli posterior of a rate
==================================

A coin shows heads in 30% of all throws. The curves are the posterior densities of this rate after
0, 5, 20 and 100 throws with a uniform prior; the 95% interval becomes narrower.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta

from mlcore.bayes import BetaBernoulli

heads = np.random.default_rng(0).random(100) < 0.3
grid = np.linspace(0, 1, 400)
figure, ax = plt.subplots(layout="constrained")
for n, style in zip((0, 5, 20, 100), (":", "-.", "--", "-"), strict=True):
    rate = BetaBernoulli().update(heads[:n].sum(), n - heads[:n].sum())
    low, high = rate.interval(0.95)
    ax.plot(grid, beta.pdf(grid, rate.a, rate.b), style, label=f"{n}: {low:.2f} to {high:.2f}")
ax.axvline(0.3, color="0.6", label="true rate")
ax.set(xlabel="probability of heads", ylabel="posterior density")
ax.legend(title="throws: 95% interval")
