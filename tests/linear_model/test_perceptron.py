"""The perceptron against its definition, round by round; mistakes, margins and their bound."""

import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import mlcore
from mlcore.bounds import perceptron_mistake_bound
from mlcore.datasets import load_digits, load_iris
from mlcore.linear_model import Perceptron


def played(X, codes, n_classes, n_epochs, constant=1):
    """Weights of each class by the definition, in fractions, after each round; mistakes by row."""
    rows = [[*map(Fraction, row), Fraction(constant)] for row in X.tolist()]
    w = [[Fraction(0)] * len(rows[0]) for _ in range(n_classes)]
    mean = [[Fraction(0)] * len(rows[0]) for _ in range(n_classes)]
    counts, trace, n_rounds = [0] * len(rows), [], 0
    while len(trace) < n_epochs and (not trace or trace[-1]):
        trace.append(0)
        for i, (x, y) in enumerate(zip(rows, codes, strict=True)):
            scores = [sum(a * b for a, b in zip(v, x, strict=True)) for v in w]
            rival = max((k for k in range(n_classes) if k != y), key=lambda k: (scores[k], -k))
            if scores[y] <= scores[rival]:
                w[y] = [a + b for a, b in zip(w[y], x, strict=True)]
                w[rival] = [a - b for a, b in zip(w[rival], x, strict=True)]
                counts[i] += 1
                trace[-1] += 1
            n_rounds += 1
            mean = [
                [m + a for m, a in zip(*pair, strict=True)] for pair in zip(mean, w, strict=True)
            ]
    mean = [[m / n_rounds for m in row] for row in mean]
    return np.array(w, dtype=float), np.array(mean, dtype=float), np.array(counts), trace


PROBLEMS = st.integers(2, 4).flatmap(
    lambda c: st.tuples(
        hnp.arrays(
            np.float64, st.tuples(st.integers(c, 12), st.integers(1, 3)),
            elements=st.integers(-4, 4).map(float),
        ),
        st.just(c),
    )
)  # fmt: skip


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(PROBLEMS, st.booleans(), st.booleans(), st.integers(1, 4))
@settings(max_examples=10)
def test_rounds_are_those_of_the_definition(form, dtype, problem, intercept, average, max_iter):
    X, c = problem
    codes = np.arange(len(X)) * 7 % c
    model = Perceptron(max_iter=max_iter, fit_intercept=intercept, average=average)
    model.fit(form(X.astype(dtype)), codes)
    w, mean, counts, trace = played(X, codes, c, max_iter, int(intercept))
    expected = mean if average else w
    if c == 2:
        expected = (expected[1:] - expected[:1]) / 2
    assert model.mistake_trace_.tolist() == trace and model.mistakes_ == sum(trace)
    assert model.n_rounds_ == len(X) * len(trace) and model.converged_ == (trace[-1] == 0)
    found = np.c_[model.coef_, model.intercept_]
    assert model.coef_.dtype == dtype
    assert_allclose(found, expected, rtol=0, atol=np.finfo(dtype).eps * 1000 * average)
    assert model.radius_ == pytest.approx(np.sqrt((X**2).sum(1).max() + intercept))
    assert model.mistakes_ <= model.mistake_bound_


def naive_bound(X, codes, counts, W, radius):
    """The least bound over the scales that give a mistaken row the margin 1, by trying all."""
    scores = X @ W.T
    own = scores[np.arange(len(X)), codes]
    scores[np.arange(len(X)), codes] = -np.inf
    margins = own - scores.max(axis=1)
    if margins.min() > 0:
        return (radius * np.linalg.norm(W) / margins.min()) ** 2
    scales = 1 / margins[(counts > 0) & (margins > 0)]
    losses = [(counts * np.maximum(0, 1 - a * margins)).sum() for a in scales]
    return min(
        (
            perceptron_mistake_bound(radius, w_norm=a * np.linalg.norm(W), hinge_loss=loss)
            for a, loss in zip(scales, losses, strict=True)
        ),
        default=math.inf,
    )


