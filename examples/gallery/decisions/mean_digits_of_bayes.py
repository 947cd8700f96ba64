"""
Gaussian naive Bayes on the digits
==================================

Gaussian naive Bayes learns a mean and a standard deviation of each pixel for each digit. It
assumes that pixels are independent given the digit, which is false, and still classifies most new
digits correctly.
"""

import matplotlib.pyplot as plt

from mlcore.datasets import load_digits
from mlcore.naive_bayes import GaussianNB

X, y = load_digits()
model = GaussianNB(var_smoothing=0.1).fit(X[:1200], y[:1200])

figure, axes = plt.subplots(2, 10, figsize=(10, 2.6), layout="constrained")
for digit, (mean, deviation) in enumerate(axes.T):
    mean.imshow(model.theta_[digit].reshape(8, 8), cmap="gray_r")
    deviation.imshow(model.var_[digit].reshape(8, 8) ** 0.5, cmap="viridis")
    mean.set_title(str(digit))
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("mean")
axes[1, 0].set_ylabel("deviation")
print(f"{model.score(X[1200:], y[1200:]):.1%} of new digits are classified correctly")
