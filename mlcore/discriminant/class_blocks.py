"""Fits of normal classes from blocks of rows: sums of each class, merged."""

from typing import Any, Self

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.checks import as_labels, as_weights
from mlcore.checks.errors import peer_class
from mlcore.discriminant.class_scatters import (
    ClassRows,
    ClassScatters,
    class_scatters,
    merged_classes,
    offsets_of,
)
from mlcore.discriminant.leave_one_out import (
    features_of_refits,
    filled_by_one,
    regularised_leave_one_out,
)
from mlcore.discriminant.normal_classes import NormalClasses
from mlcore.numerics.log_softmax import log_softmax
from mlcore.numerics.scatter import (
    BeyondUnits,
    Scatter,
    larger_powers,
    origin_of,
    powers_of_two,
    require_in_units,
    row_blocks,
)
from mlcore.row_sums import OnePass
from mlcore.runtime.threads import single_threaded_blas

_EXPONENT = {4: 28, 8: 230}  # by bytes of a number: larger powers of two are taken out of the data
_SAME = {4: 1e-3, 8: 1e-7}  # by bytes of a number: share of a deviation that a mean is known to


class ClassBlocks(OnePass, NormalClasses):
    """Base of models that follow from the `ClassScatters` of all rows: they are `RowSums`."""

    shrinkage: Any
    origin_: np.ndarray
    _powers_: np.ndarray  # int (d,): the sums are those of 2^-power x
    _result = "means_"
    _statistics: tuple | None = None  # the ClassScatters of all rows so far, by `partial_fit`
    _stored = {
        "origin_": "float f",
        "_powers_": "int f",
        "_statistics": (
            "labels s",
            "float64 s",
            "float64 s f",
            "float64 s f f",
            "none | float64 s 2 f f",
        ),
    }

    def _checked_parameters(self) -> Any:
        """Return the parameters, checked."""
        raise NotImplementedError

    def _solve(self, sums, how, origin, power, rows=None) -> dict[str, Any]:
        """Return the attributes that follow from the sums; `rows` are all of them, if any."""
        raise NotImplementedError

    def _regularised_leave_one_out(self, X, codes, weight, how, kept, ridge):
        """Return log posteriors of each row from the fit to all others, of these features."""
        if isinstance(how.shrinkage, str):
            raise ValueError(
                f"{type(self).__name__}: leave_one_out needs a number for shrinkage, or None: "
                f"{how.shrinkage!r} changes with each sample."
            )
        origin, owner = self.origin_.astype(np.float64), type(self).__name__
        sums = class_scatters(X, self.classes_, codes, weight, origin, self._powers_, owner)
        priors = None if self.priors is None else self.priors_
        eps = float(np.finfo(self.origin_.dtype).eps)
        out = np.empty((X.shape[0], len(sums.weights)))
        filled = self._filled_by_one(X, weight, kept)
        lone = self._lone_in_classes(X, codes, weight, kept) if how.shrinkage else {}
        for places, features in features_of_refits(filled, X.shape[0], len(kept)):
            chosen = kept[features]
            square = np.ix_(range(len(sums.weights)), chosen, chosen)
            part = sums._replace(means=sums.means[:, chosen], scatters=sums.scatters[square])
            alone = {row: np.flatnonzero(np.isin(features, lone[row])) for row in lone}
            with single_threaded_blas():
                regularised_leave_one_out(
                    part, self._offset_blocks(X, places, chosen), codes, weight, how, ridge[chosen],
                    priors, eps, alone, out,
                )  # fmt: skip
        return log_softmax(out)

    def _require_means(self, X, codes, weight, means):
        """Refuse other samples than those of the fit, which has these means of classes, (c, d)."""
        origin, every = self.origin_.astype(np.float64), np.arange(X.shape[1])
        c, sums, squares = len(means), np.zeros(means.shape), np.zeros(len(every))
        for rows, block in row_blocks(X):
            offsets = offsets_of(block, origin, self._powers_, every)
            one_hot = (codes[rows] == np.arange(c)[:, None]) * weight[rows]
            sums += one_hot @ offsets
            squares += weight[rows] @ np.square(offsets)
        totals = np.bincount(codes, weights=weight, minlength=c)
        size, present = np.sqrt(squares / totals.sum()), np.where(totals > 0, totals, 1.0)
        moved = np.abs(sums / present[:, None] - means) > _SAME[self.origin_.dtype.itemsize] * size
        if moved.any():
            code, feature = np.argwhere(moved)[0]
            raise ValueError(
                "leave_one_out needs the samples of the fit: the mean of feature "
                f"{feature} in class {self.classes_[code]} is another one."
            )

    def _offset_blocks(self, X, places, features):
        """Yield some of these rows, and their values in the units of the sums."""
        member, origin = np.zeros(X.shape[0], bool), self.origin_.astype(np.float64)
        member[places] = True
        for rows, block in row_blocks(X):
            own = np.flatnonzero(member[rows])
            if len(own):
                yield rows.start + own, offsets_of(block[own], origin, self._powers_, features)

    def _filled_by_one(self, X, weight, kept):
        """Return rows, and places in `kept` of features that are constant without each."""
        present = np.flatnonzero(weight)
        rows, columns = filled_by_one(_dense(X[present])[:, kept])
        return present[rows], columns

    def _lone_in_classes(self, X, codes, weight, kept):
        """Return of a row the places in `kept` of features constant in its class without it."""
        found: dict[int, list[int]] = {}
        for code in range(len(self.classes_)):
            own = np.flatnonzero((codes == code) & (weight > 0))
            rows, columns = filled_by_one(_dense(X[own])[:, kept])
            for row, column in zip(own[rows].tolist(), columns.tolist(), strict=True):
                found.setdefault(row, []).append(column)
        return found

    def _powers(self, X, origin, how):
        """Return powers of two of the largest deviations, 0 where squares are in range."""
        power = powers_of_two(X, origin).astype(np.int64)
        power[np.abs(power) <= _EXPONENT[X.dtype.itemsize]] = 0
        return power

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the origin and the powers of two, to which the sums refer, from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        how = self._checked_parameters()
        checked = self._check_X(X, reset=True)
        origin = origin_of(checked)
        power = self._powers(checked, origin, how)
        self._set_fitted(X, origin_=origin.astype(checked.dtype), _powers_=power)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClassScatters:
        """Return weight, mean and scatter of each class in these rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Not all classes need be there.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : ClassScatters
            Sums over the rows of each class.
        """
        checked = self._check_X(X, reset=False, like=getattr(self, "origin_", None))
        n, owner = checked.shape[0], type(self).__name__
        classes, codes = as_labels(y, n, owner=owner)
        weight = as_weights(sample_weight, n)
        rows = np.flatnonzero(weight)
        if len(rows) < n:
            present, codes = np.unique(codes[rows], return_inverse=True)
            classes, checked, weight = classes[present], checked[rows], weight[rows]
        origin, power = self.origin_.astype(np.float64), self._powers_
        sums = class_scatters(checked, classes, codes, weight, origin, power, owner)
        for part in zip(sums.weights, sums.means, sums.scatters, strict=True):
            require_in_units(Scatter(*part), owner)
        if self.shrinkage == "auto":
            rows = ClassRows(checked, codes, weight, origin, power)
            with single_threaded_blas():
                sums = sums._replace(higher=rows.higher_moments(sums.means))
        return sums

    def merge(self, a: ClassScatters, b: ClassScatters) -> ClassScatters:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : ClassScatters
            Sums over different rows.

        Returns
        -------
        statistics : ClassScatters
            Their sums.
        """
        return merged_classes(a, b)

    def update(self, statistics: ClassScatters) -> Self:
        """Estimate the classes from the statistics of all rows: the whole fit.

        Parameters
        ----------
        statistics : ClassScatters
            Sums over all rows.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            If there are fewer than two classes.
        LinAlgError
            A ValueError: if the covariance of a class has no inverse; it names the class.
        """
        how = self._checked_parameters()
        self._check_fitted()
        self._require_classes(statistics)
        if self.shrinkage == "auto" and statistics.higher is None:
            raise ValueError(
                f"{type(self).__name__}: shrinkage='auto' needs moments of fourth order, but the "
                "statistics come from a model of other shrinkage."
            )
        self._checked_priors(statistics.weights)
        self._update_state(self._solve(statistics, how, self.origin_, self._powers_))
        return self

    def _require_classes(self, statistics):
        if len(statistics.classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but all samples are of class "
                f"{statistics.classes[0]}."
            )

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of earlier calls, and estimate the classes from all.

        The first call, and one after `fit`, begins anew. Classes may appear in any call. While
        there is one class, or a class whose covariance has no inverse, the model cannot predict.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            The labels that `y` may hold; None allows any.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        how = self._checked_parameters()
        model = type(self)(**self.get_params(deep=False))
        if self._statistics is None:
            model.begin(X)
        else:
            first = "n_features_in_", "feature_names_in_", "origin_", "_powers_"
            model._update_state({name: vars(self)[name] for name in first if name in vars(self)})
        before = None if self._statistics is None else ClassScatters(*self._statistics)
        try:
            total = model.partial_statistics(X, y, sample_weight)
        except BeyondUnits:
            before = model._in_larger_units(before, X)
            total = model.partial_statistics(X, y, sample_weight)
        if classes is not None:
            foreign = np.setdiff1d(total.classes, np.asarray(classes))
            if len(foreign):
                raise ValueError(f"y has the label {foreign[0]}, which is not one of classes.")
        if before is not None:
            total = merged_classes(before, total)
        state = {"_statistics": tuple(total)}
        if len(total.classes) > 1:
            self._checked_priors(total.weights)
            try:
                state |= model._solve(total, how, model.origin_, model._powers_)
            except linalg.LinAlgError:
                pass  # a class has too few rows yet
        old = [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]
        self._update_state(vars(model) | state, forget=old)
        return self

    def _in_larger_units(self, sums, X):
        """Take larger units, as these rows need them, and return the sums in those."""
        checked = self._check_X(X, reset=False, like=self.origin_)
        power = larger_powers(self._powers_, checked, self.origin_.astype(np.float64))
        more, self._powers_ = power - self._powers_, power
        return sums.in_larger_units(more)

    def _set_fitted(self, X_original, **attributes):
        self.__dict__.pop("_statistics", None)
        super()._set_fitted(X_original, **attributes)

    def _check_ready(self):
        """Refuse a model that cannot predict yet."""
        self._check_fitted()
        if not hasattr(self, "means_"):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but call "
                "'update', or 'partial_fit' with enough rows of each class, before using it."
            )


def _dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows
