"""EM on data that are hard, from starts of every kind, and what it leaves behind."""

import itertools
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Peer

from mlcore.estimator.model import ConvergenceWarning
from mlcore.mixture import GaussianMixture, em
from mlcore.mixture.components import Components
from mlcore.mixture.gaussian.components import GaussianComponents
from mlcore.mixture.gaussian.parameters import Parameters

KINDS = ("full", "tied", "diag", "spherical")
kinds = pytest.mark.parametrize("kind", KINDS)
rng = np.random.default_rng(0)
TWO = np.r_[rng.normal(size=(60, 2)), [6.0, 0.0] + rng.normal(size=(40, 2))]

HARD = {
    "duplicate points": np.repeat(rng.normal(size=(5, 3)), 20, axis=0),
    "two distinct points": np.repeat(rng.normal(size=(2, 3)), 30, axis=0),
    "one distinct point": np.full((20, 3), 3.3),
    "all zero": np.zeros((20, 3)),
    "constant feature": np.c_[rng.normal(size=(60, 2)), np.full(60, 7.0)],
    "huge constant feature": np.c_[rng.normal(size=(60, 1)), np.full(60, 1e150)],
    "duplicate features": np.tile(rng.normal(size=(60, 2)), 2),
    "rank one": np.outer(rng.normal(size=60), [1.0, 2.0, 3.0]),
    "as many components as samples": rng.normal(size=(4, 2)),
    "more features than samples": rng.normal(size=(20, 40)),
    "mixed scales": rng.normal(size=(200, 4)) * [1e-8, 1.0, 1e8, 1e3],
    "tiny": rng.normal(size=(60, 3)) * 1e-130,
    "huge": rng.normal(size=(60, 3)) * 1e135,
    "large offset": rng.normal(size=(60, 3)) + 1e15,
    "outlier": np.r_[rng.normal(size=(80, 2)), [[1e60, -1e60]]],
    "narrow and apart": np.r_[rng.normal(size=(50, 2)), 1e12 + rng.normal(size=(50, 2))] * 1e-12,
}


@kinds
@pytest.mark.parametrize("case", HARD)
def test_hard_data_give_finite_answers(kind, case):
    """With every penalty; another one of the two starts and types at each fit."""
    X = HARD[case]
    types = [np.float64] if np.abs(X).max() > 1e14 else [np.float64, np.float32]
    starts = itertools.cycle(["k-means++", "random"])
    for i, reg_covar in enumerate((None, 1e-6, 0.0)):
        for k, dtype in [(1, types[-1]), (2, types[i % len(types)]), (4, types[i % 2 - 1])]:
            model = GaussianMixture(
                k,
                covariance_type=kind,
                reg_covar=reg_covar,
                init_params=next(starts),
                random_state=0,
                n_init=2,
                max_iter=10,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X.astype(dtype))
                fitted = {name: v for name, v in vars(model).items() if name.endswith("_")}
                del fitted["spikes_"]
                found = [*model.spikes_, *(v for v in fitted.values() if v is not kind)]
                proba = model.predict_proba(X)
                far = np.where(X > X.mean(axis=0), 1e14, -1e14)
                found += [proba, model.score_samples(X), model.score_samples(far)]
                found.append(model.sample(3)[0])
            assert all(np.isfinite(value).all() for value in found)
            assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e150])
def test_variances_beyond_floats_are_refused_with_a_way_out(scale):
    with pytest.raises(ValueError, match="column 1 .* rescale X"):
        GaussianMixture(2).fit(TWO * [1.0, scale])


def test_a_component_on_a_single_point_is_reported():
    X = np.r_[rng.normal(size=(100, 2)), np.repeat([[50.0, 50.0]], 4, axis=0)]
    with pytest.warns(ConvergenceWarning, match=r"components \[1\] .* single points"):
        model = GaussianMixture(2, means_init=[[0.0, 0.0], [50.0, 50.0]]).fit(X)
    assert model.collapsed_components_.tolist() == [1]
    assert_allclose(model.means_[1], 50)
    # The limit: a millionth of the data's variances.
    assert_allclose(model.covariances_[1], 1e-6 * np.diag(X.var(axis=0)), rtol=1e-6, atol=1e-9)


