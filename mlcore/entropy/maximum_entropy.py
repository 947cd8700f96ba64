"""Maximum entropy: the distribution nearest to a prior that has given expectations."""

from typing import Any, Literal, NamedTuple

import numpy as np

from mlcore.checks import as_choice, as_integer, as_real, as_samples
from mlcore.checks.arrays import plain_array
from mlcore.checks.errors import warn
from mlcore.entropy.entropies import as_distributions, non_negative
from mlcore.entropy.envelope import lowest_envelope
from mlcore.entropy.evidence import evidence
from mlcore.entropy.gibbs import Gibbs
from mlcore.entropy.iterative_scaling import GeneralisedIterativeScaling, ImprovedIterativeScaling
from mlcore.entropy.newton import Dependent, Newton, Undecided
from mlcore.estimator.printed import fields_as_table
from mlcore.numerics.linear_programme import separating_direction
from mlcore.runtime.threads import single_threaded_blas

_SOLVERS = {
    "newton": Newton,
    "gis": GeneralisedIterativeScaling,
    "iis": ImprovedIterativeScaling,
}
_LAST_DECREMENT = 1e-6  # of a step of Newton's method whose successor would be rounding
_WIDE = 30.0  # range of ln q from which the least points have no probability that float64 adds
_FLATNESS = 1e-9  # of faces, as exact as the linear programme


class MaximumEntropy(NamedTuple):
    """Distribution nearest to a prior with given expectations, and its evidence.

    It is ``p_i = q_i exp(mu . f_i) / Z``.

    Parameters
    ----------
    probabilities : (n,) array
        p, exactly 0 outside `support`.
    multipliers : (m,) array
        mu, of least norm where features depend on each other.
    log_partition : float
        ln Z, for a prior that sums to 1 over all points.
    relative_entropy : float
        Relative entropy of p from the prior: with a uniform one, ln n less the entropy of p.
    residual : float
        Largest ``|E f_j - c_j|`` in units of the largest ``|f_ij - c_j|``.
    dual_objective : float
        ``ln Z - mu . c``; its least value is minus the least relative entropy.
    duality_gap : float
        Bound on the distance of `relative_entropy`, and of minus `dual_objective`, from the least
        relative entropy: ``|mu . (E f - c)|``, what another step could gain at most, and rounding.
        Infinite where the iteration stopped too early to tell.
    n_iter : int
    converged : bool
        `residual` is at most `tol`.
    trace : (n_iter + 1,) array
        `dual_objective` at the start and after each step, never rising.
    support : (n,) bool array
        Points that some distribution with these expectations gives a positive probability.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.entropy import maximum_entropy
    >>> die = maximum_entropy(np.arange(1.0, 7.0)[:, None], [4.5])
    >>> die.converged, die.residual < 1e-10, die.duality_gap < 1e-12
    (True, True, True)
    """

    probabilities: np.ndarray
    multipliers: np.ndarray
    log_partition: float
    relative_entropy: float
    residual: float
    dual_objective: float
    duality_gap: float
    n_iter: int
    converged: bool
    trace: np.ndarray
    support: np.ndarray

    __repr__ = fields_as_table


class InfeasibleTargets(ValueError):
    """Error for expectations that no distribution has.

    Parameters
    ----------
    message : str
    direction : (m,) array
        u of unit length with ``u . f_i < u . c`` for all points of positive prior.
    margin : float
        Least ``u . (c - f_i)``.

    Examples
    --------
    >>> from mlcore.entropy import InfeasibleTargets, maximum_entropy
    >>> try:
    ...     maximum_entropy([[1.0], [2.0]], [2.5])
    ... except InfeasibleTargets as error:
    ...     print(error.direction, error.margin)
    [1.] 0.5
    """

    direction: np.ndarray
    margin: float

    def __init__(self, message: str, direction: np.ndarray, margin: float) -> None:
        super().__init__(message)
        self.direction, self.margin = direction, margin

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.direction, self.margin)


