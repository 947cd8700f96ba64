"""Rows that `partial_fit` adds to a fit: the model is then that of one fit to all rows."""

import pytest
from each import each
from test_block_fits import ONE_PASS, assert_same_fit, weights_of

from mlcore.blocks import fit_blocks

NOT_YET = {
    "shrunk LDA",  # a fit does not form the moments of fourth order that partial_fit needs
    "NystroemRidge",  # its centres are among the rows of the fit, or of the first block
}
MODELS = [name for name in ONE_PASS if name not in NOT_YET]


def fresh(model):
    return type(model)(**model.get_params(deep=False))


def cut(X, y, weight, rows):
    return tuple(None if part is None else part[rows] for part in (X, y, weight))


def added(model, X, y, weight):
    return model.partial_fit(X, y, sample_weight=weight)


@each("by_blocks", [False, True])
@each("weighted", [False, True])
@each("name", MODELS)
def test_rows_added_to_a_fit_count_as_those_of_the_fit(name, weighted, by_blocks):
    model, X, y = ONE_PASS[name]
    weight = weights_of(X, weighted)
    first, later, last = (slice(*ends) for ends in ((0, 90), (90, 97), (97, None)))
    if by_blocks:
        blocks = [cut(X, y, weight, rows) for rows in (slice(0, 50), slice(50, 90))]
        found = fit_blocks(fresh(model), blocks)
    else:
        found = added(fresh(model).set_params(), *cut(X, y, weight, first))
        assert_same_fit(found, fitted(model, X, y, weight, first))
        found = fitted(model, X, y, weight, first)
    for rows in (later, last):
        found = added(found, *cut(X, y, weight, rows))
    assert_same_fit(found, fitted(model, X, y, weight, slice(None)))


def fitted(model, X, y, weight, rows):
    X, y, weight = cut(X, y, weight, rows)
    return fresh(model).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_begins_anew(name):
    model, X, y = ONE_PASS[name]
    whole = fitted(model, X, y, None, slice(None))
    begun = fitted(model, X, y, None, slice(0, 90))
    again = added(begun, *cut(X, y, None, slice(90, 120))).fit(X, y)
    assert_same_fit(again, whole, rtol=0)
    again = fit_blocks(added(begun, *cut(X, y, None, slice(90, 120))), [(X, y)])
    assert_same_fit(again, whole)
