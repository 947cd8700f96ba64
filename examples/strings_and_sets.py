"""Strings, texts and sets of points told apart without a vector in sight, beside what vectors do.

python examples/strings_and_sets.py                     digits; prints a table
python examples/strings_and_sets.py --texts FOLDER      and texts: FOLDER has UCI's sms.tsv
                                                        (ham or spam, tab, text) and Pang and Lee's
                                                        review_polarity.tar.gz
python examples/strings_and_sets.py ... --write FILE.md puts the table into the page
"""

import argparse
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mlcore.datasets import load_digits
from mlcore.kernels import (
    FisherVectors,
    PyramidMatch,
    StringKernel,
    TfidfTransformer,
    WordCounts,
)
from mlcore.mixture import GaussianMixture
from mlcore.svm import SVCCV

MARKS = "<!-- strings_and_sets -->", "<!-- end -->"
COSTS = (0.1, 1.0, 10.0, 100.0)
N_FOLDS = 5


def messages(folder: Path) -> tuple[list[str], np.ndarray]:
    """Text messages, and whether each is spam."""
    lines = (folder / "sms.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t", 1) for line in lines if "\t" in line]
    return [text for _, text in pairs], np.array([label == "spam" for label, _ in pairs])


def reviews(folder: Path) -> tuple[list[str], np.ndarray]:
    """Film reviews, and whether each is favourable."""
    with tarfile.open(folder / "review_polarity.tar.gz") as archive:
        found = sorted((m for m in archive if m.name.endswith(".txt")), key=lambda m: m.name)
        files = [archive.extractfile(member) for member in found]
        texts = [file.read().decode("latin-1") for file in files if file is not None]
    return texts, np.array(["/pos/" in member.name for member in found])


def points(X: np.ndarray) -> list[np.ndarray]:
    """Of each image of 8 x 8 the inked pixels, as a set of row, column and four times the ink."""
    images = X.reshape(-1, 8, 8)
    return [np.c_[np.argwhere(image > 0), 4 * image[image > 0]] for image in images]


def accuracy(X: Any, y: np.ndarray, kernel: Any, **grid: Any) -> tuple[float, float]:
    """The best share of right answers in cross-validation, and the seconds that it took."""
    start = time.perf_counter()
    search = SVCCV(kernel=kernel, Cs=COSTS, cv=N_FOLDS, **grid).fit(X, y)
    return search.best_score_, time.perf_counter() - start


def tf_idf(texts: list[str], y: np.ndarray) -> tuple[float, float]:
    start = time.perf_counter()
    weights = TfidfTransformer(sublinear=True).fit_transform(
        WordCounts(min_df=2).fit_transform(texts)
    )
    score, _ = accuracy(weights, y, "linear")
    return score, time.perf_counter() - start


def fisher(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    start = time.perf_counter()
    mixture = GaussianMixture(32, covariance_type="diag", reg_covar=0.05, random_state=0)
    score, _ = accuracy(FisherVectors(mixture, power=0.5).fit_transform(X), y, "linear")
    return score, time.perf_counter() - start


def results(folder: Path | None) -> Iterator[tuple[str, str, float, float]]:
    """For each task and kernel, the accuracy and the seconds."""
    if folder is not None:
        for task, read in (("spam or ham", messages), ("film reviews", reviews)):
            texts, y = read(folder)
            yield task, "words, tf-idf, linear", *tf_idf(texts, y)
            for length in (3, 5):
                kernel = StringKernel(length=length)
                yield task, f"spectrum, {length} characters", *accuracy(texts, y, kernel)
            if task == "spam or ham":
                kernel = StringKernel("substrings", max_length=8)
                yield task, "substrings of up to 8", *accuracy(texts, y, kernel)
    X, y = load_digits()
    X /= 16  # pixels from 0 to 1
    yield "digits", "rbf on pixels", *accuracy(X, y, "rbf", gammas=(0.03, 0.1, 0.3))
    yield "digits", "Fisher vectors of 32 components, linear", *fisher(X, y)
    grid, shifted = PyramidMatch(side=1.0), PyramidMatch(side=1.0, shift=0.5)
    yield "digits", "pyramid match of points", *accuracy(points(X), y, grid)
    yield "digits", "pyramid match, sum of two grids", *accuracy(points(X), y, grid + shifted)


def table(folder: Path | None) -> Iterator[str]:
    yield "| task | kernel | right | time |"
    yield "| --- | --- | --- | --- |"
    for task, kernel, score, seconds in results(folder):
        yield f"| {task} | {kernel} | {score:.1%} | {seconds:.1f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    lines = list(table(arguments.texts))
    if arguments.write is None:
        print("\n".join(lines))
        return
    page = arguments.write.read_text(encoding="utf-8")
    start, end = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
    text = page[:start] + "\n" + "\n".join(lines) + "\n" + page[end:]
    arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
