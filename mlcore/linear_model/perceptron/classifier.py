"""Base of perceptrons: epochs of rounds, rounds one at a time, mistakes and their bound."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from mlcore.checks import (
    as_bool,
    as_integer,
    as_labels,
    as_random_state,
    as_real,
    declared_classes,
    require_random_state,
)
from mlcore.estimator import progress
from mlcore.estimator.model import Classifier
from mlcore.estimator.progress import Progress
from mlcore.linear_model.perceptron.mistakes import mistake_bound

_PATIENCE = 5  # epochs without an improvement by tol, after which a fit stops
_OF_FIT = (
    "converged_", "margin_", "mistake_bound_", "mistake_trace_", "n_iter_", "support_",
)  # fmt: skip


class Settings(NamedTuple):
    """Checked parameters of all perceptrons."""

    max_iter: int
    tol: float | None
    shuffle: bool
    fit_intercept: bool
    average: bool


class PerceptronClassifier(Classifier):
    """Mixin of perceptrons: a model lists it before its other base.

    A model defines ``_rounds(samples, codes, n_classes, settings, earlier)``, an object that plays
    rounds after those of `earlier`, the model itself or None: `epoch`, `margins`, `error`,
    `averages`, `radius`, `counts` and `attributes`; ``_checked_later(X)``; and ``_scores(X)``, the
    scores (n, n_scores) of checked samples.
    """

    set_callbacks = progress.set_callbacks
    mistakes_: int
    n_rounds_: int
    support_: np.ndarray
    radius_: float
    margin_: float
    mistake_bound_: float
    mistake_trace_: np.ndarray
    converged_: bool
    n_iter_: int
    intercept_: np.ndarray
    _stored = {
        "mistakes_": "count",
        "n_rounds_": "count",
        "support_": "int s?",
        "radius_": "float",
        "margin_": "float",
        "mistake_bound_": "float",
        "mistake_trace_": "int t?",
        "converged_": "bool",
        "n_iter_": "count",
        "intercept_": "float64 c'",
    }

    _no_blocks = "it learns row by row, in their order: use partial_fit"

    def _settings(self) -> Settings:
        owner = type(self).__name__
        tol = self.tol
        require_random_state(self.random_state, owner=owner)
        return Settings(
            as_integer(self.max_iter, "max_iter", owner=owner, at_least=1),
            None if tol is None else as_real(tol, "tol", owner=owner, above=0),
            as_bool(self.shuffle, "shuffle", owner=owner),
            as_bool(self.fit_intercept, "fit_intercept", owner=owner),
            as_bool(self.average, "average", owner=owner),
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Play epochs of rounds over the rows, from weights of 0, until one is without mistakes.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            For NaN, infinity, values too large to square, and fewer than two classes.
        """
        settings = self._settings()
        samples = self._training_samples(X)
        n = samples.shape[0]
        classes, codes = as_labels(y, n, owner=type(self).__name__, min_classes=2)
        rounds = self._rounds(samples, codes, len(classes), settings, None)
        random = as_random_state(self.random_state) if settings.shuffle else None

        def fitted():
            return {"classes_": classes, "n_features_in_": samples.shape[-1]} | rounds.attributes()

        trace = []
        with Progress(self.verbose, self.callback, type(self).__name__, self) as progress:
            watched = progress.active
            while len(trace) < settings.max_iter and (not trace or trace[-1]):
                order = np.arange(n) if random is None else random.permutation(n)
                trace.append(rounds.epoch(order))
                if watched:
                    before = trace[-2] if len(trace) > 1 else n
                    change = abs(trace[-1] - before) / n
                    progress.step(len(trace), float(trace[-1]), change, fitted)
                if settings.tol is not None and len(trace) > _PATIENCE:
                    before, last = min(trace[:-_PATIENCE]), min(trace[-_PATIENCE:])
                    if last > before - settings.tol * n:
                        break
        self._set_fitted(X, classes_=classes, **self._attributes(rounds, len(classes), trace))
        return self

    def _attributes(self, rounds, n_classes, trace):
        """Return the attributes after epochs with the same rows, and no rounds before them."""
        margins, length, power = rounds.margins()
        radius = float(np.ldexp(rounds.radius, -power))
        separated = bool(margins.min() > rounds.error())
        return {
            "support_": np.flatnonzero(rounds.counts),
            **rounds.attributes(),
            "mistakes_": sum(trace),
            "n_rounds_": len(rounds.counts) * len(trace),
            "radius_": rounds.radius,
            "n_iter_": len(trace),
            "mistake_trace_": np.array(trace, dtype=np.int64),
            "converged_": trace[-1] == 0 and (rounds.averages or separated),
            "margin_": float(np.ldexp(margins.min() / length, power)) if length > 0 else 0.0,
            "mistake_bound_": mistake_bound(margins, rounds.counts, radius, length, n_classes),
        }

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Play one round with each row in its order, after all earlier ones.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that will come, for the first call; by default those of its `y`.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            For other labels, and what `fit` refuses; the model stays as it was.
        """
        self._block(X, y, classes)
        return self

    def _block(self, X, y, classes):
        """Play a round with each row, and return the rounds."""
        settings, begun = self._settings(), "classes_" in vars(self)
        self._require_blocks()
        samples = self._checked_later(X) if begun else self._training_samples(X)
        n, owner = samples.shape[0], type(self).__name__
        # Classes: declared, those of the first call, or those of y.
        labels, codes = as_labels(y, n, owner=owner)
        known = self.classes_ if begun else labels
        if classes is not None:
            declared = declared_classes(classes, vars(self).get("classes_"), owner=owner)
            if begun and not np.array_equal(declared, known):
                raise ValueError(
                    f"classes={declared.tolist()} must be None, or those of the first call, "
                    f"{known.tolist()}."
                )
            known = declared
        if len(known) < 2:
            raise ValueError(
                f"{owner} needs at least 2 classes, but the first y has only the class "
                f"{known.tolist()[0]!r}: give all labels that will come as classes=."
            )
        codes = _codes_of(labels, known)[codes]
        # The rounds, after those before.
        rounds = self._rounds(samples, codes, len(known), settings, self if begun else None)
        mistakes = rounds.epoch(np.arange(n))
        if begun:
            changed = {
                **rounds.attributes(),
                "mistakes_": self.mistakes_ + mistakes,
                "n_rounds_": self.n_rounds_ + n,
                "radius_": max(self.radius_, rounds.radius),
            }
            self._update_state(changed, forget=[name for name in _OF_FIT if name in vars(self)])
        else:
            self._set_fitted(X, classes_=known, **self._attributes(rounds, len(known), [mistakes]))
        return rounds

    def _begin(self, X, y):
        """Prepare for these rounds; return how many of them that takes."""
        self.partial_fit(X[:1], y[:1], classes=np.unique(y))
        return 1

    def _play(self, X, y):
        """Forget all rounds, play these; return losses, bound and the last function's mistakes."""
        fresh = type(self)(**self.get_params(deep=False))
        counts = fresh._block(X, y, None).counts
        errors = float((fresh.predict(X) != np.asarray(y)).sum())
        self._update_state(vars(fresh), forget=[name for name in vars(self) if name[-1] == "_"])
        return counts.astype(np.float64), fresh.mistake_bound_, errors

    def _require_blocks(self):
        """Refuse settings that need all rows at once."""

    def update(self, x: Any, y: Any) -> Self:
        """Play one round: learn that sample `x` has label `y`.

        Parameters
        ----------
        x : array-like of shape (n_features,), a sparse row, or one sample of the kernel
        y : label

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            As `partial_fit`, of which the first call declares the labels.
        """
        self._check_fitted()
        return self.partial_fit(_as_rows(x), [y])

    def predict_one(self, x: Any) -> Any:
        """Return the label predicted for one sample.

        Parameters
        ----------
        x : array-like of shape (n_features,), a sparse row, or one sample of the kernel

        Returns
        -------
        label : one of `classes_`
            The prediction before the label is known.
        """
        return self.predict(_as_rows(x))[0]

    def bound(self, margin: float | None = None) -> float:
        """Return a bound on `mistakes_`.

        Parameters
        ----------
        margin : float, optional
            Distance by which some function of length 1 is known to separate all rounds; the bound
            is then ``(radius_ / margin)²``, for several classes twice that.

        Returns
        -------
        bound : float
            `mistake_bound_` by default.

        Raises
        ------
        ValueError
            By default after a later `partial_fit` or `update`: the rows that tell are not kept.
        """
        self._check_fitted()
        if margin is not None:
            margin = as_real(margin, "margin", owner=type(self).__name__, above=0)
            counts, n_classes = np.array([self.mistakes_]), len(self.classes_)
            return mistake_bound(np.array([margin]), counts, self.radius_, 1.0, n_classes)
        if "mistake_bound_" not in vars(self):
            raise ValueError(
                f"{type(self).__name__}: after further rounds a bound needs margin=, the "
                "distance by which some function of length 1 separates all rounds."
            )
        return self.mistake_bound_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores: (n_samples,) for two classes, positive for the second, else of each class.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        scores : (n_samples,) or (n_samples, n_classes), in the precision of the fit
            Positive for the second class of two.
        """
        scores = self._scores(self._checked_later(X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the largest score for each row of `X`, the first of equal ones.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,)
            One of `classes_` for each row.
        """
        scores = self._scores(self._checked_later(X))
        codes = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(1)
        return self.classes_[codes]


def _as_rows(x):
    return x if sparse.issparse(x) else [x]


def _codes_of(labels, classes):
    """Return the index in `classes` of each label, intp; refuse others."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    foreign = [label for label in labels.tolist() if label not in known]
    if foreign:
        raise ValueError(f"y has the label {foreign[0]!r}, but the classes are {classes.tolist()}.")
    return np.array([known[label] for label in labels.tolist()], dtype=np.intp)
