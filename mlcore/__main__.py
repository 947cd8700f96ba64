"""The command `mlcore`: a tour on the handwritten digits it ships, in a few seconds."""

import argparse
import os
import sys
import time

import mlcore
from mlcore.tour.sections import SECTIONS, Digits

_OK, _FAILURE, _INTERRUPTED, _READER_GONE = 0, 1, 130, 141  # 2, wrong usage, is argparse's
_ASCII = str.maketrans("─×²", "-x2")  # of equal width, so that tables stay aligned


def tour() -> None:
    """Print every section, each line as soon as it is known."""
    from mlcore.datasets import load_digits
    from mlcore.runtime.threads import effective_threads

    X, y = load_digits()
    X /= 16  # pixels from 0 to 1
    n = 1200
    digits = Digits(X[:n], y[:n], X[n:], y[n:])
    start = time.perf_counter()
    _say(_bold(f"mlcore {mlcore.__version__}"))
    _say(f"{len(X)} handwritten digits of 8 × 8 pixels: {n} to learn from, {len(X) - n} held out")
    for section in SECTIONS:
        _say("\n" + _bold(section.__doc__))
        for line in section(digits):
            _say(line)
    n_threads = effective_threads()
    threads = f"{n_threads} thread" + "s" * (n_threads > 1)
    seconds = time.perf_counter() - start
    _say(f"\nDone in {seconds:.1f} s on {threads} (OMP_NUM_THREADS sets how many).")


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status, which `mlcore --help` lists."""
    parser = argparse.ArgumentParser(
        prog="mlcore",
        description="A tour of mlcore on the handwritten digits it ships; takes a few seconds.",
        epilog="Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"mlcore {mlcore.__version__}")
    parser.parse_args(argv)
    try:
        tour()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("mlcore: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader left, as in `mlcore | head`; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    except Exception as error:
        print(f"mlcore: {type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        return _FAILURE
    return _OK


def _say(line: str) -> None:
    try:
        line.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        line = line.translate(_ASCII)
    print(line, flush=True)


def _bold(text: str) -> str:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    return f"\x1b[1m{text}\x1b[0m"


if __name__ == "__main__":
    sys.exit(main())
