"""The tables of docs/coming_from_scikit_learn.md, from what both packages say of themselves.

    python tools/coming_from_scikit_learn.py            print them
    python tools/coming_from_scikit_learn.py --write    put them into the page

Classes of the same name are compared by their constructors, by what a fit to the irises sets, and
by their methods. What to do about scikit-learn's parameters stands on the classes of mlcore, for
attributes and other defaults here.
"""

import argparse
import inspect
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import sklearn
import sklearn.cluster
import sklearn.cross_decomposition
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.feature_extraction.text
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.mixture
import sklearn.naive_bayes
import sklearn.svm

from mlcore import (
    cluster,
    decomposition,
    discriminant,
    kernel_ridge,
    kernels,
    linear_model,
    mixture,
    naive_bayes,
    svm,
)
from mlcore.datasets import load_iris
from mlcore.estimator.model import Model
from mlcore.row_sums import RowSums

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming_from_scikit_learn.md"
START, END = "<!-- tables of scikit-learn {} -->", "<!-- end of tables -->"
FAMILIES = {
    svm: (sklearn.svm,),
    cluster: (sklearn.cluster,),
    mixture: (sklearn.mixture,),
    decomposition: (sklearn.decomposition, sklearn.cross_decomposition),
    discriminant: (sklearn.discriminant_analysis,),
    kernel_ridge: (sklearn.kernel_ridge,),
    kernels: (sklearn.feature_extraction.text,),
    linear_model: (sklearn.linear_model,),
    naive_bayes: (sklearn.naive_bayes,),
}
DEFAULTS = {
    "SVC.probability": "not deprecated: the folds that calibrate share kernel rows",
    "NuSVC.probability": "not deprecated: the folds that calibrate share kernel rows",
    "SpectralClustering.gamma": "1 / (n_features * Var(X)) fits the scale of the data",
    "SpectralClustering.assign_labels": "after k-means, samples move if that improves the cut",
    "AgglomerativeClustering.compute_distances": "they are computed in any case",
    "GaussianMixture.init_params": "clusters around centres that are far from each other",
    "LinearRegression.tol": "share of the equations that conjugate gradients on sparse rows leave",
    "ElasticNet.tol": "bounds the duality gap over the objective of no coefficients",
    "Lasso.tol": "bounds the duality gap over the objective of no coefficients",
    "ElasticNetCV.tol": "bounds the duality gap over the objective of no coefficients",
    "LassoCV.tol": "bounds the duality gap over the objective of no coefficients",
    "ElasticNetCV.eps": "1e-3 with more samples than features, else 1e-2",
    "LassoCV.eps": "1e-3 with more samples than features, else 1e-2",
    "ElasticNetCV.cv": "the same folds",
    "LassoCV.cv": "the same folds",
    "PCA.tol": "bounds Lanczos residuals over the largest variance; other solvers have none",
    "KernelPCA.tol": "bounds Lanczos residuals over the largest eigenvalue",
    "KernelPCA.max_iter": "limits Lanczos, which ends long before",
    "LinearDiscriminantAnalysis.tol": "share of a feature's variance that others do not explain",
    "LogisticRegression.solver": "chooses the solver that suits the data",
    "LogisticRegression.max_iter": "no fit to real data is known that needs so many",
    "LogisticRegressionCV.l1_ratios": "its name here is `l1_ratio`, as in LogisticRegression",
    "LogisticRegressionCV.cv": "the same five folds",
    "LogisticRegressionCV.scoring": "probabilities are what the model estimates",
    "LogisticRegressionCV.max_iter": "as in LogisticRegression",
    "Perceptron.max_iter": "the bound on the mistakes says when more epochs are of no use",
    "Perceptron.tol": "of the share of mistakes; by default only an epoch without any ends it",
    "Perceptron.shuffle": "rounds visit rows in their order, as in a stream",
    "Perceptron.random_state": "only `shuffle` draws random numbers",
    "GaussianMixture.reg_covar": "a small share of each feature's variance: units do not matter",
}
ATTRIBUTES = {
    "n_iter_": "there is no iteration",
    "t_": "`n_rounds_`",
    "singular_": "`numpy.linalg.svd` of the centred features; see also `rank_` and `rcond_`",
    "rotations_": "`numpy.linalg.eigh(covariances_[j])`",
    "scalings_": "`numpy.linalg.eigh(covariances_[j])`",
    "affinity_matrix_": "`mlcore.cluster.spectral.affinity(X)` computes it",
    "lower_bounds_": "`log_likelihood_trace_`",
    "probA_": "`link_slopes_`, `link_offsets_` and `link_knots_` of another link function",
    "probB_": "`link_slopes_`, `link_offsets_` and `link_knots_` of another link function",
}


