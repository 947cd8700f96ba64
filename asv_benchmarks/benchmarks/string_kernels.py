"""Gram matrices of strings, against their definitions in Python and scikit-learn's counts."""

import random
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from mlcore.kernels import StringKernel

from .real_data import texts

KERNELS = {
    "spectrum": StringKernel(length=5),
    "substrings": StringKernel("substrings"),
    "gapped": StringKernel("gapped", length=3),
}


def drawn(n, length):
    """Strings of words from a list of 500, about as long as asked."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlucmfwyp", k=rng.randint(2, 9))) for _ in range(500)]
    return [" ".join(rng.choices(words, k=max(1, length // 6))) for _ in range(n)]


@cache
def samples(name, n):
    return drawn(n, 80) if name == "drawn" else texts(name)[:n]


class Gram:
    """A matrix of all pairs: of drawn messages, or those of real_data."""

    params = (["drawn 400", "sms 1000", "sms 5574", "reviews 2000"], list(KERNELS))
    param_names = ("texts", "kind")
    timeout = 300

    def setup(self, texts, kind):
        name, n = texts.split()
        if kind == "gapped" and int(n) > 1000 or kind == "substrings" and name == "reviews":
            raise NotImplementedError("takes minutes")
        self.X = samples(name, int(n))

    def time_gram(self, _, kind):
        KERNELS[kind](self.X)

    def time_floor(self, *_):
        """The codes of all symbols and the values, which must be written."""
        np.frombuffer("".join(self.X).encode("utf-32-le"), "<i4").max()
        np.ones((len(self.X), len(self.X)))


class OthersOfSpectrum:
    """The matrix of Gram's kind 'spectrum' by other means."""

    params, param_names = ["drawn 400", "sms 5574", "reviews 2000"], ("texts",)
    timeout = 300

    def setup(self, texts):
        name, n = texts.split()
        self.X = samples(name, int(n))

    def time_scikit_learn(self, _):
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.preprocessing import normalize

        counts = CountVectorizer(analyzer="char", ngram_range=(5, 5)).fit_transform(self.X)
        counts = normalize(counts.astype(float))
        (counts @ counts.T).toarray()

    def time_python(self, *_):
        """A Counter of the substrings of each of 400 texts, and the products of pairs."""
        counts = [Counter(x[i : i + 5] for i in range(len(x) - 4)) for x in self.X[:400]]
        for u, v in combinations_with_replacement(counts, 2):
            sum(count * v[word] for word, count in u.items() if word in v)


class Length:
    """Strings twice as long take twice the time, four times with gaps."""

    params, param_names = ([100, 200, 400, 800], list(KERNELS)), ("length", "kind")

    def setup(self, length, _):
        self.X = drawn(60, length)

    def time_gram(self, _, kind):
        KERNELS[kind](self.X)
