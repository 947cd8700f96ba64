"""Standard errors of mixtures: the information of the observed likelihood, the delta method."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.estimator import tables
from mlcore.estimator.model import warn
from mlcore.numerics.scores.log_softmax import log_softmax
from mlcore.runtime.memory import require_memory

Method = Literal["observed", "score", "sandwich"]
BOUNDARY = 1e-8  # distance of a probability from 0 or 1 at which it is fixed there
_NULL = 1e-10  # eigenvalues of an information of unit diagonal that are rounding
_FLAT = 1e-3  # of the observed one, off its maximum, where the scores say that nothing is known
_LOADING = 1e-6  # of a parameter on what is not identified, which rounding does not explain
_NAMED = 0.1  # least part of the largest coefficient of a direction, to be named
_ROWS, _LISTED = 20, 3  # of what is printed
_VALUES = 1 << 20  # of a block of scores


class StandardErrors(NamedTuple):
    """Standard errors of a mixture, as its `standard_errors` returns them.

    Parameters
    ----------
    weights : (k,) float64
        Errors of `weights_`.
    means : (k, d) float64, or None
        Errors of `means_`, if the mixture has these; of a `MixedMixture` a dict by kind.
    probabilities : list of (k, n_categories) float64, or None
        Errors of `probabilities_`, if the mixture has these.
    coordinates : tuple of str
        Names of the p free coordinates: logits of probabilities against the last free one, means,
        and for Gaussians the factors U of precisions U U', with the logarithms of the diagonal.
    information, covariance : (p, p) float64
        The information that `method` inverts (of "sandwich" the observed one), and the covariance
        matrix of the coordinates, NaN if part of them is not identified.
    boundary : tuple of str
        Probabilities within 1e-8 of 0 or 1, which are fixed there and have an error of 0.
    not_identified : tuple of tuples of str
        The coordinates that each direction without information changes. What depends on one has an
        infinite error.
    method : str
        "observed", "score" or "sandwich".

    Examples
    --------
    >>> from mlcore.mixture import CategoricalMixture
    >>> X = [["a"]] * 64 + [["b"]] * 36
    >>> print(CategoricalMixture(1, alpha=0.0).fit(X).standard_errors(X))
                    parameter  error
                  weights_[0]      0
      probabilities_[0][0, 0]  0.048
      probabilities_[0][0, 1]  0.048
    """

    weights: np.ndarray
    means: Any
    probabilities: list[np.ndarray] | None
    coordinates: tuple[str, ...]
    information: np.ndarray
    covariance: np.ndarray
    boundary: tuple[str, ...]
    not_identified: tuple[tuple[str, ...], ...]
    method: str

    def _columns(self) -> dict[str, Any]:
        names, errors = [], []
        for name in ("weights", "means", "probabilities"):
            value = getattr(self, name)
            parts = {"": value}
            if isinstance(value, dict):
                parts = {f"{kind}: ": part for kind, part in value.items()}
            elif isinstance(value, list):
                parts = dict(enumerate(value))
            for key, part in parts.items():
                own = f"{name}_[{key}]" if isinstance(value, list) else f"{key}{name}_"
                for place, error in np.ndenumerate(np.zeros(0) if part is None else part):
                    names.append(f"{own}[{', '.join(map(str, place))}]")
                    errors.append(float(error))
        return {"parameter": names, "error": errors}

    def __str__(self) -> str:
        lines = tables.text(self._columns(), most=_ROWS)
        for name, values in (("boundary", self.boundary), ("not identified", self.not_identified)):
            if values:
                more = ", ..." if len(values) > _LISTED else ""
                lines += f"\n{name}: {', '.join(map(str, values[:_LISTED]))}{more}"
        return lines

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return tables.table(self._columns())

    def to_frame(self) -> Any:
        """Return the errors as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            Indexed by "parameter".

        Raises
        ------
        ImportError
            Without pandas.
        """
        return tables.frame(self._columns(), index="parameter")


class Coordinates(ABC):
    """Free coordinates of the components of a fitted mixture, and the derivatives in them.

    `names` and `boundary` have a list of strings for each component.
    """

    names: list[list[str]]
    boundary: list[str]

    @abstractmethod
    def block(self, X: np.ndarray) -> np.ndarray:
        """Return what the other methods take of some rows, float64 (n, ...)."""

    @abstractmethod
    def log_densities(self, block: np.ndarray) -> np.ndarray:
        """Return the log-densities of the rows in all components, (n, k), up to a constant."""

    @abstractmethod
    def scores(self, block: np.ndarray, j: int) -> np.ndarray:
        """Return the derivatives of the log-densities in component j, (n, m)."""

    @abstractmethod
    def information(self, block: np.ndarray, weight: np.ndarray, j: int) -> np.ndarray:
        """Return the weighted sum of minus the second derivatives, (m, m)."""

    @abstractmethod
    def gradient(self, j: int) -> np.ndarray:
        """Return the derivatives of the parameters of component j, (n_parameters, m)."""

    @abstractmethod
    def attributes(self, errors: np.ndarray) -> dict[str, Any]:
        """Return errors (n_parameters, k) by the names of `StandardErrors`."""


class _Weights:
    """Logits of the component weights against the last free one."""

    def __init__(self, weights: np.ndarray) -> None:
        free = (weights > BOUNDARY) & (weights < 1 - BOUNDARY)
        free &= free.sum() > 1
        self.boundary = [] if len(weights) == 1 else np.flatnonzero(~free).tolist()
        self.own = np.flatnonzero(free)[:-1]
        q = np.where(free, weights, 0) / (weights[free].sum() if free.any() else 1.0)
        self.q = q[self.own]
        # Of component j: the derivative of log w_j, 0 where w_j is fixed.
        self.scores = (np.eye(len(weights))[:, self.own] - self.q) * free[:, None]
        self.gradient = weights[:, None] * self.scores
        self._free = free

    def information(self, mass):
        q = self.q
        return mass[self._free].sum() * (np.diag(q) - np.outer(q, q))


def standard_errors(
    coordinates: Coordinates,
    weights: np.ndarray,
    X: Any,
    sample_weight: np.ndarray | None,
    method: Method,
    owner: str,
) -> StandardErrors:
    """Return the standard errors of a mixture whose components have these coordinates."""
    own = _Weights(weights)
    names = [f"weights_[{j}]" for j in own.own] + [n for part in coordinates.names for n in part]
    observed, empirical = _informations(coordinates, own, weights, X, sample_weight, owner)
    information = empirical if method == "score" else observed
    # What is not identified, in units of the scores.
    unit = np.sqrt(np.where(np.diag(empirical) > 0, np.diag(empirical), 1.0))
    null, rest = _split(information / np.outer(unit, unit), empirical / np.outer(unit, unit))
    middle = np.linalg.inv(rest.T @ (information / np.outer(unit, unit)) @ rest)
    if method == "sandwich":
        middle = middle @ (rest.T @ (empirical / np.outer(unit, unit)) @ rest) @ middle
    root = (rest / unit[:, None]).T
    if len(null.T) and method != "score" and _no_maximum(information, empirical, null, unit):
        warn(
            "ConvergenceWarning",
            f"{owner}: the information has negative eigenvalues, so that the parameters are no "
            "maximum of the likelihood of these rows: fit with a smaller tol, and a smaller "
            "prior if it has one.",
        )

    def errors(gradient: np.ndarray, start: int) -> np.ndarray:
        part = slice(start, start + gradient.shape[1])
        loading = np.abs(gradient @ (null / unit[:, None])[part]).max(axis=1, initial=0)
        size = np.linalg.norm(gradient / unit[part], axis=1)
        moved = gradient @ root[:, part].T
        variance = np.einsum("ij,jk,ik->i", moved, middle, moved)
        return np.where(loading > _LOADING * size, np.inf, np.sqrt(np.maximum(variance, 0)))

    # The delta method.
    start, columns = len(own.own), []
    for j, part in enumerate(coordinates.names):
        columns.append(errors(coordinates.gradient(j), start))
        start += len(part)
    attributes = {"means": None, "probabilities": None}
    attributes |= coordinates.attributes(np.column_stack(columns))
    covariance = root.T @ middle @ root if not len(null.T) else np.full_like(information, math.nan)
    return StandardErrors(
        weights=errors(own.gradient, 0),
        coordinates=tuple(names),
        information=information,
        covariance=covariance,
        boundary=(*(f"weights_[{j}]" for j in own.boundary), *coordinates.boundary),
        not_identified=tuple(_named(direction, names) for direction in null.T),
        method=method,
        **attributes,
    )


def _informations(coordinates, own, weights, X, sample_weight, owner):
    """Return the observed information, by Louis' formula, and the sum of squared scores.

    T. Louis, *Finding the observed information matrix when using the EM algorithm*, JRSS B 44,
    1982: of each row the expected information of the complete data less the variance of their
    score, given the row.
    """
    k, n_own = len(weights), len(own.own)
    edges = np.cumsum([n_own, *map(len, coordinates.names)])
    p = int(edges[-1])
    require_memory(p, 4 * p, 8, what="the information matrix", instead="fit fewer parameters")
    observed, empirical = np.zeros((p, p)), np.zeros((p, p))
    log_weights = np.log(np.where(weights > 0, weights, 1.0))
    for rows in _blocks(X.shape[0], p + k):
        part = X[rows].toarray() if sp.issparse(X) else X[rows]
        block = coordinates.block(part)
        w = np.ones(part.shape[0]) if sample_weight is None else sample_weight[rows]
        logs = np.where(weights > 0, coordinates.log_densities(block) + log_weights, -np.inf)
        impossible = np.flatnonzero(logs.max(axis=1) == -np.inf)
        if len(impossible):
            raise ValueError(
                f"{owner}: row {rows.start + impossible[0]} of X is impossible under every "
                "component, and the likelihood has no derivatives there."
            )
        r = np.exp(log_softmax(logs))
        mass = w @ r
        scores = np.empty((len(w), p))
        scores[:, :n_own] = r @ own.scores
        observed[:n_own, :n_own] += own.information(mass)
        observed[:n_own, :n_own] -= (own.scores.T * mass) @ own.scores
        for j in range(k):
            at = slice(edges[j], edges[j + 1])
            complete, share = coordinates.scores(block, j), w * r[:, j]
            scores[:, at] = r[:, j, None] * complete
            observed[at, at] += coordinates.information(block, share, j)
            observed[at, at] -= (complete.T * share) @ complete
            cross = np.outer(own.scores[j], share @ complete)
            observed[:n_own, at] -= cross
            observed[at, :n_own] -= cross.T
        squares = (scores.T * w) @ scores
        observed += squares
        empirical += squares
    return observed, empirical


def _blocks(n_rows: int, width: int) -> Iterator[slice]:
    step = max(1, _VALUES // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _split(information, empirical):
    """Return bases, in columns, of the directions without information and of all others."""
    values, vectors = np.linalg.eigh(empirical)
    null = vectors[:, values <= _NULL * max(values.max(initial=0), 1.0)]
    if information is not empirical and null.shape[1]:
        # Scores of few rows leave directions out that the second derivatives tell of.
        flat, turned = np.linalg.eigh(null.T @ information @ null)
        null = null @ turned[:, np.abs(flat) <= _FLAT]
    rest = _complement(null)
    values, turned = np.linalg.eigh(rest.T @ information @ rest)
    low = values <= _NULL * max(values.max(initial=0), 1.0)
    return np.column_stack([null, rest @ turned[:, low]]), rest @ turned[:, ~low]


def _complement(basis):
    """Return an orthonormal basis of all that is orthogonal to the columns of another."""
    if not basis.shape[1]:
        return np.eye(len(basis))
    return np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]


def _no_maximum(information, empirical, null, unit):
    """Return True if a direction that the scores know has negative information."""
    moved = null / unit[:, None]
    curvature = np.einsum("ij,ik,kj->j", moved, information, moved)
    known = np.einsum("ij,ik,kj->j", moved, empirical, moved)
    return bool(((curvature < 0) & (known > _LOADING)).any())


def _named(direction, names):
    """Return the names of the coordinates that a direction changes most."""
    size = np.abs(direction)
    return tuple(names[i] for i in np.flatnonzero(size > _NAMED * size.max()))
