"""Lines of the tour on kernels of samples that are no vectors."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def strings_and_sets(digits: Any) -> Iterator[tuple[str, str]]:
    """Yield what is measured, and its value."""
    from mlcore.kernels import PyramidMatch, StringKernel
    from mlcore.svm import SVC

    for kernel, samples, what in (
        (StringKernel(length=5), _drawn, "images drawn as text, by common strings of 5"),
        (PyramidMatch(side=1.0), _points, "images as sets of points, by those that match"),
    ):
        model = SVC(kernel=kernel, C=10).fit(samples(digits.X), digits.y)
        right = model.score(samples(digits.X_held_out), digits.y_held_out)
        yield f"held-out {what}: named right", f"{right:.1%}"
    text = ["science is organized knowledge", "wisdom is organized life"]
    likeness = StringKernel("gapped", length=4)(text)[0, 1]
    yield "likeness of two sentences, by common subsequences of 4", f"{likeness:.3f}"


def _drawn(X):
    inks = np.array(list(" -+#"))[np.minimum(3, (4 * X).astype(int))]
    return ["\n".join(map("".join, image)) for image in inks.reshape(-1, 8, 8)]


def _points(X):
    images = X.reshape(-1, 8, 8)
    return [np.c_[np.argwhere(image > 0), 4 * image[image > 0]] for image in images]
