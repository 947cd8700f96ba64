"""The contract of components: the loop asks no more, and estimators are no towers."""

from typing import NamedTuple

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import poisson

from mlcore.estimator.model import ConvergenceWarning, Model
from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)
from mlcore.mixture.components import Components
from mlcore.mixture.em import EM, Run
from mlcore.mixture.em_model import EMModel
from mlcore.mixture.gaussian.components import GaussianComponents
from mlcore.mixture.mixture import Mixture

MIXTURES = [
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
]


class Parameters(NamedTuple):
    weights: np.ndarray
    rates: np.ndarray  # (k,)


class Statistics(NamedTuple):
    log_likelihood: float
    mass: np.ndarray
    counts: np.ndarray  # (k,)


class Rows(NamedTuple):
    X: np.ndarray
    weight: np.ndarray
    total: float


class PoissonComponents(Components):
    """A kind of mixture that the package has not: counts of one feature, each with a rate."""

    def __init__(self, n_components):
        self.n_components = n_components

    def rows(self, X, weight):
        weight = np.ones(len(X)) if weight is None else weight
        return Rows(X, weight, float(weight.sum()))

    def start(self, em, start_values, rng, number=0):
        k = self.n_components
        return Parameters(np.full(k, 1 / k), rng.choice(em.rows.X[:, 0], k) + 0.5)

    def _log_joint(self, X, parameters):
        return poisson.logpmf(X, parameters.rates) + np.log(parameters.weights)

    def statistics(self, rows, parameters):
        log_joint = self._log_joint(rows.X, parameters)
        density = logsumexp(log_joint, axis=1, keepdims=True)
        r = rows.weight[:, None] * np.exp(log_joint - density)
        return Statistics(float(rows.weight @ density[:, 0]), r.sum(axis=0), r.T @ rows.X[:, 0])

    def maximize(self, statistics, parameters):
        mass = statistics.mass
        return Parameters(mass / mass.sum(), statistics.counts / mass), mass == 0

    def reorder(self, parameters, order):
        return Parameters(*(values[order] for values in parameters))

    def expected(self, parameters, total_weight):
        return Statistics(0.0, parameters.weights, parameters.weights * parameters.rates)

    def attributes(self, parameters):
        return {"weights_": parameters.weights, "rates_": parameters.rates}

    def parameters(self, mixture):
        return Parameters(mixture.weights_, mixture.rates_)

    def posterior(self, X, parameters, tables, with_proba):
        log_joint = self._log_joint(X, parameters)
        density = logsumexp(log_joint, axis=1)
        proba = np.exp(log_joint - density[:, None])
        return density, log_joint.argmax(axis=1), proba

    def n_parameters(self):
        return 2 * self.n_components - 1


class PoissonMixture(Mixture):
    def __init__(
        self,
        n_components=1,
        *,
        tol=1e-10,
        max_iter=2000,
        n_init=1,
        warm_start=False,
        random_state=None,
        verbose=False,
        callback=None,
    ):
        self.n_components, self.tol, self.max_iter = n_components, tol, max_iter
        self.n_init, self.warm_start, self.random_state = n_init, warm_start, random_state
        self.verbose, self.callback = verbose, callback

    def _components(self, X, weight):
        return PoissonComponents(self.n_components)

    def _fitted_components(self):
        return PoissonComponents(len(self.weights_))

    def _start_values(self, n_features):
        return None, None

    def _may_continue(self, components):
        return self.weights_.shape == (components.n_components,)


def counts(n=600):
    rng = np.random.default_rng(0)
    return np.r_[rng.poisson(3, n), rng.poisson(20, 2 * n)][:, None].astype(float)


