"""Calculators of arrays: entry for entry the calls with single numbers; and deltas that are not."""

import inspect
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from each import each

from mlcore import bounds
from mlcore.bounds import certify, hoeffding_epsilon, sauer_bound, vc_deviation

# For every calculator, values of every argument that may be an array; `_` for fixed ones.
M, DELTA, RATE = [9, 40, 1000], [0.01, 0.5], [0.0, 0.125, 1.0]
CALLS = {
    "bennett_delta": {"epsilon": [0.1, 2.0], "m": M, "variance": [0.0, 0.1],
        "value_range": [1, 2.5]},
    "bernoulli_confidence_sequence": {"k": [0, 3, 9], "m": M, "delta": DELTA},
    "bernstein_delta": {"epsilon": [0.1, 2.0], "m": M, "variance": [0.0, 0.1],
        "value_range": [1, 2.5]},
    "bernstein_epsilon": {"m": M, "delta": DELTA, "variance": [0.0, 0.1], "value_range": [1, 2.5]},
    "bernstein_sample_size": {"epsilon": [0.1, 2], "delta": DELTA, "variance": [0, 0.1],
        "value_range": [1]},
    "binomial_tail": {"k": [0, 3, 9], "m": M, "p": RATE},
    "binomial_tail_inversion": {"k": [0, 3, 9], "m": M, "delta": DELTA},
    "binomial_tail_inversion_lower": {"k": [0, 3, 9], "m": M, "delta": DELTA},
    "boosting_margin_bound": {"margin_error": RATE, "m": M, "delta": DELTA, "vc_dimension": [2, 20],
                              "rho": [0.5, 1.0]},
    "chernoff_delta": {"t": [0.25, 0.5], "mu": [1.0, 30.0], "_": {"tail": "lower"}},
    "chernoff_deviation": {"mu": [1.0, 30.0], "delta": DELTA, "_": {"tail": "upper"}},
    "clopper_pearson": {"k": [0, 3, 9], "m": M, "delta": DELTA},
    "conjunction_sample_size": {"n_variables": [1, 30], "epsilon": [0.1, 0.3], "delta": DELTA},
    "dkw_epsilon": {"m": M, "delta": DELTA},
    "double_sampling_delta": {"m": M, "vc_dimension": [1, 3], "epsilon": [0.1, 0.9]},
    "doubling_trick_regret": {"alpha": [0.5, 2.0], "T": M},
    "empirical_bernstein_epsilon": {"m": M, "delta": DELTA, "sample_variance": [0, 0.1],
                                    "value_range": [1.0, 2.0]},
    "error_difference_interval": {"b": [0, 3, 9], "c": [0, 1], "m": [10, 40], "delta": DELTA},
    "f1_interval": {"true_positives": [0, 3, 8], "false_positives": [0, 2],
        "false_negatives": [0, 9], "delta": DELTA},
    "fat_shattering_margin_bound": {"m": [9, 10**8], "radius": [1.0, 2.0], "margin": [1.0, 0.5],
                                    "delta": [0.01, 0.4], "margin_error": RATE},
    "finite_class_delta": {"n_hypotheses": [1, 9], "epsilon": [0.1, 0.5], "m": M},
    "finite_class_epsilon": {"n_hypotheses": [1, 9], "m": M, "delta": DELTA,
                             "_": {"setting": "agnostic"}},
    "finite_class_sample_size": {"n_hypotheses": [1, 3**200], "epsilon": [0.1, 0.5],
                                 "delta": DELTA},
    "growth_function": {"m": [1, 2, 3], "_": {"H": [[0, 0, 0], [0, 1, 1], [1, 1, 0]]}},
    "halving_mistake_bound": {"n": [1, 8, 9]},
    "hedge_regret_bound": {"n_experts": [1, 9], "T": M},
    "hoeffding_bentkus_bound": {"mean_loss": RATE, "m": M, "delta": DELTA},
    "hoeffding_delta": {"epsilon": [0.1, 2.0], "m": M},
    "hoeffding_epsilon": {"m": M, "delta": DELTA},
    "hoeffding_sample_size": {"epsilon": [0.1, 2.0], "delta": DELTA, "value_range": [1.0, 2.0]},
    "jaccard_interval": {"true_positives": [0, 3, 8], "false_positives": [0, 2],
        "false_negatives": [0, 9], "delta": DELTA},
    "kernel_rademacher_bound": {"trace": [0.0, 9.0], "m": M, "norm": [0.5, 2.0]},
    "kl_bernoulli": {"q": RATE, "p": [0.0, 0.3]},
    "kl_inverse_lower": {"q": RATE, "c": [0.0, 0.1, math.inf]},
    "kl_inverse_upper": {"q": RATE, "c": [0.0, 0.1, math.inf]},
    "known_vc_dimension": {"n": [1, 10], "degree": [2, 3], "_": {"name": "polynomial_threshold"}},
    "linear_l1_rademacher_bound": {"x_inf": [1.0, 2.0], "m": M, "norm1": [0.5, 2.0],
                                   "n_features": [1, 9]},
    "littlestone_regret_bound": {"ldim": [0, 3], "T": M, "n_hypotheses": [1, 9]},
    "log_binomial_tail": {"k": [0, 3, 9], "m": M, "p": RATE},
    "log_class_size": {"n": [3, 9], "k": [1, 2], "_": {"name": "k_cnf"}},
    "log_sauer_bound": {"m": [0, 9, 40], "vc_dimension": [0, 3, 50]},
    "margin_vc_dimension": {"radius": [1.0, 2.0], "margin": [0.1, 3.0], "n_features": [1, 50]},
    "massart_bound": {"n_vectors": [1, 9], "m": M, "radius": [0.5, 2.0]},
    "maurer_xi": {"m": [1, 9, 1000]},
    "mcdiarmid_epsilon": {"delta": DELTA, "_": {"c": [0.5, 0.25]}},
    "mcnemar_test": {"b": [0, 3, 9], "c": [0, 1, 5]},
    "occam_bound": {"k": [0, 3, 9], "m": M, "delta": DELTA, "log_prior": [0.0, -3.0]},
    "ogd_regret_bound": {"norm": [0.5, 2.0], "lipschitz": [0.5, 2.0], "T": M},
    "online_to_batch_bound": {"mistakes": [0, 3, 9], "T": M, "delta": DELTA,
                              "_": {"method": "kl"}},
    "online_to_batch_expected": {"mistakes": [0, 3, 9], "T": M},
    "pac_bayes_catoni_bound": {"risk": RATE, "kl": [0.0, 3.0], "m": M, "delta": DELTA,
                               "C": [0.5, 2.0]},
    "pac_bayes_kl_bound": {"risk": RATE, "kl": [0.0, math.inf], "m": M, "delta": DELTA},
    "pac_bayes_lambda_bound": {"risk": RATE, "kl": [0.0, 3.0], "m": M, "delta": DELTA,
                               "lam": [0.5, 1.5]},
    "pac_bayes_margin_bound": {"delta": DELTA, "mu": [0.5, 3.0], "_": {"margins": [0.5, -0.1]}},
    "pac_bayes_mcallester_bound": {"risk": RATE, "kl": [0.0, 3.0], "m": M, "delta": DELTA},
    "pac_bayes_quadratic_bound": {"risk": [0.0, 0.5], "kl": [0.0, 3.0], "m": M, "delta": DELTA,
                                  "mc_draws": [9, 90], "mc_delta": [0.1, 0.2]},
    "perceptron_mistake_bound": {"radius": [1.0, 2.0], "w_norm": [0.5, 2.0],
                                 "hinge_loss": [0.0, 3.0]},
    "phi": {"x": [-0.5, 0.0, 1e-9, 3.0]},
    "projected_ogd_regret_bound": {"diameter": [0.5, 2.0], "lipschitz": [0.5, 2.0], "T": M,
                                   "strong_convexity": [0.0, 1.0]},
    "rademacher_error_bound": {"risk": RATE, "rademacher": [0.0, 0.1], "m": M, "delta": DELTA},
    "rademacher_margin_bound": {"margin_error": RATE, "m": M, "delta": DELTA, "rho": [0.5, 1.0],
                                "radius": [1.0, 2.0], "w_norm": [0.5, 1.0], "rho_max": [1.0, 2.0],
                                "_": {"uniform": True}},
    "radius_margin_loo_bound": {"radius": [1.0, 2.0], "margin": [0.1, 3.0], "m": M},
    "rectangle_sample_size": {"epsilon": [0.1, 0.5], "delta": DELTA, "dim": [1, 2, 7]},
    "sample_compression_bound": {"size": [0, 3, 8], "m": M, "delta": DELTA, "k": [0, 1],
                                 "log_messages": [0.0, 1.0]},
    "sauer_bound": {"m": [0, 9, 40], "vc_dimension": [0, 3, 50]},
    "stability_bound": {"risk": RATE, "beta": [0.0, 0.1], "m": M, "delta": DELTA,
                        "value_range": [1.0, 2.0]},
    "support_vector_loo_bound": {"n_sv": [0, 3, 9], "m": M},
    "test_set_sample_size": {"epsilon": [0.1, 0.5], "delta": DELTA, "k": [0, 1, 4]},
    "vc_deviation": {"m": M, "vc_dimension": [1, 3], "delta": DELTA, "_": {"method": "parrondo"}},
    "vc_dimension_upper_bound": {"vc_dimension": [1, 3], "k": [1, 2], "_": {"name": "union"}},
    "vc_error_bound": {"k": [0, 3, 9], "m": M, "vc_dimension": [1, 3], "delta": DELTA},
    "vc_sample_size": {"vc_dimension": [1, 3], "epsilon": [0.1, 0.5], "delta": DELTA},
    "vc_sample_size_lower": {"vc_dimension": [1, 3], "epsilon": [0.1, 0.3], "delta": [0.01, 0.1]},
    "weighted_majority_mistake_bound": {"n_experts": [1, 9], "best_mistakes": [0, 9],
                                        "beta": [0.25, 0.5]},
    "winnow_mistake_bound": {"n_relevant": [1, 3], "n": M},
}  # fmt: skip
OF_ONE_OBJECT = {  # a table, a classifier, two distributions, the points of one sample
    "auc_interval",
    "categorical_kl",
    "certify",
    "classification_statements",
    "compare_classifiers",
    "compare_models",
    "dichotomies",
    "dual_vc_dimension",
    "empirical_rademacher",
    "gaussian_kl",
    "jaakkola_haussler_loo_bound",
    "littlestone_dimension",
    "mean_loss_interval",
    "quantile_interval",
    "report",
    "r2_interval",
    "search_interval",
    "shatters",
    "teaching_dimension",
    "union_bound",
    "vc_dimension",
    "watch",
    "worst_case_mistakes",
}


