"""Fits to blocks: the same bytes wherever they are summed, and what follows when it breaks."""

import errno
import inspect
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

import mlcore
from contract import contents
from mlcore import cluster, decomposition, discriminant, linear_model, mixture, naive_bayes, svm
from mlcore.blocks import BlockError, fit_blocks, predict_blocks, row_blocks, transform_blocks
from mlcore.blocks.rounds import merged_in_tree
from mlcore.blocks.sample import Draw
from mlcore.datasets import load_digits
from mlcore.kernel_ridge import KernelRidge, NystroemRidge

X, y = load_digits()
X, y = X[:600], y[:600]
COUNTS = sp.csr_array(X)

MODELS = {
    "k-means": cluster.KMeans(10, init=X[:10], max_iter=5),
    "Gaussian mixture": mixture.GaussianMixture(
        3, covariance_type="diag", random_state=0, max_iter=4, tol=0
    ),
    "naive Bayes": naive_bayes.GaussianNB(),
    "principal components": decomposition.PCA(5),
    "discriminant": discriminant.LinearDiscriminantAnalysis(shrinkage=0.1),
    "logistic": linear_model.LogisticRegression(max_iter=5),
    "Nyström": NystroemRidge(kernel="rbf", gamma=1e-3, n_centers=20, random_state=0),
}


def fresh(model):
    return type(model)(**model.get_params(deep=False))


def cut(n_blocks, data=None):
    """Uneven blocks, so that neither sizes nor their number hide an order."""
    ends = np.linspace(0, len(X) ** 0.5, n_blocks + 1) ** 2
    ends = ends.round().astype(int)
    data = X if data is None else data
    return [(data[a:b], y[a:b]) for a, b in pairwise(ends)]


def fitted(model):
    """All that a fit has set, arrays as bytes."""
    state = {name: value for name, value in vars(model).items() if name not in model._defaults()}
    return {name: contents(value) for name, value in state.items()}


class Slow:
    """A block that takes its time, by chance: results arrive in another order."""

    def __init__(self, rows, seconds):
        self.rows, self.seconds = rows, seconds

    def __call__(self):
        time.sleep(self.seconds)
        return self.rows


class Deadly:
    """A block whose reading kills the worker that reads it, the first few times."""

    def __init__(self, rows, folder, times):
        self.rows, self.folder, self.times, self.parent = rows, folder, times, os.getpid()

    def __call__(self):
        if os.getpid() != self.parent:
            for i in range(self.times):
                try:
                    os.close(os.open(self.folder / str(i), os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return self.rows


# ---- the same bytes


@pytest.fixture(scope="module")
def executors():
    with ThreadPoolExecutor(5) as threads, ProcessPoolExecutor(2) as processes:
        yield {
            "threads": threads,
            "processes": processes,
            "one process": partial(ProcessPoolExecutor, 1),
            "joblib": joblib.Parallel(2),
            "joblib's generator": joblib.Parallel(2, prefer="threads", return_as="generator"),
        }


@pytest.mark.parametrize("executor", ["threads", "one process", "joblib", "joblib's generator"])
def test_any_workers_give_the_same_bytes(executor, executors):
    """With one pass, and with several."""
    for name in ("naive Bayes", "k-means"):
        other = fit_blocks(fresh(MODELS[name]), cut(7), executor=executors[executor])
        assert fitted(other) == of_this_process(name), name


@pytest.mark.parametrize("name", MODELS)
def test_every_model_goes_through_processes_to_the_same_bytes(name, executors):
    other = fit_blocks(fresh(MODELS[name]), cut(7), executor=executors["processes"])
    assert fitted(other) == of_this_process(name)


@cache
def of_this_process(name):
    return fitted(fit_blocks(fresh(MODELS[name]), cut(7)))


def test_any_order_of_arrival_gives_the_same_bytes():
    rng = np.random.default_rng(0)
    waits = rng.random(9) / 100
    blocks = [Slow(rows, seconds) for rows, seconds in zip(cut(9), waits, strict=True)]
    with ThreadPoolExecutor(4) as threads:
        found = [fit_blocks(fresh(MODELS["k-means"]), blocks, executor=e) for e in (None, threads)]
    assert fitted(found[0]) == fitted(found[1])
    assert fitted(found[0]) == fitted(fit_blocks(fresh(MODELS["k-means"]), cut(9)))


@given(st.integers(0, 40))
def test_the_tree_holds_neighbours_and_few_parts(n):
    most = 0

    def counted():
        nonlocal held, most
        for i in range(n):
            held += 1
            most = max(most, held)
            yield [i]

    def merge(a, b):
        nonlocal held
        held -= 1
        assert a[-1] + 1 == b[0]
        return a + b

    held = 0
    total = merged_in_tree(counted(), merge)
    assert total == (list(range(n)) or None)
    assert most <= np.log2(max(n, 1)) + 2


def test_blocks_without_rows_count_for_nothing():
    rows = cut(3)
    nothing = X[:0], y[:0]
    model = fit_blocks(naive_bayes.GaussianNB(), [nothing, rows[0], nothing, *rows[1:]])
    assert fitted(model) == fitted(fit_blocks(naive_bayes.GaussianNB(), rows))
    with pytest.raises(ValueError, match="none of the 2 has any rows"):
        fit_blocks(cluster.KMeans(2), [nothing, nothing])


# ---- as fit


def test_few_rows_begin_as_in_fit():
    """A sample that holds all rows: the same random start."""
    whole = mixture.GaussianMixture(3, covariance_type="spherical", random_state=0).fit(X)
    parts = fit_blocks(
        mixture.GaussianMixture(3, covariance_type="spherical", random_state=0), row_blocks(X)
    )
    assert parts.n_iter_ == whole.n_iter_
    assert parts.converged_ == whole.converged_
    order = np.argsort(-parts.weights_)
    assert_allclose(parts.means_[order], whole.means_, rtol=1e-10, atol=1e-12)


def test_labels():
    model = fit_blocks(fresh(MODELS["k-means"]), cut(4), labels=True)
    assert_array_equal(model.labels_, model.predict(X))
    with pytest.raises(TypeError, match="labels=True: PCA has no predict"):
        fit_blocks(decomposition.PCA(2), cut(2), labels=True)


def test_sparse_blocks():
    dense = fit_blocks(naive_bayes.MultinomialNB(), cut(3))
    rows = fit_blocks(naive_bayes.MultinomialNB(), cut(3, COUNTS))
    assert_allclose(rows.feature_log_prob_, dense.feature_log_prob_, rtol=1e-14)


def test_a_start_from_given_rows_or_a_block():
    model = mixture.GaussianMixture(2, covariance_type="diag", random_state=0, max_iter=0)
    of_block = fit_blocks(fresh(model), cut(4), start=2)
    of_rows = fit_blocks(fresh(model), cut(4), start=(cut(4)[2][0],))
    assert fitted(of_block) == fitted(of_rows)
    begun = fresh(model).begin(cut(4)[2][0])  # the order of components is that of the end of a fit
    assert_array_equal(np.sort(of_rows.means_, axis=0), np.sort(begun.means_, axis=0))
    with pytest.raises(ValueError, match="start=9 is no block: there are 4, from 0"):
        fit_blocks(fresh(model), cut(4), start=9)


def test_the_callback_sees_every_step():
    seen = []
    model = mixture.GaussianMixture(
        2, covariance_type="diag", random_state=0, max_iter=3, tol=0,
        callback=lambda **step: seen.append(step),
    )  # fmt: skip
    fit_blocks(model, cut(3))
    assert [step["step"] for step in seen] == [1, 2, 3]
    # Before each step; a pass more tells the objective after the last.
    assert_array_equal([step["objective"] for step in seen], model.log_likelihood_trace_[:-1])


# ---- the sample


def test_a_sample_is_uniform_and_has_every_class():
    rng = np.random.default_rng(0)
    labels = np.zeros(1000, int)
    labels[rng.permutation(1000)[:2]] = 7
    rows = np.arange(1000.0)[:, None]
    counts = np.zeros(1000)
    for seed in range(200):
        draw = Draw(50, seed, rows, naive_bayes.GaussianNB)
        parts = [draw(i, rows[i * 100 :][:100], labels[i * 100 :][:100], None) for i in range(10)]
        sample = merged_in_tree(parts, draw.merge)
        assert set(sample.y) == {0, 7}
        assert len(sample.X) in (50, 51)
        assert_array_equal(sample.places @ [100, 1], sample.X[:, 0])
        assert (np.diff(sample.X[:, 0]) > 0).all()
        counts[sample.X[:, 0].astype(int)] += 1
    plain = counts[labels == 0]
    # Binomial(200, 0.05) of each row: mean 10, standard deviation 3.1.
    assert abs(plain.mean() - 10) < 0.05
    assert 2.8 < plain.std() < 3.4


# ---- what breaks


def test_a_worker_that_dies_is_replaced(tmp_path):
    blocks = cut(6)
    blocks[3] = Deadly(blocks[3], tmp_path, 2)
    model = fit_blocks(
        fresh(MODELS["k-means"]), blocks, executor=partial(ProcessPoolExecutor, 2), start=0
    )
    assert {"0", "1"} <= {path.name for path in tmp_path.iterdir()}
    assert fitted(model) == fitted(fit_blocks(fresh(MODELS["k-means"]), cut(6), start=0))


def test_without_the_workers_of_a_broken_executor_this_process_goes_on(tmp_path):
    blocks = cut(6)
    blocks[3] = Deadly(blocks[3], tmp_path, 1)
    with ProcessPoolExecutor(2) as processes:
        with pytest.warns(RuntimeWarning, match="a worker died"):
            model = fit_blocks(naive_bayes.GaussianNB(), blocks, executor=processes)
        with pytest.raises(BrokenExecutor):
            processes.submit(int)
    assert fitted(model) == fitted(fit_blocks(naive_bayes.GaussianNB(), cut(6)))


def test_a_block_that_kills_every_worker_is_named(tmp_path):
    blocks = cut(6)
    blocks[3] = Deadly(blocks[3], tmp_path, 99)
    model = naive_bayes.GaussianNB()
    with pytest.raises(BlockError, match="a worker died 3 times"):
        fit_blocks(model, blocks, executor=partial(ProcessPoolExecutor, 1))
    assert not hasattr(model, "theta_")


class Missing:
    def __call__(self):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "rows-2.npy")


with_nan = X[:5].copy()
with_nan[3, 2] = np.nan
BAD = {
    "unreadable": (Missing(), r"block 2 .*cannot be read: FileNotFoundError: .*rows-2\.npy"),
    "NaN": ((with_nan, y[:5]), "block 2 .*NaN"),
    "columns": ((X[:5, :7], y[:5]), "block 2 .*7 features"),
    "lengths": ((X[:5], y[:4]), "block 2 .*"),
}


@pytest.mark.parametrize("executor", [None, "threads", "processes", "joblib's generator"])
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_block_is_named_and_the_model_stays(kind, executor, executors):
    block, message = BAD[kind]
    model = fit_blocks(naive_bayes.GaussianNB(), cut(3))
    before = fitted(model)
    with pytest.raises(BlockError, match=message) as caught:
        fit_blocks(model, [*cut(2), block, *cut(2)], executor=executors.get(executor))
    assert caught.value.block == 2
    assert fitted(model) == before


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (dict(executor=3), TypeError, "executor=3 is of type int, but must be None"),
        (dict(executor=int), TypeError, r"executor\(\) returned a int"),
        (dict(checkpoint_seconds=-1), ValueError, "checkpoint_seconds"),
        (dict(labels="yes"), TypeError, "labels"),
    ],
)
def test_wrong_arguments(wrong, error, message):
    with pytest.raises(error, match=message):
        fit_blocks(naive_bayes.GaussianNB(), cut(3), **wrong)


