"""Interface of fits that are sums over rows, in memory, in files or on other machines."""

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mlcore.checks import declared_classes
from mlcore.checks.errors import peer_class
from mlcore.numerics.scatter import BeyondUnits

__all__ = ["RowSums", "merged"]

_METHODS = "begin", "partial_statistics", "merge", "update"


def __dir__() -> list[str]:
    return __all__


class FourMethods(Protocol):
    """Objects that `fit_blocks` fits, for type checkers."""

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any: ...

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any: ...

    def merge(self, a: Any, b: Any) -> Any: ...

    def update(self, statistics: Any) -> Any: ...


class RowSums(metaclass=ABCMeta):  # not ABC: its slots would be another layout of objects
    """Base of models whose fit repeats sums over the rows of the data.

    ``fit`` is a loop over these methods, and so is a fit to data in blocks::

        model.begin(first_rows)
        while model.needs_another_pass():
            total = None
            for block in blocks:
                part = model.partial_statistics(block)
                total = part if total is None else model.merge(total, part)
            model.update(total)

    Statistics are a NamedTuple of arrays that do not grow with the rows; they can be
    pickled, so that another process with a copy of the model may sum a block. The sums are computed
    with the parameters after `begin` or the last `update`.

    Any object with `begin`, `partial_statistics`, `merge` and `update` is an instance of this
    class, and `mlcore.blocks.fit_blocks` fits it in one pass, or for as long as its
    `needs_another_pass` returns True. A subclass has the other methods too, and may replace them.

    Examples
    --------
    >>> from mlcore.mixture import BernoulliMixture
    >>> from mlcore.row_sums import RowSums
    >>> isinstance(BernoulliMixture(), RowSums)
    True
    """

    start_rows: ClassVar[str] = "sample"  # for `begin`: rows that stand for all, or a "block"
    _kept_here: ClassVar[tuple[str, ...]] = ("callback",)  # attributes that workers do not need

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        if cls is RowSums:
            return all(callable(getattr(other, name, None)) for name in _METHODS)
        return NotImplemented

    @abstractmethod
    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the starting parameters, from `X` unless they are given.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like, optional
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """

    @abstractmethod
    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over the rows of `X`; the parameters do not change.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like, optional
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : NamedTuple
            Sums over these rows.
        """

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both; the order matters only for rounding.

        Parameters
        ----------
        a, b : NamedTuple
            Sums over different rows.

        Returns
        -------
        statistics : NamedTuple
            Their sums.
        """
        return merged(a, b)

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """Compute new parameters from the sums: one step of an iteration, or the whole fit.

        Parameters
        ----------
        statistics : NamedTuple
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """

    def needs_another_pass(self) -> bool:
        """Return whether `fit` would take another step: not if `converged_`, or after `max_iter`.

        Each step is an `update` by the sums over all rows.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        self._check_fitted()
        return not self.converged_ and int(np.max(self.n_iter_)) < self.max_iter

    # ---- what fits over blocks ask for beside

    @staticmethod
    def representatives(X: Any) -> np.ndarray:
        """Return the rows of `X` that a sample must have for `begin`, by their indices.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        rows : (n_representatives,) intp
            None by default.
        """
        return np.empty(0, np.intp)

    def begin_over_blocks(self, total: Callable[[Any], Any], seed: int) -> None:  # noqa: B027
        """Improve the start that `begin` has chosen from a sample, with all rows in mind.

        Parameters
        ----------
        total : callable
            Returns what a task of `mlcore.blocks` gives for all blocks, merged.
        seed : int
            Of random numbers.
        """

    def needs_finishing_pass(self) -> bool:
        """Return whether `finish` needs the sums over all rows under the last parameters.

        Returns
        -------
        needed : bool
            False by default.
        """
        return False

    def finish(self, total: Any = None) -> None:  # noqa: B027
        """End a fit by `update` as `fit` ends: with its last values, order and warnings.

        Parameters
        ----------
        total : NamedTuple, optional
            Sums over all rows, if `needs_finishing_pass`.
        """

    def for_workers(self) -> Self:
        """Return the model that workers need for sums: without what stays in this process.

        Returns
        -------
        model
            This model, or a copy without its callback and what only `update` reads.
        """
        return without(self, *self._kept_here)


