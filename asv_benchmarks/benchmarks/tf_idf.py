"""Weights of words, against scikit-learn's and a copy of the counts, which must be read."""

import os

import numpy as np
from scipy import sparse as sp

from mlcore.kernels import TfidfTransformer

from .real_data import texts, word_counts


class Words:
    """A fit and a transformation: of drawn counts, or those of film reviews (see real_data)."""

    params, param_names = (["drawn", "reviews"], ["float32", "float64"]), ["counts", "dtype"]

    def setup(self, name, dtype):
        if name == "drawn":
            rng = np.random.default_rng(0)
            X = sp.random_array((20_000, 20_000), density=0.005, format="csr", random_state=rng)
            X.data = np.ceil(3 * X.data)
        elif "MLCORE_DATA" not in os.environ:
            raise NotImplementedError("MLCORE_DATA names no folder")
        else:
            X = sp.csr_array(word_counts(texts("reviews"))[0])
        self.X = X.astype(dtype)

    def time_tf_idf(self, *_):
        TfidfTransformer().fit_transform(self.X)

    def time_sublinear(self, *_):
        TfidfTransformer(sublinear=True).fit_transform(self.X)

    def time_scikit_learn(self, *_):
        from sklearn.feature_extraction.text import TfidfTransformer as Peer

        Peer().fit_transform(self.X)

    def time_floor(self, *_):
        self.X.copy()
