"""select_mixture: the criteria are their definitions, and they find what made the data."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.mixture import GaussianMixture as Peer

from mlcore.mixture import GaussianMixture, select_mixture


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
        ({"tolerance": 3}, "tolerance.*no parameters of GaussianMixture"),
    ],
)
def test_wrong_arguments_are_named(rows, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        select_mixture(rows, **options)
