"""
Calibration: naive Bayes before and after
=========================================

Naive Bayes is too sure that a digit is an eight: of those that it is nearly certain of, three in
ten are. Fresh digits teach a calibrator what its scores are worth. Bars hold all true frequencies
at once with 95%. On the right, the ends of the Venn-Abers interval are the probabilities if the
new digit were no eight, and if it were one: it is wide where few digits were seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.calibration import VennAbersCalibrator
from mlcore.datasets import load_digits
from mlcore.naive_bayes import GaussianNB
from mlcore.plot import reliability_curve

X, y = load_digits()
order = np.random.default_rng(0).permutation(len(y))
X, eight = X[order], y[order] == 8
model = GaussianNB(var_smoothing=0.1).fit(X[:300], eight[:300])
log_odds = np.diff(model.predict_joint_log_proba(X), axis=1).ravel()
calibrator = VennAbersCalibrator().fit(log_odds[300:900], eight[300:900])

figure, (before, after, below) = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
plain = model.predict_proba(X[900:])[:, 1]
reliability_curve(eight[900:], plain, n_bins=5, label="naive Bayes", ax=before)
probability = calibrator.predict_proba(log_odds[900:])[:, 1]
reliability_curve(eight[900:], probability, n_bins=5, label="Venn-Abers", ax=after)
for ax in (before, after):
    ax.set_ylabel("observed frequency of eights")
grid = np.linspace(-30, 30, 400)
low, high = calibrator.predict_interval(grid)
below.fill_between(grid, low, high, alpha=0.4, label="Venn-Abers interval")
below.plot(grid, 1 / (1 + np.exp(-grid)), "k:", label="naive Bayes itself")
below.set(xlabel="log odds of an eight by naive Bayes", ylabel="probability")
below.legend(fontsize="small")
