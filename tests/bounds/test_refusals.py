"""Every bound refuses what its theorem does not speak of, by argument, value and range."""

import inspect
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from each import each

from mlcore import bounds
from mlcore.bounds import binomial_tail_inversion, hoeffding_epsilon, kl_inverse_upper

NO_NUMBERS = [True, np.True_, math.nan, "0.5", None, 1j, {}, object(), [math.nan, 9.0]]
COUNT = [*NO_NUMBERS, 10.5, math.inf, -1, np.float64(2.5), [3, 2.5]]
OPEN = [*NO_NUMBERS, 0, 1, 0.0, 1.0, -0.1, 2, math.inf, [0.5, 1]]
RATE = [*NO_NUMBERS, -1e-300, 1.0000001, 2, math.inf, [0.5, 1.5]]
# Values that an argument of each kind must not have; None where the default is None is no fault.
BAD = {
    "above": [*NO_NUMBERS, -1, -2, math.inf],
    "choice": ["", "Exact", "none of them", 1, None, True],
    "count": COUNT,
    "positive count": [*COUNT, 0],
    "counts": [*COUNT, [3.5], [True], [[1], [2, 3]], ["3"], [-1]],
    "delta": OPEN,
    "deltas": [*OPEN, [0.5, math.nan], [True]],
    "failures": [0.5, None, "0.5", [0.5, 1.0], [0.5, math.nan], [True]],
    "flag": [0, 1, "yes", "True", None],
    "fraction": OPEN,
    "list": ["01", None, 3, [], [[0.5]], [math.nan], [2.0], [-1.5], [True], ["a"], [1j]],
    "nats": [*NO_NUMBERS, -1e-300, -math.inf, [0.1, -0.1]],
    "negative": [*NO_NUMBERS, 1e-300, -math.inf],
    "nonnegative": [*NO_NUMBERS, -1e-300, math.inf],
    "positive": [*NO_NUMBERS, 0, 0.0, -1.0, math.inf, 10**400],
    "rate": RATE,
    "rates": RATE,
    "sequence": [*NO_NUMBERS, [], [0.1, -0.1], [True], [math.inf], [[1.0, 2.0]]],
    "table": ["01", None, 3, [0, 1], [], [[]], [[0, 2]], [[-1, 0]], [[0.5]], [[math.nan]], [[1j]],
              [[0], [0, 1]], [["a"]], [[None]]],
}  # fmt: skip


class Always:
    """A classifier of one label."""

    def predict(self, X):
        return np.ones(len(X))


