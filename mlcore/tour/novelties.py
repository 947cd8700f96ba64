"""Lines of the tour on images that kernel components have not seen."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np


def residuals(digits: Any) -> Iterator[tuple[str, str]]:
    """Yield what is measured, and its value."""
    from mlcore.decomposition import KernelPCA

    model = KernelPCA(16, kernel="rbf", gamma=0.1, random_state=0)
    start = time.perf_counter()
    model.fit(digits.X)
    seconds = time.perf_counter() - start
    scrambled = np.random.default_rng(0).permuted(digits.X_held_out, axis=1)
    own, noise = map(model.feature_residuals, (digits.X_held_out, scrambled))
    yield f"16 components of {len(digits.X)} images, rbf kernel", f"{1000 * seconds:.0f} ms"
    yield "largest residual of an eigenvector", f"{model.residuals_.max():.0e}"
    yield "median residual of held-out images", f"{np.median(own):.2f}"
    yield "of the same with their pixels in random order", f"{np.median(noise):.2f}"
