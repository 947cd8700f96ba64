"""The tables of docs/accelerate.md: parameters, and ten examples before and after.

    python tools/accelerate.py --write             put the table of parameters into the page
    python tools/accelerate.py --examples          run the examples, and print their table
    python tools/accelerate.py --examples --write  run them, and put both tables into the page

Each example of tools/accelerated_examples runs in a fresh interpreter, with scikit-learn as it is
and accelerated, on one thread by default; the time is the least of three runs, without imports.
"""

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import mlcore
from mlcore.acceleration.acceleration import replacements

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "accelerate.md"
EXAMPLES = sorted((ROOT / "tools" / "accelerated_examples").glob("*.py"))
RULES = "<!-- parameters -->", "<!-- end of parameters -->"
TIMES = "<!-- examples -->", "<!-- end of examples -->"
RUNS = 3

CHILD = """
import pickle, runpy, sys, time, warnings
import logging, mlcore
warnings.simplefilter("ignore", FutureWarning)
script, accelerated, runs, target = sys.argv[1:]
lines = []
class Lines(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())
logger = logging.getLogger("mlcore.accelerate")
logger.addHandler(Lines())
logger.propagate = False
logger.setLevel(logging.INFO)
import sklearn.model_selection, sklearn.pipeline
if accelerated == "True":
    mlcore.accelerate()
best = float("inf")
if int(runs) > 1:  # the first of several is a warm-up
    runpy.run_path(script)
lines.clear()
for _ in range(int(runs)):
    start = time.perf_counter()
    names = runpy.run_path(script)
    best = min(best, time.perf_counter() - start)
with open(target, "wb") as file:
    pickle.dump({"seconds": best, "result": names["RESULT"], "lines": lines}, file)
"""


def run(example: Path, accelerated: bool, runs: int = RUNS) -> dict[str, Any]:
    """Run an example in a fresh interpreter: its seconds, results and lines of the log."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "result"
        words = [sys.executable, "-P", "-c", CHILD, example, str(accelerated), str(runs), target]
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | dict(os.environ)
        subprocess.run(words, check=True, env=one)
        return pickle.loads(target.read_bytes())


def difference(before: dict[str, Any], after: dict[str, Any]) -> float:
    """Return the largest difference of results, relative to the largest value of each."""
    found = 0.0
    for name, old in before.items():
        old, new = np.asarray(old, dtype=float), np.asarray(after[name], dtype=float)
        found = max(found, float(np.max(np.abs(old - new)) / max(np.max(np.abs(old)), 1e-300)))
    return found


def title(example: Path) -> str:
    return example.read_text(encoding="utf-8").split('"""')[1].rstrip(".")


def table_of_examples() -> str:
    lines = [
        "| example | classes fitted by mlcore | scikit-learn | accelerated | ratio | difference |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for example in EXAMPLES:
        before, after = run(example, False), run(example, True)
        by_mlcore = {line.split()[0] for line in after["lines"] if " by mlcore" in line}
        cells = [
            f"{title(example)} (`{example.name}`)",
            ", ".join(f"`{name}`" for name in sorted(by_mlcore)),
            f"{before['seconds']:.3g} s",
            f"{after['seconds']:.3g} s",
            f"{before['seconds'] / after['seconds']:.1f}",
            f"{difference(before['result'], after['result']):.0e}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"mlcore {mlcore.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}, "
        "one thread.",
    ]
    return "\n".join(lines)


def table_of_parameters() -> str:
    lines = []
    for original, replacement in replacements().items():
        lines += [f"### {original.__name__}", "", f"Fitted by `{replacement.peer}`."]
        if replacement.note:
            lines[-1] += f" Results: {replacement.note}."
        for condition in replacement.conditions:
            lines += ["", f"Needs {condition}."]
        lines += ["", "| parameter | values with which mlcore fits |", "| --- | --- |"]
        lines += [f"| `{name}` | {rule.words} |" for name, rule in replacement.rules.items()]
        lines.append("")
    return "\n".join(lines).rstrip()


def put(text: str, page: str, marks: tuple[str, str]) -> str:
    before, rest = page.split(marks[0])
    return f"{before}{marks[0]}\n\n{text}\n\n{marks[1]}{rest.split(marks[1])[1]}"


def shown(page: str, marks: tuple[str, str]) -> str:
    """Return what stands between two marks of a page."""
    return re.search(f"{marks[0]}\n\n(.*?)\n\n{marks[1]}", page, re.DOTALL)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Tables of docs/accelerate.md.")
    parser.add_argument("--examples", action="store_true", help="run the examples")
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    given = parser.parse_args()
    times = table_of_examples() if given.examples else None
    if given.write:
        page = put(table_of_parameters(), PAGE.read_text(encoding="utf-8"), RULES)
        PAGE.write_text(page if times is None else put(times, page, TIMES), encoding="utf-8")
    elif times is None:
        print(table_of_parameters())


if __name__ == "__main__":
    main()
