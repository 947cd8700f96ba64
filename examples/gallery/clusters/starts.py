"""
k-means++ and random starts of k-means
======================================

k-means ends in a local minimum, and its start decides in which one. Most starts of both kinds end
near the best; k-means++ avoids the worst ends of random starts. The legend has the mean and the
largest excess over the best objective.
"""

from mlcore.cluster import KMeans
from mlcore.datasets import load_digits
from mlcore.plot import start_quality

X, _ = load_digits()
models = {name: KMeans(10, init=name, n_init=1) for name in ("k-means++", "random")}
picture = start_quality(models, X, n_starts=20)
for curve in picture.artists_["curves"]:
    excess = curve.get_ydata()
    curve.set_label(f"{curve.get_label()}: mean {excess.mean():.1f}%, worst {excess.max():.1f}%")
picture.ax_.legend()
