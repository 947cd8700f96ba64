"""Blocks of Parquet files: row groups, columns by name, what is wrong with them."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.blocks import BlockError, fit_blocks, parquet_blocks, predict_blocks
from mlcore.decomposition import PCA
from mlcore.naive_bayes import GaussianNB

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
y = rng.integers(0, 2, 50)
weight = rng.random(50)
HOW = {"target": "label", "weight": "times"}


def table(rows=slice(None)):
    columns = {f"x{i}": x[rows] for i, x in enumerate(X.T)}
    return pa.table({**columns, "label": y[rows], "times": weight[rows]})


@pytest.fixture
def folder(tmp_path):
    for i in range(2):
        rows = slice(25 * i, 25 * i + 25)
        pq.write_table(table(rows), tmp_path / f"part-{i}.parquet", row_group_size=10)
    pq.write_table(table(), tmp_path / "all.pq", row_group_size=20)
    return tmp_path


def test_row_groups_are_blocks(folder):
    whole = GaussianNB().fit(X, y, weight)
    parts = [folder / "part-0.parquet", folder / "part-1.parquet"]
    dataset = pyarrow.dataset.dataset([str(part) for part in parts])
    given = {folder / "all.pq": 3, str(folder): 6, tuple(parts): 6}
    sources = [*given.items(), (dataset, 6)]
    for path, count in sources:
        blocks = parquet_blocks(list(path) if isinstance(path, tuple) else path, **HOW)
        assert len(blocks) == count
        sent = [pickle.loads(pickle.dumps(block)) for block in blocks]
        assert_array_equal(np.concatenate([block.load()[1] for block in sent]), y)
        found = fit_blocks(GaussianNB(), blocks)
        assert_allclose(found.theta_, whole.theta_, rtol=1e-12)
        assert found.feature_names_in_.tolist() == ["x0", "x1", "x2"]
        predicted = predict_blocks(found, blocks)
        assert_array_equal(predicted, whole.predict(X))


def test_columns_are_chosen_and_ordered(folder):
    (block, *_) = parquet_blocks(folder / "all.pq", columns=["x2", "x0"])
    rows, target, times = block.load()
    assert rows.column_names == ["x2", "x0"]
    assert target is None
    assert times is None


def test_a_path_stands_for_its_blocks(folder):
    found = fit_blocks(PCA(2), folder)
    assert found.n_features_in_ == 5


def test_nulls_are_missing_values(tmp_path):
    columns = {"a": [1.0, None, 3.0, 5.0], "b": [1, 2, None, 4], "label": [0, 1, 0, 1]}
    pq.write_table(pa.table(columns), tmp_path / "n.parquet")
    model = GaussianNB(missing="ignore")
    found = fit_blocks(model, parquet_blocks(tmp_path / "n.parquet", target="label"))
    assert_allclose(found.theta_, [[2, 1], [5, 3]])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target": "class"}, "target='class' is no column of .*all.pq, which has .*label"),
        ({"weight": "w"}, "weight='w' is no column"),
        ({"columns": ["x0", "x7"]}, r"columns: \['x7'\] are no columns"),
        ({"columns": ["x0", "label"], "target": "label"}, r"columns: \['label'\] are named twice"),
        ({"columns": ["x0", "x0"]}, r"columns: \['x0'\] are named twice"),
    ],
)
def test_wrong_names(how, message, folder):
    with pytest.raises(ValueError, match=message):
        parquet_blocks(folder / "all.pq", **how)


def test_wrong_files(folder, tmp_path):
    with pytest.raises(FileNotFoundError):
        parquet_blocks(tmp_path / "none.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no row group"):
        parquet_blocks(tmp_path / "empty")
    with pytest.raises(TypeError, match="path is of type int"):
        parquet_blocks(3)
    pq.write_table(table().drop_columns(["x1"]), folder / "part-2.parquet")
    with pytest.raises(ValueError, match="part-2.parquet has the features .* but the first"):
        parquet_blocks(folder, **HOW)


def test_a_file_that_is_gone_is_named(folder):
    blocks = parquet_blocks(folder, **HOW)
    (folder / "part-1.parquet").unlink()
    with pytest.raises(BlockError, match="block 3 .row group 0 of .*part-1.parquet.* cannot be"):
        fit_blocks(GaussianNB(), blocks)


# ---- index columns, partitions, filters, other formats


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])[y == 1]
    path = tmp_path / "rows.parquet"
    for name in (None, "row"):
        frame.rename_axis(name).to_parquet(path)
        for given in (path, pyarrow.dataset.dataset(str(path))):
            found = fit_blocks(PCA(1), parquet_blocks(given))
            assert found.feature_names_in_.tolist() == ["a", "b", "c"]
            assert_allclose(found.mean_, X[y == 1].mean(axis=0), rtol=1e-12)
    (block,) = parquet_blocks(path, columns=["a"], target="row")
    assert_array_equal(block.load()[1], np.flatnonzero(y == 1))


@pytest.fixture
def partitioned(tmp_path):
    pq.write_to_dataset(table(), tmp_path / "parts", partition_cols=["label"])
    return tmp_path / "parts"


def as_written(blocks):
    """All rows of the blocks, as sorted lists of x0 and y."""
    rows = [pickle.loads(pickle.dumps(block)).load() for block in blocks]
    return sorted((x, int(label)) for X, y, _ in rows for x, label in zip(
        X.column("x0").to_pylist(), y, strict=True
    ))  # fmt: skip


def test_partitions_are_columns(partitioned):
    dataset = pyarrow.dataset.dataset(partitioned, partitioning="hive")
    whole = GaussianNB().fit(X, y, weight)
    for path in (dataset, partitioned, str(partitioned)):
        blocks = parquet_blocks(path, **HOW)
        assert as_written(blocks) == sorted(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        found = fit_blocks(GaussianNB(), blocks)
        assert found.feature_names_in_.tolist() == ["x0", "x1", "x2"]
        assert_allclose(found.theta_, whole.theta_, rtol=1e-12)
        assert fit_blocks(PCA(1), parquet_blocks(path)).feature_names_in_.tolist() == [
            "x0", "x1", "x2", "times", "label",
        ]  # fmt: skip


def test_a_filter_of_a_dataset_holds(partitioned):
    dataset = pyarrow.dataset.dataset(partitioned, partitioning="hive")
    chosen = dataset.filter((pyarrow.dataset.field("x0") > 0) & (pyarrow.dataset.field("x1") > 0))
    rows = (X[:, 0] > 0) & (X[:, 1] > 0)
    expected = sorted(zip(X[rows, 0].tolist(), y[rows].tolist(), strict=True))
    assert as_written(parquet_blocks(chosen, **HOW)) == expected
    assert as_written(parquet_blocks(chosen, columns=["x0"], target="label")) == expected


@pytest.mark.parametrize("form", ["csv", "feather"])
def test_datasets_of_other_formats(form, tmp_path):
    pyarrow.dataset.write_dataset(table(), tmp_path / "d", format=form)
    dataset = pyarrow.dataset.dataset(tmp_path / "d", format=form)
    found = fit_blocks(GaussianNB(), parquet_blocks(dataset, **HOW))
    assert_allclose(found.theta_, GaussianNB().fit(X, y, weight).theta_, rtol=1e-12)
    with pytest.raises(TypeError, match=r"InMemoryDataset.*use row_blocks\(dataset.to_table"):
        parquet_blocks(pyarrow.dataset.dataset(table()))


def test_the_columns_of_a_dataset_are_those_of_its_schema(folder):
    dataset = pyarrow.dataset.dataset(folder, format="parquet", exclude_invalid_files=True)
    narrow = dataset.replace_schema(pa.schema([("x1", pa.float64()), ("label", pa.int64())]))
    assert fit_blocks(PCA(1), parquet_blocks(narrow, target="label")).feature_names_in_ == ["x1"]
