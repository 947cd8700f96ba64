"""Readings: the digest of a block, and sources that do not give the same rows each time."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse as sp

from mlcore.blocks import BlockError, fit_blocks
from mlcore.blocks.readings import digest
from mlcore.blocks.sample import n_features_of
from mlcore.cluster import KMeans
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.linear_model import LogisticRegression
from mlcore.mixture import GaussianMixture
from mlcore.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4))
y = rng.integers(0, 3, 500)
FRAME = pd.DataFrame(
    {
        "a": X[:, 0],
        "b": y,
        "c": np.array(["red", "blue", None], object)[y],
        "d": pd.array(y, dtype="Int64"),
        "e": pd.to_datetime(y, unit="D"),
        "f": pd.Categorical(y),
    }
)


# ---- digests


def test_layouts_have_one_digest():
    whole = np.round(X * 10) + 0.0  # no zero has a sign
    found = {
        digest(rows)
        for rows in (
            whole, np.asfortranarray(whole), whole.astype(np.int32), whole.astype(">f8"),
            whole.astype(np.longdouble), np.repeat(whole, 2, axis=1)[:, ::2], whole[::-1][::-1],
        )
    }  # fmt: skip
    assert len(found) == 1
    assert digest(whole.astype(np.float32)) not in found
    rows = sp.csr_array(whole)
    assert digest(rows) == digest(rows.tocsc()) == digest(rows.tocoo())
    assert digest(rows) != digest(2 * rows)
    entries = np.tile(rows.data / 2, 2), (np.tile(rows.tocoo().row, 2), np.tile(rows.indices, 2))
    repeated = sp.coo_array(entries, shape=rows.shape)
    twice = sp.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr), rows.shape
    )
    assert digest(repeated) == digest(twice) == digest(rows)
    assert twice.nnz == 2 * rows.nnz  # as it was
    assert digest(X, y) == digest(X, y.astype(np.int8)) == digest(X, y.tolist())
    text = y.astype(str)
    assert digest(X, text) == digest(X, text.astype("U9")) == digest(X, text.astype(object))


@given(st.integers(0, 499), st.integers(0, 3), st.integers(0, 51))
def test_one_bit_is_another_digest(i, j, bit):
    other = X.copy()
    other.view(np.uint64)[i, j] ^= np.uint64(1 << bit)
    assert digest(other) != digest(X)
    assert digest(np.asfortranarray(other)) == digest(other)
    labels = y.copy()
    labels[i] += 1
    assert digest(X, labels) != digest(X, y)
    assert digest(X, y, labels) != digest(X, y)


def test_large_blocks_are_converted_in_parts():
    large = rng.integers(0, 9, (200_000, 3)).astype(float)
    assert digest(large) == digest(large.astype(np.int16))
    large[-1, -1] += 1
    assert digest(large) != digest(np.zeros_like(large))


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_each_column_of_a_table_counts(convert):
    frame = FRAME.assign(f=FRAME.f.astype(int)) if convert is pl.from_pandas else FRAME
    found = {digest(convert(frame))}
    for name in frame.columns:
        column = frame[name].iloc[::-1].reset_index(drop=True)
        found.add(digest(convert(frame.assign(**{name: column}))))
    assert len(found) == 1 + len(frame.columns)
    assert digest(convert(frame)) == digest(convert(frame.copy()))


OBJECTS = """
import numpy as np
from mlcore.blocks.readings import digest
from mlcore.blocks.sample import n_features_of
print(digest([{"a", "b", "c"}, ("x", 1), np.arange(3), None, object()]))
print(digest(np.array([["red", None], ["blue", 1.5]], object)))
"""


def test_objects_have_one_digest_in_all_processes():
    """Addresses and the order of sets differ from process to process."""
    found = {
        subprocess.run(
            [sys.executable, "-P", "-c", OBJECTS],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


# ---- other rows at each reading


class Changing:
    """A block that is other rows from the second or later reading on."""

    def __init__(self, other, after):
        self.other, self.after, self.n = other, after, 0

    def __call__(self):
        self.n += 1
        return self.other if self.n > self.after else (X, y)


CHANGED = {
    "rows": (X + 1e-9, y),
    "labels": (X, (y + 1) % 3),
    "fewer": (X[:-1], y[:-1]),
    "none": (X[:0], y[:0]),
    "order": (X[::-1], y[::-1]),
}


@each("kind", CHANGED)
@each("executor", [None, partial(ThreadPoolExecutor, 2)])
@each("after", [1, 3])
def test_a_source_that_changes_is_named(kind, executor, after):
    blocks = [(X, y), Changing(CHANGED[kind], after), (X, y)]
    model = GaussianMixture(2, covariance_type="diag", random_state=0, tol=0, max_iter=9)
    with pytest.raises(BlockError, match=r"block 1 \(item 1 .* gave other rows") as caught:
        fit_blocks(model, blocks, executor=executor)
    assert caught.value.block == 1
    assert not hasattr(model, "means_")


def test_equal_rows_that_grow_in_number_are_told():
    sizes = iter([200, 200, 201, 201])
    with pytest.raises(BlockError, match="gave other rows than in the reading before"):
        fit_blocks(
            KMeans(2, random_state=0, tol=0), [X, lambda: np.ones((next(sizes, 201), X.shape[1]))]
        )


def test_rows_drawn_anew_at_each_reading_are_no_data():
    n = [0]

    def rows():
        n[0] += 1
        return np.random.default_rng(n[0]).normal(size=(50, 2))

    with pytest.raises(BlockError, match="gave other rows than in the reading before"):
        fit_blocks(KMeans(3, random_state=0, max_iter=30), [rows, rows])


def test_objects_without_values_are_the_same_rows():
    """What a digest cannot see is no change."""

    class Mean:
        def begin(self, X, y=None, sample_weight=None):
            self.step = 0

        def partial_statistics(self, X, y=None, sample_weight=None):
            return len(X)

        def merge(self, a, b):
            return a + b

        def update(self, statistics):
            self.step, self.n = self.step + 1, statistics

        def needs_another_pass(self):
            return self.step < 3

    found = fit_blocks(Mean(), [lambda: [object(), object()], lambda: [object()]])
    assert found.n == 3


# ---- the form of blocks

FIRST = X[:30], y[:30], np.ones(30)
FORMS = {
    "complex": ((X[:9] + 1j, y[:9], np.ones(9)), "complex128|Complex data"),
    "text": ((X[:9].astype(str), y[:9], np.ones(9)), "of type <U|type <U"),
    "three dimensions": ((X[:9, None], y[:9], np.ones(9)), r"X has shape \(9, 1, 4\)"),
    "one dimension": ((X[:9, 0], y[:9], np.ones(9)), r"X has shape \(9,\)"),
    "no weights": ((X[:9], y[:9]), "it has no sample_weight, but the first block has one"),
    "no y": (X[:9], "it has no y, but the first block has one"),
    "a short y": ((X[:9], y[:8], np.ones(9)), "y has 8 rows, but X has 9"),
    "short weights": ((X[:9], y[:9], np.ones(5)), "sample_weight has 5 rows, but X has 9"),
    "nothing": (None, "X is of type NoneType, but must be an array"),
    "a number": (lambda: 3, "X is of type int, but must be an array"),
    "text for rows": (lambda: "rows.csv", "X is of type str, but must be an array"),
    "columns": ((X[:9, :3], y[:9], np.ones(9)), "X has 3 features, but the first block has 4"),
}


@each("place", [1, 3])
@each("kind", FORMS)
@each("make", [partial(KMeans, 3, random_state=0), GaussianNB])
def test_a_block_of_another_form_is_named(make, kind, place):
    block, message = FORMS[kind]
    blocks = [FIRST] * 4
    blocks[place] = block
    match = rf"block {place} \(item {place} of the list\).*({message})"
    with pytest.raises(BlockError, match=match):
        fit_blocks(make(), blocks)


def test_the_first_block_is_named_if_it_is_bad():
    for bad, message in ((X + 1j, "Complex data"), (X.astype(str), "type <U"), (X[:, 0], "1D")):
        with pytest.raises(BlockError, match=f"(?s)block 0 .*{message}"):
            fit_blocks(KMeans(3, random_state=0), [bad, X, X])


def test_only_some_have_what_the_first_lacks():
    with pytest.raises(BlockError, match="block 2 .*it has sample_weight, but the first .* none"):
        fit_blocks(KMeans(3, random_state=0), [X, X, (X, None, np.ones(500))])


def test_labels_of_one_block_are_named():
    bad = {
        "NaN": np.where(np.arange(500) == 7, np.nan, y),
        "continuous": y + 0.5,
        "labels of type str": y.astype(str),
        r"y has shape \(500, 2\), but that of the first block \(n_samples,\)": np.c_[y, y],
    }
    for message, labels in bad.items():
        with pytest.raises(BlockError, match=f"block 1.*{message}"):
            fit_blocks(LogisticRegression(), [(X, y), (X, labels), (X, y)])


@each("make", [GaussianNB, LinearDiscriminantAnalysis, MultinomialNB])
@each("convert", [str, lambda label: np.str_(label), lambda label: f"c{label}"])
def test_labels_of_another_type_are_named(make, convert):
    labels = np.array([convert(label) for label in y], object)
    counts = np.abs(X)
    blocks = [(counts, y), (counts, y), (counts, labels), (counts, y)]
    with pytest.raises(BlockError, match="block 2 .*type str, but those of the first .* number"):
        fit_blocks(make(), blocks)
    fit_blocks(make(), [(counts, y), (counts, y.astype(object)), (counts, y > 1)])
    fit_blocks(make(), [(counts, labels), (counts, labels.astype(str)), (counts, labels.tolist())])


def test_categories_of_two_types_are_told_by_the_blocks():
    rows = np.array([["a"], ["b"]], object), [0, 1]
    with pytest.raises(BlockError, match=r"blocks 0 to 1 differ: X\[:, 0\] has categories of"):
        fit_blocks(CategoricalNB(), [(np.eye(2)[:, :1], [0, 1]), rows])


def test_weights_of_one_block_are_named():
    good, bad = np.ones(500), np.where(np.arange(500) == 3, -1.0, 1.0)
    for weight, message in ((bad, "Negative"), (bad * np.nan, "NaN"), (bad.astype(str), "type <U")):
        with pytest.raises(BlockError, match=f"block 1 .*{message}"):
            fit_blocks(KMeans(2, random_state=0), [(X, None, good), (X, None, weight)])


def test_labels_that_no_common_type_holds_are_refused():
    large = np.where(y > 1, 2**53 + 1, 1)
    for other in (y.astype(np.uint64), y.astype(float)):
        with pytest.raises(ValueError, match="holds 9007199254740993: give y one type"):
            fit_blocks(GaussianNB(), [(X, large), (X, other)])
    assert fit_blocks(GaussianNB(), [(X, large), (X, y)]).classes_[-1] == 2**53 + 1


def test_tables_of_other_columns_are_named():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(BlockError, match="block 1 .*columns .'b'"):
        fit_blocks(KMeans(2, random_state=0), [frame, frame[["b", "a", "c", "d"]]])


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_tables_of_integers_and_floats_are_joined(make):
    one, other = make({"a": [1, 2, 3]}), make({"a": [1.5, 2.5, 9.0]})
    found = fit_blocks(KMeans(2, random_state=0), [one, other])
    assert np.sort(found.cluster_centers_.ravel()).tolist() == [2.0, 9.0]


def test_rows_of_a_list_without_a_shape():
    """Lists have no `shape`, tables no `len` of rows: both are drawn from."""
    rows = np.r_[np.arange(20.0), np.arange(100.0, 120)][:, None]
    converted = np.asarray, sp.csr_array, np.ndarray.tolist, lambda x: pa.table({"a": x[:, 0]})
    for convert in converted:
        found = fit_blocks(KMeans(2, random_state=0), [convert(rows[:25]), convert(rows[25:])])
        assert np.sort(found.cluster_centers_.ravel()).tolist() == [9.5, 109.5]


def test_lists_of_strings_have_one_feature():
    assert n_features_of(["a", "b"]) == 1
    assert n_features_of(np.ones((3, 7))) == n_features_of(sp.csr_array((3, 7))) == 7


def test_names_of_columns_and_truth_values_of_labels_count():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), np.arange(6) % 2
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert digest(frame) != digest(frame.set_axis(["b", "a"], axis=1))
    assert digest(X, y) == digest(X, y.astype(np.int8)) != digest(X, y > 0)
