"""MixedNB against its parts, whose log-likelihoods add up."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mlcore
from mlcore.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB

COLUMNS = {"gaussian": [0, 5], "bernoulli": [1], "categorical": [2], "multinomial": [3, 4]}
KINDS = (GaussianNB(), BernoulliNB(), CategoricalNB(), MultinomialNB())


def problem(seed, n=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = np.c_[rng.normal(size=n) + y, rng.random(n) < 0.2 * (1 + y), rng.integers(0, 3, n)]
    return np.c_[X, rng.poisson(1 + y), rng.poisson(2, n), rng.normal(size=n) * (1 + y)], y


def test_log_likelihoods_of_the_parts_are_added():
    X, y = problem(0)
    weight = np.random.default_rng(1).integers(1, 4, len(X))
    model = MixedNB(columns=COLUMNS).fit(X, y, weight)
    expected = model.class_log_prior_
    for part, places in zip(KINDS, COLUMNS.values(), strict=True):
        part.fit(X[:, places], y, weight)
        joint = part.predict_joint_log_proba(X[:, places])
        expected = expected + joint - part.class_log_prior_
    # Sums of terms of size up to 20.
    assert_allclose(model.predict_joint_log_proba(X), expected, rtol=0, atol=1e-12)
    assert_allclose(model.class_log_prior_, np.log(np.bincount(y, weight) / weight.sum()))
    assert_array_equal(
        MixedNB().fit(X, y).predict_proba(X), GaussianNB().fit(X, y).predict_proba(X)
    )


def test_frames_with_names_and_strings():
    X, y = problem(1)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["c"] = np.array(["x", "y", "z"])[X[:, 2].astype(int)]
    named = {kind: ["abcdef"[j] for j in places] for kind, places in COLUMNS.items()}
    model = MixedNB(columns=named).fit(frame, y)
    expected = MixedNB(columns=COLUMNS).fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(frame), expected, rtol=1e-12)


@pytest.mark.parametrize("cut", [1, 23])
def test_blocks_and_missing_values(cut):
    X, y = problem(2)
    X[5:30:3, 0] = X[6:40:4, 1] = X[7:50:5, 2] = np.nan
    how = {"columns": COLUMNS, "missing": "ignore", "alpha": 0}
    whole = MixedNB(**how).fit(X, y)
    parts = MixedNB(**how).partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    seam = MixedNB(**how).begin(X)
    sums = [seam.partial_statistics(X[s], y[s]) for s in (slice(cut), slice(cut, None))]
    seam.update(seam.merge(*sums))
    for model in (parts, seam):
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-14)
    assert_allclose(whole.predict_proba(X).sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"normal": [0]}, "columns must be None or a dict"),
        ({"gaussian": [0, 1, 2, 3, 4]}, "column 5 of X 0 times"),
        ({"gaussian": [0, 1, 2, 3, 4, 5], "bernoulli": [1]}, "column 1 of X 2 times"),
        ({"gaussian": [0, "height"]}, "'height', which is no column"),
    ],
)
def test_columns_that_are_refused(columns, message):
    X, y = problem(3)
    with pytest.raises(ValueError, match=message):
        MixedNB(columns=columns).fit(X, y)


def test_a_model_that_has_only_begun_is_saved_and_loaded(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    begun = MixedNB().begin(X, y)
    mlcore.save(begun, tmp_path / "begun.npz")
    other = mlcore.load(tmp_path / "begun.npz")
    found = other.update(other.partial_statistics(X, y)).predict(X)
    assert_array_equal(found, MixedNB().fit(X, y).predict(X))
