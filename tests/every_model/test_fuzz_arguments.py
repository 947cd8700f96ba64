"""Every public function and method with one wrong argument after another.

From a valid call one argument at a time is replaced by something else: ragged, empty, of another
number of dimensions, text, huge, missing, complex, of another length. The outcome is a result or an
error in our own words that names the argument; nothing given is changed, no warning of NumPy leaks.
"""

import copy
import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse as sp

import mlcore
from contract import one_of_each_class, plain_fit
from mlcore import (
    bayes,
    bounds,
    calibration,
    cluster,
    conformal,
    decomposition,
    entropy,
    kernels,
    mixture,
    online,
)
from mlcore.bayes import (
    BetaBernoulli,
    DirichletCategorical,
    JointTable,
    NormalMean,
    SequentialBayes,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
Y = np.array([0, 1] * 6)
TABLE = [[0.2, 0.3], [0.1, 0.4]]


def _zeros(X):
    return np.zeros(12)


def _ones(X):
    return np.ones(12)


def _halves(X):
    return np.full((12, 2), 0.5)


# A valid call of every function outside of the calculators, which have a table of their own in
# tests/bounds/test_refusals.py.
OF_TWO_PARTITIONS = {
    **dict.fromkeys(
        [
            "adjusted_rand_index", "adjusted_rand_score", "clustering_report", "completeness",
            "completeness_score", "fowlkes_mallows_index", "fowlkes_mallows_score", "homogeneity",
            "homogeneity_score", "mutual_info_score", "mutual_information",
            "pair_confusion_matrix",
        ],
        {},
    ),
    "contingency_matrix": {"sparse": False},
    "v_measure": {"beta": 1.0},
    "v_measure_score": {"beta": 1.0},
    "adjusted_mutual_info_score": {"average": "min"},
    "adjusted_mutual_information": {"average": "min"},
    "normalized_mutual_info_score": {"average": "min"},
    "normalized_mutual_information": {"average": "min"},
}  # fmt: skip
CALLS = {
    "bayes.map_decision": (bayes.map_decision, {"prior": [0.5, 0.5], "likelihood": [0.1, 0.4]}),
    "bayes.minimum_risk": (
        bayes.minimum_risk,
        {"probabilities": [0.25, 0.75], "loss": [[0, 1], [1, 0]]},
    ),
    "bayes.ml_decision": (bayes.ml_decision, {"likelihood": [0.1, 0.4]}),
    "bayes.posterior": (bayes.posterior, {"prior": [0.5, 0.5], "likelihood": [0.1, 0.4]}),
    "bayes.JointTable": (JointTable, {"table": TABLE, "names": ["a", "b"]}),
    "bayes.JointTable.marginal": (JointTable(TABLE).marginal, {"axes": 0}),
    "bayes.JointTable.conditional": (JointTable(TABLE).conditional, {"of": 0, "given": 1}),
    "bayes.JointTable.independence": (
        JointTable(np.ones((2, 2, 2))).independence,
        {"a": 0, "b": 1, "given": 2},
    ),
    "bayes.BetaBernoulli": (BetaBernoulli, {"a": 1.0, "b": 2.0}),
    "bayes.BetaBernoulli.update": (
        lambda **given: BetaBernoulli().update(**given),
        {"successes": 2, "failures": 1},
    ),
    "bayes.BetaBernoulli.predictive": (
        BetaBernoulli().predictive,
        {"successes": 2, "failures": 1},
    ),
    "bayes.BetaBernoulli.interval": (BetaBernoulli().interval, {"level": 0.9}),
    "bayes.DirichletCategorical": (DirichletCategorical, {"concentration": [1.0, 2.0]}),
    "bayes.DirichletCategorical.update": (
        lambda counts: DirichletCategorical([1.0, 2.0]).update(counts),
        {"counts": [1, 0]},
    ),
    "bayes.DirichletCategorical.predictive": (
        DirichletCategorical([1.0, 2.0]).predictive,
        {"counts": [1, 0]},
    ),
    "bayes.NormalMean": (NormalMean, {"mean": 0.0, "variance": 1.0, "noise_variance": 1.0}),
    "bayes.NormalMean.update": (
        lambda values: NormalMean().update(values),
        {"values": [1.0, 2.0]},
    ),
    "bayes.SequentialBayes": (SequentialBayes, {"prior": [0.5, 0.5]}),
    "bayes.SequentialBayes.update": (
        lambda **given: SequentialBayes([0.5, 0.5]).update(**given),
        {"likelihood": [0.1, 0.4], "log": False},
    ),
    "bounds.certify": (
        bounds.certify,
        {"estimator": Y, "y": 1 - Y, "delta": 0.1, "role": "test", "target": 0.5},
    ),
    "bounds.certify-trained": (
        lambda **given: bounds.certify(_machine(), **given),
        {"X": X[:4] + 1, "y": Y[:4], "X_train": X, "y_train": Y},
    ),
    "bounds.classification_statements": (
        bounds.classification_statements,
        {"y": Y, "predicted": 1 - Y, "scores": X[:, 0], "positive": 1},
    ),
    "bounds.report": (
        bounds.report,
        {
            "statements": {"f": lambda delta: (0.0, 1.0)},
            "delta": 0.1,
            "shares": {"f": 1.0},
        },
    ),
    "bounds.certify-metrics": (
        bounds.certify,
        {"estimator": Y, "y": 1 - Y, "metrics": ["f1"], "reject": -1, "positive": 1},
    ),
    "bounds.compare_classifiers": (
        bounds.compare_classifiers,
        {"first": Y, "second": 1 - Y, "y": Y, "delta": 0.1},
    ),
    "bounds.RiskMonitor": (
        bounds.RiskMonitor,
        {"level": 0.1, "delta": 0.1, "value_range": 1.0},
    ),
    "bounds.RiskMonitor-reference": (bounds.RiskMonitor, {"reference": np.zeros(99)}),
    "bounds.RiskMonitor.update": (
        lambda losses: bounds.RiskMonitor(0.1).update(losses).interval(),
        {"losses": [0.0, 1.0]},
    ),
    "bounds.watch": (
        lambda **given: bounds.watch(**given).proved,
        {"monitor": bounds.RiskMonitor(0.1), "losses": [0.0, 1.0], "until": "proof"},
    ),
    "bounds.compare_models": (
        lambda **given: bounds.compare_models(loss="squared", **given),
        {"first": Y, "second": 1 - Y, "y": Y, "value_range": (0, 1), "delta": 0.1},
    ),
    "calibration.reliability": (
        calibration.reliability,
        {
            "y": Y,
            "probabilities": 0.2 + 0.5 * Y,
            "n_bins": 3,
            "strategy": "quantile",
            "delta": 0.1,
            "clip": 0.01,
            "classes": [0, 1],
        },
    ),
    **{
        f"calibration.{kind.__name__}.{method}": (
            lambda kind=kind, method=method, **given: (
                kind().fit(**given)
                if method == "fit"
                else kind().fit(X[:, 0] + Y, Y).predict_proba(**given)
            ),
            {"scores": X[:, 0] + Y} | ({"y": Y} if method == "fit" else {}),
        )
        for kind in (
            calibration.IsotonicCalibrator,
            calibration.PlattCalibrator,
            calibration.TemperatureCalibrator,
            calibration.VennAbersCalibrator,
        )
        for method in ("fit", "predict_proba")
    },
    **{
        f"cluster.{name}": (
            getattr(cluster, name),
            {"labels_true": Y, "labels": Y, "sample_weight": np.ones(12)} | more,
        )
        for name, more in OF_TWO_PARTITIONS.items()
    },
    "cluster.calinski_harabasz_score": (
        cluster.calinski_harabasz_score,
        {"X": X, "labels": Y, "sample_weight": np.ones(12)},
    ),
    "cluster.consensus_matrix": (cluster.consensus_matrix, {"runs": [Y, 1 - Y], "X": X}),
    "cluster.davies_bouldin_score": (
        cluster.davies_bouldin_score,
        {"X": X, "labels": Y, "sample_weight": np.ones(12)},
    ),
    "cluster.gap_statistic": (
        cluster.gap_statistic,
        {
            "X": X,
            "n_clusters": [1, 2],
            "n_references": 2,
            "reference": "pca",
            "random_state": 1,
        },
    ),
    "cluster.affinity": (
        cluster.affinity,
        {"X": X, "kind": "rbf", "gamma": 1.0, "n_neighbors": 3},
    ),
    "cluster.clustering_cost": (
        cluster.clustering_cost,
        {"X": X, "labels": Y, "objective": "kmeans", "sample_weight": np.ones(12)},
    ),
    "cluster.cut_value": (cluster.cut_value, {"K": K, "labels": Y, "sample_weight": np.ones(12)}),
    "cluster.doubly_stochastic": (
        cluster.doubly_stochastic,
        {"K": K, "tol": 1e-9, "max_iter": 100, "solver": "newton"},
    ),
    "cluster.frobenius_projection": (
        cluster.frobenius_projection,
        {"K": K, "tol": 1e-6, "max_iter": 100},
    ),
    "cluster.min_cut": (
        cluster.min_cut,
        {"K": K, "source": 0, "sink": 3, "directed": True, "return_flow": True},
    ),
    "cluster.nearest_neighbors": (
        cluster.nearest_neighbors,
        {"X": X, "n_neighbors": 3, "queries": X[:4] + 1, "include_self": False},
    ),
    "cluster.normalize_affinity": (
        cluster.normalize_affinity,
        {"K": K, "method": "normalized_cut"},
    ),
    "cluster.normalized_association": (cluster.normalized_association, {"K": K, "labels": Y}),
    "cluster.normalized_cut_value": (cluster.normalized_cut_value, {"K": K, "labels": Y}),
    "cluster.ratio_cut_value": (cluster.ratio_cut_value, {"K": K, "labels": Y}),
    "cluster.silhouette_samples": (
        cluster.silhouette_samples,
        {"X": X, "labels": Y, "metric": "euclidean"},
    ),
    "cluster.silhouette_score": (
        cluster.silhouette_score,
        {"X": X, "labels": Y, "sample_size": 10, "sample_weight": np.ones(12)},
    ),
    "cluster.sinkhorn": (
        cluster.sinkhorn,
        {
            "K": K,
            "rows": np.ones(len(K)),
            "columns": np.ones(len(K)),
            "support": "limit",
            "tol": 1e-9,
            "method": "auto",
            "max_iter": 100,
        },
    ),
    "conformal.conformal_coverage": (
        conformal.conformal_coverage,
        {"k": [3, 4], "n": [9, 9], "delta": [0.1, 0.2]},
    ),
    "conformal.conformal_intervals": (
        lambda **given: conformal.conformal_intervals(_zeros, **given),
        {"X": X, "y": X[:, 0], "coverage": 0.6, "delta": 0.2, "scale": _ones, "groups": Y},
    ),
    "conformal.conformal_rank": (conformal.conformal_rank, {"n": 9, "coverage": 0.5, "delta": 0.1}),
    "conformal.conformal_sets": (
        lambda **given: conformal.conformal_sets(_halves, **given),
        {
            "X": X,
            "y": Y,
            "coverage": 0.6,
            "delta": 0.2,
            "score": "adaptive",
            "by_class": False,
            "groups": Y,
            "classes": [0, 1],
        },
    ),
    "conformal.conformal_threshold": (
        conformal.conformal_threshold,
        {"scores": X[:, 0], "coverage": 0.6, "delta": 0.2, "groups": Y},
    ),
    "conformal.jackknife_plus_sets": (
        lambda **given: conformal.jackknife_plus_sets(_discriminant(), **given),
        {"X": X, "y": Y, "coverage": 0.8, "score": "adaptive"},
    ),
    "conformal.weighted_thresholds": (
        conformal.weighted_thresholds,
        {
            "scores": X[:, 0],
            "sample_weight": np.ones(12),
            "new_weight": [1.0, 2.0],
            "coverage": 0.6,
        },
    ),
    "conformal.jackknife_plus": (
        lambda **given: conformal.jackknife_plus(_ridge(), **given),
        {"X": X, "y": X[:, 0], "coverage": 0.8},
    ),
    "decomposition.principal_angles": (
        decomposition.principal_angles,
        {"A": X, "B": X[:, :2] + 1},
    ),
    "entropy.entropy": (entropy.entropy, {"p": [0.5, 0.5], "base": 2.0}),
    "entropy.fit_table": (
        entropy.fit_table,
        {"table": [[1.0, 1.0], [1.0, 1.0]], "margins": {0: [3, 1], 1: [2, 2]}, "tol": 1e-9},
    ),
    "entropy.maximum_entropy": (
        entropy.maximum_entropy,
        {"features": X, "targets": [0.0, 0.0, 0.0], "prior": np.ones(12), "tol": 1e-9},
    ),
    "entropy.mutual_information": (entropy.mutual_information, {"joint": TABLE, "base": 2.0}),
    "entropy.rake": (
        entropy.rake,
        {
            "categories": [["f"], ["m"]],
            "targets": [{"f": 1, "m": 2}],
            "sample_weight": [1.0, 2.0],
            "tol": 1e-9,
        },
    ),
    "entropy.relative_entropy": (entropy.relative_entropy, {"x": [0.5, 0.5], "y": [0.1, 0.9]}),
    "kernels.center_gram": (kernels.center_gram, {"K": K}),
    "kernels.gram_matrix": (
        kernels.gram_matrix,
        {"X": X, "Y": X[:3], "kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0},
    ),
    "kernels.is_positive_semidefinite": (
        kernels.is_positive_semidefinite,
        {"K": K, "tol": 1e-9},
    ),
    "kernels.polynomial_features": (
        kernels.polynomial_features,
        {"X": X, "degree": 2, "coef0": 1.0},
    ),
    "mixture.bootstrap_lrt": (
        lambda X, n_bootstrap, alpha: mixture.bootstrap_lrt(
            X,
            mixture.BernoulliMixture(1, alpha=0),
            n_bootstrap=n_bootstrap,
            alpha=alpha,
            random_state=0,
        ),
        {"X": X[:, :2], "n_bootstrap": 4, "alpha": 0.5},
    ),
    "mixture.select_mixture": (
        lambda **given: mixture.select_mixture(random_state=0, **given),
        {"X": X[:, :1], "n_components": [1, 2], "covariance_type": "full", "criterion": "bic"},
    ),
    "online.play": (
        online.play,
        {"learner": online.WeightedMajority(2), "X": [[0, 1], [1, 1]], "y": [0, 1]},
    ),
    "online.play-hedge": (
        lambda y: online.play(online.Hedge(2), None, y),
        {"y": [[0.0, 1.0], [1.0, 0.0]]},
    ),
    "online.play-descent": (
        lambda X, y: online.play(online.OnlineGradientDescent(), X, y),
        {"X": [[0.0, 1.0], [1.0, 0.0]], "y": [1, -1]},
    ),
}
# Of files, of pictures and of fitted models, which have tests of their own.
OTHERS = {"blocks", "bounds", "datasets", "plot", "row_sums"}


def _ridge():
    from mlcore.linear_model import LinearRegression

    return LinearRegression(alpha=1.0).fit(X, X[:, 0])


def _discriminant():
    from mlcore.discriminant import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis().fit(X, Y)


def _machine():
    from mlcore.linear_model import LogisticRegression

    return LogisticRegression().fit(X, Y)


def _regression():
    from mlcore.linear_model import LinearRegression

    return LinearRegression().fit(X, Y)


def wrongs(value):
    """Things that are something else than a valid argument, by what they are."""
    found = {
        "ragged": [[1.0, 2.0], [3.0]],
        "no entries": [],
        "no rows": np.empty((0, 3)),
        "no columns": np.empty((3, 0)),
        "0-d": np.array(1.5),
        "3-d": np.zeros((2, 2, 2)),
        "4-d": np.zeros((2, 1, 2, 1)),
        "text": "text",
        "texts": ["a", "b"],
        "bytes": b"ab",
        "None": None,
        "huge": 1e308,
        "huge integer": 2**70,
        "huge integers": [[2**70, 1], [1, 2]],
        "endless integer": 10**400,
        "NaN": float("nan"),
        "infinity": float("inf"),
        "complex": 1j,
        "object": object(),
        "objects": np.array([object(), None]),
        "None inside": [[1.0, None], [2.0, 3.0]],
        "set": {1, 2},
        "dict": {"a": 1},
        "generator": (i for i in range(3)),
        "function": len,
        "type": int,
        "True": True,
        "negative": -1,
        "date": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
        "sparse": sp.csr_array(np.eye(2)),
        "frame": pd.DataFrame({"a": ["x", "y"]}),
        "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    }
    array = None
    if isinstance(value, (list, np.ndarray)) and not isinstance(value[0], dict):
        array = np.array(value)
    if array is not None and array.dtype.kind in "biuf":
        real = array.astype(float)
        found |= {
            "too short": array[:-1],
            "too long": np.concatenate([array, array[:1]]),
            "huge values": np.full(array.shape, 1e308),
            "tiny values": np.full(array.shape, 1e-300),
            "NaN values": np.full(array.shape, np.nan),
            "an infinity": np.where(np.arange(array.size).reshape(array.shape) == 1, -np.inf, real),
            "complex values": array + 1j,
            "text values": array.astype(str),
            "negative values": -1 - abs(real),
            "zeros": np.zeros(array.shape),
            "one more axis": array[..., None],
            "as objects": array.astype(object),
        }
    return found


FOREIGN = re.compile(
    r"inhomogeneous|zero-size|cannot reshape|could not convert|is not iterable|has no len|"
    r"unsupported operand|out of bounds|be broadcast|array element with a sequence|is ambiguous|"
    r"not subscriptable|ufunc|must be real number|not supported between|unhashable|attribute|"
    r"operands|int\(\) argument|float\(\) argument|cannot convert|too large to convert|"
    r"only integer|only length-1|invalid literal|positional argument|axis \d|unsized|"
    r"Singular matrix|not aligned|dimension mismatch|index \d+ is|over a 0-d|SVD did not"
)
# An error may name the other argument of two that contradict each other, and what they hold.
ALSO = ("Reshape your data", "n?_?samples?", "Complex data", "features?", "predictions", "points")
# Functions of the user, whose own errors pass unchanged.
CALLED = {"kernel", "kind", "metric", "estimator", "first", "second", "features", "predictions"}


def fault(call, name, given, what):
    """Return what is wrong with the outcome of a call whose argument `name` is `what`, if any."""
    before = copy.deepcopy(given[name]) if what != "generator" else None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = call(**given)
        except (ValueError, TypeError, MemoryError) as error:
            text = str(error)
            if what in ("function", "type") and name in CALLED:
                return None
            if FOREIGN.search(text):
                return f"the words of another library: {text[:150]}"
            if not any(re.search(rf"\b{word}\b", text, re.I) for word in (*given, *ALSO)):
                return f"does not name {name}: {text[:150]}"
            result = None
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:150]}"
    for warning in told:
        ours = issubclass(warning.category, UserWarning)
        if not ours or FOREIGN.search(str(warning.message)):
            return f"{warning.category.__name__}: {str(warning.message)[:100]}"
    if isinstance(before, np.ndarray) and before.dtype.kind in "biufc":
        if not np.array_equal(before, given[name], equal_nan=True):
            return "changed what was given"
    if _has_nan(result):
        return f"NaN in {str(result)[:100]}"
    return None


def _has_nan(result):
    if isinstance(result, tuple):
        return any(map(_has_nan, result))
    if isinstance(result, np.ma.MaskedArray):
        result = result.compressed()
    if isinstance(result, (float, np.ndarray)) and np.asarray(result).dtype.kind == "f":
        return bool(np.isnan(result).any())
    return False


def faults(call, valid):
    found = []
    for name, value in valid.items():
        for what, wrong in wrongs(value).items():
            told = fault(call, name, {**copy.deepcopy(valid), name: wrong}, what)
            if told:
                found.append(f"{name} = {what}: {told}")
    return found


def test_every_function_has_a_valid_call():
    wanted = {
        f"{family}.{name}"
        for family in set(mlcore.__all__) - OTHERS
        if inspect.ismodule(module := getattr(mlcore, family))
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    assert wanted - set(CALLS) == set()


@pytest.mark.parametrize("function", CALLS)
def test_functions_name_the_wrong_argument(function):
    call, valid = CALLS[function]
    call(**copy.deepcopy(valid))
    assert faults(call, valid) == []


def arguments(method, X, y):
    """Valid data for the parameters of a method that takes data, by their names."""
    data = {"X": X, "y": y, "Y": y, "sample_weight": np.ones(len(X)), "offset": np.zeros(len(X))}
    return {
        name: data[name]
        for name in inspect.signature(method).parameters
        if data.get(name) is not None
    }


def brief(model):
    """Return a model that gives up soon."""
    few = {"max_iter": 20} if "max_iter" in model.get_params() else {}
    return model.set_params(**few)


METHODS = (
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "score", "score_samples", "transform", "verify", "leave_one_out", "fit_predict", "decide",
    "risk",
)  # fmt: skip


@one_of_each_class
def test_methods_name_the_wrong_argument(entry):
    samples = entry.draw()
    targets = entry.targets(samples)
    fitted, found = plain_fit(entry), []
    for method in METHODS:
        if not hasattr(fitted, method):
            continue
        fits = method in ("fit", "partial_fit", "fit_predict")

        def call(fits=fits, method=method, **given):
            model = brief(entry.make()) if fits else fitted
            result = getattr(model, method)(**given)
            return None if fits else result

        valid = arguments(getattr(fitted, method), samples, targets)
        found += [f"{method}: {text}" for text in faults(call, valid)]
    assert found == []
