"""One interface: names, defaults and results are the same in all models and bounds."""

import inspect
import re
from typing import get_type_hints

import numpy as np
from each import each

import mlcore
from contract import MODELS
from mlcore import bounds
from mlcore.estimator.verification import Verification

PUBLIC = {
    name: (getattr(module, name), module)
    for module in (getattr(mlcore, family) for family in mlcore.__all__)
    if inspect.ismodule(module)
    for name in module.__all__
}
KINDS = {name: kind for name, (kind, _) in PUBLIC.items() if hasattr(kind, "get_params")}
CALLED = {name: f for name, (f, _) in PUBLIC.items() if inspect.isfunction(f)} | KINDS
BOUNDS = {name: f for name, f in CALLED.items() if name in bounds.__all__}
WITH_VERIFY = [name for name, kind in KINDS.items() if hasattr(kind, "verify")]

# Models with `tol` or `max_iter` of something else than the steps of a fit.
NO_STEPS = {
    "LinearDiscriminantAnalysis": "tol is the rank of the covariance",
    "LinearRegression": "tol ends conjugate gradients on sparse rows, a part of one step",
    "NystroemPCA": "the iteration is that of inverse_transform",
}
NO_OBJECTIVE = {
    "PCA": "eigenpairs: residuals_ and explained_variance_ratio_ tell",
    "KernelPCA": "eigenpairs: residuals_ and explained_variance_ratio_ tell",
    "Perceptron": "the rule stops without mistakes, and minimises nothing",
    "KernelPerceptron": "the rule stops without mistakes, and minimises nothing",
}
EQUAL = ("inertia_", "lower_bound_", "primal_objective_")  # what scikit-learn calls objective_

# Words of scikit-learn, and forms of a theorem or of a result, beside `solver`.
ALGORITHMS = {
    "svd_solver": {"PCA"},
    "eigen_solver": {"KernelPCA", "SpectralClustering"},
    "algorithm": {"worst_case_mistakes"},
    "cluster_selection_method": {"HDBSCAN"},
    "method": {
        "log_sauer_bound", "normalize_affinity", "online_to_batch_bound", "predict_blocks",
        "sample_compression_bound", "sinkhorn", "vc_deviation", "vc_error_bound", "vc_sample_size",
    },
}  # fmt: skip
# Words of scikit-learn beside `C` and `alpha`.
PENALTIES = {
    "reg_param": {"QuadraticDiscriminantAnalysis"},
    "reg_covar": {"GaussianMixture", "MixedMixture"},
    "shrinkage": {"LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"},
    "pooling": {"QuadraticDiscriminantAnalysis"},
    "var_smoothing": {"GaussianNB", "MixedNB"},
    "l1_ratio": {"ElasticNet", "ElasticNetCV", "LogisticRegression", "LogisticRegressionCV"},
    "l1_ratios": {"LogisticRegressionCV"},
    "marginal_penalty": {"sinkhorn"},
}


def parameters(name):
    return inspect.signature(CALLED[name]).parameters


def with_words(pattern, usual):
    found = {}
    for name in CALLED:
        for word in parameters(name):
            if re.search(pattern, word) and word not in usual:
                found.setdefault(word, set()).add(name)
    return found


def test_the_choice_of_an_algorithm_is_solver():
    assert with_words(r"solver$|method$|algorithm", {"solver"}) == ALGORITHMS


def test_a_penalty_is_C_or_alpha():
    pattern = r"^reg_|^l1|^l2|penal|regular|shrink|pooling|smooth|ridge|lambda|^alpha_"
    assert with_words(pattern, {"C", "alpha"}) == PENALTIES


def test_random_state_is_none():
    for name in CALLED:
        if "random_state" in parameters(name):
            assert parameters(name)["random_state"].default is None, name


@each("name", [n for n in KINDS if {"tol", "max_iter"} & set(parameters(n))])
def test_what_iterates_reports_progress_and_has_an_objective(name):
    kind = KINDS[name]
    if name in NO_STEPS:
        assert "verbose" not in parameters(name)
        return
    assert parameters(name)["verbose"].default is False
    assert parameters(name)["callback"].default is None
    assert callable(kind.set_callbacks)
    has = hasattr(kind, "objective_") or "objective_" in get_type_hints(kind)
    assert has == (name not in NO_OBJECTIVE)


@each("name", MODELS)
def test_objective_is_what_scikit_learn_calls_otherwise_and_the_end_of_the_trace(name):
    model = MODELS[name].fit()
    for word in EQUAL:
        if hasattr(model, word):
            np.testing.assert_array_equal(model.objective_, getattr(model, word))
    relaxed = name.startswith("SpectralClustering")  # whose trace is of the relaxed problem
    if hasattr(model, "objective_trace_") and not relaxed:
        np.testing.assert_array_equal(model.objective_trace_[-1], model.objective_)
    if hasattr(model, "objective_"):
        documented = [cls.__doc__ or "" for cls in type(model).__mro__]
        assert any(re.search(r"^    .*\bobjective_\b", text, re.M) for text in documented) or any(
            re.search(r"others\n\s+As in", text) for text in documented
        )


@each("name", WITH_VERIFY)
def test_verify_returns_one_base_type(name):
    kind, family = PUBLIC[name]
    result = get_type_hints(kind.verify)["return"]
    assert issubclass(result, Verification) and result.__name__ in family.__all__


def test_range_errors_and_dimension_are_one_word_in_bounds():
    assert with_words(r"loss_bound|loss_range|^errors$|^d$", set()) == {}
    of_counts = {name for name in BOUNDS if "b" in parameters(name)}
    assert of_counts == {"error_difference_interval", "mcnemar_test"}
    for name in BOUNDS:
        if "k" in parameters(name) and not name.endswith("binomial_tail"):
            text = inspect.getdoc(CALLED[name]).partition("Parameters\n")[2]
            assert re.search(r"^k\b.*\n.*[Ee]rrors", text, re.M), name


def test_epsilon_is_before_m_before_delta():
    for name in BOUNDS:
        order = [word for word in parameters(name) if word in ("epsilon", "m", "delta")]
        assert order == [word for word in ("epsilon", "m", "delta") if word in order], name


def test_no_parameter_does_nothing():
    idle = re.compile(r"\bignored\b|\bnot used\b|\bunused\b|no effect|do(es)? nothing")
    for name, function in CALLED.items():
        text = inspect.getdoc(function) or ""
        section = re.search(r"^Parameters\n-+\n(.*?)(^\w+\n-+$|\Z)", text, re.M | re.S)
        if section is not None:
            assert not idle.search(re.sub(r"^y : ignored$", "", section[1], flags=re.M)), name
