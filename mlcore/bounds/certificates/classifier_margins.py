"""Hyperplane, support vectors and signed cosines of a fitted binary classifier.

They are read from attributes by the names that scikit-learn uses too.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mlcore.checks import as_class_weights
from mlcore.kernels.kernel import FunctionKernel
from mlcore.kernels.vector_kernels import VectorKernel, as_kernel

_ROUNDING = 32  # largest error of a computed cosine, in units in the last place
_BITS = 64  # of a float
_CLOSE = 1e-5  # relative: of coefficients as they are stored, and of a hard margin
_FREE = 1e-3  # of its bound: distance from 0 and the bound of a multiplier that is surely between


class Machine(NamedTuple):
    """Classifier by the sign of <w, phi(x)> + b; `linear`: phi(x) = x, and w is in `coef_`.

    `gamma_bits` describe a width chosen from the data; `counted` settings are candidates.
    """

    linear: bool
    expansion: bool
    gamma_bits: int
    counted: bool


def as_machine(estimator: Any, counted: bool) -> Machine | None:
    """Return the hyperplane of a binary classifier, None if its attributes show none.

    `counted` is True if the settings that a search compared count as candidates.
    """
    expansion = is_expansion(estimator)
    coef = _attribute(estimator, "coef_")
    linear = (
        coef is not None
        and not sparse.issparse(coef)
        and np.ndim(coef) in (1, 2)
        and np.size(coef) == np.shape(coef)[-1]
        and _attribute(estimator, "classes_") is not None
        and hasattr(estimator, "decision_function")
    )
    if not (linear or expansion):
        return None
    bits = 0 if linear else _gamma_bits(estimator, counted)
    return Machine(linear, expansion, bits, counted)


def is_expansion(estimator: Any) -> bool:
    """Return True for a support vector classifier of two classes."""
    support, dual_coef = _attribute(estimator, "support_"), _attribute(estimator, "dual_coef_")
    return (
        support is not None
        and dual_coef is not None
        and np.asarray(support).dtype.kind in "iu"
        and np.shape(dual_coef) == (1, len(support))
        and len(_attribute(estimator, "classes_", ())) == 2
        and hasattr(estimator, "kernel")
        and hasattr(estimator, "decision_function")
    )


def is_linear_hinge(estimator: Any) -> bool:
    """Return True for a linear machine of two classes and the hinge loss that keeps multipliers."""
    return (
        _attribute(estimator, "loss") == "hinge"
        and _attribute(estimator, "support_") is None
        and np.shape(_attribute(estimator, "dual_coef_"))[:1] == (1,)
        and len(_attribute(estimator, "classes_", ())) == 2
        and hasattr(estimator, "duality_gap_")
        and hasattr(estimator, "decision_function")
    )


def support_of(estimator: Any) -> np.ndarray:
    """Return the places of the support vectors among the examples of the fit."""
    support = _attribute(estimator, "support_")
    return np.flatnonzero(_beta(estimator)) if support is None else np.asarray(support)


def description_bits(estimator: Any, counted: bool) -> int | None:
    """Return the description length, in bits, of settings chosen from the data; None if unknown.

    Support vectors and these settings (cost, width, class weights) determine the machine.
    """
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    if "nu" in parameters or not {"C", "Cs"} & set(parameters):
        return None  # the effect of nu depends on the examples that are left out
    bits = width_bits(estimator, counted)
    bits += 0 if "C" in parameters or counted else _BITS
    return bits + (2 * _BITS if isinstance(parameters.get("class_weight"), str) else 0)


def has_free_vector(estimator: Any, y: np.ndarray) -> bool:
    """Return True if a multiplier is below its bound, so that its vector fixes the intercept.

    `y` are the labels of the fit.
    """
    if is_linear_hinge(estimator):
        return not estimator.fit_intercept or _is_surely_free(estimator, y)
    bounded = _attribute(estimator, "margin_error_indices_")
    if bounded is not None:
        return not np.isin(estimator.support_, bounded).all()
    beta = _beta(estimator)
    weights = np.asarray(estimator.class_weight_)[(beta > 0).astype(int)]
    return bool((np.abs(beta) < (1 - 1e-9) * weights * estimator.C).any())


def _is_surely_free(estimator, y):
    """Return True if a multiplier is well between 0 and its bound.

    Multipliers of a linear machine are scaled to add up to 0, so that those at the bound are not
    on it to the last digit.
    """
    codes = (y == estimator.classes_[1]).astype(int)
    factors = as_class_weights(
        estimator.class_weight, estimator.classes_, codes, np.ones(len(codes))
    )
    bound, size = factors[codes] * estimator.C, np.abs(_beta(estimator))
    least = _FREE * np.minimum(bound, size.max())
    return bool(((size > least) & (size < (1 - _FREE) * bound)).any())


def may_be_indefinite(estimator: Any) -> bool:
    """Return True if its kernel need not be positive semidefinite."""
    if not hasattr(estimator, "kernel"):
        return False
    kernel = _kernel(estimator)
    # A user's kernel is assumed to be positive semidefinite, as nothing is known of it.
    return isinstance(kernel, VectorKernel) and not kernel.positive_semidefinite


def signed_cosines(
    estimator: Any,
    hyperplane: Machine,
    X: Any,
    y: np.ndarray,
    values: np.ndarray,
    predicted: np.ndarray,
    fitted: bool,
) -> np.ndarray | str:
    """Return y_i <w, z_i> / (|w| |z_i|), (n,), rounded down, or the reason why they are not known.

    z = (phi(x), 1) and w = (w, b). `fitted` is `fitted_to(estimator, X)`.
    """
    # The decision function must have one value, whose sign predicts.
    if values.shape != y.shape:
        return "its decision function has no single value for each example"
    eps = np.finfo(np.float64 if values.dtype.kind != "f" else values.dtype).eps
    values = values.astype(np.float64)
    classes = np.asarray(estimator.classes_)
    decided = values != 0
    if len(classes) != 2 or (predicted != classes[(values > 0).astype(int)])[decided].any():
        return "it does not predict by the sign of its decision function"
    # Compute |w|² and the |phi(x)|² of the examples.
    intercept = float(np.ravel(getattr(estimator, "intercept_", 0.0))[0])
    if hyperplane.linear:
        w = np.ravel(estimator.coef_).astype(np.float64)
        plain = np.ravel(X @ w) + intercept
        scale = np.abs(plain).max(initial=0.0) + np.abs(w).sum() + abs(intercept)
        if np.abs(plain - values).max(initial=0.0) > 1e3 * eps * scale:
            return "its decision function is not that of coef_ and intercept_"
        squares, norm = _squares(X), float(w @ w)
    else:
        squares = _diagonal(estimator, X)
        if isinstance(squares, str):
            return squares
        norm = _squared_norm(estimator, values, intercept, eps, fitted)
        if norm is None:
            return "its support vectors are not among the examples given"
    # Divide the values by the lengths, intercept included.
    whole = np.sqrt(max(norm, 0.0) + intercept**2)
    if not whole > 0 or not np.isfinite(whole):
        return "its weights are all zero"
    signs = np.where(y == classes[1], 1.0, -1.0)
    if not (squares >= 0).all():
        return "its kernel is not positive semidefinite"
    # A cosine above 1 shows that the kernel is indefinite.
    cosines = signs * values / (whole * np.sqrt(squares + 1))
    if not (np.abs(cosines) <= 1 + 1e3 * eps).all():
        return "its kernel is not positive semidefinite"
    return np.clip(cosines - _ROUNDING * eps, -1.0, 1.0)


def fitted_to(estimator: Any, X: Any) -> bool:
    """Return True if X holds the support vectors in the rows where the fit found them."""
    if is_linear_hinge(estimator):
        return _has_multipliers_of(estimator, X)
    support = np.asarray(estimator.support_)
    shape = _attribute(estimator, "shape_fit_")
    if X.shape[0] <= support.max(initial=-1) or (shape and X.shape[0] != shape[0]):
        return False
    vectors = _attribute(estimator, "support_vectors_")
    if vectors is None or vectors.shape[0] != len(support):  # a precomputed kernel keeps none
        return X.shape[0] == X.shape[1]
    if len(support) == 0 or vectors.shape[1] != X.shape[1]:
        return False
    rows = X[support]
    if sparse.issparse(rows) or sparse.issparse(vectors):
        rows, vectors = sparse.csr_array(rows), sparse.csr_array(vectors)
        return (rows.astype(vectors.dtype) != vectors).nnz == 0
    return bool(np.array_equal(np.asarray(rows).astype(vectors.dtype), vectors))


def _has_multipliers_of(estimator, X):
    """Return True if the rows have the coefficients and margins that their multipliers ask for.

    The duality gap has parts ``|w - v|²/2`` for the sum v of the rows times their multipliers, and
    ``|beta_i| (m_i - 1)`` for those of a margin m_i above 1.
    """
    w, beta = np.ravel(estimator.coef_).astype(np.float64), _beta(estimator)
    if X.shape != (len(beta), len(w)):
        return False
    sizes, gap = np.abs(beta), estimator.duality_gap_
    margins = np.sign(beta) * (np.ravel(X @ w) + estimator.intercept_[0])
    left = np.linalg.norm(np.ravel(X.T @ beta) - w) - np.sqrt(2 * gap)
    above = sizes @ np.maximum(margins - 1, 0) - gap
    return bool(left <= _CLOSE * np.linalg.norm(w) and above <= _CLOSE * sizes.sum())


def _attribute(estimator, name, otherwise=None):
    try:
        return getattr(estimator, name, otherwise)
    except (AttributeError, ValueError):  # scikit-learn's coef_ exists for linear kernels only
        return otherwise


def width_bits(estimator: Any, counted: bool) -> int:
    """Return the description length, in bits, of a kernel's width chosen from the data."""
    return _gamma_bits(estimator, counted) if hasattr(estimator, "kernel") else 0


