"""Test the installed package: `python -m pytest` puts the unbuilt source tree first on the path."""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]

# Dozens of processes import the same modules, whose bytecode is kept whatever the environment says.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

os.environ.setdefault("MPLBACKEND", "agg")  # pictures need no screen

# A shell's background jobs ignore Ctrl-C, and so would the children that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine, or a build with sanitizers, is slow: that is no failure. One commit has one
# verdict: examples are derived from the test. `tools/search_examples` looks for new ones.
slow = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("verdict", derandomize=True, max_examples=25, **slow)
settings.register_profile("search", print_blob=True, **slow)
settings.load_profile("verdict")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """A worker has one half of the tests, so that what is computed once is computed once."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Workers share the cores: threads that wait must not spin, and BLAS has one in each.

    They keep what one test frees for the next, in large pages (glibc): a tenth of the time went
    into new pages, and 3 % into finding them. It is said here, before they start, as plugins of
    pytest load NumPy before this file is read.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**29))
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**27))
    os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported stays: the collector need not look for it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    # Those that run whole programs, some for ten seconds, come first, so that workers end together,
    # and what asks all sources, in one worker.
    programs = ("test_typing.py", "test_tour.py", "test_examples.py", "test_layout.py")
    items.sort(key=lambda item: item.path.name not in programs)


def pytest_runtest_teardown():
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
