"""Wrong parameters are named before any work."""

import hashlib
import pickle

import numpy as np
import pytest

from contract import INF, N_SAMPLES, NAN, answers, case, fitted, only
from mlcore.cluster import KMeans
from mlcore.mixture import GaussianMixture
from mlcore.svm import SVC

NOT_POSITIVE = (0, -1, NAN, "1", None, True, 1j, [1.0], 10**400)
NOT_A_NUMBER = (NAN, INF, "1", None, True)
NOT_BOOL = ("yes", 2, None)
BAD_PARAMETERS = {
    "C": NOT_POSITIVE,
    "actions": (["low", "top"], "low", [["low", "mid", "top"]]),
    "affinity": ("rbg", None, 3),
    "assign_labels": ("k-means", None, 3),
    "binarize": (NAN, INF, "0.5", True),
    "average": NOT_BOOL,
    "batch_size": (0, -1, 1.5, "9", None, True, 10**30),
    "Cs": ((), (1.0, -1.0), (NAN,), ("1",), 3, None, "12", (INF, NAN)),
    "allow_single_cluster": NOT_BOOL,
    "alpha": (-0.1, NAN, INF, "1", None, True, 10**400),
    "alphas": ((), (1.0, -1.0), (NAN,), ("a",), 3, "loo", (INF, 0.0)),
    "break_ties": NOT_BOOL,
    "cache_size": (*NOT_POSITIVE, INF),
    "callback": (3, "print"),
    "columns": ({"normal": [0]}, {"gaussian": [0, 1]}, 3, "gaussian"),
    "class_prior": ([0.5, 0.5], [0.5, 0.5, 0.5], [1.2, -0.4, 0.2], [NAN, 0.5, 0.5], "1", [["a"]]),
    "class_weight": ("equal", 3, {"none such": 1.0}, {0: -1.0, "low": -1.0}),
    "cluster_selection_epsilon": (-0.1, NAN, INF, "1", None, True),
    "cluster_selection_method": ("leaves", None, 3),
    "coef0": NOT_A_NUMBER,
    "components_init": (np.ones((3, 3)) / 3, np.full((3, 4), -0.25), np.full((3, 4), NAN), "none"),
    "compute_distances": NOT_BOOL,
    "connectivity": (np.ones((2, 2)), "grid", 3, np.full((60, 60), NAN)),
    "covariance_type": ("fulll", None, 3),
    "criterion": ("aic", None, 3),
    "cv": (1, 0, -2, 2.5, "five", 10**30),
    "ddof": (-1, 1.5, "1", None, True, 10**30),
    "decision_function_shape": ("ovx", None, 1),
    "degree": (-1, 1.5, "3", None, True, 10**30),
    "distance_threshold": (-0.1, NAN, "1", True, 0.5),  # 0.5: n_clusters is given too
    "document_components_init": (np.ones((3, 3)) / 3, np.ones((3, N_SAMPLES)), [[1], [1, 2]]),
    "eigen_solver": ("amg", 3),
    "eps": (0.0, 1.5, -1.0, NAN, INF, "1", True),
    "epsilons": ((), (-0.1,), (NAN,), ("1",), 3, None),
    "epsilon": (-0.1, NAN, INF, "1", None, True),
    "fit_intercept": NOT_BOOL,
    "fit_prior": NOT_BOOL,
    "fit_inverse_transform": NOT_BOOL,
    "gamma": (-1.0, NAN, INF, "scaled", None, True, 10**400),
    "gammas": ((), (-1.0,), (NAN,), ("scaled",), 3),
    "idf": ("smoothed", 3, True),
    "information": ("open", None, 3),
    "init": ("k-means", 3, None, np.zeros((2, 4)), np.zeros((3, 5)), np.full((3, 4), NAN)),
    "init_params": ("k-meanss", None, 3),
    "iterated_power": (-1, 1.5, "4", None, True, 10**30),
    "kernel_params": ([1], "degree", 3),
    "kernel": ("rbg", None, 3, "precomputedd"),
    "means_init": ([[NAN] * 4] * 2, np.zeros((3, 4)), "1", [[1j] * 4] * 2),
    "l1_ratio": (-0.1, 1.1, NAN, INF, "1", None, True),
    "l1_ratios": ((), (-0.1,), (NAN,), ("a",), "1", [[0.5]]),
    "linkage": ("wards", None, 3, "precomputed"),
    "max_cluster_size": (0, -1, 1.5, "9", True, 10**30),
    "max_iter": (0, -2, 1.5, "9", None, True, 10**30),
    "max_no_improvement": (0, -1, 1.5, "9", True, 10**30),
    "metric": ("euclid", None, 3, 1j),
    "method": ("fast", 3, None),
    "mixture": (None, 3, "GaussianMixture", KMeans(), GaussianMixture),
    "min_cluster_size": (0, 1, 1.5, "9", None, True, 61, 10**30),
    "min_samples": (0, -1, 1.5, "9", None, True, 10**30),
    "missing": ("ignored", None, True),
    "multi_class": ("ovx", None, 1),
    "multi_task": NOT_BOOL,
    "estimator": (None, 3, "SVC", KMeans(), KMeans),
    "loss": ("hinges", 3, np.ones((2, 3)), np.full((3, 3), NAN), np.ones((3, 2)), [1.0, 1.0, 1.0]),
    "n_centers": (0, -1, 1.5, "9", None, True),
    "n_clusters": (0, -1, 1.5, "9", None, True, 61, 10**30),
    "n_components": (0, -1, 1.5, "2", None, True, 61, 10**12, 10**30),
    "n_init": (0, -1, 1.5, "2", None, True, 10**30),
    "n_neighbors": (0, -1, 1.5, "2", None, True, 10**30),
    "n_trials": (0, -1, 1.5, "2", None, True, [1, 2], [1.5] * 4, 10**400),
    "norm": ("l3", 3, True),
    "normalization": ("ratio", None, 3),
    "nus": ((), (0.0,), (1.5,), (NAN,), ("1",), 3, None),
    "nu": (*NOT_POSITIVE, 1.5, INF),
    "positive": ("none such", 2, NAN),
    "power": (0, 3, 1.5, "1", None, True),
    "precisions_init": (-np.ones((2, 4)), np.full((2, 4, 4), NAN), "1", np.ones((9, 9))),
    "parameters": ((), "mean", None, 3, ("weights", "mixture"), ("means", 1)),
    "pooling": (-0.1, 1.1, NAN, INF, "1", None, True),
    "priors": ([0.5, 0.5], [0.0, 0.0, 0.0], [1.2, -0.4, 0.2], [NAN, 0.5, 0.5], "1", [["a"]]),
    "probabilities_init": ("1", 3, [np.ones((3, 2))], [np.full((2, 3), NAN)] * 4),
    "probability": NOT_BOOL,
    "random_state": (-1, "seed", 1.5),
    "reg_covar": (-1.0, NAN, INF, "1", True, 10**400),
    "reg_param": (-0.1, 1.1, NAN, INF, "1", None, True),
    "error_score": ("none such", None, [1.0]),
    "refit": NOT_BOOL,
    "remove_zero_eig": NOT_BOOL,
    "rule": ("worst", None, 3),
    "center": NOT_BOOL,
    "scale": NOT_BOOL,
    "scaled_distance_threshold": (-0.1, NAN, "1", True, 0.5),
    "scoring": ("none such", 3, None),
    "shrinkage": (-0.1, 1.5, NAN, INF, "ledoit", True, [0.5]),
    "shuffle": NOT_BOOL,
    "solver": ("lsqr", None, 3),
    "sublinear": NOT_BOOL,
    "svd_solver": ("amg", None, 3),
    "tol": (*NOT_POSITIVE, INF),
    "threshold": NOT_A_NUMBER,
    "unbiased": NOT_BOOL,
    "dual": ("no", 2, None),
    "intercept_scaling": (*NOT_POSITIVE, INF),
    "edges": ([[0.0]], "uniform", 3, [[1.0, 1.0]] * 4, [[NAN]] * 4),
    "n_bins": (0, 1, -1, 1.5, "9", None, True),
    "standardize": NOT_BOOL,
    "store_centers": ("means", 3, True),
    "step": tuple(value for value in (*NOT_POSITIVE, INF) if value is not None),
    "strategy": ("kmeans", None, 3),
    "unknown": ("ignore", 3, True),
    "unseen": ("drop", None, 3),
    "var_smoothing": (-1, *NOT_POSITIVE[2:], INF),
    "verbose": (-1, "yes", 1.5, None),
    "warm_start": NOT_BOOL,
    "whiten": NOT_BOOL,
    "weights_init": ([0.5, 0.6], [1.5, -0.5], [1.0], [NAN, 1.0], "1", ["a", "b", "c"], 1j),
}


