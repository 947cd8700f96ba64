"""What a fit says of itself is true of data far away, tiny, huge, weighted, and from any start.

Each law fits a model to disturbed samples and compares what the fit reports with the truth in 50
digits: an upper bound must not be below it, unless the fit warns or refuses the data in words.
Nothing is the truth but the objective's definition and the best function that anyone finds.

    python tests/every_model/test_evidence.py 1000     that many examples of each law, and a table
"""

import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import exact_objectives as exact
import numpy as np
import pytest
from hypothesis import example, given, settings, target
from hypothesis import strategies as st
from scipy import sparse as sp

from mlcore.cluster import (
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    MiniBatchKMeans,
    SpectralClustering,
    doubly_stochastic,
    sinkhorn,
)
from mlcore.decomposition import CCA, PCA, KernelPCA
from mlcore.entropy import maximum_entropy
from mlcore.kernel_ridge import KernelRidge
from mlcore.linear_model import (
    ElasticNet,
    LinearRegression,
    LogisticPath,
    LogisticRegression,
    LogisticRegressionCV,
)
from mlcore.mixture import BernoulliMixture, GaussianMixture
from mlcore.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

mp = exact.mp
EPS = 2.0**-53
N, D = 12, 2


@dataclass(frozen=True)
class Disturbance:
    """How the samples, and what the model is asked, differ from an ordinary problem."""

    seed: int = 0
    shift: float = 0.0  # of the samples, in their deviations
    scale: float = 1.0  # of the samples, after the shift
    weight: float = 1.0  # unit of the weights
    penalty: float = 1.0  # C, or 1 / alpha
    offset: float = 0.0  # of the scores of a logistic regression, constant and random
    start: float | None = None  # a fit before, to samples of this unit, whose result is the start

    def samples(self, n=N, d=D):
        rng = np.random.default_rng(self.seed)
        with np.errstate(over="ignore", under="ignore"):
            return self.scale * (rng.normal(size=(n, d)) + self.shift)

    def labels(self, n=N):
        rng = np.random.default_rng([self.seed, 1])
        z = np.random.default_rng(self.seed).normal(size=(n, D))
        codes = (z[:, 0] + rng.normal(size=n) > 0).astype(int)
        codes[:2] = 0, 1
        return codes

    def separable_labels(self, n=N):
        codes = (np.random.default_rng(self.seed).normal(size=(n, D))[:, 0] > 0).astype(int)
        return codes if 0 < codes.sum() < n else self.labels(n)

    def three_labels(self, n=N):
        codes = self.labels(n) + (self.targets(n) > 0.5)
        codes[:3] = 0, 1, 2
        return codes

    def targets(self, n=N):
        z = np.random.default_rng(self.seed).normal(size=(n, D))
        return z[:, 0] - z[:, 1] ** 2 + np.random.default_rng([self.seed, 2]).normal(size=n)

    def weights(self, n=N):
        rng = np.random.default_rng([self.seed, 3])
        return self.weight * rng.integers(1, 4, size=n)

    def offsets(self, n=N):
        rng = np.random.default_rng([self.seed, 4])
        return self.offset * (1 + np.sign(self.seed % 2) * rng.normal(size=n) / 8)


def powers(low, high):
    return st.one_of(st.just(1.0), st.integers(low, high).map(lambda k: 10.0**k))


def either_sign(values):
    return st.tuples(st.sampled_from([1.0, -1.0]), values).map(lambda pair: pair[0] * pair[1])


DISTURBANCES = st.builds(
    Disturbance,
    seed=st.integers(0, 2**16),
    shift=st.one_of(st.just(0.0), either_sign(powers(0, 10))),
    scale=st.one_of(powers(-3, 3), powers(-150, 150)),
    weight=powers(-12, 12),
    penalty=powers(-12, 12),
    offset=st.one_of(st.just(0.0), either_sign(st.floats(1, 1e4))),
    start=st.one_of(st.none(), powers(-4, 4)),
)


class Claim(NamedTuple):
    """What a fit reports: `evidence` is said to be at least `truth`."""

    name: str
    evidence: Any
    truth: Any


class Refused(Exception):
    """The model took no such data, or warned of its result."""


def without_warning(call, *data, **keywords):
    """The result of `call`, which neither refuses nor warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(*data, **keywords)
        except ValueError as error:
            raise Refused(f"error: {error}") from None
    mine = [w for w in caught if not issubclass(w.category, DeprecationWarning)]
    if mine:
        raise Refused(f"warning: {mine[0].message}")
    return result


def fitted(model, *data, **keywords):
    """The model after a fit without a warning."""
    return without_warning(model.fit, *data, **keywords)


def silently(call):
    """The result of `call`, None where it refuses; candidates for the best need no evidence."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except (ValueError, np.linalg.LinAlgError):
            return None


def near_origin(X):
    """Samples about 0 of unit size that are the same but for a shift and a unit, and both."""
    shift = X[0]
    unit = float(np.abs(X - shift).max()) or 1.0
    return (X - shift) / unit, shift, unit


# ---- linear models ------------------------------------------------------------------------------


def of_logistic(how, layout=np.asarray, n_classes=2):
    """The law of LogisticRegression with these parameters."""

    def law(d):
        X, s = d.samples(), d.weights()
        y = d.three_labels() if n_classes > 2 else d.labels()
        offset = d.offsets() if d.offset else None
        if offset is not None and n_classes > 2:
            offset = np.c_[offset, np.zeros(N), -offset]
        keywords = {"sample_weight": s} | ({} if offset is None else {"offset": offset})
        C, r = (d.penalty if how.get("C") is None else how["C"]), how.get("l1_ratio", 0.0)
        model = LogisticRegression(**how | {"C": C})
        if d.start is not None:
            model.set_params(warm_start=True)
            silently(lambda: model.fit(layout(d.start * X), y))
        fitted(model, layout(X), y, **keywords)
        objective = exact.logistic(X, y, model.coef_, model.intercept_, C, s, r, offset)
        best = least_logistic(d, X, y, C, r, s, offset, model)
        yield from gap_claims(model, objective, best)
        shown = silently(lambda: model.verify(layout(X), y, **keywords))
        if shown is not None:
            excess = objective - best - EPS * abs(objective)  # what float64 can tell
            yield Claim("verify.duality_gap", shown.duality_gap, excess)
            yield Claim("verify.excess_bound", shown.excess_bound, excess)
        if np.isinf(C):
            yield Claim("the excess of what converged", 1e-6 * abs(best), objective - best)

    return law