def maximum_entropy(
    features: Any,
    targets: Any,
    prior: Any = None,
    *,
    solver: Literal["newton", "gis", "iis"] = "newton",
    tol: float = 1e-10,
    max_iter: int | None = None,
) -> MaximumEntropy:
    """Return the distribution nearest to a prior in relative entropy with given expectations.

    It minimises ``sum_i p_i ln(p_i / q_i)`` subject to ``sum_i p_i f_i = c`` and ``sum_i p_i = 1``;
    with a uniform prior it has the largest entropy. The minimiser is a Gibbs distribution
    ``q_i exp(mu . f_i) / Z``, and its multipliers mu minimise the convex dual ``ln Z - mu . c``.

    If c is on the boundary of the convex hull of the points, the minimiser has zeros and mu would
    diverge: a linear programme finds these zeros, and the fit goes on without them.

    Parameters
    ----------
    features : array-like of shape (n, m)
        f, the features of each point.
    targets : array-like of shape (m,)
        c, their expectations.
    prior : array-like of shape (n,), optional
        q, at least 0; scaled to sum 1. Uniform by default.
    solver : {"newton", "gis", "iis"}, default="newton"
        Newton's method on the dual, O(n m²) a step, a few steps; generalised or improved iterative
        scaling, O(n m) a step, hundreds of them.
    tol : float, default=1e-10
        Largest `residual` at which the iteration ends.
    max_iter : int, optional
        By default 200 steps of Newton's method, 10,000 of scaling.

    Returns
    -------
    result : MaximumEntropy
        The distribution with its evidence.

    Raises
    ------
    InfeasibleTargets
        If no distribution over the points of positive prior has these expectations: a ValueError
        with a `direction` u and its `margin`, ``u . f_i <= u . c - margin`` for all these points.
    ValueError
        For input that is not finite, shapes that do not fit, and parameters out of range.

    Warns
    -----
    ConvergenceWarning
        If `residual` is above `tol` after `max_iter` steps.

    References
    ----------
    E. T. Jaynes, *Information theory and statistical mechanics*, Physical Review 106, 1957.

    Examples
    --------
    A die whose mean is 4.5 instead of 3.5:

    >>> import numpy as np
    >>> from mlcore.entropy import entropy, maximum_entropy
    >>> faces = np.arange(1.0, 7.0)[:, None]
    >>> p = maximum_entropy(faces, [4.5]).probabilities
    >>> p.round(4)
    array([0.0544, 0.0788, 0.1142, 0.1654, 0.2398, 0.3475])
    >>> round(entropy(p), 6)
    1.613581
    """
    f = as_samples(features, owner="maximum_entropy", name="features")
    c = _as_targets(targets, f.shape[1])
    log_prior, points = _as_prior(prior, len(f))
    kind = _SOLVERS[as_choice(solver, "solver", _SOLVERS)]
    tol = as_real(tol, "tol", above=0)
    limit = as_integer(
        kind.default_max_iter if max_iter is None else max_iter, "max_iter", at_least=1
    )
    with single_threaded_blas():
        return _Fit(f, c, log_prior, points, kind, tol, limit).run()


class _OffFace(Exception):
    """The target is not on the face, but a little more inside than the programme sees."""


