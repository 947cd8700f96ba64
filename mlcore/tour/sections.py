"""The sections of the tour: models on the handwritten digits that mlcore ships.

A section is a generator of lines, listed in `SECTIONS`; its docstring is its heading.
"""

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class Digits(NamedTuple):
    """Images and labels to learn from, and held-out ones, in file order."""

    X: np.ndarray
    y: np.ndarray
    X_held_out: np.ndarray
    y_held_out: np.ndarray


def gram_matrices(digits: Digits) -> Iterator[str]:
    """Gram matrix: all pairs of images at once"""
    from mlcore.kernels import gram_matrix, is_positive_semidefinite

    X = np.vstack([digits.X, digits.X_held_out])
    gamma = 0.1
    start = time.perf_counter()
    K = gram_matrix(X, kernel="rbf", gamma=gamma)
    seconds = time.perf_counter() - start
    sample = X[::100]
    definition = np.exp(-gamma * ((sample[:, None] - X) ** 2).sum(axis=2))
    error = np.abs(K[::100] - definition).max()
    exact = np.array_equal(K, K.T) and np.all(K.diagonal() == 1)
    for what, value in (
        (f"rbf kernel, {len(X)} × {len(X)} values", _duration(seconds)),
        (f"largest error among {definition.size}, each formed by its definition", f"{error:.0e}"),
        ("exactly symmetric, diagonal exactly 1", "yes" if exact else "no"),
        ("smallest eigenvalue", f"{is_positive_semidefinite(K)[1]:.0e}"),
    ):
        yield _line(what, value)


def support_vector_machines(digits: Digits) -> Iterator[str]:
    """Support vector machines: the result, and how near to the optimum it is"""
    from mlcore.svm import SVC, SVR, NuSVC, OneClassSVM

    yield _row("machine", "on held-out images", "vectors", "gap", "relative", "KKT", "time")
    yield "  " + "─" * (len(_row(*[""] * 7)) - 2)

    X, y, X_held_out, y_held_out = digits
    for name, model in (
        ("SVC rbf, C=10", SVC(C=10)),
        ("SVC polynomial, C=1", SVC(kernel="polynomial", C=1)),
        ("SVC linear, C=1", SVC(kernel="linear", C=1)),
        ("NuSVC rbf, nu=0.05", NuSVC(nu=0.05)),
    ):
        seconds = _fit_time(model, X, y)
        right = model.score(X_held_out, y_held_out)
        yield _evidence(name, f"{right:.1%} named right", model, seconds)

    pixel = 35  # near the middle, where the digits differ most
    model = SVR(C=1, epsilon=0.05)
    seconds = _fit_time(model, np.delete(X, pixel, axis=1), X[:, pixel])
    r2 = model.score(np.delete(X_held_out, pixel, axis=1), X_held_out[:, pixel])
    yield _evidence("SVR rbf, one pixel", f"R² {r2:.2f} from the others", model, seconds)

    model = OneClassSVM(nu=0.05, gamma=0.01)
    seconds = _fit_time(model, X)
    kept = np.mean(model.predict(X_held_out) == 1)
    scrambled = np.random.default_rng(0).permuted(X_held_out, axis=1)
    refused = np.mean(model.predict(scrambled) == -1)
    result = f"keeps {kept:.0%}, noise {1 - refused:.0%}"
    yield _evidence("OneClassSVM nu=0.05", result, model, seconds)

    yield ""
    yield "  gap: primal minus dual objective, which bounds the distance to the optimum; relative"
    yield "  to the dual. KKT: largest violation of the optimality conditions; tol is 1e-3."
    yield "  noise: the same images with their pixels in random order."


def model_selection(digits: Digits) -> Iterator[str]:
    """SVCCV: C and gamma chosen by cross-validation"""
    from mlcore.svm import SVCCV

    search = SVCCV()
    seconds = _fit_time(search, digits.X, digits.y)
    n_pairs = len(search.cv_results_["mean_test_score"])
    right = search.score(digits.X_held_out, digits.y_held_out)
    for what, value in (
        (f"{n_pairs} pairs, {search.cv} folds", _duration(seconds)),
        ("chosen", f"C={search.C_:g}, gamma={search.gamma_:.2g}"),
        ("named right, mean over the folds", f"{search.best_score_:.1%}"),
        ("named right, held-out images", f"{right:.1%}"),
    ):
        yield _line(what, value)


