"""Online gradient descent against its definition, its bounds, and SciPy's best vector."""

import math
import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

import mlcore
from mlcore.bounds import ogd_regret_bound, projected_ogd_regret_bound
from mlcore.online import OnlineGradientDescent, play
from mlcore.online.gradient_descent.hindsight import best_in_hindsight
from mlcore.online.gradient_descent.losses import LOSSES
from mlcore.online.gradient_descent.sets import VectorSet

SETS = ("ball", "box", "simplex", None)
SCHEDULES = ("fixed", "doubling", "decreasing")


def stream(seed, loss, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = rng.choice([-1.0, 1.0], size=n) if LOSSES[loss].labels else rng.uniform(-1, 1, size=n)
    return X, y


def naive_loss(name, w, x, y):
    z = w @ x
    return {
        "hinge": lambda: (max(0.0, 1 - y * z), -y * x if y * z < 1 else 0 * x),
        "logistic": lambda: (math.log1p(math.exp(-y * z)), -y * x / (1 + math.exp(y * z))),
        "absolute": lambda: (abs(z - y), np.sign(z - y) * x),
        "squared": lambda: ((z - y) ** 2, 2 * (z - y) * x),
    }[name]()


def nearest(kind, radius, w):
    """The projection by a general minimiser."""
    if kind is None:
        return w
    limits = {
        "ball": ([{"type": "ineq", "fun": lambda u: radius**2 - u @ u}], None),
        "box": ((), [(-radius, radius)] * len(w)),
        "simplex": ([{"type": "eq", "fun": lambda u: u.sum() - radius}], [(0, None)] * len(w)),
    }
    constraints, box = limits[kind]
    start = np.full(len(w), radius / len(w) / 2 if kind != "simplex" else radius / len(w))
    how = {"method": "SLSQP", "constraints": constraints, "bounds": box, "tol": 1e-12}
    with warnings.catch_warnings():  # of SciPy before 1.14: steps beyond the bounds are clipped
        warnings.simplefilter("ignore", RuntimeWarning)
        return optimize.minimize(lambda u: ((u - w) ** 2).sum(), start, **how).x


@pytest.mark.parametrize("kind", SETS)
def test_projections_are_the_nearest_vectors(kind):
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.normal(size=rng.integers(1, 5)) * 3
        vectors = VectorSet(kind, 1.3)
        assert_allclose(vectors.project(w), nearest(kind, 1.3, w), atol=2e-5)
        assert_allclose(vectors.project(vectors.project(w)), vectors.project(w), atol=1e-12)
        assert_allclose(vectors.project(vectors.start(len(w))), vectors.start(len(w)), atol=1e-15)


@each("schedule", SCHEDULES)
@each("kind", ["ball", "box", "simplex"])
@each("loss", LOSSES)
def test_rounds_are_those_of_the_definition(loss, kind, schedule):
    X, y = stream(1, loss, n=11)
    how = {"loss": loss, "radius": 0.8, "projection": kind, "schedule": schedule}
    learner = OnlineGradientDescent(**how, lipschitz=4.0, horizon=11)
    radius, d = 0.8, 3
    centre = np.full(d, radius / d) if kind == "simplex" else np.zeros(d)
    reach = radius * {"ball": 1, "box": math.sqrt(3), "simplex": math.sqrt(2 / 3)}[kind]
    diameter = radius * {"ball": 2, "box": 2 * math.sqrt(3), "simplex": math.sqrt(2)}[kind]
    w, seen, total = centre, [], 0.0
    for t, (x, target) in enumerate(zip(X, y, strict=True), 1):
        assert learner.predict_one(x) == pytest.approx(w @ x, abs=1e-9)
        value, v = naive_loss(loss, w, x, target)
        seen.append(w)
        total += value
        rounds = {"fixed": 11, "doubling": 2 ** int(math.log2(t)), "decreasing": 0}[schedule]
        step = diameter / math.sqrt(t) / 4 if not rounds else reach / math.sqrt(rounds) / 4
        w = VectorSet(kind, radius).project(w - step * v)
        if schedule == "doubling" and t + 1 in (2, 4, 8):
            w = centre
        learner.update(x, target)
        assert_allclose(learner.coef_, w, atol=1e-12)
        assert learner.loss_ == pytest.approx(total)
        assert_allclose(learner.mean_coef_, np.mean(seen, axis=0), atol=1e-12)
    expected = {
        "fixed": lambda: ogd_regret_bound(reach, 4.0, 11),
        "doubling": lambda: ogd_regret_bound(reach, 4.0, 11, schedule="doubling"),
        "decreasing": lambda: projected_ogd_regret_bound(diameter, 4.0, 11),
    }[schedule]()
    assert learner.bound() == pytest.approx(expected)


@pytest.mark.parametrize("kind", SETS)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(LOSSES)), st.sampled_from(SCHEDULES))
@settings(max_examples=3)
def test_the_regret_keeps_to_its_bounds_against_every_vector(kind, seed, loss, schedule):
    schedule = "fixed" if kind is None else schedule
    X, y = stream(seed, loss, n=16)
    learner = OnlineGradientDescent(
        loss=loss, radius=0.7, projection=kind, schedule=schedule, horizon=16, lipschitz=4.5
    )
    if kind is None and loss == "squared":
        learner.set_params(lipschitz=20.0)
    game = play(learner, X, y)
    assert game.regret <= game.bound + 1e-9
    assert game.regret == game.losses.sum() - game.comparator_loss
    assert game.regret == pytest.approx(learner.regret(X, y), abs=1e-12)
    rng = np.random.default_rng(seed)
    for scale in (0.1, 1.0, 10.0):
        u = VectorSet(kind or "ball", 0.7).project(rng.normal(size=3) * scale)
        regret = learner.regret(X, y, comparator=u)
        naive = sum(naive_loss(loss, u, *pair)[0] for pair in zip(X, y, strict=True))
        assert regret == pytest.approx(learner.loss_ - naive)
        assert regret <= game.regret + 1e-9
        if schedule == "fixed":
            assert regret <= learner.observed_bound(u) + 1e-9


