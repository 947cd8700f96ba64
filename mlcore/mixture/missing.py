"""Mixtures of samples with missing values."""

from functools import partial

from mlcore.checks import as_choice
from mlcore.checks.missing import with_missing


class TakesMissing:
    """Mixin of models that with ``missing="ignore"`` take NaN for missing values."""

    def _check_options(self):
        progress = super()._check_options()
        as_choice(self.missing, "missing", ("error", "ignore"), owner=type(self).__name__)
        return progress

    def _as_samples(self, X, **how):
        return with_missing(X, partial(super()._as_samples, **how), self.missing)