def of_logistic_path(r, n_classes=2, dtype=np.float64):
    """The law of LogisticRegression.path for two costs."""

    def law(d):
        X, s, y = d.samples(), d.weights(), d.three_labels() if n_classes > 2 else d.labels()
        with np.errstate(all="ignore"):
            rounded = X.astype(dtype)
        model = LogisticRegression(l1_ratio=r)
        Cs = [d.penalty / 20, d.penalty]
        path = without_warning(model.path, rounded, y, s, Cs=Cs)
        yield from path_claims(d, rounded.astype(float), y, s, r, path)

    return law


def of_folds(r):
    """The law of the fits to the training samples of folds in LogisticRegressionCV."""

    def law(d):
        X, s, y = d.samples(), d.weights(), d.labels()
        folds = [(np.arange(N) % 3 != k, np.arange(N) % 3 == k) for k in range(2)]
        if any(len(set(y[train])) < 2 for train, _ in folds):
            raise Refused("one class")
        search = LogisticRegressionCV(Cs=[d.penalty], l1_ratio=r, cv=folds, refit=False)
        model = fitted(search, X, y, sample_weight=s)
        for f, (train, _) in enumerate(folds):
            theta = model.coefs_paths_[f, 0, :, 0]
            gaps, nothing = model.duality_gaps_[f, 0], np.full(1, np.nan)
            path = LogisticPath(
                model.Cs_, theta[:, :-1], theta[:, -1], nothing, gaps, nothing, nothing
            )
            yield from path_claims(d, X[train], y[train], s[train], r, path)

    return law


def path_claims(d, X, y, s, r, path):
    for k, C in enumerate(path.Cs):
        coef, intercept = (np.float64(v[k]) for v in (path.coef, path.intercept))
        model = SimpleNamespace(coef_=np.atleast_2d(coef), intercept_=np.atleast_1d(intercept))
        objective = exact.logistic(X, y, model.coef_, model.intercept_, C, s, r)
        best = least_logistic(d, X, y, C, r, s, None, model)
        excess = objective - best - EPS * abs(objective)
        yield Claim(f"duality_gap[{k}]", path.duality_gap[k], excess)
        if not np.isnan(path.objective[k]):
            off = abs(mp.mpf(float(path.objective[k])) - objective)
            yield Claim(f"objective[{k}]", 1e-12 * abs(objective) + path.duality_gap[k], off)


def gap_claims(model, objective, best):
    yield Claim("duality_gap_", model.duality_gap_, objective - best - EPS * abs(objective))
    yield Claim(
        "objective_",
        1e-12 * abs(objective) + model.duality_gap_,
        abs(mp.mpf(float(model.objective_)) - objective),
    )
    if hasattr(model, "objective_trace_"):
        trace = model.objective_trace_
        yield Claim("the trace ends at objective_", 0, abs(trace[-1] - model.objective_))
        yield Claim("rise of the trace", 1e-12 * abs(trace[0]), np.diff(trace).max(initial=0.0))


def least_logistic(d, X, y, C, r, s, offset, model):
    """The least objective of: the model, the constant, and models of samples near the origin."""
    Z, shift, unit = near_origin(X)
    keywords, middle = {"sample_weight": s}, 0.0
    if offset is not None:
        middle = offset.mean(axis=0)
        keywords["offset"] = offset - middle
    counts = np.bincount(y, weights=s)
    level = np.log(counts[1:] / counts[0]) if len(counts) == 2 else np.log(counts)
    candidates = [(model.coef_, model.intercept_), (np.zeros_like(model.coef_), level - middle)]
    with np.errstate(all="ignore"):
        near, tried = C * unit**2, []
    if (0 < near < np.inf and r == 0) or np.isinf(C):
        tried.append((LogisticRegression(C=near, tol=1e-10, max_iter=500), Z, unit))
    if np.isfinite(C):  # with centred samples alone the problem is the same for any penalty
        tried.append((LogisticRegression(C=C, l1_ratio=r, tol=1e-8, max_iter=1000), X - shift, 1.0))
    for other, samples, divisor in tried:
        if silently(lambda other=other, samples=samples: other.fit(samples, y, **keywords)):
            coef = other.coef_ / divisor
            candidates.append((coef, other.intercept_ - coef @ shift - middle))
    values = [exact.logistic(X, y, w, b, C, s, r, offset) for w, b in candidates]
    if r == 0 and len(counts) == 2:
        w, b = candidates[int(np.argmin(values))]
        values.append(exact.polished_logistic(X, y, w, b, C, s, offset))
    return min(values)


def least_squares(d):
    X, y, s, alpha = d.samples(), d.targets(), d.weights(), 1 / d.penalty
    model = fitted(LinearRegression(alpha=alpha), X, y, sample_weight=s)
    objective = exact.least_squares(X, y, model.coef_, model.intercept_, alpha, s)
    best = exact.least_squares_minimum(X, y, alpha, s)
    # The intercept is stored as a float64, which is what far samples leave of it.
    rounding = mp.mpf(float(s.sum())) * (2 * EPS * abs(mp.mpf(float(model.intercept_)))) ** 2
    yield Claim("duality_gap_", model.duality_gap_ + rounding, objective - best)
    yield Claim(
        "objective_",
        1e-12 * abs(objective) + model.duality_gap_ + rounding,
        abs(mp.mpf(float(model.objective_)) - objective),
    )


def of_elastic_net(r, n=N, width=D, layout=np.asarray, dtype=np.float64):
    """The law of ElasticNet with this l1_ratio, of one penalty and of a path."""

    def law(d):
        with np.errstate(over="ignore"):
            X = d.samples(n, width).astype(dtype)
        y, s, alpha = d.targets(n), d.weights(n), 1 / d.penalty
        if not np.isfinite(X).all():
            raise Refused("error: infinite in this type")
        model = ElasticNet(alpha, l1_ratio=r)
        fitted(model, layout(X), y, sample_weight=s)
        objective = exact.elastic_net(X, y, model.coef_, model.intercept_, alpha, r, s)
        yield from gap_claims(model, objective, least_elastic_net(X, y, alpha, r, s, model))
        alphas = alpha * np.array([4.0, 0.3, 1.0])
        path = silently(lambda: model.path(layout(X), y, s, alphas=alphas))
        if path is not None:
            for k, one in enumerate(alphas):
                value = exact.elastic_net(X, y, path.coef[k], path.intercept[k], one, r, s)
                best = least_elastic_net(X, y, one, r, s, model)
                excess = value - best - EPS * abs(value)
                yield Claim("duality_gap of a path", path.duality_gap[k], excess)

    return law


