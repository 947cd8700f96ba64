"""From rounds on independent examples to one hypothesis, and a bound on its risk."""

import copy
import math
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from mlcore.bounds import hoeffding_epsilon, online_to_batch_bound
from mlcore.bounds.arguments import as_choice, as_delta, as_positive, refuse
from mlcore.checks import as_random_state, require_random_state
from mlcore.estimator.model import Model
from mlcore.online.gradient_descent.gradient_descent import OnlineGradientDescent


class OnlineToBatch(Model):
    r"""Learn from independent examples by an online learner, once, and keep one hypothesis.

    Each hypothesis predicts an example that it has not seen, so the mistakes of the rounds bound
    the risk (`mlcore.bounds.online_to_batch_bound`), without a test set.

    Parameters
    ----------
    learner : OnlineLearner or perceptron
        A copy plays the rounds.
    selection : {"average", "random", "suffix"}, default="average"
        The mean of all vectors, for `OnlineGradientDescent`, whose losses are convex; the
        hypothesis before a round that is drawn; or, for labels, the one with the least share of
        errors on the examples from its round on, plus a term for their number.
    delta : float in (0, 1), default=0.05
        Probability that `risk_bound` fails; with "suffix" it is part of that term.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draw.

    Attributes
    ----------
    hypothesis_ : OnlineLearner or perceptron
        What predicts.
    n_rounds_ : int
        Examples predicted: all, for a perceptron all but the first, which begins it.
    losses_ : (n_rounds_,) array of float64
        1 for each mistake, or the loss.

    Raises
    ------
    ValueError
        At `fit`, for a selection that is not for this learner, and what the learner refuses.

    Notes
    -----
    "suffix" takes O(T²) predictions for T examples.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile, *On the generalization ability of on-line learning
    algorithms*, IEEE Transactions on Information Theory 50, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.linear_model import Perceptron
    >>> from mlcore.online import OnlineToBatch
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X @ [1.0, 2.0] > 0.5
    >>> model = OnlineToBatch(Perceptron(), selection="random", random_state=0).fit(X, y)
    >>> int(model.losses_.sum()), round(model.risk_bound(), 3)
    (26, 0.106)
    """

    hypothesis_: Any
    n_rounds_: int
    losses_: np.ndarray
    _stored = {"hypothesis_": "model", "n_rounds_": "count", "losses_": "float64 r"}

    _no_blocks = "it learns row by row, in their order: use partial_fit or update"

    def __init__(
        self,
        learner: Any,
        *,
        selection: Literal["average", "random", "suffix"] = "average",
        delta: float = 0.05,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.selection = selection
        self.delta = delta
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Play one round with each example, in their order, and keep one hypothesis.

        Parameters
        ----------
        X : array-like or sparse, n_samples points of the learner
        y : array-like of n_samples labels or numbers

        Returns
        -------
        self : OnlineToBatch
            This learner.
        """
        # Parameters, which depend on the kind of the learner.
        selection = as_choice(self.selection, "selection", ("average", "random", "suffix"))
        delta = as_delta(self.delta)
        require_random_state(self.random_state)
        learner = self.learner
        if isinstance(learner, type) or not hasattr(learner, "_begin"):
            refuse("learner", learner, "an online learner or a perceptron")
        linear = isinstance(learner, OnlineGradientDescent)
        if selection == "average" and not linear:
            refuse("selection", selection, "'random' or 'suffix' for this learner: only the losses "
                   "of OnlineGradientDescent are convex")  # fmt: skip
        if selection == "suffix" and linear:
            refuse("selection", selection, "'average' or 'random' for losses of numbers")
        # A new learner, and the rounds that it plays.
        X = X if sparse.issparse(X) else np.asarray(X)
        y = np.asarray(y)
        learner = type(learner)(**learner.get_params(deep=False))
        first = learner._begin(X, y)
        n_rounds = len(y) - first
        if n_rounds < 1:
            raise ValueError(f"y has {len(y)} label(s), but at least {first + 1} are needed.")
        drawn = n_rounds
        if selection == "random":
            drawn = int(as_random_state(self.random_state).integers(n_rounds))
        # Play, and keep the hypotheses before the rounds that may be chosen.
        hypotheses, losses = [], []
        for t in range(n_rounds):
            x, label = _row(X, first + t), y[first + t]
            if selection == "suffix" or t == drawn:
                hypotheses.append(copy.copy(learner))
            before = getattr(learner, "loss_", 0.0)
            wrong = float(not linear and learner.predict_one(x) != label)
            learner.update(x, label)
            losses.append(learner.loss_ - before if linear else wrong)
        # Choose one of them.
        if selection == "average":
            learner._update_state({"coef_": learner.mean_coef_})
            hypotheses.append(learner)
        chosen = _least_suffix(hypotheses, X, y, first, delta) if selection == "suffix" else 0
        self._update_state(
            {
                "hypothesis_": hypotheses[chosen],
                "n_rounds_": n_rounds,
                "losses_": np.array(losses, dtype=np.float64),
            }
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions of `hypothesis_`.

        Parameters
        ----------
        X : array-like or sparse, n points of the learner

        Returns
        -------
        y : (n,) array
            One for each row.
        """
        self._check_fitted()
        return self.hypothesis_.predict(X)

    def risk_bound(self, delta: float | None = None, value_range: float | None = None) -> float:
        """Bound the risk of `hypothesis_`, if the examples were independent and of one source.

        Parameters
        ----------
        delta : float in (0, 1), optional
            Probability that the bound fails, by default the parameter `delta`; with "suffix" not
            less than it.
        value_range : float, optional
            Largest possible loss, for losses of numbers.

        Returns
        -------
        bound : float
            On the probability of an error, or on the expected loss. With "random" it is on the mean
            over the draw.

        Raises
        ------
        ValueError
            For arguments out of range, and losses above `value_range`.
        """
        self._check_fitted()
        delta, T = as_delta(self.delta if delta is None else delta), self.n_rounds_
        if isinstance(self.hypothesis_, OnlineGradientDescent):
            most = as_positive(value_range, "value_range")
            if self.losses_.max() > most:
                refuse(
                    "value_range", value_range, f"at least {self.losses_.max():.6g}, a loss seen"
                )
            mean = math.fsum(self.losses_) / T
            return mean + most * hoeffding_epsilon(T, delta, two_sided=False)
        if value_range is not None:
            refuse("value_range", value_range, "None: mistakes have a loss of 1")
        mistakes = int(self.losses_.sum())
        if self.selection != "suffix":
            return online_to_batch_bound(mistakes, T, delta, method="kl")
        if delta < self.delta:
            refuse("delta", delta, f"at least {self.delta}, by which the hypothesis was selected")
        return online_to_batch_bound(mistakes, T, self.delta, method="select")


def _row(X, i):
    return X[[i]] if sparse.issparse(X) else X[i]


def _least_suffix(hypotheses, X, y, first, delta):
    """Return the number of the hypothesis of `online_to_batch_bound`'s method "select"."""
    T = len(hypotheses)
    values = []
    for t, hypothesis in enumerate(hypotheses):
        errors = np.mean(hypothesis.predict(X[first + t :]) != y[first + t :])
        values.append(errors + math.sqrt(math.log(4 * T / delta) / (2 * (T - t))))
    return int(np.argmin(values))