def test_a_user_s_own_sums():
    class Mean:
        def begin(self, X, y=None, sample_weight=None):
            self.sum, self.n = 0.0, 0
            return self

        def partial_statistics(self, X, y=None, sample_weight=None):
            return X.sum(axis=0), len(X)

        def merge(self, a, b):
            return a[0] + b[0], a[1] + b[1]

        def update(self, statistics):
            self.mean = statistics[0] / statistics[1]
            return self

    assert_allclose(fit_blocks(Mean(), row_blocks(X)).mean, X.mean(axis=0), rtol=1e-13)
    with pytest.raises(TypeError, match="Mean is no model of mlcore"):
        fit_blocks(Mean(), row_blocks(X), checkpoint="mean.npz")


def test_models_that_have_no_sums_say_why():
    with pytest.raises(TypeError, match="SVC cannot be fitted to blocks: its dual problem"):
        fit_blocks(svm.SVC(), cut(2))
    with pytest.raises(TypeError, match="object cannot be fitted to blocks: it lacks begin"):
        fit_blocks(object(), cut(2))
    with pytest.raises(TypeError, match="KernelRidge .*: use NystroemRidge"):
        fit_blocks(KernelRidge(), cut(2))


def test_blocks_ask_models_for_nothing_that_the_contract_does_not_declare():
    """They ask for no private name by `getattr` or `hasattr`."""
    hook = re.compile(r"""attr\((model|work|fitted), ["']_""")
    sources = Path(mlcore.__file__).parent.joinpath("blocks").glob("*.py")
    asked = [path.name for path in sources if hook.search(path.read_text(encoding="utf-8"))]
    assert asked == []


