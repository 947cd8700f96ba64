"""The page on standard errors prints what it shows, and names what there is."""

import contextlib
import io
import re
from pathlib import Path

import mlcore.linear_model as linear_model

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how_sure.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_examples_of_the_page_print_what_the_page_shows():
    names = {"__name__": "__main__"}  # later examples go on from earlier ones
    for example, text in zip(blocks("python"), blocks("text"), strict=True):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(example, names)
        assert shown.getvalue() == text


def test_every_attribute_that_the_page_names_exists():
    X, y = [[0.0], [1.0], [2.0], [4.0]], [0.0, 1.0, 3.0, 3.0]
    model = linear_model.LinearRegression().fit(X, y)
    found = model.inference()
    ours = {"mtcars", "C", "alpha", "z", "error.direction", "error.verdict"}
    for name in set(re.findall(r"`([A-Za-z_.]+)(?:\([^`]*\))?`", PAGE)) - ours:
        assert hasattr(found, name) or hasattr(model, name), name
