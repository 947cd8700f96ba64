"""Panels of rows, as vector loops read them: side by side, feature by feature."""

import numpy as np

from mlcore.runtime.scratch import scratch_array

_BYTES = 256  # of a feature in a panel: PANEL_BYTES of _ext/shared/panel.h


def as_panels(rows: np.ndarray) -> np.ndarray:
    """Return rows in panels, (n_panels, n_features, width), padded with zeros."""
    width = _BYTES // rows.dtype.itemsize
    n, d = rows.shape
    panels = scratch_array((-(-n // width), d, width), rows.dtype)
    panels[-1:] = 0
    whole = n // width
    panels[:whole] = rows[: whole * width].reshape(whole, width, d).transpose(0, 2, 1)
    if whole < len(panels):
        panels[whole, :, : n - whole * width] = rows[whole * width :].T
    return panels
