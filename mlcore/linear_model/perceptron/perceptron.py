"""Perceptron: weights corrected by every row on the wrong side."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mlcore._ext.linear_model import perceptron as _ext
from mlcore.checks.stored import stored
from mlcore.estimator.model import Model
from mlcore.kernels.expansion import row_blocks
from mlcore.kernels.packed import row_sums
from mlcore.linear_model.perceptron.classifier import PerceptronClassifier, Settings
from mlcore.linear_model.perceptron.mistakes import signed_margins
from mlcore.numerics.scores.linear_scores import linear_scores
from mlcore.runtime.threads import pieces, single_threaded_blas

_EXPONENT = {4: 40, 8: 200}  # by bytes of a number: products of larger powers of two may overflow


@stored(version=1)
class AveragedRounds(NamedTuple):
    """State of rounds whose mean predicts; `weights` and `offsets` are those of the next round.

    `lag` and `offset_lag` sum their corrections, each times the number of rounds before it.
    """

    weights: np.ndarray
    offsets: np.ndarray
    lag: np.ndarray
    offset_lag: np.ndarray
    _stored = {
        "weights": "float c' f",
        "offsets": "float64 c'",
        "lag": "float64 c' f",
        "offset_lag": "float64 c'",
    }


class Perceptron(PerceptronClassifier, Model):
    r"""Linear classifier that learns from its mistakes alone, with a bound on their number.

    A round with sample x of label y = ±1 is a mistake if :math:`y (w \cdot x + b) \le 0`; then w
    becomes w + y x, and b becomes b + y. With several classes, each with a w and b, the score of
    the right class must be above all others; else x is added to its w, and subtracted from that of
    the best other class.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of epochs, of one round with each sample.
    tol : float or None, default=None
        Stop when no epoch of the last 5 has lowered the least share of mistakes by more than
        `tol`. By default only an epoch without mistakes ends the fit before `max_iter`.
    shuffle : bool, default=False
        Draw a new order of the samples for each epoch.
    fit_intercept : bool, default=True
        False for b = 0.
    average : bool, default=False
        Predict by the mean of w and b over all rounds, as they were after each.
    random_state : int, Generator, RandomState or None, default=None
        Source of the orders.
    verbose : bool or int, default=False
        Print progress.
    callback : callable or None, default=None
        Called as ``callback(step=, objective=, change=, seconds=)`` after every epoch: its number
        of mistakes, and the change of their share since the epoch before.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    coef_ : (n_classes, n_features) or (1, n_features), in the type of the training data
    intercept_ : (n_classes,) or (1,) float64
    mistakes_ : int
        Mistakes of all rounds; scores of 0, and ties, are mistakes.
    n_rounds_ : int
    mistake_trace_ : (n_iter_,) int64
        Mistakes of each epoch. This and what follows are absent after a second `partial_fit`.
    n_iter_ : int
        Number of epochs.
    support_ : (n_support,) int64
        Samples with mistakes, ascending: with the epochs of these, they determine the function.
    converged_ : bool
        True if the last epoch was without mistakes, by more than rounding: the classes are
        separated, without `average` by this function.
    radius_ : float
        Largest norm of a sample, a constant of 1 included where there is an intercept.
    margin_ : float
        Least y (w.x + b) / |(w, b)| over the samples, negative where one is on the wrong side;
        with several classes, the least lead of the right class, and the norm of all w and b.
    mistake_bound_ : float
        Bound on `mistakes_` from the final w: (radius_ / margin_)² if it separates the samples,
        else `mlcore.bounds.perceptron_mistake_bound` with its hinge loss over the mistakes, at the
        best scale of w of those that give some mistaken sample the margin 1. With several classes
        the radius is sqrt(2) times as large. Infinite where w gives no bound.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n d) time per epoch, O(nnz) for sparse data, times the number of classes if they are more than
    two; O(n) memory beside the data and the weights. There is no warning without convergence:
    `mistake_trace_` shows the mistakes of later epochs.

    References
    ----------
    F. Rosenblatt, *The perceptron: a probabilistic model for information storage and organization
    in the brain*, Psychological Review 65, 1958.
    Y. Freund, R. Schapire, *Large margin classification using the perceptron algorithm*, Machine
    Learning 37, 1999.
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, section 21.4.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.linear_model import Perceptron
    >>> X, y = load_iris()
    >>> model = Perceptron().fit(X[:100], y[:100])
    >>> model.mistakes_, model.n_iter_, model.converged_
    (5, 4, True)
    >>> model.mistakes_ <= model.mistake_bound_
    True
    """

    coef_: np.ndarray
    _run_: AveragedRounds | None = None  # with `average`

    _tags = {"input_tags.sparse": True}
    _stored = {"coef_": "float c' f", "_run_": ("|", "none", AveragedRounds)}
    _older = {"_run_": (AveragedRounds, *AveragedRounds._fields)}
    _instead = {
        "alpha": "drop it: there is no penalty",
        "class_weight": "drop it: rounds count mistakes, which have no weights",
        "early_stopping": "use tol=",
        "eta0": "drop it: a factor of all weights changes no prediction",
        "l1_ratio": "drop it: there is no penalty",
        "n_iter_no_change": "drop it: it is 5",
        "penalty": "drop it: the bound on the mistakes holds without one",
        "validation_fraction": "use tol=",
        "warm_start": "use partial_fit",
    }

    def __init__(
        self,
        *,
        max_iter: int = 100,
        tol: float | None = None,
        shuffle: bool = False,
        fit_intercept: bool = True,
        average: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.average = average
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _training_samples(self, X):
        return self._check_X(X, reset=True)

    def _checked_later(self, X):
        self._check_fitted()
        return self._check_X(X, reset=False, like=self.coef_)

    def _rounds(self, samples, codes, n_classes, settings, earlier):
        return LinearRounds(samples, codes, n_classes, settings, earlier)

    def _scores(self, X):
        return linear_scores(X, self.coef_, self.intercept_)


class LinearRounds:
    """Rounds of a linear function with some samples, after those of an `earlier` model.

    `counts` (n,) are the mistakes of each sample; `averages`: the mean function predicts.
    """

    averages: bool
    radius: float
    counts: np.ndarray

    def __init__(
        self,
        X: Any,
        codes: np.ndarray,
        n_classes: int,
        settings: Settings,
        earlier: Perceptron | None,
    ) -> None:
        self._codes, self._settings, self.averages = codes, settings, settings.average
        values = X.data if sparse.issparse(X) else X
        largest = max(values.max(initial=0), -values.min(initial=0))
        power = int(np.frexp(largest)[1])
        self._power = power if abs(power) > _EXPONENT[X.dtype.itemsize] else 0
        if self._power:
            X = X.copy()
            values = X.data if sparse.issparse(X) else X
            np.ldexp(values, -power, out=values)
        self._X = X
        largest_norm = math.ldexp(math.sqrt(row_sums(X, "squares").max()), self._power)
        self.radius = math.hypot(largest_norm, float(settings.fit_intercept))
        self.counts = np.zeros(X.shape[0], dtype=np.int64)
        shape = (1 if n_classes == 2 else n_classes, X.shape[1])
        if earlier is None:
            run, self._n_rounds = None, 0
            weights, offsets = np.zeros(shape), np.zeros(shape[0])
        else:
            run, self._n_rounds = earlier._run_, earlier.n_rounds_
            weights, offsets = earlier.coef_, earlier.intercept_
        if run is None:
            lagging = shape if settings.average else (0, 0)
            run = AveragedRounds(weights, offsets, np.zeros(lagging), np.zeros(lagging[0]))
        self._weights = np.ldexp(run.weights, -self._power).astype(X.dtype)
        self._offsets = np.array(run.offsets)
        self._lag, self._offset_lag = np.ldexp(run.lag, -self._power), np.array(run.offset_lag)
        self._layout = np.transpose if sparse.issparse(X) else np.asarray

    def epoch(self, order: np.ndarray) -> int:
        """Play a round with each row in `order`; return the number of mistakes."""
        X, mistakes = self._X, 0
        # Sparse rows find the weights of a feature side by side.
        weights, lag = (np.ascontiguousarray(self._layout(A)) for A in (self._weights, self._lag))
        in_range = max(-1074, min(-2 * self._power, 996))
        squared_bias = 2.0**in_range if self._settings.fit_intercept else 0.0
        arguments = (
            self._codes, order, squared_bias, weights, self._offsets, lag, self._offset_lag,
            self.counts, np.empty(len(self._weights)), float(self._n_rounds),
        )  # fmt: skip
        with single_threaded_blas():
            for first, last in pieces(len(order), 20 + 2 * weights.size):
                if sparse.issparse(X):
                    call = _ext.sparse_rounds
                    mistakes += call(X.data, X.indices, X.indptr, *arguments, first, last)
                else:
                    mistakes += _ext.dense_rounds(X, *arguments, first, last)
        self._weights, self._lag = self._layout(weights), self._layout(lag)
        self._n_rounds += len(order)
        return mistakes

    def _function(self):
        """Return the weights and offsets that predict after the rounds."""
        if not self._settings.average:
            return self._weights, self._offsets
        weights = self._weights - self._lag / self._n_rounds
        return weights.astype(self._X.dtype), self._offsets - self._offset_lag / self._n_rounds

    def margins(self) -> tuple[np.ndarray, float, int]:
        """Return the signed margins of the rows (n,), the norm of all weights, and their unit.

        With the unit p, margins are divided by 4^p and the norm is divided by 2^p.
        """
        weights, offsets = self._function()
        unit, zeros = max(self._power, 0), np.zeros(len(weights))
        margins = np.empty(len(self._codes))
        for rows in row_blocks(self._X, len(weights)):
            scores = linear_scores(self._X[rows], weights, zeros).T.astype(np.float64)
            scores = np.ldexp(scores, 2 * (self._power - unit))
            scores += np.ldexp(offsets, -2 * unit)[:, None]
            margins[rows] = signed_margins(scores, self._codes[rows])
        norm = math.sqrt(np.einsum("kj,kj->", weights, weights, dtype=np.float64))
        length = math.hypot(
            math.ldexp(norm, self._power - unit), math.ldexp(np.linalg.norm(offsets), -unit)
        )
        return margins, length, unit

    def error(self) -> float:
        """Return 0: margins are those of the scores that predict."""
        return 0.0

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the function."""
        weights, offsets = self._function()
        run = None
        if self._settings.average:
            own, lag = (np.ldexp(A, self._power) for A in (self._weights, self._lag))
            run = AveragedRounds(own, self._offsets, lag, self._offset_lag)
        return {"coef_": np.ldexp(weights, self._power), "intercept_": offsets, "_run_": run}