# For every function a call that is fine, each argument with the kind of its values.
SEARCH = SimpleNamespace(
    cv_results_={"split0_test_score": np.array([0.5]), "mean_test_score": np.array([0.5])},
    best_index_=0,
)
CALLS = {
    "auc_interval": {"positive_scores": ([0.5, 1.0], None), "negative_scores": ([0.5], None),
        "delta": (0.1, "delta")},
    "bennett_delta": {"epsilon": (0.1, "positive"), "m": (9, "count"),
        "variance": (0.1, "nonnegative"), "value_range": (1, "positive")},
    "bernoulli_confidence_sequence": {"k": (3, "count"), "m": (9, "count"),
        "delta": (0.1, "delta")},
    "bernstein_delta": {"epsilon": (0.1, "positive"), "m": (9, "count"),
        "variance": (0.1, "nonnegative"), "value_range": (1, "positive")},
    "bernstein_epsilon": {"m": (9, "count"), "delta": (0.1, "delta"),
        "variance": (0.1, "nonnegative"), "value_range": (1, "positive"), "two_sided": (True,
        "flag")},
    "bernstein_sample_size": {"epsilon": (0.1, "positive"), "delta": (0.1, "delta"),
        "variance": (0.1, "nonnegative"), "value_range": (1, "positive")},
    "binomial_tail": {"k": (3, "count"), "m": (9, "count"), "p": (0.1, "rate")},
    "binomial_tail_inversion": {"k": (3, "counts"), "m": (9, "counts"), "delta": (0.1, "deltas")},
    "binomial_tail_inversion_lower": {"k": (3, "counts"), "m": (9, "counts"),
        "delta": (0.1, "deltas")},
    "boosting_margin_bound": {"margin_error": (0.1, "rate"), "m": (9, "positive count"),
        "delta": (0.1, "delta"), "vc_dimension": (3, "positive count"), "rho": (0.5, "positive")},
    "categorical_kl": {"q": ([0.5, 0.5], "list"), "p": ([0.5, 0.5], "list")},
    "chernoff_delta": {"t": (0.5, "positive"), "mu": (3.0, "positive"), "tail": ("lower", "choice"),
        "form": ("exact", "choice")},
    "chernoff_deviation": {"mu": (3.0, "positive"), "delta": (0.1, "delta"),
        "tail": ("lower", "choice"), "form": ("simple", "choice")},
    "clopper_pearson": {"k": (3, "counts"), "m": (9, "counts"), "delta": (0.1, "deltas")},
    "conjunction_sample_size": {"n_variables": (3, "count"), "epsilon": (0.1, "fraction"),
        "delta": (0.1, "delta")},
    "dichotomies": {"H": ([[0, 1]], "table"), "subset": ([0], None)},
    "dkw_epsilon": {"m": (9, "count"), "delta": (0.1, "delta")},
    "double_sampling_delta": {"m": (9, "count"), "vc_dimension": (3, "count"), "epsilon": (0.1,
        "fraction")},
    "doubling_trick_regret": {"alpha": (1.0, "positive"), "T": (9, "positive count")},
    "dual_vc_dimension": {"H": ([[0, 1]], "table")},
    "empirical_bernstein_epsilon": {"m": (9, "count"), "delta": (0.1, "delta"),
        "sample_variance": (0.1, "nonnegative"), "value_range": (1, "positive")},
    "error_difference_interval": {"b": (1, "count"), "c": (2, "count"), "m": (9, "positive count"),
        "delta": (0.1, "delta")},
    "f1_interval": {"true_positives": (3, "counts"), "false_positives": (2, "counts"),
        "false_negatives": (1, "counts"), "delta": (0.1, "deltas")},
    "fat_shattering_margin_bound": {"m": (9, "positive count"), "radius": (1.0, "positive"),
        "margin": (1.0, "positive"), "delta": (0.1, "delta"), "margin_error": (0.1, "rate")},
    "finite_class_delta": {"n_hypotheses": (9, "count"), "epsilon": (0.1, "fraction"),
        "m": (9, "count"), "setting": ("realizable", "choice"), "tight": (False, "flag")},
    "finite_class_epsilon": {"n_hypotheses": (9, "count"), "m": (9, "count"),
        "delta": (0.1, "delta"), "setting": ("uniform", "choice"), "tight": (False, "flag")},
    "finite_class_sample_size": {"n_hypotheses": (9, "count"), "epsilon": (0.1, "positive"),
        "delta": (0.1, "delta"), "setting": ("agnostic", "choice"), "tight": (False, "flag")},
    "gaussian_kl": {"sigma_q": (1.0, "positive"), "sigma_p": (1.0, "positive"), "mu_q": (0.0, None),
        "mu_p": (0.0, None)},
    "growth_function": {"H": ([[0, 1]], "table"), "m": (1, "positive count")},
    "halving_mistake_bound": {"n": (9, "positive count")},
    "hedge_regret_bound": {"n_experts": (9, "positive count"), "T": (9, "positive count"),
        "form": ("uml", "choice")},
    "hoeffding_bentkus_bound": {"mean_loss": (0.1, "rate"), "m": (9, "count"),
        "delta": (0.1, "delta")},
    "hoeffding_delta": {"epsilon": (0.1, "positive"), "m": (9, "count"),
        "value_range": (1, "positive"), "two_sided": (True, "flag")},
    "hoeffding_epsilon": {"m": (9, "counts"), "delta": (0.1, "deltas"),
        "value_range": (1, "positive"), "two_sided": (True, "flag")},
    "hoeffding_sample_size": {"epsilon": (0.1, "positive"), "delta": (0.1, "delta"),
        "value_range": (1, "positive"), "two_sided": (True, "flag")},
    "jaakkola_haussler_loo_bound": {"alpha": ([0.5, 1.0], "sequence"),
        "k_diag": ([1.0, 1.0], "sequence"), "y_f": ([0.5, 1.0], None)},
    "jaccard_interval": {"true_positives": (3, "counts"), "false_positives": (2, "counts"),
        "false_negatives": (1, "counts"), "delta": (0.1, "deltas")},
    "kernel_rademacher_bound": {"trace": (1.0, "nonnegative"), "m": (9, "positive count"),
        "norm": (1.0, "positive")},
    "kl_bernoulli": {"q": (0.1, "rates"), "p": (0.2, "rates")},
    "kl_inverse_lower": {"q": (0.1, "rates"), "c": (0.2, "nats")},
    "kl_inverse_upper": {"q": (0.1, "rates"), "c": (0.2, "nats")},
    "known_vc_dimension": {"name": ("halfspaces", "choice"), "n": (3, "count")},
    "linear_l1_rademacher_bound": {"x_inf": (1.0, "positive"), "m": (9, "positive count"),
        "norm1": (1.0, "positive"), "n_features": (9, "positive count")},
    "littlestone_dimension": {"H": ([[0, 1]], "table")},
    "littlestone_regret_bound": {"ldim": (3, "count"), "T": (9, "positive count")},
    "log_binomial_tail": {"k": (3, "count"), "m": (9, "count"), "p": (0.1, "rate")},
    "log_class_size": {"name": ("bits", "choice"), "b": (3, "count")},
    "log_sauer_bound": {"m": (9, "count"), "vc_dimension": (3, "count"), "method": ("poly",
        "choice")},
    "margin_vc_dimension": {"radius": (1.0, "positive"), "margin": (1.0, "positive")},
    "massart_bound": {"n_vectors": (9, "positive count"), "m": (9, "positive count")},
    "maurer_xi": {"m": (9, "positive count")},
    "mcdiarmid_epsilon": {"c": ([1.0, 2.0], "sequence"), "delta": (0.1, "delta")},
    "mcnemar_test": {"b": (3, "count"), "c": (2, "count")},
    "mean_loss_interval": {"losses": ([0.5, 1.0], "list"), "delta": (0.1, "delta"),
        "value_range": (1.0, "positive")},
    "occam_bound": {"k": (3, "count"), "m": (9, "count"), "delta": (0.1, "delta"),
        "log_prior": (-3.0, "negative")},
    "ogd_regret_bound": {"norm": (1.0, "positive"), "lipschitz": (1.0, "positive"),
        "T": (9, "positive count"), "schedule": ("fixed", "choice")},
    "online_to_batch_bound": {"mistakes": (3, "count"), "T": (9, "positive count"),
        "delta": (0.1, "delta"), "method": ("kl", "choice")},
    "online_to_batch_expected": {"mistakes": (3, "count"), "T": (9, "positive count")},
    "pac_bayes_catoni_bound": {"risk": (0.1, "rate"), "kl": (1.0, "nats"),
        "m": (9, "positive count"), "delta": (0.1, "delta"), "C": (0.5, "positive")},
    "pac_bayes_kl_bound": {"risk": (0.1, "rate"), "kl": (1.0, "nats"), "m": (9, "positive count"),
        "delta": (0.1, "delta"), "xi": ("exact", "choice")},
    "pac_bayes_lambda_bound": {"risk": (0.1, "rate"), "kl": (1.0, "nats"),
        "m": (9, "positive count"), "delta": (0.1, "delta"), "lam": (0.5, "positive")},
    "pac_bayes_margin_bound": {"margins": ([0.5], "list"), "delta": (0.1, "delta"),
        "gibbs": (False, "flag")},
    "pac_bayes_mcallester_bound": {"risk": (0.1, "rate"), "kl": (1.0, "nats"),
        "m": (9, "positive count"), "delta": (0.1, "delta")},
    "pac_bayes_quadratic_bound": {"risk": (0.1, "rate"), "kl": (1.0, "nats"),
        "m": (9, "positive count"), "delta": (0.1, "delta"), "mc_draws": (9, "positive count"),
        "mc_delta": (0.1, "delta")},
    "perceptron_mistake_bound": {"radius": (1.0, "positive"), "w_norm": (1.0, "positive"),
        "hinge_loss": (1.0, "nonnegative"), "tight": (True, "flag")},
    "phi": {"x": (0.1, "above")},
    "projected_ogd_regret_bound": {"diameter": (1.0, "positive"), "lipschitz": (1.0, "positive"),
        "T": (9, "positive count"), "strong_convexity": (1.0, "nonnegative")},
    "quantile_interval": {"values": ([0.5, 1.0], None), "q": (0.5, "fraction"),
        "delta": (0.1, "delta")},
    "r2_interval": {"y": ([0.5, 1.0], None), "predictions": ([0.5, 1.0], None),
        "delta": (0.1, "delta"), "value_range": ((0, 1), None)},
    "rademacher_error_bound": {"risk": (0.1, "rate"), "rademacher": (0.1, "nonnegative"),
        "m": (9, "positive count"), "delta": (0.1, "delta"), "empirical": (True, "flag")},
    "rademacher_margin_bound": {"margin_error": (0.1, "rate"), "m": (9, "positive count"),
        "delta": (0.1, "delta"), "rho": (1.0, "positive"), "radius": (1.0, "positive"),
        "w_norm": (1.0, "positive"), "uniform": (False, "flag")},
    "radius_margin_loo_bound": {"radius": (1.0, "positive"), "margin": (1.0, "positive"),
        "m": (9, "positive count")},
    "rectangle_sample_size": {"epsilon": (0.1, "fraction"), "delta": (0.1, "delta"),
        "dim": (2, "count"), "tight": (False, "flag")},
    "sample_compression_bound": {"m": (9, "positive count"), "size": (0, "count"),
        "delta": (0.1, "delta"), "k": (1, "count"), "log_messages": (1.0, "nonnegative"),
        "method": ("binomial", "choice")},
    "sauer_bound": {"m": (9, "count"), "vc_dimension": (3, "count")},
    "search_interval": {"search": (SEARCH, None), "delta": (0.1, "delta"),
        "metric": ("score", "choice"), "n_test_samples": (4, "positive count")},
    "shatters": {"H": ([[0, 1]], "table"), "subset": ([0], None)},
    "stability_bound": {"risk": (0.1, "nonnegative"), "beta": (0.1, "nonnegative"),
        "m": (9, "positive count"), "delta": (0.1, "delta"), "value_range": (1.0, "positive")},
    "support_vector_loo_bound": {"n_sv": (3, "count"), "m": (9, "positive count")},
    "teaching_dimension": {"H": ([[0, 1]], "table")},
    "test_set_sample_size": {"epsilon": (0.1, "fraction"), "delta": (0.1, "delta"),
        "k": (2, "count")},
    "union_bound": {"deltas": ([0.1, 0.2], "failures")},
    "vc_deviation": {"m": (9, "count"), "vc_dimension": (3, "count"), "delta": (0.1, "delta"),
        "method": ("vc", "choice")},
    "vc_dimension": {"H": ([[0, 1]], "table"), "return_set": (True, "flag"), "max_size": (9, None)},
    "vc_dimension_upper_bound": {"name": ("union", "choice"), "vc_dimension": (3, "count"),
        "k": (2, "count")},
    "vc_error_bound": {"k": (3, "count"), "m": (9, "count"), "vc_dimension": (3, "count"),
        "delta": (0.1, "delta"), "method": ("relative", "choice")},
    "vc_sample_size": {"vc_dimension": (3, "count"), "epsilon": (0.1, "fraction"), "delta": (0.1,
        "delta"),
        "setting": ("realizable", "choice"), "method": ("uml", "choice")},
    "vc_sample_size_lower": {"vc_dimension": (3, "count"), "epsilon": (0.1, "positive"),
        "delta": (0.1, "delta"), "setting": ("realizable", "choice")},
    "weighted_majority_mistake_bound": {"n_experts": (9, "positive count"),
        "best_mistakes": (9, "count"), "beta": (0.5, "fraction"), "randomized": (False, "flag")},
    "winnow_mistake_bound": {"n_relevant": (3, "positive count"), "n": (9, "positive count")},
    "worst_case_mistakes": {"H": ([[0, 1]], "table"), "algorithm": ("soa", "choice")},
    "certify": {"delta": (0.1, "delta"), "role": ("validation", "choice"),
        "n_candidates": (2, "positive count"), "simultaneous": (True, "flag"),
        "vc_dimension": (2, "positive count"), "n_hypotheses": (9, "positive count"),
        "target": (0.5, "fraction"), "estimator": (Always(), None),
        "X": ([[0.0]] * 9, None), "y": ([1] * 9, None)},
}  # fmt: skip
# Arguments that may be given as log_...
OTHERWISE = {"delta": "delta", "n_hypotheses": "n", "vc_dimension": "growth"}
MISUSES = [
    (function, name)
    for function, arguments in CALLS.items()
    for name, (_, kind) in arguments.items()
    if kind is not None
]


