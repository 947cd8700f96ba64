"""What is outside a theorem's domain is refused, and the error names argument, value and range."""

import inspect
import math

import numpy as np
import pytest

from mlcore import bounds

NOT_NUMBERS = [True, np.True_, math.nan, "1", None, 1j, [math.nan, 9.0], object()]
WRONG = {
    "count": [*NOT_NUMBERS, math.inf, 10.5, 0, -1, np.float64(0.5)],
    "count or 0": [*NOT_NUMBERS, math.inf, 10.5, -1],
    "positive": [*NOT_NUMBERS, math.inf, 0.0, -1.0, 10**400],
    "not negative": [*NOT_NUMBERS, math.inf, -1e-300],
    "entropy": [*NOT_NUMBERS, -1e-300, -math.inf],
    "rate": [*NOT_NUMBERS, math.inf, -1e-300, 1.0000001, 2],
    "open": [*NOT_NUMBERS, math.inf, 0, 0.0, 1, 1.0, -0.5],
    "flag": [0, 1, None, "True"],
    "choice": ["none of them", None, 1, True],
    "table": [
        "01",
        None,
        3,
        [0, 1],
        [],
        [[]],
        [[0, 2]],
        [[-1, 0]],
        [[0.5]],
        [[math.nan]],
        [[1j]],
        [[0], [0, 1]],
        [["a"]],
        [[None]],
    ],
}
WRONG["list"] = ["01", None, 3, [], [[0.5]], [math.nan], [2.0], [-1.5], [True], ["a"], [1j]]
WRONG["delta"] = WRONG["open"]


class Always:
    """A classifier of one label."""

    def predict(self, X):
        return np.ones(len(X))


