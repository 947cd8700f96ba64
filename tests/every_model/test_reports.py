"""What a fit reports agrees with itself: traces, shares, models of known parameters."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from contract import MODELS, labels, only, samples
from mlcore.decomposition import PCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
)

ENDS = ("objective_", "inertia_", "lower_bound_")  # what the trace of a model ends at


def trace_and_end(model):
    traces = [
        name for name in vars(model) if name.endswith(("objective_trace_", "likelihood_trace_"))
    ]
    ends = [name for name in ENDS if name in vars(model)]
    return (traces[0], ends[0]) if traces and ends else None


@only(lambda entry: trace_and_end(entry.fit()) is not None)
def test_the_trace_ends_at_the_objective(entry):
    for seed in range(4):
        model = entry.fit(seed=seed)
        trace, end = trace_and_end(model)
        if type(model).__name__ == "SpectralClustering":  # its trace is of the relaxed problem
            relaxed = model.eigenvalues_.sum()
            assert_allclose(getattr(model, trace)[-1], relaxed, rtol=2.0**-51)
        else:
            assert_array_equal(getattr(model, trace)[-1], getattr(model, end))
        assert np.isfinite(getattr(model, trace)).all()


@only(lambda entry: hasattr(entry.fit(), "explained_variance_ratio_"))
def test_shares_of_the_variance_sum_to_one(entry):
    whole = entry.make()
    if "n_components" in whole.get_params():
        whole.set_params(n_components=None)
    X = entry.draw()
    shares = whole.fit(X, entry.targets(X)).explained_variance_ratio_
    assert (shares >= 0).all() and (np.diff(shares) <= 0).all()
    assert_allclose(shares.sum(), 1, rtol=0, atol=len(shares) * 2.0**-52)


def test_shares_of_known_discriminants_sum_to_one():
    means = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    model = LinearDiscriminantAnalysis.from_parameters(means, np.eye(2))
    assert_allclose(model.explained_variance_ratio_.sum(), 1, rtol=0, atol=2.0**-51)
    # By the covariance of the means, [[32, -4], [-4, 2]] / 9.
    values = np.linalg.eigvalsh(np.cov(means.T, bias=True))[::-1]
    assert_allclose(model.explained_variance_ratio_, values / values.sum(), rtol=1e-13)


def test_shares_of_less_than_all_components_are_those_of_the_whole():
    X = samples(n_features=6)
    whole, part = PCA().fit(X), PCA(2).fit(X)
    assert_allclose(part.explained_variance_ratio_, whole.explained_variance_ratio_[:2], rtol=1e-12)


MIXTURES = {
    **{
        f"GaussianMixture-{kind}": lambda m: GaussianMixture.from_parameters(
            m.weights_, m.means_, m.covariances_, m.covariance_type_
        )
        for kind in ("full", "tied", "diag", "spherical")
    },
    "BernoulliMixture": lambda m: BernoulliMixture.from_parameters(m.weights_, m.means_),
    "BinomialMixture": lambda m: BinomialMixture.from_parameters(m.weights_, m.means_, 4),
    "MultinomialMixture": lambda m: MultinomialMixture.from_parameters(m.weights_, m.means_),
    "CategoricalMixture": lambda m: CategoricalMixture.from_parameters(
        m.weights_, m.probabilities_, m.categories_
    ),
}


@each("name", MIXTURES)
def test_a_mixture_of_known_parameters_has_the_attributes_of_its_fit(name):
    entry = MODELS[name]
    X, model = entry.draw(), entry.fit()
    known = MIXTURES[name](model)
    same_attributes(model, known, rtol=1e-12)
    if name == "BernoulliMixture":
        X = (X > 0.5).astype(float)  # the model of the contract compares, the other takes bits
        model = model.set_params(binarize=None)
        known = known.set_params(binarize=None)
    # A density has no better condition than its covariance, at most 1e4 here.
    assert_allclose(known.predict_proba(X), model.predict_proba(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "kind", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis], ids=lambda k: k.__name__
)
def test_a_discriminant_of_known_parameters_has_the_attributes_of_its_fit(kind):
    X = samples()
    y = labels(X)
    model = kind().fit(X, y)
    linear = kind is LinearDiscriminantAnalysis
    covariance = model.covariance_ if linear else model.covariances_
    known = kind.from_parameters(model.means_, covariance, model.priors_, model.classes_)
    same_attributes(model, known, rtol=1e-9)
    assert_allclose(known.predict_proba(X), model.predict_proba(X), rtol=1e-9, atol=1e-12)


# What only data say: origins and units of sums, weights of rows, traces, names.
OF_DATA = (
    "total_weight_",
    "mean_totals_", "origin_", "converged_", "n_iter_", "data_variances_", "lower_bound_",
    "log_likelihood_trace_", "collapsed_components_", "canonical_correlations_",
    "explained_variance_ratio_", "scalings_", "feature_names_in_",
)  # fmt: skip


def same_attributes(model, known, rtol):
    """Each public attribute of both is the same, and there are some."""
    compared = 0
    for name, value in vars(known).items():
        if name.startswith("_") or not name.endswith("_") or name in OF_DATA:
            continue
        other = getattr(model, name)
        if isinstance(value, list | tuple):
            for mine, its in zip(value, other, strict=True):
                assert_allclose(mine, its, rtol=rtol, atol=1e-14)
        elif np.asarray(value).dtype.kind == "f":
            assert_allclose(value, other, rtol=rtol, atol=1e-12, err_msg=name)
        else:
            assert_array_equal(value, other, err_msg=name)
        compared += 1
    assert compared >= 3
