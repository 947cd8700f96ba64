"""Products with rows in every form, beside those of plain arrays."""

import numpy as np
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.svm.linear.linear_rows import LinearRows

FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sp.csr_array,
    "sparse, float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "few values": lambda X: X,
}


def data(form):
    rng = np.random.default_rng(0)
    share = 0.9 if form.startswith("float") else 0.2
    return np.round(np.where(rng.random((2_500, 9)) < share, rng.normal(size=(2_500, 9)), 0), 3)


@each("form", FORMS)
def test_products(form):
    given = FORMS[form](data(form))
    X = (given.toarray() if sp.issparse(given) else given).astype(np.float64)
    rows, rng = LinearRows.of(given, True), np.random.default_rng(1)
    assert rows.sparse == (not form.startswith("float"))
    assert rows.origin is None and rows.power == 0
    theta, v = rng.normal(size=9), rng.normal(size=2_500)
    assert_allclose(rows.times(theta), X @ theta, rtol=0, atol=1e-12)
    assert_allclose(rows.transposed_times(v), v @ X, rtol=0, atol=1e-10)
    of_rows, of_columns = rows.squares
    assert_allclose(of_rows, (X**2).sum(axis=1), rtol=1e-12)
    assert_allclose(of_columns, (X**2).sum(axis=0), rtol=1e-12)
    some = np.sort(rng.choice(2_500, 1_300, replace=False))
    Z = np.c_[X[some], np.ones(1_300)]
    for weight in (np.abs(v[some]), -np.abs(v[some])):
        assert_allclose(rows.gram(some, weight), (Z.T * weight) @ Z, rtol=0, atol=1e-9)
    assert_allclose(rows.chosen(some).times(theta), X[some] @ theta, rtol=0, atol=1e-12)


def test_far_and_huge_samples_have_an_origin_and_a_unit():
    X = data("float64")
    far = LinearRows.of(X + 1e6, True)
    assert_allclose(far.X + far.origin, X + 1e6, rtol=1e-15)
    assert LinearRows.of(X + 1e6, False).origin is None
    for form in FORMS:
        power = 100 if "32" in form else 300
        huge = LinearRows.of(FORMS[form](data(form)) * 2.0**power, True)
        inside = huge.X.toarray() if huge.sparse else huge.X
        assert 0.25 < np.abs(inside).max() <= 1
        assert_allclose(np.ldexp(inside, huge.power - power), data(form), rtol=1e-6)


@each("d", [1, 9, 16, 37])  # vectors of any processor, and columns beside them
def test_the_sparse_copy_has_the_values(d):
    rng = np.random.default_rng(d)
    X = np.where(rng.random((300, d)) < 0.2, rng.normal(size=(300, d)), -0.0)
    X[7], X[8], X[-1] = 0, -1.5, 2
    for given in (X, X.astype(np.float32)):
        rows = LinearRows.of(given, True)
        assert_array_equal(rows.X.toarray(), given)
        assert rows.X.nnz == np.count_nonzero(X) and rows.X.has_canonical_format
