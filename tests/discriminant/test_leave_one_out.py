"""Leave-one-out posteriors of linear discriminant analysis against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse as sp

from mlcore.datasets import load_digits, load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.discriminant.leave_one_out import filled_by_one


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_those_of_refits(priors, weighted):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    X = rng.normal(size=(24, 3)) + y[:, None]
    w = rng.uniform(0.5, 2.0, 24) if weighted else np.ones(24)
    model = LinearDiscriminantAnalysis(priors=priors).fit(X, y, w)
    expected = []
    for i in range(24):
        rest = np.arange(24) != i
        refit = LinearDiscriminantAnalysis(priors=priors).fit(X[rest], y[rest], w[rest])
        expected.append(refit.predict_log_proba(X[i : i + 1])[0])
    assert_allclose(model.leave_one_out(X, y, w), expected, rtol=1e-9, atol=1e-10)


def test_errors_of_iris_as_printed_by_r():
    X, y = load_iris()
    for unbiased in (False, True):
        model = LinearDiscriminantAnalysis(unbiased=unbiased).fit(X, y)
        assert (model.leave_one_out(X, y).argmax(axis=1) != y).sum() == 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "params"),
    [
        (LinearDiscriminantAnalysis, {"shrinkage": 0.3, "unbiased": True}),
        (LinearDiscriminantAnalysis, {"shrinkage": 1.0, "priors": [0.2, 0.5, 0.3]}),
        (QuadraticDiscriminantAnalysis, {"reg_param": 0.2}),
        (QuadraticDiscriminantAnalysis, {"reg_param": 0.2, "unbiased": False}),
        (QuadraticDiscriminantAnalysis, {"pooling": 0.3, "priors": [0.2, 0.5, 0.3]}),
        (QuadraticDiscriminantAnalysis, {"pooling": 1.0}),
        (QuadraticDiscriminantAnalysis, {"shrinkage": 0.4}),
        (QuadraticDiscriminantAnalysis, {"shrinkage": 0.4, "pooling": 0.3, "reg_param": 0.1}),
    ],
)
def test_regularised_ones_are_those_of_refits(model, params, weighted):
    rng = np.random.default_rng(0)
    y, w = np.arange(24) % 3, rng.uniform(0.5, 2.0, 24) if weighted else np.ones(24)
    X = (rng.normal(size=(24, 3)) + y[:, None]) * [1, 1e-3, 1e2] + 50
    X[:, 0] *= 1 + y
    expected, some = [], [0, 4, 8, 9, 13, 17, 23]  # of each class
    for i in some:
        rest = np.arange(24) != i
        refit = model(**params).fit(X[rest], y[rest], w[rest])
        expected.append(refit.predict_log_proba(X[i : i + 1])[0])
    fitted = model(**params).fit(X, y, w)
    assert_allclose(fitted.leave_one_out(X, y, w)[some], expected, rtol=1e-9, atol=1e-10)


def test_a_class_of_one_sample_is_left_out_whole():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    for params in ({"shrinkage": 0.3}, {"shrinkage": 0.3, "unbiased": True}):
        found = LinearDiscriminantAnalysis(**params).fit(X, y).leave_one_out(X, y)
        refit = LinearDiscriminantAnalysis(**params).fit(X[:8], y[:8])
        assert_allclose(found[8, :2], refit.predict_log_proba(X[8:])[0], rtol=1e-9)
        assert found[8, 2] == -np.inf
    pooled = QuadraticDiscriminantAnalysis(pooling=0.5, unbiased=False).fit(X, y)
    with pytest.raises(ValueError, match="without sample 8"):
        pooled.leave_one_out(X, y)


def test_what_has_no_formula_is_refused():
    X, y = load_iris()
    for model in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        for name in ("auto", "oas"):
            with pytest.raises(ValueError, match=f"number for shrinkage, or None: {name!r}"):
                model(shrinkage=name).fit(X, y).leave_one_out(X, y)
    with pytest.raises(ValueError, match="class_weight=None"):
        model = LinearDiscriminantAnalysis(class_weight="balanced").fit(X, y)
        model.leave_one_out(X, y)
    few = LinearDiscriminantAnalysis().fit(X[::25, :3], y[::25])
    with pytest.raises(ValueError, match="inverse"):
        few.leave_one_out(X[::25, :3], y[::25])


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_a_far_sample_is_answered_to_the_digits_that_are_left(model):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2))
    X[0, 1] = 3e5  # without it, 1e-10 or less of its class's variance stays
    refit = model().fit(X[1:], y[1:]).predict_log_proba(X[:1])[0]
    found = model().fit(X, y).leave_one_out(X, y)[0]
    # Some 1e-14 of the variance is rounding: of what stays, a part of 1e-4.
    assert_allclose(found, refit, rtol=1e-3)
    X[0, 1] = 1e9  # what stays is below rounding
    with pytest.raises(ValueError, match="without sample 0"):
        model().fit(X, y).leave_one_out(X, y)


RARE = [
    (LinearDiscriminantAnalysis, {}),
    (LinearDiscriminantAnalysis, {"priors": [0.2, 0.5, 0.3], "unbiased": True}),
    (LinearDiscriminantAnalysis, {"shrinkage": 0.3}),
    (QuadraticDiscriminantAnalysis, {"pooling": 0.5}),
    (QuadraticDiscriminantAnalysis, {"pooling": 0.5, "shrinkage": 0.2}),
    (QuadraticDiscriminantAnalysis, {"shrinkage": 0.2}),
    (QuadraticDiscriminantAnalysis, {"shrinkage": 0.2, "unbiased": False, "reg_param": 0.1}),
    (QuadraticDiscriminantAnalysis, {"reg_param": 0.1}),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("model", "params"), RARE)
def test_a_column_that_one_sample_fills_is_left_out_with_it(model, params, weighted):
    """As the dummy of a rare category, or a pixel at the edge of images."""
    rng = np.random.default_rng(0)
    y, w = np.arange(24) % 3, rng.integers(1, 4, 24) / 2 if weighted else np.ones(24)
    X = np.column_stack([rng.normal(size=(24, 2)) + y[:, None], np.zeros((24, 5))])
    X[5, 2] = 1.0  # alone in a column of zeros
    X[0, 3], X[1:, 3] = 0.0, 2.0  # the first, alone in a column of twos
    X[5, 4] = 3.0  # the same sample in another column
    X[[7, 8], 5] = 1.0  # two, of different classes: without one, a class is constant
    X[:, 6] = rng.normal(size=24) * (y == 1)
    if weighted:
        w[20], X[20, 2] = 0.0, 7.0  # a sample that counts for nothing
    expected, some = [], [0, 1, 5, 7, 8, 13, 20, 22]  # each of these, and one of each class
    for i in some:
        rest = np.arange(24) != i
        refit = model(**params).fit(X[rest], y[rest], w[rest])
        expected.append(refit.predict_log_proba(X[i : i + 1])[0])
    for A in (X, sp.csr_array(X)):
        found = model(**params).fit(A, y, w).leave_one_out(A, y, w)
        assert_allclose(found[some], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("model", "params"), RARE[:4])
def test_digits_are_left_out(model, params):
    X, y = load_digits()
    params = params | ({"priors": None} if "priors" in params else {})
    rows = 400 if "shrinkage" in params else 900
    X, y = X[:rows], y[:rows]
    found = model(**params).fit(X, y).leave_one_out(X, y)
    alone = np.unique(filled_by_one(X)[0])
    assert len(alone)
    for i in [*alone[:3], 11]:
        rest = np.arange(len(X)) != i
        refit = model(**params).fit(X[rest], y[rest])
        assert_allclose(found[i], refit.predict_log_proba(X[i : i + 1])[0], rtol=1e-8, atol=1e-8)


def test_columns_that_one_sample_fills_are_found():
    X = np.array([[1, 0, 5, 3], [0, 0, 5, 4], [0, 2, 5, 3], [0, 0, 5, 4]])
    rows, columns = filled_by_one(X)
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 0), (2, 1)]
    rows, columns = filled_by_one(X[:2])  # of two samples, without either
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [
        (0, 0), (0, 3), (1, 0), (1, 3)
    ]  # fmt: skip
    assert not len(filled_by_one(X[:1])[0])


def test_the_reason_is_true():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 2] = np.where(np.arange(40) == 3, 2.0, y)  # without 3 it is the class itself
    for model in (
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(shrinkage=0.1),
        QuadraticDiscriminantAnalysis(pooling=0.5),
    ):
        with pytest.raises(ValueError, match="without sample 3 .*depend on each other"):
            model.fit(X, y).leave_one_out(X, y)
    X[:, 2] = rng.normal(size=40) * (y == 0)
    X[5, 2] = 1.0
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
    with pytest.raises(ValueError, match="without sample 5 .*are constant in the others of the cl"):
        quadratic.leave_one_out(X, y)
    few = QuadraticDiscriminantAnalysis().fit(X[:8], y[:8])
    with pytest.raises(ValueError, match="more samples of each class than features, and one"):
        few.leave_one_out(X[:8], y[:8])


@pytest.mark.parametrize(("model", "params"), RARE)
def test_other_samples_than_those_of_the_fit_are_refused(model, params):
    X, y = load_iris()
    fitted = model(**params).fit(X, y)
    other = X + np.random.default_rng(0).normal(size=X.shape)
    for Z, labels in ((other, y), (X, y[::-1]), (X[:, ::-1], y), (X * 2, y)):
        with pytest.raises(ValueError, match="needs the samples of the fit: the mean of feature"):
            fitted.leave_one_out(Z, labels)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = fitted.leave_one_out(X[order], y[order])  # in any order
    assert_allclose(shuffled, fitted.leave_one_out(X, y)[order], rtol=1e-9, atol=1e-9)
