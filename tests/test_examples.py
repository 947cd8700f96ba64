"""The examples run, and what the documents show is what they make."""

import gzip
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def comparison():
    path = ROOT / "examples" / "compare_clusterings.py"
    spec = importlib.util.spec_from_file_location("compare_clusterings", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore:The graph of affinities has:UserWarning")
def test_the_comparison_makes_a_table_of_all_methods(comparison):
    lines = list(comparison.table({"moons": (*comparison.two_moons(60), 2)}, repeat=1))
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:]] == [*comparison.methods(2)]
    for line in lines[2:]:
        score, unit = re.search(r"([\d.]+)\**? \([\d.e+-]+ (m?s)\) \|$", line).groups()
        assert 0 <= float(score) <= 1 and unit in ("s", "ms")


def test_the_table_in_the_document_is_of_these_methods_and_data(comparison):
    text = (ROOT / "docs" / "clustering.md").read_text(encoding="utf-8")
    start, end = (text.index(mark) for mark in comparison.MARKS)
    lines = text[start:end].splitlines()[1:]
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:]] == [*comparison.methods(2)]
    for name in ("two moons", "two circles", "irises", "digits", "MNIST"):
        assert name in lines[0]


def test_images_are_read_as_published_and_from_an_archive(comparison, tmp_path):
    images = np.arange(3 * 784, dtype=np.uint64).astype(np.uint8)
    digits = np.array([7, 2, 1], dtype=np.uint8)
    path = tmp_path / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(bytes(16) + images.tobytes()))
    labels = tmp_path / "t10k-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(bytes(8) + digits.tobytes()))
    np.savez(tmp_path / "mnist.npz", X=images.reshape(3, 28, 28), y=digits)
    for file in (path, tmp_path / "mnist.npz"):
        X, y = comparison.mnist(file, 2)
        assert_array_equal(X, images.reshape(3, 784)[:2] / 255)
        assert_array_equal(y, [7, 2])
