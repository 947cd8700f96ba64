"""The EM loop: starts, steps until convergence, and restarts of collapsed components."""

import math
from typing import Any, Self

import numpy as np

from mlcore.mixture.components import Components
from mlcore.progress import Progress

RECENT = 2  # factor by which partial_fit weights the newest rows
_RESTARTS = 3  # times that collapsed components are restarted


class Run:
    """One run of EM.

    Attributes
    ----------
    parameters : Parameters
        After the last step.
    trace : list of float
        The objective before each step.
    collapsed : (n_collapsed,) intp
        Components that the last step left collapsed.
    restarted : (n_restarted,) intp
        Components that began in place of collapsed ones.
    converged : bool
    """

    def __init__(self, parameters: Any, objective: float = -math.inf) -> None:
        """Begin at parameters; an earlier fit may have reached them with this objective."""
        self.parameters = parameters
        self.trace: list[float] = []
        self.collapsed = np.zeros(0, np.intp)
        self.restarted = np.zeros(0, np.intp)
        self.converged = False
        self._objective = objective

    @property
    def objective(self) -> float:
        """The objective before the last step."""
        return self.trace[-1] if self.trace else self._objective

    @property
    def rank(self) -> tuple[int, float]:
        """Key that is larger for better runs: fewer collapsed components, then the objective."""
        return -len(self.collapsed), self.objective

    def reorder(self, components: Components, order: np.ndarray) -> None:
        """Put component ``order[j]`` in place j."""
        self.parameters = components.reorder(self.parameters, order)
        self.collapsed = np.flatnonzero(np.isin(order, self.collapsed))
        self.restarted = np.flatnonzero(np.isin(order, self.restarted))


class EM:
    """EM for components over the same rows.

    Parameters
    ----------
    components : Components
    rows : Rows
        As ``components.rows`` returns them.
    tol : float
        A run has converged when its objective moves by less in a step.
    progress : Progress, optional
        Shows every step.
    """

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
        step, rows = self.components.step, self.rows
        while len(run.trace) < n_steps and not run.converged:
            objective, run.parameters, collapsed = step(rows, run.parameters)
            change = objective - run.objective if objective > -math.inf else math.inf
            run.trace.append(objective)
            run.collapsed = np.flatnonzero(collapsed)
            self._progress.step(len(run.trace), objective, change)
            run.converged = abs(change) < self.tol

    def best(self, runs: list[Run], n_steps: int) -> Run:
        """Return the best of some runs after `n_steps` steps each; the only one takes none."""
        if len(runs) == 1:
            return runs[0]
        together = not self._progress.active
        if not (together and self.components.step_together(runs, self.rows, n_steps)):
            for run in runs:
                self.advance(run, n_steps)
        return max(runs, key=lambda run: run.rank)

    def restart_collapsed(self, run: Run, n_steps: int, rng: np.random.Generator) -> Run:
        """Return the run, or one of fewer collapsed components, restarted a few times.

        Each time is a run of its own, from the parameters of the best so far.
        """
        for _ in range(_RESTARTS if len(run.collapsed) else 0):
            start = self.components.restart(run.parameters, run.collapsed, self.rows, rng)
            if start is None:
                break
            again = Run(start)
            again.restarted = np.union1d(run.restarted, run.collapsed)
            self.advance(again, n_steps)
            if len(again.collapsed) < len(run.collapsed):
                run = again
                if not len(run.collapsed):
                    break
        return run
