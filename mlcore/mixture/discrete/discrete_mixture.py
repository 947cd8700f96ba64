"""The estimator that mixtures of discrete distributions share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.checks import as_random_state, as_real
from mlcore.estimator.derived import cached
from mlcore.mixture import start_values
from mlcore.mixture.mixture import Mixture


class DiscreteMixture(Mixture):
    """Estimators of mixtures of `DiscreteComponents`, with a prior of `alpha`."""

    mean_totals_: np.ndarray
    _stored = {"mean_totals_": "float64 f k"}

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 0.01,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        weights_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        # scikit-learn's check of sparse input asks every model with predict_proba for these tags.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_options(self):
        progress = super()._check_options()
        as_real(self.alpha, "alpha", owner=type(self).__name__, at_least=0)
        return progress

    def _scaled(self, weight):
        return weight, 0  # `alpha` has their unit

    def _weights_init(self):
        """The weights that the user gave, checked, or None."""
        if self.weights_init is None:
            return None
        owner = type(self).__name__
        return start_values.weights(
            self.weights_init, "weights_init", int(self.n_components), owner
        )

    def _may_continue(self, components):
        same = self.weights_.shape == (self.n_components,)
        return same and components.n_features == self.n_features_in_

    def _parameters_and_tables(self, components):
        arrays, settings = components.arrays(self), components.settings
        return cached(self, arrays, settings, lambda: (components.parameters(self), {}))

    def _drawn_components(self, n_samples):
        """Generator, and components of rows to sample, in order."""
        self._check_fitted()
        n = self._n_drawn(n_samples)
        rng = as_random_state(self.random_state)
        counts = rng.multinomial(n, self.weights_ / self.weights_.sum())
        return rng, np.repeat(np.arange(len(counts)), counts)
