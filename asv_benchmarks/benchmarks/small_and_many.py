"""Small calls and many classes beside scikit-learn, as one table: seconds, and the ratio.

    python benchmarks/small_and_many.py [WORD ...]

prints the lines of the models whose names have all the words, such as `KMeans` or `classes`. A line
says what was called, and the least time of several calls of mlcore and of scikit-learn.
"""

import sys
import time
import warnings
from functools import partial
from importlib import import_module

import numpy as np

LIBRARIES = "mlcore", "sklearn"
ROWS = (1, 10, 100, 1000)
CLASSES = (2, 3, 10, 30, 100, 200)


def least_time(call, seconds=0.3):
    """The least time of calls for about so many seconds, after one that is not counted."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def blobs(n, d, k, seed=0):
    rng = np.random.default_rng([n, d, k, seed])
    y = np.arange(n) % k
    return 2.5 * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), y


def estimators():
    """Name, constructor arguments and methods of every model that both have."""
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
        "cluster.KMeans": (k, ["predict", "transform"]),
        "cluster.MiniBatchKMeans": (k, ["predict"]),
        "cluster.AgglomerativeClustering": ({"n_clusters": 5}, []),
        "cluster.SpectralClustering": ({"n_clusters": 5, "random_state": 0}, []),
    }


def built(library, name, arguments):
    family, cls = name.split()[0].split(".")
    return getattr(import_module(f"{library}.{family}"), cls)(**arguments)


def fits(name, arguments, X, y):
    return [partial(built(library, name, arguments).fit, X, y) for library in LIBRARIES]


def later_calls(what, method, models, X, counts):
    """Yield the calls of a method of fitted models for so many rows."""
    for rows in counts:
        block = X[:rows].copy()
        calls = [partial(getattr(model, method), block) for model in models]
        yield what.format(f"{method} {rows} rows"), *calls


def cases():
    """Yield what is called, and the calls of mlcore and of scikit-learn."""
    for name, (arguments, methods) in estimators().items():
        if not wanted(name):
            continue
        for n in (150, 800):
            yield f"{name} fit {n} rows", *fits(name, arguments, *blobs(n, 4, 3))
        X, y = blobs(2000, 16, 5)
        models = [fit() for fit in fits(name, arguments, X, y)] if methods else []
        for method in methods:
            yield from later_calls(f"{name} {{}}", method, models, X, ROWS)
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
    print(f"{'call':58}{'mlcore':>10}{'sklearn':>10}{'ratio':>7}")
    for what, ours, theirs in cases():
        own, peer = least_time(ours), least_time(theirs)
        print(f"{what:58}{own:10.2e}{peer:10.2e}{peer / own:7.2f}", flush=True)


if __name__ == "__main__":
    main()
