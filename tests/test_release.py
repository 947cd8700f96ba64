"""All places that state name, version, address and licences of mlcore agree."""

import importlib.util
import re
import shutil
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from pathlib import Path

import pytest

import mlcore

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
RECIPE = (ROOT / "tools/conda-forge/recipe.yaml").read_text(encoding="utf-8")
CHECKED = (
    "CHANGELOG.md",
    "CITATION.cff",
    "README.md",
    "docs/start.md",
    "meson.build",
    "tools/conda-forge/recipe.yaml",
)


@pytest.fixture(scope="module")
def check():
    """The tool as a module."""
    loader = SourceFileLoader("check_release", str(ROOT / "tools/check_release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path):
    """A copy of the files that the tool compares, with a way to change one."""
    for name in CHECKED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    def change(name, pattern, after):
        text = (tmp_path / name).read_text(encoding="utf-8")
        text, count = re.subn(pattern, after, text, count=1, flags=re.MULTILINE)
        assert count == 1, (name, pattern)
        (tmp_path / name).write_text(text, encoding="utf-8")

    change.root = tmp_path
    return change


def test_all_places_agree(check):
    assert check.faults(ROOT) == []
    built = check.stated(ROOT, "meson.build", r"version: '([^']+)'")
    assert PROJECT["name"] == check.NAME
    assert version(PROJECT["name"]) == mlcore.__version__ == built


@pytest.mark.parametrize(
    ("name", "pattern", "after"),
    [
        ("meson.build", r"version: '[^']+'", "version: '9.9.9'"),
        ("CITATION.cff", r"^version: .*$", "version: 9.9.9"),
        ("CITATION.cff", r"^(version: .*)$", r"\1\ndate-released: 2000-01-01"),
        ("CHANGELOG.md", r"^## (\d)", r"## 9.9.9\n\n## \1"),
        ("tools/conda-forge/recipe.yaml", r'^  version: "[^"]+"$', '  version: "9.9.9"'),
    ],
)
def test_a_place_that_differs_is_found(check, copy, name, pattern, after):
    copy(name, pattern, after)
    assert any(name in fault or "CHANGELOG" in fault for fault in check.faults(copy.root))


def test_no_page_installs_from_pypi_what_is_not_there(check, copy):
    for name, day in (("CHANGELOG.md", r" \([\d-]{10}\)$"), ("CITATION.cff", r"^date-released.*")):
        text = (copy.root / name).read_text(encoding="utf-8")
        (copy.root / name).write_text(re.sub(day, "", text, flags=re.MULTILINE), "utf-8")
    copy("README.md", r"\Z", f"\n```sh\npip install {check.NAME}\n```\n")
    assert any(fault.startswith("README.md installs") for fault in check.faults(copy.root))


def test_a_release_needs_its_tag_its_day_and_the_line_that_installs_it(check, copy):
    built = mlcore.__version__
    assert check.faults(copy.root, "v9.9.9")
    changes = (copy.root / "CHANGELOG.md").read_text(encoding="utf-8")
    below = changes[re.search(rf"^## {re.escape(built)}.*$", changes, re.MULTILINE).end() :]
    day = f"# Changes\n\n## {built} (2027-01-31)"
    (copy.root / "CHANGELOG.md").write_text(day + below, encoding="utf-8")
    cited = re.sub(r"\ndate-released: .*", "", (copy.root / "CITATION.cff").read_text("utf-8"))
    (copy.root / "CITATION.cff").write_text(cited + "date-released: 2027-01-31\n", "utf-8")
    for name in ("README.md", "docs/start.md"):
        assert check.faults(copy.root, f"v{built}") != []
        copy(name, r"\Z", "\n```sh\npython -m pip install mlcore-learn\n```\n")
    assert check.faults(copy.root, f"v{built}") == []
    part = check.notes(copy.root)
    assert part.strip() and part.strip() in below and "\n## " not in part


def test_no_page_installs_the_other_project_of_the_name():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    other = re.compile(r"pip3? install\b[^\n`]*[ \"']mlcore(?![-\w/.])")
    assert [path.name for path in pages if other.search(path.read_text(encoding="utf-8"))] == []


def test_addresses_are_those_of_the_metadata():
    source, site = PROJECT["urls"]["Source"], PROJECT["urls"]["Homepage"]
    places = [ROOT / "CITATION.cff", ROOT / "tools/conda-forge/recipe.yaml"]
    places += [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / ".github").rglob("*.*")]
    found = set(PROJECT["urls"].values())
    for path in places:
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            found |= set(
                re.findall(r"https://[\w.-]*github[\w.]*/[^\s<>()\"`]*mlcore[^\s<>()\"`]*", text)
            )
            found |= set(re.findall(r"https://mlcore[^\s<>()\"`]*", text))
    raw = source.replace("github.com", "raw.githubusercontent.com")
    assert [url for url in found if not url.startswith((source, site, raw))] == []


def test_python_versions_are_the_same_everywhere():
    listed = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    assert listed[0] == PROJECT["requires-python"].removeprefix(">=3.")
    built = {
        re.fullmatch(r"cp3(\d+)t?-\*", name)[1]
        for name in SETTINGS["tool"]["cibuildwheel"]["build"]
    }
    assert built == set(listed)


def test_every_licence_goes_into_the_distribution():
    kept = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    assert kept == {ROOT / "LICENSE", *(ROOT / "mlcore").rglob("LICENSE*")}
    assert f"license: {PROJECT['license']}\n" in RECIPE
    listed = re.search(r"license_file:\n((?:    - .*\n)+)", RECIPE)[1]
    assert {ROOT / line.strip(" -") for line in listed.splitlines()} == kept
    # Linux has one more library, whose licence the build adds to this text and this expression.
    added = " ".join(SETTINGS["tool"]["cibuildwheel"]["linux"]["before-all"])
    assert all((ROOT / name).exists() for name in re.findall(r"cat (\S+) >> (\S+)", added)[0])
    assert re.search(r"/s/([\w.-]+)/&", added)[1] in PROJECT["license"]


def test_the_recipe_of_conda_needs_what_the_distribution_needs():
    needed = {re.sub(r"(?=>=)", " ", name) for name in PROJECT["dependencies"]}
    run = RECIPE.partition("\n  run:\n")[2].partition("\n\n")[0]
    assert {line.strip(" -") for line in run.splitlines()} == {"python", *needed}
