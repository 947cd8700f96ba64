"""Events in the shape of HIGGS (28 features, two classes) fitted from a file, block by block.

python examples/data_of_any_size.py                     fits, a crash, the fit that goes on
python examples/data_of_any_size.py --rows 11000000     as many as HIGGS has (2.5 GB of disk)
python examples/data_of_any_size.py --rounds            rounds on 1 to 8 worker processes, measured
                                                        and foreseen, and a plan for 16 machines
python examples/data_of_any_size.py --rounds --write FILE.md    puts the tables into the page
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from mlcore.blocks import fit_blocks, predict_blocks, row_blocks
from mlcore.cluster import KMeans
from mlcore.linear_model import LogisticRegression

MARKS = "<!-- rounds -->", "<!-- end of rounds -->"
N_FEATURES = 28
BLOCK = 50_000
CLUSTERS = 256
WORKERS = (1, 2, 3, 4, 6, 8)
ONE_THREAD = partial(threadpool_limits, 1)  # in each worker process


def write_events(folder: Path, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Events in a file, and which are signal, made block by block so that few are in memory."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n, N_FEATURES))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, (n,))
    direction = np.linspace(-0.3, 0.3, N_FEATURES)
    for first in range(0, n, BLOCK):
        rng = np.random.default_rng([0, first])
        rows = rng.normal(size=(min(BLOCK, n - first), N_FEATURES))
        X[first : first + BLOCK] = rows
        y[first : first + BLOCK] = rng.random(len(rows)) < 1 / (1 + np.exp(-rows @ direction))
    X.flush()
    y.flush()
    return np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r")


class Crash(Exception):
    """What ends the first fit."""


def crash_at(last: int, step: int, **_: Any) -> None:
    if step == last:
        raise Crash


def fits(folder: Path, n: int) -> Iterator[str]:
    """Lines about fits to a file of n events."""
    X, y = write_events(folder, n)
    yield f"{n:,} events in {X.nbytes / 1e6:.0f} MB"
    start = time.perf_counter()
    logistic = fit_blocks(LogisticRegression(), row_blocks(X, y, block_size=BLOCK))
    yield (
        f"logistic regression: {time.perf_counter() - start:.1f} s, Newton decrement "
        f"{logistic.newton_decrement_:.0e}"
    )
    predicted = np.lib.format.open_memmap(folder / "predicted.npy", "w+", np.int8, (n,))
    predict_blocks(logistic, row_blocks(X, block_size=BLOCK), out=predicted)
    yield f"right on {np.mean(predicted == y):.1%} of them, predictions in a file"

    blocks, checkpoint = row_blocks(X, block_size=BLOCK), folder / "k_means.npz"
    model = KMeans(8, random_state=0, max_iter=12, callback=partial(crash_at, 5))
    try:
        fit_blocks(model, blocks, checkpoint=checkpoint)
    except Crash:
        yield f"k-means crashes after step 5, and is fitted: {hasattr(model, 'cluster_centers_')}"
    model.callback = None
    fit_blocks(model, blocks, checkpoint=checkpoint)
    again = fit_blocks(KMeans(8, random_state=0, max_iter=12), blocks)
    same = model.cluster_centers_.tobytes() == again.cluster_centers_.tobytes()
    yield f"from its checkpoint it ends at step {model.n_iter_}, as in one go to the byte: {same}"


class Costs(NamedTuple):
    """What a round is made of, in seconds and bytes.

    Attributes
    ----------
    block : float
        Seconds to read a block and sum over its rows.
    task : float
        Processor seconds of the client for each block: to send the model, to receive the sums.
    update : float
        Seconds of the client for each round.
    """

    block: float
    task: float
    update: float

    def of_round(self, n_blocks: int, n_workers: int, n_cores: int) -> float:
        """Seconds of a round: workers take the next block when they are free.

        Workers beyond the cores share them. The client works beside them, until a core has nothing
        left: then it costs them its time.
        """
        at_once = min(n_workers, n_cores)
        waves = -(-n_blocks // n_workers)  # the last may have idle workers
        last = n_blocks - (waves - 1) * n_workers
        seconds = (waves - 1) * n_workers / at_once * self.block
        seconds += max(1.0, last / n_cores) * self.block
        client = n_blocks * self.task
        spare = n_cores > n_workers
        return (
            max(seconds, client) + self.update
            if spare
            else seconds + client / n_cores + self.update
        )


def seconds_of_rounds(X: np.ndarray, n_workers: int, n_rounds: int) -> float:
    """Measured seconds of a round, that of starting the workers and the fit left out."""
    centers = np.asarray(X[:CLUSTERS])
    blocks = row_blocks(X, block_size=BLOCK)
    with ProcessPoolExecutor(n_workers, initializer=ONE_THREAD) as processes:
        spent = []
        for steps in (1, 1 + n_rounds):
            model = KMeans(CLUSTERS, init=centers, max_iter=steps, tol=0)
            start = time.perf_counter()
            fit_blocks(model, blocks, executor=processes, start=0)
            spent.append(time.perf_counter() - start)
    return (spent[1] - spent[0]) / n_rounds


def sums_of(model: KMeans, block: Any) -> tuple[Any, float]:
    """The sums over a block's rows, and the seconds they took."""
    start = time.perf_counter()
    sums = model.partial_statistics(block.load()[0])
    return sums, time.perf_counter() - start


