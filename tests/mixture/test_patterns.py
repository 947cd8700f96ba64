"""Response patterns: values beyond the categories of an item are no other item's."""

import numpy as np
import pytest
from each import each

from mlcore.mixture import CategoricalMixture
from mlcore.mixture.discrete.patterns import Patterns


@each("dtype", [np.float32, np.float64])
@each("sizes", [(3, 2), (2, 3, 4), (300, 2)])
def test_a_value_just_beyond_the_categories_is_unknown(sizes, dtype):
    patterns = Patterns(list(sizes), [False] * len(sizes), 10**6, 8)
    categories = [np.arange(float(size)) for size in sizes]
    largest = np.array([[size - 1 for size in sizes]], dtype)
    assert patterns.encoded(largest, categories) is not None
    for i in range(len(sizes)):
        for value in (sizes[i], -1, 0.5):
            row = largest.copy()
            row[0, i] = value
            assert patterns.encoded(row, categories) is None, (i, value)


def test_a_mixture_names_the_category_after_the_last():
    X = np.random.default_rng(0).integers(0, 3, (60, 4)).astype(float)
    model = CategoricalMixture(2, random_state=0, max_iter=3, tol=0).fit(X)
    for i in range(4):
        row = X[:1].copy()
        row[0, i] = 3
        with pytest.warns(UserWarning, match=f"column {i} of X holds 3, which is none of"):
            model.predict(row)


def test_integers_that_float64_rounds_are_refused():
    ids = np.array([2**53, 2**53 + 1])[np.arange(40) % 2][:, None]
    with pytest.raises(ValueError, match="has the category 9007199254740993, which float64"):
        CategoricalMixture(1).fit(ids)
