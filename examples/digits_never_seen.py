"""A digit that was never seen: how far images are from what kernel principal components span.

python examples/digits_never_seen.py              prints how well each digit is told from the others
python examples/digits_never_seen.py FILE.svg     draws images, with noise, and without it again
"""

import sys

import numpy as np
from scipy.stats import rankdata

from mlcore.datasets import load_digits
from mlcore.decomposition import KernelPCA

N_TRAINING = 1200
NOISE = 0.25


def area(scores: np.ndarray, new: np.ndarray) -> float:
    """The share of pairs, one image of them new, in which the new one has the larger score."""
    first = new.sum() * (new.sum() + 1) / 2
    return float((rankdata(scores)[new].sum() - first) / (new.sum() * (~new).sum()))


def told_apart(X: np.ndarray, y: np.ndarray, digit: int) -> float:
    """The area for images of a digit, by components of training images of all others."""
    seen, labels = X[:N_TRAINING], y[:N_TRAINING]
    model = KernelPCA(100, kernel="rbf", gamma=0.1, random_state=0).fit(seen[labels != digit])
    return area(model.feature_residuals(X[N_TRAINING:]), y[N_TRAINING:] == digit)


def without_noise(X: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """Images whose scores are those of noisy ones, by components of clean images."""
    model = KernelPCA(
        40, kernel="rbf", gamma=0.05, alpha=0.01, fit_inverse_transform=True, random_state=0
    ).fit(X)
    return model.inverse_transform(model.transform(noisy))


def with_noise(images: np.ndarray) -> np.ndarray:
    return images + np.random.default_rng(0).normal(scale=NOISE, size=images.shape)


def draw(rows: list[np.ndarray], path: str) -> None:
    """A row of images each: clean, noisy, and without noise."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "digits"  # the same picture, the same file
    figure, axes = pyplot.subplots(3, 1, figsize=(0.7 * len(rows[0]), 2.7))
    for axis, row, name in zip(axes, rows, ("image", "noisy", "made from it"), strict=True):
        axis.imshow(np.hstack([*row.reshape(-1, 8, 8)]), cmap="gray_r", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])
        axis.set_ylabel(name, rotation=0, ha="right", va="center")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if ".svg" in path else None)


def main() -> None:
    X, y = load_digits()
    X /= 16  # pixels from 0 to 1
    print("digit left out   pairs in which it is the stranger one")
    for digit in range(10):
        print(f"{digit:14}{told_apart(X, y, digit):42.3f}")
    held_out, labels = X[N_TRAINING:], y[N_TRAINING:]
    images = held_out[[int(np.argmax(labels == digit)) for digit in range(10)]]
    noisy = with_noise(images)
    cleaned = without_noise(X[:N_TRAINING], noisy)
    before, after = (((Z - images) ** 2).sum(axis=1).mean() for Z in (noisy, cleaned))
    print(
        f"squared error of noisy images {before:.2f}, of those made from their scores {after:.2f}"
    )
    if len(sys.argv) > 1:
        draw([images, noisy, cleaned], sys.argv[1])


if __name__ == "__main__":
    main()
