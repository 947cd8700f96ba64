"""
Digits as switches
==================

With pixels on or off, each component of a Bernoulli mixture is a picture of probabilities. It
reads images with holes: missing pixels are left out of the sums exactly.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.mixture import BernoulliMixture

X, y = load_digits()
pixels = (X > 0.5).astype(float)
holes = np.random.default_rng(0).random(pixels.shape) < 0.3
pixels[holes] = np.nan
model = BernoulliMixture(
    10, binarize=None, missing="ignore", n_init=4, random_state=0, max_iter=500
).fit(pixels)

figure, axes = plt.subplots(2, 5, figsize=(7, 3.2))
for image, weight, ax in zip(model.means_, model.weights_, axes.ravel(), strict=True):
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], title=f"weight {weight:.2f}")
print(f"{holes.mean():.0%} of the pixels were missing")
