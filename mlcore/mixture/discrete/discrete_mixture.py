"""The estimator that mixtures of discrete distributions share."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_random_state, as_real
from mlcore.estimator.derived import cached
from mlcore.mixture import start_values
from mlcore.mixture.discrete.components import DiscreteComponents, Parameters
from mlcore.mixture.mixture import Mixture


class DiscreteMixture(Mixture):
    """Estimators of mixtures of `DiscreteComponents`, with a prior of `alpha`.

    Those whose parameters are `means_` say with `_of_size` and `_given_table` what these are.
    """

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

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        # scikit-learn's check of sparse input asks every model with predict_proba for these tags.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _settings(self):
        settings = super()._settings()
        as_real(self.alpha, "alpha", owner=type(self).__name__, at_least=0)
        return settings

    def _scaled(self, weight):
        return weight, 0  # `alpha` has their unit

    # ---- parameters that are means

    def _of_size(self, n_components: int, n_features: int) -> DiscreteComponents:
        """Return the components for so many components and features."""
        raise NotImplementedError

    def _given_table(self, means: Any, name: str, shape: tuple[Any, ...] | None) -> np.ndarray:
        """Return the table (n_columns, k) of means (k, d) that the user gave, checked."""
        raise NotImplementedError

    def _components(self, X, weight):
        return self._of_size(int(self.n_components), X.shape[1])

    def _fitted_components(self):
        return self._of_size(len(self.weights_), self.n_features_in_)

    def _start_values(self, shape):
        table = None
        if self.means_init is not None:
            shape = int(self.n_components), shape[1]
            table = self._given_table(self.means_init, "means_init", shape)
        return self._weights_init(), table

    def _set_parameters(self, weights: Any, means: Any) -> Self:
        """Become the mixture of these weights (k,) and means (k, d)."""
        table = self._given_table(means, "means", None)
        k, d = table.shape[1], np.shape(means)[1]
        weights = start_values.weights(weights, "weights", k, type(self).__name__)
        self.n_components = k
        components = self._of_size(k, d)
        parameters = Parameters(weights, table, components.unit_totals(k))
        self._set_unfitted(np.empty((0, d)), components, parameters, total_weight=1.0)
        return self

    # ---- what Mixture asks for

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