def arguments_of(function):
    return {name: value for name, (value, _) in CALLS[function].items()}


def test_every_function_is_in_the_table():
    functions = {name for name in bounds.__all__ if inspect.isfunction(getattr(bounds, name))}
    assert functions - set(CALLS) == {
        "classification_statements",
        "compare_classifiers",
        "compare_models",
        "empirical_rademacher",
        "report",
        "watch",
    }


@each("function", CALLS)
def test_the_call_of_the_table_returns_plain_numbers(function):
    result = getattr(bounds, function)(**arguments_of(function))
    parts = result if isinstance(result, tuple) else (result,)
    assert not any(isinstance(part, np.generic) for part in parts)


@each(("function", "name"), MISUSES)
def test_bad_arguments_are_named_with_their_value_and_range(function, name):
    call, kind = getattr(bounds, function), CALLS[function][name][1]
    parameters = inspect.signature(call).parameters
    for value in BAD[kind]:
        named = rf"{name}(\[[\d, ]*\])?=.+ must be .+\.$"
        if kind == "table":
            named = rf"(?s:.*)\b{name}\b"
        elif value is None and f"log_{OTHERWISE.get(name)}" in parameters:
            named = f"log_{OTHERWISE[name]}=None"
        elif value is None and name in parameters and parameters[name].default is None:
            continue
        with pytest.raises(ValueError, match=f"^{named}"):
            call(**(arguments_of(function) | {name: value}))