@pytest.mark.parametrize("schedule", ["fixed", "doubling", "decreasing"])
def test_no_sequence_of_a_few_points_passes_the_bound(schedule):
    """All sequences of labelled points on a line, against the ends of the interval."""
    outcomes = [(x, y) for x in (1.0, -0.5) for y in (-1, 1)]
    for rounds in product(outcomes, repeat=4):
        learner = OnlineGradientDescent(loss="hinge", schedule=schedule, horizon=4)
        learner.fit([[x] for x, _ in rounds], [y for _, y in rounds])
        corners = {-1.0, 1.0}  # of a piecewise linear function on [-1, 1], the least is at one
        best = min(sum(max(0, 1 - y * x * u) for x, y in rounds) for u in corners)
        assert learner.loss_ - best <= learner.bound() + 1e-12


@pytest.mark.parametrize(
    ("loss", "kind"),
    [*product(("hinge", "logistic", "squared"), ["ball", "box", "simplex"]), ("absolute", "box")],
)
def test_the_best_vector_in_hindsight_and_its_gap(loss, kind):
    X, y = stream(5, loss, n=20)
    vectors = VectorSet(kind, 1.5)
    found = best_in_hindsight(X, y, LOSSES[loss], vectors)

    def total(u):
        return sum(naive_loss(loss, u, *pair)[0] for pair in zip(X, y, strict=True))

    assert total(found.vector) == pytest.approx(found.value)
    assert_allclose(vectors.project(found.vector), found.vector, atol=1e-12)
    assert found.gap <= 1e-2 * (1 + found.value)
    rng = np.random.default_rng(0)
    near = [found.vector + rng.normal(size=3) * s for s in (1e-3, 1e-2, 0.1, 1.0) for _ in range(9)]
    assert min(total(vectors.project(u)) for u in near) >= found.value - found.gap - 1e-9


def test_strongly_convex_losses_have_logarithmic_regret():
    def loss(w, x, y):
        return float((w - x) @ (w - x)) / 2, w - x

    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    learner = OnlineGradientDescent(
        loss=loss, schedule="strongly_convex", strong_convexity=1.0, lipschitz=2.0
    ).fit(X, X[:, 0])
    assert_allclose(learner.coef_, X.mean(axis=0), atol=1e-12)  # steps of 1/t make the mean
    assert learner.regret(X, X[:, 0], comparator=X.mean(axis=0)) <= learner.bound()
    assert learner.bound() == projected_ogd_regret_bound(1.0, 2.0, 200, strong_convexity=1.0)
    with pytest.raises(ValueError, match="give comparator="):
        learner.regret(X, X[:, 0])
    game = play(learner, X, X[:, 0])
    assert math.isnan(game.regret) and game.losses.sum() == pytest.approx(learner.loss_)


