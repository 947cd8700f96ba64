"""Pictures show the numbers of their models: every artist is read back."""

import builtins
import functools
import warnings
from types import SimpleNamespace

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from each import each
from matplotlib import pyplot
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform
from scipy.stats import beta
from sklearn.cluster import OPTICS as PeerOPTICS
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.decomposition import PCA as PeerPCA
from sklearn.linear_model import LogisticRegression as PeerLogistic
from sklearn.mixture import GaussianMixture as PeerMixture
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as PeerSVC

from every_picture import (
    CALLS,
    CONDENSED,
    DIGITS,
    IRIS,
    PANELS,
    SHEET,
    SPECIES,
    X,
    Y,
    pixels,
    place,
)
from figure_faults import faults
from mlcore import plot
from mlcore.bayes import RiskClassifier
from mlcore.bounds import certify, hoeffding_epsilon, report
from mlcore.cluster import (
    AgglomerativeClustering,
    KMeans,
    SpectralClustering,
    affinity,
    gap_statistic,
    silhouette_samples,
)
from mlcore.decomposition import CCA, PCA
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.kernel_ridge import KernelRidgeCV
from mlcore.linear_model import (
    ElasticNet,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
)
from mlcore.mixture import PLSA, GaussianMixture
from mlcore.naive_bayes import GaussianNB
from mlcore.svm import SVC, SVCCV, LinearSVC

DIFFERENCE = 2  # of 255, root mean square
RNG = np.random.default_rng(0)


def test_every_function_is_called_here():
    assert sorted(CALLS) == sorted(set(plot.__all__) - {"Picture"})


@pytest.mark.parametrize("name", CALLS)
def test_pictures_are_drawn_on_new_or_given_axes_and_look_as_before(name, tmp_path):
    """Equal up to rounding to those on the sheet; one more thin line would be a difference."""
    new = CALLS[name](None)
    assert isinstance(new, plot.Picture) and new.artists_
    assert len(np.atleast_1d(new.ax_).flat) == PANELS.get(name, 1)
    figure, ax = pyplot.subplots(1, PANELS.get(name, 1))
    given = CALLS[name](ax)
    assert given.figure_ is figure
    assert_array_equal(np.ravel(given.ax_), np.ravel(ax))
    assert given.artists_.keys() == new.artists_.keys()
    path = tmp_path / "given.png"
    figure.savefig(path, dpi=40)
    assert path.stat().st_size > 1000
    assert faults(new.figure_) == []
    for axis in np.ravel(new.ax_):
        if name not in PANELS:
            assert axis.get_xlabel() or axis.get_ylabel()
    drawn = pixels(new)
    expected = 255 * pictures()[place(list(CALLS).index(name))][..., :3]
    assert np.sqrt(((drawn - expected) ** 2).mean()) < DIFFERENCE
    for panel in np.ravel(new.ax_):
        line = panel.axline((0.2, 0), (0.8, 1), color="0.5", transform=panel.transAxes)
        line.set_linewidth(0.8)
        panel.draw_artist(line)
    other = np.asarray(new.figure_.canvas.buffer_rgba())[..., :3].astype(float)
    assert np.sqrt(((other - drawn) ** 2).mean()) > DIFFERENCE


@functools.cache
def pictures():
    return pyplot.imread(SHEET)