def of_elastic_net_in_blocks(dtype):
    """The law of ElasticNet and its path by sums over blocks, the first of one far row."""

    def law(d):
        with np.errstate(over="ignore"):
            X = d.samples()
            X[0] -= d.scale * d.shift
            X = X.astype(dtype)
        y, s, alpha, r = d.targets(), d.weights(), 1 / d.penalty, 0.7
        if not np.isfinite(X).all():
            raise Refused("error: infinite in this type")
        model, parts = ElasticNet(alpha, l1_ratio=r), (slice(0, 1), slice(1, 9), slice(9, None))

        def by_blocks():
            model.begin(X[:1], y[:1], s[:1])
            sums = [model.partial_statistics(X[rows], y[rows], s[rows]) for rows in parts]
            return model.update(model.merge(model.merge(sums[0], sums[1]), sums[2]))

        without_warning(by_blocks)
        objective = exact.elastic_net(X, y, model.coef_, model.intercept_, alpha, r, s)
        yield from gap_claims(model, objective, least_elastic_net(X, y, alpha, r, s, model))
        path = silently(lambda: model.path(alphas=[0.3 * alpha]))
        if path is not None:
            value = exact.elastic_net(X, y, path.coef[0], path.intercept[0], 0.3 * alpha, r, s)
            best = least_elastic_net(X, y, 0.3 * alpha, r, s, model)
            yield Claim("duality_gap of a path", path.duality_gap[0], value - best)

    return law


def least_elastic_net(X, y, alpha, r, s, model):
    """The least objective of: the model, the mean, and faces of fits to samples near the origin."""
    Z, _, unit = near_origin(X.astype(float))
    faces = [np.zeros(X.shape[1]), model.coef_]
    for samples in (X - X[0], Z):
        with np.errstate(all="ignore"):
            other = ElasticNet(alpha if samples is not Z else alpha / unit, l1_ratio=r, tol=1e-14)
        if silently(lambda other=other, samples=samples: other.fit(samples, y, sample_weight=s)):
            faces.append(other.coef_)
    least = min(exact.elastic_net_of_face(X, y, coef, alpha, r, s) for coef in faces)
    return min(least, exact.elastic_net(X, y, model.coef_, model.intercept_, alpha, r, s))


def of_multi_task(r):
    """The law of ElasticNet for two targets whose coefficients of a feature are a group."""

    def law(d):
        X = d.samples(N, 4) @ (np.eye(4) + 2)  # alike: many steps
        y, s, alpha = d.targets(), d.weights(), 1 / d.penalty
        Y = np.c_[y, 3 * y[::-1] - 2 * y]
        tol = (1e-6, 1e-2)[d.seed % 2]  # the former ends at rounding, the latter above it
        model = ElasticNet(alpha, l1_ratio=r, multi_task=True, tol=tol)
        fitted(model, X, Y, sample_weight=s)
        objective = exact.multi_task(X, Y, model.coef_, model.intercept_, alpha, r, s)
        near = [model.coef_, np.zeros_like(model.coef_)]
        other = ElasticNet(alpha, l1_ratio=r, multi_task=True, tol=1e-12)
        if silently(lambda: other.fit(X - X[0], Y, sample_weight=s)):
            near.append(other.coef_)
        best = min(exact.polished_multi_task(X, Y, coef, alpha, r, s) for coef in near)
        yield from gap_claims(model, objective, min(best, objective))

    return law


# ---- kernel machines ----------------------------------------------------------------------------


def kernel_values(model, X, kernel, free):
    """The kernel matrix of the fitted functions in 50 digits; centred if an intercept is free."""
    origin = getattr(model, "origin_", None)
    K = exact.gram(X, kernel, getattr(model, "gamma_", 1.0), coef0=1.0, origin=origin)
    return K, exact.centred(K) if free else K


def coefficients(model, n):
    a = np.zeros(n)
    a[model.support_] = np.ravel(model.dual_coef_)
    return exact.exact(a)


def solution(model, K, X, kernel):
    """A Gram matrix G, and coefficients a, of the fitted function: |w|² is a'Ga; and its values.

    With a linear kernel the function is that of `coef_`, with which the machine predicts.
    """
    if kernel == "linear":
        w = exact.exact(np.ravel(model.coef_))
        unit = [[mp.mpf(i == j) for j in range(len(w))] for i in range(len(w))]
        return unit, w, exact.products(exact.exact(X), w)
    a = coefficients(model, len(X))
    return K, a, exact.products(K, a)


def as_unit(K):
    """The size of the largest value, and the matrix divided by it, in float64."""
    size = max(abs(v) for row in K for v in row) or mp.mpf(1)
    return size, np.array([[float(v / size) for v in row] for row in K])


def of_machine(make, kernel, objective_of):
    """The law of a machine with a free intercept."""

    def law(d):
        X, s = d.samples(), d.weights()
        y = d.labels() if make is SVC else d.targets()
        how = {"kernel": kernel, "C": d.penalty, "max_iter": 100_000} | (
            {"coef0": 1.0} if kernel == "poly" else {}
        )
        model = fitted(make(**how), X, y, sample_weight=s)
        y = 2 * y - 1 if make is SVC else y
        K, middle = kernel_values(model, X, kernel, free=True)
        G, a, values = solution(model, K, X, kernel)
        b = mp.mpf(float(np.ravel(model.intercept_)[0]))
        objective = objective_of(G, y, [z + b for z in values], a, d.penalty, s)
        level = exact.exact(np.full(N, np.median(y)))
        candidates = [objective, objective_of(K, y, level, [mp.mpf(0)] * N, d.penalty, s)]
        # The same problem with the kernel divided by its size, solved to rounding.
        size, unit = as_unit(middle)
        if 0 < float(size * d.penalty) < 1e300:
            other = make(
                kernel="precomputed", C=float(size * d.penalty), tol=1e-9, max_iter=100_000
            )
            if silently(lambda: other.fit(unit, y, sample_weight=s)) is not None:
                a = [v / size for v in coefficients(other, N)]
                f = [z + mp.mpf(float(other.intercept_[0])) for z in exact.products(middle, a)]
                candidates.append(objective_of(middle, y, f, a, d.penalty, s))
        # The solver puts multipliers that are within 1e-12 of a bound on it.
        best, rounding = min(candidates), 1e-11 * abs(objective)
        gap = model.duality_gap_ + rounding
        yield Claim("duality_gap_", gap, objective - best)
        yield Claim(
            "primal_objective_", gap, abs(mp.mpf(float(model.primal_objective_)) - objective)
        )
        yield Claim("dual_objective_", gap, best - mp.mpf(float(model.dual_objective_)))

    return law


