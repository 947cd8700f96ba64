"""Every file is where its word says, is installed, imports alone, and needs no scikit-learn."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import mlcore

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "mlcore"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DATA = [*PACKAGE.rglob("*.npz"), *PACKAGE.rglob("LICENSE*"), *PACKAGE.rglob("py.typed")]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCES
]
EXTENSIONS = sorted(path.stem for path in (PACKAGE / "_ext").glob("*.pyx"))


def listed_in_meson():
    files = set()
    families = re.findall(
        r"^  '(\w*)': \[(.*?)\]", (PACKAGE / "meson.build").read_text(), re.DOTALL | re.MULTILINE
    )
    for family, names in families:
        files |= {PACKAGE / family / name for name in re.findall(r"'([^']+)'", names)}
    return files | {PACKAGE / "_ext" / "__init__.py"}


def test_meson_lists_exactly_the_sources_there_are():
    assert listed_in_meson() == {*SOURCES, *DATA}


def test_meson_lists_every_extension():
    build = (PACKAGE / "_ext" / "meson.build").read_text()
    names = re.search(r"foreach name : \[([^]]*)\]\n  py.extension_module", build)[1]
    assert sorted(re.findall(r"'(\w+)'", names)) == EXTENSIONS


@pytest.mark.parametrize("word", EXTENSIONS)
def test_every_extension_has_a_module_of_its_word(word):
    assert [path for path in SOURCES if path.stem == word], f"no {word}.py beside {word}.pyx"


def test_words_are_unique_and_say_something():
    words = [path.stem for path in SOURCES if not path.stem.startswith("__")]
    assert sorted(words) == sorted(set(words))
    assert not {"utils", "util", "helpers", "common", "base", "misc"} & set(words)


def test_modules_are_short():
    long = {p.name: n for p in SOURCES if (n := len(p.read_text().splitlines())) >= 400}
    kernels = (PACKAGE / "_ext").glob("*.pyx")
    long |= {p.name: n for p in kernels if (n := len(p.read_text().splitlines())) > 300}
    assert not long


IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
banned = {"sklearn", "pandas", "polars", "matplotlib", "IPython"}
loaded = {name.partition(".")[0] for name in sys.modules} & banned
assert not loaded, f"imported: {loaded}"
"""


def test_every_module_imports_without_scikit_learn(tmp_path):
    names = MODULES + [f"mlcore._ext.{word}" for word in EXTENSIONS]
    subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], check=True, cwd=tmp_path)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_imports_alone(name, tmp_path):
    subprocess.run([sys.executable, "-c", f"import {name}"], check=True, cwd=tmp_path)


def test_families_are_loaded_on_first_use(tmp_path):
    lines = [
        "import mlcore, sys",
        "assert not {'mlcore.svm', 'mlcore.kernels', 'numpy'} & set(sys.modules)",
        "assert {'svm', 'kernels', 'datasets', 'save', 'load'} <= set(dir(mlcore))",
        "assert mlcore.svm.SVC.__module__.startswith('mlcore.svm')",
        "assert mlcore.save.__module__ == mlcore.load.__module__ == 'mlcore.persistence'",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, cwd=tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'svn'"):
        mlcore.svn  # noqa: B018


def test_public_names_exist_and_are_all_that_completion_shows():
    families = "bounds cluster datasets kernels mixture online row_sums svm"
    for family in families.split():
        module = getattr(mlcore, family)
        assert module.__all__ and all(hasattr(module, name) for name in module.__all__)
        assert dir(module) == sorted(module.__all__)
    assert dir(mlcore) == sorted(mlcore.__all__) and "svm" in dir(mlcore)


def test_the_version_is_the_same_everywhere():
    built = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
    assert built == version("mlcore") == mlcore.__version__


def test_an_unbuilt_source_tree_says_what_to_do(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "mlcore", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    shutil.copy(ROOT / "meson.build", tmp_path)
    # -S: no site-packages, where an editable install would answer instead of the tree.
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import mlcore"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    *_, last = done.stderr.strip().splitlines()
    assert last == (
        f"ImportError: mlcore is not built in its source tree {tmp_path.resolve()}: run "
        "`python -m pip install .` there, then start Python from another folder."
    )
    assert "During handling" not in done.stderr


def test_requirements_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = {re.match(r"[\w-]+", line)[0] for line in project["project"]["dependencies"]}
    assert required == {"numpy", "scipy", "threadpoolctl"}
    readme = (ROOT / "README.md").read_text()
    assert '-m pip install ".[test]"' in readme and "-m pip install . &&" in readme
