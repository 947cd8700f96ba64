"""The order of real numbers by their bits against NumPy's stable sort."""

import numpy as np
from each import each
from numpy.testing import assert_array_equal

from mlcore.numerics.radix_sort import stable_order

EXTREME = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf, 1.0, -1.0]


@each(
    "values",
    [
        [],
        [3.0],
        np.zeros(5),
        np.random.default_rng(0).normal(size=3000),
        1e9 + np.random.default_rng(1).normal(size=3000),
        np.random.default_rng(2).integers(-3, 4, size=3000).astype(float),
        np.random.default_rng(3).normal(size=3000).astype(np.float32).astype(float),
        np.random.default_rng(4).choice(EXTREME, size=1000),
        -np.exp(np.random.default_rng(5).uniform(-700, 700, size=3000)),
    ],
)
def test_order_is_that_of_a_stable_sort(values):
    values = np.array(values, dtype=float)
    assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