def regression_objective(K, y, f, a, C, s):
    return exact.tube(K, y, f, a, C, s, mp.mpf(0.1))


def of_linear_machine(make, loss, layout=np.asarray):
    """The law of a linear machine; squared losses are minimised in 50 digits from its end."""
    eps, of_classes = 0.0 if make is LinearSVC else 0.1, make is LinearSVC

    def law(d):
        X, s = d.samples(), d.weights()
        y = d.labels() if of_classes else d.targets()
        how = {} if of_classes else {"epsilon": eps}
        model = fitted(make(d.penalty, loss=loss, **how), layout(X), y, sample_weight=s)
        y = 2 * y - 1 if of_classes else y
        K = exact.gram(X, "linear", 1.0)
        w, b = exact.exact(np.ravel(model.coef_)), mp.mpf(float(model.intercept_[0]))

        def value(w, b):
            squared = loss.startswith("squared")
            return exact.linear_machine(X, y, w, b, d.penalty, s, eps, squared, of_classes)

        objective = value(w, b)
        zero = [mp.mpf(0)] * D
        candidates = [objective, value(zero, mp.mpf(float(np.median(y))))]
        if loss.startswith("squared"):
            candidates.append(exact.squared_minimum(X, y, w, b, d.penalty, s, eps, of_classes))
        else:
            size, unit = as_unit(exact.centred(K))
            if 0 < float(size * d.penalty) < 1e300:
                other = (SVC if of_classes else SVR)(
                    kernel="precomputed", C=float(size * d.penalty), tol=1e-9, max_iter=100_000
                )
                if silently(lambda: other.fit(unit, y, sample_weight=s)) is not None:
                    a = [v / size for v in coefficients(other, N)]
                    u = [mp.fdot(a, column) for column in zip(*exact.exact(X), strict=True)]
                    f = exact.products(exact.exact(X), u)
                    for i in range(N):  # the best intercept is at a kink
                        for kink in (0,) if of_classes else (-eps, eps):
                            candidates.append(value(u, mp.mpf(float(y[i])) - f[i] + mp.mpf(kink)))
        best = min(candidates)
        # The intercept is stored as a float64, which is what far samples leave of it.
        yield Claim("duality_gap_", model.duality_gap_, objective - best)
        yield Claim(
            "objective_", model.duality_gap_, abs(mp.mpf(float(model.objective_)) - objective)
        )
        yield Claim(
            "dual_objective_", model.duality_gap_, mp.mpf(float(model.dual_objective_)) - best
        )
        seen = model.verify(layout(X), 0.5 * (y + 1) if of_classes else y, s)
        yield Claim("verify", seen.duality_gap, objective - best)

    return law


def nu_classes(kernel):
    def law(d):
        X, y, s, nu = d.samples(), 2 * d.separable_labels() - 1, d.weights(), 0.3
        model = fitted(NuSVC(kernel=kernel, nu=nu, max_iter=100_000), X, y, sample_weight=s)
        K, middle = kernel_values(model, X, kernel, free=True)
        rho = mp.mpf(float(model.rho_[0]))
        b = mp.mpf(float(model.intercept_[0]))
        G, a, values = solution(model, K, X, kernel)
        f, a = [rho * (z + b) for z in values], [rho * v for v in a]
        objective = exact.margins(G, y, f, a, rho, nu, s)
        size, unit = as_unit(middle)
        other, best = NuSVC(kernel="precomputed", nu=nu, tol=1e-9), min(objective, mp.mpf(0))
        if silently(lambda: other.fit(unit, y, sample_weight=s)):
            # In units of the kernel: multipliers are the same, values and rho are larger.
            level = mp.mpf(float(other.rho_[0]))
            a = [level * v for v in coefficients(other, N)]
            b = level * mp.mpf(float(other.intercept_[0])) * size
            f = [z + b for z in exact.products(middle, a)]
            best = min(best, exact.margins(middle, y, f, a, level * size, nu, s))
        rounding = 1e-12 * nu * float(s.sum()) * rho
        yield Claim("duality_gap_", model.duality_gap_ + rounding, objective - best)

    return law


def nu_tube(kernel):
    def law(d):
        X, y, s, nu = d.samples(), d.targets(), d.weights(), 0.3
        model = fitted(
            NuSVR(kernel=kernel, nu=nu, C=d.penalty, max_iter=100_000), X, y, sample_weight=s
        )
        K, middle = kernel_values(model, X, kernel, free=True)

        def value(K, a, f, width):
            share = mp.mpf(nu) * mp.mpf(d.penalty) * mp.fsum(exact.exact(s))
            return exact.tube(K, y, f, a, d.penalty, s, width) + share * width

        width = mp.mpf(float(np.ravel(model.epsilon_)[0]))
        G, a, values = solution(model, K, X, kernel)
        b = mp.mpf(float(model.intercept_[0]))
        objective = value(G, a, [z + b for z in values], width)
        size, unit = as_unit(middle)
        best = objective
        if 0 < float(size * d.penalty) < 1e300:
            other = NuSVR(
                kernel="precomputed", nu=nu, C=float(size * d.penalty), tol=1e-9, max_iter=100_000
            )
            if silently(lambda: other.fit(unit, y, sample_weight=s)):
                a = [v / size for v in coefficients(other, N)]
                b = mp.mpf(float(other.intercept_[0]))
                f = [z + b for z in exact.products(middle, a)]
                best = min(best, value(middle, a, f, mp.mpf(float(np.ravel(other.epsilon_)[0]))))
        yield Claim("duality_gap_", model.duality_gap_ + 1e-12 * abs(objective), objective - best)

    return law


