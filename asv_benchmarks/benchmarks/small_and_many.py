"""Small calls and many classes beside scikit-learn, as one table: seconds, and the ratio.

The peer of KMedoids is the package of that name; models without a peer stand alone.

    python benchmarks/small_and_many.py [WORD ...]

prints the lines of the models whose names have all the words, such as `KMeans` or `classes`. A line
says what was called, and the least time of several calls of mlcore and of its peer.
"""

import sys
import time
import warnings
from functools import partial
from importlib import import_module

import numpy as np

LIBRARIES = "mlcore", "sklearn"
ROWS = (1, 10, 100, 1000)
FITS = (50, 150, 500, 800)
ANSWERS = ("predict", "predict_proba", "score_samples")
CLASSES = (2, 3, 10, 30, 100, 200)
SHARES = (  # machines with nu, and the share of the second class
    ("svm.NuSVC", {"nu": 0.5}, 0.5),
    ("svm.NuSVC", {"nu": 0.1}, 0.5),
    ("svm.NuSVC", {"nu": 0.15}, 0.1),
    ("svm.NuSVC", {"nu": 0.05}, 0.1),
    ("svm.OneClassSVM", {"nu": 0.03}, 0.5),
    ("svm.OneClassSVM", {"nu": 0.5}, 0.5),
)


def least_time(call, seconds=0.3):
    """The least time of calls for about so many seconds, after one that is not counted."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def blobs(n, d, k, seed=0, of=""):
    """Samples and their classes; whole numbers from 0 to 3 for mixtures of counts."""
    rng = np.random.default_rng([n, d, k, seed])
    y = np.arange(n) % k
    X = 2.5 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d))
    counts = "Mixture" in of and "Gaussian" not in of
    return np.clip(np.rint(np.abs(X)), 0, 3) if counts else X, y


def two_classes(n, d, share):
    """Two classes that overlap a little, of which this share is the second."""
    rng = np.random.default_rng([n, d])
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, d))
    X[:, :2] += np.outer(y, [2, -2])
    return X, y


def estimators():
    """Name, constructor arguments and methods of every model."""
    k = {"n_clusters": 5, "random_state": 0, "n_init": 1}
    mixture = {"n_components": 5, "random_state": 0}
    return {
        "svm.SVC": ({}, ["predict", "decision_function"]),
        "svm.SVC probability": ({"probability": True}, ["predict_proba"]),
        "svm.NuSVC": ({"nu": 0.1}, ["predict"]),
        "svm.SVR": ({}, ["predict"]),
        "svm.NuSVR": ({}, ["predict"]),
        "svm.OneClassSVM": ({"nu": 0.1}, ["predict", "score_samples"]),
        "mixture.GaussianMixture": (mixture, ["predict", "predict_proba", "score_samples"]),
        "mixture.GaussianMixture diag": (mixture | {"covariance_type": "diag"}, ["predict"]),
        "mixture.GaussianMixture tied": (mixture | {"covariance_type": "tied"}, ["predict"]),
        "mixture.GaussianMixture spherical": (
            mixture | {"covariance_type": "spherical"},
            ["predict"],
        ),
        "mixture.BernoulliMixture": (mixture, ANSWERS),
        "mixture.MultinomialMixture": (mixture, ANSWERS),
        "mixture.CategoricalMixture": (mixture, ANSWERS),
        "cluster.KMeans": (k, ["predict", "transform", "score"]),
        "cluster.KMeans ten starts": (k | {"n_init": 10}, []),
        "cluster.MiniBatchKMeans": (k, ["predict", "transform", "score"]),
        "cluster.MiniBatchKMeans ten starts": (k | {"n_init": 10}, []),
        "cluster.KMedians": (k, ["predict", "transform"]),
        "cluster.KMedoids": ({"n_clusters": 5, "random_state": 0}, ["predict"]),
        "cluster.KernelKMeans": (k, ["predict"]),
        "cluster.ProbabilisticClustering": ({"n_clusters": 5, "random_state": 0}, []),
        "cluster.AgglomerativeClustering": ({"n_clusters": 5}, []),
        "cluster.SpectralClustering": ({"n_clusters": 5, "random_state": 0}, []),
    }


def built(library, name, arguments):
    """The model of a library, or None where it has none."""
    family, cls = name.split()[0].split(".")
    if library != "mlcore" and cls == "KMedoids":
        return import_module("kmedoids").KMedoids(metric="euclidean", **arguments)
    family = import_module(f"{library}.{family}")
    return getattr(family, cls)(**arguments) if hasattr(family, cls) else None


def fits(name, arguments, X, y):
    models = [built(library, name, arguments) for library in LIBRARIES]
    return [None if model is None else partial(model.fit, X, y) for model in models]


def later_calls(what, method, models, X, counts):
    """Yield the calls of a method of fitted models for so many rows."""
    for rows in counts:
        block = X[:rows].copy()
        found = [getattr(model, method, None) for model in models]
        calls = [None if call is None else partial(call, block) for call in found]
        yield what.format(f"{method} {rows} rows"), *calls


def cases():
    """Yield what is called, and the calls of mlcore and of scikit-learn."""
    for name, (arguments, methods) in estimators().items():
        if not wanted(name):
            continue
        for n in FITS:
            yield f"{name} fit {n} rows", *fits(name, arguments, *blobs(n, 4, 3, of=name))
        X, y = blobs(2000, 16, 5, of=name)
        models = [fit and fit() for fit in fits(name, arguments, X, y)] if methods else []
        for method in methods:
            yield from later_calls(f"{name} {{}}", method, models, X, ROWS)
    for n in (500, 1000, 2000):
        for name, arguments, share in SHARES:
            what = f"{name} fit {n} rows, nu {arguments['nu']}, {share:.0%} positive"
            if wanted(what):
                yield what, *fits(name, arguments, *two_classes(n, 8, share))
    for k in CLASSES:
        for method in ("predict", "predict_proba"):
            name = "svm.SVC" + " probability" * (method == "predict_proba")
            if not wanted(f"{name} {k} classes"):
                continue
            X, y = blobs(20 * k, 10, k)
            both = fits(name, {"C": 10.0, "gamma": 0.1, "probability": " " in name}, X, y)
            yield f"{name} fit {k} classes", *both
            yield from later_calls(
                f"{name} {{}} {k} classes", method, [fit() for fit in both], X, (1, 100)
            )


def wanted(what):
    return all(word in what for word in sys.argv[1:])


def main():
    warnings.simplefilter("ignore")
    print(f"{'call':58}{'mlcore':>10}{'peer':>10}{'ratio':>7}")
    for what, ours, theirs in cases():
        own = least_time(ours)
        peer = np.nan if theirs is None else least_time(theirs)
        print(f"{what:58}{own:10.2e}{peer:10.2e}{peer / own:7.2f}", flush=True)


if __name__ == "__main__":
    main()