def clustering(digits: Digits) -> Iterator[str]:
    """KMeans: the images grouped without their labels"""
    from mlcore.cluster import (
        KernelKMeans,
        KMeans,
        adjusted_rand_index,
        clustering_cost,
        silhouette_score,
    )
    from mlcore.kernels import gram_matrix

    # Cluster the images themselves.
    model = KMeans(n_clusters=10, n_init=10, random_state=0)
    seconds = _fit_time(model, digits.X)
    commonest = [np.bincount(digits.y[model.labels_ == j]).max() for j in range(10)]
    own = model.cluster_centers_[model.labels_]
    agreement = adjusted_rand_index(digits.y, model.labels_)
    for what, value in (
        (f"{len(own)} images, best of {model.n_init} starts", _duration(seconds)),
        ("steps of the best, until the centres stood still", f"{model.n_iter_}"),
        ("inertia: squared distances of images from their centres", f"{model.inertia_:.2f}"),
        ("the same by its definition", f"{((digits.X - own) ** 2).sum():.2f}"),
        ("what the digits would cost as clusters", f"{clustering_cost(digits.X, digits.y):.2f}"),
        ("show the commonest digit of their cluster", f"{sum(commonest) / len(own):.1%}"),
        ("adjusted Rand index with the digits", f"{agreement:.2f}"),
        ("mean silhouette", f"{silhouette_score(digits.X, model.labels_):.2f}"),
    ):
        yield _line(what, value)

    # Cluster them in the feature space of a kernel.
    model = KernelKMeans(n_clusters=10, n_init=10, random_state=0)
    seconds = _fit_time(model, digits.X)
    K = gram_matrix(digits.X, gamma=model.gamma_)
    G = np.eye(10)[model.labels_] / np.sqrt(np.bincount(model.labels_))
    for what, value in (
        (f"KernelKMeans, rbf kernel, best of {model.n_init} starts", _duration(seconds)),
        ("inertia in feature space", f"{model.inertia_:.4f}"),
        (
            "the same as tr(K) - tr(G'KG), G the scaled clusters",
            f"{K.trace() - (G * (K @ G)).sum():.4f}",
        ),
    ):
        yield _line(what, value)


def medoids(digits: Digits) -> Iterator[str]:
    """KMedoids: the images that stand for the others, by any distance"""
    from mlcore.cluster import KMedoids

    model = KMedoids(n_clusters=10, metric="cityblock", random_state=0)
    seconds = _fit_time(model, digits.X)
    shown = digits.y[model.medoid_indices_]
    same = np.mean(shown[model.labels_] == digits.y)
    for what, value in (
        (f"{len(digits.X)} images, sums of absolute differences", _duration(seconds)),
        ("swaps, until no image was worth one", f"{len(model.objective_trace_) - 1}"),
        ("digits that the 10 medoids show", f"{len(set(shown.tolist()))}"),
        ("images of the digit that their medoid shows", f"{same:.1%}"),
    ):
        yield _line(what, value)


def affinities(digits: Digits) -> Iterator[str]:
    """SpectralClustering, ProbabilisticClustering: the images as a graph of affinities"""
    from mlcore.cluster import ProbabilisticClustering, SpectralClustering

    spectral = SpectralClustering(10, gamma=0.3, random_state=0)
    seconds = _fit_time(spectral, digits.X)
    soft = ProbabilisticClustering(10, gamma=0.3, random_state=0)
    soft_seconds = _fit_time(soft, digits.X)

    def shared(labels):
        return sum(np.bincount(digits.y[labels == j]).max() for j in set(labels)) / len(labels)

    for what, value in (
        (f"spectral, {spectral.n_iter_} passes over the affinities", _duration(seconds)),
        ("largest residual of an eigenvector", f"{spectral.residuals_.max():.0e}"),
        ("normalized cut", f"{10 - spectral.objective_:.2f}"),
        ("that of any ten clusters is at least", f"{10 - spectral.objective_bound_:.2f}"),
        ("show the commonest digit of their cluster", f"{shared(spectral.labels_):.1%}"),
        (f"probabilistic, {soft.n_iter_} sweeps", _duration(soft_seconds)),
        ("show the commonest digit of their likeliest cluster", f"{shared(soft.labels_):.1%}"),
    ):
        yield _line(what, value)


