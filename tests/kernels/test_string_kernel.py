"""Kernels on strings against their definitions, laws and printed examples."""

import itertools
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.kernels import StringKernel, gram_matrix, is_positive_semidefinite
from mlcore.kernels.structured import gapped, strings, substrings
from mlcore.runtime import threads

EPS = np.finfo(float).eps
KINDS = ("spectrum", "substrings", "gapped")
WORDS = st.lists(st.text("abc", max_size=9), min_size=1, max_size=6)


def substrings_of(x, least, most):
    ends = itertools.combinations(range(len(x) + 1), 2)
    return Counter(tuple(x[i:j]) for i, j in ends if least <= j - i <= most)


def common_substrings(x, y, least, most, decay):
    u, v = substrings_of(x, least, most), substrings_of(y, least, most)
    return sum(decay ** len(w) * u[w] * v[w] for w in u)


def subsequences_of(x, length, decay):
    weight = Counter()
    for places in itertools.combinations(range(len(x)), length):
        weight[tuple(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return weight


def common_subsequences(x, y, length, decay):
    u, v = subsequences_of(x, length, decay), subsequences_of(y, length, decay)
    return sum(u[w] * v[w] for w in u)


def table(value, X, Y):
    return np.array([[value(x, y) for y in Y] for x in X], float)


# ---- values


@settings(max_examples=30)
@given(WORDS, st.lists(st.text("abcd", max_size=9), min_size=1, max_size=4), st.integers(1, 10))
def test_spectrum_is_its_definition_exactly(X, Y, length):
    kernel = StringKernel(length=length, normalize=False)

    def value(x, y):
        return common_substrings(x, y, length, length, 1)

    assert_array_equal(kernel(X), table(value, X, X))
    assert_array_equal(kernel(X, Y), table(value, X, Y))
    assert_array_equal(kernel.diagonal(X), np.diagonal(table(value, X, X)))


@settings(max_examples=30)
@given(
    WORDS,
    st.lists(st.text("abcd", max_size=9), min_size=1, max_size=6),
    st.integers(1, 4),
    st.sampled_from([None, 0, 2]),
    st.sampled_from([1, 0.5, 0.3, 1e-3]),
)
def test_substrings_are_their_definition(X, Y, least, more, decay):
    most = None if more is None else least + more
    kernel = StringKernel(
        "substrings", min_length=least, max_length=most, decay=decay, normalize=False
    )

    def value(x, y):
        return common_substrings(x, y, least, most or 9, decay)

    # Sums of positive terms, at most 45 of them, each with a weight summed of 9.
    rounding = 0 if decay in (1, 0.5) else 100 * EPS
    assert_allclose(kernel(X), table(value, X, X), rtol=rounding)
    assert_allclose(kernel(X, Y), table(value, X, Y), rtol=rounding)
    assert_allclose(kernel.diagonal(X), np.diagonal(table(value, X, X)), rtol=rounding)


@settings(max_examples=30)
@given(
    WORDS,
    st.lists(st.text("abcd", max_size=9), min_size=1, max_size=19),
    st.integers(1, 6),
    st.sampled_from([1, 0.5, 0.3]),
)
def test_gapped_is_its_definition(X, Y, length, decay):
    kernel = StringKernel("gapped", length=length, decay=decay, normalize=False)

    def value(x, y):
        return common_subsequences(x, y, length, decay)

    # Positive terms; a factor of decay for each of at most 18 places, and as many additions.
    assert_allclose(kernel(X), table(value, X, X), rtol=100 * EPS)
    assert_allclose(kernel(X, Y), table(value, X, Y), rtol=100 * EPS)
    assert_allclose(kernel.diagonal(X), np.diagonal(table(value, X, X)), rtol=100 * EPS)


def test_substrings_by_lists_of_steps_are_those_by_tables():
    rng = random.Random(0)
    # Too long for a table of all substrings.
    long = ["".join(rng.choices("abcde", k=100_000)) for _ in range(2)]
    short = [x[1000:1040] for x in long]
    kernel = StringKernel("substrings", max_length=6, normalize=False)
    spectra = [StringKernel(length=p, normalize=False)(long, short) * 0.5**p for p in range(1, 7)]
    assert_array_equal(kernel(long, short), sum(spectra))
    assert_array_equal(kernel(short, long), sum(spectra).T)
    # Many symbols, so that one state is too many for a table with all of them.
    words = [rng.choices(range(3000), k=400) for _ in range(3)]
    words[1][50:60] = words[0][100:110]
    K = StringKernel("substrings", max_length=12, normalize=False)(words)
    assert_array_equal(K, table(lambda x, y: common_substrings(x, y, 1, 12, 0.5), words, words))


@each("kind", KINDS)
@each("normalize", [True, False])
def test_a_matrix_is_symmetric_to_the_bit_and_positive_semidefinite(kind, normalize):
    rng = random.Random(1)
    X = ["".join(rng.choices("abcd", k=rng.randrange(30))) for _ in range(60)] + ["", "", "ab"]
    kernel = StringKernel(kind, normalize=normalize)
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_array_equal(kernel.diagonal(X), np.diagonal(K))
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)
    assert is_positive_semidefinite(K)
    if normalize:
        assert (np.diagonal(K) == 1).all()
        assert K.max() <= 1


@settings(max_examples=30)
@given(WORDS, st.sampled_from(KINDS))
def test_normalised_values_are_cosines(X, kind):
    kernel = StringKernel(kind, length=2)
    K, plain = kernel(X), StringKernel(kind, length=2, normalize=False)(X)
    roots = np.sqrt(np.diagonal(plain))
    empty = roots == 0
    expected = np.divide(plain, np.outer(roots, roots), where=~(empty | empty[:, None]), out=0 * K)
    expected[np.ix_(empty, empty)] = 1
    assert_allclose(K, expected, rtol=10 * EPS)


def test_strings_without_a_substring_have_a_feature_of_their_own():
    X = ["", "ab", "abc", "xyz"]
    for kind in ("spectrum", "gapped"):
        K = StringKernel(kind, length=3)(X)
        assert_array_equal(K, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert_array_equal(StringKernel("substrings")(["", "a"]), np.eye(2))
    assert_array_equal(StringKernel(normalize=False)(["", "ab"]), np.zeros((2, 2)))


# ---- laws


@settings(max_examples=20)
@given(WORDS, st.integers(1, 4))
def test_substrings_are_a_sum_of_spectra(X, length):
    spectra = [0.5**p * StringKernel(length=p, normalize=False)(X) for p in range(1, length + 1)]
    kernel = StringKernel("substrings", max_length=length, normalize=False)
    assert_array_equal(kernel(X), sum(spectra))
    only = kernel.set_params(min_length=length)
    assert_array_equal(only(X), spectra[-1])


@settings(max_examples=20)
@given(WORDS, st.sampled_from(KINDS))
def test_reversed_and_renamed_strings_have_the_same_values(X, kind):
    kernel = StringKernel(kind, length=2)
    K = kernel(X)
    backwards = [x[::-1] for x in X]
    renamed = [x.translate(str.maketrans("abc", "z\U0001f600\x00")) for x in X]
    # Substrings weighted by powers of 2 are exact; gapped sums are not in the same order.
    rounding = 100 * EPS if kind == "gapped" else 0
    assert_allclose(kernel(backwards), K, rtol=rounding)
    assert_array_equal(kernel(renamed), K)
    assert_array_equal(kernel([x.encode() for x in X]), K)
    assert_array_equal(kernel([list(x) for x in X]), K)
    assert_array_equal(kernel([[ord(c) for c in x] for x in X]), K)


def test_gapped_without_gaps_is_the_spectrum():
    X = ["banana", "bandana", "cabana"]
    spectrum = StringKernel(length=3, normalize=False)(X)
    decay = 1e-6
    values = StringKernel("gapped", length=3, decay=decay, normalize=False)(X) / decay**6
    # A gap costs at least one more factor of decay; there are less than 400 pairs of places.
    assert_allclose(values, spectrum, atol=400 * decay)


@pytest.mark.parametrize("kind", KINDS)
def test_values_do_not_depend_on_other_samples(kind):
    rng = random.Random(2)
    X = ["".join(rng.choices("abcdef", k=rng.randrange(40))) for _ in range(25)]
    Y = ["".join(rng.choices("defghi", k=rng.randrange(40))) for _ in range(21)]
    kernel = StringKernel(kind)
    K = kernel(X, Y)
    assert_array_equal(kernel(X[3:9], Y[::-1]), K[3:9, ::-1])
    encoded = kernel.encode(X)
    assert_array_equal(kernel(encoded[np.array([5, 2])], Y), K[[5, 2]])
    assert_array_equal(kernel(encoded[:0], Y), np.zeros((0, 21)))


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_gives_the_same_bytes(kind, monkeypatch):
    rng = random.Random(3)
    X = ["".join(rng.choices("abcdef", k=rng.randrange(40))) for _ in range(60)]
    results = []
    for count in (1, 2, 3):
        for module in (gapped, substrings):
            monkeypatch.setattr(module, "effective_threads", lambda work=0, n=count: n)
        with threadpool_limits(count):
            results.append(StringKernel(kind)(X).tobytes())
    assert len(set(results)) == 1
    monkeypatch.setattr(threads, "OPERATIONS_PER_CALL", 1)  # a call for each pair or row
    assert StringKernel(kind)(X).tobytes() == results[0]


# ---- printed examples


def test_lodhi_and_others():
    d = 0.7
    kernel = StringKernel("gapped", length=2, decay=d, normalize=False)
    own = 2 * d**4 + d**6
    assert_allclose(kernel(["cat", "car"]), [[own, d**4], [d**4, own]])
    pair = ["science is organized knowledge", "wisdom is organized life"]
    values = [StringKernel("gapped", length=p)(pair)[0, 1] for p in range(2, 7)]
    assert_array_equal(np.round(values, 4), [0.5798, 0.4785, 0.4389, 0.4057, 0.3692])


def test_shawe_taylor_and_cristianini():
    bar = StringKernel(length=2, normalize=False)(["bar", "bat", "car", "cat"])
    assert_array_equal(bar, [[2, 1, 1, 0], [1, 2, 0, 1], [1, 0, 2, 1], [0, 1, 1, 2]])
    assert StringKernel(length=3, normalize=False)(["statistics", "computation"])[0, 1] == 2


def test_banana():
    K = StringKernel("substrings", decay=1, normalize=False)(["banana", "ananas"])
    assert_array_equal(K, [[35, 29], [29, K[1, 1]]])
    quarter = StringKernel("substrings", decay=0.25, normalize=False)(["banana", "ananas"])
    assert quarter[0, 1] == 3.8369140625


# ---- features, transformer


@settings(max_examples=20)
@given(WORDS, st.integers(1, 5), st.booleans())
def test_inner_products_of_features_are_the_kernel(X, length, normalize):
    kernel = StringKernel(length=length, normalize=normalize)
    features = kernel.features(X)
    assert sp.issparse(features)
    assert_allclose((features @ features.T).toarray(), kernel(X), rtol=20 * EPS)
    assert (features.sum(axis=0)[: features.shape[1] - normalize] > 0).all()
    kernel.fit(X)
    assert_array_equal(kernel.features(X[:1]).toarray(), features[:1].toarray())


def test_features_are_of_the_spectrum_only():
    with pytest.raises(ValueError, match="kind='gapped' has none"):
        StringKernel("gapped").features(["abc"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_transformer_compares_with_the_samples_of_the_fit(kind):
    X, Z = ["banana", "ananas", "kiwi"], ["anna", "", "wink"]
    kernel = StringKernel(kind)
    assert_array_equal(kernel.fit(X).transform(Z), kernel(Z, X))
    assert_array_equal(kernel.fit_transform(X), kernel(X))
    assert_array_equal(gram_matrix(X, kernel=kernel), kernel(X))
    assert_array_equal(gram_matrix(Z, X, kernel=kernel), kernel(Z, X))
    assert kernel.n_features_in_ == 1


def test_kinds_of_samples_are_not_compared():
    kernel = StringKernel().fit(["abc"])
    with pytest.raises(TypeError, match="samples of bytes cannot be compared with samples of str"):
        kernel.transform([b"abc"])


# ---- parameters, sizes


BAD = {
    "kind": ("suffixes", ValueError),
    "length": (0, ValueError),
    "min_length": (0, ValueError),
    "max_length": (1.5, TypeError),
    "decay": (1.5, ValueError),
    "normalize": ("yes", TypeError),
}


@each("name", BAD)
def test_parameters_are_checked(name):
    value, error = BAD[name]
    with pytest.raises(error, match=f"{name}.*{value}"):
        StringKernel(**{name: value})(["abc"])


def test_parameters_that_exclude_each_other():
    with pytest.raises(ValueError, match="max_length.*3"):
        StringKernel("substrings", min_length=3, max_length=2)(["abc"])
    with pytest.raises(ValueError, match="length.*50"):
        StringKernel("gapped", length=51)(["abc"])
    with pytest.raises(ValueError, match="decay.*0"):
        StringKernel("gapped", decay=0.0)(["abc"])


def test_long_strings():
    rng = random.Random(4)
    long = "".join(rng.choices("acgt", k=1_000_000))
    x = long[:250_000]
    X = [x, x[125_000:], "acgt"]
    counts = StringKernel(length=12)(X)
    assert 0.6 < counts[0, 1] < 0.8  # half of it: about 1/sqrt(2)
    whole = StringKernel("substrings")(X)
    assert (np.diagonal(whole) == 1).all()
    with pytest.raises(ValueError, match=r"gapped.*3\.0e\+12 steps.*sample 0, of 1000000"):
        StringKernel("gapped")([long, "acgt"])


@pytest.mark.parametrize("kind", KINDS)
def test_values_beyond_the_range_of_numbers(kind, monkeypatch):
    kernel = StringKernel(kind, length=2, decay=1.0, normalize=False)
    largest = kernel(["banana"])[0, 0]
    monkeypatch.setattr(strings, "_LARGEST", largest)
    assert kernel(["banana"]) == largest
    with pytest.raises(ValueError, match="above .*: use decay < 1"):
        kernel(["bananas"])


def test_weights_below_the_range_of_numbers():
    """A decay^(2 p) of 1e-400 cancels in normalised values."""
    X = ["abcdefghijklmnopqrstuvwxyz" * 2, "abcdefghijklmnopqrstuvwxyz", "zyx"]
    K = StringKernel("gapped", length=20, decay=1e-10)(X)
    plain = StringKernel(length=20)(X)
    assert_allclose(K, plain, rtol=1e-5)  # the second-largest term has one gap
    far = ["a" + "b" * 3000 + "c", "a" + "d" * 3000 + "c", "ac"]
    K = StringKernel("gapped", length=2)(far)
    assert_array_equal(K[0, 1:], 0)  # 2^-6000, and 2^-3000
    assert K[0, 0] == 1


def test_weights_of_long_substrings_below_the_range_of_numbers():
    """A decay^min of 1e-330 cancels in normalised values, and 1e-400 of one substring too."""
    x, y, z = "ab" * 400, "ba" * 400, "cd" * 400  # z shares no letter with x
    for least in (320, 330, 700):
        kernel = StringKernel("substrings", min_length=least, decay=0.1)
        K = kernel([x, y, z])
        # x has the substrings of y but for the places at its ends, one of 800 - length + 1.
        assert_array_equal(K[2], [0, 0, 1])
        assert 0.99 < K[0, 1] < 1
        assert_array_equal(kernel(["ab", "cd", x])[0], [1, 1, 0])  # too short: like each other
    # Of one length the weight cancels altogether.
    X = ["banana" * 3, "ananas"]
    K = StringKernel("substrings", min_length=5, max_length=5, decay=1e-100)(X)
    assert_allclose(K, StringKernel(length=5)(X), rtol=10 * EPS)


@pytest.mark.parametrize(
    ("kind", "power"), [("gapped", 24), ("substrings", 12)], ids=["gapped", "substrings"]
)
def test_values_too_small_for_numbers_are_refused(kind, power):
    how = {"length": 12} if kind == "gapped" else {"min_length": 12}
    kernel = StringKernel(kind, decay=1e-30, normalize=False, **how)
    for call in (kernel, kernel.diagonal):
        with pytest.raises(ValueError, match=rf"decay\^{power}, for decay=1e-30.*normalize=True"):
            call(["abcdefghijklmnop"])
    assert_array_equal(kernel(["abc", "abd"]), 0)  # nothing of that length
    assert StringKernel("spectrum", decay=1e-300, normalize=False)(["abc"]) == 1


def test_memory_is_asked_for_before_the_work():
    X = StringKernel().encode(["abc"])[np.zeros(10_000_000, int)]
    with pytest.raises(MemoryError, match="Gram matrix"):
        StringKernel()(X)


INTERRUPTED = """
import signal, threading
from mlcore.kernels import StringKernel
for kind, n in (("gapped", 400_000), ("substrings", 16_000_000)):
    samples = StringKernel().encode(["ab", "abcdefghijklmnop" * (n // 16)])
    for order in ([0, 1], [1, 0]):
        try:
            threading.Timer(0.15, signal.raise_signal, [signal.SIGINT]).start()
            StringKernel(kind)(samples[order], samples[[1]])
        except KeyboardInterrupt:
            print("interrupted")
"""


def test_ctrl_c_is_answered_inside_one_pair(tmp_path):
    """Of strings so long that a call takes minutes, on whichever thread they are."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        capture_output=True,
        timeout=60,
    )
    assert done.stdout.decode().split() == 4 * ["interrupted"], done.stderr.decode()
