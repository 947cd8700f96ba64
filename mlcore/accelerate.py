"""The command `python -m mlcore.accelerate script.py`: run a script with scikit-learn accelerated.

It is no module to import: `mlcore.accelerate` is the function, and an import of this file would put
a module in its place.
"""

import argparse
import builtins
import os
import runpy
import sys
from io import open_code
from types import ModuleType, TracebackType

from mlcore.acceleration import accelerate

if __name__ != "__main__":
    raise ImportError(
        "mlcore.accelerate is a function: `import mlcore`, then call `mlcore.accelerate()`. As a "
        "command: `python -m mlcore.accelerate script.py`."
    )


def main(argv: list[str]) -> int:
    """Run the script, or with -m the module, as Python runs it, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mlcore.accelerate",
        description="Run a Python script; where the result is the same, mlcore fits scikit-learn's "
        "models.",
        epilog="Exit status and tracebacks are the script's.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="after each fit, write its class, shape, seconds and evidence to stderr",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="the script is a module")
    parser.add_argument("script", help="path, or name after -m")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    given = parser.parse_args(argv)
    if not given.is_module and not os.path.exists(given.script):
        parser.error(f"there is no file {given.script}")
    accelerate(report=given.report)
    sys.argv = [given.script, *given.args]
    try:
        if given.is_module:
            runpy.run_module(given.script, run_name="__main__", alter_sys=True)
        else:
            _run(given.script)
    except Exception as error:
        trace = _of_script(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0


def _run(script: str) -> None:
    """Run a file as `python script` does, as the module __main__."""
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    path = os.path.abspath(script)
    module = ModuleType("__main__")
    vars(module).update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = module
    with open_code(path) as file:
        code = compile(file.read(), path, "exec")
    exec(code, vars(module))


def _of_script(trace: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback that begins in the script."""
    outside = (__file__, runpy.run_module.__code__.co_filename)
    while trace is not None and trace.tb_frame.f_code.co_filename in outside:
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
