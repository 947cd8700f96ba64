"""What may be promised of support vector machines: certificates from test and training sets.

    python examples/certify_svc.py --mnist IMAGES --adult FOLDER --write docs/which_bound.md

prints a table for the digits 3 and 8 of the digits that come with mlcore, of MNIST where IMAGES is
given (t10k-images-idx3-ubyte.gz as published, with its labels in the same folder), and for the
incomes of Adult where FOLDER is (with adult-train.csv and adult-test.csv). With --write, the table
takes the place of the one in that file.
"""

import argparse
import csv
import gzip
import re
import textwrap
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mlcore.bounds import certify
from mlcore.datasets import load_digits
from mlcore.svm import SVC

DELTA = 0.05
MARKS = "<!-- certify_svc -->", "<!-- end of certify_svc -->"
# What the numbers of Adult are divided by. Not from the data: features are fixed before them.
SCALES = {0: 100, 2: 1_000_000, 4: 16, 10: 100_000, 11: 10_000, 12: 100}
# Kernel, width and cost too were fixed in advance.
MACHINES: dict[str, dict[Literal["linear", "rbf"], dict[str, Any]]] = {
    "digits": {"linear": {"C": 0.1}, "rbf": {"C": 1.0, "gamma": 0.05}},
    "MNIST": {"linear": {"C": 0.01}, "rbf": {"C": 1.0, "gamma": 0.01}},
    "Adult": {"linear": {"C": 0.1}, "rbf": {"C": 1.0, "gamma": 0.05}},
}


def three_and_eight(X, y, n_train, seed=0):
    """Training and test examples of two digits, in random order."""
    chosen = np.flatnonzero(np.isin(y, (3, 8)))
    chosen = np.random.default_rng(seed).permutation(chosen)
    return X[chosen[:n_train]], y[chosen[:n_train]], X[chosen[n_train:]], y[chosen[n_train:]]


def mnist(path):
    """MNIST's images as published, pixels from 0 to 1, and their digits."""
    arrays = []
    for name, header in ((path.name, 16), (path.name.replace("images-idx3", "labels-idx1"), 8)):
        data = gzip.decompress(path.with_name(name).read_bytes())
        arrays.append(np.frombuffer(data, dtype=np.uint8, offset=header))
    return arrays[0].reshape(len(arrays[1]), -1) / 255.0, arrays[1]


def adult(folder):
    """Training and test examples of Adult: numbers scaled, categories as 0 and 1."""
    tables = []
    for name in ("adult-train.csv", "adult-test.csv"):
        with open(folder / name, newline="") as file:
            rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
        tables.append([row for row in rows if "?" not in row])
    categories = {
        j: sorted({row[j] for rows in tables for row in rows}) for j in range(14) if j not in SCALES
    }
    found = []
    for rows in tables:
        numbers = np.array([[float(row[j]) / scale for j, scale in SCALES.items()] for row in rows])
        parts = [
            np.array([row[j] for row in rows])[:, None] == np.array(values)
            for j, values in categories.items()
        ]
        found.append(np.hstack([numbers, *parts]).astype(np.float64))
        found.append(np.array([row[14].startswith(">50K") for row in rows]).astype(int))
    return tuple(found)


def certificates(data):
    """A test and a training certificate of every machine on every data set."""
    found = {}
    for name, (X, y, X_test, y_test) in data.items():
        for kernel, options in MACHINES[name].items():
            machine = SVC(kernel=kernel, **options).fit(X, y)
            found[name, kernel] = (
                certify(machine, X_test, y_test, delta=DELTA),
                certify(machine, X, y, delta=DELTA, role="train"),
            )
    return found


def table(found):
    """The lines of a Markdown table of bounds, and what each assumes."""
    columns = []
    for pair in found.values():
        column = {}
        for certificate in pair:
            k, m = certificate.inputs["k"], certificate.inputs["m"]
            column[f"{certificate.role} errors"] = f"{k:,} of {m:,}"
        for kind in pair[1].heuristics:
            if "n_sv" in kind.inputs:
                column["support vectors"] = f"{kind.inputs['n_sv']:,}"
        for certificate in pair:
            for bound in certificate.bounds:
                shown = f"{np.ceil(1e4 * bound.value) / 1e4:.4f}"
                column[bound.name] = f"**{shown}**" if bound == certificate.best else shown
        columns.append(column)
    names = list(dict.fromkeys(name for column in columns for name in column))
    assumed: dict[str, list[str]] = {}
    for pair in found.values():
        for certificate in pair:
            for bound in certificate.bounds:
                sentences = assumed.setdefault(bound.name, [])
                sentences += [s for s in bound.assumptions if s not in sentences]
    yield "| error at most | " + " | ".join(f"{name}<br>{kernel}" for name, kernel in found) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for name in names:
        yield f"| {name} | " + " | ".join(column.get(name, "") for column in columns) + " |"
    yield ""
    for name, sentences in assumed.items():
        text = f"- {name}: {' '.join(sentences)}".replace("<", "&lt;").replace(">", "&gt;")
        yield from textwrap.wrap(text, 100, subsequent_indent="  ")


def main():
    parser = argparse.ArgumentParser(description="Certify support vector machines.")
    parser.add_argument("--mnist", type=Path, help="MNIST's images, as published")
    parser.add_argument("--adult", type=Path, help="folder of Adult's two tables")
    parser.add_argument("--write", type=Path, help="file whose table to replace")
    asked = parser.parse_args()
    pixels, digits = load_digits()
    data = {"digits": three_and_eight(pixels / 16, digits, 240)}
    if asked.mnist:
        images, digits = mnist(asked.mnist)
        data["MNIST"] = three_and_eight(images, digits, 1300)
    if asked.adult:
        data["Adult"] = adult(asked.adult)
    lines = list(table(certificates(data)))
    print("\n".join(lines))
    if asked.write:
        text = asked.write.read_text(encoding="utf-8")
        inside = f"{MARKS[0]}\n" + "\n".join(lines) + f"\n{MARKS[1]}"
        text = re.sub(f"{MARKS[0]}.*?{MARKS[1]}", lambda _: inside, text, flags=re.DOTALL)
        asked.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
