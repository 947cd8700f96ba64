"""Fits that end badly from the default start: python benchmarks/start_quality.py [PART] [FOLDER].

Every table is fitted from several seeds, by mlcore and by scikit-learn where it has the model. The
best known end is that of all these fits and of one of many starts. A fit is lost where it ends more
than 0.005 nats a sample below it, or where a cost is 1 % above. PART names some of the models, such
as Gaussian or "." for all; with FOLDER, real sets are taken from there too (see real_data.py). All
take some minutes.
"""

import os
import re
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np

NATS, SHARE = 0.005, 0.01  # by which a lost end is worse: of a sample's log-likelihood, of a cost
MANY = 20  # starts of the fit that is to be hard to beat
KINDS = ("full", "tied", "diag", "spherical")


class Table(NamedTuple):
    """Rows, and the number of components or clusters they are given."""

    name: str
    X: np.ndarray
    k: int


def mixed(name, seed, n, d, k, apart, *, shape="round", shares="equal", tails="normal"):
    """Rows of k clusters: means `apart` times a normal draw, unit variances but for `shape`."""
    rng = np.random.default_rng(seed)
    share = {"equal": np.ones(k), "unequal": 0.6 ** np.arange(k)}[shares]
    labels = rng.choice(k, n, p=share / share.sum())
    Z = rng.normal(size=(n, d)) if tails == "normal" else rng.standard_t(3, size=(n, d))
    if shape == "long":  # in directions of its own for each cluster
        maps = [
            np.linalg.qr(rng.normal(size=(d, d)))[0] * np.geomspace(0.3, 3, d) for _ in range(k)
        ]
        Z = np.einsum("nde,ne->nd", np.array(maps)[labels], Z)
    elif shape == "sized":
        Z *= np.geomspace(0.2, 3, k)[labels, None]
    X = apart * rng.normal(size=(k, d))[labels] + Z
    return Table(name, X * np.geomspace(1, 1000, d) if shape == "units" else X, k)


