"""Progress reports of a long fit: lines on the screen, a callback, and those of scikit-learn.

Ctrl-C needs nothing here: a compiled call lasts less than half a second, and Python looks for
signals between two of them. A fit writes its results only at its end, so none is left half written.
scikit-learn is imported once it has given a callback, and not before.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from mlcore.checks.parameters import as_integer

_SECONDS_BETWEEN_LINES = 1.0
M = TypeVar("M")


class Progress:
    """Print the steps of one fit, and pass them to a callback.

    `verbose` 0 prints nothing, 1 about one line a second, 2 or more every step; lines begin with
    `name`. The callback is called as ``callback(step=, objective=, change=, seconds=)``; its
    exceptions pass to the caller of the fit. scikit-learn's callbacks of `model` see the steps
    counted from 1.
    """

    active: bool

    def __init__(
        self,
        verbose: bool | int = 0,
        callback: Callable[..., Any] | None = None,
        name: str = "",
        model: Any = None,
    ) -> None:
        if isinstance(verbose, bool):
            self._verbose = int(verbose)
        else:
            self._verbose = as_integer(verbose, "verbose", owner=name, at_least=0)
        if callback is not None and not callable(callback):
            raise TypeError(
                f"{name}: callback={callback!r} is of type {type(callback).__name__}, "
                "but must be callable or None."
            )
        self._callback = callback
        self._name = name
        self._model = model if getattr(model, "_skl_callbacks", ()) else None
        # True if steps are printed or passed on; if not, a solver need not compute the report.
        self.active = self._verbose > 0 or callback is not None or self._model is not None
        self._tasks: _Tasks | None = None
        self._start = time.perf_counter()
        self._last_line = -float("inf")  # so the first step is printed at once
        self._unprinted: str | None = None

    def step(
        self,
        step: int,
        objective: float,
        change: float,
        fitted: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """Report one step: its number, the objective, and the change that `tol` bounds.

        `fitted` returns what the model's fitted attributes would be if this step was the last.
        """
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
        if self._tasks is not None and step > 0:
            self._tasks.step(fitted)

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
        if self._model is not None:
            self._tasks = _Tasks(self._model)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.close()
        if self._tasks is not None:
            self._tasks.close(failed=error is not None)


def set_callbacks(self: M, *callbacks: Any) -> M:
    """Have callbacks of scikit-learn watch the next fits; with none, nobody.

    Models with steps have it as a method, from scikit-learn 1.9 on.

    They see a task "fit" and in it an "iteration" after the other, whose number is not known
    before. The `fitted_estimator` of an iteration is None where the model has none to show.

    Parameters
    ----------
    *callbacks : sklearn.callback.FitCallback
        Such as ``sklearn.callback.ProgressBar()``.

    Returns
    -------
    self
        This model.

    Raises
    ------
    ImportError
        Without scikit-learn 1.9 or later.
    TypeError
        For other objects.
    """
    from sklearn.callback import CallbackSupportMixin

    return CallbackSupportMixin.set_callbacks(self, *callbacks)


class _Tasks:
    """The tasks of one fit: they begin with this object and end with `close`."""

    def __init__(self, model: Any) -> None:
        from sklearn.callback import CallbackSupportMixin, with_callbacks

        self._model = model
        self._tear_down = with_callbacks(_nothing)
        try:
            begin = CallbackSupportMixin._init_callback_context
            self._fit = begin(model, max_subtasks=None)
            self._fit.call_on_fit_task_begin(estimator=model)
            self._begin(None)
        except BaseException:
            self._tear_down(model)
            raise

    def _begin(self, fitted):
        self._task = self._fit.subcontext(task_name="iteration")
        self._task.call_on_fit_task_begin(estimator=self._model, reconstruction_attributes=fitted)

    def step(self, fitted: Callable[[], dict[str, Any]] | None) -> None:
        """End an iteration and begin the next; `fitted` returns the fitted attributes of now."""
        self._task.call_on_fit_task_end(estimator=self._model, reconstruction_attributes=fitted)
        self._begin(fitted)

    def close(self, *, failed: bool) -> None:
        """End all tasks; of a fit that failed they have no end."""
        try:
            if not failed:
                self._task.call_on_fit_task_end(estimator=self._model)
                self._fit.call_on_fit_task_end(estimator=self._model)
        finally:
            self._tear_down(self._model)


def _nothing(model):
    """End at once: what scikit-learn does after a fit is all that is wanted."""
