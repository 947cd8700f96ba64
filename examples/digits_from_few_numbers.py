"""How many numbers are a handwritten digit? Principal components, and images made from few.

python examples/digits_from_few_numbers.py              prints shares of variance and their bounds
python examples/digits_from_few_numbers.py FILE.svg     draws images and what k numbers keep of them
"""

import sys

import numpy as np

from mlcore.datasets import load_digits
from mlcore.decomposition import PCA

N_TRAINING = 1200
COUNTS = (2, 5, 10, 20, 40)


def models(X: np.ndarray) -> list[PCA]:
    """A projection of each number of components."""
    return [PCA(k).fit(X) for k in COUNTS]


def report(fitted: list[PCA], held_out: np.ndarray) -> list[str]:
    """A line for each number of components."""
    header = ("components", "explained", "at most", "held out", "angle below")
    lines = ["".join(f"{title:>14}" for title in header)]
    for model in fitted:
        most = model.explained_fraction_bounds_[1]
        errors = model.reconstruction_errors(held_out)
        spread = ((held_out - model.mean_) ** 2).sum()
        lines.append(
            f"{model.n_components_:14}{model.explained_variance_ratio_.sum():14.4f}{most:14.4f}"
            f"{1 - errors.sum() / spread:14.4f}{model.angle_bounds_.max():14.0e}"
        )
    lines.append(
        "explained, held out: shares of the variance, of the images learnt from and others."
    )
    lines.append("at most: of any so many directions. angle below: sine of that to the exact ones.")
    return lines


def draw(fitted: list[PCA], images: np.ndarray, path: str) -> None:
    """A row for each number of components, the images themselves below."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "digits"  # the same picture, the same file
    rows = [model.inverse_transform(model.transform(images)) for model in fitted] + [images]
    names = [f"{model.n_components_} numbers" for model in fitted] + ["64 pixels"]
    figure, axes = pyplot.subplots(len(rows), 1, figsize=(0.7 * len(images), 0.9 * len(rows)))
    for axis, row, name in zip(axes, rows, names, strict=True):
        axis.imshow(np.hstack([*row.reshape(-1, 8, 8)]), cmap="gray_r", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])
        axis.set_ylabel(name, rotation=0, ha="right", va="center")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if ".svg" in path else None)


def main() -> None:
    X, y = load_digits()
    X /= 16  # pixels from 0 to 1
    fitted = models(X[:N_TRAINING])
    held_out, labels = X[N_TRAINING:], y[N_TRAINING:]
    print("\n".join(report(fitted, held_out)))
    if len(sys.argv) > 1:
        draw(
            fitted, held_out[[int(np.argmax(labels == digit)) for digit in range(10)]], sys.argv[1]
        )


if __name__ == "__main__":
    main()
