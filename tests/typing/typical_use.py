"""What users write, in functions of declared types: type checkers find nothing wrong with it.

It runs too, so that what the types say is what happens.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import mlcore
from mlcore.bounds import (
    binomial_tail_inversion,
    certify,
    known_vc_dimension,
    vc_dimension,
    vc_sample_size,
)
from mlcore.cluster import (
    AgglomerativeClustering,
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    MiniBatchKMeans,
    ProbabilisticClustering,
    SpectralClustering,
    min_cut,
    silhouette_score,
)
from mlcore.datasets import load_iris
from mlcore.kernel_ridge import KernelRidge
from mlcore.kernels import GramCenterer, gram_matrix
from mlcore.mixture import (
    PLSA,
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
    select_mixture,
)
from mlcore.online import Halving, StandardOptimalAlgorithm, WeightedMajority
from mlcore.row_sums import RowSums
from mlcore.svm import SVC, SVCCV, SVR, NuSVC, NuSVR, OneClassSVM

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]


def classify(X: Matrix, y: Labels) -> float:
    machine = SVC(C=10, gamma="scale", probability=True, random_state=0).fit(X, y)
    chances = machine.predict_proba(X[:3])
    n_vectors = int(machine.n_support_.sum())
    gap = float(np.max(machine.duality_gap_))
    corners = machine.support_vectors_[:, :2].min(axis=0)
    names: list[str] = [str(name) for name in machine.classes_]
    print(chances.shape, n_vectors, gap, corners, names, machine.converged_, machine.gamma_)
    print(NuSVC(nu=0.1).fit(X, y).rho_.shape, machine.verify(X, y).kkt_violation)
    chosen = SVCCV(Cs=(1.0, 10.0), gammas=("scale",), cv=3).fit(X, y)
    print(chosen.C_, chosen.best_score_, chosen.cv_results_["mean_test_score"].max())
    report = certify(machine, X, y, role="train", n_hypotheses=100)
    print(report.best.value if report.best is not None else "none")
    return machine.score(X, y)


def regress(X: Matrix, y: Matrix) -> Matrix:
    machine = SVR(kernel=gram_matrix, C=10.0, epsilon=0.05).fit(X, y)
    evidence: list[float] = [machine.duality_gap_, machine.primal_objective_]
    print(evidence, machine.n_iter_, machine.intercept_[0], NuSVR().fit(X, y).epsilon_)
    outliers = OneClassSVM(nu=0.1).fit_predict(X) < 0
    residuals: Matrix = y - machine.predict(X)
    return residuals[~outliers]


def group(X: Matrix) -> dict[str, Labels]:
    means = KMeans(n_clusters=3, init=X[:3], random_state=0).fit(X)
    batches = MiniBatchKMeans(3, random_state=0).partial_fit(X[:50]).partial_fit(X[50:])
    print(means.inertia_, means.objective_trace_[-1], batches.counts_.sum(), batches.n_steps_)
    tree = AgglomerativeClustering(n_clusters=None, distance_threshold=2.0).fit(X)
    height: float = tree.distances_.max()
    print(height, tree.n_clusters_, tree.linkage_matrix_.shape, tree.children_[:2])
    graph = SpectralClustering(3, random_state=0).fit(X)
    print(graph.eigengaps_.round(2), graph.objective_bound_ - graph.objective_)
    parts = ProbabilisticClustering(3, random_state=0).fit(X)
    kernel = KernelKMeans(3, random_state=0).fit(X)
    print(parts.probabilities_.sum(axis=1), kernel.center_squared_norms_, kernel.predict(X[:2]))
    print(KMedoids(3, random_state=0).fit(X).medoid_indices_, KMedians(3).fit(X).inertia_)
    print(silhouette_score(X, means.labels_), min_cut(gram_matrix(X[:20])).value)
    print(GramCenterer().fit(gram_matrix(X)).mean_)
    return {"k-means": means.labels_, "tree": tree.labels_, "spectral": graph.labels_}


def mix(X: Matrix, counts: Labels, folder: Path) -> float:
    mixture = GaussianMixture(3, covariance_type="full", random_state=0).fit(X)
    mlcore.save(mixture, folder / "mixture.npz")
    again: GaussianMixture = mlcore.load(folder / "mixture.npz")
    rows, components = again.sample(10)
    print(rows.shape, components.max(), mixture.means_[0], mixture.covariances_.shape)
    print(mixture.weights_.sum(), mixture.lower_bound_, mixture.n_iter_, mixture.converged_)
    best = select_mixture(X, n_components=[1, 2, 3]).best
    print(best.bic(X), best.score_samples(X).mean(), best.predict_proba(X)[0])
    words = MultinomialMixture(2, random_state=0).fit(counts)
    topics = PLSA(2, max_iter=1000, random_state=0).fit(counts)
    print(words.means_.shape, topics.components_.shape, topics.perplexity(counts))
    answers = CategoricalMixture(2, max_iter=1000, random_state=0).fit(counts)
    print(len(answers.probabilities_), [values.size for values in answers.categories_])
    bits = BernoulliMixture(2, binarize=1.0, random_state=0).fit(counts)
    trials = BinomialMixture(2, n_trials=4, random_state=0).fit(counts)
    print(bits.means_.max(), trials.mean_totals_.shape, trials.collapsed_components_)
    return mixture.aic(X)


def in_blocks(model: RowSums, X: Matrix) -> None:
    model.begin(X)
    for _ in range(3):
        model.update(model.merge(*(model.partial_statistics(block) for block in (X[::2], X[1::2]))))


def game(labels: list[int]) -> int:
    thresholds = [[int(x >= a) for x in range(3)] for a in range(4)]
    points = list(range(3)) * (len(labels) // 3)
    learner = Halving(thresholds).partial_fit(points, [0, 0, 1] * (len(labels) // 3))
    best = StandardOptimalAlgorithm(thresholds).update(2, 1)
    print(learner.n_possible_, best.predict([0, 1]), best.concepts_[best.possible_].tolist())
    experts = WeightedMajority(2, beta=0.5).partial_fit([[0, 1]] * len(labels), labels)
    print(experts.weights_, experts.predict_one([1, 0]))
    return learner.mistakes_ + experts.mistakes_


def promise(errors: int, n: int) -> float:
    d = known_vc_dimension("halfspaces", n=4)
    print(vc_sample_size(d, 0.1, 0.05), mlcore.__version__)
    assert_type(binomial_tail_inversion(errors, n, 0.05), float)
    assert_type(vc_dimension([[0, 1]], return_set=True), tuple[int, tuple[int, ...]])
    return binomial_tail_inversion(errors, n, 0.05)


def deviations(X: Matrix, y: Matrix) -> float:
    ridge = KernelRidge(kernel="rbf", alpha="loo").fit(X, y)
    means, errors = ridge.predict(X[:3], return_std=True)
    assert_type(ridge.predict(X[:3]), NDArray[Any])
    return float(np.abs(means - y[:3]).max() + errors.max())


def main(folder: Path) -> None:
    X, y = load_iris()
    counts = np.random.default_rng(0).integers(0, 4, size=(60, 5))
    print(classify(X, y), regress(X[:, :3], X[:, 3]).std(), sorted(group(X)))
    print(mix(X, counts, folder), promise(3, 200), deviations(X[:, :3], X[:, 3]), game([0, 1, 1]))
    models: list[RowSums] = [KMeans(3), MiniBatchKMeans(3), GaussianMixture(2), PLSA(2)]
    for model in models:
        in_blocks(model, X)
