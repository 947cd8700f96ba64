"""Search for training examples among those given as fresh.

Some models keep training examples, as support vectors or neighbours. The rows are compared with
these as they reach the models inside a pipeline, a search or an ensemble.
"""

from typing import Any

import numpy as np
from scipy import sparse

from mlcore.bounds.arguments import refuse
from mlcore.bounds.certificates.classifiers import Classifier, as_table, parts_of

_KEPT = ("support_vectors_", "X_fit_", "X_train_", "_fit_X")
_MANY = 8  # so many equal rows are no coincidence, even where rows repeat
_FEW = 3  # so many are none where no two rows are equal
_CLOSE = 1e-6  # relative; fit_transform and transform may round differently


def unsure_of(classifier: Classifier, X: Any, X_train: Any, role: str) -> str | None:
    """Return a sentence on why the examples may not be fresh, None if there is no doubt.

    Raise ValueError if they are training examples.
    """
    # Compare with the training examples, if they are given.
    table = None if X is None else as_table(X)
    if table is not None and X_train is not None:
        other = as_table(X_train, "X_train")
        same = X is X_train or _shares_memory(table, other)
        keys, others = _keys(table, other)
        repeated = np.isin(keys, others)
        distinct = len(repeated) >= _FEW and _distinct(table, other)
        if same or np.array_equal(np.sort(keys), np.sort(others)) or (repeated.all() and distinct):
            refuse("X", X, f'no training examples for role="{role}", but it is X_train')
        return _overlap_warning(repeated, "X_train")
    # Else compare with the examples that parts of the model keep.
    most, shown = np.zeros(0, dtype=bool), False
    if table is not None and classifier.model is not None:
        for part, seen in parts_of(classifier.model, X):
            rows, seen = _kept_rows(part), as_table(seen)
            if rows is None or seen.ndim != 2 or seen.shape[1] != rows.shape[1]:
                continue
            shown = True
            keys, kept = _keys(seen, rows)
            repeated = np.isin(keys, kept)
            many = rows.shape[0] >= _MANY
            distinct = _distinct(seen)
            few = rows.shape[0] >= _FEW and distinct
            all_kept = few and np.isin(kept, keys).all()
            all_seen = len(repeated) >= _FEW and repeated.all() and distinct and _distinct(rows)
            # Refuse a set that is most likely the training set.
            if (_in_place(part, rows, seen) and (many or few)) or all_kept or all_seen:
                refuse("X", X, f'no training examples for role="{role}", but the fit was to these')
            most = max(most, repeated, key=np.count_nonzero)
    # Without any examples to compare with, nothing is known.
    if shown:
        return _overlap_warning(most, "the training examples that the model keeps")
    several = "" if classifier.predict is not None else ", or the predictions are cross-validated"
    return (
        f"Unknown: whether these examples are fresh. Nothing shows which ones the fit behind "
        f"{classifier.name} was to; if it was to these{several}, nothing below holds."
    )


def _overlap_warning(repeated, where):
    n = int(np.count_nonzero(repeated))
    if n == 0:
        return None
    return (
        f"Doubtful: whether these examples are fresh. {n} of {len(repeated)} are equal to some of "
        f"{where}; that is right only where examples repeat themselves."
    )


def _kept_rows(part):
    """Return the training examples that a model keeps, all or some; None if it keeps none."""
    for name in _KEPT:
        rows = getattr(part, name, None)
        if (sparse.issparse(rows) or isinstance(rows, np.ndarray)) and rows.ndim == 2:
            n_support = len(getattr(part, "support_", ())) if name == "support_vectors_" else None
            if rows.shape[0] and n_support in (None, rows.shape[0]):
                return rows
    return None


def _in_place(part, rows, seen):
    """Return True if `rows` are in `seen` at the indices of the fit, but for rounding."""
    places = getattr(part, "support_", None)
    places = np.arange(rows.shape[0]) if places is None else np.asarray(places)
    shape = getattr(part, "shape_fit_", None)
    whole = shape[0] if shape else rows.shape[0] if len(places) == rows.shape[0] else None
    if places.max() >= seen.shape[0] or (shape and whole != seen.shape[0]):
        return False
    there = seen[places]
    if sparse.issparse(there) or sparse.issparse(rows):
        there, rows = sparse.csr_array(there), sparse.csr_array(rows)
    elif there.dtype.kind not in "biuf" or rows.dtype.kind not in "biuf":
        return False
    return abs(there - rows).max() <= _CLOSE * abs(rows).max()


def _keys(table, other):
    """Return keys of the rows of both, equal for rows with the same bits in `other.dtype`."""
    mixed = sparse.issparse(table) or sparse.issparse(other)
    return _row_keys(table, other.dtype, mixed), _row_keys(other, other.dtype, mixed)


def _distinct(*tables):
    return all(
        len(np.unique(_row_keys(table, table.dtype, sparse.issparse(table)))) == table.shape[0]
        for table in tables
    )


def _row_keys(table, dtype, as_sparse):
    """Return a hash of each row, int64."""
    if as_sparse:
        rows = sparse.csr_array(table).astype(dtype).astype(np.float64)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends = rows.indptr
        columns = rows.indices.astype(np.int64)
        pairs = zip(ends[:-1], ends[1:], strict=True)
        keys = [hash((columns[a:b].tobytes(), rows.data[a:b].tobytes())) for a, b in pairs]
    elif table.dtype.kind in "biuf" and dtype.kind in "biuf":
        flat = table.reshape(len(table), -1)
        keys = [hash((row.astype(dtype).astype(np.float64) + 0.0).tobytes()) for row in flat]
    else:
        flat = table.reshape(len(table), -1)
        keys = [hash(tuple(map(str, row.tolist()))) for row in flat]
    return np.array(keys, dtype=np.int64)


def _shares_memory(table, other):
    if sparse.issparse(table) or sparse.issparse(other):
        return False
    try:
        return bool(np.shares_memory(table, other, max_work=10_000))
    except np.exceptions.TooHardError:
        return False
