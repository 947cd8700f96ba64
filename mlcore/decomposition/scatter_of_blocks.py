"""Components from the scatter of blocks of rows, which need not be in memory together."""

import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mlcore.checks import as_weights
from mlcore.decomposition.scatter_eigenpairs import ScatterEigenpairs, scatter_eigenpairs
from mlcore.decomposition.spectrum import Rows, without_rounding
from mlcore.decomposition.summary import divisor_of
from mlcore.numerics.scatter import (
    BeyondUnits,
    Scatter,
    in_larger_units,
    larger_powers,
    merged_scatter,
    origin_of,
    require_in_units,
    scatter_of,
)
from mlcore.row_sums import RowSums, merged
from mlcore.runtime.threads import single_threaded_blas

_EXPONENT = {4: 28, 8: 230}  # by bytes of a number: larger powers of two are taken out of the data
_WEIGHT = 1e-9  # the passes add the same weights, in any order


class TailScatter(NamedTuple):
    """Sums of a second pass: of rows along the directions of small variances."""

    weight: float
    scatter: np.ndarray  # (t, t)


class ScatterOfBlocks(RowSums):
    """Mixin of models whose fit is the decomposition of the scatter of all rows.

    The tail of the spectrum, if it has lost digits, takes a second pass over the rows.
    """

    start_rows: ClassVar[str] = "block"  # of which `begin` takes the origin
    _statistics: tuple | None = None  # the Scatter of all rows so far, by `partial_fit`
    _tail: tuple | None = None  # of the first pass: weight, mean, fields of ScatterEigenpairs
    _stored = {
        "_statistics": ("float", "float64 f", "float64 f f"),
        "_tail": (
            "float",
            "float64 f",
            "float64 m m",
            "int m? < f",
            "size f",
            "int",
            "float",
            "float64 v?",
            "float64 m? v?",
            "int",
            "int",
            "bool",
        ),
    }

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the origin and the power of two, to which the sums refer, from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._check_parameters()
        checked = self._check_X(X, reset=True)
        self._wanted(checked.shape[1], f"n_features={checked.shape[1]}")
        origin = origin_of(checked)
        power = self._powers(checked, origin)
        power[np.abs(power) <= _EXPONENT[checked.dtype.itemsize]] = 0
        self._set_fitted(X, origin_=origin.astype(checked.dtype), _power_=power)
        return self

    def partial_statistics(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Scatter | TailScatter:
        """Return weight, mean and scatter of the rows of `X`.

        In another pass over the rows, which follows an `update`: weight and scatter along the
        directions of small variances.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Scatter or TailScatter
            Sums over these rows.
        """
        if self._tail is None:
            return self._scatter(X, sample_weight)
        checked, weight = self._checked(X, sample_weight)
        _, mean, *pairs = self._tail
        origin = self.origin_.astype(np.float64)
        rows = Rows(checked, weight, origin, mean, self._power_, self._unit_)
        along = rows.scatter_along(ScatterEigenpairs(*pairs).directions)
        return TailScatter(float(checked.shape[0] if weight is None else weight.sum()), along)

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both.

        Parameters
        ----------
        a, b : NamedTuple
            Sums over different rows.

        Returns
        -------
        statistics : Scatter or TailScatter
            Their sums.
        """
        both = isinstance(a, Scatter) and isinstance(b, Scatter)
        return merged_scatter(a, b) if both else merged(a, b)

    @single_threaded_blas()
    def update(self, statistics: Any) -> Self:
        """Find the components from the sums over all rows.

        One pass is the whole fit, unless `converged_` says that another one makes the small
        variances more accurate.

        Parameters
        ----------
        statistics : NamedTuple
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        self._check_parameters()
        self._check_fitted()
        if isinstance(statistics, TailScatter):
            self._update_state(self._with_tail(statistics))
        else:
            self._update_state(self._from_scatter(statistics, another=True))
        return self

    def needs_another_pass(self) -> bool:
        """Return whether another pass over all rows is wanted: the first one, or the second.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        self._check_fitted()
        return not hasattr(self, "components_") or self._tail is not None

    def _scatter(self, X, sample_weight):
        checked, weight = self._checked(X, sample_weight, check_finite=False)
        origin, owner = self.origin_.astype(np.float64), type(self).__name__
        found = scatter_of(checked, weight, origin, power=self._power_, owner=owner)
        return require_in_units(found, owner)

    def _checked(self, X, sample_weight, **options):
        checked = self._check_X(X, reset=False, like=self.origin_, **options)
        n = checked.shape[0]
        return checked, None if sample_weight is None else as_weights(sample_weight, n)

    def _from_scatter(self, statistics, another):
        """Return the fitted attributes; they tell of `another` pass where that helps."""
        total, mean, scatter = statistics
        d = len(mean)
        k, share = self._wanted(d, f"n_features={d}")
        unit = self._unit(scatter.diagonal(), self._divisor(total))
        S = scatter / np.outer(unit, unit) if self.scale else scatter
        dtype = self.origin_.dtype
        every = share is not None or isinstance(self.n_components, str)
        pairs = scatter_eigenpairs(S, k, every, dtype)
        limit = d * float(np.finfo(dtype).eps)
        return self._from_pairs(pairs, total, mean, unit, limit, another)

    def _with_tail(self, statistics):
        if self._tail is None:
            raise ValueError(
                f"{type(self).__name__}: statistics of a second pass over the rows need a model "
                "that has been updated by those of the first."
            )
        total, mean, *pairs = self._tail
        if abs(statistics.weight - total) > _WEIGHT * total:
            raise ValueError(
                f"{type(self).__name__}: statistics of a second pass have weight "
                f"{statistics.weight:g}, those of the first {total:g}: both must add all rows."
            )
        known = ScatterEigenpairs(*pairs)
        t = len(known.values) - known.start
        if np.shape(statistics.scatter) != (t, t):
            raise ValueError(
                f"{type(self).__name__}: statistics of a second pass have a scatter of shape "
                f"{np.shape(statistics.scatter)}, but this model has {t} directions: they come "
                "from another model."
            )
        placed = known.placed(statistics.scatter)
        limit = (max(total, len(mean)) * float(np.finfo(np.float64).eps)) ** 2
        return self._from_pairs(placed, total, mean, self._unit_, limit, True)

    def _from_pairs(self, pairs, total, mean, unit, limit, another):
        d, power, dtype = len(mean), self._power_, self.origin_.dtype
        share = self._wanted(d, f"n_features={d}")[1]
        spectrum = pairs.spectrum(self._picker(share, total, limit, d), "scatter")
        center = self.origin_ + np.ldexp(mean, power)
        values = without_rounding(spectrum.values, limit, d)
        divisor = self._divisor(total)
        found = self._finish(spectrum, values, divisor, int(total), center, power, unit, dtype)
        tail = pairs.tail() if another else None
        return found | {
            "n_samples_": round(total),
            "converged_": tail is None if another else not pairs.few_digits,
            "_tail": None if tail is None else (total, mean, *tail),
        }

    def _divisor(self, total):
        return divisor_of(total, self.ddof, f"{total:g}", type(self).__name__)

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
            This model.
        """
        total, model = self._statistics, copy.copy(self)
        if total is None:
            model = type(self)(**self.get_params(deep=False)).begin(X)
        total = None if total is None else Scatter(*total)
        try:
            part = model._scatter(X, sample_weight)
        except BeyondUnits:
            total = model._in_larger_units(X, total)
            part = model._scatter(X, sample_weight)
        total = part if total is None else self.merge(total, part)
        if total.weight > self.ddof:
            model._check_parameters()
            model._update_state(model._from_scatter(total, another=False))
        self._update_state(vars(model) | {"_statistics": tuple(total)})
        return self

    def _in_larger_units(self, X, total):
        """Take larger units, as these rows need them, and return the sums in those."""
        checked, origin = self._check_X(X, reset=False), self.origin_.astype(np.float64)
        power = larger_powers(self._power_, checked, origin)
        power = power if self.scale else np.full(len(power), power.max())
        more, self._power_ = power - self._power_, power
        return in_larger_units(total, more)

    def _set_fitted(self, X_original, **attributes):
        for name in ("_statistics", "_tail"):
            self.__dict__.pop(name, None)
        super()._set_fitted(X_original, **attributes)