@each("name", CALLS)
def test_axes_of_another_kind_are_refused(name):
    with pytest.raises(ValueError, match="ax"):
        CALLS[name](3)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    original = builtins.__import__

    def refusing(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(f"No module named {name!r}")
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(ImportError, match=r'pip install "mlcore\[plot\]"'):
        CALLS["scree"](None)


@pytest.mark.parametrize("model", [SVC(kernel="linear", C=0.3), PeerSVC(kernel="linear", C=0.3)])
def test_regions_support_vectors_and_margin_errors(model):
    model.fit(X, Y)
    artists = plot.decision_regions(model, X, Y, resolution=30).artists_
    regions = artists["regions"].get_array().reshape(30, 30)
    assert regions[:, 0].max() == 0 and regions[:, -1].min() == 1
    assert_allclose(artists["support_vectors"].get_offsets(), model.support_vectors_)
    short = (2 * Y - 1) * model.decision_function(X) < 1 - model.tol
    assert short.any()
    assert_allclose(artists["margin_errors"].get_offsets(), X[short])
    assert_array_equal(artists["boundary"].levels, [-1, 0, 1])
    drawn = np.vstack([part.get_offsets() for part in artists["samples"]])
    assert_allclose(drawn, X)


def test_regions_of_three_classes_and_of_a_classifier_without_scores():
    plane = IRIS[:, 2:]
    artists = plot.decision_regions(SVC().fit(plane, SPECIES), plane, SPECIES).artists_
    assert "boundary" not in artists and len(artists["samples"]) == 3
    peer = PeerLogistic().fit(plane, SPECIES)
    assert "support_vectors" not in plot.decision_regions(peer, plane, SPECIES).artists_
    with pytest.raises(ValueError, match="4 features"):
        plot.decision_regions(peer, IRIS, SPECIES)


def test_traces_and_the_bound_on_the_optimum():
    model = LogisticRegression().fit(X, Y)
    artists = plot.objective_trace(model).artists_
    assert_array_equal(artists["trace"].get_ydata(), model.objective_trace_)
    bound = artists["bound"].get_ydata()[0]
    assert_allclose(bound, model.objective_ - model.duality_gap_)
    exact = LogisticRegression(tol=1e-12).fit(X, Y).objective_
    assert bound <= exact <= model.objective_
    mixture = GaussianMixture(2, random_state=0).fit(X)
    picture = plot.objective_trace(mixture)
    assert_array_equal(picture.artists_["trace"].get_ydata(), mixture.log_likelihood_trace_)
    perceptron = Perceptron().fit(X[Y == 0].tolist() + [[50.0, 50.0]], [0] * 30 + [1])
    assert plot.objective_trace(perceptron, ax=picture.ax_).ax_ is picture.ax_
    assert len(picture.ax_.get_lines()) == 2
    with pytest.raises(ValueError, match="objective_trace_"):
        plot.objective_trace(LinearDiscriminantAnalysis())


def test_starts_are_sorted_and_measured_from_the_best():
    models = {"own": KMeans(5, n_init=1), "peer": PeerKMeans(5, n_init=1)}
    curves = plot.start_quality(models, X, n_starts=5).artists_["curves"]
    ends = np.array([curve.get_ydata() for curve in curves])
    assert ends.min() == 0 and (np.diff(ends) >= 0).all()
    inertia = np.array(
        [
            [cls(5, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(5)]
            for cls in (KMeans, PeerKMeans)
        ]
    )
    expected = 100 * (np.sort(inertia, axis=1) / inertia.min() - 1)
    assert_allclose(ends, expected, atol=1e-10)  # percent of sums rounded to 1e-13
    assert models["own"].random_state is None
    mixtures = {"k-means++": GaussianMixture(2)}
    picture = plot.start_quality(mixtures, X, n_starts=2)
    assert "log-likelihood" in picture.ax_.get_ylabel()
    with pytest.raises(ValueError, match="models"):
        plot.start_quality({}, X)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("cls", [GaussianMixture, PeerMixture])
def test_ellipses_are_the_points_of_one_distance(cls, kind):
    model = cls(2, covariance_type=kind, random_state=0).fit(X)
    artists = plot.mixture_ellipses(model, X).artists_
    assert len(artists["ellipses"]) == 4
    assert_allclose(artists["means"].get_offsets(), model.means_)
    full = {
        "full": lambda k: model.covariances_[k],
        "tied": lambda k: model.covariances_,
        "diag": lambda k: np.diag(model.covariances_[k]),
        "spherical": lambda k: model.covariances_[k] * np.eye(2),
    }[kind]
    for number, ellipse in enumerate(artists["ellipses"]):
        k, n_std = divmod(number, 2)
        # On the ellipse the squared Mahalanobis distance is n_std squared.
        points = ellipse.get_patch_transform().transform(
            [[np.cos(t), np.sin(t)] for t in np.linspace(0, 6, 9)]
        )
        centred = points - model.means_[k]
        distances = np.einsum("id,id->i", centred @ np.linalg.inv(full(k)), centred)
        assert_allclose(distances, (n_std + 1) ** 2, rtol=1e-9)


def test_dendrogram_and_where_it_stopped():
    model = AgglomerativeClustering(3).fit(X)
    artists = plot.dendrogram(model).artists_
    stop = artists["stop"].get_ydata()[0]
    assert (model.distances_ < stop).sum() == len(X) - 3
    assert sorted(artists["tree"]["leaves"]) == list(range(len(X)))
    shades = [c for c in artists["tree"]["leaves_color_list"] if c != "#777777"]
    assert len(set(shades)) == 3
    given = AgglomerativeClustering(None, distance_threshold=2.5).fit(X)
    artists = plot.dendrogram(given, orientation="left").artists_
    assert artists["stop"].get_xdata()[0] == 2.5
    assert plot.dendrogram(AgglomerativeClustering(1).fit(X)).artists_["stop"] is None
    none = plot.dendrogram(AgglomerativeClustering(len(X)).fit(X)).artists_["stop"]
    assert 0 < none.get_ydata()[0] < model.distances_.min()
    with pytest.raises(ValueError, match="two samples"):
        plot.dendrogram(AgglomerativeClustering(1).fit(X[:1]))


def test_affinities_are_ordered_by_cluster():
    order = RNG.permutation(len(X))
    K = affinity(X[order])
    images = plot.normalized_affinities(K, Y[order]).artists_["images"]
    assert len(images) == 5
    by_cluster = np.argsort(Y[order], kind="stable")
    assert_array_equal(images[0].get_array(), K[np.ix_(by_cluster, by_cluster)])
    for number, deviation in ((1, 1e-9), (3, 1e-6), (4, 1e-6)):
        assert_allclose(images[number].get_array().sum(axis=1), 1, atol=deviation)
    with pytest.raises(ValueError, match="square"):
        plot.normalized_affinities(np.ones((2, 3)))


def test_silhouettes_are_those_of_the_samples():
    artists = plot.silhouettes(X, np.array(["b", "a"])[Y]).artists_
    values = silhouette_samples(X, Y)
    assert_allclose(artists["mean"].get_xdata()[0], values.mean())
    for code, part in enumerate(artists["clusters"]):
        own = values[Y == 1 - code]  # "a" comes first
        assert_allclose(part.get_paths()[0].vertices[:, 0].max(), max(own.max(), 0))


def test_spectra():
    model = SpectralClustering(2, n_components=4, random_state=0).fit(X)
    artists = plot.eigengaps(model).artists_
    assert_array_equal(artists["eigenvalues"].get_ydata(), model.eigenvalues_)
    assert_array_equal([bar.get_height() for bar in artists["gaps"]], model.eigengaps_)
    for pca in (PCA(2).fit(IRIS), PeerPCA(2).fit(IRIS)):
        artists = plot.scree(pca).artists_
        shares = pca.explained_variance_ratio_
        assert_allclose([bar.get_height() for bar in artists["shares"]], shares)
        assert_allclose(artists["sum"].get_ydata(), np.cumsum(shares))
    assert "bounds" in plot.scree(PCA(2).fit(IRIS)).artists_
    for function in (plot.eigengaps, plot.scree):
        with pytest.raises(ValueError, match="model"):
            function(KMeans())


def test_arrows_are_loadings_and_images_come_nearer():
    pca = PCA(2).fit(IRIS)
    artists = plot.biplot(pca, IRIS, SPECIES, n_arrows=3).artists_
    loadings = (pca.components_ * np.sqrt(pca.explained_variance_)[:, None]).T
    ends = np.array([arrow.xy for arrow in artists["arrows"]])
    longest = np.argsort(-np.hypot(*loadings.T))[:3]
    assert_allclose(ends / ends[0, 0], loadings[longest] / loadings[longest[0], 0])
    assert [text.get_text() for text in artists["names"]] == [f"feature {j}" for j in longest]
    pca = PCA(20).fit(DIGITS)
    images = plot.reconstructions(pca, DIGITS[:1], (8, 8), counts=(1, 5, 99)).artists_["images"]
    made = [np.ravel(image.get_array()) for image in images]
    assert_array_equal(made[0], DIGITS[0])
    assert_allclose(made[-1], pca.inverse_transform(pca.transform(DIGITS[:1]))[0])
    errors = [((one - made[0]) ** 2).sum() for one in made[1:]]
    assert errors == sorted(errors, reverse=True)
    with pytest.raises(ValueError, match="shape"):
        plot.reconstructions(pca, DIGITS[:1], (8, 9))
    with pytest.raises(ValueError, match="two rows"):
        plot.biplot(PCA(1).fit(IRIS), IRIS)


def test_correlations_that_may_be_chance_are_hatched():
    noise = RNG.normal(size=(100, 2))
    model = CCA(2).fit(noise + [0, 5], np.c_[noise[:, 0], RNG.normal(size=100)])
    artists = plot.canonical_correlations(model).artists_
    bars = list(artists["bars"])
    assert_allclose([bar.get_height() for bar in bars], model.all_correlations_)
    tested = model.dimension_test().f_p_value
    assert [bar.get_hatch() is None for bar in bars] == (tested < 0.05).tolist()
    with pytest.raises(ValueError, match="level"):
        plot.canonical_correlations(model, level=2)


def test_searches_of_one_and_two_parameters():
    search = SVCCV(Cs=(10.0, 0.1), gammas=(0.1, 1.0, 10.0), cv=3).fit(X, Y)
    artists = plot.search_scores(search).artists_
    table = np.asarray(artists["scores"].get_array())
    results = search.cv_results_
    for C, gamma, score in zip(
        results["param_C"], results["param_gamma"], results["mean_test_score"], strict=True
    ):
        assert table[[0.1, 1.0, 10.0].index(gamma), [0.1, 10.0].index(C)] == score
    column, row = artists["best"].get_xydata()[0].astype(int)
    assert table[row, column] == table.max() == search.best_score_
    several = SVCCV(
        Cs=(10.0, 0.1), gammas=(0.1, 1.0), cv=3, scoring=["accuracy", "f1_macro"], refit="f1_macro"
    ).fit(X, Y)
    picture = plot.search_scores(several)
    assert np.asarray(picture.artists_["scores"].get_array()).max() == several.best_score_
    peer = GridSearchCV(PeerSVC(), {"C": [1.0, 0.1, 100.0]}, cv=3).fit(X, Y)
    artists = plot.search_scores(peer).artists_
    line = artists["scores"].lines[0]
    assert_array_equal(line.get_xdata(), [0.1, 1, 100])
    assert_allclose(line.get_ydata(), peer.cv_results_["mean_test_score"][[1, 0, 2]])
    assert artists["best"].get_ydata()[0] == peer.best_score_
    ridge = KernelRidgeCV(alphas=[0.1, 1.0], gammas=[0.1, 1.0], kernel="rbf").fit(X, X[:, 0])
    shown = plot.search_scores(ridge).artists_["scores"].get_array()
    assert_allclose(shown, ridge.criterion_values_)
    for given in ({"alphas": [0.1, 1.0, 9.0], "gammas": [0.5]}, {"gammas": [0.1, 1.0, 9.0]}):
        ridge = KernelRidgeCV(**given, kernel="rbf").fit(X, X[:, 0])
        artists = plot.search_scores(ridge).artists_
        assert_array_equal(artists["scores"].lines[0].get_xdata(), [0.1, 1, 9])
        assert_allclose(artists["best"].get_ydata(), ridge.best_criterion_)
    with pytest.raises(ValueError, match="search"):
        plot.search_scores(SVC())


def test_reliability_and_its_exact_intervals():
    probability = np.r_[np.full(20, 0.15), np.full(10, 0.85)]
    happened = np.r_[np.zeros(17), np.ones(3), np.ones(8), np.zeros(2)]
    artists = plot.reliability_curve(happened, probability, n_bins=2).artists_
    line, _, (bars,) = artists["curve"].lines
    assert_allclose(line.get_xydata(), [[0.15, 0.15], [0.85, 0.8]])
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    exact = [
        [beta.ppf(0.0125, k, m - k + 1), beta.ppf(0.9875, k + 1, m - k)]
        for k, m in ((3, 20), (8, 10))
    ]  # two bins share delta
    assert_allclose(ends, exact, rtol=1e-9)
    assert [text.get_text() for text in artists["counts"]] == ["20", "10"]
    quantiles = plot.reliability_curve(happened, probability, n_bins=3, strategy="quantile")
    assert sum(int(text.get_text()) for text in quantiles.artists_["counts"]) == 30
    constant = plot.reliability_curve([0, 1], [0.5, 0.5], strategy="quantile")
    assert [text.get_text() for text in constant.artists_["counts"]] == ["2"]
    P = np.random.default_rng(0).dirichlet([1, 1, 1], 90)
    several = plot.reliability_curve(np.repeat(["a", "b", "c"], 30), P, n_bins=4)
    assert [curve.get_label() for curve in several.artists_["curve"]] == ["a", "b", "c"]
    assert sum(int(text.get_text()) for text in several.artists_["counts"]) == 270
    for y, p in (([0, 1], [0.5, 1.5]), ([0, 1, 2], [0.1, 0.2, 0.3]), ([0, 1], [0.1])):
        with pytest.raises(ValueError):
            plot.reliability_curve(y, p)


def test_curves_and_certificates():
    sizes = [10, 100, 1000]
    curves = {"f": lambda m: hoeffding_epsilon(m, 0.05), "given": [3.0, 0.5, 0.1]}
    artists = plot.bound_curves(curves, sizes, observed=0.05).artists_
    assert_allclose(artists["curves"][0].get_ydata(), [hoeffding_epsilon(m, 0.05) for m in sizes])
    assert_array_equal(artists["curves"][1].get_ydata(), curves["given"])
    assert_array_equal(artists["observed"].get_ydata(), [0.05] * 3)
    machine = SVC().fit(IRIS[::2], SPECIES[::2])
    certificate = certify(machine, IRIS[1::2], SPECIES[1::2])
    picture = plot.certificate_bounds(certificate)
    widths = [bar.get_width() for bar in picture.artists_["bars"]]
    assert widths == [min(float(bound), 1) for bound in certificate.bounds]
    assert [text.get_text() for text in picture.ax_.get_yticklabels()] == [
        bound.name for bound in certificate.bounds
    ]
    losses = certify(np.full(50, 3.0), y=np.arange(50) % 4, loss="squared", value_range=(0, 20))
    picture = plot.certificate_bounds(losses)
    widths = [bar.get_width() for bar in picture.artists_["bars"]]
    assert widths == [float(bound) for bound in losses.bounds] and min(widths) > 1
    assert picture.ax_.get_xlabel() == "expected loss, at most"
    assert picture.artists_["observed"].get_xdata()[0] == losses.inputs["mean_loss"]
    for bad in ({}, {"f": [1.0]}):
        with pytest.raises(ValueError, match="bounds"):
            plot.bound_curves(bad, sizes)
    with pytest.raises(ValueError, match="sizes"):
        plot.bound_curves(curves, [0, 1])
    with pytest.raises(ValueError, match="certificate"):
        plot.certificate_bounds(3)


def test_reports_are_drawn_from_end_to_end():
    statements = {
        "rate": (0.3, lambda delta: (0.25, 0.4)),
        "below": lambda delta: (0.0, 0.125),
        "loss": (3.0, lambda delta: (2.0, 5.0)),
    }
    picture = plot.report_intervals(report(statements))
    ends = [line.get_xdata() for line in picture.artists_["intervals"]]
    assert_array_equal(ends, [[0.25, 0.4], [0, 0.125], [np.nan, np.nan]])
    assert_array_equal(picture.artists_["observed"].get_xydata(), [[0.3, 0]])
    names = [text.get_text() for text in picture.ax_.get_yticklabels()]
    assert names == [
        "rate: 0.25000 to 0.40001",
        "below: 0.00000 to 0.12500",
        "loss: 2.00000 to 5.00000",
    ]
    assert faults(picture.figure_) == []
    with pytest.raises(ValueError, match="report"):
        plot.report_intervals(3)


def test_topics_show_their_most_probable_words():
    words = [f"w{j}" for j in range(6)]
    counts = np.kron(np.eye(2), [[9.0, 5.0, 1.0]]).astype(int)
    model = PLSA(2, random_state=0).fit(counts)
    picture = plot.topics(model, words, n_words=2)
    for k, (panel, bars) in enumerate(zip(picture.ax_.flat, picture.artists_["bars"], strict=True)):
        order = np.argsort(-model.components_[k])[:2]
        assert [text.get_text() for text in panel.get_yticklabels()] == [words[j] for j in order]
        shares = model.components_[k, order] / model.components_[k].sum()
        assert_allclose([bar.get_width() for bar in bars], shares)
    with pytest.raises(ValueError, match="5 words"):
        plot.topics(model, words[:5])


# ---- on real data


@pytest.mark.parametrize(
    ("depth", "limit"), [("shallow", 10**6), ("deep", 1)], ids=["by SciPy", "without recursion"]
)
@pytest.mark.parametrize("orientation", ["top", "left"])
def test_trees_are_drawn_alike_with_and_without_recursion(depth, limit, orientation, monkeypatch):
    model = AgglomerativeClustering(3, linkage="average").fit(X[::3])
    names = [f"s{i}" for i in range(20)]
    expected = hierarchy.dendrogram(model.linkage_matrix_, no_plot=True, labels=names)
    monkeypatch.setattr("mlcore.plot.clusters.trees._DEPTH", limit)
    picture = plot.dendrogram(model, labels=names, orientation=orientation)
    tree = picture.artists_["tree"]
    for key in ("icoord", "dcoord"):
        assert_allclose(tree[key], expected[key], rtol=1e-14)
    assert tree["leaves"] == expected["leaves"] and list(tree["ivl"]) == expected["ivl"]
    assert len(set(tree["color_list"])) == 4  # three clusters, and grey above
    axis = picture.ax_.xaxis if orientation == "top" else picture.ax_.yaxis
    assert [text.get_text() for text in axis.get_ticklabels()] == expected["ivl"]


def test_chains_of_any_depth_are_drawn():
    n = 3000  # Python stops at 1000 calls within each other
    model = AgglomerativeClustering(2, linkage="single")
    model.fit(np.cumsum(1 + np.linspace(0, 1, n))[:, None])
    picture = plot.dendrogram(model)
    assert sorted(picture.artists_["tree"]["leaves"]) == list(range(n))
    (lines,) = picture.ax_.collections
    segments = np.array(lines.get_segments())
    assert_allclose(np.sort(segments[:, 1, 1]), np.sort(model.distances_), rtol=1e-12)
    with pytest.raises(ValueError, match="count_sort=True.* truncate_mode"):
        plot.dendrogram(model, count_sort=True)
    with pytest.raises(ValueError, match="labels.*one for each of 3000 samples"):
        plot.dendrogram(model, labels=["a"])
    assert len(plot.dendrogram(model, truncate_mode="lastp", p=5).artists_["tree"]["leaves"]) == 5


@pytest.mark.parametrize("table", [pandas.DataFrame, polars.DataFrame])
def test_models_that_know_names_are_asked_by_names(table):
    F = table({"length": IRIS[:, 2], "width": IRIS[:, 3]})
    two = (SPECIES == 2).astype(int)
    for model in (SVC().fit(F, two), PeerSVC().fit(F, two)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ax = plot.decision_regions(model, F, two, resolution=10).ax_
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    for model in (GaussianMixture(2, random_state=0).fit(F), PeerMixture(2).fit(F)):
        for rows in (F, IRIS[:, 2:]):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                ax = plot.mixture_ellipses(model, rows).ax_
            assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")


@pytest.mark.parametrize("name", ["biplot", "reliability_curve", "search_scores", "silhouettes"])
def test_pictures_fit_a_figure_within_a_figure(name):
    figure = pyplot.figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    left.subplots().plot([0, 1])
    CALLS[name](right.subplots())
    assert faults(figure) == []


def test_features_have_the_names_given():
    names = ["petal length in cm", "petal width in cm"]
    plane = IRIS[:, 2:]
    regions = plot.decision_regions(SVC().fit(plane, SPECIES), plane, SPECIES, feature_names=names)
    mixture = GaussianMixture(2, random_state=0).fit(plane)
    for picture in (regions, plot.mixture_ellipses(mixture, plane, feature_names=names)):
        assert [picture.ax_.get_xlabel(), picture.ax_.get_ylabel()] == names
    pca = PCA(2).fit(IRIS)
    texts = plot.biplot(pca, IRIS, feature_names="abcd").artists_["names"]
    assert sorted(text.get_text() for text in texts) == list("abcd")
    with pytest.raises(ValueError, match="feature_names.*4 names"):
        plot.biplot(pca, IRIS, feature_names=names)


def test_panels_that_share_an_axis_name_it_once():
    figure, axes = pyplot.subplots(2, 2, sharex=True, sharey=True, layout="constrained")
    model = SVC().fit(X, Y)
    for ax in axes.flat:
        plot.decision_regions(model, X, Y, resolution=5, ax=ax)
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "", "feature 0", "feature 0"]
    assert [ax.get_ylabel() for ax in axes.flat] == ["feature 1", "", "feature 1", ""]
    assert faults(figure) == []


def test_an_action_that_is_no_class_has_a_region_of_its_own():
    plane, species = IRIS[:, 2:], np.array(["x", "y", "z"])[SPECIES]
    loss = [[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]]
    model = RiskClassifier(GaussianNB(), loss, ["x", "y", "z", "ask"]).fit(plane, species)
    plain = GaussianNB().fit(plane, species)
    artists = plot.decision_regions(model, plane, species, resolution=50).artists_
    expected = plot.decision_regions(plain, plane, species, resolution=50).artists_
    drawn, classes = (a["regions"].get_array().ravel() for a in (artists, expected))
    asked = drawn == 3
    assert 0 < asked.sum() < 1000 and (drawn[~asked] == classes[~asked]).all()
    assert [region.get_label() for region in artists["empty_regions"]] == ["ask"]
    assert "empty_regions" not in expected
    for sample, other in zip(artists["samples"], expected["samples"], strict=True):
        assert_array_equal(sample.get_facecolor(), other.get_facecolor())


def test_numbers_are_in_cells_that_have_room_and_labels_do_not_overlap():
    target = X[:, 0] + RNG.normal(size=len(X))
    for n_alphas, size, numbers in ((4, (6, 4), True), (25, (6, 4), False), (9, (4, 3.2), False)):
        alphas, gammas = np.logspace(-4, 2, n_alphas), [0.01, 0.1, 1.0]
        search = KernelRidgeCV(alphas, gammas, kernel="rbf").fit(X, target)
        figure, ax = pyplot.subplots(figsize=size, layout="constrained")
        picture = plot.search_scores(search, ax=ax)
        assert len(ax.texts) == (3 * n_alphas if numbers else 0)
        assert faults(figure) == []
        labels = [text.get_text() for text in ax.get_xticklabels()]
        assert "0.0001" in labels and len(labels) <= n_alphas
        mark, cells = picture.artists_["best"], picture.artists_["scores"]
        assert mark.get_markersize() * figure.dpi / 72 < cells.get_window_extent().width / n_alphas


def test_errors_of_several_magnitudes_have_colors_of_their_own():
    wide = {"mean_test_score": np.array([0.1, 0.2, 0.3, 9.0])}
    search = KernelRidgeCV([1e-3, 1.0, 1e6], [0.1, 1.0], kernel="rbf").fit(X, X[:, 0] + 3)
    norm = plot.search_scores(search).artists_["scores"].norm
    values = search.criterion_values_
    assert values.max() > 10 * values.min()
    assert_allclose(norm(np.sqrt(values.min() * values.max())), 0.5)
    grid = {"param_a": np.array([1, 1, 2, 2]), "param_b": np.array([1, 2, 1, 2])}
    scores = SimpleNamespace(cv_results_={**grid, **wide, "std_test_score": np.zeros(4)})
    norm = plot.search_scores(scores).artists_["scores"].norm
    assert_allclose(norm(np.array([0.1, 4.55, 9.0])), [0, 0.5, 1])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_counts_of_a_reliability_curve_hide_nothing(strategy):
    rng = np.random.default_rng(0)
    probability = np.r_[rng.random(300) ** 6, 1 - rng.random(50) ** 6]
    happened = rng.random(350) < probability
    figure, ax = pyplot.subplots(figsize=(4, 4), layout="constrained")
    for y in (happened, rng.random(350) < 0.5):
        counts = plot.reliability_curve(y, probability, strategy=strategy, ax=ax).artists_["counts"]
        assert sum(int(count.get_text()) for count in counts) == 350
        assert any(count.get_visible() for count in counts)
    assert faults(figure) == []
    legend, axes = ax.get_legend().get_window_extent(), ax.transData
    assert legend.y0 > axes.transform((0, 1))[1]


def test_legends_leave_clusters_points_and_bars_free():
    rng = np.random.default_rng(0)
    labels = np.arange(400) // 10
    picture = plot.silhouettes(rng.normal(size=(400, 2)) + labels[:, None], labels)
    assert faults(picture.figure_) == []
    legend = picture.ax_.get_legend().get_window_extent()
    assert legend.y0 > picture.ax_.transData.transform((0, 400 + 39 * 8))[1]
    K = np.ones((12, 12)) + 1e-3 * np.kron(np.eye(6), np.ones((2, 2)))
    model = SpectralClustering(2, n_components=8, affinity="precomputed", random_state=0).fit(K)
    model.eigenvalues_[:] = [1, 1, 1, 1, 1, 1, 1, 0]
    picture = plot.eigengaps(model)
    assert faults(picture.figure_) == []
    points = picture.ax_.transData.transform(picture.artists_["eigenvalues"].get_xydata())
    assert picture.ax_.get_legend().get_window_extent().count_contains(points) == 0
    good = certify(SVC().fit(IRIS, SPECIES), np.repeat(IRIS, 9, axis=0), np.repeat(SPECIES, 9))
    picture = plot.certificate_bounds(good)
    assert faults(picture.figure_) == []
    legend, bars = picture.ax_.get_legend().get_window_extent(), picture.artists_["bars"]
    assert not any(legend.overlaps(bar.get_window_extent()) for bar in bars)
    assert picture.ax_.get_xlim()[1] < 1.5 * max(bar.get_width() for bar in bars)


def test_many_correlations_have_probabilities_that_can_be_read():
    Z = np.random.default_rng(0).normal(size=(100, 24))
    assert faults(plot.canonical_correlations(CCA(12).fit(Z[:, :12], Z[:, 12:])).figure_) == []


def test_the_legend_of_regions_lies_beside_them():
    picture = plot.decision_regions(SVC().fit(X, Y), X, Y, resolution=10)
    picture.figure_.draw_without_rendering()
    axes, legend = picture.ax_.get_window_extent(), picture.ax_.get_legend().get_window_extent()
    assert legend.x0 >= axes.x1 - 1


def test_marks_of_many_support_vectors_are_thin_and_rings_lie_below_the_samples():
    rng = np.random.default_rng(0)
    Z, z = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    artists = plot.decision_regions(SVC().fit(Z, z), Z, z, resolution=10).artists_
    few = plot.decision_regions(SVC().fit(X, Y), X, Y, resolution=10).artists_
    for name in ("support_vectors", "margin_errors"):
        assert artists[name].get_sizes()[0] < few[name].get_sizes()[0]
    rings, samples = artists["support_vectors"], artists["samples"][0]
    assert artists["regions"].get_zorder() < rings.get_zorder() < samples.get_zorder()


def test_gaps_have_their_own_axis_and_may_be_one_fewer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpectralClustering(3, random_state=0).fit([[0.0], [1.0], [5.0]])
    artists = plot.eigengaps(model).artists_
    assert_array_equal([bar.get_height() for bar in artists["gaps"]], model.eigengaps_)
    assert len(artists["gaps"]) == 2
    K = np.kron(np.eye(2), np.ones((10, 10))) + 1 - 1e-4 * np.random.default_rng(0).random((20, 20))
    model = SpectralClustering(4, affinity="precomputed", random_state=0).fit((K + K.T) / 2)
    bars = plot.eigengaps(model).artists_["gaps"]
    tallest = max(bar.get_height() for bar in bars)
    assert tallest > 0.5 * bars[0].axes.get_ylim()[1]


def test_names_of_a_biplot_do_not_overlap_and_what_is_left_out_is_said():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(50, 1)) + 0.05 * rng.normal(size=(50, 9))
    F = pandas.DataFrame(Z, columns=[f"long name {j}" for j in range(9)])
    picture = plot.biplot(PCA(2).fit(F), F, n_arrows=6)
    assert picture.ax_.get_title(loc="left") == "the 6 longest of 9 features"
    picture.figure_.draw_without_rendering()
    boxes = [text.get_window_extent() for text in picture.artists_["names"]]
    axes = picture.ax_.get_window_extent()
    for i, box in enumerate(boxes):
        assert axes.x0 <= box.x0 and box.x1 <= axes.x1
        for other in boxes[:i]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            along = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert across <= 0 or along < 0.2 * box.height
    whole = plot.biplot(PCA(2).fit(F), F, n_arrows=9)
    assert whole.ax_.get_title(loc="left") == ""


def test_many_labels_of_a_tree_are_turned():
    model = AgglomerativeClustering(2).fit(X[::3])
    long = [f"sample {i}" for i in range(20)]
    for labels, angle in ((long, 90), (list("abcdefghijklmnopqrst"), 0)):
        texts = plot.dendrogram(model, labels=labels).ax_.get_xticklabels()
        assert {text.get_rotation() for text in texts} == {angle}


def test_a_complete_decomposition_explains_all():
    texts = [text.get_text() for text in plot.scree(PCA().fit(IRIS)).ax_.get_legend().get_texts()]
    assert "all of the variance" in texts
    texts = [text.get_text() for text in plot.scree(PCA(2).fit(IRIS)).ax_.get_legend().get_texts()]
    assert any(text.startswith("best possible: at most 97.7") for text in texts)


def test_regions_of_arrow_tables():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] > 0
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1]})
    picture = plot.decision_regions(GaussianNB().fit(table, y), table, y, resolution=20)
    assert picture.ax_.get_xlabel() == "a"


