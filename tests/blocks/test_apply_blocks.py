"""Predictions of blocks go into any array with a shape whose type can hold them."""

import h5py
import numpy as np
import pytest
import zarr
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.blocks import predict_blocks, row_blocks, transform_blocks
from mlcore.cluster import KMeans
from mlcore.decomposition import PCA
from mlcore.naive_bayes import GaussianNB

X = np.random.default_rng(0).normal(size=(100, 3))
y = np.arange(100) % 2
BLOCKS = row_blocks(X, block_size=30)
MODEL = PCA(2).fit(X)


def outputs(folder):
    file = h5py.File(folder / "out.h5", "w")
    return [
        zarr.create_array(store={}, shape=(100, 2), chunks=(17, 2), dtype="f8"),
        zarr.create_array(folder / "out.zarr", shape=(100, 2), chunks=(9, 1), dtype="f8"),
        file.create_dataset("rows", (100, 2), "f8", chunks=(16, 2)),
        np.lib.format.open_memmap(folder / "out.npy", "w+", "f8", (100, 2)),
        np.empty((2, 100)).T,
        np.empty((100, 2), object),
        np.empty((100, 2), np.float32),
    ]


def test_arrays_of_all_libraries(tmp_path):
    expected = MODEL.transform(X)
    for out in outputs(tmp_path):
        assert transform_blocks(MODEL, BLOCKS, out=out) is out
        rtol = 1e-6 if out.dtype == np.float32 else 1e-12
        assert_allclose(np.asarray(out[:], np.float64), expected, rtol=rtol, atol=1e-14)


def test_types_that_would_change_values_are_refused():
    with pytest.raises(TypeError, match="out is of type int64, which cannot hold .* float64"):
        transform_blocks(MODEL, BLOCKS, out=np.empty((100, 2), np.int64))
    with pytest.raises(TypeError, match="out is of type bool"):
        transform_blocks(MODEL, BLOCKS, out=np.empty((100, 2), bool))
    huge = PCA(1).fit(X * 1e80)
    with pytest.raises(TypeError, match="out is of type float32, which cannot hold"):
        transform_blocks(huge, row_blocks(X * 1e80), out=np.empty((100, 1), np.float32))
    with pytest.raises(TypeError, match="out is of type list, but must be an array"):
        predict_blocks(KMeans(2, random_state=0).fit(X), BLOCKS, out=[0] * 100)


@pytest.mark.parametrize("values", [[0, 300], [-1, 1], ["red", "green"], [0, 2**60 + 1]])
def test_labels_fit_into_what_holds_them(values):
    labels = np.array(values)
    model = GaussianNB().fit(X, labels[y])
    small = {300: np.uint8, 1: np.uint32, "green": "U4", 2**60 + 1: np.float64}[values[1]]
    with pytest.raises(TypeError, match="out is of type .*, which cannot hold values of type"):
        predict_blocks(model, BLOCKS, out=np.empty(100, small))
    large = {300: np.uint16, 1: np.int8, "green": "U9", 2**60 + 1: np.uint64}[values[1]]
    assert_array_equal(
        predict_blocks(model, BLOCKS, out=np.empty(100, large)), model.predict(X).astype(large)
    )
