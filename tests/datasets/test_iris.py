"""The irises that mlcore ships: every value as published, with source and licence."""

import hashlib
from importlib.metadata import files

import numpy as np
from numpy.testing import assert_array_equal

from mlcore.datasets import load_iris

PUBLISHED = "5befe0734718d3fe7febc71e7833fbb4bfbfc15ec829d49f70a0af3a4bc67d38"


def test_shapes_types_and_range():
    X, y = load_iris()
    assert (X.shape, X.dtype, y.shape, y.dtype) == ((150, 4), np.float64, (150,), np.int64)
    assert X.flags.c_contiguous and X.min() == 0.1 and X.max() == 7.9
    assert_array_equal(y, np.repeat(np.arange(3), 50))


def test_every_value_is_the_published_one():
    X, y = load_iris()
    values = np.round(10 * X).astype(np.uint8).tobytes() + y.astype(np.uint8).tobytes()
    assert hashlib.sha256(values).hexdigest() == PUBLISHED
    # The two flowers in which the file at UCI differs from Fisher's table.
    assert_array_equal(X[[34, 37]], [[4.9, 3.1, 1.5, 0.2], [4.9, 3.6, 1.4, 0.1]])


def test_equals_the_copy_in_scikit_learn():
    from sklearn.datasets import load_iris as load_peer

    X, y = load_iris()
    X_peer, y_peer = load_peer(return_X_y=True)
    assert_array_equal(X, X_peer)
    assert_array_equal(y, y_peer)


def test_source_and_licence_are_installed_once():
    (path,) = (path for path in files("mlcore-learn") if path.name == "LICENSE-iris.txt")
    text = path.read_text(encoding="utf-8")
    assert "CC BY 4.0" in text and "10.24432/C56C76" in text
