"""The search for C and gamma, against a fit for each pair and fold, and against the last fit."""

from itertools import product

import numpy as np
from sklearn import svm
from sklearn.model_selection import GridSearchCV

from mlcore.datasets import load_digits
from mlcore.svm import SVC, SVCCV, SVRCV, NuSVCCV, OneClassSVMCV

COSTS, GAMMAS, N_FOLDS = (0.1, 1.0, 10.0, 100.0), (0.01, 0.1, 1.0), 5


class Search:
    """Ten classes; every tenth image is left out of the search and measures its choice."""

    def setup(self):
        X, y = load_digits()
        X /= 16  # pixels from 0 to 1
        held_out = np.arange(len(X)) % 10 == 0
        self.held_out = X[held_out], y[held_out]
        self.X, self.y = X[~held_out][:600], y[~held_out][:600]
        order = np.argsort(self.y, kind="stable")
        fold = np.empty(len(order), dtype=int)
        fold[order] = np.arange(len(order)) % N_FOLDS
        everyone = np.arange(len(fold))
        self.folds = [(everyone[fold != f], everyone[fold == f]) for f in range(N_FOLDS)]
        self.search = SVCCV(Cs=COSTS, gammas=GAMMAS, cv=self.folds)
        self.best = SVC(C=10, gamma=0.1)

    def separate_fits(self):
        """Mean score of each pair, C before gamma."""
        return [
            np.mean([
                SVC(C=C, gamma=gamma).fit(self.X[train], self.y[train]).score(
                    self.X[test], self.y[test]
                )
                for train, test in self.folds
            ])
            for C, gamma in product(COSTS, GAMMAS)
        ]  # fmt: skip

    def time_search(self):
        self.search.fit(self.X, self.y)

    def time_separate_fits(self):
        self.separate_fits()

    def time_floor_last_fit(self):
        self.best.fit(self.X, self.y)

    def peakmem_search(self):
        self.search.fit(self.X, self.y)

    def track_accuracy(self):
        return self.search.fit(self.X, self.y).score(*self.held_out)

    def track_score_lost_to_separate_fits(self):
        return float(max(self.separate_fits()) - self.search.fit(self.X, self.y).best_score_)


class TwoClasses:
    """Overlapping classes: many multipliers at their bound, and many steps where C is large."""

    params, param_names = [(500, 1500, 4000)], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(n_samples)
        self.y = rng.integers(0, 2, n_samples)
        self.X = rng.normal(size=(n_samples, 6)) + 0.7 * self.y[:, None]

    def time_search(self, n_samples):
        SVCCV(Cs=COSTS, gammas=GAMMAS).fit(self.X, self.y)


class AnyScore:
    """Two scores of twelve candidates or fewer and five folds, beside scikit-learn's search."""

    params, param_names = ["SVC", "SVR", "NuSVC", "OneClassSVM"], ["model"]

    def setup(self, model):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 1500)
        X = rng.normal(size=(1500, 6)) + 0.7 * y[:, None]
        numbers = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=1500)
        labels, shares = ["roc_auc", "f1"], (0.4, 0.5, 0.6)
        search, name, values, target, scores = {
            "SVC": (SVCCV, "C", COSTS, y, labels),
            "SVR": (SVRCV, "C", COSTS, numbers, ["neg_mean_absolute_error", "r2"]),
            "NuSVC": (NuSVCCV, "nu", shares, y, labels),
            "OneClassSVM": (OneClassSVMCV, "nu", shares, 2 * y - 1, labels),
        }[model]
        self.data = X, target
        options = {"scoring": scores, "refit": scores[0]}
        self.search = search(gammas=GAMMAS, **{f"{name}s": values}, **options)
        grid = {name: values, "gamma": GAMMAS}
        self.peer = GridSearchCV(getattr(svm, model)(), grid, **options)

    def time_search(self, model):
        self.search.fit(*self.data)

    def time_scikit_learn(self, model):
        self.peer.fit(*self.data)
