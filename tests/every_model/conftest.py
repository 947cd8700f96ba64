"""Every test of this folder runs for each model, and none for ever."""

import signal

import pytest
from each import tell_all_that_fail

from contract import MODELS, groups

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


@pytest.fixture(params=groups(MODELS), ids="+".join)
def entry(request):
    """The names of some models; the test is called with the entry of each."""
    return request.param


@pytest.fixture
def data(entry):
    """The samples and targets of the entry that the test is called with."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Call a test for each model of its group, and tell all that fail by name."""
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    if "entry" not in given:
        return None

    def call(name):
        given["entry"] = entry = MODELS[name]
        if "data" in given:
            X = entry.draw()
            given["data"] = X, entry.targets(X)
        pyfuncitem.obj(**given)

    tell_all_that_fail(call, given["entry"])
    return True
