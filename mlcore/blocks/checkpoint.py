"""Checkpoints: the state of a fit between two steps, in one file."""

import copy
import dataclasses
import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.blocks.readings import Readings, digest
from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.checks.stored import fields_of
from mlcore.estimator.model import Model
from mlcore.estimator.persistence import load, save

_FORMAT = 3  # 2 was of mlcore 0.2
_PLACE = "_checkpoint"  # in the state of the model that is saved
_NOT_OF_THE_RESULT = ("callback", "verbose", "n_jobs")  # parameters


class Checkpoint:
    """The file from which a fit goes on, and which it replaces as it goes.

    `first` is X, y and weights of the first block with rows, `start` the argument of `fit_blocks`;
    the file is at `step`. Steps that end within `seconds` of the last write write none.
    """

    step: int

    def __init__(
        self, path: Any, model: Any, blocks: Any, first: tuple[Any, ...], start: Any, seconds: float
    ) -> None:
        self._path, self._seconds, self._written = Path(path), seconds, -np.inf
        self.step = 0
        parameters = {
            name: _plain(value)
            for name, value in model.get_params(deep=False).items()
            if name not in _NOT_OF_THE_RESULT
        }
        self._run = {
            "model": type(model).__name__,
            "parameters": _digest(parameters),
            "n_blocks": len(blocks),
            "first_block": digest(*first),
            "start": _of_start(start),
        }
        random_state = getattr(model, "random_state", None)
        if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
            raise TypeError(
                f"{type(model).__name__}: random_state is a {type(random_state).__name__}, whose "
                "state a checkpoint cannot repeat: use an int."
            )

    def resumed(self, model: Any, readings: Readings) -> Any:
        """Return the model as the file has it, None if there is no file.

        The readings compare its digests; ValueError for a damaged, newer or other fit's file.
        """
        self._readings = readings
        if not self._path.exists():
            return None
        work = load(self._path)
        run = vars(work).pop(_PLACE, None)
        if run is None:
            raise ValueError(f"{self} is a saved model, no checkpoint.")
        self._require_format(run)
        other = [name for name, value in self._run.items() if run.get(name) != value]
        if other:
            raise ValueError(
                f"{self} is of another fit, by its "
                f"{' and '.join(name.replace('_', ' ') for name in other)}: give another path, or "
                "remove the file to begin anew."
            )
        step, digests = run.get("step"), run.get("digests")
        whole = isinstance(digests, np.ndarray) and digests.dtype == np.uint64
        whole = whole and digests.shape == (self._run["n_blocks"],)
        if not (type(step) is int and step >= 0 and (whole or digests is None and step == 0)):
            raise ValueError(f"{self} is damaged: it does not tell its step and its blocks.")
        if run.get("state") != _digest(vars(work)):
            raise ValueError(f"{self} is damaged: its model is not the one that was written.")
        self.step, readings.digests = step, digests
        for name, value in model.get_params(deep=False).items():
            setattr(work, name, value)
        return work

    def write(self, work: Any, step: int = 0, *, at_once: bool = False) -> None:
        """Replace the file by one of this state, unless the last one is recent.

        OSError leaves the file before; TypeError for a parameter that only pickle could store.
        """
        now = time.monotonic()
        if not at_once and now - self._written < self._seconds:
            return
        state = copy.copy(work)
        for name in _NOT_OF_THE_RESULT:
            if name in state._defaults():
                setattr(state, name, state._defaults()[name])
        changes = {"step": step, "digests": self._readings.digests, "state": _digest(vars(state))}
        vars(state)[_PLACE] = {"format": _FORMAT} | self._run | changes
        save(state, self._path)
        self._written = now

    def __str__(self) -> str:
        return f"checkpoint={str(self._path)!r}"

    def _require_format(self, run):
        version = run.get("format") if isinstance(run, dict) else None
        if type(version) is not int:
            raise ValueError(f"{self} is damaged: it does not tell its format.")
        if version > _FORMAT:
            raise ValueError(
                f"{self} has format {version}, but this mlcore reads formats up to {_FORMAT}: "
                "install a newer mlcore."
            )
        if version < _FORMAT:
            raise ValueError(
                f"{self} has format {version}, of an older mlcore, which had other state: "
                "give another path, or remove the file to begin anew."
            )


def _of_start(start: Any) -> int | None:
    if start is None or isinstance(start, (int, np.integer)):
        return None if start is None else int(start)
    return digest(*(start if isinstance(start, tuple) else (start,)))


def _plain(value: Any) -> Any:
    """Return numbers in lists, tables and arrays of any type as an array of float64."""
    if not isinstance(value, (list, tuple)) and not hasattr(value, "__array__"):
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # of different lengths
        return value
    return array.astype(np.float64) if array.ndim and array.dtype.kind in "biuf" else value


def _digest(value: Any) -> str:
    sha = hashlib.sha256()
    _add(sha, value)
    return sha.hexdigest()


def _add(sha, value):
    """Add what decides a result: numbers by their values, arrays by their bytes."""
    # Objects as plain values.
    if isinstance(value, EncodedSamples):
        value = value.__getstate__()
    elif isinstance(value, Model):
        value = [type(value).__name__, vars(value)]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [type(value).__name__, {f: getattr(value, f) for f in fields_of(type(value))}]
    elif sp.issparse(value):
        value = [type(value).__name__, value.shape, value.data, value.indices, value.indptr]
    elif isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        value = value.item()
    # Plain values, containers item by item.
    if isinstance(value, dict):
        sha.update(f"{len(value)} names".encode())
        for name in sorted(value, key=str):
            sha.update(repr(name).encode())
            _add(sha, value[name])
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        sha.update(f"{value.dtype} {value.shape}".encode())
        sha.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.ndarray):
        sha.update(f"{value.shape} of".encode())
        for item in value.ravel().tolist():
            _add(sha, item)
    elif isinstance(value, (list, tuple)):
        sha.update(f"{len(value)} of".encode())
        for item in value:
            _add(sha, item)
    elif isinstance(value, float) and value.is_integer():
        sha.update(repr(int(value)).encode())  # 1.0 is the same parameter as 1
    else:
        sha.update(repr(value).encode())
