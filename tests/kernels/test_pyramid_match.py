"""The pyramid match kernel against its definition, its laws and a printed example."""

import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

import mlcore
from mlcore.cluster import KernelKMeans
from mlcore.decomposition import KernelPCA
from mlcore.kernel_ridge import KernelRidge
from mlcore.kernels import PyramidMatch, gram_matrix, is_positive_semidefinite
from mlcore.linear_model import KernelPerceptron
from mlcore.svm import SVC, SVCCV, OneClassSVM

SETS = st.lists(
    hnp.arrays(
        float,
        st.tuples(st.integers(0, 5), st.just(2)),
        elements=st.floats(-40, 40, allow_subnormal=False),
    ),
    min_size=1,
    max_size=4,
)


def matched(x, y, side, level, shift):
    def counts(z):
        return Counter(tuple(int(np.floor(v / side - shift)) // 2**level for v in p) for p in z)

    a, b = counts(x), counts(y)
    return sum(min(a[cube], b[cube]) for cube in a)


def value(x, y, side, levels, shift):
    found = [matched(x, y, side, level, shift) for level in range(levels + 1)]
    new = np.diff(found, prepend=0)
    return float(sum(Fraction(int(n), 2**level) for level, n in enumerate(new)))


def drawn(n, seed, d=2, scale=5.0):
    rng = np.random.default_rng(seed)
    return [scale * rng.normal(size=(rng.integers(1, 9), d)) for _ in range(n)]


@settings(max_examples=20)
@given(
    SETS,
    SETS,
    st.sampled_from([0.5, 1.0, 3.0]),
    st.integers(0, 7),
    st.sampled_from([0.0, 0.5, -2.25]),
)
def test_values_are_their_definition_exactly(X, Y, side, levels, shift):
    kernel = PyramidMatch(side=side, levels=levels, shift=shift, normalize=False)
    expected = [[value(x, y, side, levels, shift) for y in Y] for x in X]
    assert_array_equal(kernel(X, Y), expected)
    assert_array_equal(kernel(X), [[value(x, y, side, levels, shift) for y in X] for x in X])
    assert_array_equal(kernel.diagonal(X), [len(x) for x in X])
    features = kernel.features(X)
    assert_allclose((features @ features.T).toarray(), kernel(X), rtol=1e-14, atol=1e-14)


def test_grauman_and_darrell():
    X = [[[1], [3], [5]], [[2], [3], [9]]]
    kernel = PyramidMatch(side=1.0, levels=4, normalize=False)
    assert [matched(*X, 1.0, level, 0.0) for level in range(5)] == [1, 1, 2, 2, 3]
    assert kernel(X)[0, 1] == 1.3125
    assert PyramidMatch(side=1.0, levels=4)(X)[0, 1] == 0.4375
    kernel.set_params(side="auto", levels=None).fit(X)
    assert (kernel.side_, kernel.levels_) == (1.0, 4)


@settings(max_examples=20)
@given(SETS, st.booleans())
def test_laws(X, normalize):
    kernel = PyramidMatch(normalize=normalize)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_array_equal(kernel.diagonal(X), np.diagonal(K))
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * max(1.0, np.trace(K))
    assert_array_equal(kernel([x[::-1] for x in X]), K)
    assert_array_equal(kernel([x[:, ::-1] for x in X]), K)
    if normalize:
        assert (np.diagonal(K) == 1).all() and K.max() <= 1
        empty = np.array([not len(x) for x in X])
        assert (K[np.ix_(empty, empty)] == 1).all() and not K[np.ix_(empty, ~empty)].any()


def test_what_is_automatic():
    X = [[[0.0, 3.0], [0.25, 3.0]], [[7.75, -1.0]]]
    kernel = PyramidMatch().fit(X)
    assert kernel.side_ == 0.25
    # 32 and 16 cubes in the first coordinate: 0 to 31; -4 to 12 in the second.
    assert kernel.levels_ == 5
    assert PyramidMatch().fit([[[1.0], [1.0]]]).side_ == 1.0
    assert PyramidMatch().fit([[[1.0], [1.0 + 2.0**-52]]]).side_ == 2.0**-51 * (1 + 2.0**-52)
    close = PyramidMatch().fit([[[0.0], [1e-12], [1.0]]])
    assert close.side_ == 2.0**-20
    assert PyramidMatch().fit([[[-1.0], [1.0]]]).levels_ == 0  # never in one cube
    # Both are those of the second list, and of the whole of which it is a part.
    kernel = PyramidMatch()
    encoded = kernel.encode(drawn(9, 0))
    K = kernel(drawn(4, 1), encoded)
    assert_array_equal(kernel(drawn(4, 1), encoded[np.array([3, 0])]), K[:, [3, 0]])
    again = pickle.loads(pickle.dumps(encoded[np.array([3, 0])]))
    assert_array_equal(kernel(drawn(4, 1), again), K[:, [3, 0]])


def test_points_far_from_all_others_match_nothing():
    kernel = PyramidMatch(side=1.0, levels=3, normalize=False)
    far = [[[1e150]], [[-1e150]], [[0.5]]]
    assert_array_equal(kernel(far, [[[0.5]], [[100.0]]]), [[0, 0], [0, 0], [1, 0]])


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i8"])
def test_containers_and_types(dtype):
    X = [np.round(x).astype(dtype) for x in drawn(5, 2)]
    expected = PyramidMatch(side=1.0)([x.astype(float) for x in X])
    objects = np.empty(5, object)
    objects[:] = X
    for same in (X, tuple(X), objects, [x.tolist() for x in X], [x[:, :] for x in X]):
        assert_array_equal(PyramidMatch(side=1.0)(same), expected)
    assert_array_equal(gram_matrix(X, kernel=PyramidMatch(side=1.0)), expected)


def test_any_number_of_threads_gives_the_same_bytes():
    X, results = drawn(300, 3), set()
    for count in (1, 2, 3):
        with threadpool_limits(count):
            results.add(PyramidMatch()(X).tobytes())
    assert len(results) == 1


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel=PyramidMatch(), tol=1e-8),
        SVCCV(kernel=PyramidMatch(), Cs=(1.0, 10.0)),
        OneClassSVM(kernel=PyramidMatch()),
        KernelRidge(kernel=PyramidMatch()),
        KernelPCA(n_components=2, kernel=PyramidMatch()),
        KernelKMeans(n_clusters=2, kernel=PyramidMatch(), random_state=0),
        KernelPerceptron(kernel=PyramidMatch()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_take_lists_of_sets(model, tmp_path):
    X, Z = drawn(20, 4) + drawn(20, 5, scale=0.5), drawn(5, 6) + drawn(5, 7, scale=0.5)
    y = np.repeat([0, 1], 20)
    model.fit(X, y)
    names = ("decision_function", "transform", "predict")
    method = next(name for name in names if hasattr(model, name))
    found = getattr(model, method)(Z)
    if isinstance(model, SVC):
        assert (model.predict(Z) == np.repeat([0, 1], 5)).mean() >= 0.9
        steps = [("kernel", PyramidMatch()), ("svc", SVC(kernel="precomputed", tol=1e-8))]
        pipeline = Pipeline(steps).fit(X, y)
        assert_allclose(pipeline.decision_function(Z), found, atol=1e-6)
    mlcore.save(model, tmp_path / "model")
    for again in (mlcore.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(getattr(again, method)(Z), found)


def test_a_gram_matrix_passes_the_check():
    assert is_positive_semidefinite(PyramidMatch()(drawn(60, 8, d=3)))


REFUSED = {
    "an array": ({}, np.zeros((3, 2)), TypeError, r"array of shape \(3, 2\)"),
    "no sets": ({}, [], ValueError, "X is empty"),
    "None": ({}, [np.zeros((1, 2)), None], TypeError, r"X\[1\] is of type NoneType"),
    "a vector": ({}, [np.zeros((1, 2)), np.zeros(2)], ValueError, r"X\[1\]"),
    "text": ({}, [np.zeros((1, 2)), "ab"], TypeError, r"X\[1\] is of type str"),
    "NaN": ({}, [np.zeros((1, 2)), np.full((1, 2), np.nan)], ValueError, r"X\[1\].*NaN"),
    "infinity": ({}, [np.full((1, 2), np.inf)], ValueError, r"X\[0\].*inf"),
    "other d": ({}, [np.zeros((1, 2)), np.zeros((1, 3))], ValueError, r"X\[1\].*3.*X\[0\].*2"),
    "side": ({"side": 0.0}, [np.zeros((1, 2))], ValueError, "side.*0"),
    "a rule": ({"side": "scale"}, [np.zeros((1, 2))], TypeError, "side.*scale"),
    "levels": ({"levels": 61}, [np.zeros((1, 2))], ValueError, "levels.*61"),
    "shift": ({"shift": np.inf}, [np.zeros((1, 2))], ValueError, "shift.*inf"),
    "normalize": ({"normalize": 2}, [np.zeros((1, 2))], TypeError, "normalize.*2"),
    "small sides": ({"side": 1e-12}, [np.full((1, 2), 1e6)], ValueError, "side=1e-12 is too small"),
}


@each("name", REFUSED)
def test_what_is_no_list_of_sets_is_refused(name):
    how, X, error, pattern = REFUSED[name]
    kernel = PyramidMatch().fit([np.zeros((1, 2))])
    before = kernel.X_fit_
    with pytest.raises(error, match=pattern):
        kernel.set_params(**how).fit(X)
    assert kernel.X_fit_ is before


def test_sets_of_other_vectors_are_refused_later():
    kernel = PyramidMatch().fit([np.zeros((1, 2))])
    with pytest.raises(ValueError, match="vectors of 3 numbers.*compared with have 2"):
        kernel.transform([np.zeros((1, 3))])


def test_damaged_sets_are_refused():
    sets = PyramidMatch().encode([np.zeros((2, 2)), np.zeros((1, 2))])
    state = sets.__getstate__()
    for damage in (
        {"offsets": np.array([0, 3, 2])},
        {"offsets": np.array([0, 2, 4])},
        {"offsets": np.array([0.0, 2, 3])},
        {"points": np.zeros(3)},
        {"points": np.full((3, 2), np.nan)},
    ):
        with pytest.raises(ValueError, match="damaged"):
            type(sets).__new__(type(sets)).__setstate__(state | damage)