class Pair(NamedTuple):
    """A class of mlcore, the one of the same name in scikit-learn, and a fit of each."""

    ours: Any
    theirs: Any
    our_fit: Any
    their_fit: Any


def pairs() -> dict[str, Pair]:
    X, y = load_iris()
    found = {}
    for family, peers in FAMILIES.items():
        for name in family.__all__:
            ours = getattr(family, name)
            theirs = next((getattr(peer, name) for peer in peers if hasattr(peer, name)), None)
            if theirs is None or not (inspect.isclass(ours) and issubclass(ours, Model)):
                continue
            wanted = {"kernel": "linear", "probability": True, "random_state": 0}
            data = (X[:, :2], X[:, 2:]) if name == "CCA" else (X, y)
            fits = []
            for kind in (ours, theirs):
                options = {key: wanted[key] for key in wanted if key in parameters(kind)}
                fits.append(kind(**options).fit(*data))
            found[name] = Pair(ours, theirs, *fits)
    return found


def parameters(kind: Any) -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(kind).parameters.items()}


def attributes(model: Any) -> set[str]:
    names = {name for name in dir(model) if re.fullmatch(r"[a-zA-Z]\w*_", name)}
    return {name for name in names if hasattr(model, name)}


def methods(kind: Any) -> set[str]:
    names = {name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))}
    return {name for name in names if not re.fullmatch(r"set_\w+_request", name)}


def code(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def table(header: str, rows: list[tuple[str, ...]]) -> list[str]:
    """Lines of a table; rows that differ in their first cell only become one."""
    of: dict[tuple[str, ...], list[str]] = {}
    for first, *cells in rows:
        of.setdefault(tuple(cells), []).append(first)
    lines = [f"| {header} |", "|" + " --- |" * (header.count("|") + 1)]
    return lines + [f"| {' | '.join([code(names), *cells])} |" for cells, names in of.items()]


def release() -> str:
    return ".".join(sklearn.__version__.split(".")[:2])


def tables() -> str:
    """All tables, between the two marks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn's deprecations
        return _tables()


def _tables() -> str:
    gone: list[tuple[str, ...]] = []
    defaults: list[tuple[str, ...]] = []
    renamed: list[tuple[str, ...]] = []
    added: list[tuple[str, ...]] = []
    for name, pair in pairs().items():
        mine, other = parameters(pair.ours), parameters(pair.theirs)
        for parameter in [p for p in other if p not in mine]:
            gone.append((name, code([parameter]), str(pair.ours._instead_of(parameter))))
        for parameter in [p for p in other if p in mine and other[p] != mine[p]]:
            values = code([repr(other[parameter])]), code([repr(mine[parameter])])
            defaults.append(
                (name, code([parameter]), *values, DEFAULTS.get(f"{name}.{parameter}", ""))
            )
        ours, theirs = attributes(pair.our_fit), attributes(pair.their_fit)
        for attribute in sorted(theirs - ours):
            renamed.append((name, code([attribute]), ATTRIBUTES.get(attribute, "")))
        more = sorted(mine.keys() - other), sorted(ours - theirs)
        own = methods(pair.ours) - methods(pair.theirs)
        sums = ["those of `RowSums`"] * issubclass(pair.ours, RowSums)
        own -= methods(RowSums) if sums else set()
        if any(more) or own or sums:
            shown = ", ".join([code(sorted(own))] * bool(own) + sums)
            added.append((name, *map(code, more), shown))
    lines = [START.format(release()), "", "Parameters that only scikit-learn has:", ""]
    lines += table("class | parameter | what to do", gone)
    lines += ["", "Defaults that differ:", ""]
    lines += table("class | parameter | scikit-learn | mlcore | why", defaults)
    lines += ["", "Fitted attributes that only scikit-learn has:", ""]
    lines += table("class | attribute | instead", renamed)
    lines += ["", "What mlcore adds; `help` of each class describes it:", ""]
    lines += table("class | parameters | fitted attributes | methods", added)
    return "\n".join([*lines, "", END])


def main() -> None:
    parser = argparse.ArgumentParser(description="Tables of what differs from scikit-learn.")
    parser.add_argument("--write", action="store_true", help="put them into the page")
    text = tables()
    if not parser.parse_args().write:
        print(text)
        return
    page = PAGE.read_text(encoding="utf-8")
    before, rest = re.split(START.format(r"[\d.]+"), page)
    PAGE.write_text(before + text + rest.split(END, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