def measured_costs(X: np.ndarray) -> Costs:
    """The parts of a round, each by itself: one block at a time on one worker."""
    model = KMeans(CLUSTERS, init=np.asarray(X[:CLUSTERS])).begin(np.asarray(X[:BLOCK]))
    blocks = row_blocks(X, block_size=BLOCK)
    with ProcessPoolExecutor(1, initializer=ONE_THREAD) as process:
        process.submit(sums_of, model, blocks[0]).result()
        start = time.process_time()
        parts = [process.submit(sums_of, model, block).result() for block in blocks]
        client = time.process_time() - start
    block = float(np.median([seconds for _, seconds in parts]))
    start = time.perf_counter()
    model.update(parts[0][0])
    return Costs(block, client / len(parts), time.perf_counter() - start)


def rounds(folder: Path, n: int) -> Iterator[str]:
    """A table of measured and foreseen rounds of k-means."""
    X, _ = write_events(folder, n)
    costs, n_cores = measured_costs(X), len(os.sched_getaffinity(0))
    n_blocks = -(-n // BLOCK)
    yield (
        f"k-means, {CLUSTERS} centres, {n:,} x {N_FEATURES} in {n_blocks} blocks, {n_cores} cores: "
        f"{1e3 * costs.block:.0f} ms to read and sum a block, {1e3 * costs.task:.1f} ms for the "
        "client to send and merge one."
    )
    yield ""
    yield "| worker processes | a round, measured | foreseen |"
    yield "| --- | --- | --- |"
    for n_workers in WORKERS:
        measured = seconds_of_rounds(X, n_workers, 4)
        foreseen = costs.of_round(n_blocks, n_workers, n_cores)
        yield f"| {n_workers} | {measured:.2f} s | {foreseen:.2f} s |"


class Plan(NamedTuple):
    """A fit on machines: bytes that a round moves, and the operations of a row."""

    name: str
    down: float  # bytes of the model
    up: float  # bytes of the sums
    operations: float  # multiply-adds of a row


def plans(d: int, k: int) -> list[Plan]:
    square = 8.0 * d * d
    return [
        Plan(f"k-means, {k} centres", 8.0 * k * d, 8.0 * k * (d + 1), k * d),
        Plan(f"mixture, {k} diagonal", 16.0 * k * d, 16.0 * k * d, 4 * k * d),
        Plan("mixture, 16 full", 16 * square, 16 * square, 16 * 1.5 * d * d),
        Plan("principal components (one round)", 8.0 * d, square, d * d / 2),
        Plan("logistic regression, Newton", 8.0 * d, square, d * d / 2 + 2 * d),
    ]


def plan(
    n: float = 1e9,
    d: int = 100,
    machines: int = 16,
    cores: int = 16,
    rate: float = 8e9,
    disk: float = 2e9,
    network: float = 1.25e9,
    latency: float = 1e-3,
) -> Iterator[str]:
    """A table for n x d float32 rows on machines.

    `rate` is in multiply-adds a second of a core, `disk` and `network` in bytes a second of a
    machine. The model goes down and the sums come up a tree of log2(machines) messages; the blocks
    of a machine are merged where they are.
    """
    yield (
        f"{n:.0e} rows x {d} float32 columns ({4e-9 * n * d:.0f} GB) on {machines} machines of "
        f"{cores} cores, {rate / 1e9:.0f} G multiply-adds a second each, disks of "
        f"{disk / 1e9:.0f} GB/s, a network of {network / 1e9:g} GB/s and {1e3 * latency:g} ms."
    )
    yield ""
    yield "| fit | bytes of a round, down and up | network | sums | disk | bound by |"
    yield "| --- | --- | --- | --- | --- | --- |"
    hops = int(np.ceil(np.log2(machines)))
    for one in plans(d, 64):
        spent = {
            "network": hops * (2 * latency + (one.down + one.up) / network),
            "sums": n * one.operations / (machines * cores * rate),
            "disk": 4 * n * d / machines / disk,
        }
        moved = machines * (one.down + one.up)
        seconds = " | ".join(f"{value:.3f} s" for value in spent.values())
        bound = max(spent, key=lambda name: spent[name])
        yield f"| {one.name} | {moved / 1e6:.1f} MB | {seconds} | {bound} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", action="store_true")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.rounds:
            for line in fits(Path(folder), arguments.rows or 200_000):
                print(line, flush=True)
            return
        lines = [*rounds(Path(folder), arguments.rows or 1_000_000), "", *plan()]
    if arguments.write is None:
        print("\n".join(lines))
        return
    page = arguments.write.read_text(encoding="utf-8")
    start, end = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
    text = page[:start] + "\n" + "\n".join(lines) + "\n" + page[end:]
    arguments.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
