"""
How much a start decides
========================

k-means ends in a local minimum, and where it begins decides which. k-means++ begins with centres
far from each other; 20 starts each, sorted by the objective they end at.
"""

from mlcore.cluster import KMeans
from mlcore.datasets import load_digits
from mlcore.plot import start_quality

X, _ = load_digits()
models = {name: KMeans(10, init=name, n_init=1) for name in ("k-means++", "random")}
picture = start_quality(models, X, n_starts=20)
