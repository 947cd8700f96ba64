"""Fits over blocks of rows: in files, in processes, on other machines."""

import copy
from typing import Any, TypeVar

import numpy as np

from mlcore.blocks.apply_blocks import predict_blocks
from mlcore.blocks.as_blocks import as_blocks
from mlcore.blocks.block_error import BlockError
from mlcore.blocks.checkpoint import Checkpoint
from mlcore.blocks.readings import Readings
from mlcore.blocks.rounds import Sums, n_rows_of, read
from mlcore.blocks.sample import Draw, rows_of
from mlcore.blocks.sequence import Blocks
from mlcore.blocks.workers import workers_of
from mlcore.checks import as_bool, as_random_state, as_real
from mlcore.estimator.mixins import Classifier
from mlcore.estimator.model import Model
from mlcore.estimator.progress import Progress
from mlcore.row_sums import FourMethods, RowSums, as_row_sums

M = TypeVar("M", bound=FourMethods)
_SAMPLE = 20_000  # rows that stand for all


def fit_blocks(
    model: M,
    blocks: Any,
    *,
    executor: Any = None,
    checkpoint: Any = None,
    checkpoint_seconds: float = 0.0,
    start: Any = None,
    labels: bool = False,
) -> M:
    """Fit a model to data that come in blocks of rows, as its `fit` would to all rows at once.

    Each step sums over the rows of every block, wherever its worker is, merges the sums as a tree
    that only the number of blocks decides, and updates the model: the result is the same to the
    last bit with any executor and number of workers.

    Parameters
    ----------
    model : RowSums
        KMeans, MiniBatchKMeans, a mixture, PLSA, PCA, CCA, a discriminant, naive Bayes, linear or
        logistic regression, NystroemRidge, TfidfTransformer, or any other
        object with the four methods of `mlcore.row_sums.RowSums`.
    blocks : Blocks, array, table, file or sequence
        What `row_blocks` and `parquet_blocks` return; an array, memory map, sparse matrix, table,
        Zarr, HDF5 or dask array without y; Parquet files; or a sequence of arrays, of tuples
        (X, y) or (X, y, sample_weight), or of callables that return these.
    executor : optional
        None sums in this thread, while another one reads the next block. Otherwise an executor of
        `concurrent.futures`, a callable that makes one, which is called again if a worker dies, a
        `joblib.Parallel`, or a `dask.distributed.Client`.
    checkpoint : path-like, optional
        File that is replaced, at once, after every step, and from which the same call goes on
        after a crash, to the same bytes. It holds a digest of every block, rows, y and weights,
        which is compared before a step is taken, and also if the fit is done.
    checkpoint_seconds : float, default=0
        Least time between two checkpoints.
    start : int or tuple (X, y, sample_weight), optional
        The block, or the rows, that the model begins with: its start, units and classes come from
        these. By default 20,000 rows drawn from all blocks, with every class; the first block for
        models that need no more than a point near the data. KMeans goes on from the sample by
        k-means||, in four more passes.
    labels : bool, default=False
        Set `labels_`, which takes another pass and memory of all rows' labels.

    Returns
    -------
    model
        Fitted; after an error as it was before.

    Raises
    ------
    BlockError
        A ValueError: if a block cannot be read, the model refuses it, it has another form than the
        first, or other rows than when it was read before: names the block.
    TypeError
        If the model has no sums over rows, with the reason, or `executor` is none of these.
    ValueError
        If the checkpoint is damaged, of another fit, of other data or newer than this mlcore.
    OSError
        If the checkpoint cannot be written.

    Notes
    -----
    A step reads all blocks once and sends the model to each. At most a few blocks are in memory for
    each worker, and log2(n_blocks) + 1 sums.

    References
    ----------
    C. Chu et al., *Map-reduce for machine learning on multicore*, NIPS 2006.

    Examples
    --------
    >>> from mlcore.blocks import fit_blocks, row_blocks
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.naive_bayes import GaussianNB
    >>> X, y = load_digits()
    >>> model = fit_blocks(GaussianNB(), row_blocks(X, y, block_size=500))
    >>> bool((model.predict(X) == GaussianNB().fit(X, y).predict(X)).all())
    True
    """
    if not isinstance(model, RowSums):
        raise TypeError(
            f"model: {type(model).__name__} cannot be fitted to blocks: {_why_not(model)}."
        )
    blocks = as_blocks(blocks)
    as_bool(labels, "labels")
    as_real(checkpoint_seconds, "checkpoint_seconds", at_least=0)
    if labels and not hasattr(model, "predict"):
        raise TypeError(f"labels=True: {type(model).__name__} has no predict.")
    fitted = copy.copy(model) if isinstance(model, Model) else copy.deepcopy(model)
    file = None
    if checkpoint is not None:
        if not isinstance(model, Model):
            raise TypeError(
                f"checkpoint: {type(model).__name__} is no model of mlcore, which alone are saved."
            )
    # Begin, or go on from the checkpoint; then passes until the end.
    shown = getattr(model, "verbose", 0), getattr(model, "callback", None), type(model).__name__
    with workers_of(executor) as workers, Progress(*shown) as progress:
        first = _first_with_rows(blocks)
        options = {"whole": checkpoint is not None, "labels": isinstance(model, Classifier)}
        readings = Readings(workers, blocks, first[1], **options)
        if checkpoint is not None:
            file = Checkpoint(checkpoint, model, blocks, first[1], start, checkpoint_seconds)
        resumed = None if file is None else file.resumed(model, readings)
        fitted = fitted if resumed is None else resumed
        work = as_row_sums(fitted)
        if resumed is None:
            _begin(work, fitted, blocks, first, readings, start)
            if file is not None:
                file.write(fitted, at_once=True)  # what cannot be saved is found before the work
        _step_until_done(work, fitted, readings, progress, file)
        labelled = {"labels_": predict_blocks(fitted, blocks, executor=workers)} if labels else {}
    _commit(model, vars(fitted) | labelled)
    return model


