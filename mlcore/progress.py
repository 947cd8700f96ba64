"""Progress reports of a long fit: lines on the screen, and a callback.

Ctrl-C needs nothing here: a compiled call lasts less than half a second, and Python looks for
signals between two of them. A fit writes its results only at its end, so none is left half written.
"""

import time
from collections.abc import Callable
from typing import Any

from mlcore.checks.parameters import as_bool, as_integer

_SECONDS_BETWEEN_LINES = 1.0


class Progress:
    """Print the steps of one fit, and pass them to a callback.

    Parameters
    ----------
    verbose : bool or int
        0 or False prints nothing, 1 or True about one line a second, 2 or more every step.
    callback : callable or None
        Called at every step as ``callback(step=, objective=, change=, seconds=)``. An exception it
        raises passes to the caller of the fit unchanged: that is how a callback stops a fit.
    name : str
        Begins every line, usually the name of the model's class.

    Raises
    ------
    TypeError, ValueError
        If `verbose` or `callback` is anything else.

    Examples
    --------
    >>> from mlcore.progress import Progress
    >>> with Progress(0, lambda **seen: print(seen["step"], seen["objective"]), "SVC") as progress:
    ...     progress.step(1, objective=-3.5, change=0.25)
    1 -3.5
    """

    def __init__(
        self, verbose: bool | int = 0, callback: Callable[..., Any] | None = None, name: str = ""
    ) -> None:
        if isinstance(verbose, bool):
            self._verbose = int(as_bool(verbose, "verbose", owner=name))
        else:
            self._verbose = as_integer(verbose, "verbose", owner=name, at_least=0)
        if callback is not None and not callable(callback):
            raise TypeError(
                f"{name}: callback={callback!r} is of type {type(callback).__name__}, "
                "but must be callable or None."
            )
        self._callback = callback
        self._name = name
        self._start = time.perf_counter()
        self._last_line = -float("inf")  # so the first step is printed at once
        self._unprinted: str | None = None

    @property
    def active(self) -> bool:
        """True if steps are printed or passed on; if not, a solver need not compute the report."""
        return self._verbose > 0 or self._callback is not None

    def step(self, step: int, objective: float, change: float) -> None:
        """Report one step: its number, the objective, and the change that `tol` bounds."""
        if not self.active:
            return
        seconds = time.perf_counter() - self._start
        if self._verbose:
            line = (
                f"{self._name}  step {step}  objective {objective:.10g}  change {change:.1e}  "
                f"{seconds:.2f} s"
            )
            if self._verbose > 1 or seconds - self._last_line >= _SECONDS_BETWEEN_LINES:
                print(line, flush=True)
                self._last_line, self._unprinted = seconds, None
            else:
                self._unprinted = line
        if self._callback is not None:
            self._callback(step=step, objective=objective, change=change, seconds=seconds)

    def note(self, text: str) -> None:
        """Print a remark, such as why the steps have ended, after the last step."""
        if self._verbose:
            self.close()
            print(f"{self._name}  {text}", flush=True)

    def close(self) -> None:
        """Print the last step if it came too soon after the line before."""
        if self._unprinted is not None:
            print(self._unprinted, flush=True)
            self._unprinted = None

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
