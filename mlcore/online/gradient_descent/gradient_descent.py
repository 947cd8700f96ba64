"""Online gradient descent for convex losses of a linear prediction."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from mlcore.bounds import ogd_regret_bound, projected_ogd_regret_bound
from mlcore.bounds.arguments import as_choice, as_count, as_positive, as_real, refuse
from mlcore.checks.arrays import as_floats, real_array
from mlcore.online.gradient_descent.hindsight import best_in_hindsight
from mlcore.online.gradient_descent.losses import LOSSES, LossName
from mlcore.online.gradient_descent.sets import VectorSet
from mlcore.online.hedge import begins_anew
from mlcore.online.learner import OnlineLearner

_ROUNDING = 1e-9


class OnlineGradientDescent(OnlineLearner):
    r"""Predict w.x, then step against the subgradient of the loss, and back into a convex set.

    On any sequence of convex losses the sum of the losses exceeds that of the best vector of the
    set, in hindsight, by at most `bound()`, which grows as :math:`\sqrt T`. A round takes O(d)
    time, O(d log d) with the simplex.

    Parameters
    ----------
    loss : {"hinge", "logistic", "absolute", "squared"} or callable, default="hinge"
        ``max(0, 1 - y w.x)`` and ``ln(1 + exp(-y w.x))`` for y = ±1; ``|w.x - y|`` and
        ``(w.x - y)²``. Or a function of w, x and y that returns the loss, convex in w, and a
        subgradient (n_features,).
    radius : float, default=1.0
        Size of the set; without one (projection=None), largest norm of the vectors that `bound`
        compares with.
    projection : {"ball", "box", "simplex", None}, default="ball"
        Set of w: |w| <= radius; all entries from -radius to radius; entries of at least 0 that sum
        to radius; or all vectors.
    schedule : {"fixed", "doubling", "decreasing", "strongly_convex"} or None, default=None
        Steps: for `horizon` rounds, after which more are refused; for 1, 2, 4, 8, ... rounds, each
        time from the centre of the set; D / (lipschitz sqrt(t)) for a set of diameter D; or
        1 / (strong_convexity t). None is "fixed" with a `horizon`, "decreasing" without.
    horizon : int or None, default=None
        Number of rounds, for "fixed".
    lipschitz : float, default=1.0
        Largest norm of a subgradient; a round with a larger one is refused.
    strong_convexity : float or None, default=None
        For "strongly_convex": the loss less half of this times |w|² is convex.

    Attributes
    ----------
    coef_ : (n_features,) array of float64
        w of the next round.
    mean_coef_ : (n_features,) array of float64
        Mean of the w that predicted in all rounds.
    loss_ : float
        Sum of the losses.
    squared_subgradients_ : float
        Sum of the squared norms of the subgradients.
    n_rounds_ : int
        Rounds learned from.

    Raises
    ------
    ValueError
        At a prediction or round, for parameters out of range, and for points, labels or
        subgradients that are not finite, of a wrong length or too large.

    References
    ----------
    M. Zinkevich, *Online convex programming and generalized infinitesimal gradient ascent*, ICML
    2003.
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, section 21.3.
    E. Hazan, *Introduction to Online Convex Optimization*, 2016, chapter 3.

    Examples
    --------
    >>> from mlcore.online import OnlineGradientDescent, play
    >>> learner = OnlineGradientDescent(loss="hinge", radius=2.0, horizon=4)
    >>> game = play(learner, [[1, 0], [0, 1], [1, 0], [0, 1]], [1, -1, 1, -1])
    >>> learner.coef_
    array([ 1., -1.])
    >>> game.losses, game.regret <= game.bound
    (array([1., 1., 0., 0.]), True)
    """

    coef_: np.ndarray
    mean_coef_: np.ndarray
    loss_: float
    squared_subgradients_: float
    _stored = {
        "coef_": "float64 d",
        "mean_coef_": "float64 d",
        "loss_": "float",
        "squared_subgradients_": "float",
    }

    def __init__(
        self,
        *,
        loss: LossName | Callable[..., Any] = "hinge",
        radius: float = 1.0,
        projection: Literal["ball", "box", "simplex"] | None = "ball",
        schedule: Literal["fixed", "doubling", "decreasing", "strongly_convex"] | None = None,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        strong_convexity: float | None = None,
    ) -> None:
        self.loss = loss
        self.radius = radius
        self.projection = projection
        self.schedule = schedule
        self.horizon = horizon
        self.lipschitz = lipschitz
        self.strong_convexity = strong_convexity

    def observed_bound(self, u: Any) -> float:
        r"""Return the bound on the regret against one vector, from the subgradients of the rounds.

        For steps of a fixed size, :math:`|u - w_1|^2 / 2 \eta + \eta / 2 \sum_t |v_t|^2`.

        Parameters
        ----------
        u : array-like of shape (n_features,)
            Vector of the set.

        Returns
        -------
        bound : float
            In the units of the loss.

        Raises
        ------
        ValueError
            With another schedule, before the first round, and for a vector outside the set.
        """
        state = self._state()
        if self._schedule() != "fixed":
            refuse("schedule", self.schedule, "'fixed' for observed_bound")
        u = self._comparator(state, u, "u")
        start, eta = self._set().start(len(u)), self._step(1, len(u))
        squares = state["squared_subgradients_"]
        distance = float(np.sum((u - start) ** 2))
        return (distance / (2 * eta) if distance else 0.0) + eta / 2 * squares

    def regret(self, X: Any, y: Any, comparator: Any = None) -> float:
        """Return by how much `loss_` exceeds the total loss of a vector in the same rounds.

        Parameters
        ----------
        X : array-like of shape (n_rounds, n_features)
            All rounds since `fit`, or since the first.
        y : array-like of shape (n_rounds,)
        comparator : array-like of shape (n_features,), optional
            Vector of the set. By default the best in hindsight; the regret is then what it is
            proven not to exceed: the duality gap of that vector is added.

        Returns
        -------
        regret : float
            In the units of the loss.

        Raises
        ------
        ValueError
            For another number of rounds, a vector outside the set, and a loss of your own without
            `comparator`.
        """
        state = self._state()
        rounds = self._rounds(state, X, y)
        points, targets = zip(*rounds, strict=True)
        if len(points) != state.get("n_rounds_", 0):
            raise ValueError(
                f"X has {len(points)} rounds, but the learner has played "
                f"{state.get('n_rounds_', 0)}."
            )
        if comparator is None:
            if callable(self.loss):
                raise ValueError(
                    "the best vector in hindsight is known for losses by name only: give "
                    "comparator=."
                )
            return self.loss_ - self._best_loss(state, points, targets)
        u = self._comparator(state, comparator, "comparator")
        losses = (self._loss_and_subgradient(u, *pair)[0] for pair in rounds)
        return self.loss_ - math.fsum(losses)

    def _schedule(self):
        if self.schedule is not None:
            return self.schedule
        return "decreasing" if self.horizon is None else "fixed"

    def _set(self):
        return VectorSet(self.projection, float(self.radius))

    def _start(self):
        if not callable(self.loss):
            as_choice(self.loss, "loss", tuple(LOSSES))
        as_positive(self.radius, "radius")
        as_choice(self.projection, "projection", ("ball", "box", "simplex", None))
        schedules = ("fixed", "doubling", "decreasing", "strongly_convex", None)
        as_choice(self.schedule, "schedule", schedules)
        schedule = self._schedule()
        as_positive(self.lipschitz, "lipschitz")
        if self.horizon is not None:
            as_count(self.horizon, "horizon", at_least=1)
        elif schedule == "fixed":
            refuse("horizon", None, "the number of rounds with schedule='fixed': where it is not "
                   "known, take schedule='decreasing' or 'doubling'")  # fmt: skip
        if schedule == "strongly_convex" or self.strong_convexity is not None:
            as_positive(self.strong_convexity, "strong_convexity")
        if schedule == "decreasing" and self.projection is None:
            refuse("projection", None, "'ball', 'box' or 'simplex' with schedule='decreasing', "
                   "which is also that without a horizon")  # fmt: skip
        return {"squared_subgradients_": 0.0}

    def _point(self, state, x, name):
        vector = _as_vector(x, name)
        if "coef_" in state and len(vector) != len(state["coef_"]):
            raise ValueError(
                f"{name} has {len(vector)} features, but the first round had {len(state['coef_'])}."
            )
        return vector

    def _points(self, state, X):
        points = super()._points(state, X)
        sizes = sorted(set(map(len, points)))
        if len(sizes) > 1:
            raise ValueError(f"X has points of {sizes[0]} and of {sizes[-1]} features.")
        return points

    def _target(self, state, y, name):
        if callable(self.loss):
            return y
        if LOSSES[self.loss].labels:
            return float(y) if np.ndim(y) == 0 and y in (-1, 1) else refuse(name, y, "-1 or 1")
        return as_real(y.item() if isinstance(y, np.generic) else y, name)

    def _weights(self, state, d):
        return state["coef_"] if "coef_" in state else self._set().start(d)

    def _prediction(self, state, point):
        return float(self._weights(state, len(point)) @ point)

    def _next(self, state, point, target):
        w, t = self._weights(state, len(point)), state.get("n_rounds_", 0) + 1
        if self._schedule() == "fixed" and t > self.horizon:
            raise ValueError(f"horizon={self.horizon} rounds are over: no more are taken.")
        loss, subgradient = self._loss_and_subgradient(w, point, target)
        with np.errstate(over="ignore"):
            squares = float(subgradient @ subgradient)
        if not math.sqrt(squares) <= float(self.lipschitz) * (1 + _ROUNDING):
            raise ValueError(
                f"lipschitz={self.lipschitz} must be at least the norm of every subgradient: that "
                f"of this round is {math.sqrt(squares):.6g}. Raise it, or scale the points."
            )
        anew = self._schedule() == "doubling" and begins_anew(t)
        step = self._step(t, len(w)) * subgradient
        mean = state.get("mean_coef_", np.zeros_like(w))
        return {
            **state,
            "coef_": self._set().start(len(w)) if anew else self._set().project(w - step),
            "mean_coef_": mean + (w - mean) / t,
            "loss_": state.get("loss_", 0.0) + loss,
            "squared_subgradients_": state["squared_subgradients_"] + squares,
            "n_rounds_": t,
        }, loss

    def _loss_and_subgradient(self, w, point, target):
        if not callable(self.loss):
            loss, z = LOSSES[self.loss], float(w @ point)
            return float(loss.value(z, target)), float(loss.derivative(z, target)) * point
        value, subgradient = self.loss(w.copy(), point, target)
        return as_real(value, "loss"), _as_vector(subgradient, "the subgradient of loss", len(w))

    def _step(self, t, d):
        """Return the size of the step after round t."""
        if self._schedule() == "strongly_convex":
            return 1 / (float(self.strong_convexity) * t)
        lipschitz = float(self.lipschitz)
        if self._schedule() == "decreasing":
            return self._set().diameter(d) / (lipschitz * math.sqrt(t))
        rounds = self.horizon if self._schedule() == "fixed" else 1 << (t.bit_length() - 1)
        return self._set().reach(d) / (lipschitz * math.sqrt(rounds))

    def _bound(self, state):
        rounds, vectors = state.get("n_rounds_", 0), self._set()
        if rounds == 0:
            return 0.0
        d, lipschitz = len(state["coef_"]), float(self.lipschitz)
        if self.projection == "simplex" and d == 1:
            return 0.0  # there is one vector
        if self._schedule() == "strongly_convex":
            convexity = float(self.strong_convexity)
            return projected_ogd_regret_bound(1.0, lipschitz, rounds, strong_convexity=convexity)
        if self._schedule() == "decreasing":
            return projected_ogd_regret_bound(vectors.diameter(d), lipschitz, rounds)
        rounds = self.horizon if self._schedule() == "fixed" else rounds
        return ogd_regret_bound(vectors.reach(d), lipschitz, rounds, schedule=self._schedule())

    def _best_loss(self, state, points, targets):
        if callable(self.loss):
            return math.nan
        hindsight = best_in_hindsight(
            np.array(points), np.array(targets), LOSSES[self.loss], self._set()
        )
        return hindsight.value - hindsight.gap

    def _comparator(self, state, u, name):
        u = self._point(state, u, name)
        distance = float(np.linalg.norm(u - self._set().project(u)))
        if distance > _ROUNDING * float(self.radius):
            raise ValueError(
                f"{name} must be in the set of projection={self.projection!r} and "
                f"radius={self.radius}, but is at a distance of {distance:.6g}."
            )
        return u


def _as_vector(x, name, n=None):
    """Return a vector of finite numbers, float64 (d,), or raise ValueError."""
    try:
        vector = as_floats(real_array(x, name), np.float64)
    except TypeError as error:
        raise ValueError(str(error)) from None
    shape = "(n_features,)" if n is None else f"({n},)"
    if vector.ndim != 1 or len(vector) == 0 or len(vector) != (n or len(vector)):
        raise ValueError(f"{name} has shape {vector.shape}, but must have shape {shape}.")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must hold finite numbers, without NaN and infinity.")
    return vector
