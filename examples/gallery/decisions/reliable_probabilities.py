"""
Calibration: reliability curves of two classifiers
==================================================

If probabilities are calibrated, seven in ten of the digits with probability 70% of being an eight
are eights. Vertical bars are exact 95% intervals: where one misses the diagonal, the probabilities
are wrong. Numbers count the digits of each point.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_digits
from mlcore.linear_model import LogisticRegression
from mlcore.naive_bayes import GaussianNB
from mlcore.plot import reliability_curve

X, y = load_digits()
eight = y == 8
models = {
    "naive Bayes": GaussianNB(var_smoothing=0.1),
    "logistic regression": LogisticRegression(C=0.01),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    probability = model.fit(X[:900], eight[:900]).predict_proba(X[900:])[:, 1]
    reliability_curve(eight[900:], probability, n_bins=8, label=name, ax=ax)
axes[0].set_ylabel("observed frequency of eights")