def collapsing(seed):
    """Two clusters of 150 rows, and one point four times."""
    rng = np.random.default_rng(seed)
    far = np.repeat([[50.0, 50.0]], 4, axis=0)
    return np.r_[rng.normal(size=(150, 2)), rng.normal(size=(150, 2)) + [8, 0], far]


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
@pytest.mark.parametrize("seed", range(4))
def test_collapsed_components_are_started_anew_if_that_leaves_fewer(kind, seed, monkeypatch):
    X = collapsing(seed)
    fits = {}
    for n in (0, 3):
        monkeypatch.setattr(em, "_RESTARTS", n)
        model = GaussianMixture(4, covariance_type=kind, random_state=seed)
        with pytest.warns(ConvergenceWarning, match="components") as told:
            model.fit(X)
        assert len(told) == 1
        fits[n] = model
    before, after = fits[0], fits[3]
    n_before, n_after = len(before.collapsed_components_), len(after.collapsed_components_)
    assert 0 < n_before >= n_after
    assert np.diff(after.log_likelihood_trace_).min() > -1e-12
    assert_allclose(after.weights_.sum(), 1)
    if n_after == n_before:  # nothing gained: the fit is that which collapsed
        assert_array_equal(after.means_, before.means_)
        assert_array_equal(after.log_likelihood_trace_, before.log_likelihood_trace_)
    else:
        assert "started anew" in str(told[0].message)
        assert_allclose(after.score(X), after.lower_bound_, atol=1e-3)
    again = GaussianMixture(4, covariance_type=kind, random_state=seed)
    with pytest.warns(ConvergenceWarning, match="components"):
        again.fit(X)
    assert_array_equal(again.means_, after.means_)


def test_an_empty_component_finds_rows_again(monkeypatch):
    """Starts that are all but one far from the data: their components have no mass at first."""

    def far_starts(self, em, start_values, rng, number=0):
        means = np.array([[0.0, 0.0], [1e8, 1e8], [-1e8, 1e8]])
        return Parameters(np.full(3, 1 / 3), means, np.ones(3), np.ones(3))

    monkeypatch.setattr(GaussianComponents, "start", far_starts)
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 20]
    model = GaussianMixture(3, covariance_type="spherical", random_state=0)
    with pytest.warns(ConvergenceWarning, match="were started anew in place of collapsed ones"):
        model.fit(X)
    assert len(model.collapsed_components_) == 0
    assert model.weights_.min() > 0
    assert np.abs(model.means_ - 20).sum(axis=1).min() < 2


def test_a_component_without_samples_keeps_its_place_and_weighs_nothing():
    options = {"weights_init": [0.5, 0.5], "means_init": [[0.0, 0.0], [1e6, 1e6]]}
    options |= {"precisions_init": [1.0, 1.0], "covariance_type": "spherical"}
    with pytest.warns(ConvergenceWarning, match=r"components \[1\] have lost all"):
        model = GaussianMixture(2, **options).fit(TWO)
    assert_array_equal(model.weights_, [1, 0])
    assert_array_equal(model.means_[1], 1e6)
    assert_allclose(
        model.score(TWO), GaussianMixture(covariance_type="spherical").fit(TWO).score(TWO)
    )


def test_stopping_early_is_told_and_tol_0_takes_every_step():
    with pytest.warns(ConvergenceWarning, match="max_iter=2 .* tol=1e-12"):
        model = GaussianMixture(2, tol=1e-12, max_iter=2, random_state=0).fit(TWO)
    assert not model.converged_ and model.n_iter_ == 2
    model = GaussianMixture(2, tol=0, max_iter=7, random_state=0).fit(TWO)
    assert model.n_iter_ == 7 and not model.converged_
    assert model.lower_bound_ == model.log_likelihood_trace_[-1]
    assert_allclose(model.lower_bound_, model.score(TWO), rtol=1e-13)


