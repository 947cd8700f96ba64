"""Share of several clusterings that join two samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_samples
from mlcore.checks.parameters import refuse
from mlcore.cluster.partition import as_partition
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_OWNER = "consensus_matrix"
_BLOCK = 2**22  # entries at a time


def consensus_matrix(runs: Sequence[Any], X: Any, *, sparse: bool = False) -> Any:
    r"""Return the share of clusterings that join two samples, among those that hold both.

    Parameters
    ----------
    runs : sequence
        Each is a vector of a label for each sample; a pair (rows, labels) of some of the samples,
        as clusterings of subsamples have; or a fitted model, whose `predict` labels `X`. The label
        -1 is noise, which is joined to nothing but itself.
    X : array-like of shape (n_samples, n_features)
        The samples.
    sparse : bool, default=False
        Return a csr_array of the shares that are not 0, for many small clusters.

    Returns
    -------
    consensus : float64 ndarray or csr_array of shape (n_samples, n_samples)
        Symmetric; 1 on the diagonal of samples of some run, and 0 for pairs that no run holds.

    Raises
    ------
    ValueError, TypeError
        Without runs; for labels of another length, and rows that are twice in a run or no samples.
    MemoryError
        If the dense matrix does not fit into free memory.

    Notes
    -----
    O(sum of squared cluster sizes) time, and O(n²) where the matrix is dense.

    References
    ----------
    .. [1] S. Monti, P. Tamayo, J. Mesirov, T. Golub, *Consensus clustering: a resampling-based
       method for class discovery and visualization of gene expression microarray data*, Machine
       Learning 52, 2003, equation 2.

    Examples
    --------
    >>> from mlcore.cluster import consensus_matrix
    >>> X = [[0.0], [1.0], [5.0]]
    >>> consensus_matrix([[0, 0, 1], [0, 1, 1], ([0, 1], ["a", "a"])], X).round(3)
    array([[1.   , 0.667, 0.   ],
           [0.667, 1.   , 0.5  ],
           [0.   , 0.5  , 1.   ]])
    """
    sparse = as_bool(sparse, "sparse", owner=_OWNER)
    samples = as_samples(X, owner=_OWNER, accept_sparse=True)
    n = samples.shape[0]
    try:
        runs = [] if isinstance(runs, (str, bytes)) else [*runs]
    except TypeError:
        raise TypeError(f"{_OWNER}: runs={runs!r} must be a sequence of clusterings.") from None
    if not runs:
        raise ValueError(f"{_OWNER}: runs is empty, but at least one clustering is needed.")
    members, held = [], np.zeros((n, len(runs)), dtype=np.float32, order="F")
    for number, run in enumerate(runs):
        rows, codes = _labelled(run, X, n, f"runs[{number}]")
        shape = n, int(codes.max()) + 1
        members.append(sp.csr_array((np.ones(len(rows)), (rows, codes)), shape=shape))
        held[rows, number] = 1
    joined = sp.hstack(members, format="csr")
    if sparse:
        together = (joined @ joined.T).tocsr()
        together.sort_indices()
        together.data /= _held_by_both(held, together)
        return together
    require_memory(n, n, 8, what="The matrix", instead="pass sparse=True")
    consensus = np.empty((n, n))
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        with single_threaded_blas():
            both = np.maximum(held[rows] @ held.T, 1)
        np.divide((joined[rows] @ joined.T).toarray(), both, out=consensus[rows])
    return consensus


def _held_by_both(held, together):
    """Return, for each stored pair, how many runs hold both samples."""
    rows = np.repeat(np.arange(len(held)), np.diff(together.indptr))
    counts = np.zeros(together.nnz)
    for inside in held.T:
        counts += inside[rows] * inside[together.indices]
    return counts


def _labelled(run, X, n, name):
    """Return the samples that a run holds, and the cluster of each; those of noise are alone."""
    rows = np.arange(n)
    if hasattr(run, "predict"):
        run = run.predict(X)
    elif isinstance(run, tuple) and len(run) == 2 and np.ndim(run[0]) == 1:
        rows = np.asarray(run[0])
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            refuse(f"{name}[0]", run[0], "at least one row, by its number")
        if rows.min() < 0 or rows.max() >= n or len(np.unique(rows)) < len(rows):
            refuse(f"{name}[0]", run[0], f"different rows from 0 to {n - 1}")
        run = run[1]
    names, codes = as_partition(run, len(rows), owner=_OWNER, name=name)
    if names.dtype.kind in "if" and names[0] == -1:
        noise = np.flatnonzero(codes == 0)
        codes[noise] = len(names) + np.arange(len(noise))
    return rows, codes
