"""What CONTRIBUTING.md shows works: its kernel, its model, and the files that it names."""

import importlib.util
import re
import shutil
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
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "mlcore", tmp_path / "mlcore", ignore=compiled, copy_function=named)
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
    layout = loaded("layout_of_the_copy", tmp_path / "tests" / "test_layout.py")
    assert layout.PACKAGE == tmp_path / "mlcore"
    assert module in layout.MODULES
    for law in (
        layout.test_meson_lists_exactly_the_sources_there_are,
        layout.test_meson_lists_every_extension,
        layout.test_words_say_something,
        layout.test_folders_are_short,
        layout.test_modules_are_short,
        layout.test_every_part_has_its_layer,
    ):
        law()
    edges = layout.imports_of_mlcore()
    assert module in {edge[0] for edge in edges} & {edge[1] for edge in edges}
    assert not layout.upward_imports(edges) and not layout.circle(edges)
    # A faulty copy is found.
    meson.write_text(meson.read_text("utf-8").replace(f" '{word}.py',", ""), "utf-8")
    with pytest.raises(AssertionError):
        layout.test_meson_lists_exactly_the_sources_there_are()


def named(source, target):
    """Copy what lies in the family or in a list of Meson's, of the rest the names."""
    if "kernels" in Path(source).parts or source.endswith(".build"):
        shutil.copy(source, target)
    else:
        Path(target).touch()


def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_that_it_names_exist():
    named = re.findall(r"`((?:mlcore|tests|tools|\.ci|asv_benchmarks)/[\w./]+)`", PAGE)
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / name).exists()]
    linked = re.findall(r"\]\(([\w.]+)\)", PAGE)
    assert linked and all((ROOT / name).exists() for name in linked)
