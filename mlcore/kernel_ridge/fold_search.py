"""The search for alpha and gamma by scores of held-out samples, from one eigendecomposition each.

With c and G of all samples (`AlphaPath`), samples L that are left out together have the errors
``G_LL⁻¹ c_L``, times the roots of their weights: no fold is solved. For one sample that is its
leave-one-out error (Golub, Heath, Wahba, *Generalized cross-validation*, Technometrics 21, 1979).
"""

from typing import Any, NamedTuple

import numpy as np

from mlcore.estimator.folds import Fold
from mlcore.estimator.scoring.scorers import HeldOut
from mlcore.estimator.scoring.search import Plan, column
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.kernel_ridge import KernelRidge
from mlcore.kernel_ridge.ridge_model import RidgeData
from mlcore.kernels.kernel_model import kept_samples


class FoldSearch(NamedTuple):
    """Data of a search over ridge functions, with samples `X` and targets of positive weight."""

    model: Any
    data: RidgeData
    X: Any
    kernel: Any
    fit_intercept: bool
    folds: list[Fold]
    weighted: bool

    def run(
        self, alphas: np.ndarray, gammas: list[float], plan: Plan
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the parameters of the chosen candidate, and the attributes of the search."""
        params = [{"alpha": float(a), "gamma": float(g)} for a in alphas for g in gammas]
        table = plan.table(len(params), len(self.folds))
        owner = type(self.model).__name__
        every = np.arange(self.data.columns.shape[1])
        for g, gamma in enumerate(gammas):
            places = np.arange(g, len(params), len(gammas))
            system = path = None  # those of one gamma at a time
            with table.timed(places):
                kernel = self.kernel.with_gamma(gamma)
                system = self.data.system(kernel, "loo", self.fit_intercept, True, owner)
                path = EigenPath(system)
            units, root = system.units, np.sqrt(system.units.weight)[:, None]
            for a, place in enumerate(places):
                alpha = float(np.ldexp(alphas[a], -units.penalty_power))
                with table.timed([place]):
                    coef = path.fitted(alpha, every).coef
                    errors = [path.left_out(alpha, coef, ~fold.train) for fold in self.folds]
                for f, (fold, left) in enumerate(zip(self.folds, errors, strict=True)):
                    if left is not None:
                        left = np.ldexp(left / root[~fold.train], units.target_power)
                    table.add(place, f, self._held_out(fold, left, params[place]))
        order = [-column(params, "alpha"), column(params, "gamma")]
        index, found = plan.select(table, params, order)
        return params[index], found

    def _held_out(self, fold, errors, params):
        """Return the test samples of a fold; `errors` are of all left out, or None."""
        test, columns = np.flatnonzero(fold.test), self.data.columns
        y = columns if self.data.y.ndim == 2 else columns[:, 0]
        weight = self.data.weight[self.data.kept][test]
        made: list[Any] = []

        def model():
            if not made:
                made.append(self._fitted(fold, params))
            options = {"sample_weight": weight} if self.weighted else {}
            return made[0], self._rows(test, fold), y[test], options

        def predictions():
            if errors is None or (fold.test & fold.train).any():
                return model()[0].predict(self._rows(test, fold))
            predicted = np.empty_like(columns)
            predicted[~fold.train] = columns[~fold.train] - errors
            return predicted[test].reshape(y[test].shape)

        return HeldOut(y[test], weight, {"predict": predictions}, model)

    def _fitted(self, fold, params):
        """Return the model of the training samples, for functions and for tests among them."""
        own = self.model.get_params(deep=False)
        names = ("kernel", "degree", "coef0", "fit_intercept")
        train = np.flatnonzero(fold.train)
        X = kept_samples(self.X, train, self.model._precomputed)
        y = self.data.columns[train].reshape(len(train), *self.data.y.shape[1:])
        one = KernelRidge(**params, **{name: own[name] for name in names})
        return one.fit(X, y, self.data.weight[self.data.kept][train])

    def _rows(self, test, fold):
        if self.model._precomputed:
            return self.X[np.ix_(test, np.flatnonzero(fold.train))]
        return self.X[test]
