"""The page on standard errors prints what it shows, and names what there is."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd

import mlcore.linear_model as linear_model
from mlcore.datasets import load_iris

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


def test_tables_say_how_many_samples_how_good_the_fit_and_against_which_class():
    X, y = load_iris()
    frame = pd.DataFrame(X, columns=["a name that is longer than the others", "b", "c", "d"])
    y = np.array(["setosa", "versicolor", "virginica"])[np.roll(y, 7)]
    found = linear_model.LogisticRegression(C=np.inf).fit(frame, y).inference(frame, y)
    lines = str(found).splitlines()
    assert lines[-1] == "log odds of versicolor, virginica against setosa"
    ratio = found.likelihood_ratio
    assert lines[-2] == (
        f"n = 150, log-likelihood {found.log_likelihood:.6g}, likelihood ratio "
        f"{ratio.statistic:.4g} (8 d.f.), p {ratio.p_value:.3g}"
    )
    assert lines[1] == "versicolor" and lines[7] == "virginica"
    rows = [line for line in lines[:-2] if line not in found.groups]
    assert len({len(row) for row in rows}) == 1  # columns under their heads
    assert rows[1].startswith("a name that is longer than the others") and "others " not in rows[2]
    linear = linear_model.LinearRegression().fit(frame[["b"]], X[:, 2:], np.full(150, 2.0))
    found = linear.inference()
    lines = str(found).splitlines()
    assert lines[-1] == (
        f"y1: n = 300, R² {found.r_squared[1]:.4g} (adjusted {found.adjusted_r_squared[1]:.4g}), "
        f"F {found.f[1]:.4g} (1 and 298 d.f.), p {found.f_p_value[1]:.3g}"
    )
    assert lines[-2].startswith("y0: n = 300")