class _Fit:
    """One call of maximum_entropy: the iteration, and the questions to the linear programme."""

    def __init__(self, f, c, log_prior, points, kind, tol, limit):
        self.f, self.c, self.log_prior, self.points = f, c, log_prior, points
        self.kind, self.tol, self.limit = kind, tol, limit
        self.trace: list[float] = []
        self.floor: np.ndarray | float = 0.0  # of differences of each feature
        self.before: tuple[Any, ...] | None = None  # sums, mu and steps before those of a face

    def run(self):
        gibbs = self._within_ranges(self.points)
        mu = np.zeros(len(self.c))  # coefficients of h
        certain = False  # that the minimum is attained
        while True:
            try:
                end, at, obstacle = self._minimise(gibbs, mu, certain)
                if obstacle is None or (certain and isinstance(obstacle, Undecided)):
                    return self._result(gibbs, end, at)
                mu = gibbs.features_of(end)
                if isinstance(obstacle, Dependent):
                    gibbs = gibbs.whitened()
                    continue
                face = self._face(gibbs, mu)
            except _OffFace:
                (gibbs, mu, n_steps), face = self.before, None
                del self.trace[n_steps:]
            if face is not None:
                # The same multipliers: without the other points the dual is lower.
                mu = np.where(face.constant, 0.0, mu / gibbs.scale * face.scale)
                gibbs = face
            certain = True
            if np.ptp(gibbs.log_prior) > _WIDE and self.kind.second_order:
                lowest = lowest_envelope(gibbs)
                if lowest is not None:
                    mu = gibbs.features_of(lowest)
                    self.trace.clear()  # it starts there

    def _minimise(self, gibbs, mu, certain):
        start = gibbs.coordinates_of(mu)
        at = gibbs.moments(start, covariance=self.kind.second_order)
        return self._iterate(gibbs, self.kind(gibbs, certain), start, at)

    def _face(self, gibbs, mu):
        """Return the sums over the points of a face that the target is on, None if it is inside."""
        separation, products = _separation(gibbs)
        rounding = 4 * gibbs.rounding_of(separation.direction)
        near = separation.products <= rounding
        if not near.any():
            self._refuse(gibbs, separation.direction)
        # The programme takes a target for one on the boundary if it is 1e-8 inside of it.
        if separation.verdict == "none" or abs(products[near]).max() > rounding:
            return None
        self.before = gibbs, mu, len(self.trace)
        flatness = max(_FLATNESS, float(gibbs.slack.max()))
        return self._within_ranges(gibbs.points[near], flatness)

    def _within_ranges(self, points, flatness=0.0):
        """Return the points without those that a target at the end of its feature's range forbids.

        A target outside of the range is refused.
        """
        while True:
            gibbs = Gibbs(self.f, self.c, self.log_prior, points, flatness, self.floor)
            if len(points) == len(self.points):
                self.floor = gibbs.floor
            outside = np.maximum(gibbs.lower, -gibbs.upper)
            worst = int(np.argmax(np.where(gibbs.constant, -1.0, outside)))
            unit = np.zeros(len(self.c))
            unit[worst] = -1.0 if gibbs.lower[worst] > 0 else 1.0
            if not gibbs.constant[worst] and outside[worst] > gibbs.slack[worst]:
                self._refuse(gibbs, unit)
            at_end = gibbs.at_end
            if not at_end.any():
                return gibbs
            keep = np.ones(len(points), dtype=bool)
            for place, h in gibbs.blocks():
                keep[place] = (abs(h[:, at_end]) <= gibbs.slack[at_end]).all(axis=1)
            if not keep.any():  # at the ends of several ranges, but of no point
                total = np.where(-gibbs.lower < gibbs.upper, -1.0, 1.0) * at_end
                self._refuse(gibbs, total)
            points = points[keep]

    def _iterate(self, gibbs, solver, mu, at):
        """Return mu, the sums there, and why the iteration ended, None if it is at its end."""
        if not self.trace:
            self.trace.append(at.dual)
        while len(self.trace) <= self.limit:
            residual = gibbs.residual(at.gradient)
            if residual <= self.tol and not self.kind.second_order:
                break
            try:
                new, there, directions = solver.step(mu, at)
            except (Dependent, Undecided) as obstacle:
                return mu, at, obstacle
            # A last step of Newton's method leaves nothing but rounding.
            last = residual <= self.tol and solver.decrement <= _LAST_DECREMENT
            if last and gibbs.residual(there.gradient) >= residual:
                break
            for u, highest in zip((new, *directions.T), there.highest, strict=True):
                if gibbs.proves(u, highest):
                    self._refuse(gibbs, u)
            mu, at = new, there
            self.trace.append(min(at.dual, self.trace[-1]))
            if last:
                break
        return mu, at, None

    def _refuse(self, gibbs, u):
        """Raise InfeasibleTargets for a direction in the coordinates of the sums."""
        if len(gibbs.points) < len(self.points):  # it must hold for the points left out, too
            whole = Gibbs(self.f, self.c, self.log_prior, self.points)
            separation, _ = _separation(whole)
            if separation.products.min() > whole.rounding_of(separation.direction):
                gibbs, u = whole, separation.direction
            elif self.before is not None:
                raise _OffFace
        with np.errstate(over="ignore"):
            u = gibbs.features_of(u) / (gibbs.scale / gibbs.scale.min())
        u = u / np.linalg.norm(u / abs(u).max()) / abs(u).max()
        u[gibbs.constant] = 0.0 if u[~gibbs.constant].any() else u[gibbs.constant]
        margin = min(float(-(h @ u).max()) for _, h in gibbs.blocks(offset=self.c))
        columns = np.flatnonzero(u)
        shown = ", ".join(f"{u[j]:.4g} f_{j}" for j in columns[:4])
        others = f" and {len(columns) - 4} more" if len(columns) > 4 else ""
        raise InfeasibleTargets(
            f"no distribution has these targets: u . f, with u = {shown}{others}, is at least "
            f"{margin:.4g} below its target {u @ self.c:.6g} at every point of positive prior"
            f"{'' if len(gibbs.points) == len(self.points) else ' that other targets allow'}.",
            u,
            margin,
        )

    def _result(self, gibbs, mu, at):
        residual = gibbs.residual(at.gradient)
        converged = residual <= self.tol
        if not converged:
            warn(
                "ConvergenceWarning",
                f"maximum_entropy: the residual is {residual:.1e}, above tol={self.tol:.1e}, after "
                f"{len(self.trace) - 1} steps. Increase max_iter or tol.",
            )
        probabilities = np.zeros(len(self.f))
        probabilities[gibbs.points] = gibbs.probabilities(mu)
        support = np.zeros(len(self.f), dtype=bool)
        support[gibbs.points] = True
        if at.covariance is None:
            at = gibbs.moments(mu)
        gap, multipliers = evidence(gibbs, mu, at)
        return MaximumEntropy(
            probabilities,
            multipliers,
            float(at.dual + multipliers @ self.c),
            max(0.0, float(mu @ at.gradient) - at.dual),
            residual,
            at.dual,
            gap,
            len(self.trace) - 1,
            converged,
            np.array(self.trace),
            support,
        )


def _separation(gibbs):
    """Return a direction in which targets are beyond as many points as can be, and how far."""
    rows = -np.concatenate([h.copy() for _, h in gibbs.blocks()])
    separation = separating_direction(rows)
    return separation, rows @ separation.direction


def _as_targets(targets, m):
    array = plain_array(targets, "targets")
    c = as_samples(array[None], name="targets") if array.ndim == 1 and len(array) else None
    if c is None or c.shape[1] != m:
        raise ValueError(
            f"targets has shape {array.shape}, but there must be one for each of the {m} "
            f"features: ({m},)."
        )
    return c[0].astype(np.float64)


def _as_prior(prior, n):
    """Return the logarithm of the prior, scaled to sum 1, and the points where it is positive."""
    if prior is None:
        return np.full(n, -np.log(n)), np.arange(n)
    q = non_negative(prior, "prior")
    if q.shape != (n,):
        raise ValueError(f"prior has shape {q.shape}, but there are {n} points.")
    as_distributions(q, "prior")  # refuses zeros alone
    points = np.flatnonzero(q)
    log_prior = np.full(n, -np.inf)
    log_prior[points] = np.log(q[points]) - np.log(q.max())
    log_prior[points] -= np.log((q / q.max()).sum())
    return log_prior, points