# ---- checkpoints

FIT = """
import os, signal, sys
from mlcore import cluster, load, save
from mlcore.blocks import fit_blocks, row_blocks
from mlcore.datasets import load_digits
from mlcore.mixture import GaussianMixture

def die(step, **_):
    if step == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

X = load_digits()[0][:600]
model = GaussianMixture(3, covariance_type="diag", random_state=0, max_iter=7, tol=0, callback=die)
fit_blocks(model, row_blocks(X, block_size=70), checkpoint=sys.argv[1])
model.callback = None
save(model, sys.argv[1] + ".fitted")
"""


def test_a_killed_fit_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    command = [sys.executable, "-W", "ignore", "-c", FIT, str(tmp_path / "killed"), "4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]
    for name in ("killed", "whole"):
        monkeypatch.setattr(sys, "argv", ["fit", str(tmp_path / name), "99"])
        exec(FIT, {"__name__": "__main__"})
    one, other = (mlcore.load(tmp_path / f"{name}.fitted") for name in ("killed", "whole"))
    assert one.n_iter_ == 7
    assert fitted(one) == fitted(other)


def mixture_of(**how):
    return mixture.GaussianMixture(
        2, covariance_type="diag", random_state=0, max_iter=2, **{"tol": 0} | how
    )


def test_categories_too_rare_for_the_sample_are_known(monkeypatch):
    monkeypatch.setattr(sys.modules["mlcore.blocks.fit_blocks"], "_SAMPLE", 50)
    rows = np.random.default_rng(0).integers(0, 3, (2000, 4)).astype(float)
    rows[1777, 2], rows[40, 0] = 9, np.nan
    how = {"random_state": 0, "max_iter": 5, "tol": 0, "missing": "ignore"}
    found = [
        fit_blocks(mixture.CategoricalMixture(2, **how), row_blocks(rows, block_size=300), **more)
        for more in ({}, {"executor": joblib.Parallel(2, prefer="threads")})
    ]
    assert_array_equal(found[0].categories_[2], [0, 1, 2, 9])
    assert_array_equal(found[0].categories_[0], [0, 1, 2])
    assert fitted(found[0]) == fitted(found[1])


def test_quasi_newton_steps_go_on_from_a_checkpoint(tmp_path):
    def logistic(max_iter, **how):
        return linear_model.LogisticRegression(C=0.01, max_iter=max_iter, **how)

    seen = []

    def stop(step, **_):
        seen.append(step)
        if len(seen) == 6:
            raise KeyboardInterrupt

    rng = np.random.default_rng(0)
    wide = np.hstack([X, rng.normal(size=(len(X), 160))])  # 2250 parameters
    blocks, path = row_blocks(wide, y, block_size=150), tmp_path / "c"
    with pytest.raises(KeyboardInterrupt):
        fit_blocks(logistic(200, callback=stop), blocks, checkpoint=path)
    resumed = fit_blocks(logistic(200, callback=stop), blocks, checkpoint=path)
    whole = fit_blocks(logistic(200), blocks)
    assert whole.converged_ and whole.n_iter_[0] > 8
    resumed.callback = None
    assert fitted(resumed) == fitted(whole)


def test_foreign_checkpoints_are_refused(tmp_path):
    path = tmp_path / "c"
    fit_blocks(mixture_of(), cut(3), checkpoint=path)
    with pytest.raises(ValueError, match="of another fit, by its parameters"):
        fit_blocks(mixture_of(tol=1e-3), cut(3), checkpoint=path)
    with pytest.raises(ValueError, match="by its n blocks and first block"):
        fit_blocks(mixture_of(), cut(4), checkpoint=path)
    with pytest.raises(ValueError, match="by its first block"):
        fit_blocks(mixture_of(), [(x + 1, y) for x, y in cut(3)], checkpoint=path)
    with pytest.raises(ValueError, match="by its start"):
        fit_blocks(mixture_of(), cut(3), checkpoint=path, start=1)
    with pytest.raises(ValueError, match="by its model and parameters"):
        fit_blocks(naive_bayes.GaussianNB(), cut(3), checkpoint=path)
    mlcore.save(mixture_of(), path)
    with pytest.raises(ValueError, match="is a saved model, no checkpoint"):
        fit_blocks(mixture_of(), cut(3), checkpoint=path)


def test_newer_and_damaged_checkpoints_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "c"
    with monkeypatch.context() as later:
        later.setattr("mlcore.blocks.checkpoint._FORMAT", 4)
        fit_blocks(mixture_of(), cut(3), checkpoint=path)
    with pytest.raises(ValueError, match="has format 4, but this mlcore reads formats up to 3"):
        fit_blocks(mixture_of(), cut(3), checkpoint=path)
    path.unlink()
    fit_blocks(mixture_of(), cut(3), checkpoint=path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 20):
        path.write_bytes(whole[:place])
        with pytest.raises(ValueError, match="truncated|not a readable"):
            fit_blocks(mixture_of(), cut(3), checkpoint=path)


def test_what_cannot_be_saved_is_named_before_the_work(tmp_path):
    passes = []

    def rows():
        passes.append(1)
        return X

    model = mixture_of()
    model.random_state = np.random.default_rng(0)
    with pytest.raises(TypeError, match="random_state is a Generator"):
        fit_blocks(model, [rows, rows], checkpoint=tmp_path / "c")
    assert len(passes) <= 1
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    path, written = tmp_path / "c", []
    plain = np.savez

    def full(file, **arrays):
        written.append(1)
        if len(written) == 3:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(file, **arrays)

    monkeypatch.setattr("mlcore.estimator.persistence.np.savez", full)
    model = mixture_of()
    with pytest.raises(OSError, match="No space left"):
        fit_blocks(model, cut(3), checkpoint=path)
    assert not hasattr(model, "means_")
    assert [p.name for p in tmp_path.iterdir()] == ["c"]
    again = fit_blocks(mixture_of(), cut(3), checkpoint=path)
    assert fitted(again) == fitted(fit_blocks(mixture_of(), cut(3)))


def test_checkpoints_are_not_written_more_often_than_asked(tmp_path, monkeypatch):
    written = []
    plain = mlcore.save
    monkeypatch.setattr("mlcore.blocks.checkpoint.save", lambda *a: (written.append(1), plain(*a)))
    fit_blocks(mixture_of(), cut(3), checkpoint=tmp_path / "c", checkpoint_seconds=1e6)
    assert len(written) == 2  # the start and the end


# ---- predictions


@pytest.mark.parametrize("executor", [None, "threads", "processes"])
def test_predictions_are_those_of_all_rows(executor, executors, tmp_path):
    model = naive_bayes.GaussianNB().fit(X, y)
    how = executors.get(executor)
    assert_array_equal(predict_blocks(model, cut(5), executor=how), model.predict(X))
    out = np.lib.format.open_memmap(tmp_path / "p.npy", "w+", "f8", (len(X), 10))
    assert predict_blocks(model, cut(5), "predict_proba", executor=how, out=out) is out
    assert_array_equal(out, model.predict_proba(X))


def test_transforms():
    model = decomposition.PCA(3).fit(X)
    assert_allclose(transform_blocks(model, cut(5)), model.transform(X), rtol=1e-12, atol=1e-12)


def test_predictions_need_a_method_and_room():
    model = naive_bayes.GaussianNB().fit(X, y)
    with pytest.raises(TypeError, match="GaussianNB has no method 'transform'"):
        transform_blocks(model, cut(2))
    with pytest.raises(ValueError, match=r"out has shape \(5,\), but"):
        predict_blocks(model, cut(2), out=np.empty(5))
    with pytest.raises(ValueError, match="out has 601 rows, but the blocks have 600"):
        predict_blocks(model, cut(2), out=np.empty(601))
    with pytest.raises(BlockError, match="block 1 .*7 features"):
        predict_blocks(model, [X, X[:, :7]])


def test_arguments_are_by_name():
    kinds = {p.kind for p in list(inspect.signature(fit_blocks).parameters.values())[2:]}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