def crossed(name, seed, n, d, k):
    """Clusters about one point, each long in a direction of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    Z = 0.2 * rng.normal(size=(n, d))
    Z[np.arange(n), labels % d] += 3 * rng.normal(size=n)
    return Table(name, Z, k)


def plain_tables():
    """The data that everybody tries first, and how many seeds each is fitted from."""
    from sklearn.datasets import load_iris, make_blobs

    yield Table("iris", load_iris().data, 3), 50
    yield Table("blobs", make_blobs(600, 3, centers=3, random_state=0)[0], 3), 50
    for seed in range(50):
        yield Table("three blobs", make_blobs(300, centers=3, random_state=seed)[0], 3), 20


def hard_tables():
    """28 sets, six of them real, and with a folder two more."""
    from sklearn import datasets

    for seed, (d, k, apart) in enumerate([(2, 5, 2), (3, 8, 2), (5, 6, 1.5), (8, 10, 1.2)]):
        yield mixed("overlapping", seed, 1500, d, k, apart)
        yield mixed("long", seed, 1500, d, k, 2 * apart, shape="long")
        yield mixed("unequal", seed, 1500, d, k, 2 * apart, shares="unequal")
        yield mixed("heavy tails", seed, 1500, d, k, 3 * apart, tails="heavy")
    yield mixed("many features", 4, 800, 30, 4, 0.6)
    yield mixed("many long", 5, 1000, 15, 5, 1.0, shape="long")
    yield mixed("sized", 6, 1200, 2, 4, 2.0, shape="sized")
    yield mixed("sized", 7, 1200, 6, 5, 1.5, shape="sized")
    yield mixed("other units", 8, 1000, 4, 4, 3.0, shape="units")
    yield crossed("crossed", 9, 1500, 3, 3)
    yield Table("iris, 5", datasets.load_iris().data, 5)
    yield Table("wine", datasets.load_wine().data, 3)
    yield Table("cancer", datasets.load_breast_cancer().data[:, :10], 3)
    yield Table("diabetes", datasets.load_diabetes().data[:, [0, 2, 3, 4, 8]], 4)
    digits = main_directions(datasets.load_digits().data, 20)
    yield Table("digits, 6 directions", digits[:, :6], 8)
    yield Table("digits, 20 directions", digits, 10)
    if "MLCORE_DATA" in os.environ:
        from real_data import mnist

        pixels = main_directions(mnist()[:3000].astype(np.float64), 20)
        yield Table("MNIST, 6 directions", pixels[:, :6], 10)
        yield Table("MNIST, 20 directions", pixels, 10)


def main_directions(X, count):
    X = X - X.mean(axis=0)
    return X @ np.linalg.svd(X, full_matrices=False)[2][:count].T


def answer_tables(model):
    """Rows of latent classes, more and less alike: answers or counts as `model` wants them."""
    sizes = [(400, 8, 3), (1000, 12, 5), (1500, 20, 6), (800, 30, 4), (600, 6, 2), (2000, 40, 10)]
    if model == "PLSA":
        sizes = [(min(n, 500), d, k) for n, d, k in sizes]
    for seed, (n, d, k) in enumerate(sizes):
        for sharp in (0.3, 1.0):
            rng = np.random.default_rng([seed, int(10 * sharp)])
            labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0)))
            if model in ("BernoulliMixture", "BinomialMixture"):
                p = rng.beta(sharp, sharp, size=(k, d))
                X = rng.binomial(1 if model == "BernoulliMixture" else 5, p[labels])
            elif model == "CategoricalMixture":
                p = rng.dirichlet(np.full(4, sharp), size=(k, d)).cumsum(axis=2)
                X = (rng.random((n, d, 1)) > p[labels]).sum(axis=2).clip(0, 3)
            else:
                p = rng.dirichlet(np.full(5 * d, sharp / 3), size=k)
                blend = p[labels]
                if model == "PLSA":
                    blend = rng.dirichlet(np.full(k, 0.3), size=n) @ p
                X = rng.multinomial(40, blend)
            yield Table(f"classes {sharp}", X.astype(np.float64), k)


def graph_tables():
    from sklearn import datasets

    for seed in range(4):
        yield Table("moons", datasets.make_moons(300, noise=0.08, random_state=seed)[0], 2)
        yield mixed("round", seed, 300, 3, 5, 2.0)
        yield mixed("sized", seed, 300, 2, 4, 2.0, shape="sized")


def normalized_cut(X, labels):
    """Of the affinity that both have here: a Gaussian kernel of width 1 / (d var X)."""
    from scipy.spatial.distance import cdist

    K = np.exp(-cdist(X, X, "sqeuclidean") / (X.shape[1] * X.var()))
    member = labels[:, None] == np.unique(labels)
    return float((1 - ((K @ member) * member).sum(axis=0) / (K.sum(axis=1) @ member)).sum())


class Contest(NamedTuple):
    """Constructors by (k, seed, starts), tables with seeds, what a fit reached: more is better."""

    name: str
    ours: object
    peer: object
    tables: list
    end: object


def contests():
    from sklearn import cluster as peer_cluster
    from sklearn import mixture as peer_mixture

    from mlcore import cluster, mixture

    plain, hard = list(plain_tables()), [(table, 6) for table in hard_tables()]

    def score(model, X):
        weight = getattr(model, "weights_", np.ones(1))
        collapsed = len(getattr(model, "collapsed_components_", ()))
        # A component of no more rows than features is a spike, whose density is no merit.
        spike = collapsed or (weight.min() * len(X) < X.shape[1] + 1.5 and X.dtype == np.float64)
        return -np.inf if spike and hasattr(model, "covariances_") else float(model.score(X))

    for part, tables in (("plain", plain), ("hard", hard)):
        for kind in KINDS if part == "hard" else KINDS[:1]:

            def ours(k, seed, starts, kind=kind):
                return mixture.GaussianMixture(
                    k, covariance_type=kind, n_init=starts, random_state=seed
                )

            def peer(k, seed, starts, kind=kind):
                return peer_mixture.GaussianMixture(k, covariance_type=kind, random_state=seed)

            yield Contest(f"GaussianMixture {kind}, {part}", ours, peer, tables, score)
    for name in (
        "BernoulliMixture",
        "BinomialMixture",
        "CategoricalMixture",
        "MultinomialMixture",
        "PLSA",
    ):
        options = {"n_trials": 5} if name == "BinomialMixture" else {}

        def ours(k, seed, starts, name=name, options=options):
            make = getattr(mixture, name)
            return make(n_components=k, n_init=starts, random_state=seed, **options)

        tables = [(table, 6) for table in answer_tables(name)]
        yield Contest(name, ours, None, tables, lambda model, X: float(model.score(X)))

    def cost(model, _):
        return -float(model.inertia_)

    for part, tables in (("plain", plain), ("hard", hard)):
        yield Contest(
            f"KMeans, {part}",
            lambda k, seed, starts: cluster.KMeans(
                k, n_init="auto" if starts == 1 else starts, random_state=seed
            ),
            lambda k, seed, starts: peer_cluster.KMeans(k, random_state=seed),
            tables,
            cost,
        )
    yield Contest(
        "KMedoids, hard",
        lambda k, seed, starts: cluster.KMedoids(k, random_state=seed),
        None,
        hard,
        cost,
    )
    yield Contest(
        "SpectralClustering",
        lambda k, seed, starts: cluster.SpectralClustering(
            k, n_init=10 if starts == 1 else starts, random_state=seed
        ),
        lambda k, seed, starts: peer_cluster.SpectralClustering(k, random_state=seed),
        [(table, 6) for table in graph_tables()],
        lambda model, X: -normalized_cut(X, model.labels_),
    )


def ends(make, contest, table, seeds):
    """The ends of fits from `seeds` seeds, and the seconds they took."""
    found, seconds = [], 0.0
    for seed in range(seeds):
        model = make(table.k, seed, 1)
        if hasattr(model, "gamma"):
            model.gamma = 1 / (table.X.shape[1] * table.X.var())
        start = time.process_time()
        model.fit(table.X)
        seconds += time.process_time() - start
        found.append(contest.end(model, table.X))
    return np.array(found), seconds


def row(contest):
    """Fits, and of mlcore and its peer the lost ones and the milliseconds a fit takes."""
    fits, lost, seconds = 0, [0, 0], [0.0, 0.0]
    for table, seeds in contest.tables:
        both = [ends(contest.ours, contest, table, seeds)]
        if contest.peer:
            both.append(ends(contest.peer, contest, table, seeds))
        best = max(found.max() for found, _ in both)
        many = contest.ours(table.k, 1000, MANY)
        if contest.peer is None:
            best = max(best, contest.end(many.fit(table.X), table.X))  # of Gaussians: often spikes
        margin = NATS if hasattr(many, "weights_init") else -SHARE * best
        fits += seeds
        for i, (found, spent) in enumerate(both):
            lost[i] += int((found < best - margin).sum())
            seconds[i] += spent
    shown = [f"{lost[0]:6d}", f"{1e3 * seconds[0] / fits:9.2f}"]
    shown += [f"{lost[1]:8d}", f"{1e3 * seconds[1] / fits:9.2f}"] if contest.peer else ["-", "-"]
    return f"{contest.name:28s} {fits:6d} " + " ".join(shown)


def main():
    """Print a line for each model: fits lost by mlcore and by scikit-learn, of how many."""
    part = sys.argv[1] if len(sys.argv) > 1 else "."
    if len(sys.argv) > 2:
        os.environ["MLCORE_DATA"] = sys.argv[2]
    warnings.simplefilter("ignore")  # fits that stop early are part of the study
    print(f"{'model':28s} {'fits':>6s} {'lost':>6s} {'ms a fit':>9s}  peer's lost and ms a fit")
    for contest in contests():
        if re.search(part, contest.name):
            print(row(contest), flush=True)


if __name__ == "__main__":
    main()
