"""Calls of functions of test_process in forks of one process that has imported all.

It begins no thread, so that its forks are as good as processes of their own, which take a second
and a half to import mlcore, the models of the contract and what these compare themselves with.
"""

import functools
import gc
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

END = "ended with "
SERVER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import warnings
warnings.simplefilter("ignore")
import test_process, forked
test_process.normals()
forked.serve(vars(test_process))
"""


def serve(namespace):
    """Run each line of the input in a child, which prints its number first; then say its end."""
    before = None
    gc.freeze()  # else each child's first collection copies every page that has an object
    for call in sys.stdin:
        if before is not None:
            os.waitpid(before, 0)
        before = os.fork()
        if before == 0:
            _run(call, namespace)
        # It stays in /proc until the next call.
        end = os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
        print(f"\n{END}{end.si_status}", flush=True)


def _run(call, namespace):
    signal.alarm(300)  # if the test is killed meanwhile
    status = 1
    try:
        print(os.getpid(), flush=True)
        exec(call, namespace)
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    finally:
        sys.stdout.flush()
        os._exit(status)


@functools.cache
def _server():
    return subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        cwd=Path(__file__).parent,
    )


class Fork:
    """A call in a fork: its process `pid`, and what it prints."""

    def __init__(self, call):
        self._server = _server()
        self._server.stdin.write(call + "\n")
        self._server.stdin.flush()
        self.pid = int(self._server.stdout.readline())

    def line(self):
        return self._server.stdout.readline()

    def rest(self):
        """What is still printed, once the call has ended; raises if by an exception or a signal."""
        lines = []
        while not (line := self._server.stdout.readline()).startswith(END):
            assert line, "the process of all forks has died"
            lines.append(line)
        text = "".join(lines)
        assert line == f"{END}0\n", text + line
        return text