@pytest.mark.parametrize("kind", ["lasso", "ridge", "logistic", "svm"])
def test_a_path_is_drawn_with_its_penalties_ascending(kind):
    values = np.array([0.3, 0.01, 2.0, 0.05])
    path = {
        "lasso": lambda: ElasticNet().path(X, Y, alphas=values),
        "ridge": lambda: LinearRegression().fit(X, Y).path(values),
        "logistic": lambda: LogisticRegression(l1_ratio=1.0).path(X, Y, Cs=values),
        "svm": lambda: LinearSVC().path(X, Y, Cs=values),
    }[kind]()
    picture = plot.penalty_path(path, chosen=0.05, feature_names=["height", "width"])
    lines, order = picture.artists_["coefficients"], [1, 3, 0, 2]
    for j, line in enumerate(lines):
        assert_array_equal(line.get_xdata(), values[order])
        assert_array_equal(line.get_ydata(), path.coef[order, j])
    used = path.coef[3] != 0
    for name, line, here in zip(["height", "width"], lines, used, strict=True):
        assert (line.get_label() == name) == here
    assert list(picture.artists_["chosen"].get_xdata()) == [0.05, 0.05]
    name = "alpha" if kind in ("lasso", "ridge") else "C"
    assert picture.ax_.get_xlabel() == name and picture.ax_.get_xscale() == "log"
    assert picture.artists_["chosen"].get_label() == f"chosen: {name} = 0.05" + (
        "" if used.all() else ",\n1 of 2 not 0"
    )
    assert faults(picture.figure_) == []