def one_class(kernel):
    def law(d):
        X, s, nu = d.samples(), d.weights(), min(0.9, max(1e-6, 0.1 * d.penalty))
        if kernel == "linear":  # around 0 no hyperplane parts samples from the origin
            X = X + 6 * d.scale
        model = fitted(OneClassSVM(kernel=kernel, nu=nu), X, sample_weight=s)
        K, _ = kernel_values(model, X, kernel, free=False)
        a, rho = coefficients(model, N), mp.mpf(float(model.offset_))
        objective = exact.one_class(K, exact.products(K, a), a, rho, nu, s)
        best = min(objective, mp.mpf(0))
        other = OneClassSVM(kernel="precomputed", nu=nu, tol=1e-10)
        _, unit = as_unit(K)
        if silently(lambda: other.fit(unit, sample_weight=s)) is not None:
            a, level = coefficients(other, N), mp.mpf(float(other.offset_)) * as_unit(K)[0]
            best = min(best, exact.one_class(K, exact.products(K, a), a, level, nu, s))
        rounding = 1e-12 * nu * float(s.sum()) * abs(rho)
        yield Claim("duality_gap_", model.duality_gap_ + rounding, objective - best)
        outside = s[model.predict(X) == -1].sum() / s.sum()
        yield Claim("nu bounds the outliers", nu * (1 + 1e-12), outside)

    return law


def kernel_ridge(kernel, intercept):
    def law(d):
        n = 12
        X, y, s, alpha = d.samples(n), d.targets(n), d.weights(n), 1 / d.penalty
        model = KernelRidge(alpha, kernel=kernel, fit_intercept=intercept)
        fitted(model, X, y, sample_weight=s)
        K, middle = kernel_values(model, X, kernel, intercept)
        a, b = exact.exact(model.dual_coef_), mp.mpf(float(np.ravel(model.intercept_)[0]))
        objective = exact.ridge(K, y, [z + b for z in exact.products(K, a)], a, alpha, s)
        best = exact.ridge_minimum(middle, y, alpha, s, intercept)
        yield Claim("duality_gap_", model.duality_gap_, objective - best)
        error = abs(mp.mpf(float(model.objective_)) - objective)
        # Large coefficients of both signs: what float64 leaves of alpha a'(K a).
        sizes = [mp.fdot(map(abs, row), map(abs, a)) for row in K]
        rounding = n * EPS * mp.mpf(alpha) * mp.fdot(map(abs, a), sizes)
        yield Claim("objective_", 1e-12 * objective + rounding + model.duality_gap_, error)

    return law


# ---- projections --------------------------------------------------------------------------------


def principal_components(d):
    X, s = d.samples(d=3), d.weights()
    model = fitted(PCA(), X, sample_weight=s)
    S, mean = exact.covariance(X, s, ddof=1)
    values, vectors = mp.eigsy(S)
    order = sorted(range(3), key=lambda i: -values[i])
    largest = values[order[0]]
    for i, of in enumerate(order[: model.n_components_]):
        u = exact.exact(model.components_[i])
        found = mp.mpf(float(model.explained_variance_[i]))
        products = [mp.fdot([S[a, b] for b in range(3)], u) for a in range(3)]
        residual = mp.norm([p - found * v for p, v in zip(products, u, strict=True)]) / largest
        allowed = model.residuals_[i] + 64 * EPS
        yield Claim("residuals_", allowed, residual)
        yield Claim("explained_variance_", allowed * largest, abs(found - values[of]))
        along = abs(mp.fdot(u, [vectors[a, of] for a in range(3)])) / mp.norm(u)
        sine = mp.sqrt(max(mp.mpf(0), 1 - along**2))
        yield Claim("angle_bounds_", model.angle_bounds_[i] * (1 + 1e-9) + 64 * EPS, sine)
    size = [mp.sqrt(S[a, a]) for a in range(3)]
    for a in range(3):
        yield Claim(
            "mean_",
            4 * EPS * abs(mean[a]) + 64 * EPS * size[a],
            abs(mp.mpf(float(model.mean_[a])) - mean[a]),
        )


def verified_components(layout, **how):
    def law(d):
        X, s = d.samples(d=3), d.weights()
        X[np.random.default_rng(d.seed).random(X.shape) < 0.3] = 0.0  # as sparse rows have
        model = fitted(PCA(2, **how), layout(X), sample_weight=s)
        # One component is another plane's, so that the bound has something to tell.
        k, turn = len(model.components_), np.random.default_rng(d.seed).choice([0.0, 1e-4, 1.0])
        U = model.components_.astype(float)
        U[0] += turn * np.roll(U[0], 1)
        model.components_ = np.linalg.qr(U.T)[0].T.astype(U.dtype)
        shown = silently(lambda: model.verify(layout(X), sample_weight=s))
        if shown is None:
            raise Refused("error: verify")
        S, mean = exact.covariance(X, s, ddof=1)
        if not how.get("center", True):
            total = mp.fsum(exact.exact(s))
            S += mp.matrix(mean) * mp.matrix(mean).T * total / (total - 1)
        values = sorted(mp.eigsy(S)[0], reverse=True)
        products, along = [], []
        for u in map(exact.exact, model.components_):
            product = [mp.fdot([S[a, b] for b in range(3)], u) for a in range(3)]
            along.append(mp.fdot(u, product))
            products.append(mp.norm([p - along[-1] * v for p, v in zip(product, u, strict=True)]))
        objective = mp.fsum(values) - mp.fsum(along)
        excess = mp.fsum(values[:k]) - mp.fsum(along)
        rounding = 64 * EPS * mp.fsum(values)
        yield Claim("verify.duality_gap", shown.duality_gap, excess)
        yield Claim("verify.objective", rounding, abs(mp.mpf(shown.objective) - objective))
        residual = max(products) / max(along)
        yield Claim("verify.residual", 64 * EPS, abs(mp.mpf(shown.residual) - residual))

    return law


def kernel_components(kernel):
    def law(d):
        n = 8
        X = d.samples(n)
        model = fitted(KernelPCA(2, kernel=kernel, random_state=0), X)
        K = mp.matrix(kernel_values(model, X, kernel, free=True)[1])
        values = sorted(mp.eigsy(K, eigvals_only=True), reverse=True)
        for i in range(len(model.eigenvalues_)):
            found = mp.mpf(float(model.eigenvalues_[i]))
            allowed = (model.residuals_[i] + 256 * EPS) * values[0]
            yield Claim("eigenvalues_", allowed, abs(found - values[i]))

    return law


