"""Tour of mlcore on the handwritten digits it ships, in a few seconds.

A section is a generator of lines, listed in `SECTIONS`; its docstring is its heading.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import mlcore

_OK, _FAILURE, _INTERRUPTED, _READER_GONE = 0, 1, 130, 141  # 2, wrong usage, is argparse's
_ASCII = str.maketrans("─×²", "-x2")  # of equal width, so that tables stay aligned


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
    some = X[::100]
    definition = np.exp(-gamma * ((some[:, None] - X) ** 2).sum(axis=2))
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
    for name, machine in (
        ("SVC rbf, C=10", SVC(C=10)),
        ("SVC polynomial, C=1", SVC(kernel="polynomial", C=1)),
        ("SVC linear, C=1", SVC(kernel="linear", C=1)),
        ("NuSVC rbf, nu=0.05", NuSVC(nu=0.05)),
    ):
        seconds = _fit_time(machine, X, y)
        right = machine.score(X_held_out, y_held_out)
        yield _evidence(name, f"{right:.1%} named right", machine, seconds)

    pixel = 35  # near the middle, where the digits differ most
    machine = SVR(C=1, epsilon=0.05)
    seconds = _fit_time(machine, np.delete(X, pixel, axis=1), X[:, pixel])
    r2 = machine.score(np.delete(X_held_out, pixel, axis=1), X_held_out[:, pixel])
    yield _evidence("SVR rbf, one pixel", f"R² {r2:.2f} from the others", machine, seconds)

    machine = OneClassSVM(nu=0.05, gamma=0.01)
    seconds = _fit_time(machine, X)
    kept = np.mean(machine.predict(X_held_out) == 1)
    scrambled = np.random.default_rng(0).permuted(X_held_out, axis=1)
    refused = np.mean(machine.predict(scrambled) == -1)
    result = f"keeps {kept:.0%}, noise {1 - refused:.0%}"
    yield _evidence("OneClassSVM nu=0.05", result, machine, seconds)

    yield ""
    yield "  gap: primal minus dual objective, which bounds the distance to the optimum; relative"
    yield "  to the dual. KKT: largest violation of the optimality conditions; tol is 1e-3."
    yield "  noise: the same images with their pixels in random order."


def model_selection(digits: Digits) -> Iterator[str]:
    """SVCCV: C and gamma chosen by cross-validation"""
    from mlcore.svm import SVCCV

    machine = SVCCV()
    seconds = _fit_time(machine, digits.X, digits.y)
    n_pairs = len(machine.cv_results_["mean_test_score"])
    right = machine.score(digits.X_held_out, digits.y_held_out)
    for what, value in (
        (f"{n_pairs} pairs, {machine.cv} folds", _duration(seconds)),
        ("chosen", f"C={machine.C_:g}, gamma={machine.gamma_:.2g}"),
        ("named right, mean over the folds", f"{machine.best_score_:.1%}"),
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


def certificates(digits: Digits) -> Iterator[str]:
    """certify: what may be promised of a machine, with 95% confidence"""
    from mlcore.bounds import certify
    from mlcore.bounds.certificates.report import rounded
    from mlcore.svm import SVC

    machine = SVC(C=10).fit(digits.X, digits.y)
    certificate = certify(machine, digits.X_held_out, digits.y_held_out)
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
    machine = SVC(kernel="linear", C=0.1).fit(digits.X[keep], digits.y[keep])
    learned = certify(machine, digits.X[keep], digits.y[keep], role="train")
    tested = certify(machine, digits.X_held_out[fresh], digits.y_held_out[fresh])
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
    certificates,
)


def tour() -> None:
    """Print every section, each line as soon as it is known."""
    from mlcore.datasets import load_digits
    from mlcore.threads import effective_threads

    X, y = load_digits()
    n = 1200
    digits = Digits(X[:n], y[:n], X[n:], y[n:])
    start = time.perf_counter()
    _say(_bold(f"mlcore {mlcore.__version__}"))
    _say(f"{len(X)} handwritten digits of 8 × 8 pixels: {n} to learn from, {len(X) - n} held out")
    for section in SECTIONS:
        _say("\n" + _bold(section.__doc__))
        for line in section(digits):
            _say(line)
    n_threads = effective_threads()
    threads = f"{n_threads} thread" + "s" * (n_threads > 1)
    seconds = time.perf_counter() - start
    _say(f"\nDone in {seconds:.1f} s on {threads} (OMP_NUM_THREADS sets how many).")


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status, which `mlcore --help` lists."""
    parser = argparse.ArgumentParser(
        prog="mlcore",
        description="A tour of mlcore on the handwritten digits it ships; takes a few seconds.",
        epilog="Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"mlcore {mlcore.__version__}")
    parser.parse_args(argv)
    try:
        tour()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("mlcore: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader left, as in `mlcore | head`; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    except Exception as error:
        print(f"mlcore: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        return _FAILURE
    return _OK


def _line(what: str, value: str) -> str:
    return f"  {what:<70}{value:>20}"


def _row(machine: str, result: str, *numbers: str) -> str:
    vectors, gap, relative, kkt, seconds = numbers
    return f"  {machine:<21}{result:<24}{vectors:>8}{gap:>9}{relative:>10}{kkt:>9}{seconds:>9}"


def _evidence(name: str, result: str, machine, seconds: float) -> str:
    gap = np.sum(machine.duality_gap_)
    return _row(
        name,
        result,
        f"{len(machine.support_)}",
        f"{gap:.1e}",
        f"{gap / np.abs(machine.dual_objective_).sum():.1e}",
        f"{np.max(machine.kkt_violation_):.1e}",
        _duration(seconds),
    )


def _fit_time(machine, *data: np.ndarray) -> float:
    start = time.perf_counter()
    machine.fit(*data)
    return time.perf_counter() - start


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def _say(line: str) -> None:
    try:
        line.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        line = line.translate(_ASCII)
    print(line, flush=True)


def _bold(text: str) -> str:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    return f"\x1b[1m{text}\x1b[0m"


if __name__ == "__main__":
    sys.exit(main())
