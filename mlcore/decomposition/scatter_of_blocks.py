"""Components from the scatter of blocks of rows, which need not be in memory together."""

import copy
from typing import Any, Self

import numpy as np

from mlcore.checks import as_weights
from mlcore.decomposition.spectrum import by_scatter, without_rounding
from mlcore.decomposition.summary import divisor_of
from mlcore.scatter import Scatter, merged_scatter, origin_of, scatter_of
from mlcore.threads import single_threaded_blas

_EXPONENT = {4: 28, 8: 230}  # by bytes of a number: larger powers of two are taken out of the data


class ScatterOfBlocks:
    """Mixin of models whose fit is the decomposition of the scatter of all rows."""

    _statistics: tuple | None = None  # the Scatter of all rows so far, by `partial_fit`

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the origin and the power of two, to which the sums refer, from first rows."""
        self._check_parameters()
        checked = self._check_X(X, reset=True)
        self._wanted(checked.shape[1], f"n_features={checked.shape[1]}")
        origin = origin_of(checked)
        power = self._powers(checked, origin)
        power[np.abs(power) <= _EXPONENT[checked.dtype.itemsize]] = 0
        self._set_fitted(X, origin_=origin.astype(checked.dtype), _power_=power)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Scatter:
        """Return weight, mean and scatter of the rows of `X`."""
        checked = self._check_X(X, reset=False, like=self.origin_, check_finite=False)
        weight = None if sample_weight is None else as_weights(sample_weight, checked.shape[0])
        origin, owner = self.origin_.astype(np.float64), type(self).__name__
        return scatter_of(checked, weight, origin, power=self._power_, owner=owner)

    def merge(self, a: Scatter, b: Scatter) -> Scatter:
        """Return the sums over the rows of both."""
        return merged_scatter(a, b)

    @single_threaded_blas()
    def update(self, statistics: Scatter) -> Self:
        """Find the components from the sums over all rows: the whole fit."""
        self._check_parameters()
        self._check_fitted()
        total, mean, scatter = statistics
        d = len(mean)
        k, share = self._wanted(d, f"n_features={d}")
        divisor = divisor_of(total, self.ddof, f"{total:g}", type(self).__name__)
        unit = self._unit(scatter.diagonal(), divisor)
        limit = d * float(np.finfo(self.origin_.dtype).eps)
        pick = self._picker(share, total, limit, d)
        S = scatter / np.outer(unit, unit) if self.scale else scatter
        spectrum = by_scatter(S, k, pick, None, self.origin_.dtype)
        power = self._power_
        center = self.origin_ + np.ldexp(mean, power)
        values, dtype = without_rounding(spectrum.values, limit, d), self.origin_.dtype
        found = self._finish(spectrum, values, divisor, int(total), center, power, unit, dtype)
        self._update_state(found | {"n_samples_": round(total)})
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of `X` to those of earlier calls, and find the components of all.

        The first call, and one after `fit`, begins anew. There are no components before the rows
        have a variance.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        total, model = self._statistics, copy.copy(self)
        if total is None:
            model = type(self)(**self.get_params(deep=False)).begin(X)
        part = model.partial_statistics(X, y, sample_weight)
        total = part if total is None else self.merge(Scatter(*total), part)
        if total.weight > self.ddof:
            model.update(total)
        self._update_state(vars(model) | {"_statistics": tuple(total)})
        return self

    def _set_fitted(self, X_original, **attributes):
        self.__dict__.pop("_statistics", None)
        super()._set_fitted(X_original, **attributes)
