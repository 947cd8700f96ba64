"""Linear regression by sums over blocks of rows, and by rounds that go on."""

from typing import Any, Self

import numpy as np

from mlcore.linear_model.regression.rows import Frame
from mlcore.numerics.scatter import (
    BeyondUnits,
    Scatter,
    in_larger_units,
    larger_powers,
    merged_scatter,
    require_in_units,
)
from mlcore.row_sums import OnePass


class LinearBlocks(OnePass):
    """Mixin of LinearRegression: the methods of `RowSums`, and `partial_fit`."""

    _result = "coef_"

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the origin and the units of the sums from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        fit_intercept = self._checked_parameters()
        self._require_sums(self.solver)
        checked, Y, _, several = self._checked_rows(X, y, sample_weight, True, True)
        largest = self._alphas(Y).max()
        frame = Frame.of(checked, Y, fit_intercept).with_powers(checked, largest)
        self._set_fitted(X, **frame_attributes(frame, checked.dtype, several))
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Scatter:
        """Return weight, mean and scatter of features and targets of the rows, side by side.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Scatter
            Sums over these rows.
        """
        self._check_fitted()
        self._require_sums(getattr(self, "solver_", ""))
        owner = type(self).__name__
        return require_in_units(self._later_rows(X, y, sample_weight).sums(owner), owner)

    def merge(self, a: Scatter, b: Scatter) -> Scatter:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : Scatter
            Sums over different rows.

        Returns
        -------
        statistics : Scatter
            Their sums.
        """
        return merged_scatter(a, b)

    def update(self, statistics: Scatter) -> Self:
        """Fit the function to the statistics of all rows: the whole fit.

        Parameters
        ----------
        statistics : Scatter
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        fit_intercept = self._checked_parameters()
        self._check_fitted()
        self._require_sums(getattr(self, "solver_", ""))
        frame, width = self._frame, len(self.origin_) + len(self._target_powers_)
        if not isinstance(statistics, Scatter) or len(statistics.mean) != width:
            raise ValueError(
                f"{type(self).__name__}: statistics must come from partial_statistics of a model "
                "that has begun with as many features and targets."
            )
        dtype, alphas = self.origin_.dtype, self._alphas(self._target_powers_[None])
        found = self._found(None, statistics, frame, alphas, fit_intercept, dtype)
        self._update_state(self._several_or_one(found, self._several_))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls, and fit the function to all.

        The first call, and one after `fit`, begins anew.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        fit_intercept = self._checked_parameters()
        if self.solver == "lms":
            anew = self._statistics != ()
            played = self._play(X, y, sample_weight, fit_intercept, anew)
            if anew:
                self._set_fitted(X, **played)
            self._update_state(played | {"_statistics": ()})
            return self
        model = type(self)(**self.get_params(deep=False))
        if not self._statistics:
            model.begin(X, y, sample_weight)
        else:
            model.__dict__ = vars(self).copy()
        before = Scatter(*self._statistics) if self._statistics else None
        try:
            total = model.partial_statistics(X, y, sample_weight)
        except BeyondUnits:
            before = model._in_larger_units(before, X, y, sample_weight)
            total = model.partial_statistics(X, y, sample_weight)
        if before is not None:
            total = merged_scatter(before, total)
        model.update(total)
        old = [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]
        self._update_state(vars(model) | {"_statistics": tuple(total)}, forget=old)
        return self

    def _in_larger_units(self, sums, X, y, sample_weight):
        """Take larger units, as these rows need them, and return the sums in those."""
        checked, Y, _, _ = self._checked_rows(X, y, sample_weight, False)
        frame = self._frame
        power = larger_powers(frame.power, checked, frame.origin)
        target_power = larger_powers(frame.target_power, Y, frame.target_origin)
        self._powers_, self._target_powers_ = power, target_power
        more = power - frame.power, target_power - frame.target_power
        return in_larger_units(sums, np.concatenate(more))

    def _require_sums(self, solver):
        if solver == "lms":
            raise ValueError(
                f"{type(self).__name__}: solver='lms' has no sums over rows, which this needs: "
                "solver='auto' has; rounds go on by partial_fit."
            )


def frame_attributes(frame: Frame, dtype: np.dtype, several: bool) -> dict[str, Any]:
    """Return the fitted attributes that the sums over rows refer to."""
    return {
        "origin_": frame.origin.astype(dtype),
        "_powers_": frame.power,
        "_target_origin_": frame.target_origin,
        "_target_powers_": frame.target_power,
        "_several_": several,
    }