def hierarchies(digits: Digits) -> Iterator[str]:
    """AgglomerativeClustering: the images in a tree, nearest clusters together"""
    from mlcore.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(10, linkage="ward")
    seconds = _fit_time(model, digits.X)
    commonest = [np.bincount(digits.y[model.labels_ == j]).max() for j in range(10)]
    halves = AgglomerativeClustering(2, linkage="ward").fit_predict(digits.X)
    a, b = (digits.X[halves == j] for j in range(2))
    share = 2 * len(a) * len(b) / (len(a) + len(b))
    height = np.sqrt(share) * np.linalg.norm(a.mean(axis=0) - b.mean(axis=0))
    for what, value in (
        (
            f"{model.n_leaves_} images, {len(model.distances_)} merges, Ward's linkage",
            _duration(seconds),
        ),
        ("height of the last merge", f"{model.distances_[-1]:.6f}"),
        ("the same by its definition", f"{height:.6f}"),
        ("show the commonest digit of their cluster, of 10", f"{sum(commonest) / len(halves):.1%}"),
    ):
        yield _line(what, value)


def mixtures(digits: Digits) -> Iterator[str]:
    """Mixture of Gaussians: the likelihood of images, and how EM climbed it"""
    from mlcore.mixture import GaussianMixture

    mixture = GaussianMixture(10, covariance_type="tied", random_state=0)
    seconds = _fit_time(mixture, digits.X)
    scrambled = np.random.default_rng(0).permuted(digits.X_held_out, axis=1)
    steps = np.diff(mixture.log_likelihood_trace_)
    for what, value in (
        (f"10 components of one covariance, {mixture.n_iter_} steps of EM", _duration(seconds)),
        ("mean log-likelihood of an image", f"{mixture.score(digits.X):.1f}"),
        ("of a held-out image", f"{mixture.score(digits.X_held_out):.1f}"),
        ("of the same with its pixels in random order", f"{mixture.score(scrambled):.2g}"),
        ("least gain of a step", f"{steps.min():.0e}"),
    ):
        yield _line(what, value)


def projections(digits: Digits) -> Iterator[str]:
    """PCA, CCA: few directions of many pixels, and how exact they are"""
    from mlcore.decomposition import CCA, PCA

    X, _, held_out, _ = digits
    model = PCA(16)
    seconds = _fit_time(model, X)
    least, most = model.explained_fraction_bounds_
    left = held_out - model.inverse_transform(model.transform(held_out))
    share = 1 - (left**2).sum() / ((held_out - X.mean(axis=0)) ** 2).sum()
    halves = CCA(2)
    upper, lower = (slice(None, 32), slice(32, None))
    cca_seconds = _fit_time(halves, X[:, upper], X[:, lower])
    variates = halves.transform(held_out[:, upper], held_out[:, lower])
    again = np.corrcoef(np.hstack(variates), rowvar=False)[0, 2]
    for what, value in (
        ("PCA, 16 components of 64 pixels", _duration(seconds)),
        ("share of the variance that they explain", f"{model.explained_variance_ratio_.sum():.4f}"),
        ("bounds of what the best 16 directions explain", f"{least:.4f} to {most:.4f}"),
        ("sine of the angle to the exact components at most", f"{model.angle_bounds_.max():.0e}"),
        ("share of the variance of held-out images", f"{share:.4f}"),
        ("CCA, upper half and lower half of the images", _duration(cca_seconds)),
        ("first canonical correlation", f"{halves.canonical_correlations_[0]:.3f}"),
        ("of the same variates of held-out images", f"{again:.3f}"),
    ):
        yield _line(what, value)


def novelties(digits: Digits) -> Iterator[str]:
    """KernelPCA: what the components of images leave of others"""
    from mlcore.tour.novelties import residuals

    yield from (_line(what, value) for what, value in residuals(digits))


def discriminants(digits: Digits) -> Iterator[str]:
    """Probabilities of classes: discriminant analysis, naive Bayes, logistic regression"""
    from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from mlcore.linear_model import LogisticRegression
    from mlcore.naive_bayes import BernoulliNB

    for name, model in (
        ("linear, shrinkage by Ledoit and Wolf", LinearDiscriminantAnalysis(shrinkage="auto")),
        ("quadratic, reg_param=0.1", QuadraticDiscriminantAnalysis(reg_param=0.1)),
        ("naive Bayes, pixels brighter than 1/3", BernoulliNB(binarize=1 / 3)),
        ("logistic, C=1", LogisticRegression()),
    ):
        seconds = _fit_time(model, digits.X, digits.y)
        right = model.score(digits.X_held_out, digits.y_held_out)
        yield _line(f"{name}: fit", _duration(seconds))
        yield _line("named right, held-out images", f"{right:.1%}")