def test_steps_one_by_one_converge_as_many_at_once_do():
    model = GaussianMixture(2, max_iter=1, warm_start=True, tol=1e-5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        n = next(n for n in range(1, 100) if model.fit(TWO).converged_)
    at_once = GaussianMixture(2, tol=1e-5, random_state=0).fit(TWO)
    assert n == at_once.n_iter_
    assert_allclose(model.means_, at_once.means_, rtol=1e-12)
    assert_array_equal(at_once.lower_bounds_, at_once.log_likelihood_trace_)


@kinds
def test_warm_start_goes_on_where_it_stopped(kind):
    options = {"covariance_type": kind, "tol": 0, "random_state": 0}
    whole = GaussianMixture(2, max_iter=9, **options).fit(TWO)
    parts = GaussianMixture(2, max_iter=4, warm_start=True, **options).fit(TWO)
    parts.set_params(max_iter=5).fit(TWO)
    assert_allclose(parts.lower_bound_, whole.lower_bound_, rtol=1e-13)
    assert_allclose(parts.means_, whole.means_, rtol=1e-11, atol=1e-12)
    other = parts.set_params(n_components=3).fit(TWO)  # of another shape: a start of its own
    assert other.means_.shape == (3, 2)


def test_a_part_of_the_start_may_be_given_and_keeps_its_order():
    means = [[6.0, 0.0], [0.0, 0.0]]
    model = GaussianMixture(2, means_init=means, random_state=0).fit(TWO)
    assert_allclose(model.means_, means, atol=0.5)
    assert model.weights_[0] < model.weights_[1]
    free = GaussianMixture(2, random_state=0).fit(TWO)
    assert free.weights_[0] > free.weights_[1]


def test_several_short_runs_are_at_least_as_good_as_one():
    X = np.random.default_rng(3).normal(size=(300, 2))
    X += 5 * np.random.default_rng(4).integers(0, 3, size=(300, 2))
    levels = [
        GaussianMixture(9, n_init=n, init_params="random", random_state=0, max_iter=500).fit(X)
        for n in (1, 20)
    ]
    assert levels[1].lower_bound_ >= levels[0].lower_bound_ - 1e-2


@kinds
def test_from_parameters_is_a_fitted_mixture(kind):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(TWO)
    again = GaussianMixture.from_parameters(
        model.weights_, model.means_, model.covariances_, covariance_type=kind
    )
    assert_allclose(again.score_samples(TWO), model.score_samples(TWO), rtol=1e-12)
    assert_allclose(again.precisions_, model.precisions_, rtol=1e-12)
    again.partial_fit(TWO)
    assert again.n_iter_ == 1


@each(
    ("arguments", "message"),
    [
        (([0.5, 0.6], np.zeros((2, 2)), np.ones(2), "spherical"), "weights must be .* sum 1"),
        (([0.5, 0.5], np.zeros((2, 2)), np.ones(3), "spherical"), r"covariances has shape \(3,\)"),
        (
            ([0.5, 0.5], np.zeros((2, 2)), -np.ones(2), "spherical"),
            "covariances: 'spherical covariance' should be positive",
        ),
        (
            ([1.0], np.zeros((1, 2)), [[[1.0, 2.0], [2.0, 1.0]]]),
            "should be symmetric, positive-definite",
        ),
        (
            ([1.0], np.zeros((1, 2)), [[[1.0, 2.0], [0.0, 1.0]]]),
            "should be symmetric, positive-definite",
        ),
        (([1.0], np.zeros(2), np.ones((1, 2)), "diag"), "means has shape"),
        (([1.0], [[np.nan]], np.ones((1, 1)), "diag"), "means contains NaN"),
        (([1.0], [[0.0]], np.ones((1, 1)), "round"), "covariance_type='round'"),
    ],
)
def test_wrong_parameters_of_a_mixture_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GaussianMixture.from_parameters(*arguments)


def test_statistics_of_other_models_are_refused():
    model = GaussianMixture(2, random_state=0).begin(TWO)
    other = GaussianMixture(3, random_state=0).begin(TWO)
    with pytest.raises(ValueError, match="mass of shapes"):
        model.merge(model.partial_statistics(TWO), other.partial_statistics(TWO))
    with pytest.raises(ValueError, match="statistics must come from"):
        model.update(other.partial_statistics(TWO))
    with pytest.raises(ValueError, match="statistics must come from"):
        model.update(None)
    part = model.partial_statistics(TWO)
    with pytest.raises(ValueError, match="statistics have a mass of 0.0"):
        model.update(part._replace(mass=0 * part.mass))


@kinds
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_of_any_scale(kind, dtype):
    X = TWO.astype(dtype)
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    for power in (-900, 900):
        weight = np.full(len(X), 2.0**power)
        other = GaussianMixture(2, covariance_type=kind, random_state=0).fit(
            X, sample_weight=weight
        )
        assert_allclose(other.means_, model.means_, rtol=1e-5, atol=1e-6)
        part = other.partial_statistics(X, None, weight)
        assert_allclose(part.mass.sum(), len(X) * 2.0**power, rtol=1e-5)


@kinds
def test_parameters_set_after_the_fit_change_no_answer(kind):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(TWO)
    expected = model.predict_proba(TWO)
    for other in KINDS:
        model.set_params(covariance_type=other, n_components=5)
        assert_array_equal(model.predict_proba(TWO), expected)
        assert model.sample(5)[0].shape == (5, 2)
    model.partial_fit(TWO)
    assert model.means_.shape == (2, 2) and model.covariance_type_ == kind
    model.means_ = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"means_ of shape \(3, 2\)"):
        model.predict(TWO)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("params", [{}, {"n_init": 3}, {"init_params": "random"}])
