"""The EM loop: starts, steps until convergence, and restarts of collapsed components."""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.estimator.progress import Progress
from mlcore.mixture.components import Components

RECENT = 2  # factor by which partial_fit weights the newest rows
_RESTARTS = 3  # times that collapsed components are restarted


class Fall(NamedTuple):
    """A step after which the objective was less than before, by more than rounding explains."""

    step: int
    size: float


class Run:
    """One run of EM.

    `trace` has the objective at the start and after each step, `parameters` those of its last
    entry; `following` those of the next step, `ahead` the step after it if it has been computed.
    `change` is the last gain, `fall` the largest. `shrunk` (k,) bool lost their rows or have the
    least variances: of them `spikes` describe tied rows, `collapsed` are the others. `restarted`
    began in place of collapsed ones; `replaced` is the objective of the run that the first restart
    replaced.
    """

    parameters: Any
    following: Any
    change: float
    collapsed: np.ndarray
    restarted: np.ndarray

    def __init__(self, parameters: Any) -> None:
        self.parameters = self.following = parameters
        self.trace: list[float] = []
        self.change = math.inf
        self.ahead: Any = None
        self.shrunk: Any = False
        self.spikes: Any = None
        self.collapsed = np.zeros(0, np.intp)
        self.restarted = np.zeros(0, np.intp)
        self.replaced: float | None = None
        self.fall: Fall | None = None
        self.converged = False
        self._next: Any = None  # (k,) bool: shrunk after the next step

    @property
    def objective(self) -> float:
        """The objective of the parameters."""
        return self.trace[-1] if self.trace else -math.inf

    @property
    def n_steps(self) -> int:
        """Steps taken."""
        return max(0, len(self.trace) - 1)

    def arrive(self, objective: float, following: Any, shrunk: np.ndarray) -> None:
        """Move to `following`, whose objective and next step are known now."""
        self.parameters, self.following = self.following, following
        if self._next is not None:
            self.shrunk = self._next
            before = self.trace[-1]
            self.change = objective - before if before > -math.inf else math.inf
        self.trace.append(objective)
        self._next, self.ahead = shrunk, None

    def reorder(self, components: Components, order: np.ndarray) -> None:
        """Put component ``order[j]`` in place j."""
        self.parameters = components.reorder(self.parameters, order)
        self.collapsed = np.flatnonzero(np.isin(order, self.collapsed))
        self.restarted = np.flatnonzero(np.isin(order, self.restarted))
        if self.spikes is not None:
            self.spikes = self.spikes.reorder(order)


class EM:
    """EM over ``components.rows``; `progress` shows every step.

    A run has converged when its objective moves by less than `tol` in a step, and in the next.
    """

    rows: Any
    tol: float
    components: Components

    def __init__(
        self, components: Components, rows: Any, tol: float, progress: Progress | None = None
    ) -> None:
        self.components, self.rows, self.tol = components, rows, tol
        self._progress = progress or Progress(False, None, "")

    def over(self, rows: Any) -> Self:
        """Return the same loop over other rows, whose steps are not shown as progress."""
        return type(self)(self.components, rows, self.tol)

    def advance(self, run: Run, n_steps: int) -> None:
        """Take steps until the run has converged, or has `n_steps` steps."""
        components, rows, shown = self.components, self.rows, self._progress.active
        if not run.trace:
            run.arrive(*components.step(rows, run.parameters))
        for number in range(len(run.trace), n_steps + 1):
            if run.converged:
                break
            before, step = run.parameters, run.ahead or components.step(rows, run.following)
            run.arrive(*step)
            if shown:
                self._progress.step(number, run.trace[-1], run.change)
            if run.change < 0:
                self._note_fall(run, before)
            settled = abs(run.change) < self.tol and self._next_gain(run) < self.tol
            run.converged = settled and components.resolves(run.parameters, self.tol)
        self._judge(run)

    def _note_fall(self, run, before):
        size = -run.change
        n = self.rows.X.shape[0]
        rounding = self.components.rounding(before, run.trace[-2], n)
        rounding += self.components.rounding(run.parameters, run.objective, n)
        explained = rounding if self.components.exact else max(rounding, self.tol)
        if size > explained and (run.fall is None or size > run.fall.size):
            run.fall = Fall(run.n_steps, size)

    def _next_gain(self, run):
        """Return by how much the step that is not taken moves the objective."""
        run.ahead = run.ahead or self.components.step(self.rows, run.following)
        objective = run.ahead[0]
        if abs(objective - run.objective) >= self.tol:
            return math.inf
        precise = self.components.precise
        run.trace[-1] = precise(self.rows, run.parameters, run.objective)
        return abs(precise(self.rows, run.following, objective) - run.objective)

    def _judge(self, run):
        """Tell components that describe tied rows from collapsed ones."""
        shrunk = np.flatnonzero(run.shrunk)
        run.collapsed, run.spikes = shrunk, None
        ties = self.components.ties(self.rows) if len(shrunk) else None
        if ties is not None:
            mass = run.parameters.weights * self.rows.total
            mass = np.ldexp(mass, self.components.weight_power)
            run.spikes = self.components.spikes(ties, run.parameters, shrunk, mass)
            run.collapsed = np.setdiff1d(shrunk, run.spikes.component)

    def best(self, runs: list[Run], n_steps: int) -> Run:
        """Return the best of some runs after `n_steps` steps each; the only one takes none.

        If the likelihood has no bound, the fewest collapsed components decide, not the objective.
        """
        if len(runs) == 1:
            return runs[0]
        together = not self._progress.active
        if not (together and self.components.step_together(runs, self.rows, n_steps)):
            for run in runs:
                self.advance(run, n_steps)
        if self.components.bounded:
            return max(runs, key=lambda run: run.objective)
        return max(runs, key=lambda run: (-len(run.collapsed), run.objective))

    def restart_collapsed(self, run: Run, n_steps: int, rng: np.random.Generator) -> Run:
        """Return the run, or a better one (as in `best`) with collapsed components restarted.

        Each restart is a run of its own, from the parameters of the best so far.
        """
        for _ in range(_RESTARTS if len(run.collapsed) else 0):
            start = self.components.restart(run.parameters, run.collapsed, self.rows, rng)
            if start is None:
                break
            again = Run(start)
            again.restarted = np.union1d(run.restarted, run.collapsed)
            again.replaced = run.objective if run.replaced is None else run.replaced
            self.advance(again, n_steps)
            better = len(again.collapsed) < len(run.collapsed)
            if again.objective > run.objective if self.components.bounded else better:
                run = again
                if not len(run.collapsed):
                    break
        return run

    def settle(self, run: Run) -> None:
        """Replace the last entry of the trace by the objective of the parameters in float64."""
        if not run.trace:
            run.arrive(*self.components.step(self.rows, run.parameters))
        run.trace[-1] = self.components.precise(self.rows, run.parameters, run.objective)
