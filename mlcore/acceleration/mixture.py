"""Replacement of `sklearn.mixture.GaussianMixture`."""

from typing import Any

import numpy as np
import sklearn.mixture
from sklearn.utils import check_random_state

import mlcore.mixture
from mlcore.acceleration.replacement import Fallback, Replacement, by_mlcore
from mlcore.acceleration.rules import COUNT, FREE, NONE, POSITIVE, SILENT, any_seed, one_of


class GaussianMixture(Replacement, sklearn.mixture.GaussianMixture):
    """scikit-learn's GaussianMixture: its starts, and the steps of mlcore's class."""

    original = sklearn.mixture.GaussianMixture
    peer = "mlcore.mixture.GaussianMixture"
    rules = {
        "n_components": COUNT,
        "covariance_type": one_of("full", "tied", "diag", "spherical"),
        "tol": POSITIVE,
        "reg_covar": POSITIVE,
        "max_iter": COUNT,
        "n_init": COUNT._replace(passed=False),
        "init_params": one_of("kmeans", "random", passed=False),
        "weights_init": NONE,
        "means_init": NONE,
        "precisions_init": NONE,
        "random_state": any_seed(),
        "warm_start": one_of(False, passed=False),
        "verbose": SILENT,
        "verbose_interval": FREE,
    }
    conditions = ("a fit that converges within max_iter, without collapsed components",)
    note = (
        "scikit-learn's own start, hence the same local optimum, and as many steps; components "
        "keep the order of the start"
    )

    fit_predict = by_mlcore(
        sklearn.mixture.GaussianMixture.fit_predict, lambda model, X: model.predict(X)
    )

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        X = self._validated(X, ensure_min_samples=2)
        if len(X) < self.n_components:
            raise Fallback("there are fewer samples than components")
        self._check_parameters(X)
        best, bounds, rng = None, [-np.inf], check_random_state(self.random_state)
        for _ in range(self.n_init):
            self._initialize_parameters(X, rng)  # sets the parameters of the start
            model, trace = self._run(X, self._start())
            if best is None or trace[-1] > bounds[-1]:
                best, bounds = model, trace
        names = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
        return best, {name: np.array(getattr(best, name)) for name in names} | {
            "converged_": True,
            "n_iter_": len(bounds),
            "lower_bound_": bounds[-1],
            "lower_bounds_": bounds,
        }

    def _start(self) -> dict[str, Any]:
        roots = self.precisions_cholesky_
        if self.covariance_type in ("diag", "spherical"):
            precisions = roots**2
        else:
            precisions = roots @ np.swapaxes(roots, -1, -2)
        return {
            "weights_init": self.weights_ / self.weights_.sum(),
            "means_init": self.means_,
            "precisions_init": precisions,
        }

    def _run(self, X: Any, start: dict[str, Any]) -> tuple[Any, list[Any]]:
        """Return the model after as many steps as scikit-learn takes, and the objectives before.

        mlcore ends where two steps gain little, scikit-learn takes the second of them.
        """
        model = mlcore.mixture.GaussianMixture(**self._passed(), **start).fit(X)
        trace = model.log_likelihood_trace_
        small = np.flatnonzero(np.abs(np.diff(trace)) < self.tol) + 1
        if not model.converged_ or not len(small) or small[0] + 1 > self.max_iter:
            raise Fallback("the fit does not converge within max_iter")
        if small[0] == len(trace) - 1:
            start = {
                "weights_init": model.weights_,
                "means_init": model.means_,
                "precisions_init": model.precisions_,
            }
            left = 1
        else:
            left = int(small[0]) + 1
        passed = self._passed() | {"tol": 0.0, "max_iter": left}
        model = mlcore.mixture.GaussianMixture(**passed, **start).fit(X)
        if len(model.collapsed_components_):
            raise Fallback("components collapse")
        return model, list(trace[: small[0] + 1])

    def _evidence(self) -> str:
        fall = max(0.0, -float(np.min(np.diff(self.lower_bounds_), initial=0)))
        return (
            f"mean log-likelihood {self.lower_bound_:.6g} after {self.n_iter_} steps, "
            f"largest fall in a step {fall:.1e}"
        )