def test_no_step_keeps_the_start(params):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = GaussianMixture(3, random_state=0, max_iter=0, **params).fit(X)
    begun = GaussianMixture(3, random_state=0, **params).begin(X)
    order = np.argsort(-begun.weights_, kind="stable")
    assert_array_equal(model.means_, begun.means_[order])
    assert_array_equal(model.covariances_, begun.covariances_[order])
    assert model.n_iter_ == 0 and not model.converged_
    assert_allclose(model.log_likelihood_trace_, [model.score(X)], rtol=1e-13)


@pytest.mark.filterwarnings("error")
def test_no_step_keeps_given_means_and_a_fit_before():
    X = np.random.default_rng(0).normal(size=(60, 2))
    means = [[20.0, 30.0], [30.0, 25.0]]
    model = GaussianMixture(2, random_state=0, max_iter=0, means_init=means).fit(X)
    assert_allclose(model.means_, means, rtol=1e-15)
    fitted = GaussianMixture(2, random_state=0, warm_start=True, tol=1e-2).fit(X)
    before = fitted.means_, fitted.lower_bound_
    fitted.set_params(max_iter=0).fit(X)
    assert_allclose(fitted.means_, before[0], rtol=1e-13)
    assert_allclose(fitted.lower_bound_, before[1], rtol=1e-13)


# ---- far from the origin, in float32, over blocks that change


@kinds
def test_covariances_far_from_the_origin_are_those_near_it(kind):
    """Shifted rows are rounded to 2^-26 (1e8) and 2^-19 (1e10); shifted back, they are exact."""
    X = np.r_[TWO[:60], TWO[60:] + [0.0, 30.0]]  # so far apart that rounded means move no row
    for shift, grain in ((1e8, 2.0**-26), (1e10, 2.0**-19)):
        moved = X + shift
        near = moved - shift
        options = {"covariance_type": kind, "tol": 0, "max_iter": 4}
        starts = np.array([[0.0, 0.0], [6.0, 30.0]])
        one = GaussianMixture(2, means_init=starts, random_state=0, **options).fit(near)
        other = GaussianMixture(2, means_init=starts + shift, random_state=0, **options).fit(moved)
        # Means are rounded to a grain at most, which moves a variance by its square.
        rtol = 1e-11 + 16 * grain**2
        atol = rtol * np.abs(one.covariances_).max()
        assert_allclose(other.covariances_, one.covariances_, rtol=rtol, atol=atol)
        assert_allclose(other.means_ - shift, one.means_, rtol=0, atol=2 * grain)


