"""Blocks of arrays, tables and files: the rows there are, in order, small when sent away."""

import os
import pickle
import subprocess
import sys

import dask
import dask.array as da
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zarr
from each import each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse as sp

from mlcore.blocks import Blocks, fit_blocks, row_blocks
from mlcore.blocks.as_blocks import as_blocks
from mlcore.decomposition import PCA

rng = np.random.default_rng(0)
X = rng.normal(size=(37, 3))
y = rng.integers(0, 2, 37)
weight = rng.random(37)
NAMES = ["a", "b", "c"]


def dense(rows):
    if sp.issparse(rows):
        return rows.toarray()
    return rows.to_pandas().to_numpy() if isinstance(rows, pa.Table) else np.asarray(rows)


def all_rows(blocks, part=0):
    return np.concatenate([dense(block.load()[part]) for block in blocks])


def files(folder, name, values):
    np.save(folder / f"{name}.npy", values)
    mapped = np.load(folder / f"{name}.npy", mmap_mode="r")
    h5 = h5py.File(folder / f"{name}.h5", "w").create_dataset("rows/x", data=values, chunks=True)
    store = zarr.create_array(
        folder / f"{name}.zarr",
        shape=values.shape,
        dtype=values.dtype,
        chunks=(5, *values.shape[1:]),
    )
    store[:] = values
    return {"map": mapped, "HDF5": h5, "Zarr": store}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("sources")
    return files(tmp_path, "X", X) | {
        "array": X,
        "list": X.tolist(),
        "float32": X.astype(np.float32),
        "big-endian": X.astype(">f8"),
        "columns first": np.asfortranarray(X),
        "CSR": sp.csr_array(X),
        "COO": sp.coo_array(X),
        "pandas": pd.DataFrame(X, columns=NAMES),
        "polars": pl.DataFrame(X, schema=NAMES),
        "pyarrow": pa.table(dict(zip(NAMES, X.T, strict=True))),
        "part of a map": np.load(tmp_path / "X.npy", mmap_mode="r")[:][0:],
    }


SOURCES = [
    "map", "HDF5", "Zarr", "array", "list", "float32", "big-endian", "columns first", "CSR", "COO",
    "pandas", "polars", "pyarrow", "part of a map",
]  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_blocks_hold_all_rows_in_order(name, sources):
    expected = X.astype(np.float32) if name == "float32" else X
    for size in (1, 5, 37, 100, None):
        blocks = row_blocks(sources[name], y, weight, block_size=size)
        if size:
            assert len(blocks) == -(-37 // size)
        for here in (blocks, [pickle.loads(pickle.dumps(block)) for block in blocks]):
            for part, whole in enumerate((expected, y, weight)):
                assert_array_equal(all_rows(here, part), whole, f"blocks of {size}")
        if size in (5, None):
            found = fit_blocks(PCA(2), row_blocks(sources[name], block_size=size))
            np.testing.assert_allclose(found.mean_, expected.mean(axis=0), rtol=1e-5)
            if name in ("pandas", "polars", "pyarrow"):
                assert found.feature_names_in_.tolist() == NAMES


@given(st.integers(0, 36), st.integers(1, 37), st.integers(1, 40))
def test_a_part_of_a_map_is_found_in_its_file(tmp_path_factory, first, count, size):
    path = tmp_path_factory.mktemp("map") / "X.npy"
    np.save(path, X)
    part = np.load(path, mmap_mode="r")[first:][:count]
    blocks = [pickle.loads(pickle.dumps(b)) for b in row_blocks(part, block_size=size)]
    assert_array_equal(all_rows(blocks), X[first:][:count])


def test_what_is_sent_is_small(tmp_path):
    wide = np.zeros((1000, 100))
    np.save(tmp_path / "wide.npy", wide)
    mapped = np.load(tmp_path / "wide.npy", mmap_mode="r")
    sent = {
        name: len(pickle.dumps(row_blocks(values, block_size=10)[5]))
        for name, values in {"map": mapped, "plain map": np.asarray(mapped), "array": wide}.items()
    }
    assert sent["map"] < 1000
    assert sent["plain map"] < 1000
    assert sent["array"] < 9000  # ten rows
    # Of these the file does not have the values.
    changed = np.load(tmp_path / "wide.npy", mmap_mode="c")
    changed[:] = 1
    for values in (changed, mapped[:, :50], mapped.copy(), mapped * 1.0):
        block = pickle.loads(pickle.dumps(row_blocks(values, block_size=10)[5]))
        assert_array_equal(block.load()[0], values[50:60])


def test_a_map_leaves_no_pages_behind(tmp_path):
    """64 MB in blocks of 4 MB: what is resident of files stays far below."""
    np.save(tmp_path / "X.npy", np.ones((500_000, 16)))
    program = (
        "import numpy as np\n"
        "from mlcore.blocks import row_blocks\n"
        "X = np.load('X.npy', mmap_mode='r')\n"
        "def resident():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return int(next(l for l in lines if l.startswith('RssFile')).split()[1]) / 1e3\n"
        "before, most = resident(), 0\n"
        "for block in row_blocks(X, block_size=32768):\n"
        "    block.load()[0].sum()\n"
        "    most = max(most, resident())\n"
        "print(most - before)\n"
    )
    if not os.path.exists("/proc/self/status"):
        pytest.skip("needs /proc")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60, check=True
    )
    assert float(done.stdout) < 20


