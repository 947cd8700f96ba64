"""Missing values, whatever container they come in, and the words for columns that are refused."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.blocks import fit_blocks
from mlcore.cluster import KMeans
from mlcore.decomposition import PCA
from mlcore.linear_model import LinearRegression
from mlcore.mixture import BernoulliMixture, CategoricalMixture
from mlcore.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GaussianNB,
    MixedNB,
    MultinomialNB,
)

PLAIN = np.array([[1.0, 1.0], [np.nan, 0.0], [0.0, np.nan], [1.0, 1.0], [0.0, 0.0]])
y = [0, 0, 1, 1, 1]
NULLABLE = pd.DataFrame(
    {
        "q1": pd.array([1, None, 0, 1, 0], dtype="Int64"),
        "q2": pd.array([True, False, None, True, False], dtype="boolean"),
    }
)
FRAMES = {
    "nullable": NULLABLE,
    "Float64 beside float64": pd.DataFrame(
        {"q1": pd.array([1.0, None, 0.0, 1.0, 0.0], dtype="Float64"), "q2": PLAIN[:, 1]}
    ),
    "arrow in pandas": NULLABLE.convert_dtypes(dtype_backend="pyarrow"),
    "objects": pd.DataFrame({name: NULLABLE[name].astype(object) for name in NULLABLE}),
    "None": pd.DataFrame(np.where(np.isnan(PLAIN), None, PLAIN), columns=["q1", "q2"]),
    "polars": pl.from_pandas(NULLABLE),
    "arrow": pa.Table.from_pandas(NULLABLE, preserve_index=False),
    "lists": [[None if np.isnan(x) else x for x in row] for row in PLAIN],
}
MODELS = {
    "GaussianNB": (lambda: GaussianNB(missing="ignore"), "theta_"),
    "BernoulliNB": (lambda: BernoulliNB(missing="ignore"), "feature_log_prob_"),
    "CategoricalNB": (lambda: CategoricalNB(missing="ignore"), "class_count_"),
    "MixedNB": (lambda: MixedNB(missing="ignore"), "class_count_"),
    "Discretizer": (lambda: Discretizer(missing="ignore", n_bins=2), "n_bins_"),
    "BernoulliMixture": (
        lambda: BernoulliMixture(1, binarize=None, missing="ignore"), "means_",
    ),
    "CategoricalMixture": (lambda: CategoricalMixture(1, missing="ignore"), "weights_"),
    "KMeans": (lambda: KMeans(2, missing="ignore", random_state=0), "cluster_centers_"),
    "PCA": (lambda: PCA(1, missing="ignore"), "components_"),
}  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:PCA. components explain the known values")
def test_all_kinds_of_missing_values_are_nan(name, frame):
    make, attribute = MODELS[name]
    expected = make().fit(PLAIN, y)
    rows = FRAMES[frame]
    found = make().fit(rows, y)
    assert_array_equal(getattr(found, attribute), getattr(expected, attribute))
    method = next(m for m in ("predict_proba", "transform", "predict") if hasattr(found, m))
    assert_array_equal(getattr(found, method)(rows), getattr(expected, method)(PLAIN))
    if hasattr(found, "begin") and name in ("KMeans", "PCA"):
        with pytest.raises(ValueError, match="X has missing values"):
            fit_blocks(make(), [(rows, y)] * 2)
    elif hasattr(found, "begin"):
        in_blocks = fit_blocks(make(), [(rows, y)] * 2)
        expected = fit_blocks(make(), [(PLAIN, y)] * 2)
        assert_allclose(getattr(in_blocks, attribute), getattr(expected, attribute), rtol=1e-12)


@each("frame", FRAMES)
@each("make", [GaussianNB, CategoricalNB, Discretizer, LinearRegression])
def test_elsewhere_they_are_refused_and_named(make, frame):
    with pytest.raises(ValueError, match="NaN") as caught:
        make().fit(FRAMES[frame], y)
    text = str(caught.value)
    assert "missing values (" in text
    assert frame == "lists" or "(column 'q" in text
    assert ('missing="ignore"' in text) == (make is not LinearRegression)


def test_parquet_columns_with_nulls(tmp_path):
    import pyarrow.parquet as pq

    columns = {"flag": [True, None, False, True], "none": pa.nulls(4), "x": [0.0, 1.0, 2.0, None]}
    pq.write_table(pa.table(columns), tmp_path / "n.parquet", row_group_size=2)
    found = fit_blocks(Moments(), tmp_path / "n.parquet")
    assert_allclose(found.total, [2.0, 0.0, 3.0])


class Moments:
    """Sums of what GaussianNB sees, as a user's own model."""

    def begin(self, X, y=None, sample_weight=None):
        return self

    def partial_statistics(self, X, y=None, sample_weight=None):
        labels = np.zeros(len(X), int)
        model = GaussianNB(missing="ignore").fit(X, labels)
        known = np.isnan(model._check_X(X, reset=False))
        return np.where(known, 0, model._check_X(X, reset=False)).sum(axis=0)

    def merge(self, a, b):
        return a + b

    def update(self, statistics):
        self.total = statistics