@kinds
def test_a_float32_fit_knows_its_likelihood_to_float64_and_steps_to_float32(kind):
    rows = np.random.default_rng(0).normal(size=(400, 2))
    rows[::2] += [1.5, 0.0]
    X = (rows + 1e4).astype(np.float32)
    options = {"covariance_type": kind, "random_state": 0, "max_iter": 2000}
    model = GaussianMixture(2, tol=1e-8, **options).fit(X)  # without a warning
    trace = model.log_likelihood_trace_
    # Two features, in coordinates of at most some eight deviations from the origin.
    assert np.diff(trace).min() > -64 * np.finfo(np.float32).eps
    double = X.astype(np.float64)
    again = GaussianMixture.from_parameters(
        model.weights_, model.means_, model.covariances_, covariance_type=kind
    )
    assert_allclose(model.lower_bound_, again.score(double), rtol=1e-13)
    again.set_params(warm_start=True, max_iter=1, tol=0, **{"covariance_type": kind})
    before = again.score(double)
    assert model.converged_ and again.fit(double).score(double) - before < 1e-8


@kinds
def test_what_reg_covar_takes_from_the_likelihood_is_told(kind):
    options = {"covariance_type": kind, "random_state": 0, "max_iter": 30}
    with pytest.warns(ConvergenceWarning, match=r"fell by .* step \d+, .*: reg_covar=2 adds"):
        model = GaussianMixture(2, reg_covar=2.0, tol=1e-9, **options).fit(TWO)
    falls = np.diff(model.log_likelihood_trace_)
    assert falls.min() < -1e-9
    assert_allclose(model.log_likelihood_trace_[-1], model.score(TWO), rtol=1e-12)
    GaussianMixture(2, **options).fit(TWO)  # without a warning


def test_a_start_narrower_than_the_limit_is_told():
    narrow = {"means_init": TWO[[0, 70]], "precisions_init": np.full(2, 1e9)}
    X = TWO[[0, 70]].repeat(3, axis=0) + [[0.0], [0], [1e-6], [0], [0], [1e-6]]
    with pytest.warns(ConvergenceWarning) as told:
        GaussianMixture(2, covariance_type="spherical", **narrow).fit(X)
    assert any("fell by" in str(one.message) and "outside" in str(one.message) for one in told)


@pytest.mark.parametrize("closing", [False, True])
def test_rows_that_change_from_pass_to_pass_are_told(closing):
    model = GaussianMixture(2, random_state=0, tol=1e-9, max_iter=3).begin(TWO)
    model.update(model.partial_statistics(TWO))
    model.update(model.partial_statistics(TWO))
    other = model.partial_statistics(3 * TWO)
    trace = model.log_likelihood_trace_
    with pytest.warns(ConvergenceWarning) as told:
        if closing:
            model.finish(other)
        else:
            model.update(other)
    texts = [str(one.message) for one in told if "fell by" in str(one.message)]
    assert len(texts) == 1 and "in step 2" in texts[0] and "rows have changed" in texts[0]
    expected = other.log_likelihood / other.mass.sum()
    assert_allclose(model.log_likelihood_trace_, [*trace, expected], rtol=1e-12)
    assert model.log_likelihood_trace_[-1] < trace[-1] - 0.5  # shown as it is


def test_fits_to_blocks_may_converge_in_the_finishing_pass():
    options = {"tol": 1e-5, "random_state": 0}
    whole = GaussianMixture(2, **options).fit(TWO)
    model = GaussianMixture(2, max_iter=whole.n_iter_ + 1, **options).begin(TWO)
    while model.needs_another_pass():
        model.update(model.partial_statistics(TWO))
    assert not model.converged_ and model.needs_finishing_pass()
    model.finish(model.partial_statistics(TWO))
    assert model.converged_ and model.n_iter_ == whole.n_iter_
    assert_allclose(model.log_likelihood_trace_, whole.log_likelihood_trace_, rtol=1e-13)
    assert_allclose(model.means_, whole.means_, rtol=1e-12, atol=1e-12)


