"""Formulas against fifty digits: right to the last float, and that one on the safe side."""

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import e, floor, log, mpf, sqrt
from numpy.testing import assert_allclose

from mlcore import bounds

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -0.01).map(lambda x: 10.0**x)
DELTA_BELOW_HALF = st.floats(-300, -0.31).map(lambda x: 10.0**x)
SIZE = st.floats(0, 18).map(lambda x: int(10**x))
POSITIVE = st.floats(-9, 9).map(lambda x: 10.0**x)
RATE = st.one_of(st.just(0.0), st.floats(-9, 0).map(lambda x: 10.0**x))
SOME = st.one_of(st.just(0.0), POSITIVE)
FEW = st.integers(0, 10**6)
OPEN = st.floats(1e-9, 1 - 1e-9)


def clipped(value):
    return min(mpf(1), value)


def doubling():
    return sqrt(2) / (sqrt(2) - 1)


def two_sided(delta, m):
    return sqrt(log(2 / delta) / (2 * m))


def one_sided(delta, m):
    return sqrt(log(1 / delta) / (2 * m))


def fat_shattering(m, radius, margin, delta, margin_error):
    kappa = floor(256 * (radius / margin) ** 2 * (1 + mpf(10) ** -12))
    if kappa > 34 * m:
        return mpf(1)
    covering = kappa * log(34 * e * m / kappa) * log(578 * m, 2) if kappa else 0
    return clipped(margin_error + sqrt(2 / m * (covering + log(4 / delta))))


def uniform_margin(margin_error, m, delta, radius, rho, w_norm, share):
    choice = sqrt(log(log(2 / share, 2)) / m)
    complexity = 4 * radius * w_norm / (rho * share * sqrt(m))
    return clipped(margin_error + complexity + choice + two_sided(delta, m))