def call_of(name):
    values = dict(CALLS[name])
    return getattr(bounds, name), values.pop("_", {}), values


def test_the_table_has_every_calculator():
    functions = {name for name in bounds.__all__ if inspect.isfunction(getattr(bounds, name))}
    assert functions == set(CALLS) | OF_ONE_OBJECT


@each("name", CALLS)
def test_arrays_broadcast_and_every_entry_is_that_of_single_numbers(name):
    function, fixed, values = call_of(name)
    # An axis of its own for each of three arguments, the rest along with them.
    axes = [np.array(v, dtype=object).reshape([-1] + [1] * (i % 3)) for i, v in
            enumerate(values.values())]  # fmt: skip
    rng = np.random.default_rng(0)
    axes = [axis if i < 3 else rng.choice(axis.ravel()) for i, axis in enumerate(axes)]
    given = dict(zip(values, axes, strict=True))
    result = function(**fixed, **given)
    shape = np.broadcast_shapes(*(np.shape(value) for value in axes))
    whole = np.broadcast_arrays(*(np.asarray(value, dtype=object) for value in axes))
    for place in np.ndindex(shape):
        single = function(**fixed, **dict(zip(values, (a[place] for a in whole), strict=True)))
        pairs = (
            zip(result, single, strict=True) if isinstance(single, tuple) else [(result, single)]
        )
        for array, number in pairs:
            assert type(number) in (int, float) and array.shape == shape
            assert array[place] == number, (place, number)
            assert array.dtype == np.float64 or array.dtype.kind in "iO" and type(number) is int


