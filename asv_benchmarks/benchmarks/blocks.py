"""Fits to blocks against fits in memory, what a block costs beside its sums, and reading files."""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from mlcore.blocks import fit_blocks, parquet_blocks, row_blocks
from mlcore.cluster import KMeans
from mlcore.linear_model import LogisticRegression
from mlcore.mixture import GaussianMixture

N, D, K = 200_000, 16, 16
STEPS = 5


def rows():
    rng = np.random.default_rng(0)
    centers = 4 * rng.normal(size=(K, D))
    y = rng.integers(0, K, N)
    return centers[y] + rng.normal(size=(N, D)), y


def models(X, y):
    k_means = KMeans(K, init=X[:K], max_iter=STEPS, tol=0)
    start = {"weights_init": np.full(4, 0.25), "means_init": X[:4]}
    mixture = GaussianMixture(
        4, covariance_type="diag", precisions_init=np.ones((4, D)), max_iter=STEPS, tol=0, **start
    )
    return {
        "k-means": (k_means, None),
        "Gaussian mixture": (mixture, None),
        "logistic": (LogisticRegression(tol=1e-3), y % 2),
    }


class Throughput:
    """The same steps over rows in memory, 20 blocks of them, a memory map and two processes."""

    params, param_names = (["k-means", "Gaussian mixture", "logistic"],), ("model",)
    timeout = 300

    def setup(self, name):
        X, y = rows()
        self.model, self.y = models(X, y)[name]
        self.X, self.folder = X, tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "X.npy"
        np.save(path, X)
        self.map = np.load(path, mmap_mode="r")
        self.processes = ProcessPoolExecutor(2)
        list(self.processes.map(int, range(2)))

    def teardown(self, _):
        self.processes.shutdown()
        del self.map
        self.folder.cleanup()

    def fit(self, X, executor=None):
        blocks = row_blocks(X, self.y, block_size=N // 20)
        fit_blocks(self.model, blocks, executor=executor, start=0)

    def time_in_memory(self, _):
        self.model.fit(self.X, self.y)

    def time_blocks(self, _):
        self.fit(self.X)

    def time_memory_map(self, _):
        self.fit(self.map)

    def time_two_processes(self, _):
        self.fit(self.map, self.processes)


class Overhead:
    """Five steps of k-means over blocks of one row: what each block costs beside its sums."""

    params, param_names = ([1, 10, 100],), ("blocks",)

    def setup(self, n_blocks):
        X = np.random.default_rng(0).normal(size=(max(n_blocks, 4), 4))
        self.blocks = row_blocks(X[:n_blocks], block_size=1)
        self.model = KMeans(4, init=X[:4], max_iter=STEPS, tol=0)

    def time_fit(self, _):
        fit_blocks(self.model, self.blocks, start=(np.arange(16.0).reshape(4, 4),))


class Parquet:
    """One pass of principal components' sums over row groups of a file, against reading alone."""

    def setup(self):
        import pyarrow as pa
        import pyarrow.parquet as pq

        X, _ = rows()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "X.parquet"
        pq.write_table(
            pa.table({f"x{i}": x for i, x in enumerate(X.T)}), self.path, row_group_size=20_000
        )
        self.model = KMeans(K, init=X[:K], max_iter=1, tol=0)

    def teardown(self):
        self.folder.cleanup()

    def time_fit(self):
        fit_blocks(self.model, parquet_blocks(self.path), start=0)

    def time_floor_read(self):
        for block in parquet_blocks(self.path):
            block.load()