class Scripted(Components):
    """Two components whose parameters are numbers, each with an objective and a next number."""

    def __init__(self, steps, collapsed=(), restarts=(), bounded=True):
        self.steps, self.collapsed, self.bounded = steps, collapsed, bounded
        self.restarts = iter(restarts)

    def step(self, rows, parameters):
        objective, following = self.steps[parameters]
        return objective, following, np.array([False, following in self.collapsed])

    def restart(self, parameters, collapsed, rows, rng):
        return next(self.restarts, None)

    rows = start = statistics = maximize = reorder = expected = None
    attributes = parameters = posterior = n_parameters = None


def scripted(components):
    return em.EM(components, SimpleNamespace(X=np.zeros((1, 1)), total=1.0), 0.0)


def test_the_largest_fall_is_the_one_reported():
    steps = {i: (value, i + 1) for i, value in enumerate([0.0, -1.0, 3.0, -2.0, -4.0, -3.0])}
    run = em.Run(0)
    scripted(Scripted(steps)).advance(run, 5)
    assert run.trace == [0, -1, 3, -2, -4, -3] and run.fall == (3, 5.0)
    assert run.parameters == 5 and run.following == 6 and run.n_steps == 5


@pytest.mark.parametrize("bounded", [False, True])
def test_what_is_better_among_runs_and_restarts(bounded):
    """Run 0 ends collapsed at 5; 10 ends sound at 4; 20 ends collapsed at 6."""
    steps = {0: (1.0, 1), 1: (5.0, 2), 10: (1.0, 11), 11: (4.0, 12), 20: (1.0, 21), 21: (6.0, 22)}
    components = Scripted(steps, collapsed=(1, 21), restarts=(10, 20), bounded=bounded)
    loop = scripted(components)
    best = loop.best([em.Run(0), em.Run(10), em.Run(20)], 1)
    assert best.parameters == (21 if bounded else 11)
    run = em.Run(0)
    loop.advance(run, 1)
    assert_array_equal(run.collapsed, [1])
    found = loop.restart_collapsed(run, 1, None)
    assert found.parameters == (21 if bounded else 11)
    assert_array_equal(found.restarted, [1])
    assert found.replaced == 5.0
    again = scripted(Scripted(steps, collapsed=(1, 21), restarts=(0,), bounded=bounded))
    assert again.restart_collapsed(run, 1, None) is run  # no better, no change


def test_a_plateau_is_not_the_end():
    """A step that gains little before one that gains more: two equal components drift apart."""
    X = np.r_[np.random.default_rng(0).normal(size=(200, 1)) - 4, np.full((200, 1), 4.0)]
    X[200:] += np.random.default_rng(1).normal(size=(200, 1))
    start = {"weights_init": [0.5, 0.5], "means_init": [[-1e-3], [1e-3]]}
    start |= {"precisions_init": [1 / X.var()] * 2, "covariance_type": "spherical"}
    model = GaussianMixture(2, tol=0, max_iter=60, **start).fit(X)
    gains = np.diff(model.log_likelihood_trace_)
    for tol in np.r_[gains, 2 * gains, 0.5 * gains][:100]:
        if tol > 1e-9:
            fit = GaussianMixture(2, tol=tol, max_iter=60, **start).fit(X)
            step = fit.n_iter_
            assert fit.converged_ and gains[step - 1] < tol and gains[step] < tol
            assert not ((gains[: step - 1] < tol) & (gains[1:step] < tol)).any()
            assert_array_equal(fit.log_likelihood_trace_, model.log_likelihood_trace_[: step + 1])


def test_kmeans_starts_end_on_iris_where_scikit_learns_do():
    X = load_iris().data
    ends = [
        GaussianMixture(3, init_params="kmeans", random_state=seed).fit(X).lower_bound_
        for seed in range(30)
    ]
    peers = [Peer(3, random_state=seed).fit(X).score(X) for seed in range(30)]
    assert min(ends) > max(peers) - 0.005
