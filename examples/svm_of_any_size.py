"""Support vector machines with more samples than rows of their Gram matrix fit into memory.

python examples/svm_of_any_size.py                         10,000 and 30,000 samples of 50 features
python examples/svm_of_any_size.py 10000 100000 1000000    these; a million take ten minutes
python examples/svm_of_any_size.py --write FILE.md ...     puts the table into the page
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from mlcore.svm import SVC

MARKS = "<!-- svm -->", "<!-- end of svm -->"
N_FEATURES, N_GROUPS, FLIPPED = 50, 20, 0.01
CACHE = 200  # MB
BYTES = 1 if sys.platform == "darwin" else 1024  # of a unit of the largest resident set


def samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty normal groups in two classes, one label of a hundred wrong; made block by block."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(N_GROUPS, N_FEATURES))
    X, y = np.empty((n, N_FEATURES)), np.empty(n, dtype=np.int64)
    for first in range(0, n, 10_000):
        rows = slice(first, min(n, first + 10_000))
        group = rng.integers(0, N_GROUPS, rows.stop - first)
        X[rows] = centers[group] + rng.normal(size=(len(group), N_FEATURES))
        y[rows] = (group % 2) ^ (rng.random(len(group)) < FLIPPED)
    return X, y


def largest_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES


def fit(n: int) -> dict[str, Any]:
    """Time, memory and optimality of a fit to n samples."""
    X, y = samples(n)
    before, start = largest_memory(), time.perf_counter()
    model = SVC(gamma=0.5 / N_FEATURES, cache_size=CACHE).fit(X, y)
    return {
        "n": n,
        "seconds": time.perf_counter() - start,
        "MB": (largest_memory() - before) / 1e6,
        "gap": model.duality_gap_ / model.primal_objective_,
        "support": len(model.support_),
    }


def table(sizes: list[int]) -> list[str]:
    """Lines of the table; each fit in a process of its own, whose memory is its alone."""
    lines = [
        "| samples | time | support vectors | duality gap, relative | memory beyond the samples |",
        "| --- | --- | --- | --- | --- |",
    ]
    found = []
    for size in sizes:
        command = [sys.executable, __file__, "--one", str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout))
        lines.append(
            "| {n:,} | {seconds:.1f} s | {support:,} | {gap:.0e} | {MB:.0f} MB |".format(
                **found[-1]
            )
        )
        print(lines[-1], file=sys.stderr, flush=True)
    if len(found) > 1:
        logs = np.log([[row["n"], row["seconds"]] for row in found])
        slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
        lines += ["", f"Time grows as n to the {slope:.2f}."]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=[10_000, 30_000])
    parser.add_argument("--one", type=int, help="print the figures of one fit")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(fit(arguments.one)))
        return
    lines = table(arguments.sizes)
    if arguments.write is None:
        print("\n".join(lines))
        return
    page = arguments.write.read_text(encoding="utf-8")
    start, end = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
    text = page[:start] + "\n" + "\n".join(lines) + "\n" + page[end:]
    arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
