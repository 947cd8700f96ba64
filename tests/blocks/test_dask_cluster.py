"""Fits on a dask cluster of this machine: the bytes of a fit without it, whatever workers do."""

import gc
import multiprocessing
import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

distributed = pytest.importorskip("distributed", reason="needs the extra dask")

import dask  # noqa: E402
import dask.array as da  # noqa: E402
from distributed.utils import get_mp_context  # noqa: E402

from contract import contents  # noqa: E402
from mlcore.blocks import BlockError, fit_blocks, predict_blocks, row_blocks  # noqa: E402
from mlcore.cluster import KMeans  # noqa: E402
from mlcore.datasets import load_digits  # noqa: E402
from mlcore.decomposition import PCA  # noqa: E402
from mlcore.linear_model import LogisticRegression  # noqa: E402
from mlcore.mixture import GaussianMixture  # noqa: E402
from mlcore.naive_bayes import GaussianNB  # noqa: E402

X, y = load_digits()
X, y = X[:600], y[:600]
HOW = {
    "host": "127.0.0.1",
    "protocol": "tcp://",
    "dashboard_address": ":0",
    "threads_per_worker": 1,
}
MODELS = {
    "k-means": lambda **how: KMeans(10, init=X[:10], max_iter=3, tol=0, **how),
    "Gaussian mixture": lambda: GaussianMixture(
        3, covariance_type="diag", random_state=0, max_iter=3, tol=0
    ),
    "naive Bayes": GaussianNB,
    "principal components": lambda: PCA(5),
    "logistic": lambda: LogisticRegression(max_iter=3),
}