class OnePass(RowSums):
    """Base of models whose `update` is the whole fit: sums over all rows.

    `begin` takes any rows; `_sums_` has the sums, to which `partial_fit` adds those of later rows.
    """

    start_rows = "block"
    _kept_here = "callback", "_sums_"
    _result: ClassVar[str]  # an attribute that `update` sets
    _Statistics: ClassVar[type]  # of the sums
    _sums_ = None  # over all rows so far; models declare its type

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of `fit` and of earlier calls, and fit to all of them.

        The fit is that of all rows at once, to rounding. While they are too few for a fit their
        sums are kept alone.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            For models that `fit` takes it for.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            For rows of another form than those before; if `fit` has formed no sums, as it does not
            where their table would be larger than the rows: begin with `partial_fit` then.
        """
        return self._add(X, y, sample_weight)

    def needs_another_pass(self) -> bool:
        """Return True after `begin`, False after `update`: sums over all rows are the whole fit.

        Returns
        -------
        needed : bool
            Whether to sum over all rows again.
        """
        self._check_fitted()
        return not hasattr(self, self._result)

    def _check_ready(self) -> None:
        """Raise NotFittedError before the first fit, and between `begin` and `update`."""
        self._check_fitted()
        if not hasattr(self, self._result):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet: it has begun, but call "
                "'update', or 'partial_fit' with enough rows, before using it."
            )

    # ---- what `partial_fit` asks of a model

    def _first_statistics(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Begin with these rows, and return the sums over them."""
        return self.begin(X, y, sample_weight).partial_statistics(X, y, sample_weight)

    def _in_larger_units(self, sums: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """Take larger units, as these rows need them; return the sums, or None, in those."""
        raise NotImplementedError

    def _update_so_far(self, statistics: Any) -> None:
        """Update by sums over rows that may be too few yet: then keep the sums alone."""
        self.update(statistics)

    def _declared(self, statistics: Any, classes: Any) -> Any:
        """Return the sums of rows whose labels must be among these."""
        owner = type(self).__name__
        declared = declared_classes(classes, vars(self).get("classes_"), owner=owner)
        require_declared(statistics.classes, declared, owner)
        return statistics

    # ---- the one program of `partial_fit`

    def _add(self, X, y, sample_weight, classes=None):
        before, model = self._sums_so_far(), twin(self)
        begun = "n_features_in_" in vars(self)
        rows = X, y, sample_weight
        try:
            total = model.partial_statistics(*rows) if begun else model._first_statistics(*rows)
        except BeyondUnits:
            before = model._in_larger_units(before, *rows)
            total = model.partial_statistics(*rows)
        if classes is not None:
            total = model._declared(total, classes)
        if before is not None:
            total = model.merge(before, total)
        model._update_so_far(total)
        self.__dict__ = vars(model)  # at once: a signal handler sees the old state or the new one
        return self

    def _sums_so_far(self):
        """Return the sums over the rows of `fit` and of earlier calls, None before any."""
        if self._sums_ is not None:
            return self._Statistics(*self._sums_)
        if self._result in vars(self):
            raise ValueError(
                f"{type(self).__name__}: the fit has formed no sums over its rows, to which "
                "partial_fit could add, as their table is larger than the rows: begin with "
                "partial_fit on a new model."
            )
        return None


# The method of classifiers of one pass, in place of the one above.
def partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
    """Add rows to those of `fit` and of earlier calls, and fit to all of them.

    The fit is that of all rows at once, to rounding. While they are too few for a fit their
    sums are kept alone.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Any call may bring new classes.
    classes : array-like of shape (n_classes,), optional
        All labels that `y` may hold; None allows any.
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    self
        This model.

    Raises
    ------
    ValueError
        For rows of another form than those before, and labels that are not among `classes`.
    """
    return self._add(X, y, sample_weight, classes)


class Adapter(RowSums):
    """Any object with the four methods, as `model`, with the default of every other method."""

    model: Any

    def __init__(self, model: Any) -> None:
        self.model, self._updated = model, False

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.model.begin(X, y, sample_weight)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        return self.model.partial_statistics(X, y, sample_weight)

    def merge(self, a: Any, b: Any) -> Any:
        return self.model.merge(a, b)

    def update(self, statistics: Any) -> Self:
        self.model.update(statistics)
        self._updated = True
        return self

    def needs_another_pass(self) -> bool:
        """Return what the object says, if it can; otherwise that it needs one pass."""
        own = getattr(self.model, "needs_another_pass", None)
        return not self._updated if own is None else own()

    def for_workers(self) -> Self:
        return type(self)(without(self.model, "callback"))


def as_row_sums(model: Any) -> RowSums:
    """Return a model as it is if it is a subclass of `RowSums`, otherwise in an `Adapter`."""
    return model if RowSums in type(model).__mro__ else Adapter(model)


def twin(model: Any) -> Any:
    """Return a shallow copy: as copy.copy, without the 10 µs of the pickling of a `Model`."""
    other = object.__new__(type(model))
    other.__dict__ = vars(model).copy()
    return other


def without(model: Any, *names: str) -> Any:
    """Return a copy in which these attributes are None; the model itself if all are."""
    held = [name for name in names if getattr(model, name, None) is not None]
    if not held:
        return model
    model = copy.copy(model)
    for name in held:
        setattr(model, name, None)
    return model


def require_declared(present: np.ndarray, declared: np.ndarray, owner: str) -> None:
    """Refuse labels that are not among the declared classes, both sorted."""
    known = set(declared.tolist())
    foreign = [label for label in present.tolist() if label not in known]
    if foreign:
        raise ValueError(
            f"{owner}: The target label(s) {foreign} in y do not exist in the initial classes "
            f"{declared.tolist()}: give all labels of y as classes, or none."
        )


def merged(a: Any, b: Any) -> Any:
    """Return statistics added field by field.

    Parameters
    ----------
    a, b : NamedTuple
        Statistics of the same model: numbers, and arrays of the same shapes.

    Returns
    -------
    NamedTuple
        The sums, of the same type.

    Raises
    ------
    TypeError
        If their types differ.
    ValueError
        If their shapes differ.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from mlcore.row_sums import merged
    >>> class Mass(NamedTuple):
    ...     weight: float
    >>> merged(Mass(1.0), Mass(2.5))
    Mass(weight=3.5)
    """
    if type(a) is not type(b) or not hasattr(a, "_fields"):
        raise TypeError(
            f"statistics of types {type(a).__name__} and {type(b).__name__} cannot be merged: "
            "both must come from partial_statistics of the same model."
        )
    for name, one, other in zip(a._fields, a, b, strict=True):
        if np.shape(one) != np.shape(other):
            raise ValueError(
                f"statistics with {name} of shapes {np.shape(one)} and {np.shape(other)} cannot "
                "be merged: they come from different models."
            )
    return type(a)(*(one + other for one, other in zip(a, b, strict=True)))