@each("function", [f for f, call in CALLS.items() if {"k", "m"} <= set(call)])
def test_no_more_errors_than_examples(function):
    call = arguments_of(function) | {"k": 10}
    with pytest.raises(ValueError, match=r"^k=10 must be an integer >= 0 and <= 9\.$"):
        getattr(bounds, function)(**call)


def test_a_bad_entry_of_an_array_is_found():
    with pytest.raises(ValueError, match=r"^m\[1, 0\]=2.5 must be integers >= 1\.$"):
        binomial_tail_inversion(1, [[1], [2.5]], 0.1)
    with pytest.raises(ValueError, match=r"^k=5 must be an integer >= 0 and <= 4\.$"):
        binomial_tail_inversion([1, 5], [[9], [4]], 0.1)
    with pytest.raises(ValueError, match=r"^delta\[2\]=1.0 must be a finite number > 0 and < 1\.$"):
        hoeffding_epsilon(5, [0.1, 0.2, 1.0])


def test_every_kind_of_number_is_taken():
    expected = binomial_tail_inversion(3, 9, 0.25)
    for k, m, delta in [
        (np.int8(3), np.uint64(9), np.float32(0.25)),
        (3.0, Fraction(9), Fraction(1, 4)),
        (np.float32(3), 9.0, np.float16(0.25)),
    ]:
        assert binomial_tail_inversion(k, m, delta) == expected
    objects = np.array([3, 4], dtype=object), np.array([9, 2**70], dtype=object)
    assert binomial_tail_inversion(*objects, 0.25)[0] == expected
    assert binomial_tail_inversion(np.array(3), np.array(9), 0.25) == expected
    assert bounds.sauer_bound(10.0**20, 1) == 10**20 + 1
    assert kl_inverse_upper(0.25, math.inf) == 1