def ridge_regression(digits: Digits) -> Iterator[str]:
    """KernelRidge: one pixel from the others"""
    from mlcore.kernel_ridge import KernelRidge

    pixel = 35
    model = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1)
    seconds = _fit_time(model, np.delete(digits.X, pixel, axis=1), digits.X[:, pixel])
    others = np.delete(digits.X_held_out, pixel, axis=1)
    r2 = model.score(others, digits.X_held_out[:, pixel])
    errors = model.leave_one_out()
    for what, value in (
        (f"rbf kernel, {len(digits.X)} images", _duration(seconds)),
        ("duality gap, over the objective", f"{model.duality_gap_ / model.objective_:.0e}"),
        ("rounding and gap change no prediction by more than", f"{model.prediction_bound_:.0e}"),
        ("root of the mean squared leave-one-out error", f"{np.sqrt(np.mean(errors**2)):.3f}"),
        ("R² on held-out images", f"{r2:.2f}"),
    ):
        yield _line(what, value)


def decisions(digits: Digits) -> Iterator[str]:
    """Decisions by costs, and maximum entropy"""
    from mlcore.tour.decisions import costs_and_means

    yield from (_line(what, value) for what, value in costs_and_means(digits))


def rounds(digits: Digits) -> Iterator[str]:
    """Rounds: learners whose mistakes are bounded"""
    from mlcore.tour.rounds import mistakes_and_bounds

    yield from (_line(what, value) for what, value in mistakes_and_bounds(digits))


def strings(digits: Digits) -> Iterator[str]:
    """Strings and sets: kernels of what is no vector"""
    from mlcore.tour.strings import strings_and_sets

    yield from (_line(what, value) for what, value in strings_and_sets(digits))


def certificates(digits: Digits) -> Iterator[str]:
    """certify: what may be promised of a machine, with 95% confidence"""
    from mlcore.bounds import certify
    from mlcore.bounds.certificates.report import rounded
    from mlcore.svm import SVC

    svm = SVC(C=10).fit(digits.X, digits.y)
    certificate = certify(svm, digits.X_held_out, digits.y_held_out)
    k, m = certificate.inputs["k"], certificate.inputs["m"]
    yield _line(f"SVC rbf, C=10: errors on {m} held-out images", f"{k}")
    for bound in certificate.bounds:
        yield _line(f"true error at most, {bound.name}", rounded(bound))
    yield _line("and no less than, if both ends are wanted", rounded(certificate.lower))
    goal = 0.04
    for what, rate in (("as before", k / m), ("never", 0.0)):
        number = certificate.required(goal, error_rate=rate)
        yield _line(f"fresh images that prove {goal:.0%}, if it errs {what}", f"{number}")

    pair = (3, 8)
    keep, fresh = np.isin(digits.y, pair), np.isin(digits.y_held_out, pair)
    svm = SVC(kernel="linear", C=0.1).fit(digits.X[keep], digits.y[keep])
    learned = certify(svm, digits.X[keep], digits.y[keep], role="train")
    tested = certify(svm, digits.X_held_out[fresh], digits.y_held_out[fresh])
    yield _line("SVC linear, 3 against 8: by its held-out images", rounded(tested.best))
    for bound in learned.bounds[:2]:
        yield _line(f"by those it learnt from, {bound.name}", rounded(bound))


SECTIONS = (
    gram_matrices,
    support_vector_machines,
    model_selection,
    clustering,
    medoids,
    affinities,
    hierarchies,
    mixtures,
    projections,
    novelties,
    discriminants,
    ridge_regression,
    decisions,
    rounds,
    strings,
    certificates,
)


def _line(what: str, value: str) -> str:
    return f"  {what:<70}{value:>20}"


def _row(model: str, result: str, *numbers: str) -> str:
    vectors, gap, relative, kkt, seconds = numbers
    return f"  {model:<21}{result:<24}{vectors:>8}{gap:>9}{relative:>10}{kkt:>9}{seconds:>9}"


def _evidence(name: str, result: str, model, seconds: float) -> str:
    gap = np.sum(model.duality_gap_)
    return _row(
        name,
        result,
        f"{len(model.support_)}",
        f"{gap:.1e}",
        f"{gap / np.abs(model.dual_objective_).sum():.1e}",
        f"{np.max(model.kkt_violation_):.1e}",
        _duration(seconds),
    )


def _fit_time(model, *data: np.ndarray) -> float:
    start = time.perf_counter()
    model.fit(*data)
    return time.perf_counter() - start


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"
