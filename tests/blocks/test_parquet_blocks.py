"""Blocks of Parquet files: row groups, columns by name, what is wrong with them."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.blocks import BlockError, fit_blocks, parquet_blocks, predict_blocks
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
    from mlcore.decomposition import PCA

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