def test_the_choice_of_a_search_is_marked():
    D, d = DIGITS[:300], (np.arange(300) % 7).astype(float)
    search = LassoCV(alphas=20, cv=3).fit(D, d)
    path = Lasso().path(D, d, alphas=search.alphas_)
    picture = plot.penalty_path(path, chosen=search, n_names=3)
    used = int(np.count_nonzero(path.coef[list(search.alphas_).index(search.alpha_)]))
    label = picture.artists_["chosen"].get_label()
    assert label == f"chosen: alpha = {search.alpha_:.3g},\n{used} of 64 not 0"
    # A search of costs has its coefficients, of which the mean over folds is drawn.
    costs = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], l1_ratio=[0.0, 1.0], cv=3).fit(X, Y)
    picture = plot.penalty_path(costs)
    share = [0.0, 1.0].index(costs.l1_ratio_)
    mean = costs.coefs_paths_[:, share, :, 0].mean(axis=0)
    for j, line in enumerate(picture.artists_["coefficients"]):
        assert_allclose(line.get_ydata(), mean[:, j], rtol=1e-12)
    assert picture.artists_["chosen"].get_xdata()[0] == costs.C_
    # Of a ridge path the least generalised cross-validation is best.
    ridge = LinearRegression().fit(X, Y).path([0.1, 10.0, 1000.0])
    assert (
        plot.penalty_path(ridge).artists_["chosen"].get_xdata()[0]
        == (ridge.alphas[ridge.gcv.argmin()])
    )
    assert "chosen" not in plot.penalty_path(path).artists_