def canonical_correlations(d):
    X = d.samples(d=2)
    Y = np.c_[d.targets(), d.targets()[::-1]] * d.scale + d.shift * d.scale
    model = fitted(CCA(), X, Y)
    both, _ = exact.covariance(np.c_[X, Y], np.ones(N), ddof=1)
    A, B = exact.exact(model.x_rotations_.T), exact.exact(model.y_rotations_.T)

    def form(u, v, rows, columns):
        return mp.fsum(
            u[i] * both[rows + i, columns + j] * v[j] for i in range(len(u)) for j in range(len(v))
        )

    k = len(A)
    worst = max(
        max(abs(form(A[i], A[j], 0, 0) - (i == j)), abs(form(B[i], B[j], 2, 2) - (i == j)))
        for i in range(k)
        for j in range(k)
    )
    yield Claim("orthogonality_", model.orthogonality_, worst)
    off = max([abs(form(A[i], B[j], 0, 2)) for i in range(k) for j in range(k) if i != j] or [0])
    yield Claim("off_diagonal_", model.off_diagonal_, off)


# ---- clusters -----------------------------------------------------------------------------------


def trace_claims(model, value):
    trace = model.objective_trace_
    yield Claim("the trace ends at its objective", 0, abs(trace[-1] - value))
    yield Claim("rise of the trace", 16 * EPS * abs(trace[0]), np.diff(trace).max(initial=0.0))


def of_centers(make, dtype=np.float64, layout=np.asarray, power=2):
    """The law of clusters by nearest centres."""

    def law(d):
        if dtype == np.float32 and not 1e-15 < d.scale < 1e15:
            raise Refused("error: squares that float32 does not hold")
        X, s = d.samples().astype(dtype), d.weights()
        start = {} if d.start is None else {"init": X[:3] + (d.start - 1) * (X[3:6] - X[:3])}
        model = make(3, random_state=0, n_init=1, **start)
        fitted(model, layout(X), sample_weight=s)
        rows, centres = exact.exact(X), exact.exact(model.cluster_centers_)
        distances = [[exact.distance(x, c, power) for c in centres] for x in rows]
        truth = mp.fdot(
            exact.exact(s), [row[j] for row, j in zip(distances, model.labels_, strict=True)]
        )
        # Stored centres are rounded, the objective is that of centres that are not.
        unit = float(np.finfo(model.cluster_centers_.dtype).eps)
        moved = unit * np.abs(X).max() * D
        slack = 1e-12 * truth
        for w, row, j in zip(s, distances, model.labels_, strict=True):
            far = mp.sqrt(row[j]) if power == 2 else row[j]
            slack += w * ((far + moved) ** power - far**power)
        yield Claim("inertia_", slack, abs(mp.mpf(float(model.inertia_)) - truth))
        for row, j in zip(distances, model.labels_, strict=True):
            far, least = row[j], min(row)
            bound = (mp.sqrt(least) + 2 * moved) ** 2 if power == 2 else least + 2 * moved
            yield Claim("labels_", bound * (1 + 1e-12), far)
        if hasattr(model, "objective_trace_"):
            yield from trace_claims(model, model.inertia_)

    return law


def kernel_clusters(kernel):
    def law(d):
        X, s = d.samples(), d.weights()
        model = fitted(KernelKMeans(3, kernel=kernel, random_state=0), X, sample_weight=s)
        K, _ = kernel_values(model, X, kernel, free=False)
        truth = exact.within_clusters(K, model.labels_, s)
        yield Claim("inertia_", 1e-11 * truth, abs(mp.mpf(float(model.inertia_)) - truth))
        yield from trace_claims(model, model.inertia_)

    return law


def medoids(d):
    X, s = d.samples(), d.weights()
    model = fitted(KMedoids(3, random_state=0), X, sample_weight=s)
    rows = exact.exact(X)
    chosen = [rows[i] for i in model.medoid_indices_]
    distances = [[mp.sqrt(exact.distance(x, c, 2)) for c in chosen] for x in rows]
    truth = mp.fdot(exact.exact(s), [min(row) for row in distances])
    yield Claim("inertia_", 1e-12 * truth, abs(mp.mpf(float(model.inertia_)) - truth))
    for row, j in zip(distances, model.labels_, strict=True):
        yield Claim("labels_", min(row) * (1 + 1e-12), row[j])
    yield from trace_claims(model, model.inertia_)


def spectral(normalization):
    def law(d):
        Z = Disturbance(seed=d.seed).samples()
        G = np.exp(-((Z[:, None] - Z) ** 2).sum(2))
        G = (G + G.T) / 2 * d.scale
        how = {"affinity": "precomputed", "normalization": normalization, "random_state": 0}
        model = fitted(SpectralClustering(3, **how), G)
        one = SpectralClustering(3, **how).fit(G / d.scale)
        same = all(
            (model.labels_[i] == model.labels_[j]) == (one.labels_[i] == one.labels_[j])
            for i in range(N)
            for j in range(N)
        )
        yield Claim("labels of affinities of another unit", 0, int(not same))

    return law


def scaled_to_unit_sums(d):
    Z = Disturbance(seed=d.seed).samples()
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(2)) * d.scale
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = doubly_stochastic((K + K.T) / 2)
        except ValueError as error:
            raise Refused(str(error)) from None
    if caught:
        raise Refused(str(caught[0].message))
    sums = [mp.fsum(row) for row in exact.exact(np.asarray(found.matrix))]
    worst = max(abs(v - 1) for v in sums)
    yield Claim("residual", found.residual + 4 * N * EPS, worst)


def scaled_to_sums(d):
    Z, r, c = Disturbance(seed=d.seed).samples(), d.weights(N), d.weights(N)[::-1].copy()
    K = np.exp(-((Z[:, None] - Z[::-1]) ** 2).sum(2)) * d.scale
    found = without_warning(sinkhorn, K, r, c)
    P = exact.exact(np.asarray(found.matrix))
    wanted = [exact.exact(v) for v in (r, c * (r.sum() / c.sum()))]
    sums = [[mp.fsum(row) for row in P], [mp.fsum(row) for row in zip(*P, strict=True)]]
    worst = max(
        abs(got / want - 1)
        for gots, wants in zip(sums, wanted, strict=True)
        for got, want in zip(gots, wants, strict=True)
    )
    yield Claim("residual", found.residual + 4 * N * EPS, worst)