@pytest.fixture(autouse=True)
def _bounded_in_time():
    """No test waits for a cluster for ever."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_):
        raise TimeoutError("the cluster did not answer for a minute")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def cluster():
    """Two processes, where it can be forks of one that has imported all: that takes seconds."""
    fork = "forkserver" in multiprocessing.get_all_start_methods()
    method = "forkserver" if fork else "spawn"
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": method}),
        pytest.MonkeyPatch.context() as patch,
    ):
        if fork:
            # What it imports is what is installed, not the sources here.
            patch.setenv("PYTHONSAFEPATH", "1")
            models = [type(make()).__module__ for make in MODELS.values()]
            get_mp_context().set_forkserver_preload(["dask.array", "distributed", *models])
        with distributed.LocalCluster(n_workers=2, **HOW) as found:
            yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as found:
        yield found


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    return [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]


def fitted(model):
    """All that a fit has set, arrays as bytes."""
    state = {name: value for name, value in vars(model).items() if name not in model._defaults()}
    return {name: contents(value) for name, value in state.items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_cluster_gives_the_same_bytes(name, client, mapped):
    alone = fit_blocks(MODELS[name](), row_blocks(X, y, block_size=150))
    for rows in ((X, y), mapped) if name in ("k-means", "naive Bayes") else ((X, y),):
        blocks = row_blocks(*rows, block_size=150)
        assert fitted(fit_blocks(MODELS[name](), blocks, executor=client)) == fitted(alone)


def test_chunks_of_dask_stay_on_the_workers(client):
    alone = fit_blocks(GaussianNB(), row_blocks(X, y, block_size=75))
    lazy = da.from_array(X, chunks=(75, 20))
    persisted = lazy.persist(), da.from_array(y, chunks=75).persist()
    distributed.wait(persisted)
    for rows in ((lazy, da.from_array(y, chunks=75)), persisted, (persisted[0], y)):
        model = fit_blocks(GaussianNB(), row_blocks(*rows), executor=client)
        assert fitted(model) == fitted(alone)
    blocks = row_blocks(*persisted)
    del lazy, persisted, rows, model
    gc.collect()
    assert fitted(fit_blocks(GaussianNB(), blocks, executor=client)) == fitted(alone)
    # Without the cluster's workers its chunks are gathered by this process.
    assert fitted(fit_blocks(GaussianNB(), blocks)) == fitted(alone)


def test_more_blocks_than_one_task_merges_and_some_without_rows(client):
    sizes = [30, 0, 7, 1, 50, 0, 0, 90, 3, 11, 5, 0, 60, 8, 44, 2, 100, 20, 0, 169, 0]
    ends = np.cumsum([0, *sizes])
    blocks = [(X[i:j], y[i:j]) for i, j in zip(ends, ends[1:], strict=False)]
    alone = fit_blocks(MODELS["k-means"](), blocks)
    assert fitted(fit_blocks(MODELS["k-means"](), blocks, executor=client)) == fitted(alone)


def test_threads_of_one_process():
    with (
        distributed.LocalCluster(n_workers=1, processes=False, **HOW | {"threads_per_worker": 3}) as
        cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        for name in ("k-means", "Gaussian mixture"):
            blocks = row_blocks(X, block_size=40)
            alone = fit_blocks(MODELS[name](), blocks)
            assert fitted(fit_blocks(MODELS[name](), blocks, executor=client)) == fitted(alone)


def test_a_cluster_that_starts_without_workers():
    with distributed.LocalCluster(n_workers=0, processes=False, **HOW) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="50 ms")
        with distributed.Client(cluster) as client:
            model = fit_blocks(GaussianNB(), row_blocks(X, y, block_size=100), executor=client)
    assert fitted(model) == fitted(fit_blocks(GaussianNB(), row_blocks(X, y, block_size=100)))


def test_predictions_come_in_the_order_of_the_blocks(client, mapped):
    model = GaussianNB().fit(X, y)
    blocks = row_blocks(mapped[0], block_size=37)
    assert_array_equal(predict_blocks(model, blocks, executor=client), model.predict(X))
    out = np.empty((len(X), 10))
    predict_blocks(model, blocks, "predict_proba", executor=client, out=out)
    assert_array_equal(out, model.predict_proba(X))
    lazy = da.from_array(X, chunks=(100, 64)).map_blocks(model.predict, drop_axis=1, dtype=y.dtype)
    assert_array_equal(lazy.compute(), model.predict(X))


@pytest.mark.parametrize("blocks", ["in memory", "in a file"])
def test_a_bad_block_is_named(blocks, client, mapped):
    bad = X.copy()
    bad[333, 5] = np.nan
    np.save(mapped[0].filename, bad)
    rows = bad if blocks == "in memory" else np.load(mapped[0].filename, mmap_mode="r")
    model = GaussianNB()
    with pytest.raises(BlockError, match=r"block 3 \(rows 300 to 399\).*NaN") as caught:
        fit_blocks(model, row_blocks(rows, y, block_size=100), executor=client)
    assert caught.value.block == 3
    assert not hasattr(model, "theta_")


class Names(distributed.SchedulerPlugin):
    """Notes the groups of all tasks."""

    name = "names"

    def __init__(self):
        self.seen = set()

    def transition(self, key, start, finish, *_, **__):
        self.seen.add(key[0] if isinstance(key, tuple) else key)


def test_names_of_tasks_say_model_and_step(cluster, client):
    names = Names()
    cluster.scheduler.add_plugin(names)
    fit_blocks(MODELS["k-means"](), row_blocks(X, block_size=100), executor=client)
    cluster.scheduler.remove_plugin(names.name)
    steps = {f"KMeans-step-{i}" for i in (1, 2, 3)}
    assert {name.rpartition("-")[0] for name in names.seen} >= steps | {f"{s}-merge" for s in steps}


def test_nothing_stays_on_the_cluster(cluster, client):
    for _ in range(2):
        fit_blocks(MODELS["k-means"](), row_blocks(X, y, block_size=100), executor=client)
    for _ in range(100):
        if not client.run_on_scheduler(_n_tasks):
            break
        client.run(int)  # lets the scheduler hear of what was released
    assert client.run_on_scheduler(_n_tasks) == 0


def _n_tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


def test_an_asynchronous_client_is_refused(client):
    async def fit():
        with pytest.raises(TypeError, match="executor is an asynchronous Client"):
            fit_blocks(GaussianNB(), row_blocks(X, y), executor=client)

    client.sync(fit)


def test_the_cluster_of_dask_delayed_rows(client):
    lazy = [dask.delayed((X[i : i + 200], y[i : i + 200])) for i in range(0, 600, 200)]
    blocks = [(X[i : i + 200], y[i : i + 200]) for i in range(0, 600, 200)]
    alone = fit_blocks(GaussianNB(), blocks)
    assert fitted(fit_blocks(GaussianNB(), lazy, executor=client)) == fitted(alone)


# ---- at the end, as killed workers are replaced


def deadly(rows, path, always=False):
    """A block whose reading kills the worker that reads it, the first time or always."""
    parent = os.getpid()

    def load():  # a closure, which workers need not import
        if os.getpid() != parent and (always or not path.exists()):
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    return load


def test_blocks_of_a_lost_worker_are_summed_again(client, tmp_path):
    killed = []

    def kill(step, **_):  # between two rounds: what was sent to this worker is lost with it
        if step == 2:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    blocks = [(X[i : i + 60], None) for i in range(0, len(X), 60)]
    alone = fit_blocks(MODELS["k-means"](), blocks)
    blocks[4] = deadly(blocks[4], tmp_path / "died")
    model = fit_blocks(MODELS["k-means"](callback=kill), blocks, executor=client, start=0)
    assert killed and (tmp_path / "died").exists()
    model.callback = None
    assert fitted(model) == fitted(alone)


def test_a_block_that_kills_all_its_workers_is_named(cluster, client, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    blocks = [(X[i : i + 200], y[i : i + 200]) for i in range(0, 600, 200)]
    blocks[1] = deadly(blocks[1], tmp_path / "died", always=True)
    with pytest.raises(BlockError, match=r"block \d .*: its worker died 1 times"):
        fit_blocks(GaussianNB(), blocks, executor=client)
