"""Every calculator refuses what its theorem does not speak of, by name, value and range."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest

from mlcore import bounds
from mlcore.bounds import binomial_tail_inversion, hoeffding_epsilon, kl_inverse_upper

NO_NUMBERS = [True, np.True_, math.nan, "0.5", None, 1j, {}]
BAD = {
    "count": [*NO_NUMBERS, 10.5, math.inf, -1, np.float64(2.5), [3, 2.5]],
    "counts": [*NO_NUMBERS, 10.5, math.inf, -1, [3.5], [True], [[1], [2, 3]], ["3"], [-1]],
    "delta": [*NO_NUMBERS, 0, 1, 0.0, 1.0, -0.1, 2, math.inf, [0.5, 1]],
    "deltas": [*NO_NUMBERS, 0, 1, -0.1, 2, math.inf, [0.5, 1.0], [0.5, math.nan], [True]],
    "positive": [*NO_NUMBERS, 0, -1, math.inf, 10**400],
    "nonnegative": [*NO_NUMBERS, -1e-300, math.inf],
    "nats": [*NO_NUMBERS, -1e-300, [0.1, -0.1]],
    "fraction": [*NO_NUMBERS, 0, 1, 2, math.inf],
    "rate": [*NO_NUMBERS, -1e-300, 1.0001, math.inf, [0.5, 1.5]],
    "rates": [*NO_NUMBERS, -1e-300, 1.0001, math.inf, [0.5, 1.5]],
    "negative": [*NO_NUMBERS, 1e-300, -math.inf],
    "choice": ["", "Exact", 1, None, True],
    "optional": ["", "Exact", 1, True],
    "flag": [0, 1, "yes", None],
    "sequence": [*NO_NUMBERS, [], [0.1, -0.1], [True], [math.inf], [[1.0, 2.0]]],
    "failures": [0.5, None, "0.5", [0.5, 1.0], [0.5, math.nan], [True]],
    "above": [*NO_NUMBERS, -1, -2, math.inf],
}
# For every function a call that is fine, each argument with the kind of its values.
CALLS = {
    "bennett_delta": {"epsilon": (0.1, "positive"), "m": (9, "count"),
                      "variance": (0.1, "nonnegative"), "b": (1, "positive")},
    "bernoulli_confidence_sequence": {"k": (3, "count"), "m": (9, "count"),
                                      "delta": (0.1, "delta")},
    "bernstein_delta": {"epsilon": (0.1, "positive"), "m": (9, "count"),
                        "variance": (0.1, "nonnegative"), "b": (1, "positive")},
    "bernstein_epsilon": {"m": (9, "count"), "delta": (0.1, "delta"),
                          "variance": (0.1, "nonnegative"), "b": (1, "positive"),
                          "two_sided": (True, "flag")},
    "bernstein_sample_size": {"epsilon": (0.1, "positive"), "delta": (0.1, "delta"),
                              "variance": (0.1, "nonnegative"), "b": (1, "positive")},
    "binomial_tail": {"k": (3, "count"), "m": (9, "count"), "p": (0.1, "rate")},
    "binomial_tail_inversion": {"k": (3, "counts"), "m": (9, "counts"), "delta": (0.1, "deltas")},
    "binomial_tail_inversion_lower": {"k": (3, "counts"), "m": (9, "counts"),
                                      "delta": (0.1, "deltas")},
    "chernoff_delta": {"t": (0.5, "positive"), "mu": (3.0, "positive"),
                       "tail": ("lower", "choice"), "form": ("exact", "choice")},
    "chernoff_deviation": {"mu": (3.0, "positive"), "delta": (0.1, "delta"),
                           "tail": ("lower", "choice"), "form": ("simple", "choice")},
    "clopper_pearson": {"k": (3, "counts"), "m": (9, "counts"), "delta": (0.1, "deltas")},
    "conjunction_sample_size": {"n_variables": (3, "count"), "epsilon": (0.1, "fraction"),
                                "delta": (0.1, "delta")},
    "dkw_epsilon": {"m": (9, "count"), "delta": (0.1, "delta")},
    "double_sampling_delta": {"m": (9, "count"), "d": (3, "count"), "epsilon": (0.1, "fraction")},
    "empirical_bernstein_epsilon": {"m": (9, "count"), "delta": (0.1, "delta"),
                                    "sample_variance": (0.1, "nonnegative"),
                                    "value_range": (1, "positive")},
    "finite_class_delta": {"n_hypotheses": (9, "count"), "epsilon": (0.1, "fraction"),
                           "m": (9, "count"), "setting": ("realizable", "choice"),
                           "tight": (False, "flag")},
    "finite_class_epsilon": {"n_hypotheses": (9, "count"), "m": (9, "count"),
                             "delta": (0.1, "delta"), "setting": ("uniform", "choice"),
                             "tight": (False, "flag")},
    "finite_class_sample_size": {"n_hypotheses": (9, "count"), "epsilon": (0.1, "positive"),
                                 "delta": (0.1, "delta"), "setting": ("agnostic", "choice"),
                                 "tight": (False, "flag")},
    "hoeffding_bentkus_bound": {"mean_loss": (0.1, "rate"), "m": (9, "count"),
                                "delta": (0.1, "delta")},
    "hoeffding_delta": {"epsilon": (0.1, "positive"), "m": (9, "count"),
                        "value_range": (1, "positive"), "two_sided": (True, "flag")},
    "hoeffding_epsilon": {"m": (9, "counts"), "delta": (0.1, "deltas"),
                          "value_range": (1, "positive"), "two_sided": (True, "flag")},
    "hoeffding_sample_size": {"epsilon": (0.1, "positive"), "delta": (0.1, "delta"),
                              "value_range": (1, "positive"), "two_sided": (True, "flag")},
    "kl_bernoulli": {"q": (0.1, "rates"), "p": (0.2, "rates")},
    "kl_inverse_lower": {"q": (0.1, "rates"), "c": (0.2, "nats")},
    "kl_inverse_upper": {"q": (0.1, "rates"), "c": (0.2, "nats")},
    "known_vc_dimension": {"name": ("halfspaces", "choice"), "n": (3, "count")},
    "log_binomial_tail": {"k": (3, "count"), "m": (9, "count"), "p": (0.1, "rate")},
    "log_class_size": {"name": ("bits", "choice"), "b": (3, "count")},
    "log_sauer_bound": {"m": (9, "count"), "d": (3, "count"), "method": ("poly", "choice")},
    "mcdiarmid_epsilon": {"c": ([1.0, 2.0], "sequence"), "delta": (0.1, "delta")},
    "occam_bound": {"k": (3, "count"), "m": (9, "count"), "delta": (0.1, "delta"),
                    "log_prior": (-3.0, "negative")},
    "phi": {"x": (0.1, "above")},
    "rectangle_sample_size": {"epsilon": (0.1, "fraction"), "delta": (0.1, "delta"),
                              "dim": (2, "count"), "tight": (False, "flag")},
    "sauer_bound": {"m": (9, "count"), "d": (3, "count")},
    "test_set_sample_size": {"epsilon": (0.1, "fraction"), "delta": (0.1, "delta"),
                             "errors": (2, "count")},
    "union_bound": {"deltas": ([0.1, 0.2], "failures")},
    "vc_deviation": {"m": (9, "count"), "d": (3, "count"), "delta": (0.1, "delta"),
                     "method": ("vc", "choice")},
    "vc_dimension_upper_bound": {"name": ("union", "choice"), "d": (3, "count"), "k": (2, "count")},
    "vc_error_bound": {"k": (3, "count"), "m": (9, "count"), "d": (3, "count"),
                       "delta": (0.1, "delta"), "method": ("relative", "choice")},
    "vc_sample_size": {"d": (3, "count"), "epsilon": (0.1, "fraction"), "delta": (0.1, "delta"),
                       "setting": ("realizable", "choice"), "method": ("uml", "optional")},
    "vc_sample_size_lower": {"d": (3, "count"), "epsilon": (0.1, "positive"),
                             "delta": (0.1, "delta"), "setting": ("realizable", "choice")},
}  # fmt: skip
MISUSES = [
    (function, name, value)
    for function, arguments in CALLS.items()
    for name, (_, kind) in arguments.items()
    for value in BAD[kind]
]


@pytest.mark.parametrize("function", CALLS)
def test_the_table_names_every_argument_and_its_call_returns_plain_numbers(function):
    call = {name: value for name, (value, _) in CALLS[function].items()}
    result = getattr(bounds, function)(**call)
    parts = result if isinstance(result, tuple) else (result,)
    assert all(type(part) in (int, float) for part in parts)
    parameters = set(inspect.signature(getattr(bounds, function)).parameters)
    assert parameters - set(call) <= {"log_delta", "log_n", "log_growth", "params"}


@pytest.mark.parametrize(("function", "name", "value"), MISUSES)
def test_bad_arguments_are_named_with_their_value_and_range(function, name, value):
    call = {word: good for word, (good, _) in CALLS[function].items()} | {name: value}
    optional = (function, name) in {("vc_deviation", "d")} or name == "n_hypotheses"
    if value is None and optional:
        name = r"log_\w+"
    elif value is None and (function, name) == ("binomial_tail_inversion", "delta"):
        name = "log_delta"
    with pytest.raises(ValueError, match=rf"^{name}(\[[\d, ]*\])?=.+ must be .+\.$"):
        getattr(bounds, function)(**call)


@pytest.mark.parametrize("function", [f for f, call in CALLS.items() if {"k", "m"} <= set(call)])
def test_no_more_errors_than_examples(function):
    call = {name: good for name, (good, _) in CALLS[function].items()} | {"k": 10}
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
