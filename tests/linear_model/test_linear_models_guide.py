"""The guide to linear models: its limits of engines are those of the code, its evidence exists."""

import re
from pathlib import Path

import numpy as np
import pytest
from each import each
from scipy import sparse as sp

from mlcore import linear_model, svm
from mlcore.blocks import fit_blocks, row_blocks
from mlcore.datasets import load_iris
from mlcore.linear_model import ElasticNet, LinearRegression, LogisticRegression
from mlcore.linear_model.coordinate import penalised
from mlcore.linear_model.logistic import logistic_pass, logistic_path
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.solution import route_of
from mlcore.linear_model.logistic.steps import sample_span
from mlcore.linear_model.regression import samples
from mlcore.svm.linear import band_newton, solution

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "linear_models.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def table(title):
    """Cells of the rows of the only table under a title; an empty first cell is that above."""
    lines = re.findall(r"^\|(.*)\|$", TEXT.split(f"## {title}")[1].split("\n## ")[0], re.MULTILINE)
    found = []
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.split("|")]
        cells[0] = cells[0] or found[-1][0]
        found.append(cells)
    return found


ENGINES = table("Which engine runs, and what it costs")


def data_of(model, engine):
    (data,) = [row[1] for row in ENGINES if model in row[0] and engine in row[2]]
    return data


@each(
    ("model", "engine", "limits"),
    [
        ("ElasticNet", "sums of products", (penalised._DENSE, penalised._SPARSE)),
        ("LogisticRegression", "Newton's method", (logistic_pass.NEWTON,)),
        ("LogisticRegression", "in the span of the samples", (sample_span._LARGEST,)),
        ("LinearRegression", "conjugate gradients", (samples._DIRECT, samples._NARROW)),
        ("paths of these", "compiled loop", (logistic_path._COLUMNS,)),
        ("LinearSVC", "Hessian is updated", (band_newton.DIRECT,)),
        ("LinearSVC", "conjugate gradients", (band_newton.DIRECT,)),
        ("plain losses", "augmented", (solution._SMALL, solution._NARROW)),
    ],
)
def test_limits_of_engines_are_those_of_the_code(model, engine, limits):
    rows = [
        row[1]
        for row in ENGINES
        if model in row[0] and engine in row[2] and all(str(n) in row[1] for n in limits)
    ]
    assert len(rows) == 1, (model, engine, limits)
    extra = {"20"} if model == "plain losses" else {"1"}  # n > 20 d; (d + 1)
    assert set(re.findall(r"\d+", rows[0])) - extra == {str(n) for n in limits}


@each(
    ("shape", "density", "alpha", "solver"),
    [
        ((60, 20), None, 0.0, "cholesky"),
        ((20, 60), None, 1.0, "dual"),
        ((400, 40), 0.2, 1.0, "cholesky"),
        ((320, 400), 0.02, 1.0, "cg"),
        ((1200, 1010), 0.01, 1.0, "cg"),
        ((290, 400), 0.02, 1.0, "dual"),
    ],
)
def test_least_squares_are_solved_as_the_guide_says(shape, density, alpha, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    if density is not None:
        X = sp.random_array(shape, density=density, rng=rng, format="csr")
    model = LinearRegression(alpha=alpha).fit(X, rng.normal(size=shape[0]))
    assert model.solver_ == solver
    engine = {"cholesky": "normal", "dual": "products of samples", "cg": "conjugate"}[solver]
    assert data_of("LinearRegression", engine)


@each(
    ("n", "d", "k", "kind", "route"),
    [
        (50, 239, 2, np.asarray, "newton"),
        (50, 240, 2, np.asarray, "span"),
        (300, 240, 2, np.asarray, "lbfgs"),
        (300, 240, 2, sp.csr_array, "conjugate"),
        (300, 119, 3, np.asarray, "newton"),
        (300, 120, 3, np.asarray, "lbfgs"),
    ],
)
def test_logistic_regression_takes_the_way_that_the_guide_says(n, d, k, kind, route):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), np.arange(n) % k
    X[:, 40:] *= rng.random((n, d - 40)) < 0.05  # few enough that sparse rows stay sparse
    rows = LogisticRows(kind(X), y, np.ones(n), None, 1 if k == 2 else k, True)
    assert route_of(Objective(rows, 0.1), "auto", True) == route


def test_every_model_has_the_evidence_that_the_guide_names():
    X, y = load_iris()
    rows = table("What a fit proves")
    assert len(rows) == 6
    for models, evidence, *_ in rows:
        for name in re.findall(r"`([A-Z]\w+)`", models):
            kind = getattr(linear_model, name, None) or getattr(svm, name)
            fitted = kind().fit(X[:, :3], X[:, 3] if kind is svm.LinearSVR else y)
            for attribute in re.findall(r"`(\w+)`", evidence):
                of_folds = attribute == "duality_gaps_" and not name.endswith("CV")
                assert hasattr(fitted, attribute) != of_folds, (name, attribute)
    paths = [
        ElasticNet().path(X, y),
        LogisticRegression().path(X, y),
        svm.LinearSVC().path(X, y, Cs=[1]),
    ]
    assert all((path.duality_gap >= 0).all() for path in paths)


def test_classes_of_the_guide_are_those_of_the_package():
    for uses, chosen in [(row[1], row[2]) for row in table("Which class")]:
        for name, given in re.findall(r"`([A-Z]\w+)(?:\((\w+)=[^`]*\))?`", uses + chosen):
            kind = getattr(linear_model, name, None) or getattr(svm, name)
            assert not given or given in kind().get_params(), (name, given)
            if "`path`" in chosen and name in uses:
                assert hasattr(kind, "path")


def test_models_without_blocks_say_so():
    blocks = {"LinearRegression", "ElasticNet", "Lasso", "LogisticRegression"}
    assert blocks <= set(re.findall(r"`(\w+)`", TEXT.split("## Blocks of rows")[1].split("```")[0]))
    for name in re.findall(
        r"`([A-Z]\w+)", " ".join(row[1] + row[2] for row in table("Which class"))
    ):
        kind = getattr(linear_model, name, None) or getattr(svm, name)
        assert hasattr(kind, "partial_statistics") == (name in blocks), name
    X, y = load_iris()
    with pytest.raises(TypeError, match="LogisticRegression or LinearRegression for blocks"):
        fit_blocks(svm.LinearSVC(), row_blocks(X, y, block_size=50))
