"""Base of the models that cluster by affinities: their graph and its normalisation."""

from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import connected_components

from mlcore.checks import as_choice, as_integer, as_random_state, as_real
from mlcore.checks.errors import warn
from mlcore.cluster.doubly_stochastic.symmetric_matrix import as_symmetric
from mlcore.cluster.spectral.affinity import METHODS, normalize_affinity, shared_neighbors
from mlcore.estimator.model import Clusterer, Model
from mlcore.kernels.gram import gram_matrix
from mlcore.kernels.vector_kernels import GammaRule, resolve_gamma
from mlcore.numerics.eigen import Scaled, times

Affinity = Literal["rbf", "nearest_neighbors", "precomputed"]
AFFINITIES = get_args(Affinity)


class Graph(NamedTuple):
    """A normalised affinity matrix S with its known eigenvectors and components.

    ``sqrt(mass)``, float64 (n,), is an eigenvector of S for its largest eigenvalue 1. `matrix` is
    S, for a ratio cut ``I + (S - I) / unit``: `unit` bounds the range of the eigenvalues of K - D.
    """

    matrix: Scaled
    mass: np.ndarray
    component: np.ndarray
    unit: float = 1.0

    @property
    def n_components(self) -> int:
        return int(self.component.max()) + 1

    def of_S(self, values: np.ndarray | float, count: int = 1) -> np.ndarray | float:
        """Return eigenvalues of S from those of `matrix`, or sums of `count` of them."""
        return values if self.unit == 1.0 else count + self.unit * (values - count)

    def component_groups(self, k: int) -> np.ndarray:
        """Return labels, int32, of k groups of whole components, of which there are at least k.

        By descending mass, each component goes to the lightest group so far.
        """
        total = np.bincount(self.component, self.mass)
        group, weight = np.empty(len(total), dtype=np.int32), np.zeros(k)
        for one in np.argsort(-total, kind="stable"):
            group[one] = weight.argmin()
            weight[group[one]] += total[one]
        return group[self.component]

    def indicators(self, labels: np.ndarray, k: int) -> np.ndarray:
        """Return orthonormal columns (n, k): ``sqrt(mass)`` on each group; 0 if it is empty."""
        G = np.zeros((len(labels), k))
        G[np.arange(len(labels)), labels] = np.sqrt(self.mass)
        mass = np.bincount(labels, self.mass, minlength=k)
        return G / np.sqrt(np.where(mass > 0, mass, 1.0))


class Settings(NamedTuple):
    """Checked parameters of a fit; those of the affinities are checked too."""

    n_clusters: int
    n_init: int
    max_iter: int
    tol: float
    rng: np.random.Generator


