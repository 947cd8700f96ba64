"""Exact nearest neighbours of samples."""

from typing import Any

from mlcore.checks import as_bool, as_integer, as_samples
from mlcore.numerics import neighbors
from mlcore.numerics.neighbors import Neighbors
from mlcore.runtime.memory import require_memory


def nearest_neighbors(
    X: Any, n_neighbors: int = 5, *, queries: Any = None, include_self: bool = False
) -> Neighbors:
    """Return the nearest rows of `X` by Euclidean distance, exactly.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
        Rows to choose neighbours from.
    n_neighbors : int, default=5
        Neighbours of each row, at most as many as there are to choose from.
    queries : array-like or sparse of shape (n_queries, n_features), optional
        Rows whose neighbours are sought, those of `X` by default.
    include_self : bool, default=False
        Let a row of `X` be its own neighbour, as scikit-learn's ``kneighbors(X)`` does. Copies with
        lower indices come first. Only without `queries`.

    Returns
    -------
    neighbors : NamedTuple
        `indices`, int64 (n_queries, n_neighbors), rows of `X` from the nearest to the farthest, of
        equal distances the lowest first; and `distances`, float64 of the same shape.

    Raises
    ------
    TypeError, ValueError
        For invalid input; the message names the argument.
    MemoryError
        If the result does not fit into free memory.

    Notes
    -----
    A distance is the root of the sum of squared differences in float64, from the first feature to
    the last: the result is that of a loop over all pairs, to the bit, on any number of threads.

    Up to 14 features are searched on a k-d tree [1]_, in about O(n log n) time where neighbours are
    few. Rows with more are compared in single precision, by products of blocks or along leading
    directions, groups of rows being left out by balls around them [2]_; pairs that rounding leaves
    open are compared in float64. That takes O(n² d) time at most. Sparse rows are multiplied in
    blocks. Memory is O(n (d + k)).

    References
    ----------
    .. [1] J. H. Friedman, J. L. Bentley, R. A. Finkel, *An algorithm for finding best matches in
       logarithmic expected time*, ACM Transactions on Mathematical Software 3, 1977.
    .. [2] K. Fukunaga, P. M. Narendra, *A branch and bound algorithm for computing k-nearest
       neighbors*, IEEE Transactions on Computers C-24, 1975.

    Examples
    --------
    >>> from mlcore.cluster import nearest_neighbors
    >>> indices, distances = nearest_neighbors([[0.0], [1.0], [5.0]], 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0, 1]), array([1., 1., 4.]))
    """
    owner = "nearest_neighbors"
    X = as_samples(X, owner=owner, accept_sparse=True)
    include_self = as_bool(include_self, "include_self", owner=owner)
    n = X.shape[0]
    n_queries = n
    if queries is not None:
        queries = as_samples(queries, owner=owner, accept_sparse=True, name="queries")
        n_queries = queries.shape[0]
        if queries.shape[1] != X.shape[1]:
            raise ValueError(
                f"{owner}: queries has {queries.shape[1]} features, but X has {X.shape[1]}; they "
                "must be the same."
            )
        if include_self:
            raise ValueError(f"{owner}: include_self=True was given with queries; leave one out.")
    n_neighbors = as_integer(n_neighbors, "n_neighbors", owner=owner, at_least=1)
    most = n if queries is not None or include_self else n - 1
    if n_neighbors > most:
        raise ValueError(
            f"{owner}: n_neighbors={n_neighbors} neighbours were asked for, but X has {n} samples, "
            f"of which {most} are neighbours; n_neighbors must be at most {most}."
        )
    require_memory(
        n_queries, n_neighbors, 16, what="the result", instead="pass fewer queries",
    )  # fmt: skip
    return neighbors.nearest_neighbors(X, n_neighbors, queries, include_self=include_self)
