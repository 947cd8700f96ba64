"""The examples run, and what the documents show is what they make."""

import gzip
import importlib.util
import io
import re
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal

ROOT = Path(__file__).resolve().parents[1]


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def comparison():
    return example("compare_clusterings")


@pytest.fixture(scope="module")
def certification():
    return example("certify_svc")


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


def test_the_certificates_in_the_document_are_of_these_bounds(certification, monkeypatch, tmp_path):
    page = (ROOT / "docs" / "which_bound.md").read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["certify_svc.py", "--write", str(copy)])
    certification.main()

    def written(text):
        start, end = (text.index(mark) for mark in certification.MARKS)
        cells = [line.split(" | ") for line in text[start:end].splitlines() if line[:1] == "|"]
        return {row[0].strip("| "): [cell.strip("*| ") for cell in row[1:]] for row in cells}

    shown, now = written(page), written(copy.read_text(encoding="utf-8"))
    assert set(now) <= set(shown)
    header = shown["error at most"]
    for name in ("digits", "MNIST", "Adult"):
        assert {f"{name}<br>linear", f"{name}<br>rbf"} <= set(header)
    for name in now:
        if "bound" in name and "compression" not in name:
            for seen, found in zip(shown[name][:2], now[name], strict=True):
                assert seen == found or abs(float(seen) - float(found)) < 2e-3
    tests = [float(value) for value in shown["binomial test-set bound"]]
    for name in set(shown) & {"sample compression bound", "PAC-Bayes margin bound"}:
        assert all(t < float(v) for t, v in zip(tests, shown[name], strict=True))


def test_adult_and_mnist_are_read_as_published(certification, tmp_path):
    row = "39, State-gov, 77516, Bachelors, 13, Single, Clerk, No, White, Male, 2174, 0, 40, US, "
    lines = [row + "<=50K", row.replace("Male", "Female") + ">50K", row.replace("US", "?") + ">50K"]
    for name in ("adult-train.csv", "adult-test.csv"):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    X, y, X_test, y_test = certification.adult(tmp_path)
    assert_array_equal(X[:, :6], [[0.39, 0.077516, 13 / 16, 0.02174, 0.0, 0.4]] * 2)
    assert_array_equal(X[:, 6:].sum(axis=1), [8, 8])  # one value of each of eight categories
    assert_array_equal(y, [0, 1])
    assert_array_equal(X, X_test)
    assert_array_equal(y, y_test)
    images = tmp_path / "t10k-images-idx3-ubyte.gz"
    images.write_bytes(gzip.compress(bytes(16) + bytes([0, 255, 51, 0])))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + bytes([3])))
    X, y = certification.mnist(images)
    assert_array_equal(X, [[0, 1, 0.2, 0]])
    assert_array_equal(y, [3])


def test_digits_are_made_from_few_numbers(capsys, monkeypatch, tmp_path):
    digits, picture = example("digits_from_few_numbers"), tmp_path / "digits.svg"
    monkeypatch.setattr("sys.argv", ["digits_from_few_numbers.py", str(picture)])
    digits.main()
    lines = capsys.readouterr().out.splitlines()[1 : len(digits.COUNTS) + 1]
    table = np.array([line.split() for line in lines], dtype=float)
    X = digits.load_digits()[0][: digits.N_TRAINING] / 16
    squares = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    for k, explained, most, held_out, angle in table:
        share = squares[: int(k)].sum() / squares.sum()
        assert abs(explained - share) < 1e-4 and explained <= most
        assert 0 < held_out < 1 and angle < 1e-6
    assert "numbers" in picture.read_text(encoding="utf-8")


