#!/usr/bin/env python3
"""Time mlcore and scikit-learn side by side: the table and picture of "How fast, how sure".

python tools/how_fast.py            prints the table
python tools/how_fast.py --write    writes it into docs/how_fast_how_sure.md, and docs/how_fast.svg

The fits of the two take turns, so that a busy machine slows both; the least of several times
counts.
Needs scikit-learn, and matplotlib for the picture. Ratios travel between machines better than times
do.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import (
    cluster,
    decomposition,
    discriminant_analysis,
    kernel_ridge,
    linear_model,
    mixture,
    naive_bayes,
    svm,
)

import mlcore
from mlcore.datasets import load_digits

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how_fast_how_sure.md"
PICTURE = PAGE.with_name("how_fast.svg")
MARKS = ("<!-- how_fast -->", "<!-- end -->")
REPEATS = 5

Fit = Callable[[], Any]


def workloads() -> dict[str, tuple[Fit, Fit, Callable[[Any], str]]]:
    """By name: mlcore's fit, scikit-learn's, and what mlcore's says of itself."""
    digits, labels = load_digits()
    digits = digits / 16
    rng = np.random.default_rng(0)
    centers = 4 * rng.normal(size=(16, 16))
    X = centers[rng.integers(16, size=50_000)] + rng.normal(size=(50_000, 16))
    y = (X @ rng.normal(size=16) + 2 * rng.normal(size=len(X)) > 0).astype(int)
    wide = rng.normal(size=(20_000, 200)) @ rng.normal(size=(200, 200))
    counts = rng.poisson(0.3, size=(20_000, 200)).astype(float)
    target = labels.astype(float)
    start = X[:16]
    mixture_start = {
        "weights_init": np.full(16, 1 / 16),
        "means_init": start,
        "precisions_init": np.tile(np.eye(16), (16, 1, 1)),
    }

    def gap(model: Any) -> str:
        relative = np.max(np.asarray(model.duality_gap_) / np.asarray(model.dual_objective_))
        return f"duality gap {relative:.0e} of the objective"

    def steps(model: Any) -> str:
        return f"objective never rose in {model.n_iter_} steps"

    return {
        "SVC, digits, rbf": (
            lambda: mlcore.svm.SVC(C=10, gamma=0.05).fit(digits, labels),
            lambda: svm.SVC(C=10, gamma=0.05).fit(digits, labels),
            gap,
        ),
        "SVC, 4,000 x 16, rbf": (
            lambda: mlcore.svm.SVC(C=1, gamma=0.02).fit(X[:4000], y[:4000]),
            lambda: svm.SVC(C=1, gamma=0.02).fit(X[:4000], y[:4000]),
            gap,
        ),
        "SVR, digits": (
            lambda: mlcore.svm.SVR(C=10, gamma=0.05).fit(digits, target),
            lambda: svm.SVR(C=10, gamma=0.05).fit(digits, target),
            gap,
        ),
        "k-means, 50,000 x 16, k = 16": (
            lambda: mlcore.cluster.KMeans(16, init=start, n_init=1, tol=0).fit(X),
            lambda: cluster.KMeans(16, init=start, n_init=1, tol=0).fit(X),
            steps,
        ),
        "Gaussian mixture, 50,000 x 16, k = 16": (
            lambda: mlcore.mixture.GaussianMixture(16, max_iter=20, **mixture_start).fit(X),
            lambda: mixture.GaussianMixture(16, max_iter=20, **mixture_start).fit(X),
            lambda model: f"likelihood never fell in {model.n_iter_} steps",
        ),
        "Ward's tree, digits": (
            lambda: mlcore.cluster.AgglomerativeClustering(10, linkage="ward").fit(digits),
            lambda: cluster.AgglomerativeClustering(10, linkage="ward").fit(digits),
            lambda model: "all merges, as SciPy's",
        ),
        "PCA, 20,000 x 200, 10 components": (
            lambda: mlcore.decomposition.PCA(10).fit(wide),
            lambda: decomposition.PCA(10).fit(wide),
            lambda model: f"angles from the exact ones below {model.angle_bounds_.max():.0e}",
        ),
        "kernel ridge, digits": (
            lambda: mlcore.kernel_ridge.KernelRidge(0.1, kernel="rbf", gamma=0.05).fit(
                digits, target
            ),
            lambda: kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.05).fit(
                digits, target
            ),
            lambda model: f"no prediction off by more than {model.prediction_bound_:.0e}",
        ),
        "logistic regression, 50,000 x 16": (
            lambda: mlcore.linear_model.LogisticRegression().fit(X, y),
            lambda: linear_model.LogisticRegression().fit(X, y),
            lambda model: (
                f"duality gap {model.duality_gap_ / model.objective_:.0e} of the objective"
            ),
        ),
        "linear regression, 20,000 x 200": (
            lambda: mlcore.linear_model.LinearRegression().fit(wide, wide[:, 0] ** 2),
            lambda: linear_model.LinearRegression().fit(wide, wide[:, 0] ** 2),
            lambda model: f"gradient {model.gradient_norm_:.0e}, 0 at the minimum",
        ),
        "linear discriminants, 50,000 x 16": (
            lambda: mlcore.discriminant.LinearDiscriminantAnalysis().fit(X, y),
            lambda: discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y),
            lambda model: f"rank {model.rank_} of {model.n_features_in_}",
        ),
        "Gaussian naive Bayes, 50,000 x 16": (
            lambda: mlcore.naive_bayes.GaussianNB().fit(X, y),
            lambda: naive_bayes.GaussianNB().fit(X, y),
            lambda model: "closed form",
        ),
        "multinomial naive Bayes, 20,000 x 200": (
            lambda: mlcore.naive_bayes.MultinomialNB().fit(counts, y[:20_000]),
            lambda: naive_bayes.MultinomialNB().fit(counts, y[:20_000]),
            lambda model: "counts summed exactly",
        ),
    }