@given(PROBLEMS, st.integers(1, 5))
@settings(max_examples=25)
def test_the_bound_is_the_least_over_scales_of_the_last_function(problem, max_iter):
    X, c = problem
    codes = np.arange(len(X)) * 7 % c
    model = Perceptron(max_iter=max_iter).fit(X, codes)
    W, _, counts, _ = played(X, codes, c, max_iter)
    if c == 2:  # twice the function of two classes, with the radius of a difference of rows halved
        W = W / 2
        W, radius = np.vstack([W[1] * 0, W[1] - W[0]]), model.radius_
    else:
        radius = math.sqrt(2) * model.radius_
    expected = naive_bound(np.c_[X, np.ones(len(X))], codes, counts, W, radius)
    assert model.mistake_bound_ == pytest.approx(max(expected, model.mistakes_), rel=1e-9)


def test_worked_numbers():
    X, y = load_iris()
    model = Perceptron().fit(X[:100], y[:100])
    assert (model.mistakes_, model.n_iter_, model.mistake_trace_.tolist()) == (5, 4, [2, 2, 1, 0])
    unit = Perceptron(fit_intercept=False).partial_fit(np.eye(5), [1] * 5, classes=[-1, 1])
    assert unit.mistakes_ == 5 and unit.margin_ == pytest.approx(5**-0.5)
    assert unit.mistake_bound_ == pytest.approx((unit.radius_ / unit.margin_) ** 2) == 5
    assert unit.bound(5**-0.5) == pytest.approx(5)


def test_mistakes_never_exceed_the_bound_on_all_sequences_of_small_points():
    """Every sequence of three labelled points, separated by a line or not."""
    points = [np.array(p, dtype=float) for p in product((-1, 0, 1), repeat=2) if any(p)][:5]
    for chosen in product(product(range(len(points)), (0, 1)), repeat=3):
        X = np.array([points[i] for i, _ in chosen])
        y = np.array([label for _, label in chosen])
        model = Perceptron(fit_intercept=False).partial_fit(X, y, classes=[0, 1])
        assert model.mistakes_ <= model.mistake_bound_


def test_several_classes_reach_their_bound():
    """One row of each pair of classes in turn: radius sqrt(2) R is needed."""
    model = Perceptron(fit_intercept=False)
    model.partial_fit([[1.0]], [0], classes=[0, 1, 2])
    assert model.mistakes_ == 1 and model.mistake_bound_ == pytest.approx(4)
    # The best function of length 1 has the lead 1 / sqrt(1/2 + 1/8 + ...): a bound of 3.
    assert model.bound(math.sqrt(1 / 2)) == pytest.approx(4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("average", [False, True])
def test_blocks_and_single_rounds_are_one_epoch(form, average):
    X, y = load_iris()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = form(X[order]), y[order]
    whole = Perceptron(max_iter=1, average=average).fit(X, y)
    blocks = Perceptron(average=average).partial_fit(X[:40], y[:40], classes=[0, 1, 2])
    blocks.partial_fit(X[40:149], y[40:149])
    mistakes = blocks.mistakes_
    last = X[[149]] if sparse.issparse(X) else X[149]
    scores = np.sort(X[[149]] @ whole.coef_.T + whole.intercept_)
    assert blocks.update(last, y[149]) is blocks and blocks.mistakes_ in (mistakes, mistakes + 1)
    assert scores.shape == (1, 3)
    assert_array_equal(blocks.coef_, whole.coef_)
    assert_array_equal(blocks.intercept_, whole.intercept_)
    assert (blocks.mistakes_, blocks.n_rounds_) == (whole.mistakes_, 150)
    assert blocks.radius_ == whole.radius_
    assert not {"mistake_bound_", "margin_", "converged_"} & set(vars(blocks))
    with pytest.raises(ValueError, match="needs margin="):
        blocks.bound()


def test_a_round_is_a_prediction_and_a_correction():
    X, y = load_iris()
    model = Perceptron().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    rng = np.random.default_rng(1)
    for i in rng.permutation(len(X)):
        wrong, before = model.predict_one(X[i]) != y[i], model.mistakes_
        model.update(X[i], y[i])
        assert model.mistakes_ - before == wrong  # no ties here
    assert model.n_rounds_ == 151


@pytest.mark.parametrize("begun", [False, True])
def test_refused_rounds_change_nothing(begun):
    model = Perceptron()
    if begun:
        model.partial_fit([[1.0, 2.0]], ["a"], classes=["a", "b"])
    before = pickle.dumps(model)
    cases = [
        ([[1.0, math.nan]], ["a"], ["a", "b"], "NaN"),
        ([[1.0, 2.0]], ["c"], ["a", "b"], "label 'c'"),
        ([[1.0, 2.0]], ["a", "b"], ["a", "b"], "inconsistent"),
    ]
    if begun:
        cases += [
            ([[1.0, 2.0]], ["b"], ["a", "c"], "classes="),
            ([[1.0, 2.0, 3.0]], ["b"], None, "3 features"),
        ]
    else:
        cases += [([[1.0, 2.0]], ["a"], None, "at least 2 classes")]
    for X, y, classes, message in cases:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, classes=classes)
        assert pickle.dumps(model) == before
    if not begun:
        with pytest.raises(ValueError, match="not fitted"):
            model.update([1.0, 2.0], "a")


