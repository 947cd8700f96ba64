"""Mixtures and k-means on public data, timed; or shown: python benchmarks/real_data.py FOLDER.

The environment variable MLCORE_DATA (or FOLDER) names where the files are as published: MNIST's
mnist/t10k-images-idx3-ubyte.gz, UCI's uci/adult-train.csv, and the texts text/sms.tsv and
text/review_polarity.tar.gz. Without it, nothing here is measured.
"""

import csv
import gzip
import os
import re
import sys
import tarfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from mlcore.cluster import KMeans
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)

ITEMS = {1: "work", 3: "education", 5: "marital", 6: "job", 7: "family", 8: "race", 9: "sex"}


def data_file(name):
    """The path of a file, or what tells asv that there is nothing to measure."""
    path = Path(os.environ.get("MLCORE_DATA", ""), name)
    if "MLCORE_DATA" not in os.environ or not path.exists():
        raise NotImplementedError(f"MLCORE_DATA has no {name}")
    return path


def mnist():
    with gzip.open(data_file("mnist/t10k-images-idx3-ubyte.gz")) as file:
        pixels = np.frombuffer(file.read(), dtype=np.uint8, offset=16)
    return (pixels.reshape(-1, 784) / np.float32(255)).astype(np.float32)


def adult():
    """Answers as numbers, NaN for '?', and what the numbers mean."""
    with open(data_file("uci/adult-train.csv"), newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
    X, meanings = np.full((len(rows), len(ITEMS)), np.nan), []
    for column, item in enumerate(ITEMS):
        answers = np.array([row[item] for row in rows])
        meanings.append([answer for answer in np.unique(answers) if answer != "?"])
        for number, answer in enumerate(meanings[-1]):
            X[answers == answer, column] = number
    return X, meanings


def texts(name):
    if name == "sms":
        lines = data_file("text/sms.tsv").read_text(encoding="utf-8").splitlines()
        return [line.split("\t", 1)[1] for line in lines if "\t" in line]
    with tarfile.open(data_file("text/review_polarity.tar.gz")) as archive:
        members = sorted((m for m in archive if m.name.endswith(".txt")), key=lambda m: m.name)
        return [archive.extractfile(member).read().decode("latin-1") for member in members]


def word_counts(documents):
    """CSR counts of the words that five documents or more have, and these words."""
    split = [re.findall(r"[a-z]{2,}", document.lower()) for document in documents]
    frequency = {}
    for words in split:
        for word in set(words):
            frequency[word] = frequency.get(word, 0) + 1
    vocabulary = sorted(word for word, n in frequency.items() if n >= 5)
    index = {word: column for column, word in enumerate(vocabulary)}
    pairs = [(row, index[w]) for row, words in enumerate(split) for w in words if w in index]
    shape = len(split), len(vocabulary)
    counts = sp.coo_array((np.ones(len(pairs)), tuple(np.transpose(pairs))), shape=shape).tocsr()
    return counts[np.diff(counts.indptr) > 0], np.array(vocabulary)


class Digits:
    """MNIST, 10,000 x 784."""

    params = (["KMeans", "GaussianMixture", "BernoulliMixture"],)
    param_names = ("model",)

    def setup(self, model):
        self.X = mnist()
        if model == "BernoulliMixture":
            self.X = (self.X > 0.5).astype(np.float32)
        self.model = {
            "KMeans": KMeans(10, random_state=0),
            "GaussianMixture": GaussianMixture(10, covariance_type="diag", random_state=0),
            "BernoulliMixture": BernoulliMixture(10, random_state=0),
        }[model]

    def time_fit(self, _):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that max_iter steps were not enough
            self.model.fit(self.X)

    def peakmem_fit(self, model):
        self.time_fit(model)

    def track_objective(self, model):
        self.time_fit(model)
        return float(self.model.score(self.X))

    def show(self, model):
        """The means, side by side, as text: every second pixel."""
        means = self.model.cluster_centers_ if model == "KMeans" else self.model.means_
        images = np.clip(means, 0, 1).reshape(-1, 28, 28)[:, 2:27:2, 4:25:2]
        inks = np.array(list(" .:-=+*#%@"))[(9.99 * images).astype(int)]
        for some in (inks[:5], inks[5:]):
            for lines in some.transpose(1, 0, 2):
                yield "  ".join("".join(line) for line in lines)


class Adult:
    """Latent classes of census answers, the missing ones left out."""

    params = (["CategoricalMixture"],)
    param_names = ("model",)

    def setup(self, _):
        self.X, self.meanings = adult()
        self.model = CategoricalMixture(5, missing="ignore", random_state=0)

    def time_fit(self, _):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(self.X)

    def peakmem_fit(self, model):
        self.time_fit(model)

    def track_objective(self, model):
        self.time_fit(model)
        return float(self.model.score(self.X))

    def show(self, _):
        """The share of each class, and for every item the likeliest answer."""
        for j, weight in enumerate(self.model.weights_):
            likeliest = []
            for table, answers in zip(self.model.probabilities_, self.meanings, strict=True):
                best = int(np.argmax(table[j]))
                likeliest.append(f"{answers[best]} {table[j, best]:.0%}")
            yield f"{weight:4.0%}  " + ", ".join(likeliest)


class Words:
    """Topics of texts: one for each document, or a mixture in each."""

    params = (["MultinomialMixture", "PLSA"], ["sms", "reviews"])
    param_names = ("model", "texts")

    def setup(self, model, name):
        self.X, self.words = word_counts(texts(name))
        if model == "MultinomialMixture":
            self.model = MultinomialMixture(10, random_state=0)
        else:
            self.model = PLSA(n_components=10, random_state=0)

    def time_fit(self, *_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(self.X)

    def track_objective(self, *_):
        self.time_fit()
        return float(self.model.score(self.X))

    def show(self, model, _name):
        """The words by which topics differ most from all texts: P(w | topic) log of the ratio."""
        overall = np.asarray(self.X.sum(axis=0)).ravel() / self.X.sum()
        topics = self.model.means_ if model == "MultinomialMixture" else self.model.components_
        with np.errstate(divide="ignore", invalid="ignore"):
            telling = np.where(topics > 0, topics * np.log(topics / overall), 0)
        for weight, topic in zip(self.model.weights_, telling, strict=True):
            yield f"{weight:4.0%}  " + " ".join(self.words[np.argsort(-topic)[:12]])


def main():
    """Fit each model once and print what it found."""
    os.environ["MLCORE_DATA"] = sys.argv[1]
    cases = [(Digits, (name,)) for name in Digits.params[0]]
    cases += [(Adult, ("CategoricalMixture",))]
    cases += [(Words, (name, source)) for source in Words.params[1] for name in Words.params[0]]
    for benchmark, case in cases:
        one = benchmark()
        one.setup(*case)
        start = time.perf_counter()
        one.time_fit(*case)
        seconds = time.perf_counter() - start
        shape = " x ".join(map(str, one.X.shape))
        print(f"\n{' on '.join(case)}: {shape}, {one.model.n_iter_} steps, {seconds:.2f} s")
        for line in one.show(*case):
            print("  " + line)


if __name__ == "__main__":
    main()