def test_savings_go_with_ages(capsys, monkeypatch, tmp_path):
    savings, picture = example("savings_and_age"), tmp_path / "savings.svg"
    monkeypatch.setattr("sys.argv", ["savings_and_age.py", str(picture)])
    savings.main()
    lines = dict(re.findall(r"^ *(.*?)  +(.*)$", capsys.readouterr().out, re.MULTILINE))
    assert lines["correlation"].split() == ["0.8248", "0.3653"]
    names, X, Y = savings.savings()
    assert names[26] == "Norway" and np.corrcoef(X.T, Y.T)[0, 1] < -0.9
    # Two products and a root: Wilks' lambda from the correlations of all five columns.
    R = np.corrcoef(X.T, Y.T)
    wilks = np.linalg.det(R) / np.linalg.det(R[:2, :2]) / np.linalg.det(R[2:, 2:])
    assert lines["Wilks lambda"].split()[0] == f"{wilks:.4f}"
    assert picture.read_text(encoding="utf-8").count("Norway") >= 1


def test_a_ridge_curve_comes_with_its_deviations_and_bounds(capsys):
    """Deviations are least where the data are; few centres are proved to be near the best."""
    ridge = example("ridge_with_bounds")
    ridge.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("alpha=") and lines[1] == "length,width,deviation,bound"
    table = np.array([line.split(",") for line in lines[2:17]], dtype=float)
    inside = (table[:, 0] > 1) & (table[:, 0] < 6.5)
    assert table[inside, 2].max() < table[[0, -1], 2].min()
    assert (table[:, 3] < 1e-8).all()
    excess = [float(line.split(",")[2]) for line in lines[18:]]
    assert len(excess) == len(ridge.CENTERS) + 1
    assert excess[-2] < 1e-2 * excess[0]


def test_a_digit_never_seen_is_farther_from_the_components(capsys, monkeypatch, tmp_path):
    digits, picture = example("digits_never_seen"), tmp_path / "digits.svg"
    monkeypatch.setattr(digits, "N_TRAINING", 600)
    monkeypatch.setattr("sys.argv", ["digits_never_seen.py", str(picture)])
    digits.main()
    lines = capsys.readouterr().out.splitlines()
    areas = np.array([line.split() for line in lines[1:11]], dtype=float)
    assert_array_equal(areas[:, 0], np.arange(10))
    assert areas[:, 1].min() > 0.6 and np.median(areas[:, 1]) > 0.9
    before, after = map(float, re.findall(r"\d+\.\d+", lines[11]))
    assert after < 0.5 * before
    assert digits.area(np.array([1.0, 2.0, 3.0]), np.array([False, True, False])) == 0.5
    assert "noisy" in picture.read_text(encoding="utf-8")


def test_the_plane_of_iris_has_the_printed_directions(capsys, monkeypatch, tmp_path):
    plane, picture = example("iris_plane"), tmp_path / "iris.svg"
    monkeypatch.setattr("sys.argv", ["iris_plane.py", str(picture)])
    plane.main()
    lines = capsys.readouterr().out.splitlines()
    table = np.array([line.split()[-2:] for line in lines[1:5]], dtype=float)
    # As R prints them, whose signs are free.
    expected = [[0.8294, 0.0241], [1.5345, 2.1645], [-2.2012, -0.9319], [-2.8105, 2.8392]]
    assert_array_equal(np.abs(table), np.abs(expected))
    assert lines[-2].split() == ["linear", "3", "3"]
    assert lines[-1].split() == ["quadratic", "3", "4"]
    assert "versicolor" in picture.read_text(encoding="utf-8")