@each("name", CALLS)
def test_one_number_in_any_wrapping_gives_a_plain_number(name):
    function, fixed, values = call_of(name)
    single = {word: entries[-1] for word, entries in values.items()}
    if name == "kl_bernoulli":
        single = {"q": 0.125, "p": 0.3}
    plain = function(**fixed, **single)
    wrapped = function(**fixed, **{word: np.asarray(value) for word, value in single.items()})
    assert wrapped == plain and type(wrapped) is type(plain)
    if type(plain) is not tuple:
        assert type(plain) in (int, float)


@each("name", CALLS)
def test_a_bad_entry_is_refused_with_its_argument_and_place(name):
    function, fixed, values = call_of(name)
    for word, entries in values.items():
        others = {other: several[0] for other, several in values.items() if other != word}
        for bad in (math.nan, "a", True, -math.inf):
            array = np.array([entries[0], bad], dtype=object)
            with pytest.raises(ValueError, match=rf"^{word}(\[1\])?=.* must be "):
                function(**fixed, **others, **{word: array})
        for bad in ([[1], [2, 3]], {}):
            with pytest.raises(ValueError, match=rf"^{word}=.* must be "):
                function(**fixed, **others, **{word: bad})
        empty = function(**fixed, **others, **{word: []})
        for array in empty if isinstance(empty, tuple) else [empty]:
            assert array.shape == (0,)
    if len(values) > 1:
        first, second = list(values)[:2]
        shapes = {first: [values[first][0]] * 2, second: [values[second][0]] * 3}
        rest = {word: entries[0] for word, entries in values.items() if word not in shapes}
        with pytest.raises(ValueError, match=rf"{first} of shape \(2,\).*{second} of shape \(3,\)"):
            function(**fixed, **shapes, **rest)