# For every function: arguments inside its domain, and the kind of each that is tried outside.
CALLS = {
    "massart_bound": ({"n_vectors": 9, "m": 9}, "count, count"),
    "kernel_rademacher_bound": (
        {"trace": 1.0, "m": 9, "norm": 1.0},
        "not negative, count, positive",
    ),
    "linear_l1_rademacher_bound": (
        {"x_inf": 1.0, "m": 9, "norm1": 1.0, "n_features": 9},
        "positive, count, positive, count",
    ),
    "rademacher_error_bound": (
        {"risk": 0.1, "rademacher": 0.1, "m": 9, "delta": 0.1, "empirical": True},
        "rate, not negative, count, delta, flag",
    ),
    "stability_bound": (
        {"risk": 0.1, "beta": 0.1, "m": 9, "delta": 0.1, "loss_bound": 1.0},
        "not negative, not negative, count, delta, positive",
    ),
    "halving_mistake_bound": ({"n": 9}, "count"),
    "weighted_majority_mistake_bound": (
        {"n_experts": 9, "best_mistakes": 9, "beta": 0.5, "randomized": False},
        "count, count or 0, open, flag",
    ),
    "perceptron_mistake_bound": (
        {"radius": 1.0, "w_norm": 1.0, "hinge_loss": 1.0, "tight": True},
        "positive, positive, not negative, flag",
    ),
    "winnow_mistake_bound": ({"k": 3, "n": 9}, "count, count"),
    "hedge_regret_bound": ({"n_experts": 9, "T": 9, "form": "uml"}, "count, count, choice"),
    "littlestone_regret_bound": ({"ldim": 3, "T": 9}, "count or 0, count"),
    "ogd_regret_bound": (
        {"norm": 1.0, "lipschitz": 1.0, "T": 9, "schedule": "fixed"},
        "positive, positive, count, choice",
    ),
    "projected_ogd_regret_bound": (
        {"diameter": 1.0, "lipschitz": 1.0, "T": 9, "strong_convexity": 1.0},
        "positive, positive, count, not negative",
    ),
    "doubling_trick_regret": ({"alpha": 1.0, "T": 9}, "positive, count"),
    "online_to_batch_expected": ({"mistakes": 3, "T": 9}, "count or 0, count"),
    "online_to_batch_bound": (
        {"mistakes": 3, "T": 9, "delta": 0.1, "method": "kl"},
        "count or 0, count, delta, choice",
    ),
    "margin_vc_dimension": ({"radius": 1.0, "margin": 1.0}, "positive, positive"),
    "rademacher_margin_bound": (
        {
            "margin_error": 0.1,
            "m": 9,
            "delta": 0.1,
            "rho": 1.0,
            "radius": 1.0,
            "w_norm": 1.0,
            "uniform": False,
        },
        "rate, count, delta, positive, positive, positive, flag",
    ),
    "pac_bayes_margin_bound": (
        {"margins": [0.5], "delta": 0.1, "gibbs": False},
        "list, delta, flag",
    ),
    "fat_shattering_margin_bound": (
        {"m": 9, "radius": 1.0, "margin": 1.0, "delta": 0.1, "margin_error": 0.1},
        "count, positive, positive, delta, rate",
    ),
    "boosting_margin_bound": (
        {"margin_error": 0.1, "m": 9, "delta": 0.1, "d": 3, "rho": 0.5},
        "rate, count, delta, count, positive",
    ),
    "support_vector_loo_bound": ({"n_sv": 3, "m": 9}, "count or 0, count"),
    "radius_margin_loo_bound": (
        {"radius": 1.0, "margin": 1.0, "m": 9},
        "positive, positive, count",
    ),
    "sample_compression_bound": (
        {"m": 9, "k": 3, "delta": 0.1, "errors": 1, "log_messages": 1.0, "method": "binomial"},
        "count, count or 0, delta, count or 0, not negative, choice",
    ),
    "maurer_xi": ({"m": 9}, "count"),
    "pac_bayes_kl_bound": (
        {"risk": 0.1, "kl": 1.0, "m": 9, "delta": 0.1, "xi": "exact"},
        "rate, entropy, count, delta, choice",
    ),
    "pac_bayes_mcallester_bound": (
        {"risk": 0.1, "kl": 1.0, "m": 9, "delta": 0.1},
        "rate, entropy, count, delta",
    ),
    "pac_bayes_quadratic_bound": (
        {"risk": 0.1, "kl": 1.0, "m": 9, "delta": 0.1, "mc_draws": 9, "mc_delta": 0.1},
        "rate, entropy, count, delta, count, delta",
    ),
    "pac_bayes_lambda_bound": (
        {"risk": 0.1, "kl": 1.0, "m": 9, "delta": 0.1, "lam": 0.5},
        "rate, entropy, count, delta, positive",
    ),
    "pac_bayes_catoni_bound": (
        {"risk": 0.1, "kl": 1.0, "m": 9, "delta": 0.1, "C": 0.5},
        "rate, entropy, count, delta, positive",
    ),
    "gaussian_kl": (
        {"sigma_q": 1.0, "sigma_p": 1.0, "mu_q": 0.0, "mu_p": 0.0},
        "positive, positive",
    ),
    "categorical_kl": ({"q": [0.5, 0.5], "p": [0.5, 0.5]}, "list, list"),
    "dichotomies": ({"H": [[0, 1]], "subset": [0]}, "table"),
    "shatters": ({"H": [[0, 1]], "subset": [0]}, "table"),
    "vc_dimension": ({"H": [[0, 1]], "return_set": True, "max_size": 9}, "table, flag"),
    "dual_vc_dimension": ({"H": [[0, 1]]}, "table"),
    "growth_function": ({"H": [[0, 1]], "m": 1}, "table, count"),
    "littlestone_dimension": ({"H": [[0, 1]]}, "table"),
    "worst_case_mistakes": ({"H": [[0, 1]], "algorithm": "soa"}, "table, choice"),
    "teaching_dimension": ({"H": [[0, 1]]}, "table"),
}
CALLS["certify"] = (
    {
        "delta": 0.1,
        "role": "validation",
        "n_candidates": 2,
        "simultaneous": True,
        "vc_dimension": 2,
        "n_hypotheses": 9,
        "target": 0.5,
        "estimator": Always(),
        "X": [[0.0]] * 9,
        "y": [1] * 9,
    },
    "delta, choice, count, flag, count, count, open",
)
CASES = [
    (name, argument, kind)
    for name, (given, kinds) in CALLS.items()
    for argument, kind in zip(given, kinds.split(", "), strict=False)
]


