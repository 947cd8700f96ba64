"""Checkpoints: the state of a fit between two steps, in one file."""

import copy
import hashlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.blocks.rounds import read
from mlcore.persistence import load, save

_FORMAT = 1
_NOT_OF_THE_RESULT = ("callback", "verbose", "n_jobs")  # parameters


class Checkpoint:
    """The file from which a fit goes on, and which it replaces as it goes.

    Parameters
    ----------
    path : path-like
    model : Model
        With the parameters of the fit.
    blocks : Blocks
    start : object
        What the fit begins with: the argument of `fit_blocks`.
    seconds : float
        Steps that end sooner after the last checkpoint write none.
    """

    def __init__(self, path: Any, model: Any, blocks: Any, start: Any, seconds: float) -> None:
        self._path, self._seconds, self._written = Path(path), seconds, -np.inf
        X, y, weight = read(blocks[0], 0)
        parameters = {
            name: value
            for name, value in model.get_params(deep=False).items()
            if name not in _NOT_OF_THE_RESULT
        }
        self._run = {
            "format": _FORMAT,
            "model": type(model).__name__,
            "parameters": _digest(parameters),
            "n_blocks": len(blocks),
            "first_block": _digest([X, y, weight]),
            "start": _digest(start),
        }
        if isinstance(getattr(model, "random_state", None), np.random.Generator):
            raise TypeError(
                f"{type(model).__name__}: random_state is a Generator, whose state a checkpoint "
                "cannot repeat: use an int."
            )

    def resumed(self, model: Any) -> Any:
        """Return the model as the file has it, None if there is no file.

        Raises
        ------
        ValueError
            If the file is none, damaged, newer than this mlcore, or of another fit.
        """
        if not self._path.exists():
            return None
        work = load(self._path)
        run = vars(work).pop("_run_", None)
        if run is None:
            raise ValueError(f"checkpoint={str(self._path)!r} is a saved model, no checkpoint.")
        if run["format"] > _FORMAT:
            raise ValueError(
                f"checkpoint={str(self._path)!r} has format {run['format']}, but this mlcore reads "
                f"formats up to {_FORMAT}: install a newer mlcore."
            )
        other = [name for name, value in self._run.items() if run.get(name) != value]
        if other:
            raise ValueError(
                f"checkpoint={str(self._path)!r} is of another fit, by its "
                f"{' and '.join(name.replace('_', ' ') for name in other)}: give another path, or "
                "remove the file to begin anew."
            )
        for name, value in model.get_params(deep=False).items():
            setattr(work, name, value)
        return work

    def write(self, work: Any, *, at_once: bool = False) -> None:
        """Replace the file by one of this state, unless the last one is recent.

        Raises
        ------
        OSError
            If it cannot be written; the file before is still there.
        TypeError
            If the model has a parameter that only pickle could store.
        """
        now = time.monotonic()
        if not at_once and now - self._written < self._seconds:
            return
        state = copy.copy(work)
        for name in _NOT_OF_THE_RESULT:
            if name in state._defaults():
                setattr(state, name, state._defaults()[name])
        vars(state)["_run_"] = self._run
        save(state, self._path)
        self._written = now


def _digest(value: Any) -> str:
    found = hashlib.sha256()
    _add(found, value)
    return found.hexdigest()


def _add(found, value):
    """Add what decides a result: arrays by their bytes, containers by their items."""
    if isinstance(value, dict):
        for name in sorted(value, key=str):
            found.update(repr(name).encode())
            _add(found, value[name])
    elif isinstance(value, (list, tuple)):
        found.update(f"{len(value)} of".encode())
        for item in value:
            _add(found, item)
    elif sp.issparse(value):
        csr = value.tocsr()
        _add(found, [csr.shape, csr.data, csr.indices, csr.indptr])
    elif hasattr(value, "get_params"):
        _add(found, [type(value).__name__, value.get_params(deep=False)])
    elif value is None or isinstance(value, (bool, int, float, str, os.PathLike)):
        found.update(repr(value).encode())
    else:
        array = np.asarray(value)
        found.update(f"{array.dtype} {array.shape}".encode())
        plain = np.ascontiguousarray(array)
        found.update(repr(plain.tolist()).encode() if plain.dtype.kind == "O" else plain.tobytes())
