"""What results print: short tables, whatever their size."""

import inspect
import re

import numpy as np
from each import each

import mlcore
from mlcore.bayes import (
    BetaBernoulli,
    DirichletCategorical,
    JointTable,
    NormalMean,
    SequentialBayes,
    minimum_risk,
)
from mlcore.blocks import row_blocks
from mlcore.bounds import (
    RiskMonitor,
    certify,
    classification_statements,
    compare_classifiers,
    compare_models,
    report,
    watch,
)
from mlcore.calibration import (
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
    reliability,
)
from mlcore.cluster import (
    HDBSCAN,
    clustering_report,
    doubly_stochastic,
    frobenius_projection,
    gap_statistic,
    min_cut,
    sinkhorn,
)
from mlcore.conformal import (
    conformal_intervals,
    conformal_sets,
    conformal_threshold,
    jackknife_plus,
    jackknife_plus_sets,
)
from mlcore.decomposition import CCA, PCA, principal_angles
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.entropy import fit_table, maximum_entropy, rake
from mlcore.estimator.printed import fields_as_table
from mlcore.kernel_ridge import KernelRidge
from mlcore.linear_model import ElasticNet, LinearRegression, LogisticRegression
from mlcore.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    bootstrap_lrt,
    select_mixture,
)
from mlcore.online import Hedge, play
from mlcore.svm import SVC, LinearSVC

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(200, 12)), RNG.normal(size=(200, 12))
Y = X[:, 0] + RNG.normal(size=200)
K = np.exp(-((X[:, None, :2] - X[:, :2]) ** 2).sum(axis=2))
MANY = np.full(500, 1 / 500)
HALVES = np.full((200, 2), 0.5)
RESULTS = {
    "BetaBernoulli": lambda: BetaBernoulli().update(7, 1),
    "Blocks": lambda: row_blocks(X, Y),
    "Certificate": lambda: certify(Y > 0, y=X[:, 0] > 0),
    "ClusteringReport": lambda: clustering_report(Y > 0, X[:, 0] > 0),
    "Comparison": lambda: compare_classifiers(Y > 0, Y > 0.1, y=X[:, 0] > 0),
    "ConformalIntervals": lambda: conformal_intervals(lambda Z: Z[:, 0], X, Y),
    "ConformalSets": lambda: conformal_sets(
        lambda Z: np.full((len(Z), 2), 0.5), X, np.arange(200) % 2, classes=[0, 1]
    ),
    "ConformalThreshold": lambda: conformal_threshold(Y, groups=np.arange(200) % 20),
    "Decisions": lambda: minimum_risk(np.full((500, 2), 0.5), [[0, 1], [1, 0]]),
    "DimensionTest": lambda: CCA(12).fit(X, W).dimension_test(),
    "DirichletCategorical": lambda: DirichletCategorical(MANY),
    "DoublyStochastic": lambda: doubly_stochastic(K),
    "FittedTable": lambda: fit_table(np.ones((40, 40)), {0: np.ones(40), 1: np.ones(40)}),
    "FrobeniusProjection": lambda: frobenius_projection(K),
    "Game": lambda: play(Hedge(2), None, RNG.random((1000, 2))),
    "GapStatistic": lambda: gap_statistic(X, n_references=2, random_state=0),
    "Independence": lambda: JointTable(np.ones((30, 30))).independence(0, 1),
    "IsotonicCalibrator": lambda: IsotonicCalibrator().fit(Y, X[:, 0] > 0),
    "JackknifeIntervals": lambda: jackknife_plus(LinearRegression().fit(X, Y), X, Y),
    "JackknifeSets": lambda: jackknife_plus_sets(
        LinearDiscriminantAnalysis().fit(X, Y > 0), X, Y > 0
    ),
    "JointTable": lambda: JointTable(np.ones((30, 30)), names=["h", "x"]),
    "LikelihoodRatio": lambda: LinearRegression().fit(X, Y).inference().likelihood_ratio,
    "LinearInference": lambda: LinearRegression().fit(X, Y).inference(),
    "CondensedTree": lambda: HDBSCAN().fit(X).condensed_tree_,
    "CostPath": lambda: LinearSVC().path(X, Y > 0, Cs=[0.1, 1.0]),
    "PenaltyPath": lambda: ElasticNet().path(X, Y),
    "LinearPath": lambda: LinearRegression().fit(X, Y).path(np.logspace(-3, 3, 40)),
    "LossComparison": lambda: compare_models(
        X[:, 0] > 1, X[:, 0], y=X[:, 0], loss="squared", value_range=(-9, 9)
    ),
    "LogisticPath": lambda: LogisticRegression().path(X, Y > 0),
    "LogisticVerification": lambda: LogisticRegression().fit(X, Y > 0).verify(X, Y > 0),
    "MaximumEntropy": lambda: maximum_entropy(X, np.zeros(12)),
    "Scaling": lambda: sinkhorn(K),
    "MinCut": lambda: min_cut(K),
    "MixtureSelection": lambda: select_mixture(X[:, :2], n_components=[1, 2], random_state=0),
    "Optimality": lambda: SVC().fit(X, Y > 0).verify(X, Y > 0),
    "NormalMean": lambda: NormalMean().update(MANY),
    "PCAVerification": lambda: PCA(2).fit(X).verify(X),
    "PlattCalibrator": lambda: PlattCalibrator().fit(Y, X[:, 0] > 0),
    "PrincipalAngles": lambda: principal_angles(X, W),
    "BootstrapLRT": lambda: bootstrap_lrt(X > 0, BernoulliMixture(1), n_bootstrap=2),
    "ProbabilityTable": lambda: CategoricalMixture(1).fit([["a"], ["b"]]).probabilities_table(),
    "StandardErrors": lambda: GaussianMixture(1).fit(X).standard_errors(X),
    "Report": lambda: report(classification_statements(Y > 0, X[:, 0] > 0)),
    "RiskMonitor": lambda: RiskMonitor(0.1).update(Y > 0),
    "Raking": lambda: rake([["a"], ["b"]] * 300, [{"a": 1, "b": 2}]),
    "Reliability": lambda: reliability(Y > 0, HALVES[:, 0], n_bins=100),
    "RidgePath": lambda: KernelRidge().fit(X, Y).path(np.logspace(-3, 3, 40)),
    "RidgeVerification": lambda: KernelRidge().fit(X, Y).verify(X, Y),
    "SequentialBayes": lambda: SequentialBayes(MANY),
    "Watch": lambda: watch(RiskMonitor(0.1), [Y > 0]),
    "TemperatureCalibrator": lambda: TemperatureCalibrator().fit(Y, X[:, 0] > 0),
    "TreeVerification": lambda: HDBSCAN().fit(X).verify(X),
    "VennAbersCalibrator": lambda: VennAbersCalibrator().fit(Y, X[:, 0] > 0),
}
OF_NO_RESULT = {  # what users subclass or annotate with, and parts of the results above
    "Bound",
    "Calibrator",
    "ClassRates",
    "MetricInterval",
    "Estimate",
    "Inference",
    "InfeasibleTargets",
    "Kernel",
    "Picture",
    "PlattSigmoid",
    "PrincipalAngles",
    "RowSums",
    "Statement",
}