def test_large_coefficients_have_names_and_others_are_grey():
    path = SimpleNamespace(alphas=np.array([1.0, 2.0]), coef=np.array([[5.0, 1, -3], [0, 2, -4]]))
    for chosen, names in ((None, {"a", "c"}), (1.0, {"a", "c"}), (2.0, {"b", "c"})):
        picture = plot.penalty_path(path, chosen=chosen, feature_names=list("abc"), n_names=2)
        lines = picture.artists_["coefficients"]
        shown = {line.get_label() for line in lines if not line.get_label().startswith("_")}
        assert shown == names
        assert len({line.get_color() for line in lines}) == 3
    artists = plot.penalty_path(path, n_names=0).artists_
    assert {line.get_color() for line in artists["coefficients"]} == {"#777777"}


def test_a_path_of_several_classes_asks_for_one():
    model = LogisticRegression(l1_ratio=1.0)
    path = model.path(IRIS, SPECIES, Cs=[0.1, 1.0])
    line = plot.penalty_path(path, target=2).artists_["coefficients"][3]
    assert_array_equal(line.get_ydata(), path.coef[:, 2, 3])
    for target in (None, 3, -1):
        with pytest.raises(ValueError, match="target="):
            plot.penalty_path(path, target=target)
    targets = LinearRegression().fit(IRIS[:, :2], IRIS[:, 2:]).path([1.0, 10.0, 100.0])
    for target in (0, 1):
        chosen = plot.penalty_path(targets, target=target).artists_["chosen"].get_xdata()[0]
        assert chosen == targets.alphas[targets.gcv[:, target].argmin()]


