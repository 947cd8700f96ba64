"""What a round costs on a dask cluster of two workers beside its sums."""

import dask.array
import distributed
import numpy as np

from mlcore.blocks import fit_blocks, row_blocks
from mlcore.cluster import KMeans

STEPS = 5


class Rounds:
    """Five steps of k-means over small blocks that the workers hold, and as many idle tasks."""

    params, param_names = ([1, 20],), ("blocks",)
    timeout = 120

    def setup(self, n_blocks):
        X = np.random.default_rng(0).normal(size=(n_blocks, 4, 4))
        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        )
        self.client = distributed.Client(self.cluster)
        lazy = dask.array.from_array(X.reshape(-1, 4), chunks=(4, 4)).persist()
        distributed.wait(lazy)
        self.blocks, self.start = row_blocks(lazy), (X[0],)
        self.model = KMeans(4, init=X[0], max_iter=STEPS, tol=0)
        self.time_fit(n_blocks)

    def teardown(self, _):
        self.client.close()
        self.cluster.close()

    def time_fit(self, _):
        fit_blocks(self.model, self.blocks, executor=self.client, start=self.start)

    def time_floor_idle_tasks(self, n_blocks):
        for _ in range(STEPS):
            tasks = self.client.map(int, range(n_blocks), pure=False)
            self.client.submit(len, tasks, pure=False).result()