def _gamma_bits(estimator, counted):
    if not _kernel(estimator).uses_gamma:
        return 0
    tried = getattr(estimator, "gammas", None) if counted else None
    if tried is None:
        tried = [getattr(estimator, "gamma", None)]
    fixed = all(isinstance(gamma, (int, float, np.number)) or gamma == "auto" for gamma in tried)
    return 0 if fixed else _BITS


def _squares(X):
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    X = np.asarray(X, dtype=np.float64)
    return np.einsum("ij,ij->i", X, X)


def _kernel(estimator):
    """Return the kernel, with the width of the fit."""
    shown = {name: _attribute(estimator, name) for name in ("degree", "coef0")}
    gamma = _attribute(estimator, "gamma_", _attribute(estimator, "_gamma"))
    return as_kernel(estimator.kernel, gamma=gamma, **shown)


def _diagonal(estimator, X):
    """Return k(x, x) of every row, or the reason why it is unknown."""
    kernel = _kernel(estimator)
    if isinstance(kernel, FunctionKernel):
        return "k(x, x) of a kernel that is a function is not known"
    square = kernel.precomputed and X.shape[0] == X.shape[1]
    if not (kernel.positive_semidefinite or square):
        return f"{kernel.name!r} is no kernel with a known k(x, x) and a feature space"
    return kernel.diagonal(X)


def _squared_norm(estimator, values, intercept, eps, fitted):
    """Return |w|² = sum_i beta_i <w, phi(v_i)>, rounded up, without a matrix of kernel values."""
    if fitted:
        at_vectors = values[np.asarray(estimator.support_)]
    elif _kernel(estimator).precomputed:
        return None
    else:
        at_vectors = np.asarray(estimator.decision_function(estimator.support_vectors_), np.float64)
    beta = _beta(estimator)
    rounding = _ROUNDING * eps * (np.abs(beta) @ (np.abs(at_vectors) + abs(intercept)))
    return float(beta @ (at_vectors - intercept) + rounding)


def _beta(estimator):
    beta = estimator.dual_coef_
    return np.ravel(beta.toarray() if sparse.issparse(beta) else beta).astype(np.float64)
