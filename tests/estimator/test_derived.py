"""What later calls share: made once, anew for other arrays, and no part of the model."""

import pickle
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mlcore.estimator.derived import cached
from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    MultinomialMixture,
)
from mlcore.mixture.discrete.binomial_product import BinomialProduct
from mlcore.mixture.discrete.categorical import CategoricalComponents
from mlcore.mixture.discrete.multinomial import MultinomialComponents


class Anything:
    """A model to keep something beside."""


def test_the_same_arrays_and_settings_share_what_is_made():
    model, X = Anything(), np.arange(3.0)
    first = cached(model, (X,), "a", list)
    assert cached(model, (X,), "a", list) is first
    assert cached(model, (X,), "b", list) is not first
    assert cached(Anything(), (X,), "b", list) is not first
    again = cached(model, (X,), "a", list)
    assert again is not first  # only the last is kept
    assert cached(model, (X.copy(),), "a", list) is not again
    assert cached(model, (X, X), "a", list) is not again


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_arrays_that_something_was_made_of_cannot_be_changed(make):
    X = make(np.eye(2))
    cached(Anything(), (X,), None, list)
    with pytest.raises(ValueError, match="read-only"):
        (X.data if sparse.issparse(X) else X)[0] = 7


def test_it_lives_as_long_as_the_model():
    model, made = Anything(), Anything()
    cached(model, (), None, lambda: made)
    made = weakref.ref(made)
    assert made() is not None
    del model
    assert made() is None


# ---- tables of the discrete mixtures

MODELS = {
    "bits": BernoulliMixture(3, random_state=0),
    "bits, some missing": BernoulliMixture(3, missing="ignore", random_state=0),
    "impossible bits": BernoulliMixture(3, alpha=0, random_state=0),
    "successes": BinomialMixture(3, n_trials=4, missing="ignore", random_state=0),
    "impossible successes": BinomialMixture(3, n_trials=4, alpha=0, random_state=0),
    "counts": MultinomialMixture(3, random_state=0),
    "impossible counts": MultinomialMixture(3, alpha=0, random_state=0),
    "categories": CategoricalMixture(3, missing="ignore", random_state=0),
    "impossible categories": CategoricalMixture(3, alpha=0, random_state=0),
}
N = 300  # more rows than categories are looked up singly for


def rows(model, seed=0):
    rng = np.random.default_rng(seed)
    bits = isinstance(model, BernoulliMixture)
    p = rng.beta(0.3, 0.3, (3, 9))[rng.integers(0, 3, N)]
    X = rng.binomial(1 if bits else 4, p).astype(float)
    X[:5] = np.arange(5)[:, None] % (2 if bits else 5)  # each category is known
    X[5:, 0] *= bits  # all but constant
    if getattr(model, "missing", None) == "ignore":
        X[5:][rng.random(X[5:].shape) < 0.1] = np.nan
    return X


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].__class__(**MODELS[request.param].get_params())


@pytest.fixture
def tables(monkeypatch):
    """Counts tables as they are made."""
    made = []
    for kind in (BinomialProduct, CategoricalComponents, MultinomialComponents):
        make = kind.fill

        def record(self, *args, make=make):
            made.append(self)
            return make(self, *args)

        monkeypatch.setattr(kind, "fill", record)
    return made


def test_tables_are_made_once_for_all_calls_on_few_rows(model, tables):
    X = rows(model)
    model.fit(X)
    del tables[:]
    complete = X[~np.isnan(X).any(axis=1)]
    for x in (complete[:1], complete[:5], complete[5:6]):
        model.predict(x), model.predict_proba(x), model.score_samples(x)
    assert len(tables) == 1


def test_few_rows_have_the_answers_of_many(model):
    X = rows(model)
    model.fit(X)
    X[7] = 1 - X[7] if isinstance(model, BernoulliMixture) else 4 - X[7]  # what is not usual
    density, proba = model.score_samples(X), model.predict_proba(X)
    for i in [*range(0, N, 29), 7]:
        one = slice(i, i + 1)
        assert_allclose(model.score_samples(X[one]), density[one], rtol=1e-12)
        assert_allclose(model.predict_proba(X[one]), proba[one], rtol=1e-9, atol=1e-14)
        assert model.predict(X[one]) == proba[i].argmax()
    if not isinstance(model, CategoricalMixture):
        filled = np.nan_to_num(X)
        assert_allclose(
            model.score_samples(sparse.csr_array(filled)[:9]), model.score_samples(filled)[:9]
        )


def test_another_fit_and_other_parameters_have_tables_of_their_own(model):
    X, other = rows(model), rows(model, seed=1)
    model.fit(X)
    before = model.score_samples(X[:5])
    model.fit(other)
    fresh = type(model)(**model.get_params()).fit(other)
    assert_array_equal(model.score_samples(X[:5]), fresh.score_samples(X[:5]))
    model.fit(X)
    assert_array_equal(model.score_samples(X[:5]), before)
    model.weights_ = model.weights_[[0, 0, 0]] / model.weights_[0] / 3
    assert np.abs(model.score_samples(X[:5]) - before).max() > 1e-3
    trained = model.partial_fit(other) if hasattr(model, "partial_fit") else model
    again = pickle.loads(pickle.dumps(trained))
    assert_array_equal(again.score_samples(X[:5]), trained.score_samples(X[:5]))


def test_tables_are_no_part_of_a_saved_model(model):
    X = rows(model)
    model.fit(X)
    size = len(pickle.dumps(model))
    model.predict(X[:1])
    assert len(pickle.dumps(model)) == size


def test_impossible_rows_have_the_same_components_in_every_call():
    model = BernoulliMixture.from_parameters([0.5, 0.5], [[1.0, 0.0, 0.3], [1.0, 1.0, 0.6]])
    X = np.array([[0.0, 0, 1], [0, 1, 1], [1, 0, 0]])
    assert_array_equal(model.score_samples(X[:1]), [-np.inf])
    assert_array_equal(
        np.vstack([model.predict_proba(X[i : i + 1]) for i in range(3)]), np.eye(2)[[0, 1, 0]]
    )