@pytest.mark.parametrize("n_init", [1, 4])
def test_a_new_kind_of_components_is_fitted_by_the_loop(n_init):
    X = counts()
    model = PoissonMixture(2, random_state=0, n_init=n_init).fit(X)
    assert model.converged_ and np.diff(model.log_likelihood_trace_).min() > -1e-12
    assert_array_equal(model.weights_, np.sort(model.weights_)[::-1])
    # The likelihood equations, by their definition.
    log_joint = poisson.logpmf(X, model.rates_) + np.log(model.weights_)
    r = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    assert_allclose(r.mean(axis=0), model.weights_, atol=1e-4)
    assert_allclose(r.T @ X[:, 0] / r.sum(axis=0), model.rates_, rtol=1e-4)
    assert_allclose(model.rates_, [20, 3], atol=1)
    assert_allclose(model.score_samples(X), logsumexp(log_joint, axis=1), rtol=1e-12)
    assert_allclose(model.predict_proba(X), r, atol=1e-12)
    assert_allclose(model.bic(X), -2 * model.score(X) * len(X) + 3 * np.log(len(X)))


def test_a_new_kind_of_components_is_fitted_by_sums_over_blocks():
    X = counts()
    whole = PoissonMixture(2, random_state=0, max_iter=7, tol=0).fit(X)
    parts = PoissonMixture(2, random_state=0).begin(X)
    for _ in range(7):
        a, b = map(parts.partial_statistics, (X[:500], X[500:]))
        parts.update(parts.merge(a, b))
    order = np.argsort(-parts.weights_)
    assert_allclose(parts.rates_[order], whole.rates_, rtol=1e-12)
    stream = PoissonMixture(2, random_state=0)
    for block in np.array_split(np.random.default_rng(1).permutation(X), 6):
        stream.partial_fit(block)
    assert_allclose(np.sort(stream.rates_), [3, 20], atol=1)


def test_components_without_a_part_of_the_contract_cannot_be_made():
    class NoMaximize(PoissonComponents):
        maximize = Components.maximize

    with pytest.raises(TypeError, match="abstract method '?maximize"):
        NoMaximize(2)


def test_an_objective_of_minus_infinity_is_no_convergence():
    """Rows may be impossible under a start."""

    class Steps(PoissonComponents):
        def step(self, rows, parameters):
            return self.objectives.pop(0), parameters, np.zeros(1, bool)

    components = Steps(1)
    components.objectives = [-np.inf, -np.inf, -2.0, -1.0, -1.0, -1.0]
    run = Run(None)
    EM(components, None, tol=1e-3).advance(run, 6)
    assert run.trace == [-np.inf, -np.inf, -2.0, -1.0, -1.0] and run.converged


@each("kind", MIXTURES)
def test_estimators_are_at_most_three_classes_above_the_model(kind):
    tower = [c for c in kind.__mro__ if issubclass(c, Model) and c not in {Model, EMModel}]
    assert len(tower) <= 3, tower


@each("kind", MIXTURES)
def test_a_fit_draws_from_random_state_once(kind):
    X = np.random.default_rng(0).integers(0, 2, (60, 4)).astype(float)
    used, expected = np.random.RandomState(5), np.random.RandomState(5)
    kind(2, random_state=used, n_init=2, max_iter=50, tol=1e-2).fit(X)
    expected.randint(0, 2**32, size=4, dtype=np.uint32)  # one seed
    assert used.randint(1 << 30) == expected.randint(1 << 30)


@each("kind", MIXTURES)
def test_steps_on_later_blocks_draw_nothing(kind):
    X = np.random.default_rng(0).integers(0, 2, (300, 4)).astype(float)
    used = np.random.RandomState(5)
    model = kind(2, random_state=used, max_iter=50, tol=1e-2).fit(X)
    before = used.get_state()
    model.partial_fit(X)
    assert_array_equal(used.get_state()[1], before[1])
    assert used.get_state()[2] == before[2]


def test_restarts_go_on_with_the_draws_of_the_start(monkeypatch):
    seen = []

    def restart(self, parameters, collapsed, rows, rng):
        seen.append(rng)

    monkeypatch.setattr(GaussianComponents, "restart", restart)
    X = np.r_[np.random.default_rng(0).normal(size=(150, 2)), np.full((4, 2), 50.0)]
    model, start = GaussianMixture(3, random_state=0), GaussianComponents.start
    drawn = []

    def record(self, em, start_values, rng, number=0):
        drawn.append(rng)
        return start(self, em, start_values, rng, number)

    monkeypatch.setattr(GaussianComponents, "start", record)
    with pytest.warns(ConvergenceWarning, match="components"):
        model.fit(X)
    assert len(seen) == 1 and seen[0] is drawn[0]
