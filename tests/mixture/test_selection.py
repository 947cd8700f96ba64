"""select_mixture: the criteria are their definitions, and they find what made the data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.mixture import GaussianMixture as Peer

from mlcore.cluster import KMeans
from mlcore.datasets import load_iris
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
    select_mixture,
)
from mlcore.mixture.gaussian.covariances import FAMILIES
from mlcore.mixture.selection import _best, _warn_of_passed_over


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])
    return centres[rng.integers(0, 3, 600)] + rng.normal(size=(600, 2))


@pytest.mark.parametrize("criterion", ["bic", "icl"])
def test_finds_how_many_and_which(rows, criterion):
    kinds = ["full", "spherical"]
    found = select_mixture(
        rows, n_components=range(1, 6), covariance_type=kinds, criterion=criterion, random_state=0
    )
    assert found.best.n_components == 3 and found.best.covariance_type == "spherical"
    assert {len(column) for column in found.table.values()} == {10}
    place = np.argmin(found.table[criterion])
    assert found.table["n_components"][place] == 3
    assert_allclose(found.table[criterion][place], getattr(found.best, criterion)(rows))


def test_criteria_are_their_definitions(rows):
    table = select_mixture(rows, n_components=2, covariance_type="diag", random_state=0).table
    n_parameters = 1 + 4 + 4
    assert table["n_parameters"] == n_parameters
    ll = table["log_likelihood"]
    assert_allclose(table["aic"], -2 * ll + 2 * n_parameters)
    assert_allclose(table["bic"], -2 * ll + np.log(600) * n_parameters)
    model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
    proba = model.predict_proba(rows)
    entropy = -(proba * np.log(np.maximum(proba, 1e-300))).sum()
    assert_allclose(table["icl"], table["bic"] + 2 * entropy)
    peer = Peer(1).fit(rows)
    single = select_mixture(rows, n_components=1, reg_covar=1e-6).table
    assert_allclose([single["bic"][0], single["aic"][0]], [peer.bic(rows), peer.aic(rows)])


def test_weights_are_copies(rows):
    counts = np.arange(len(rows)) % 3
    weighted = select_mixture(rows, n_components=[1, 2], sample_weight=counts, random_state=0).table
    repeated = select_mixture(
        rows.repeat(counts, axis=0), n_components=[1, 2], random_state=0
    ).table
    for name in ("aic", "bic", "icl", "log_likelihood"):
        assert_allclose(weighted[name], repeated[name], rtol=1e-8)


def test_a_collapsed_mixture_is_not_the_best():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(100, 2)), np.repeat([[50.0, 50.0]], 4, axis=0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = select_mixture(X, n_components=[1, 2, 3], random_state=0)
    assert found.table["n_collapsed"].tolist()[:2] == [0, 1]
    assert found.best.n_components == 1


def test_a_selection_is_printed_as_its_table(rows):
    found = select_mixture(
        rows, n_components=[1, 3], covariance_type=["full", "diag"], random_state=0
    )
    assert repr(found) == str(found)
    head, *lines = str(found).splitlines()
    assert head.split() == list(found.table) and len(lines) == 4
    for i, line in enumerate(lines):
        cells = line.removesuffix(" <- best").split()
        for cell, column in zip(cells, found.table.values(), strict=True):
            value = column[i]
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            assert cell == shown
    (place,) = (i for i, line in enumerate(lines) if line.endswith("<- best"))
    assert found.table["n_components"][place] == found.best.n_components == 3
    assert found.table["covariance_type"][place] == found.best.covariance_type
    assert len({len(line.removesuffix(" <- best")) for line in [head, *lines]}) == 1  # in columns


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "bix"}, "criterion='bix'.*'bic'"),
        ({"n_components": []}, "n_components is empty"),
        ({"n_components": "2"}, "n_components"),
        ({"n_components": [0]}, "n_components=0"),
        ({"covariance_type": "round"}, "covariance_type='round'.*'full'"),
        ({"covariance_type": 3}, "covariance_type=3"),
        ({"mixture": KMeans}, "mixture is .*KMeans"),
        ({"mixture": 3}, "mixture is 3"),
        ({"mixture": CategoricalMixture, "covariance_type": "diag"}, "covariance_type='diag'"),
        ({"tolerance": 3}, "tolerance.*no parameters of GaussianMixture"),
    ],
)
def test_wrong_arguments_are_named(rows, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        select_mixture(rows, **options)


def test_entropy_and_icl_of_iris():
    """Worked numbers, in 40 digits: EM from the species, full covariances, to convergence."""
    X, y = load_iris()
    parts = [X[y == j] for j in range(3)]
    start = {
        "weights_init": np.full(3, 1 / 3),
        "means_init": [part.mean(axis=0) for part in parts],
        "precisions_init": [np.linalg.inv(np.cov(part.T, bias=True)) for part in parts],
    }
    found = select_mixture(X, n_components=3, tol=1e-13, max_iter=5000, **start).table
    assert_allclose(found["log_likelihood"], -180.185477131308, rtol=1e-11)
    assert_allclose(found["entropy_r2"], 0.970427881517, rtol=1e-8)
    assert_allclose(found["icl"], 590.585395033, rtol=1e-9)
    assert_allclose((found["icl"] - found["bic"]) / 2, 4.87324391505, rtol=1e-6)


@pytest.mark.parametrize(
    ("mixture", "draw"),
    [
        (CategoricalMixture, lambda z, rng: np.where(rng.random((z.size, 6)) < 0.1, 1 - z, z)),
        (BernoulliMixture(random_state=3), lambda z, rng: rng.random((len(z), 6)) < 0.1 + 0.8 * z),
        (
            BinomialMixture(n_trials=9),
            lambda z, rng: rng.binomial(9, 0.3 + 0.4 * z, (len(z), 3)),
        ),
        (MultinomialMixture, lambda z, rng: rng.poisson(1 + 7 * np.hstack([z, 1 - z, z]))),
    ],
)
def test_every_mixture_is_chosen(mixture, draw):
    rng = np.random.default_rng(5)
    X = np.asarray(draw(rng.integers(0, 2, (400, 1)), rng), dtype=float)
    weight = rng.integers(1, 3, 400)
    options = {"n_components": [1, 2, 3], "sample_weight": weight, "random_state": 0, "n_init": 3}
    found = select_mixture(X, mixture, max_iter=2000, tol=1e-6, **options)
    assert found.best.n_components == 2 and "covariance_type" not in found.table
    assert found._place == 1 and "<- best" in str(found).splitlines()[2]
    table = found.table
    for name in ("aic", "bic", "icl"):
        assert_allclose(table[name][1], getattr(found.best, name)(X, weight))
    r = found.best.predict_proba(X)
    entropy = -(weight @ np.where(r > 0, r * np.log(np.where(r > 0, r, 1)), 0)).sum()
    expected = 1 - entropy / (weight.sum() * np.log(2))
    assert_allclose(table["entropy_r2"][:2], [1, expected], rtol=1e-10)
    frame = pytest.importorskip("pandas") and found.to_frame()
    assert frame.index.tolist() == [1, 2, 3] and frame["bic"].tolist() == table["bic"].tolist()


def test_topics_are_chosen_by_words():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.1), 2)
    shares = rng.dirichlet([0.3, 0.3], 60)
    X = np.array([rng.multinomial(300, p) for p in shares @ topics]).astype(float)
    table = select_mixture(X, PLSA, n_components=[1, 2], alpha=0.0, random_state=0).table
    assert table["n_parameters"].tolist() == [19, 60 + 38]
    p = X.sum(axis=0) / X.sum()
    alone = X.sum(axis=0) @ np.log(np.where(p > 0, p, 1))
    assert_allclose(table["log_likelihood"][0], alone, rtol=1e-9)
    assert_allclose(table["bic"][0], -2 * alone + 19 * np.log(60 * 300), rtol=1e-9)
    assert np.isnan(table["icl"]).all()


def test_fits_that_fail_come_last_with_their_errors(rows):
    found = select_mixture(
        rows[:8], n_components=[20, 1, 9, 2], covariance_type="diag", random_state=0
    )
    assert found.table["n_components"].tolist() == [1, 2, 20, 9]
    assert found.table["error"][:2].tolist() == ["", ""]
    assert "n_components=20" in found.table["error"][2]
    assert np.isnan(found.table["bic"][2:]).all() and not found.table["converged"][2:].any()
    with pytest.raises(ValueError, match="n_components=20, n_samples=8"):
        select_mixture(rows[:8], n_components=[20, 9])


@pytest.mark.parametrize(
    ("losses", "best", "passed_over"),
    [
        ([9.0, 9.9, 20.0], 2, True),  # criteria are twice these
        ([9.0, 10.1, 20.0], 1, False),
        ([9.0, 8.9, 8.0], 2, True),
        ([9.0, 7.0, 8.0], 2, False),
    ],
)
def test_a_fit_that_did_not_converge_needs_a_lead_of_two(losses, best, passed_over):
    table = {
        "n_components": np.arange(1, 4),
        "bic": 2 * np.array(losses),
        "converged": np.array([False, True, False]),
        "n_collapsed": np.zeros(3, int),
    }
    models = [BernoulliMixture(k) for k in (1, 2, 3)]
    place = _best(models, table, "bic")
    assert models[place].n_components == best
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _warn_of_passed_over(table, "bic", place)
    assert ["has not converged" in str(one.message) for one in told] == [True] * passed_over


def test_one_component_is_fitted_once_for_types_that_are_then_the_same(rows):
    found = select_mixture(rows, n_components=1, covariance_type="all").table
    assert found["covariance_type"].tolist() == list(FAMILIES)
    assert found["n_parameters"].tolist() == [3, 3, *4 * [4], *8 * [5]]
    centred = rows - rows.mean(axis=0)
    variances = (centred**2).mean(axis=0)
    logs = (
        2 * np.log(variances.mean()),
        np.log(variances).sum(),
        np.linalg.slogdet(np.cov(centred.T, ddof=0))[1],
    )
    expected = -len(rows) * (1 + np.log(2 * np.pi) + np.array(logs) / 2)
    assert_allclose(found["log_likelihood"], np.repeat(expected, [2, 4, 8]), rtol=1e-10)
