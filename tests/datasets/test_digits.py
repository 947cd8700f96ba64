"""The handwritten digits that mlcore ships: every value as published, with source and licence."""

import hashlib
from importlib.metadata import files

import numpy as np
from numpy.testing import assert_array_equal

from mlcore.datasets import load_digits

PUBLISHED = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


def test_shapes_types_and_range():
    X, y = load_digits()
    assert (X.shape, X.dtype, y.shape, y.dtype) == ((1797, 64), np.float64, (1797,), np.int64)
    assert X.flags.c_contiguous and X.min() == 0 and X.max() == 16
    assert_array_equal(np.unique(y), np.arange(10))


def test_every_value_is_the_published_one():
    X, y = load_digits()
    values = X.astype(np.uint8).tobytes() + y.astype(np.uint8).tobytes()
    assert hashlib.sha256(values).hexdigest() == PUBLISHED


def test_equals_the_copy_in_scikit_learn():
    from sklearn.datasets import load_digits as load_peer

    X, y = load_digits()
    X_peer, y_peer = load_peer(return_X_y=True)
    assert_array_equal(X, X_peer)
    assert_array_equal(y, y_peer)


def test_each_call_returns_its_own_arrays():
    X, y = load_digits()
    X[:], y[:] = -1, -1
    X_again, y_again = load_digits()
    assert X_again.min() == 0 and y_again.min() == 0


def test_source_and_licence_are_installed_once():
    (path,) = (path for path in files("mlcore-learn") if path.name == "LICENSE-digits.txt")
    text = path.read_text(encoding="utf-8")
    assert "CC BY 4.0" in text and "10.24432/C50P49" in text
