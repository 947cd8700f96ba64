"""What CONTRIBUTING.md shows works: its kernel, its model, and the files that it names."""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import check_estimator

from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.svm import SVC

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """A module of the page's Python."""
    (tmp_path / "contributed.py").write_text("\n".join(BLOCKS), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module("contributed")


def test_the_kernel_is_one_and_works_in_a_machine(shown):
    X, y = load_iris()
    K = shown.RationalQuadratic()(X, X)
    assert np.array_equal(K, K.T) and np.linalg.eigvalsh(K)[0] > -len(X) * np.finfo(float).eps
    precomputed = SVC(kernel="precomputed").fit(K, y)
    own = SVC(kernel=shown.RationalQuadratic()).fit(X, y)
    assert_allclose(own.dual_objective_, precomputed.dual_objective_, rtol=1e-3)
    assert np.array_equal(own.predict(X), precomputed.predict(K))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_model_passes_scikit_learns_checks_and_is_the_nearest_mean(shown):
    check_estimator(shown.NearestMean())
    X, y = load_iris()
    white = LinearDiscriminantAnalysis(priors=[1 / 3] * 3).fit(X, y)
    Z = white.transform(X)  # nearest means there are the discriminants themselves
    assert np.array_equal(shown.NearestMean().fit(Z, y).predict(Z), white.predict(X))


def test_the_kernel_can_stand_where_the_page_says(tmp_path):
    """In a copy of the package: its file, its line in meson.build, its name in the family."""
    shutil.copytree(ROOT / "mlcore", tmp_path / "mlcore")
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_layout.py", tmp_path / "tests")
    kernels, word = tmp_path / "mlcore" / "kernels", "rational_quadratic"
    block = next(b for b in BLOCKS if "class RationalQuadratic" in b)
    head = '"""The rational quadratic kernel."""\n\n'
    (kernels / "structured" / f"{word}.py").write_text(head + block, encoding="utf-8")
    module = f"mlcore.kernels.structured.{word}"
    meson, listed = tmp_path / "mlcore" / "meson.build", "'pyramid_match.py',"
    changes = {
        kernels / "__init__.py": (
            "\n__all__ = [",
            f'from {module} import RationalQuadratic\n\n__all__ = [\n    "RationalQuadratic",',
        ),
        meson: (listed, f"{listed} '{word}.py',"),
    }
    for path, (before, after) in changes.items():
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), encoding="utf-8")
    names = "meson_lists or folders or circles or layer or words or modules_are_short"
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", names, "tests"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 6


def test_the_files_that_it_names_exist():
    named = re.findall(r"`((?:mlcore|tests|tools|\.ci|asv_benchmarks)/[\w./]+)`", PAGE)
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / name).exists()]
    linked = re.findall(r"\]\(([\w.]+)\)", PAGE)
    assert linked and all((ROOT / name).exists() for name in linked)