def test_one_of_two_ways_to_give_delta():
    for delta, log_delta in ((None, None), (0.1, -2.0)):
        with pytest.raises(ValueError, match="^log_delta="):
            binomial_tail_inversion(3, 9, delta, log_delta=log_delta)
    for log_delta in (0.0, 1.0, -math.inf, math.nan):
        with pytest.raises(ValueError, match="^log_delta=.* must be a finite number < 0"):
            binomial_tail_inversion(3, 9, None, log_delta=log_delta)
    for log_n in (-1.0, math.inf, math.nan, "3"):
        with pytest.raises(ValueError, match="^log_n=.* must be a finite number >= 0"):
            bounds.finite_class_epsilon(None, 9, 0.1, log_n=log_n)


def test_numbers_too_long_to_print_are_still_named():
    with pytest.raises(ValueError, match="^k=an integer of thousands of digits must be"):
        bounds.log_binomial_tail(10**5000, 9, 0.5)
    with pytest.raises(ValueError, match=r"^delta='x{56}\.\.\. must be"):
        bounds.dkw_epsilon(3, "x" * 100)


def test_numpy_numbers_and_whole_floats_are_taken():
    plain = bounds.pac_bayes_kl_bound(0.1, 10.0, 1000, 0.05)
    for m in (1000.0, np.int32(1000), np.float64(1000)):
        assert bounds.pac_bayes_kl_bound(np.float64(0.1), np.int64(10), m, 0.05) == plain