@each(
    ("path", "options", "match"),
    [
        ("lasso", {}, "path='lasso'"),
        (LassoCV(), {}, "keeps no coefficients of other penalties"),
        (SimpleNamespace(alphas=[0.0, 1.0], coef=np.ones((2, 1))), {}, "above 0"),
        (SimpleNamespace(Cs=[1.0, np.inf], coef=np.ones((2, 1))), {}, "two Cs at least"),
        (SimpleNamespace(Cs=[1.0], coef=np.ones((1, 1))), {}, "two Cs at least"),
        (SimpleNamespace(Cs=[1.0, 2.0], coef=np.ones((2, 1))), {"chosen": 3.0}, "from 1 to 2"),
        (SimpleNamespace(Cs=[1.0, 2.0], coef=np.ones((2, 1))), {"chosen": "best"}, "that has C_"),
        (SimpleNamespace(Cs=[1.0, 2.0], coef=np.ones((2, 1))), {"target": 0}, "target=0"),
        (SimpleNamespace(Cs=[1.0, 2.0], coef=np.ones((2, 1))), {"n_names": 9}, "n_names=9"),
    ],
)
def test_what_is_no_path_is_refused(path, options, match):
    with pytest.raises(ValueError, match=match):
        plot.penalty_path(path, **options)