def seconds(fit: Fit) -> tuple[float, Any]:
    begin = time.perf_counter()
    model = fit()
    return time.perf_counter() - begin, model


class Row(NamedTuple):
    """The least times of one fit, in seconds, and what mlcore's says of itself."""

    name: str
    ours: float
    theirs: float
    evidence: str

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def measured() -> list[Row]:
    rows = []
    for name, (ours, theirs, evidence) in workloads().items():
        times = [(seconds(ours), seconds(theirs)[0]) for _ in range(REPEATS)]
        model = times[0][0][1]
        fast = min(own for (own, _), _ in times)
        rows.append(Row(name, fast, min(other for _, other in times), evidence(model)))
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows in Markdown."""
    lines = ["| work | mlcore | scikit-learn | ratio | what the fit says of itself |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for row in rows:
        cells = (row.name, shown(row.ours), shown(row.theirs), f"{row.ratio:.1f}", row.evidence)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def shown(time_of_fit: float) -> str:
    return f"{time_of_fit:.2f} s" if time_of_fit >= 1 else f"{1e3 * time_of_fit:.1f} ms"


def draw(rows: list[Row], path: Path) -> None:
    """Draw the ratios as bars on a logarithmic axis, the largest first; losses are red."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "ratios"  # the same times, the same file
    rows = sorted(rows, key=lambda row: row.ratio)
    ratios = np.array([row.ratio for row in rows])
    figure, axes = pyplot.subplots(figsize=(8, 0.3 * len(rows) + 0.9), layout="constrained")
    colours = np.where(ratios >= 1, "#2b7a9b", "#b5403a")
    bars = axes.barh([row.name for row in rows], ratios - 1, left=1, color=colours, height=0.65)
    axes.bar_label(bars, [f" {ratio:.1f} " for ratio in ratios], fontsize="small")
    low, high = 0.8 * min(1.0, ratios.min()), 1.5 * ratios.max()
    axes.set(xscale="log", xlim=(low, high))
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time of scikit-learn over time of mlcore")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="into the page of the documents")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # both stop at 20 steps of EM
    rows = measured()
    text = table(rows)
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        begin, end = (page.index(mark) for mark in MARKS)
        begin += len(MARKS[0])
        PAGE.write_text(f"{page[:begin]}\n{text}\n{page[end:]}", encoding="utf-8")
        draw(rows, PICTURE)


if __name__ == "__main__":
    main()
