"""The solver of all support vector machines, on overlapping classes and on handwritten digits."""

import numpy as np

from mlcore.datasets import load_digits
from mlcore.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mlcore.svm.smo.smo import Routes

MACHINES = {
    "SVC": SVC(),
    "SVC C=100": SVC(C=100),
    "NuSVC": NuSVC(nu=0.5),
    "SVR": SVR(),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(nu=0.2),
}


class _Fit:
    """Against the product behind the rows of the support vectors: what the gradient needs."""

    def fit(self):
        return self.machine.fit(self.X, self.y)

    def time_fit(self, *_):
        self.fit()

    def time_floor_product(self, *_):
        self.X_support @ self.X.T

    def peakmem_fit(self, *_):
        self.fit()

    def track_relative_duality_gap(self, *_):
        fitted = self.fit()
        return float(np.sum(fitted.duality_gap_) / np.sum(np.abs(fitted.dual_objective_)))

    def track_kkt_violation(self, *_):
        return float(np.max(self.fit().kkt_violation_))

    def track_support_vectors(self, *_):
        return len(self.fit().support_)


class OverlappingClasses(_Fit):
    """Noisy targets: many multipliers end at their bound."""

    params = (list(MACHINES),)
    param_names = ("machine",)

    def setup(self, machine):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(2000, 16))
        self.y = self.X[:, 0] + np.sin(3 * self.X[:, 1]) + 0.5 * rng.normal(size=2000)
        self.machine = MACHINES[machine]
        if isinstance(self.machine, (SVC, NuSVC)):
            self.y = self.y > 0
        self.X_support = self.X[self.fit().support_]


class FewSupportVectors(_Fit):
    """Small nu, and one class that is a tenth of the samples."""

    params = (["OneClassSVM", "NuSVC"], [2000, 6000], [8, 64])
    param_names = ("machine", "n", "d")

    def setup(self, machine, n, d):
        rng = np.random.default_rng(0)
        self.y = rng.random(n) < 0.1
        self.X = rng.normal(size=(n, d))
        self.X[self.y, :8] += 1.0
        self.machine = OneClassSVM(nu=0.03) if machine == "OneClassSVM" else NuSVC(nu=0.05)
        self.X_support = self.X[self.fit().support_]


class Digits(_Fit):
    """Ten classes, forty-five pairs of them."""

    params = (["rbf", "linear"],)
    param_names = ("kernel",)

    def setup(self, kernel):
        self.X, self.y = load_digits()
        self.machine = SVC(kernel=kernel)
        self.X_support = self.X[self.fit().support_]


class BeyondTheCache(_Fit):
    """Groups in two classes, few labels wrong, whose Gram matrix has no room: solved by chunks."""

    params, param_names = ([10_000, 30_000],), ("n_samples",)

    def setup(self, n):
        rng = np.random.default_rng(0)
        group = rng.integers(0, 20, n)
        self.X = rng.normal(size=(20, 50))[group] + rng.normal(size=(n, 50))
        self.y = (group % 2) ^ (rng.random(n) < 0.01)
        self.machine = SVC(gamma=0.01, cache_size=50)
        self.X_support = self.X[self.fit().support_]


class LinearKernel(_Fit):
    """Many overlapping samples of few features, whose cost is that of few pair steps or many."""

    params = ([2000, 20_000], [0.01, 100.0])
    param_names = ("n", "C")

    def setup(self, n, C):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n, 20))
        self.y = self.X.sum(axis=1) + 2 * rng.normal(size=n) > 0
        self.machine = SVC(kernel="linear", C=C)
        self.X_support = self.X[self.fit().support_]


class EitherRoute:
    """The routes of mlcore.svm.smo.smo beside rounds, within their sizes and at the end of them."""

    SIZES = {"pair": (100, 640), "small": (100, 1024), "chunks": (20_000, 30_000)}
    WITHOUT = {"pair": Routes(pair=0), "small": Routes(small=0), "chunks": Routes(chunks=np.inf)}

    params = (list(SIZES), ["within", "at the end"], ["route", "without"])
    param_names = ("route", "size", "by")

    def setup(self, route, size, by):
        n = self.SIZES[route][size == "at the end"]
        n *= 5 if route == "pair" else 1  # ten classes
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n, 8))
        self.y = self.X[:, 0] * self.X[:, 1] + 0.3 * rng.normal(size=n)
        self.machine = SVR() if route == "small" else SVC(cache_size=50)
        if route == "pair":
            self.y = np.argsort(np.argsort(self.y)) * 10 // n
        elif route == "chunks":
            self.y = self.y > 0
        if by == "without":
            self.machine._routes = self.WITHOUT[route]

    def time_fit(self, *_):
        self.machine.fit(self.X, self.y)