def position(random):
    """The place in its stream of a RandomState."""
    return hashlib.sha256(pickle.dumps(random.get_state())).hexdigest()


def test_wrong_parameters_are_named_at_fit(entry, data):
    seen = []
    for name in entry.make().get_params(deep=False):
        for value in BAD_PARAMETERS[name]:
            if (name, value) in entry.takes:
                continue
            with case(name, value):
                model = entry.make()
                if "callback" in model.get_params():
                    model.set_params(callback=lambda **step: seen.append(step))
                model.set_params(**{name: value})
                with pytest.raises((TypeError, ValueError), match=name) as caught:
                    model.fit(*data)
                assert len(str(caught.value)) < 600 and not seen and not fitted(model)


@only(lambda entry: "random_state" in entry.make().get_params())
def test_checks_draw_no_random_numbers(entry, data):
    """A fit that is refused leaves a RandomState where it was."""
    X, y = data
    random = np.random.RandomState(0)
    before = position(random)
    with pytest.raises((TypeError, ValueError), match="tol"):
        entry.make().set_params(random_state=random, tol=NAN).fit(X, y)
    assert position(random) == before


@only(lambda entry: "random_state" in entry.make().get_params())
def test_later_calls_draw_no_random_numbers(entry, data):
    """Predictions, and a step of `partial_fit` after a fit, follow from the fit."""
    X, y = data
    random = np.random.RandomState(0)
    model = entry.make().set_params(random_state=random)
    before = position(random)
    model.fit(X, y)
    if isinstance(model, SVC) and not model.probability:
        assert position(random) == before
    before = position(random)
    answers(model, X)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)
    assert position(random) == before


@only(lambda entry: entry.kernel)
def test_unknown_choices_list_the_valid_ones(entry, data):
    X, y = data
    with pytest.raises(ValueError, match="'rbg'.*'linear'.*'rbf'"):
        entry.make().set_params(kernel="rbg").fit(X, y)
