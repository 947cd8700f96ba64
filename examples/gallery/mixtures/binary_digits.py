"""
Bernoulli mixture of binary images, with missing pixels
=======================================================

A pixel is on if its value is above 7. Each component of a Bernoulli mixture has a probability for
each pixel, which the picture shows. EM leaves missing pixels out of its sums, which is exact.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.mixture import BernoulliMixture

X, y = load_digits()
pixels = (X > 7).astype(float)
missing = np.random.default_rng(0).random(pixels.shape) < 0.3
pixels[missing] = np.nan
model = BernoulliMixture(
    10, binarize=None, missing="ignore", n_init=4, random_state=0, max_iter=500
).fit(pixels)

figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
for image, weight, ax in zip(model.means_, model.weights_, axes.ravel(), strict=True):
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], title=f"weight {weight:.2f}")
print(f"{missing.mean():.0%} of the pixels were missing")
