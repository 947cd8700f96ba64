"""Logistic regression, beside one product of the rows with a vector for each score."""

import numpy as np
from scipy import sparse

from mlcore.linear_model import LogisticRegression


class Binary:
    """Two classes; Newton's method. By hand: 1,000,000 rows of 100 features."""

    params = ([(20_000, 50), (5_000, 104)], ["dense", "sparse"])
    param_names = ("shape", "form")

    def setup(self, shape, form):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=shape)
        scores = self.X @ rng.normal(size=shape[1]) / np.sqrt(shape[1])
        self.y = scores + rng.logistic(size=shape[0]) > 0
        if form == "sparse":
            self.X = sparse.csr_array(self.X * (rng.random(shape) < 0.1))
        self.model = LogisticRegression()

    def time_fit(self, *_):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, *_):
        self.model.fit(self.X, self.y)

    def time_floor(self, shape, _):
        self.X @ np.ones(shape[1])


class ElasticNet:
    """Two classes and 300 columns; proximal Newton steps."""

    params = ([0.5, 1.0],)
    param_names = ("l1_ratio",)

    def setup(self, l1_ratio):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(5_000, 300)) + rng.normal(size=(5_000, 1))
        scores = self.X[:, :20] @ rng.normal(size=20)
        self.y = scores + rng.logistic(size=len(scores)) > 0
        self.model = LogisticRegression(l1_ratio=l1_ratio)

    def time_fit(self, _):
        self.model.fit(self.X, self.y)

    def time_floor(self, _):
        self.X @ np.ones(300)


class Softmax:
    """Ten classes; L-BFGS in the metric of the features."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.y = rng.integers(10, size=2_000)
        self.X = rng.normal(size=(2_000, 200)) @ rng.normal(size=(200, 200))
        self.X += rng.normal(size=(10, 200))[self.y] * 5
        self.model = LogisticRegression(C=0.01)

    def time_fit(self):
        self.model.fit(self.X, self.y)

    def time_floor(self):
        self.X @ np.ones((200, 10))


class WideSparse:
    """More features than samples. By hand: 20,000 rows of 1,000,000 features."""

    params = ([(2_000, 20_000)],)
    param_names = ("shape",)

    def setup(self, shape):
        rng = np.random.default_rng(0)
        n, d = shape
        columns = np.minimum(rng.zipf(1.3, size=n * 50), d) - 1
        self.X = sparse.csr_array(
            (rng.random(n * 50), columns, np.arange(0, n * 50 + 1, 50)), shape
        )
        self.X.sum_duplicates()
        self.y = self.X @ rng.normal(size=d) > 0
        self.model = LogisticRegression()

    def time_fit(self, _):
        self.model.fit(self.X, self.y)

    def time_floor(self, shape):
        self.X @ np.ones(shape[1])


class MediumSparse:
    """Sparse rows of more columns than a Hessian may have. By hand: 100,000 rows of 50,000."""

    params = ([(20_011, 2_003)], [2, 5])
    param_names = ("shape", "classes")

    def setup(self, shape, classes):
        rng = np.random.default_rng(0)
        self.X = sparse.random_array(shape, density=0.01, rng=rng, format="csr")
        scores = self.X @ rng.normal(size=(shape[1], classes)) * 2
        self.y = (scores - scores.mean(axis=0) + rng.gumbel(size=scores.shape)).argmax(axis=1)
        self.model = LogisticRegression(tol=1e-2)

    def time_fit(self, *_):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, *_):
        self.model.fit(self.X, self.y)

    def time_floor(self, shape, classes):
        self.X @ np.ones((shape[1], classes))