COUNTS = [0, 1, 2, 2**63, 10**30, 10**300, 10**308, 10**400]
TINY = [5e-324, 1e-310, 1e-300, 1e-160, 1e-16]
EXTREMES = [
    *COUNTS, *TINY, 0.5, 1 - 2**-53, 1 + 2**-52, 1e160, 1e300, 1.7976931348623157e308, math.inf,
    -5e-324, -1.0, -1e300, -math.inf, -0.0,
]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")
def test_extremes_have_a_number_infinity_or_an_error(name):
    """Never NaN, nor a warning of NumPy: one argument at a time, then fifteen draws of all."""
    function, fixed, values = call_of(name)
    first, rng = {word: entries[0] for word, entries in values.items()}, np.random.default_rng(0)
    calls = [{**first, word: value} for word in values for value in EXTREMES]
    for _ in range(15):
        pools = {word: EXTREMES + entries * 6 for word, entries in values.items()}
        calls.append({word: pool[rng.integers(len(pool))] for word, pool in pools.items()})
    for call in calls:
        try:
            result = function(**fixed, **call)
        except ValueError as error:
            assert any(word in str(error) for word in (*call, *fixed))
            continue
        for number in result if isinstance(result, tuple) else [result]:
            assert type(number) in (int, float) and number == number, (call, number)


def test_arrays_of_every_kind_are_taken():
    expected = [hoeffding_epsilon(m, 0.5) for m in (9, 40)]
    for m in ([9, 40], (9.0, 40.0), np.array([9, 40], np.int16), np.array([9, 40], np.float32),
              pd.Series([9, 40]), np.array([9, 40], ">i8"), np.array([40, 9])[::-1]):  # fmt: skip
        assert hoeffding_epsilon(m, 0.5).tolist() == expected
    assert hoeffding_epsilon([9, 9], 0.5, value_range=[1.0] * 9).shape == (2,)
    assert vc_deviation([9, 40], None, 0.1, method="vc", log_growth=math.log1p).shape == (2,)
    assert sauer_bound([3, 80], 90).tolist() == [8, 2**80]
    assert sauer_bound([3, 62], 90).dtype == np.int64
    with pytest.raises(ValueError, match=r"^m\[0\]="):
        hoeffding_epsilon(np.array(["2020-01-01"], dtype="M8[ns]"), 0.5)
    with pytest.raises(TypeError, match="delta"):
        hoeffding_epsilon([9, 40])


def with_delta():
    for name, values in CALLS.items():
        for word in {"delta", "mc_delta"} & set(values):
            yield name, word


@each(("name", "word"), sorted(with_delta()))
def test_a_confidence_in_place_of_delta_is_told_once(name, word):
    function, fixed, values = call_of(name)
    single = {other: entries[0] for other, entries in values.items()}
    for wrong in (0.95, [0.1, 0.95]):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                function(**fixed, **single | {word: wrong})
            except ValueError as error:  # a theorem for small delta only: an error is enough
                assert word in str(error) and "< 0." in str(error)
                continue
        (warning,) = told
        assert warning.category is UserWarning and warning.filename == __file__
        assert f"{word}=0.95" in str(warning.message) and "0.05" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(**fixed, **single | {word: min(0.3, single[word])})


def test_a_certificate_is_told_of_once_as_well():
    with pytest.warns(UserWarning, match="delta=0.95") as told:
        certify(type("Always", (), {"predict": lambda self, X: [1] * len(X)})(), [[0]], [1],
                delta=0.95)  # fmt: skip
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(UserWarning, match="deltas=0.95") as told:
        bounds.union_bound([0.1, 0.95])
    assert len(told) == 1


def test_arguments_come_in_one_order():
    """What was observed, then how many examples, then the probability of failure."""
    observed = {"k", "n_sv", "mistakes", "margin_error", "risk", "mean_loss"}
    ranks = {"m": 1, "T": 1, "delta": 2} | dict.fromkeys(observed, 0)
    for name in CALLS:
        parameters = inspect.signature(getattr(bounds, name)).parameters.values()
        words = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        order = [ranks[word] for word in words if word in ranks]
        assert order == sorted(order), name
        for first, second in itertools.combinations(words, 2):
            assert (first, second) != ("delta", "epsilon"), name


def test_the_vc_dimension_is_also_called_d():
    assert vc_deviation(40, d=3, delta=0.1, method="vc") == vc_deviation(40, 3, 0.1, method="vc")
    assert sauer_bound([3, 80], d=2).tolist() == sauer_bound([3, 80], 2).tolist()
    for twice in (lambda: sauer_bound(9, 2, d=2), lambda: sauer_bound(9, vc_dimension=2, d=2)):
        with pytest.raises(TypeError):
            twice()