# ---- mixtures -----------------------------------------------------------------------------------


def gaussians(covariance_type):
    def law(d):
        X, s = d.samples(40), d.weights(40)
        X[20:] += 6 * d.scale
        start = {} if d.start is None else {"means_init": X[:2]}
        model = GaussianMixture(2, covariance_type=covariance_type, random_state=0, **start)
        fitted(model.set_params(max_iter=1000), X, sample_weight=s)
        C = model.covariances_
        full = {
            "full": lambda j: C[j],
            "tied": lambda j: C,
            "diag": lambda j: np.diag(C[j]),
            "spherical": lambda j: C[j] * np.eye(D),
        }[covariance_type]
        densities = []
        for x in exact.exact(X):
            parts = [
                mp.mpf(float(model.weights_[j]))
                * mp.exp(
                    exact.normal_log_density(
                        x, exact.exact(model.means_[j]), mp.matrix(exact.exact(full(j)))
                    )
                )
                for j in range(2)
            ]
            densities.append(mp.log(mp.fsum(parts)))
        # Of means rounded to float64, in deviations: what samples far away leave of a density.
        moved = EPS * np.abs(X).max() / np.sqrt(min(np.linalg.eigvalsh(full(j))[0] for j in (0, 1)))
        truth = mp.fdot(exact.exact(s), densities) / mp.mpf(float(s.sum()))
        allowed = 1e-11 * (1 + abs(truth)) + 40 * moved
        yield Claim("score", allowed, abs(mp.mpf(model.score(X, sample_weight=s)) - truth))
        trace = model.log_likelihood_trace_
        yield Claim(
            "fall of the trace",
            1e-13 * (1 + np.abs(trace).max()) + moved,
            -np.diff(trace).min(initial=0.0),
        )

    return law


def switches(d):
    """Of a mixture of independent bits: the likelihood of what it says, and its trace."""
    X, s = (d.samples(40, 5) > d.scale * d.shift).astype(float), d.weights(40)
    model = BernoulliMixture(2, binarize=None, random_state=0, max_iter=5000)
    fitted(model, X, sample_weight=s)
    means, shares = exact.exact(model.means_), exact.exact(model.weights_)
    densities = []
    for x in X:
        parts = [
            share * mp.fprod(p if bit else 1 - p for p, bit in zip(row, x, strict=True))
            for share, row in zip(shares, means, strict=True)
        ]
        densities.append(mp.log(mp.fsum(parts)))
    truth = mp.fdot(exact.exact(s), densities) / mp.mpf(float(s.sum()))
    error = abs(mp.mpf(model.score(X, sample_weight=s)) - truth)
    yield Claim("score", 1e-12 * (1 + abs(truth)), error)
    trace = model.log_likelihood_trace_
    yield Claim("fall of the trace", 1e-13 * np.abs(trace).max(), -np.diff(trace).min(initial=0.0))


