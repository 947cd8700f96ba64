"""Missing values: NaN that the validation of samples lets pass."""

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_choice, as_samples
from mlcore.checks.arrays import real_array


class TakesMissing:
    """Mixin of models that with ``missing="ignore"`` take NaN for missing values."""

    def _check_options(self):
        progress = super()._check_options()
        as_choice(self.missing, "missing", ("error", "ignore"), owner=type(self).__name__)
        return progress

    def _as_samples(self, X, **how):
        if self.missing != "ignore":
            return super()._as_samples(X, **how)
        hidden, missing = _without_missing(X)
        checked = super()._as_samples(hidden, **how)
        if missing is None:
            return checked
        if sp.issparse(checked):  # the marks have the same structure, in the same order
            marks = as_samples(missing, accept_sparse=True).data > 0
            data = np.where(marks, np.nan, checked.data)
            return sp.csr_array((data, checked.indices, checked.indptr), shape=checked.shape)
        checked[missing] = np.nan  # a copy, not X itself
        return checked


def _without_missing(X):
    """Return X with 0 for NaN, and marks of the NaN; or X itself and None."""
    values = real_array(X.data, "X") if sp.issparse(X) else real_array(X, "X")
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if not missing.any():
        return X, None
    filled = np.where(missing, values.dtype.type(0), values)
    if not sp.issparse(X):
        return filled, missing
    hidden, marks = X.copy(), X.copy()
    hidden.data, marks.data = filled, missing.astype(np.float64)
    return hidden, marks