def test_blocks_are_whole_chunks_of_files(tmp_path):
    store = zarr.create_array(tmp_path / "z", shape=(103, 4), chunks=(10, 4), dtype="f8")
    assert len(row_blocks(store)) == 1
    wide = zarr.create_array(tmp_path / "w", shape=(103, 200_000), chunks=(10, 1000), dtype="f8")
    assert [block.name for block in row_blocks(wide)][:2] == ["rows 0 to 9", "rows 10 to 19"]


@pytest.mark.parametrize("chunks", [(10, 3), (7, 2), (37, 1)])
def test_dask_arrays_are_taken_by_their_chunks(chunks):
    lazy = da.from_array(X, chunks=chunks)
    blocks = row_blocks(lazy, da.from_array(y, chunks=9), weight)
    assert len(blocks) == -(-37 // chunks[0])
    assert_array_equal(all_rows(blocks), X)
    assert_array_equal(all_rows(blocks, 1), y)
    assert_array_equal(all_rows(blocks, 2), weight)
    found = fit_blocks(PCA(2), lazy)
    np.testing.assert_allclose(found.mean_, X.mean(axis=0), atol=1e-15)


def test_dask_data_frames_and_delayed_rows():
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=4)
    found = fit_blocks(PCA(2), frame)
    assert found.feature_names_in_.tolist() == NAMES
    delayed = [dask.delayed(X[:20]), dask.delayed(X[20:])]
    assert fit_blocks(PCA(2), delayed).mean_.tobytes() == (
        fit_blocks(PCA(2), [X[:20], X[20:]]).mean_.tobytes()
    )


@each(
    ("arguments", "error", "message"),
    [
        ((X[0],), ValueError, r"X has shape \(3,\), but must be of two dimensions"),
        ((X[None],), ValueError, r"X has shape \(1, 37, 3\)"),
        ((X[:0],), ValueError, "X has no rows"),
        ((X, y[:5]), ValueError, "y has 5 rows, but X has 37"),
        ((X, y, weight[:36]), ValueError, "sample_weight has 36 rows, but X has 37"),
        (([[1.0, 2.0], [3.0]],), ValueError, "X is ragged"),
        ((X, [[1], [2, 3]]), ValueError, "y is ragged"),
        ((X, y, [1.0, [2.0]]), ValueError, "sample_weight is ragged"),
        ((X, 3), ValueError, "y is one value, but must have one for each"),
        ((None,), ValueError, r"X has shape \(\), but must be of two dimensions"),
        (("abc",), TypeError, "X is of type str"),
    ],
)
def test_wrong_arrays(arguments, error, message):
    with pytest.raises(error, match=message):
        row_blocks(*arguments)


def test_wrong_sizes():
    with pytest.raises(ValueError, match="block_size"):
        row_blocks(X, block_size=0)
    with pytest.raises(ValueError, match="block_size: the chunks of a dask array are its blocks"):
        row_blocks(da.from_array(X), block_size=5)
    with pytest.raises(ValueError, match="y"):
        row_blocks(da.from_array(X, chunks=10), y[:5])


@each(
    ("blocks", "error", "message"),
    [
        ([], ValueError, "no block"),
        (iter([X]), TypeError, "read several times: give a list"),
        (3, TypeError, "blocks is of type int"),
        (["a.npy"], TypeError, r"blocks\[0\] is of type str"),
        (X[0], TypeError, "two dimensions"),
        (None, TypeError, "blocks is of type NoneType"),
    ],
)
def test_wrong_blocks(blocks, error, message):
    with pytest.raises(error, match=message):
        fit_blocks(PCA(1), blocks)


def test_what_stands_for_blocks():
    rows = [X[:20], X[20:]]
    for given_ in (
        rows,
        tuple(rows),
        [(x,) for x in rows],
        [lambda: X[:20], lambda: (X[20:], None)],
    ):
        assert_array_equal(all_rows(as_blocks(given_)), X)
    assert isinstance(as_blocks(X), Blocks)
    assert_array_equal(all_rows(row_blocks(X, block_size=5)[2:4]), X[10:20])
    with pytest.raises(ValueError, match="a tuple of 4"):
        fit_blocks(PCA(1), [(X, y, weight, None)])
