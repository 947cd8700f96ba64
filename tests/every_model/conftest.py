"""Every test of this folder runs for each model, and none for ever."""

import signal

import pytest

from contract import MODELS

LONGEST_TEST = 60.0  # seconds of CPU; each takes well below one


class Hang(BaseException):
    """A call has taken far too much CPU time; no `except Exception` may hide it."""


@pytest.fixture(autouse=True)
def no_hang():
    def stop(*_):
        raise Hang

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_TEST)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture(params=MODELS)
def entry(request):
    return MODELS[request.param]


@pytest.fixture
def data(entry):
    X = entry.draw()
    return X, entry.targets(X)