FORMULAS = {  # name: (arguments, formula, function)
    "massart": (
        {"n_vectors": SIZE, "m": SIZE, "radius": POSITIVE},
        lambda n_vectors, m, radius: radius * sqrt(2 * log(n_vectors)) / m,
        bounds.massart_bound,
    ),
    "massart, signs": (
        {"n_vectors": SIZE, "m": SIZE},
        lambda n_vectors, m: sqrt(2 * log(n_vectors) / m),
        bounds.massart_bound,
    ),
    "kernel": (
        {"trace": SOME, "m": SIZE, "norm": POSITIVE},
        lambda trace, m, norm: norm * sqrt(trace) / m,
        bounds.kernel_rademacher_bound,
    ),
    "l1": (
        {"x_inf": POSITIVE, "m": SIZE, "norm1": POSITIVE, "n_features": SIZE},
        lambda x_inf, m, norm1, n_features: norm1 * x_inf * sqrt(2 * log(2 * n_features) / m),
        bounds.linear_l1_rademacher_bound,
    ),
    "error, sample": (
        {"risk": RATE, "rademacher": SOME, "m": SIZE, "delta": DELTA},
        lambda risk, rademacher, m, delta: clipped(risk + rademacher + 3 * two_sided(delta, m)),
        bounds.rademacher_error_bound,
    ),
    "error, expectation": (
        {"risk": RATE, "rademacher": SOME, "m": SIZE, "delta": DELTA},
        lambda risk, rademacher, m, delta: clipped(risk + rademacher + one_sided(delta, m)),
        lambda **given: bounds.rademacher_error_bound(**given, empirical=False),
    ),
    "stability": (
        {"risk": RATE, "beta": SOME, "m": SIZE, "delta": DELTA, "value_range": st.floats(1, 9)},
        lambda risk, beta, m, delta, value_range: min(
            value_range, risk + beta + (2 * m * beta + value_range) * one_sided(delta, m)
        ),
        bounds.stability_bound,
    ),
    "weighted majority": (
        {"n_experts": SIZE, "best_mistakes": FEW, "beta": OPEN},
        lambda n_experts, best_mistakes, beta: (
            (log(n_experts) + best_mistakes * log(1 / beta)) / log(2 / (1 + beta))
        ),
        bounds.weighted_majority_mistake_bound,
    ),
    "weighted majority, drawn": (
        {"n_experts": SIZE, "best_mistakes": FEW, "beta": OPEN},
        lambda n_experts, best_mistakes, beta: (
            (log(n_experts) + best_mistakes * log(1 / beta)) / (1 - beta)
        ),
        lambda **given: bounds.weighted_majority_mistake_bound(**given, randomized=True),
    ),
    "perceptron, margin": (
        {"radius": POSITIVE, "margin": POSITIVE, "hinge_loss": SOME},
        lambda radius, margin, hinge_loss: (
            ((radius / margin + sqrt((radius / margin) ** 2 + 4 * hinge_loss)) / 2) ** 2
        ),
        bounds.perceptron_mistake_bound,
    ),
    "perceptron, norm": (
        {"radius": POSITIVE, "w_norm": POSITIVE, "hinge_loss": SOME},
        lambda radius, w_norm, hinge_loss: (
            hinge_loss + radius * w_norm * sqrt(hinge_loss) + (radius * w_norm) ** 2
        ),
        lambda **given: bounds.perceptron_mistake_bound(**given, tight=False),
    ),
    "winnow": (
        {"n": st.integers(9, 10**18), "n_relevant": st.integers(1, 9)},
        lambda n, n_relevant: 2 + 3 * n_relevant * (1 + log(n, 2)),
        bounds.winnow_mistake_bound,
    ),
    "hedge": (
        {"n_experts": SIZE, "T": SIZE},
        lambda n_experts, T: sqrt(T * log(n_experts) / 2),
        bounds.hedge_regret_bound,
    ),
    "hedge, uml": (
        {"n_experts": SIZE, "T": SIZE},
        lambda n_experts, T: sqrt(2 * T * log(n_experts)),
        lambda **given: bounds.hedge_regret_bound(**given, form="uml"),
    ),
    "littlestone": (
        {"ldim": FEW, "T": SIZE},
        lambda ldim, T: sqrt(2 * T * ldim * log(e * T)),
        bounds.littlestone_regret_bound,
    ),
    "littlestone, finite": (
        {"ldim": FEW, "T": SIZE, "n_hypotheses": SIZE},
        lambda ldim, T, n_hypotheses: sqrt(2 * T * min(log(n_hypotheses), ldim * log(e * T))),
        bounds.littlestone_regret_bound,
    ),
    "gradient": (
        {"norm": POSITIVE, "lipschitz": POSITIVE, "T": SIZE},
        lambda norm, lipschitz, T: norm * lipschitz * sqrt(T),
        bounds.ogd_regret_bound,
    ),
    "gradient, doubling": (
        {"norm": POSITIVE, "lipschitz": POSITIVE, "T": SIZE},
        lambda norm, lipschitz, T: norm * lipschitz * sqrt(T) * doubling(),
        lambda **given: bounds.ogd_regret_bound(**given, schedule="doubling"),
    ),
    "projected gradient": (
        {"diameter": POSITIVE, "lipschitz": POSITIVE, "T": SIZE},
        lambda diameter, lipschitz, T: 3 * diameter * lipschitz * sqrt(T) / 2,
        bounds.projected_ogd_regret_bound,
    ),
    "projected gradient, strongly convex": (
        {"diameter": POSITIVE, "lipschitz": POSITIVE, "T": SIZE, "strong_convexity": POSITIVE},
        lambda diameter, lipschitz, T, strong_convexity: (
            lipschitz**2 / (2 * strong_convexity) * (1 + log(T))
        ),
        bounds.projected_ogd_regret_bound,
    ),
    "doubling": (
        {"alpha": POSITIVE, "T": SIZE},
        lambda alpha, T: alpha * sqrt(T) * doubling(),
        bounds.doubling_trick_regret,
    ),
    "azuma": (
        {"mistakes": FEW, "T": st.integers(10**6, 10**18), "delta": DELTA},
        lambda mistakes, T, delta: clipped(mistakes / T + one_sided(delta, T)),
        bounds.online_to_batch_bound,
    ),
    "select": (
        {"mistakes": FEW, "T": st.integers(10**6, 10**18), "delta": DELTA},
        lambda mistakes, T, delta: clipped(
            mistakes / T + two_sided(delta, T) + 2 * sqrt(2 * log(4 * T / delta) / T)
        ),
        lambda **given: bounds.online_to_batch_bound(**given, method="select"),
    ),
    "expectation": (
        {"mistakes": FEW, "T": st.integers(10**6, 10**18)},
        lambda mistakes, T: mistakes / T,
        bounds.online_to_batch_expected,
    ),
    "margin": (
        {
            "margin_error": RATE,
            "m": SIZE,
            "delta": DELTA,
            "radius": POSITIVE,
            "rho": POSITIVE,
            "w_norm": POSITIVE,
        },
        lambda margin_error, m, delta, radius, rho, w_norm: clipped(
            margin_error + 2 * radius * w_norm / (rho * sqrt(m)) + one_sided(delta, m)
        ),
        bounds.rademacher_margin_bound,
    ),
    "margin, trace": (
        {"margin_error": RATE, "m": SIZE, "delta": DELTA, "trace": SOME, "rho": POSITIVE},
        lambda margin_error, m, delta, trace, rho: clipped(
            margin_error + 2 * sqrt(trace) / (rho * m) + 3 * two_sided(delta, m)
        ),
        bounds.rademacher_margin_bound,
    ),
    "margin, uniform": (
        {
            "margin_error": RATE,
            "m": SIZE,
            "delta": DELTA,
            "radius": POSITIVE,
            "rho": POSITIVE,
            "w_norm": POSITIVE,
            "share": st.integers(0, 60).map(lambda x: 2.0**-x),
        },
        uniform_margin,
        lambda share, rho, **given: bounds.rademacher_margin_bound(
            **given, rho=rho * share, rho_max=rho, uniform=True
        ),
    ),
    "fat shattering": (
        {
            "m": SIZE,
            "radius": POSITIVE,
            "margin": POSITIVE,
            "delta": DELTA_BELOW_HALF,
            "margin_error": RATE,
        },
        fat_shattering,
        bounds.fat_shattering_margin_bound,
    ),
    "boosting": (
        {"margin_error": RATE, "m": SIZE, "delta": DELTA, "vc_dimension": SIZE, "rho": POSITIVE},
        lambda margin_error, m, delta, vc_dimension, rho: (
            mpf(1)
            if m < vc_dimension
            else clipped(
                margin_error
                + 2 / rho * sqrt(2 * vc_dimension * log(e * m / vc_dimension) / m)
                + one_sided(delta, m)
            )
        ),
        bounds.boosting_margin_bound,
    ),
    "radius and margin": (
        {"radius": POSITIVE, "margin": POSITIVE, "m": SIZE},
        lambda radius, margin, m: clipped((radius / margin) ** 2 / m),
        bounds.radius_margin_loo_bound,
    ),
    "support vectors": (
        {"n_sv": FEW, "m": st.integers(10**6, 10**18)},
        lambda n_sv, m: n_sv / m,
        bounds.support_vector_loo_bound,
    ),
    "mcallester": (
        {"risk": RATE, "kl": SOME, "m": SIZE, "delta": DELTA},
        lambda risk, kl, m, delta: clipped(risk + sqrt((kl + log(2 * sqrt(m) / delta)) / (2 * m))),
        bounds.pac_bayes_mcallester_bound,
    ),
    "quadratic": (
        {"risk": RATE, "kl": SOME, "m": SIZE, "delta": DELTA},
        lambda risk, kl, m, delta: clipped(
            (
                sqrt(risk + (kl + log(2 * sqrt(m) / delta)) / (2 * m))
                + sqrt((kl + log(2 * sqrt(m) / delta)) / (2 * m))
            )
            ** 2
        ),
        bounds.pac_bayes_quadratic_bound,
    ),
    "lambda": (
        {"risk": RATE, "kl": SOME, "m": SIZE, "delta": DELTA, "lam": st.floats(1e-9, 1.999999)},
        lambda risk, kl, m, delta, lam: clipped(
            risk / (1 - lam / 2) + (kl + log(2 * sqrt(m) / delta)) / (m * lam * (1 - lam / 2))
        ),
        bounds.pac_bayes_lambda_bound,
    ),
    "catoni": (
        {"risk": RATE, "kl": SOME, "m": SIZE, "delta": DELTA, "C": st.floats(1e-9, 99)},
        lambda risk, kl, m, delta, C: clipped(
            (1 - mpmath.exp(-C * risk - (kl + log(1 / delta)) / m)) / (1 - mpmath.exp(-C))
        ),
        bounds.pac_bayes_catoni_bound,
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
@settings(max_examples=15)
@given(st.data())
def test_formulas_are_right_to_the_last_float_which_is_above(name, data):
    arguments, formula, function = FORMULAS[name]
    given = {argument: data.draw(values, argument) for argument, values in arguments.items()}
    found = function(**given)
    assert type(found) is float
    with mpmath.workdps(70):
        exact = formula(**{argument: mpf(value) for argument, value in given.items()})
        assert exact <= found * (1 + mpf(10) ** -38)
        assert found <= exact * (1 + mpf(2) ** -51) or found < 1e-300


def test_values_of_the_literature():
    expected = {
        bounds.rademacher_margin_bound(0.0, 10000, 0.05, radius=1.0, rho=0.5): 0.0522387341534041,
        bounds.pac_bayes_kl_bound(0.1, 10.0, 1000, 0.05): 0.164476177836317,
        bounds.pac_bayes_mcallester_bound(0.1, 10.0, 1000, 0.05): 0.192581739813003,
        bounds.pac_bayes_quadratic_bound(0.1, 10.0, 1000, 0.05): 0.178154440724622,
        bounds.pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.05, C=1.0): 0.169027136771447,
        bounds.pac_bayes_lambda_bound(0.1, 10.0, 1000, 0.05, lam=0.5): 0.179047352249613,
        bounds.pac_bayes_margin_bound([0.5] * 1000, 0.05, mu=3.0, gibbs=True): 0.1116413975253,
        bounds.sample_compression_bound(10, 1000, 0.05): 0.0624416162353685,
        bounds.sample_compression_bound(10, 1000, 0.05, k=3): 0.0730980459658174,
        bounds.weighted_majority_mistake_bound(16, 10, 0.5): 33.7318917551449,
        bounds.hedge_regret_bound(16, 1000): 37.2329741105903,
        bounds.perceptron_mistake_bound(
            1.0, w_norm=10.0, hinge_loss=5.0, tight=False
        ): 127.360679774998,
        bounds.perceptron_mistake_bound(1.0, w_norm=10.0, hinge_loss=5.0): 109.772255750517,
        bounds.ogd_regret_bound(1.0, 1.0, 100, schedule="doubling"): 34.142135623731,
        bounds.online_to_batch_bound(10, 1000, 0.05, method="azuma"): 0.0487022756020495,
    }
    assert_allclose(list(expected), list(expected.values()), rtol=1e-13)
    assert round(bounds.maurer_xi(10), 15) == 4.66021568


def test_integers_stay_exact_at_any_size():
    assert bounds.halving_mistake_bound(2**5000) == 5000
    assert bounds.halving_mistake_bound(2**5000 - 1) == 4999
    assert bounds.margin_vc_dimension(1.0, 0.1) == 101
    assert bounds.margin_vc_dimension(1.0, 0.1, n_features=20) == 21
    assert bounds.margin_vc_dimension(1e200, 1e-200) > 10**799
    assert bounds.margin_vc_dimension(1.0, 2.0) == 1
    assert bounds.hedge_regret_bound(2, 10**400) == pytest.approx(0.5887050112577373e200)
    assert bounds.perceptron_mistake_bound(2.0, margin=0.5) == 16.0
    assert bounds.online_to_batch_bound(0, 10**400, 1e-300) < 1e-190