def test_a_seed_draws_the_orders():
    X, y = load_iris()
    one, two, other = (
        Perceptron(shuffle=True, random_state=seed, max_iter=5).fit(X, y) for seed in (0, 0, 1)
    )
    assert_array_equal(one.coef_, two.coef_)
    assert (one.coef_ != other.coef_).any()


def test_tol_ends_what_does_not_improve():
    X, y = load_iris()
    model = Perceptron(tol=1e-3).fit(X, y)
    whole = Perceptron().fit(X, y)
    trace = model.mistake_trace_
    assert 5 < model.n_iter_ < whole.n_iter_ == 100
    assert_array_equal(trace, whole.mistake_trace_[: len(trace)])
    assert min(trace[-5:]) > min(trace[:-5]) - 1e-3 * len(X)


@each("power", [-500, -300, 300, 500])
@each("form", [np.asarray, sparse.csr_array])
def test_the_unit_of_the_data_changes_nothing_without_an_intercept(form, power):
    X, y = load_iris()
    how = {"fit_intercept": False, "max_iter": 7}
    for average in (False, True):
        expected = Perceptron(**how, average=average).fit(form(X), y)
        found = Perceptron(**how, average=average).fit(form(np.ldexp(X, power)), y)
        assert_array_equal(found.mistake_trace_, expected.mistake_trace_)
        assert_allclose(found.coef_, np.ldexp(expected.coef_, power), rtol=1e-14)
        assert found.margin_ == pytest.approx(math.ldexp(expected.margin_, power))
        assert found.mistake_bound_ == pytest.approx(expected.mistake_bound_)


@pytest.mark.parametrize("power", [-520, 400])
def test_an_intercept_keeps_its_unit(power):
    """With values so large, or so small, that the constant or the values hardly matter."""
    X, y = load_iris()
    X, y = X[:100] - X[:100].mean(0), y[:100]
    found = Perceptron(max_iter=5).fit(np.ldexp(X, power), y)
    w, _, _, trace = played(np.ldexp(X, power), y, 2, 5)
    assert found.mistake_trace_.tolist() == trace
    assert_allclose(np.r_[found.coef_[0], found.intercept_], (w[1] - w[0]) / 2, rtol=1e-12)
    scores = np.ldexp(X, power) @ found.coef_[0] + found.intercept_
    length = math.hypot(np.linalg.norm(found.coef_), found.intercept_[0])
    assert found.margin_ == pytest.approx((np.where(y, 1, -1) * scores).min() / length)


def test_the_mean_of_all_rounds_predicts_held_out_digits_better():
    X, y = load_digits()
    last = Perceptron(max_iter=3).fit(X[:1200], y[:1200])
    mean = Perceptron(max_iter=3, average=True).fit(X[:1200], y[:1200])
    assert_array_equal(mean.mistake_trace_, last.mistake_trace_)  # the rounds are the same
    assert mean.score(X[1200:], y[1200:]) > last.score(X[1200:], y[1200:])


def test_an_average_goes_on_after_a_copy(tmp_path):
    X, y = load_iris()
    model = Perceptron(average=True).partial_fit(X[::2], y[::2])
    mlcore.save(model, tmp_path / "model.npz")
    again = mlcore.load(tmp_path / "model.npz").partial_fit(X[1::2], y[1::2])
    assert_array_equal(again.coef_, model.partial_fit(X[1::2], y[1::2]).coef_)