WHEN = [datetime.datetime(2024, 1, 1), datetime.datetime(2025, 1, 1)]
BAD = {
    "pandas": (pd.DataFrame({"a": [1.0, 2.0], "when": WHEN}), r"\[0, 1\].*'when' of type datetime"),
    "pandas alone": (pd.DataFrame({"when": WHEN}), r"X\[:, 0\] \(column 'when'.*real numbers"),
    "arrow": (pa.table({"a": [1.0, 2.0], "when": WHEN}), r"'when' of type timestamp\[us\]"),
    "arrow, ns": (
        pa.table({"a": [1.0, 2.0], "when": pa.array([1, 2], pa.timestamp("ns"))}),
        r"'when' of type timestamp\[ns\]",
    ),
    "arrow alone": (pa.table({"when": WHEN}), r"'when' of type timestamp\[us\]\) must hold real"),
    "polars": (pl.DataFrame({"a": [1.0, 2.0], "when": WHEN}), "'when' of type Datetime"),
    "strings": (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), r"X\[0, 1\] \(column 'b'"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_column_that_holds_no_numbers_is_named(kind, tmp_path):
    import pyarrow.parquet as pq

    rows, message = BAD[kind]
    for make in (GaussianNB, MultinomialNB):
        with pytest.raises(TypeError, match=message):
            make().fit(rows, [0, 1])
    if isinstance(rows, pa.Table):
        pq.write_table(rows, tmp_path / "t.parquet")
        with pytest.raises(ValueError, match="row group 0 .*column 'when' of type timestamp"):
            fit_blocks(BernoulliMixture(1), tmp_path / "t.parquet")


@each("convert", [pd.DataFrame, pl.DataFrame, pa.table])
@each("value", [np.nan, np.inf])
@each("missing", ["error", "ignore"])
def test_values_are_named_by_their_column(convert, value, missing):
    rows = convert({"age": [1.0, np.nan if missing == "ignore" else 1.0], "pay": [2.0, value]})
    if missing == "ignore" and np.isnan(value):
        GaussianNB(missing=missing).fit(rows, [0, 1])
        return
    with pytest.raises(ValueError, match="row 1, column 1, 'pay'"):
        GaussianNB(missing=missing).fit(rows, [0, 1])


def test_a_series_is_told_of_what_it_has():
    for series in (pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])):
        with pytest.raises(ValueError, match=r"a Series of shape \(2,\).*X.to_frame\(\)") as caught:
            LinearRegression().fit(series, [0, 1])
        assert "reshape(" not in str(caught.value)
    with pytest.raises(ValueError, match=r"X.reshape\(-1, 1\)"):
        LinearRegression().fit(np.arange(2.0), [0, 1])


def test_missing_integer_categories_are_missing():
    """NumPy makes the least integer of them."""
    frame = pd.DataFrame({"a": pd.Categorical([1, None, 0, 2]), "b": [1, 0, 1, 1]})
    model = GaussianNB(missing="ignore").fit(frame, [0, 0, 1, 1])
    assert model.theta_.tolist() == [[1.0, 0.5], [1.0, 1.0]]
    with pytest.raises(ValueError, match="NaN"):
        CategoricalNB().fit(frame, [0, 0, 1, 1])