def public_classes():
    for family in mlcore.__all__:
        module = getattr(mlcore, family)
        if inspect.ismodule(module):
            for name in module.__all__:
                if inspect.isclass(found := getattr(module, name)):
                    yield name, found


@each("name", RESULTS)
def test_results_print_a_short_table(name):
    result = RESULTS[name]()
    for text in (repr(result), str(result)):
        assert " object at 0x" not in text and "<function" not in text
        assert len(text) < 2000 and text.strip()
        assert max(map(len, text.split("\n"))) <= 200


def test_every_public_class_of_results_is_among_them():
    results = {
        name
        for name, kind in public_classes()
        if not hasattr(kind, "get_params") and not issubclass(kind, Exception)
    }
    assert results - set(RESULTS) <= OF_NO_RESULT


@each(("name", "kind"), [pair for pair in public_classes() if hasattr(pair[1], "get_params")])
def test_models_print_their_parameters(name, kind):
    required = [
        p.name
        for p in inspect.signature(kind).parameters.values()
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    text = repr(kind(**dict.fromkeys(required, 2)))
    assert text.startswith(f"{name}(") and " object at 0x" not in text and len(text) < 400


def test_a_long_array_is_its_shape_and_range():
    table = fields_as_table(play(Hedge(2), None, RNG.random((1000, 2))))
    lines = table.split("\n")
    assert lines[0] == "Game" and len(lines) == 6
    assert re.search(r"losses +float64 of shape \(1000,\), from 0\.\d+ to 0\.\d+", table)
    small = repr(JointTable([[1, 2, 1], [0, 2, 2]], names=["h", "x"]))
    assert "[0.125 0.25  0.125]" in small and "('h', 'x')" in small