def test_strings_and_sets_are_told_apart(monkeypatch, tmp_path):
    """On a page of its own, and the page in docs has the same tasks and kernels."""
    strings = example("strings_and_sets")
    page = (ROOT / "docs" / "kernels_for_strings_and_sets.md").read_text(encoding="utf-8")
    copy, folder = tmp_path / "page.md", tmp_path / "texts"
    copy.write_text(page, encoding="utf-8")
    folder.mkdir()
    lines = ["spam\tcash now, call", "ham\tsee you at lunch", "no tabulator"] * 20
    (folder / "sms.tsv").write_text("\n".join(lines), encoding="utf-8")
    with tarfile.open(folder / "review_polarity.tar.gz", "w:gz") as archive:
        for i in range(20):
            text = b"good film" if i % 2 else b"bad film"
            member = tarfile.TarInfo(f"txt_sentoken/{'pos' if i % 2 else 'neg'}/cv{i}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    arguments = ["strings_and_sets.py", "--texts", str(folder), "--write", str(copy)]
    monkeypatch.setattr("sys.argv", arguments)
    strings.main()

    def written(text):
        start, end = (text.index(mark) for mark in strings.MARKS)
        rows = [line.strip("| ").split(" | ") for line in text[start:end].splitlines()[3:]]
        return {(task, kernel): float(right.rstrip("%")) for task, kernel, right, _ in rows}

    shown, now = written(page), written(copy.read_text(encoding="utf-8"))
    assert list(shown) == list(now)
    for (task, kernel), right in now.items():
        if task == "digits":  # the same data
            assert abs(shown[task, kernel] - right) < 1.0
        else:
            assert right == 100.0


def test_events_in_a_file_are_fitted_and_a_crash_costs_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["data_of_any_size.py", "--rows", "20000"])
    data = example("data_of_any_size")
    monkeypatch.setattr(data, "BLOCK", 7_000)
    data.main()
    done = capsys.readouterr().out.splitlines()
    assert done[-2].endswith("is fitted: False") and done[-1].endswith("to the byte: True")
    assert 0.6 < float(re.search(r"right on ([\d.]+)%", done[2]).group(1)) / 100 < 0.75


def test_rounds_are_measured_and_foreseen(tmp_path, monkeypatch):
    data = example("data_of_any_size")
    page = (ROOT / "docs" / "data_of_any_size.md").read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "data_of_any_size", data)  # for worker processes
    workers = data.WORKERS
    monkeypatch.setattr(data, "WORKERS", (1, 2))
    monkeypatch.setattr(data, "BLOCK", 5_000)
    arguments = ["data_of_any_size.py", "--rounds", "--rows", "10000", "--write", str(copy)]
    monkeypatch.setattr("sys.argv", arguments)
    data.main()

    def rows(text):
        start, end = (text.index(mark) for mark in data.MARKS)
        lines = [line for line in text[start:end].splitlines() if line.startswith("| ")]
        return [line.split(" | ")[0].strip("| ") for line in lines]

    assert [row for row in rows(page) if row not in map(str, workers[2:])] == rows(copy.read_text())
    assert set(map(str, workers)) < set(rows(page))
    assert all(line in page for line in data.plan())  # which no machine changes


@each("n_workers", [1, 2, 3, 7])
@each("n_blocks", [1, 6, 7, 20])
def test_a_foreseen_round_is_that_of_workers_who_take_the_next_block(n_blocks, n_workers):
    data = example("data_of_any_size")
    free = [0.0] * n_workers
    for _ in range(n_blocks):  # on a core of its own each
        free[free.index(min(free))] += 0.25
    costs = data.Costs(block=0.25, task=0.0, update=0.5)
    assert costs.of_round(n_blocks, n_workers, 7) == max(free) + 0.5
    # Twice as many workers as cores: as fast as half of them, where all have as many blocks.
    assert costs.of_round(24, 8, 4) == costs.of_round(24, 4, 4) == 6 * 0.25 + 0.5
    assert data.Costs(0.01, 0.25, 0.5).of_round(24, 4, 5) == 24 * 0.25 + 0.5  # the client's time


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the largest memory")
def test_machines_of_many_samples_are_timed_and_certified(tmp_path, monkeypatch):
    svm = example("svm_of_any_size")
    page = (ROOT / "docs" / "data_of_any_size.md").read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["svm_of_any_size.py", "1000", "2000", "--write", str(copy)])
    svm.main()

    def rows(text):
        start, end = (text.index(mark) for mark in svm.MARKS)
        lines = [line for line in text[start:end].splitlines() if line.startswith("| ")]
        return [line.strip("| ").split(" | ") for line in lines]

    shown, now = rows(page), rows(copy.read_text(encoding="utf-8"))
    assert shown[0] == now[0] and len(now) == 4 and len(shown) > 5
    for row in shown[2:] + now[2:]:
        assert 0 <= float(row[3]) < 1e-3