def test_intervals_are_those_of_the_inference_and_full_marks_exclude_0():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(80, 6))
    found = LinearRegression().fit(Z, 2 * Z[:, 0] - Z[:, 3] + rng.normal(size=80)).inference()
    for level in (0.5, 0.95, 0.999):
        picture = plot.coefficient_intervals(found, level=level, intercept=True)
        ends = found.confidence_interval(level)
        segments = np.array(picture.artists_["intervals"].get_segments())
        assert_array_equal(segments[:, :, 0], ends)
        assert_array_equal(segments[:, 0, 1], np.arange(7))
        # The interval holds 0 where the probability is above what the level leaves.
        sure = np.flatnonzero(found.p_values < 1 - level)
        assert_array_equal(picture.artists_["surely"].get_ydata(), sure)
        assert_array_equal(picture.artists_["surely"].get_xdata(), found.estimates[sure])
        assert len(picture.artists_["perhaps"].get_xdata()) == 7 - len(sure)
        assert f"{100 * level:g}% interval" in picture.ax_.get_xlabel()
        names = [text.get_text() for text in picture.ax_.get_yticklabels()]
        assert names == [*(f"x{j}" for j in range(6)), "intercept"]
        assert faults(picture.figure_) == []


def test_intervals_of_classes_and_of_what_the_data_do_not_determine():
    model = LogisticRegression(C=np.inf, tol=1e-8).fit(IRIS[:, :2], SPECIES == 1)
    found = model.inference(IRIS[:, :2], SPECIES == 1)
    artists = plot.coefficient_intervals(found).artists_
    assert len(artists["intervals"].get_segments()) == 2
    twice = np.column_stack([X, X[:, 0]])
    found = LinearRegression().fit(twice, Y).inference()
    picture = plot.coefficient_intervals(found, feature_names=["a", "b", "a again"])
    names = [text.get_text() for text in picture.ax_.get_yticklabels()]
    assert names == ["a (undetermined)", "b", "a again (undetermined)"]
    assert len(picture.artists_["intervals"].get_segments()) == 1
    assert faults(picture.figure_) == []
    two = LinearRegression().fit(IRIS[:, :2], IRIS[:, 2:]).inference()
    segments = plot.coefficient_intervals(two, target=1).artists_["intervals"].get_segments()
    assert_array_equal(np.array(segments)[:, :, 0], two.confidence_interval()[1, :2])
    for target in (None, 2):
        with pytest.raises(ValueError, match="target="):
            plot.coefficient_intervals(two, target=target)
    with pytest.raises(ValueError, match="target=0"):
        plot.coefficient_intervals(found, target=0)
    with pytest.raises(ValueError, match="inference="):
        plot.coefficient_intervals(model)
    with pytest.raises(ValueError, match="feature_names="):
        plot.coefficient_intervals(found, feature_names=["a"])


# ---- partitions, densities and plans


def test_the_table_of_two_partitions_is_a_staircase():
    labels = np.array(["z", "x", "y"])[SPECIES]
    labels[:3] = "y"
    artists = plot.contingency_table(SPECIES, labels).artists_
    assert artists["names"] == ["z", "x", "y"]
    assert_array_equal(artists["table"].get_array(), [[47, 0, 3], [0, 50, 0], [0, 0, 50]])
    weights = np.where(SPECIES == 2, 0, 2)
    artists = plot.contingency_table(SPECIES, labels, sample_weight=weights).artists_
    assert_array_equal(artists["table"].get_array(), [[94, 6, 0], [0, 0, 100]])
    with pytest.raises(ValueError, match="4001 classes and 1 clusters"):
        plot.contingency_table(np.arange(4001), np.zeros(4001))


def test_the_gaps_with_their_errors_and_the_choice():
    found = gap_statistic(IRIS, n_clusters=[1, 2, 3, 4, 5], n_references=4, random_state=0)
    artists = plot.gap_curve(found).artists_
    assert_array_equal(artists["gap"].lines[0].get_xydata(), np.c_[found.n_clusters, found.gap])
    (bars,) = artists["gap"].lines[2]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert_allclose(np.diff(ends)[:, 0], 2 * found.standard_error, rtol=1e-12)
    assert artists["best"].get_xdata() == [found.best_n_clusters]
    with pytest.raises(ValueError, match="the result of gap_statistic"):
        plot.gap_curve(3)