def test_rounds_together_are_rounds_one_by_one(tmp_path):
    X, y = stream(2, "logistic")
    how = {"loss": "logistic", "schedule": "doubling", "radius": 3.0}
    whole = OnlineGradientDescent(**how).fit(X, y)
    parts = OnlineGradientDescent(**how).partial_fit(X[:13], y[:13]).partial_fit(X[13:], y[13:])
    mlcore.save(parts, tmp_path / "learner.npz")
    for other in (parts, pickle.loads(pickle.dumps(whole)), mlcore.load(tmp_path / "learner.npz")):
        assert_array_equal(other.coef_, whole.coef_)
        assert other.loss_ == whole.loss_ and other.n_rounds_ == 30
    assert_array_equal(whole.predict(X), [whole.predict_one(x) for x in X])


@pytest.mark.parametrize("begun", [False, True])
def test_refused_rounds_change_nothing(begun):
    learner = OnlineGradientDescent(horizon=2, lipschitz=1.5)
    if begun:
        learner.update([1.0, 0.5], 1)
    before = pickle.dumps(learner)
    points = ([math.nan, 0.0], [], [[1.0, 2.0]], "ab", None, 3.0, [1j, 0], ["a", "b"])
    for x in (*points, *([[1.0]] if begun else ())):
        with pytest.raises(ValueError, match=r"\bx\b"):
            learner.update(x, 1)
    for y in (0, 0.5, math.nan, None, "1", [1]):
        with pytest.raises(ValueError, match="^y="):
            learner.update([1.0, 0.0], y)
    with pytest.raises(ValueError, match="lipschitz=1.5 must be at least .* is 3"):
        learner.update([0.0, 3.0], -1)
    with pytest.raises(ValueError, match="horizon=2 rounds are over"):
        learner.partial_fit([[1.0, 0.0]] * 3, [1, 1, 1])
    with pytest.raises(ValueError, match="X has points of 1 and of 2"):
        learner.fit([[1.0], [1.0, 2.0]], [1, 1])
    assert pickle.dumps(learner) == before
    if begun:
        with pytest.raises(ValueError, match="^u must be in the set"):
            learner.observed_bound([2.0, 0.0])
        with pytest.raises(ValueError, match="2 rounds, but the learner has played 1"):
            learner.regret([[1.0, 0.5]] * 2, [1, 1])


def test_without_a_horizon_steps_decrease():
    X, y = stream(3, "hinge")
    learner = OnlineGradientDescent().fit(X, y)
    same = OnlineGradientDescent(schedule="decreasing").fit(X, y)
    assert_array_equal(learner.coef_, same.coef_)
    assert learner.bound() == same.bound()
    fixed = OnlineGradientDescent(horizon=30).fit(X, y)
    assert_array_equal(
        fixed.coef_, OnlineGradientDescent(schedule="fixed", horizon=30).fit(X, y).coef_
    )
    with pytest.raises(ValueError, match="^horizon=None.*'decreasing' or 'doubling'"):
        OnlineGradientDescent(schedule="fixed").fit(X, y)
    with pytest.raises(ValueError, match="^projection=None.*without a horizon"):
        OnlineGradientDescent(projection=None).fit(X, y)


def test_frames_and_series_are_rounds():
    X, y = stream(3, "hinge")
    frame, series = pd.DataFrame(X, columns=list("abc")), pd.Series(y, index=range(5, 35))
    plain, framed = OnlineGradientDescent(), OnlineGradientDescent()
    expected, game = play(plain, X, y), play(framed, frame, series)
    assert_array_equal(framed.coef_, plain.coef_)
    assert_array_equal(game.losses, expected.losses)
    assert_array_equal(framed.predict(frame), plain.predict(X))
    assert framed.regret(frame, series) == plain.regret(X, y)
    framed.update(frame.iloc[0], series.iloc[0])


def test_wrong_parameters_are_named():
    bad = (0, -1.0, math.nan, math.inf, "1", None, True)
    for name, values in {
        "loss": ("hinged", None, 3),
        "radius": bad,
        "projection": ("sphere", 3),
        "schedule": ("constant", 3),
        "horizon": (0, -1, 1.5, "3", True),
        "lipschitz": bad,
        "strong_convexity": (0, -1.0, math.nan, "1", True),
    }.items():
        for value in values:
            learner = OnlineGradientDescent(horizon=3).set_params(**{name: value})
            with pytest.raises(ValueError, match=f"^{name}="):
                learner.update([1.0], 1)
    unbounded = OnlineGradientDescent(projection=None, schedule="decreasing")
    with pytest.raises(ValueError, match="^projection=None"):
        unbounded.update([1.0], 1)
    with pytest.raises(ValueError, match="^strong_convexity=None"):
        OnlineGradientDescent(schedule="strongly_convex").update([1.0], 1)
    with pytest.raises(ValueError, match="^schedule='doubling'"):
        OnlineGradientDescent(schedule="doubling").update([1.0], 1).observed_bound([0.0])
