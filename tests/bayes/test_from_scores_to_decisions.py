"""The page on decisions: its examples print what it shows, and its names exist."""

import contextlib
import io
import re
from pathlib import Path

import mlcore

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "from_scores_to_decisions.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_examples_of_the_page_print_what_the_page_shows():
    assert len(blocks("python")) >= 6
    for example, text in zip(blocks("python"), blocks("text"), strict=True):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(example, {"__name__": "__main__"})
        assert shown.getvalue() == text


def test_every_function_that_the_page_names_exists():
    known = {*mlcore.bayes.__all__, *mlcore.bounds.__all__, *dir(mlcore.bayes.RiskClassifier)}
    known |= {"SVC", "classes_", *dir(mlcore.bayes.JointTable)}
    named = {name.partition("(")[0] for name in re.findall(r"`([A-Za-z_]+(?:\([^`]*\))?)`", PAGE)}
    assert named <= known, named - known


def test_files_that_the_page_links_to_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