@pytest.mark.parametrize(("name", "argument", "kind"), CASES)
def test_every_argument_outside_its_domain_is_named(name, argument, kind):
    function, given = getattr(bounds, name), CALLS[name][0]
    function(**given)
    optional = inspect.signature(function).parameters[argument].default is None
    for wrong in WRONG[kind]:
        if wrong is None and optional or (name == "gaussian_kl" and isinstance(wrong, list)):
            continue
        with pytest.raises(ValueError, match=argument):
            function(**(given | {argument: wrong}))


def test_numpy_numbers_and_whole_floats_are_taken():
    plain = bounds.pac_bayes_kl_bound(0.1, 10.0, 1000, 0.05)
    for m in (1000.0, np.int32(1000), np.float64(1000)):
        assert bounds.pac_bayes_kl_bound(np.float64(0.1), np.int64(10), m, 0.05) == plain


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: bounds.perceptron_mistake_bound(1.0), "w_norm=None"),
        (lambda: bounds.perceptron_mistake_bound(1.0, margin=1.0, w_norm=1.0), "w_norm=1.0"),
        (lambda: bounds.winnow_mistake_bound(10, 9), "k=10.*<= 9"),
        (lambda: bounds.online_to_batch_bound(10, 9, 0.1), "mistakes=10.*<= 9"),
        (lambda: bounds.support_vector_loo_bound(10, 9), "n_sv=10"),
        (lambda: bounds.stability_bound(1.5, 0.1, 9, 0.1), "risk=1.5.*loss_bound"),
        (lambda: bounds.fat_shattering_margin_bound(9, 1.0, 1.0, 0.5), "delta=0.5"),
        (lambda: bounds.pac_bayes_lambda_bound(0.1, 1.0, 9, 0.1, 2.0), "lam=2.0"),
        (lambda: bounds.pac_bayes_catoni_bound(0.1, 1.0, 9, 0.1), "C=None"),
        (lambda: bounds.pac_bayes_catoni_bound(0.1, 1.0, 9, 0.1, 1.0, C_grid=[1.0]), "C=1.0"),
        (lambda: bounds.pac_bayes_catoni_bound(0.1, 1.0, 9, 0.1, C_grid=[]), "C_grid"),
        (lambda: bounds.pac_bayes_catoni_bound(0.1, 1.0, 9, 0.1, C_grid=[1.0, 0.0]), "C_grid"),
        (lambda: bounds.rademacher_margin_bound(0.1, 9, 0.1, rho=1.0), "radius=None"),
        (
            lambda: bounds.rademacher_margin_bound(0.1, 9, 0.1, radius=1.0, rho=1.0, uniform=True),
            "rho_max=None",
        ),
        (
            lambda: bounds.rademacher_margin_bound(0.1, 9, 0.1, radius=1.0, rho=1.0, rho_max=2.0),
            "rho_max=2.0",
        ),
        (
            lambda: bounds.rademacher_margin_bound(
                0.1, 9, 0.1, radius=1.0, rho=3.0, rho_max=2.0, uniform=True
            ),
            "rho=3.0",
        ),
        (
            lambda: bounds.rademacher_margin_bound(
                0.1, 9, 0.1, radius=1.0, rho=1.0, rho_max=2.0, uniform=True, trace=1.0
            ),
            "trace=1.0",
        ),
        (lambda: bounds.gaussian_kl([0.0, 1.0], [1.0, 1.0, 1.0], 0.0, 1.0), "mu_q"),
        (lambda: bounds.categorical_kl([0.5, 0.6], [0.5, 0.5]), "q="),
        (lambda: bounds.categorical_kl([0.5, 0.5], [1.0]), "p="),
        (lambda: bounds.growth_function([[0, 1]], 3), "m=3"),
        (lambda: bounds.dichotomies([[0, 1]], [2]), "subset"),
        (lambda: bounds.shatters([[0, 1]], [-1]), "subset"),
        (lambda: bounds.shatters([[0, 1]], [0.5]), "subset"),
        (lambda: bounds.vc_dimension([[0, 1]], max_size=0), "max_size=0"),
    ],
)
def test_combinations_that_are_no_theorem_are_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