class AffinityClusterer(Clusterer, Model):
    """Base of clusterers by affinities: parameters, graph and its normalisation."""

    objective_: float
    objective_trace_: np.ndarray
    n_connected_components_: int
    n_iter_: int
    converged_: bool
    _stored = {
        "objective_": "float",
        "objective_trace_": "float64 t?",
        "n_connected_components_": "count",
        "n_iter_": "count",
        "converged_": "bool",
    }

    _no_blocks = "its affinity matrix is of all pairs of rows"

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    _tags = {"input_tags.sparse": True}
    _affinities: ClassVar[tuple[str, ...]] = AFFINITIES
    _takes_functions: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.affinity, str) and self.affinity.startswith("precomputed")
        tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
        return tags

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to `X` and return the labels of its rows; `y` is ignored.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Or affinities, with ``affinity="precomputed"``.
        y : ignored

        Returns
        -------
        labels : (n_samples,)
            `labels_` of the fit.
        """
        return self.fit(X).labels_

    # ---- for subclasses

    def _settings(self):
        owner = type(self).__name__
        k = as_integer(self.n_clusters, "n_clusters", owner=owner, at_least=1)
        if not (callable(self.affinity) and self._takes_functions):
            as_choice(self.affinity, "affinity", self._affinities, owner=owner)
        if not isinstance(self.gamma, str):
            as_real(self.gamma, "gamma", owner=owner, at_least=0.0)
        else:
            as_choice(self.gamma, "gamma", get_args(GammaRule), owner=owner)
        as_integer(self.n_neighbors, "n_neighbors", owner=owner, at_least=1)
        as_choice(self.normalization, "normalization", METHODS, owner=owner)
        return Settings(
            k,
            as_integer(self.n_init, "n_init", owner=owner, at_least=1),
            as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
            as_real(self.tol, "tol", owner=owner, above=0.0),
            as_random_state(self.random_state, owner=owner),
        )

    def _affinity(self, X):
        """Return the affinities: a new matrix, or one checked by `as_symmetric`."""
        if self._precomputed:
            return as_symmetric(X, type(self).__name__)
        if self.affinity == "nearest_neighbors":
            return shared_neighbors(X, self.n_neighbors)
        return gram_matrix(X, kernel="rbf", gamma=resolve_gamma(self.gamma, X))

    def _graph(self, affinity, drawn=None, explicit=False):
        """Return the normalised graph, and initial vectors for the search of its eigenvectors.

        For a normalized cut they are products with `drawn` (n, m). `explicit` forms the entries.
        """
        cut = self.normalization == "normalized_cut"
        scale, shift, unit = None, None, 1.0
        if explicit or self.normalization in ("doubly_stochastic", "frobenius"):
            matrix = as_symmetric(affinity, type(self).__name__, overwrite=True)
            degrees = matrix.sums
            if self.normalization != "ratio_cut":
                self._refuse_isolated(degrees)
            K = normalize_affinity(matrix, self.normalization)
        else:
            K = getattr(affinity, "K", affinity)
            ones = np.ones((K.shape[0], 1))
            products = times(K, np.hstack([ones, drawn]) if cut and drawn is not None else ones)
            degrees = products[:, 0]
            if cut:
                self._refuse_isolated(degrees)
                scale = 1.0 / np.sqrt(degrees)
            else:
                unit = _unit_of(degrees, K.diagonal())
                scale = np.full(len(degrees), 1.0 / np.sqrt(unit))
                shift = 1.0 - degrees * scale * scale
            if products.shape[1] > 1:
                drawn = products[:, 1:] * scale[:, None]
        mass = degrees if cut else np.ones(len(degrees))
        graph = Graph(Scaled(K, scale, shift), mass, components(K), unit)
        if graph.n_components > 1:
            self._warn_of_components(graph.n_components)
        return graph, drawn

    def _refuse_isolated(self, degrees):
        isolated = np.flatnonzero(~(degrees > 0))
        if len(isolated):
            raise ValueError(
                f"{type(self).__name__}: {len(isolated)} samples, of which {isolated[0]} is the "
                "first, are isolated: they have no affinity, not even to themselves. Leave them "
                "out, or give them a positive diagonal."
            )

    def _warn_of_components(self, count):
        then = (
            f"each becomes a cluster, and is divided where n_clusters={self.n_clusters} asks for it"
            if count <= self.n_clusters
            else f"they are gathered, whole, into n_clusters={self.n_clusters} clusters"
        )
        warn(
            "UserWarning",
            f"The graph of affinities has {count} connected components: {then}. It is not fully "
            "connected.",
        )


def _unit_of(degrees, diagonal) -> float:
    """Return a bound on the range of the eigenvalues of K - D: twice the largest degree.

    Edges from samples to themselves are left out, where others matter.
    """
    others, whole = float((degrees - diagonal).max()), float(degrees.max())
    return 2.0 * (others if others > 1e-8 * whole else whole) or 1.0


def components(K: Any) -> np.ndarray:
    """Return the connected component of each sample, int (n,), in the graph of K's non-zeros.

    They are numbered in the order of their first samples. K is symmetric, dense or CSR.
    """
    n = K.shape[0]
    if sp.issparse(K):
        return connected_components(K if K.data.all() else K != 0, directed=False)[1]
    component = np.empty(n, dtype=np.int64)
    left, count = np.arange(n), 0
    while len(left):
        reached, left = [left[0]], left[1:]
        component[reached] = count
        while reached and len(left):
            joined = K[reached.pop(), left] != 0
            neighbors, left = left[joined], left[~joined]
            component[neighbors] = count
            reached.extend(neighbors.tolist())
        count += 1
    return component
