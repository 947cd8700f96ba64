"""What a long fit tells: who listens, how often, and how a listener stops it."""

import re

import pytest

from mlcore.estimator import progress as module
from mlcore.estimator.progress import Progress

LINE = re.compile(
    r"SVC  step (\d+)  objective (-?\d\S*)  change (\d\.\de[+-]\d\d)  (\d+\.\d\d) s\n"
)


class Clock:
    """Time that passes only when told."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def run(progress, clock, n_steps=21, seconds=0.25):
    with progress:
        for step in range(1, n_steps + 1):
            clock.now += seconds
            progress.step(step, objective=-1234.5 - step, change=1.25 / step)


@pytest.mark.parametrize("verbose", [0, False])
def test_silent(verbose, clock, capsys):
    progress = Progress(verbose, None, "SVC")
    assert not progress.active
    run(progress, clock)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("verbose", "steps"),
    [(1, [1, 5, 9, 13, 17, 21]), (True, [1, 5, 9, 13, 17, 21]), (2, list(range(1, 22)))],
)
def test_lines_a_second_or_every_step(verbose, steps, clock, capsys):
    run(Progress(verbose, None, "SVC"), clock)
    lines = LINE.findall(capsys.readouterr().out)
    assert [int(line[0]) for line in lines] == steps
    assert [float(line[1]) for line in lines] == [-1234.5 - step for step in steps]
    assert [float(line[2]) for line in lines] == pytest.approx([1.25 / s for s in steps], rel=0.05)
    assert [float(line[3]) for line in lines] == [0.25 * step for step in steps]


def test_the_last_step_is_printed_when_the_fit_ends(clock, capsys):
    run(Progress(1, None, "SVC"), clock, n_steps=3)
    assert [int(line[0]) for line in LINE.findall(capsys.readouterr().out)] == [1, 3]


def test_the_example_of_the_format(clock, capsys):
    progress = Progress(2, None, "SVC")
    clock.now += 0.526
    progress.step(12, objective=-1234.5, change=0.0012)
    assert capsys.readouterr().out == "SVC  step 12  objective -1234.5  change 1.2e-03  0.53 s\n"


def test_a_callback_receives_every_step(clock, capsys):
    seen = []
    progress = Progress(0, lambda **step: seen.append(step), "SVC")
    assert progress.active
    run(progress, clock, n_steps=2)
    assert seen == [
        {"step": 1, "objective": -1235.5, "change": 1.25, "seconds": 0.25},
        {"step": 2, "objective": -1236.5, "change": 0.625, "seconds": 0.5},
    ]
    assert capsys.readouterr().out == ""


def test_an_exception_of_the_callback_passes_unchanged(clock):
    class Enough(Exception):
        pass

    raised = Enough("seen enough")

    def stop(**_):
        raise raised

    with pytest.raises(Enough) as caught:
        run(Progress(0, stop, "SVC"), clock)
    assert caught.value is raised


@pytest.mark.parametrize(
    ("verbose", "error"),
    [(-1, ValueError), ("yes", TypeError), (1.5, TypeError), (None, TypeError)],
)
def test_verbose_is_checked(verbose, error):
    with pytest.raises(error, match="SVC: verbose=.* must be an integer >= 0"):
        Progress(verbose, None, "SVC")


@pytest.mark.parametrize("callback", ["print", 3, [print]])
def test_callback_is_checked(callback):
    with pytest.raises(TypeError, match="SVC: callback=.* must be callable or None"):
        Progress(0, callback, "SVC")
