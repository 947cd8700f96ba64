"""Projections, discriminants and ridge functions of data that are hard to compute with."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse as sp

from contract import (
    MODELS,
    answers,
    counts,
    digest,
    labels,
    numbers,
    only,
    refuses,
    samples,
    several_numbers,
)
from mlcore.decomposition import CCA, PCA, KernelCCA, KernelPCA
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.kernel_ridge import KernelRidge, KernelRidgeCV
from mlcore.linear_model import LinearRegression

FAMILIES = (
    "PCA",
    "KernelPCA",
    "CCA",
    "KernelCCA",
    "LinearD",
    "QuadraticD",
    "KernelRidge",
    "LinearRegression",
)
of_these_families = only(lambda entry: type(entry.make()).__name__.startswith(FAMILIES))

# How a model is made for the unit of its samples, a power of two; what it is fitted to; which part
# of its answers has that unit; the answer of each; and attributes that are 1e-5 exact in float32.
LAWS = {
    "PCA": (lambda unit: PCA(2), None, 1, "transform", ["explained_variance_"]),
    "PCA-gram": (lambda unit: PCA(2, svd_solver="gram"), None, 1, "transform", ["mean_"]),
    "PCA-full": (lambda unit: PCA(2, svd_solver="full"), None, 1, "transform", ["mean_"]),
    "PCA-scaled": (lambda unit: PCA(2, scale=True), None, 0, "transform", ["scale_"]),
    "PCA-whitened": (lambda unit: PCA(2, whiten=True), None, 0, "transform", ["mean_"]),
    "KernelPCA": (lambda unit: KernelPCA(2), None, 1, "transform", ["eigenvalues_"]),
    "CCA": (lambda unit: CCA(2), several_numbers, 0, "transform", ["canonical_correlations_"]),
    "KernelCCA": (
        lambda unit: KernelCCA(2, kernel="linear", alpha=(2.0 ** (2 * unit), 1.0)),
        several_numbers, 0, "transform", ["training_correlations_"],
    ),
    "LinearDiscriminantAnalysis": (
        lambda unit: LinearDiscriminantAnalysis(), labels, 0, "predict_proba",
        ["canonical_correlations_"],
    ),
    "QuadraticDiscriminantAnalysis": (
        lambda unit: QuadraticDiscriminantAnalysis(), labels, 0, "predict_proba",
        ["log_determinants_"],
    ),
    **{
        f"KernelRidge-{solver}": (
            lambda unit, solver=solver: KernelRidge(
                2.0 ** (2 * unit), solver=solver, fit_intercept=True, tol=1e-26, random_state=0
            ),
            numbers, 0, "predict", ["objective_"],
        )
        for solver in ("cholesky", "cg", "nystroem")
    },
    "LinearRegression": (
        lambda unit: LinearRegression(), several_numbers, 0, "predict", ["objective_"],
    ),
    "LinearRegression-ridge": (
        lambda unit: LinearRegression(alpha=2.0 ** (2 * unit)),
        numbers, 0, "predict", ["objective_"],
    ),
    "KernelRidgeCV": (
        lambda unit: KernelRidgeCV(
            2.0 ** (2 * unit) * np.array([0.1, 1.0]), kernel="linear", fit_intercept=True
        ),
        numbers, 0, "predict", ["best_criterion_"],
    ),
}  # fmt: skip
every_law = pytest.mark.parametrize("law", LAWS)


def on_a_grid():
    """Samples that an offset of 1e8 leaves exact."""
    return np.round(samples() * 1024) / 1024


def fitted_to(law, X, y, unit=0):
    return LAWS[law][0](unit).fit(*((X,) if y is None else (X, y)))


def targets_of(law, X):
    return None if LAWS[law][1] is None else LAWS[law][1](X)


def answer(law, model, X):
    found = getattr(model, LAWS[law][3])(X)
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("unit", [-498, -60, 60, 490])
@every_law
def test_any_unit_gives_the_same(law, unit):
    X = on_a_grid()
    y = targets_of(law, X)
    expected = answer(law, fitted_to(law, X, y), X)
    far = np.ldexp(X, unit)
    found = np.ldexp(answer(law, fitted_to(law, far, y, unit), far), -unit * LAWS[law][2])
    assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("offset", [1e4, 1e8])
@every_law
def test_an_offset_leaves_what_differs(law, offset):
    X = on_a_grid()
    y = targets_of(law, X)
    expected = answer(law, fitted_to(law, X, y), X)
    found = answer(law, fitted_to(law, X + offset, y), X + offset)
    assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize(
    "law",
    ["PCA-scaled", "CCA", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
)
def test_units_of_features_do_not_matter(law):
    """1e12 and 1e-12 times the others."""
    X = on_a_grid()
    y = targets_of(law, X)
    expected = answer(law, fitted_to(law, X, y), X)
    mixed = X * 2.0 ** np.array([-40, 0, 40, 3])
    found = answer(law, fitted_to(law, mixed, y), mixed)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@every_law
def test_float32_is_kept_and_leading_values_are_near(law):
    X = samples().astype(np.float32)
    y = targets_of(law, X.astype(float))
    single, double = fitted_to(law, X, y), fitted_to(law, X.astype(float), y)
    found = answer(law, single, X)
    assert found.dtype == np.float32 or LAWS[law][3] == "predict_proba"
    assert not hasattr(single, "transform") or single.transform(X).dtype == np.float32
    assert_allclose(found, answer(law, double, X.astype(float)), rtol=0, atol=2e-4)
    for name in LAWS[law][4]:
        expected = getattr(double, name)
        size = np.abs(expected).max()
        assert_allclose(getattr(single, name), expected, rtol=0, atol=1e-5 * size)


SHAPES = {
    "fewer rows than features": lambda: samples(9, 14),
    "as many": lambda: samples(9, 9),
    "copies of three rows": lambda: samples(3)[np.arange(24) % 3],
    "rank one and copies": lambda: np.outer(samples(3)[np.arange(24) % 3, 0], np.arange(4.0)),
    "axes, which all vary alike": lambda: np.tile(np.vstack([np.eye(4), -np.eye(4)]), (3, 1)),
    "counts with zeros": partial(counts, 24),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("shape", SHAPES)
@of_these_families
def test_hard_shapes_are_finite_and_the_same_bytes_twice(shape, form, entry):
    X = SHAPES[shape]()
    rows = np.arange(len(X))
    y = {labels: rows % 2, numbers: np.sin(rows), several_numbers: np.c_[np.sin(rows), rows % 5]}
    y = y.get(entry.targets)
    if form is sp.csr_array and not entry.sparse:
        form = np.asarray
    given = form(X)
    first, second = (entry.make().fit(given, y) for _ in range(2))
    assert digest(first) == digest(second)
    for found in answers(first, given):
        assert found.dtype.kind != "f" or np.isfinite(found).all()
    if isinstance(first, PCA):
        U = first.components_
        assert_allclose(U @ U.T, np.eye(len(U)), atol=1e-5 if form is np.float32 else 1e-13)
        rank = np.linalg.matrix_rank(X - X.mean(axis=0))
        least = 1e-12 if form is np.float32 else 0.0  # rounding of float32 is variance too
        assert first.rank_ == rank or least and first.rank_ > rank
        assert (first.explained_variance_ratio_[rank:] <= least).all()


def test_a_class_of_one_row():
    X, y = samples(), np.r_[0, np.arange(59) % 2 + 1]
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(np.linalg.LinAlgError, match="only 1 sample in class 0"):
        QuadraticDiscriminantAnalysis().fit(X, y)
    for kind in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        refuses(lambda kind=kind: kind().fit(X, np.zeros(60)), ValueError, "1 class")


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
@pytest.mark.parametrize("name", ["KernelRidge", "KernelRidgeCV", "NystroemRidge"])
def test_ridge_functions_of_an_indefinite_matrix_are_refused(name):
    K = np.diag(np.r_[-2.0, np.ones(11)])
    entry = MODELS[name]
    with pytest.raises(ValueError, match=r"not positive semi-definite on these samples: .* -"):
        entry.make().set_params(kernel="precomputed").fit(K, np.arange(12.0))


def test_components_of_an_indefinite_matrix_are_the_positive_ones():
    K = np.diag(np.r_[-2.0, np.arange(1.0, 12.0)])
    H = np.eye(12) - 1 / 12
    least = np.linalg.eigvalsh(H @ K @ H)[0]
    with pytest.warns(UserWarning, match=f"the eigenvalue {least:.6g}"):
        model = KernelPCA(kernel="precomputed").fit(K)
    assert (model.eigenvalues_ > 0).all()
