"""Every function of mlcore.plot called once, and `pictures.png`, a sheet of what they draw.

`python tests/plot/every_picture.py` draws the sheet anew: look at it before it is committed.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot
from matplotlib.legend import Legend
from matplotlib.text import Annotation, Text

from mlcore import plot
from mlcore.bounds import certify, classification_statements, report
from mlcore.cluster import (
    AgglomerativeClustering,
    KMeans,
    SpectralClustering,
    affinity,
    gap_statistic,
)
from mlcore.datasets import load_digits, load_iris
from mlcore.decomposition import CCA, PCA
from mlcore.linear_model import Lasso, LassoCV, LinearRegression, LogisticRegression
from mlcore.mixture import PLSA, GaussianMixture
from mlcore.svm import SVC, SVCCV

SHEET = Path(__file__).parent / "pictures.png"
COLUMNS = 5
WIDTH, HEIGHT, DPI = 4, 3, 60

X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [3, 1]], 30, axis=0)
Y = np.repeat([0, 1], 30)
IRIS, SPECIES = load_iris()
DIGITS = load_digits()[0] / 16
LINES = LassoCV(alphas=30, eps=1e-2).fit(IRIS[:, :3], IRIS[:, 3])

# Of 0 1 2 4 20 21 23 24 26 50, with clusters of 3 or more.
CONDENSED = {
    "parent": np.repeat([11, 12, 10], [4, 5, 3]),
    "child": np.arange(13)[np.arange(13) != 10],
    "lambda_val": 1 / np.array([2.0, 2, 2, 3, 3, 2, 2, 2, 3, 26, 16, 16]),
    "child_size": np.append(np.ones(10), [4, 5]),
}


# A call of every function, for what all of them promise.
CALLS = {
    "biplot": lambda ax: plot.biplot(PCA(2).fit(IRIS), IRIS, SPECIES, ax=ax),
    "bound_curves": lambda ax: plot.bound_curves({"1/m": lambda m: 1 / m}, [1, 10], ax=ax),
    "canonical_correlations": lambda ax: plot.canonical_correlations(
        CCA(2).fit(IRIS[:, :2], IRIS[:, 2:]), ax=ax
    ),
    "certificate_bounds": lambda ax: plot.certificate_bounds(
        certify(SVC().fit(IRIS[::2], SPECIES[::2]), IRIS[1::2], SPECIES[1::2]), ax=ax
    ),
    "coefficient_intervals": lambda ax: plot.coefficient_intervals(
        LinearRegression().fit(IRIS[:, :3], IRIS[:, 3]).inference(), ax=ax
    ),
    "condensed_tree": lambda ax: plot.condensed_tree(CONDENSED, selected=[11, 12], ax=ax),
    "contingency_table": lambda ax: plot.contingency_table(
        SPECIES, KMeans(4, random_state=0).fit_predict(IRIS), ax=ax
    ),
    "decision_regions": lambda ax: plot.decision_regions(SVC().fit(X, Y), X, Y, ax=ax),
    "dendrogram": lambda ax: plot.dendrogram(AgglomerativeClustering(3).fit(X), ax=ax),
    "eigengaps": lambda ax: plot.eigengaps(SpectralClustering(2, random_state=0).fit(X), ax=ax),
    "gap_curve": lambda ax: plot.gap_curve(
        gap_statistic(IRIS, n_clusters=range(1, 7), n_references=5, random_state=0), ax=ax
    ),
    "mixture_ellipses": lambda ax: plot.mixture_ellipses(
        GaussianMixture(2, random_state=0).fit(X), X, ax=ax
    ),
    "normalized_affinities": lambda ax: plot.normalized_affinities(affinity(X), Y, ax=ax),
    "objective_trace": lambda ax: plot.objective_trace(LogisticRegression().fit(X, Y), ax=ax),
    "penalty_path": lambda ax: plot.penalty_path(
        Lasso().path(IRIS[:, :3], IRIS[:, 3], alphas=LINES.alphas_), chosen=LINES, ax=ax
    ),
    "reachability": lambda ax: plot.reachability(
        AgglomerativeClustering(2, linkage="single").fit(IRIS), ax=ax
    ),
    "reconstructions": lambda ax: plot.reconstructions(
        PCA(20).fit(DIGITS), DIGITS[:2], (8, 8), counts=(1, 5, 99), ax=ax
    ),
    "reliability_curve": lambda ax: plot.reliability_curve(
        Y, LogisticRegression().fit(X, Y).predict_proba(X)[:, 1], ax=ax
    ),
    "report_intervals": lambda ax: plot.report_intervals(
        report(classification_statements(Y, np.roll(Y, 1))), ax=ax
    ),
    "scree": lambda ax: plot.scree(PCA().fit(IRIS), ax=ax),
    "search_scores": lambda ax: plot.search_scores(
        SVCCV(Cs=(0.1, 1.0), gammas=(0.1, 1.0, 10.0), cv=3).fit(X, Y), ax=ax
    ),
    "silhouettes": lambda ax: plot.silhouettes(X, Y, ax=ax),
    "start_quality": lambda ax: plot.start_quality(
        {"one": KMeans(3, n_init=1), "ten": KMeans(3, n_init=10)}, X, n_starts=4, ax=ax
    ),
    "topics": lambda ax: plot.topics(
        PLSA(2, random_state=0).fit(DIGITS[:50]), [str(j) for j in range(64)], ax=ax
    ),
    "transport_plan": lambda ax: plot.transport_plan(
        np.exp(-abs(np.arange(8)[:, None] - 1.3 * np.arange(6))), ax=ax
    ),
}
PANELS = {"normalized_affinities": 5, "reconstructions": 8, "topics": 2}


def pixels(picture: plot.Picture) -> np.ndarray:
    """Return what is drawn, as grey and coloured values (height, width, 3) of 0 to 255.

    Without text, and what makes room for it: another version of matplotlib has other glyphs.
    """
    figure = picture.figure_
    figure.set_size_inches(WIDTH, HEIGHT)
    figure.set_dpi(DPI)
    figure.set_layout_engine("none")
    specs = [ax.get_subplotspec() for ax in figure.axes]
    if None not in specs:  # as without a layout, which has room for texts
        for ax, spec in zip(figure.axes, specs, strict=True):
            ax.set_position(spec.get_position(figure))
    for artist in figure.findobj(lambda artist: isinstance(artist, (Text, Legend))):
        if isinstance(artist, Annotation):
            artist.set_text("")  # its arrow is drawn
        else:
            artist.set_visible(False)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(float)


def place(number: int) -> tuple[slice, slice]:
    """Return rows and columns of a picture on the sheet."""
    row, column = divmod(number, COLUMNS)
    height, width = HEIGHT * DPI, WIDTH * DPI
    return (
        slice(row * height, (row + 1) * height),
        slice(column * width, (column + 1) * width),
    )


def main():
    pyplot.switch_backend("agg")
    rows = -(-len(CALLS) // COLUMNS)
    sheet = np.full((rows * HEIGHT * DPI, COLUMNS * WIDTH * DPI, 3), 255, np.uint8)
    for number, name in enumerate(CALLS):
        sheet[place(number)] = pixels(CALLS[name](None))
    pyplot.imsave(SHEET, sheet, metadata={"Software": None})


if __name__ == "__main__":
    main()