def test_a_plan_and_its_marginals():
    plan = np.random.default_rng(0).random((5, 3))
    for form in (plan, csr_array(plan)):
        artists = plot.transport_plan(form).artists_
        assert_array_equal(artists["plan"].get_array(), plan)
        assert_allclose(artists["targets"].get_data().values, plan.sum(axis=0))
        assert_allclose(artists["sources"].get_data().values, plan.sum(axis=1))
    for bad, message in ((-plan, "plan=.*masses of at least 0"), ([1.0], "Reshape your data")):
        with pytest.raises(ValueError, match=message):
            plot.transport_plan(bad)
    with pytest.raises(ValueError, match="at most 4000 sources and targets"):
        plot.transport_plan(np.zeros((1, 4001)))


def widths(path):
    """{lambda: width} of a bar just above each height."""
    corners = path.vertices[:-1].round(12)
    return {y: np.ptp(corners[corners[:, 1] == y, 0]).round(9) for y in set(corners[:, 1])}


def test_a_condensed_tree_in_all_its_forms():
    names = list(CONDENSED)
    table = pandas.DataFrame(CONDENSED)
    structured = table.to_records(index=False).view(np.ndarray)
    attributes = SimpleNamespace(**CONDENSED, selected=np.array([11, 12]))
    peer = SimpleNamespace(to_numpy=lambda: structured)
    forms = [CONDENSED, table, structured, attributes, peer]
    forms.append(SimpleNamespace(condensed_tree_=attributes))
    for number, form in enumerate(forms):
        chosen = None if number in (3, 5) else [11, 12]
        artists = plot.condensed_tree(form, selected=chosen).artists_
        root, first, second = artists["clusters"].get_paths()
        # Samples that are left at each density, the widest at equal ones.
        assert widths(root) == {0: 10, round(1 / 26, 12): 10, 0.0625: 9}
        assert widths(first) == {0.0625: 4, round(1 / 3, 12): 4, 0.5: 3}
        assert widths(second) == {0.0625: 5, round(1 / 3, 12): 5, 0.5: 3}
        assert first.vertices[:, 0].max() < second.vertices[:, 0].min()
        shades = artists["clusters"].get_facecolors()
        assert len({tuple(shade) for shade in shades}) == 3
        assert (artists["clusters"].get_edgecolors()[:, 3] == [0, 1, 1]).all()
        for line, bar in zip(artists["splits"].get_segments(), (first, second), strict=True):
            middle = (bar.vertices[:, 0].min() + bar.vertices[:, 0].max()) / 2
            assert_allclose(line[1], [middle, 0.0625])
    assert names == ["parent", "child", "lambda_val", "child_size"]


def test_bars_of_different_branches_do_not_overlap():
    rng = np.random.default_rng(0)
    sizes, clusters, entries = {40: 40}, [40], []
    for step in range(12):  # the largest leaf splits, and loses a sample
        largest = max(clusters, key=sizes.get)
        clusters.remove(largest)
        left = int(rng.integers(1, sizes[largest] - 1))
        parts = {41 + 2 * step: left, 42 + 2 * step: sizes[largest] - 1 - left}
        entries += [(largest, child, step + 1.0, size) for child, size in parts.items()]
        entries.append((largest, 0, step + 0.5, 1))
        sizes |= parts
        clusters += parts
    entries += [(c, 0, 20.0, 1) for c in clusters for _ in range(sizes[c])]
    columns = zip(*entries, strict=True)
    tree = dict(zip(CONDENSED, map(np.array, columns), strict=True))
    paths = plot.condensed_tree(tree).artists_["clusters"].get_paths()
    boxes = [path.get_extents() for path in paths]
    assert len(boxes) == 25
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            along = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(across, along) < 1e-9


def test_infinite_densities_and_what_a_chosen_cluster_splits_into():
    tree = CONDENSED | {"lambda_val": np.where(np.arange(12) < 3, np.inf, CONDENSED["lambda_val"])}
    picture = plot.condensed_tree(tree, selected=[10])
    root, first, _ = picture.artists_["clusters"].get_paths()
    assert max(widths(first)) == 1.0  # twice the largest that is finite
    shades = picture.artists_["clusters"].get_facecolors()
    assert_array_equal(shades[1], shades[2])
    assert (shades[1, :3] > shades[0, :3]).all()


@each(
    ("tree", "selected", "message"),
    [
        (3, None, "tree=3.*arrays parent, child, lambda_val, child_size"),
        ({"parent": [1]}, None, "arrays parent, child"),
        (CONDENSED | {"child": [0]}, None, "four arrays of one length"),
        (CONDENSED | {"parent": CONDENSED["parent"] + (CONDENSED["parent"] > 11)}, None, "tree"),
        (CONDENSED, [13], "selected=13.*clusters of the tree"),
    ],
)
def test_what_is_no_condensed_tree_is_refused(tree, selected, message):
    with pytest.raises(ValueError, match=message):
        plot.condensed_tree(tree, selected=selected)


def test_reachability_is_the_height_at_which_samples_join():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(40, 2)) + np.repeat([[0], [9]], [25, 15], axis=0)
    model = AgglomerativeClustering(2, linkage="single").fit(samples)
    artists = plot.reachability(model).artists_
    order = artists["order"]
    assert_array_equal(np.sort(order), np.arange(40))
    assert set(order[:25]) == set(range(25))  # the larger cluster comes first
    heights = [path.vertices[:, 1].max() for path in artists["bars"].get_paths()]
    tree = hierarchy.cophenet(model.linkage_matrix_)
    D = squareform(tree)
    joined = [D[order[i], order[:i]].min() for i in range(1, 40)]
    assert_allclose(heights, [max(joined), *joined])
    shades = artists["bars"].get_facecolors()
    assert (shades[0] == shades[24]).all() and (shades[0] != shades[25]).any()
    given = plot.reachability(model.linkage_matrix_, labels=np.full(40, -1)).artists_
    assert_array_equal(given["order"], order)
    peer = PeerOPTICS(min_samples=3).fit(samples)
    artists = plot.reachability(peer).artists_
    assert_array_equal(artists["order"], peer.ordering_)
    heights = [path.vertices[:, 1].max() for path in artists["bars"].get_paths()]
    assert_allclose(heights[1:], peer.reachability_[peer.ordering_][1:])
    for bad in (3, KMeans(2), np.zeros((3, 3))):
        with pytest.raises(ValueError, match="tree of merges"):
            plot.reachability(bad)
    with pytest.raises(ValueError, match="labels=.*40 integers"):
        plot.reachability(model, labels=[0, 1])