def largest_entropy(d):
    """Of points on a line with a given mean; the root of the dual's slope is bisected."""
    points = d.samples(9, 1)
    c = points.mean(axis=0) + 0.3 * points.std(axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = maximum_entropy(points, c)
        except ValueError as error:
            raise Refused(f"error: {error}") from None
    if caught:
        raise Refused(f"warning: {caught[0].message}")
    f = [row[0] - mp.mpf(float(c[0])) for row in exact.exact(points)]
    unit = max(map(abs, f))

    def dual(mu):
        return mp.log(mp.fsum(mp.exp(mu * v) for v in f) / len(f))

    def slope(mu):
        return mp.fsum(v * mp.exp(mu * v) for v in f)

    low, high = -1000 / unit, 1000 / unit
    for _ in range(150):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    best, mu = dual(low), mp.mpf(float(found.multipliers[0]))
    yield Claim("duality_gap", found.duality_gap, dual(mu) - best)
    yield Claim("relative_entropy", found.duality_gap, abs(mp.mpf(found.relative_entropy) + best))
    p = exact.exact(found.probabilities)
    moment = abs(mp.fdot(p, f)) / unit
    yield Claim("residual", found.residual + 16 * EPS, moment)


LAWS = {
    "LogisticRegression": of_logistic({}),
    "LogisticRegression, sparse": of_logistic({"solver": "lbfgs"}, sp.csr_array),
    "LogisticRegression, three classes": of_logistic({}, n_classes=3),
    "LogisticRegression, lasso of three classes": of_logistic({"l1_ratio": 1.0}, n_classes=3),
    "LogisticRegression, C=inf": of_logistic({"C": np.inf}),
    "LogisticRegression, lasso": of_logistic({"l1_ratio": 1.0}),
    "LogisticRegression, elastic net": of_logistic({"l1_ratio": 0.5}),
    "LogisticRegression.path": of_logistic_path(0.0),
    "LogisticRegression.path, lasso": of_logistic_path(1.0),
    "LogisticRegression.path, elastic net": of_logistic_path(0.5),
    "LogisticRegression.path, float32": of_logistic_path(0.5, dtype=np.float32),
    "LogisticRegression.path, three classes": of_logistic_path(0.0, n_classes=3),
    "LogisticRegressionCV": of_folds(0.0),
    "LogisticRegressionCV, lasso": of_folds(1.0),
    "LinearRegression": least_squares,
    "ElasticNet, lasso": of_elastic_net(1.0),
    "ElasticNet": of_elastic_net(0.5),
    "ElasticNet, float32": of_elastic_net(0.9, dtype=np.float32),
    "ElasticNet, in blocks": of_elastic_net_in_blocks(np.float64),
    "ElasticNet, in blocks of float32": of_elastic_net_in_blocks(np.float32),
    "ElasticNet, wide lasso": of_elastic_net(1.0, 7, 12),
    "ElasticNet, wide": of_elastic_net(0.5, 7, 12),
    "ElasticNet, wide and sparse": of_elastic_net(0.8, 7, 12, sp.csr_array),
    "ElasticNet, wide in float32": of_elastic_net(1.0, 7, 12, dtype=np.float32),
    "ElasticNet, multi-task": of_multi_task(0.5),
    "ElasticNet, multi-task lasso": of_multi_task(1.0),
    "SVC, linear": of_machine(SVC, "linear", exact.hinge),
    "SVC, poly": of_machine(SVC, "poly", exact.hinge),
    "SVC, rbf": of_machine(SVC, "rbf", exact.hinge),
    "SVC, laplacian": of_machine(SVC, "laplacian", exact.hinge),
    "SVR, linear": of_machine(SVR, "linear", regression_objective),
    "SVR, poly": of_machine(SVR, "poly", regression_objective),
    "SVR, rbf": of_machine(SVR, "rbf", regression_objective),
    "LinearSVC, squared hinge": of_linear_machine(LinearSVC, "squared_hinge"),
    "LinearSVC, hinge": of_linear_machine(LinearSVC, "hinge"),
    "LinearSVC, sparse": of_linear_machine(LinearSVC, "hinge", sp.csr_array),
    "LinearSVR, squared": of_linear_machine(LinearSVR, "squared_epsilon_insensitive"),
    "LinearSVR": of_linear_machine(LinearSVR, "epsilon_insensitive"),
    "NuSVC, linear": nu_classes("linear"),
    "NuSVC, rbf": nu_classes("rbf"),
    "NuSVR, linear": nu_tube("linear"),
    "NuSVR, rbf": nu_tube("rbf"),
    "OneClassSVM, linear": one_class("linear"),
    "OneClassSVM, rbf": one_class("rbf"),
    "KernelRidge, linear": kernel_ridge("linear", True),
    "KernelRidge, rbf": kernel_ridge("rbf", False),
    "KernelRidge, rbf with an intercept": kernel_ridge("rbf", True),
    "PCA": principal_components,
    "PCA, verify": verified_components(np.asarray),
    "PCA of CSR, verify": verified_components(sp.csr_array),
    "PCA without its mean, verify": verified_components(sp.csr_array, center=False),
    "KernelPCA, linear": kernel_components("linear"),
    "KernelPCA, rbf": kernel_components("rbf"),
    "CCA": canonical_correlations,
    "KMeans": of_centers(KMeans),
    "KMeans, float32": of_centers(KMeans, np.float32),
    "KMeans, sparse": of_centers(KMeans, layout=sp.csr_array),
    "MiniBatchKMeans": of_centers(MiniBatchKMeans),
    "KMedians": of_centers(KMedians, power=1),
    "KMedoids": medoids,
    "KernelKMeans, linear": kernel_clusters("linear"),
    "KernelKMeans, rbf": kernel_clusters("rbf"),
    "SpectralClustering, normalized cut": spectral("normalized_cut"),
    "SpectralClustering, ratio cut": spectral("ratio_cut"),
    "doubly_stochastic": scaled_to_unit_sums,
    "sinkhorn": scaled_to_sums,
    "BernoulliMixture": switches,
    "maximum_entropy": largest_entropy,
    **{
        f"GaussianMixture, {kind}": gaussians(kind)
        for kind in ("full", "tied", "diag", "spherical")
    },
}


# The laws that look at offsets or at a start.
STARTED = "LogisticRegression", "KMeans", "MiniBatchKMeans", "KMedians", "GaussianMixture"


def check(law, d):
    """Raise where a claim is false; return the least evidence / truth above rounding, if any."""
    worst = None
    for name, evidence, truth in law(d):
        evidence, truth = mp.mpf(evidence), mp.mpf(truth)
        assert evidence >= truth, (
            f"{name}: {mp.nstr(evidence, 6)} reported, {mp.nstr(truth, 6)} is true; {d}"
        )
        if truth > 0 and evidence != mp.inf:
            ratio = evidence / truth
            worst = ratio if worst is None else min(worst, ratio)
    return worst


@pytest.mark.parametrize("name", LAWS)
def test_an_ordinary_fit_neither_warns_nor_claims_too_much(name):
    for seed in range(2):
        check(LAWS[name], Disturbance(seed=seed))


@pytest.mark.parametrize("name", LAWS)
@example(Disturbance(shift=1e8))
@example(Disturbance(shift=-1e10, scale=1e-3))
@example(Disturbance(scale=1e-150))
@example(Disturbance(scale=1e150))
@example(Disturbance(weight=1e-12))
@example(Disturbance(penalty=1e12))
@example(Disturbance(offset=800.0))
@example(Disturbance(start=1e-2))
@example(Disturbance(seed=147, scale=1e-3))
@example(Disturbance(seed=37575, shift=-1.0, scale=1e105, weight=1000.0, penalty=1e12))
@settings(max_examples=3)
@given(DISTURBANCES)
def test_evidence_bounds_the_truth_or_the_fit_warns(name, d):
    if not name.startswith(STARTED) and replace(d, offset=0.0, start=None) == Disturbance():
        return  # the ordinary fit above
    try:
        worst = check(LAWS[name], d)
    except Refused:
        return
    if worst is not None:
        target(-float(mp.log(worst + mp.mpf(10) ** -40)))


def tried(law, counts, ratios, wrong):
    """The test of one law that counts what it meets."""

    def attempt(d):
        counts["all"] += 1
        try:
            found = check(law, d)
            ratios.extend([] if found is None else [found])
        except Refused as reason:
            counts[str(reason).split(":")[0]] += 1
        except AssertionError as error:
            wrong.append(str(error))

    return attempt


def main(n_examples):
    """Try each law `n_examples` times and print what was found."""
    chosen = [word for word in sys.argv[2:]]
    print(f"{'law':<38}{'examples':>9}{'warned':>8}{'refused':>8}{'false':>6}  worst ratio")
    search = settings(max_examples=n_examples, deadline=None, database=None)
    for name, law in LAWS.items():
        if chosen and not any(word in name for word in chosen):
            continue
        counts, ratios, wrong = defaultdict(int), [mp.inf], []
        search(given(DISTURBANCES)(tried(law, counts, ratios, wrong)))()
        print(
            f"{name:<38}{counts['all']:>9}{counts['warning']:>8}{counts['error']:>8}"
            f"{len(wrong):>6}  {mp.nstr(min(ratios), 4)}",
            flush=True,
        )
        for line in wrong[:3]:
            print("    ", line.splitlines()[0][:300])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
