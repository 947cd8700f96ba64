"""Gap statistic: its definition by pairs, references, the rule, known numbers of clusters."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from mlcore.cluster import AgglomerativeClustering, KMeans, gap_statistic
from mlcore.mixture import GaussianMixture

BLOBS = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0, 0], [8, 0], [30, 0]], 30, 0)


def log_cost(X, labels):
    """ln sum_r D_r / (2 n_r), D_r being the sum of squared distances of all ordered pairs."""
    groups = (X[labels == c] for c in set(labels))
    return np.log(sum(2 * pdist(x, "sqeuclidean").sum() / (2 * len(x)) for x in groups))


def test_the_definition():
    """A clusterer without chance leaves the draws of the references alone."""
    X, numbers, n_references = BLOBS[::3], [1, 2, 3, 4], 6
    model = AgglomerativeClustering(linkage="complete")
    found = gap_statistic(
        X, model, n_clusters=numbers, n_references=n_references, reference="uniform", random_state=4
    )
    rng, low, high = np.random.default_rng(4), X.min(0), X.max(0)
    references = [rng.random(X.shape) * (high - low) + low for _ in range(n_references)]

    def costs(samples):
        fits = (AgglomerativeClustering(k, linkage="complete").fit(samples) for k in numbers)
        return [log_cost(samples, fit.labels_) for fit in fits]

    own, others = np.array(costs(X)), np.array([costs(samples) for samples in references])
    assert_allclose(found.log_inertia, own, rtol=1e-12)
    assert_allclose(found.reference_log_inertia, others, rtol=1e-12)
    assert_allclose(found.gap, others.mean(0) - own, rtol=1e-10)
    assert_allclose(found.standard_error, others.std(0) * np.sqrt(1 + 1 / 6), rtol=1e-10)
    right = found.gap[:-1] >= found.gap[1:] - found.standard_error[1:]
    assert found.best_n_clusters == numbers[np.flatnonzero(right)[0]] and found.found
    assert model.n_clusters != 1  # the caller's model is as it was


class Recorder:
    """A clusterer that keeps the samples it was given."""

    seen = []

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def get_params(self, deep=True):
        return {"n_clusters": self.n_clusters}

    def fit_predict(self, X):
        self.seen.append(X)
        return np.arange(len(X)) % self.n_clusters


@pytest.mark.filterwarnings("ignore:gap_statistic. for no number")
@each("shape", [(200, 3), (6, 20)])
@each("dtype", [np.float32, np.float64])
def test_references_fill_a_box_along_the_components(shape, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=shape) * (1 + np.arange(shape[1])) @ rng.normal(size=(shape[1],) * 2)) + 7
    X = X.astype(dtype)
    Recorder.seen.clear()
    gap_statistic(X, Recorder, n_clusters=[1, 2], n_references=30, random_state=0)
    _, _, axes = np.linalg.svd(X - X.mean(0), full_matrices=False)
    own = (X - X.mean(0)) @ axes.T
    references = Recorder.seen[2::2]
    assert len(references) == 30 and references[0].dtype == dtype
    scores = np.concatenate([(Z - X.mean(0)) @ axes.T for Z in references])
    size = np.ptp(own, axis=0).max()
    assert (scores > own.min(0) - 1e-5 * size).all() and (scores < own.max(0) + 1e-5 * size).all()
    inside = np.ptp(own, axis=0) > 1e-3 * size
    filled = np.ptp(scores, axis=0)[inside] / np.ptp(own, axis=0)[inside]
    assert (filled > 0.9).all()
    middles = scores.mean(0) - (own.min(0) + own.max(0)) / 2
    assert (abs(middles) < 5 * size / np.sqrt(12 * len(scores))).all()


@each("clusterer", [KMeans, KMeans(n_init=3), GaussianMixture(), AgglomerativeClustering])
def test_known_numbers_of_clusters(clusterer):
    found = gap_statistic(BLOBS, clusterer, n_clusters=range(1, 6), random_state=0)
    assert found.found and found.best_n_clusters == 3
    one = gap_statistic(BLOBS[:30], clusterer, n_clusters=range(1, 5), random_state=0)
    assert one.best_n_clusters == 1


def test_seeds_offsets_and_scales():
    given = dict(n_clusters=[1, 2, 3, 5], n_references=4)
    found = gap_statistic(BLOBS, random_state=1, **given)
    again = gap_statistic(BLOBS, random_state=np.random.default_rng(1), **given)
    assert_array_equal(found.gap, again.gap)
    assert not np.array_equal(found.gap, gap_statistic(BLOBS, random_state=2, **given).gap)
    for power in (-480, 400):
        scaled = gap_statistic(np.ldexp(BLOBS, power), random_state=1, **given)
        assert_allclose(scaled.gap, found.gap, rtol=1e-9)
    shifted = gap_statistic(BLOBS + 1e8, random_state=1, **given)
    assert_allclose(shifted.gap, found.gap, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:gap_statistic. for no number")
def test_equal_samples_have_one_cluster():
    found = gap_statistic(np.ones((5, 2)), n_clusters=[1, 2], n_references=3, random_state=0)
    assert found.best_n_clusters == 1 and found.log_inertia[0] == -np.inf
    assert_array_equal(found.gap, [0, 0])
    two = gap_statistic(np.repeat([[0.0], [1.0]], 5, 0), n_clusters=[1, 2, 3], random_state=0)
    assert two.best_n_clusters == 2 and two.gap[1] == np.inf
    alone = gap_statistic([[3.0]], n_clusters=[1], random_state=0, n_references=1)
    assert alone.gap[0] == 0


def test_the_last_number_is_no_finding():
    with pytest.warns(UserWarning, match=r"for no number of clusters in \[1, 2, 3\]"):
        found = gap_statistic(BLOBS, n_clusters=[1, 2, 3], random_state=0)
    assert (found.best_n_clusters, found.found) == (3, False)


def test_it_prints_and_is_a_frame():
    found = gap_statistic(BLOBS, n_clusters=range(1, 6), n_references=4, random_state=0)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["n_clusters", "gap", "standard_error", "log_inertia"]
    assert lines[3].endswith("<- best") and len(lines) == 6
    assert found._repr_html_().count("bold") == 1
    pytest.importorskip("pandas")
    assert found.to_frame().loc[3, "gap"] == found.gap[2]


@each(
    ("arguments", "error", "message"),
    [
        ({"n_clusters": 3}, ValueError, "n_clusters=3.*iterable of integers"),
        ({"n_clusters": []}, ValueError, r"n_clusters=\[\].*ascending"),
        ({"n_clusters": [2, 1]}, ValueError, r"n_clusters=\[2, 1\].*ascending"),
        ({"n_clusters": [0, 1]}, ValueError, "n_clusters=0.*integer >= 1 and <= 90"),
        ({"n_clusters": [1, 91]}, ValueError, "n_clusters=91"),
        ({"n_clusters": [1.5]}, TypeError, "n_clusters=1.5"),
        ({"n_references": 0}, ValueError, "n_references=0"),
        ({"reference": "box"}, ValueError, "reference='box'.*'pca'"),
        ({"random_state": "a"}, TypeError, "random_state='a'"),
        ({"clusterer": 3}, ValueError, "clusterer=3.*fit_predict"),
        ({"clusterer": dict}, ValueError, "clusterer.*n_clusters"),
        ({"X": [[np.nan]]}, ValueError, "NaN"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        gap_statistic(**{"X": BLOBS, "n_references": 2, "n_clusters": [1, 2]} | arguments)
