"""
Drift found while looking all the time
======================================

A classifier errs on one example in twenty, until the world changes and it errs on one in eight. The
monitor compares its errors with those of a reference period, after every example. Its alarm is
false with probability at most 5%, however long it watches.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.bounds import RiskMonitor

rng = np.random.default_rng(1)
reference = rng.random(2000) < 0.05
errors = rng.random(6000) < np.where(np.arange(6000) < 3000, 0.05, 0.125)
monitor = RiskMonitor(reference=reference)
looks = np.arange(50, 6001, 50)
intervals = [monitor.update(batch).interval() for batch in np.split(errors, looks[:-1])]
print(monitor)

# %%
# The interval is one for the mean of the error rates so far: it holds them even though they change.
# The alarm does not wait for it to leave the level, because new bets start all the time.

figure, ax = plt.subplots(layout="constrained")
ax.fill_between(looks, *np.transpose(intervals), alpha=0.3, label="95% interval of the mean rate")
rates = np.where(looks <= 3000, 0.05, 0.05 + 0.075 * (looks - 3000) / looks)
ax.plot(looks, rates, label="mean of the true rates")
ax.axhline(monitor.level_, color="0.4", linestyle=":", label="bound from the reference period")
ax.axvline(3000, color="0.6", linestyle="--", label="change")
ax.axvline(monitor.alarm_at_, color="C3", label="alarm")
ax.set(xlabel="examples seen", ylabel="error rate", ylim=(0, 0.15), xlim=(0, 6000))
ax.legend(fontsize="small")