@each(
    ("call", "named"),
    [
        (lambda: bounds.perceptron_mistake_bound(1.0), "w_norm=None"),
        (lambda: bounds.perceptron_mistake_bound(1.0, margin=1.0, w_norm=1.0), "w_norm=1.0"),
        (lambda: bounds.winnow_mistake_bound(10, 9), "n_relevant=10.*<= 9"),
        (lambda: bounds.online_to_batch_bound(10, 9, 0.1), "mistakes=10.*<= 9"),
        (lambda: bounds.support_vector_loo_bound(10, 9), "n_sv=10"),
        (lambda: bounds.stability_bound(1.5, 0.1, 9, 0.1), "risk=1.5.*value_range"),
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


@each("call", [
    lambda values: bounds.mean_loss_interval(values, 0.1),
    lambda values: bounds.jaccard_interval(values, 1, 1, 0.1),
    lambda values: bounds.RiskMonitor(0.1).update(values),
    lambda values: bounds.certify(values, y=[0, 1, 1]),
    lambda values: bounds.certify([0, 1, 1], y=values),
])  # fmt: skip
def test_masked_values_are_missing(call):
    call(np.ma.array([0, 1, 1], mask=False))
    with pytest.raises(ValueError, match="has 1 masked values"):
        call(np.ma.array([0, 1, 1], mask=[False, True, False]))


@each("missing", [None, math.nan])
def test_true_labels_are_not_missing(missing):
    y = np.array([0, missing, 1], dtype=object)
    with pytest.raises(ValueError, match=r"^y=.*none of them missing"):
        bounds.certify([0, 1, 1], y=y)