def _why_not(model):
    if isinstance(model, Model):
        return model._no_blocks
    return "it lacks begin, partial_statistics, merge or update (mlcore.row_sums.RowSums)"


def _step_until_done(work: RowSums, fitted, readings, progress, file):
    """Update `fitted`, by its interface `work`, until the fit ends."""
    name = type(fitted).__name__
    step, before = 0 if file is None else file.step, np.nan
    while work.needs_another_pass():
        step += 1
        work.update(readings.total(Sums(work, f"{name}-step-{step}")))
        objective = _objective(fitted)
        progress.step(step, objective, abs(objective - before))
        before = objective
        if file is not None:
            file.write(fitted, step, at_once=not work.needs_another_pass())
    total = readings.total(Sums(work, f"{name}-end")) if work.needs_finishing_pass() else None
    readings.finish()
    if file is not None and step == 0:  # no step has written what the blocks are
        file.write(fitted, at_once=True)
    work.finish(total)


def _objective(fitted):
    trace = getattr(fitted, "objective_trace_", ())
    if len(trace):
        return float(trace[-1])
    return float(np.sum(getattr(fitted, "objective_", np.nan)))  # of all targets


def _begin(
    work: RowSums, fitted, blocks: Blocks, first: tuple[Any, ...], readings: Readings, start
):
    whole = start is None and work.start_rows == "sample"
    if start is None:
        number, rows = first
    elif isinstance(start, (int, np.integer)) and not isinstance(start, bool):
        if not 0 <= start < len(blocks):
            raise ValueError(f"start={start} is no block: there are {len(blocks)}, from 0.")
        number, rows = int(start), read(blocks[start], int(start))
    else:
        work.begin(*(start if isinstance(start, tuple) else (start,)))
        return
    try:
        if not whole:
            work.begin(*rows)
            return
        if isinstance(fitted, Model):
            copy.copy(fitted)._check_X(rows[0], reset=True)
    except (TypeError, ValueError) as error:
        raise BlockError(f"block {number} ({blocks[number].name}): {error}", number) from error
    seed = _seed(getattr(fitted, "random_state", None))
    sample = readings.total(Draw(_SAMPLE, seed, rows[0], type(work)))
    try:
        work.begin(sample.X, sample.y, sample.weight)
    except (TypeError, ValueError):
        _refuse_block_of(sample, fitted, blocks)
        raise
    if len(sample.keys) >= _SAMPLE:
        work.begin_over_blocks(readings.total, seed)


def _first_with_rows(blocks):
    for number, block in enumerate(blocks):
        rows = read(block, number)
        if n_rows_of(rows[0]):
            return number, rows
    raise ValueError(f"blocks: none of the {len(blocks)} has any rows.")


def _refuse_block_of(sample, fitted, blocks):
    """Raise a BlockError if the rows of one block in the sample are no samples of the model."""
    if not isinstance(fitted, Model):
        return
    for number in np.unique(sample.places[:, 0]).tolist():
        rows = np.flatnonzero(sample.places[:, 0] == number)
        try:
            copy.copy(fitted)._check_X(rows_of(sample.X, rows), reset=True)
        except (TypeError, ValueError) as error:
            raise BlockError(f"block {number} ({blocks[number].name}): {error}", number) from error


def _seed(random_state) -> int:
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(as_random_state(copy.deepcopy(random_state)).integers(2**63))


def _commit(model, state):
    """Give the model the fitted state at once; its parameters stay the objects they are."""
    if not isinstance(model, Model):
        vars(model).update(state)
        return
    parameters = model._defaults()
    fitted = {name: value for name, value in state.items() if name not in parameters}
    model._update_state(fitted, forget=[name for name in vars(model) if name.endswith("_")])
