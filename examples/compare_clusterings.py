"""One affinity matrix under every normalisation: what clustering finds, and how long it takes.

    python examples/compare_clusterings.py --mnist IMAGES --write docs/clustering.md

prints a table for two moons, two circles, irises and digits, and for MNIST where IMAGES is given:
t10k-images-idx3-ubyte.gz as published, with its labels in the same folder, or an .npz file with
arrays X and y. With --write, the table takes the place of the one in that file.
"""

import argparse
import gzip
import re
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from mlcore.cluster import (
    KernelKMeans,
    KMeans,
    ProbabilisticClustering,
    SpectralClustering,
    adjusted_rand_index,
)
from mlcore.datasets import load_digits, load_iris
from mlcore.kernels import gram_matrix

NEIGHBOUR = 7
MARKS = "<!-- compare_clusterings -->", "<!-- end -->"


def two_moons(n=400, noise=0.07, seed=0):
    """Two half circles that reach into each other."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    X = np.stack([np.cos(angle) + y, np.where(y, -1, 1) * np.sin(angle) + 0.5 * y], axis=1)
    return X + rng.normal(scale=noise, size=X.shape), y


def two_circles(n=400, noise=0.05, seed=0):
    """One circle inside another."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y, 0.5, 1.0)
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + rng.normal(scale=noise, size=X.shape), y


def mnist(path, n):
    """The first n images of MNIST, pixels from 0 to 1, and their digits."""
    if path.suffix == ".npz":
        with np.load(path) as stored:
            X, y = stored["X"], stored["y"]
    else:
        arrays = []
        for name, header in ((path.name, 16), (path.name.replace("images-idx3", "labels-idx1"), 8)):
            file = path.with_name(name)
            data = gzip.decompress(file.read_bytes()) if name.endswith("gz") else file.read_bytes()
            arrays.append(np.frombuffer(data, dtype=np.uint8, offset=header))
        X, y = arrays
    X = X.reshape(len(y), -1)[:n].astype(np.float64)
    return X / X.max(), y[:n]


def neighbour_gamma(X):
    """The rbf's gamma whose width is the median distance to a sample's seventh neighbour."""
    nearest = [
        np.partition(cdist(X[start : start + 500], X), NEIGHBOUR, axis=1)[:, NEIGHBOUR]
        for start in range(0, len(X), 500)
    ]
    return 1 / (2 * np.median(np.concatenate(nearest)) ** 2)


def on_affinities(model):
    """Labels by a model of affinities, which are formed first."""
    return lambda X, gamma: model.fit(gram_matrix(X, kernel="rbf", gamma=gamma)).labels_


def methods(k):
    """What to compare, by name: functions of samples and gamma that return labels."""

    def spectral(normalization):
        return on_affinities(
            SpectralClustering(
                k, affinity="precomputed", normalization=normalization, n_init=10, random_state=0
            )
        )

    return {
        "k-means": lambda X, gamma: KMeans(k, n_init=10, random_state=0).fit(X).labels_,
        "kernel k-means": on_affinities(
            KernelKMeans(k, kernel="precomputed", n_init=10, random_state=0)
        ),
        "ratio cut": spectral("ratio_cut"),
        "normalized cut": spectral("normalized_cut"),
        "doubly stochastic": spectral("doubly_stochastic"),
        "Frobenius": spectral("frobenius"),
        "probabilistic": on_affinities(
            ProbabilisticClustering(k, affinity="precomputed", random_state=0)
        ),
    }


def measured(cluster, X, gamma, repeat):
    """Labels, and the least seconds of `repeat` runs."""
    labels, seconds = None, []
    for _ in range(repeat):
        start = time.perf_counter()
        labels = cluster(X, gamma)
        seconds.append(time.perf_counter() - start)
    return labels, min(seconds)


def duration(seconds):
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def table(data, repeat):
    """The lines of a Markdown table: agreement with the truth, and time."""
    names = list(methods(2))
    cells: dict[str, list[str]] = {name: [] for name in names}
    for X, y, k in data.values():
        gamma = neighbour_gamma(X)
        found = {name: measured(run, X, gamma, repeat) for name, run in methods(k).items()}
        scores = {name: adjusted_rand_index(y, labels) for name, (labels, _) in found.items()}
        best = round(max(scores.values()), 2)
        for name, (_, seconds) in found.items():
            score = f"{scores[name]:.2f}".replace("-0.00", "0.00")
            score = f"**{score}**" if round(scores[name], 2) == best else score
            cells[name].append(f"{score} ({duration(seconds)})")
    sizes = [f"{name}<br>{len(X)} x {X.shape[1]}, k = {k}" for name, (X, _, k) in data.items()]
    yield "| | " + " | ".join(sizes) + " |"
    yield "| --- |" + " --- |" * len(data)
    for name in names:
        yield f"| {name} | " + " | ".join(cells[name]) + " |"


def main():
    parser = argparse.ArgumentParser(description="Compare clusterings of one affinity matrix.")
    parser.add_argument("--mnist", type=Path, help="MNIST's images, idx or npz")
    parser.add_argument("--samples", type=int, default=2000, help="how many of MNIST's images")
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--write", type=Path, help="file whose table to replace")
    asked = parser.parse_args()

    pixels, digits = load_digits()
    data = {
        "two moons": (*two_moons(), 2),
        "two circles": (*two_circles(), 2),
        "irises": (*load_iris(), 3),
        "digits": (pixels / 16, digits, 10),
    }
    if asked.mnist:
        data["MNIST"] = (*mnist(asked.mnist, asked.samples), 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs that fall apart are part of the comparison
        lines = list(table(data, asked.repeat))
    print("\n".join(lines))
    if asked.write:
        text = asked.write.read_text(encoding="utf-8")
        inside = f"{MARKS[0]}\n" + "\n".join(lines) + f"\n{MARKS[1]}"
        text = re.sub(f"{MARKS[0]}.*?{MARKS[1]}", lambda _: inside, text, flags=re.DOTALL)
        asked.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
