"""What mlcore says about itself is true: examples run, commands and public names are all there."""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import tomllib
import warnings
from pathlib import Path

import pytest

import mlcore

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("index", "start", "missing_values", "metrics")]
PAGES += [ROOT / "docs" / f"coming_from_{name}.md" for name in ("glmnet_and_liblinear", "pot")]
GUIDES = [*PAGES, *sorted((ROOT / "docs" / "guides").glob("[!i]*.md"))]
FAMILIES = [name for name in mlcore.__all__ if inspect.ismodule(getattr(mlcore, name))]


def public_objects():
    """Every documented public object as (dotted name, object), methods by way of their class."""
    found = {}
    for family in ["mlcore", *(f"mlcore.{name}" for name in FAMILIES)]:
        module = importlib.import_module(family)
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value):
                found[f"{family}.{name}"] = value
    return sorted(found.items())


PUBLIC = public_objects()
CLASSES_AND_FUNCTIONS = pytest.mark.parametrize(
    ("name", "value"), PUBLIC, ids=[name for name, _ in PUBLIC]
)


@CLASSES_AND_FUNCTIONS
def test_examples_in_docstrings_run_and_print_what_they_show(name, value):
    tests = [test for test in doctest.DocTestFinder().find(value, name) if test.examples]
    assert tests, f"{name} has no example"
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for test in tests:
            runner.run(test, out=report.write)
    assert runner.summarize(verbose=False).failed == 0, report.getvalue()


@CLASSES_AND_FUNCTIONS
def test_docstrings_name_all_parameters_and_no_others(name, value):
    signature = inspect.signature(value)
    made = not getattr(value, "_is_protocol", False)  # a protocol is not called
    assert documented(value) == set(signature.parameters if made else ()), name
    if inspect.isfunction(value) and signature.return_annotation is not None:
        assert re.search(r"^(Returns|Yields)\n-+$", inspect.getdoc(value), re.MULTILINE), name


def documented(value):
    """Names among the parameters, whose entries may share a line and spill over to the next."""
    text = inspect.getdoc(value).replace("\\\n", "")
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\S|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\S.*?)(?: :.*)?$", found[1], re.MULTILINE) if found else []
    return {name.strip(" *") for entry in entries for name in entry.split(",")}


def readme_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_docstrings_begin_with_what_a_thing_is_or_does():
    words = "What|How|Where|Whether|Which|Who|When|Of|By"
    riddle = re.compile(rf"""^ *r?\"{{3}}\s*(?:{words})\b.*""", re.MULTILINE)
    assert riddle.search('def f():\n    """Whether it is."""')
    sources = sorted(Path(mlcore.__file__).parent.rglob("*.py"))
    assert len(sources) > 100
    assert [(p.name, r) for p in sources for r in riddle.findall(p.read_text("utf-8"))] == []


def test_examples_of_the_readme_print_what_the_readme_shows():
    for example, text in zip(readme_blocks("python"), readme_blocks("text"), strict=True):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(example, {"__name__": "__main__"})
        assert shown.getvalue() == text


@pytest.mark.parametrize("page", GUIDES, ids=[page.stem for page in GUIDES])
def test_blocks_of_a_guide_print_what_it_shows(page):
    """They run in turn, each after those before it."""
    names = {"__name__": "__main__"}
    shown = r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?"
    blocks = re.findall(shown, page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block, text in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert printed.getvalue() == text


@pytest.mark.parametrize(
    ("marker", "ending"),
    [
        ("tour", "/bin/mlcore"),
        ("tests", "/bin/python -m pytest -n auto"),
        ("site", "/bin/python tools/site"),
    ],
)
def test_commands_of_the_readme_are_one_line_each_and_marked(marker, ending):
    (command,) = re.findall(rf"<!-- {marker} -->\n```sh\n(.*?)```", README, re.DOTALL)
    assert command.count("\n") == 1
    assert command.startswith("python -m venv .venv") and command.rstrip().endswith(ending)


def test_the_readme_has_a_row_for_every_family():
    rows = dict(re.findall(r"^\| `mlcore\.(\w+)` \|(.*)$", README, re.MULTILINE))
    assert sorted(rows) == sorted(FAMILIES)
    for family, text in rows.items():
        for name in re.findall(r"`(\w+)`", text):
            assert hasattr(getattr(mlcore, family), name), f"mlcore.{family} has no {name}"


def test_the_readme_gives_the_ratios_of_the_table():
    page = (ROOT / "docs" / "how_fast_how_sure.md").read_text("utf-8")
    ratios = [float(row.split("|")[4]) for row in page.split("<!--")[1].splitlines()[3:-1]]
    assert f"{min(ratios):g} to {max(ratios):.0f} times as fast" in " ".join(README.split())


def test_the_readme_fits_a_screen_of_an_index():
    assert len(README.encode()) <= 9000


def test_links_of_the_readme_are_absolute_and_name_files_that_exist():
    """An index of packages shows the text without its folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    source = project["urls"]["Source"]
    raw = source.replace("github.com", "raw.githubusercontent.com")
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://"), target
        for start in (f"{source}/blob/main/", f"{source}/tree/main/", f"{raw}/main/"):
            if target.startswith(start):
                assert (ROOT / target.removeprefix(start)).exists(), target
