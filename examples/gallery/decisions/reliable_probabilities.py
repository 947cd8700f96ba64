"""
Are the probabilities true?
===========================

Of all digits called an eight with 70%, seven in ten should be eights. Bars are exact intervals:
only where one misses the diagonal are the probabilities shown to be off.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_digits
from mlcore.linear_model import LogisticRegression
from mlcore.naive_bayes import GaussianNB
from mlcore.plot import reliability_curve

X, y = load_digits()
X, eight = X / 16, y == 8
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, model in zip(
    axes, (GaussianNB(var_smoothing=1e-2), LogisticRegression(C=0.1)), strict=True
):
    probability = model.fit(X[:900], eight[:900]).predict_proba(X[900:])[:, 1]
    reliability_curve(eight[900:], probability, n_bins=8, label=type(model).__name__, ax=ax)
