"""Save models to one .npz file and load them, without pickle: loading a file runs no code in it.

The archive holds numeric arrays and a JSON header, which describes the model as a tree of nodes.
What a file may hold of a fitted model is declared by its class:
`mlcore.estimator.persistence.declared`.
"""

import contextlib
import importlib
import json
import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

import mlcore
from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.checks.stored import fields_of, is_stored, restored
from mlcore.estimator.model import Model
from mlcore.estimator.persistence.archive import Archive
from mlcore.estimator.persistence.declared import check_declared

_FORMAT = "mlcore model"
_FORMAT_VERSION = 2  # 1, of mlcore 0.2, had no objects
_HEADER = "header"
_CLASS = re.compile(r"mlcore(?:\.[a-z][a-z0-9_]*)+:[A-Z][A-Za-z0-9]*")
_SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to one file that `load` reads.

    A file that is already there is replaced only once the new one is complete.

    Parameters
    ----------
    model : Model
    path : path-like
        No suffix is added; ".npz" is customary.

    Raises
    ------
    TypeError
        If `model` is no mlcore model, or has a part that only pickle could store: functions,
        random generators, objects of other packages. The message names the part.

    Examples
    --------
    >>> import mlcore, os, tempfile
    >>> from mlcore.svm import SVC
    >>> model = SVC(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     mlcore.save(model, path)
    ...     mlcore.load(path).predict([[0.5], [2.5]])
    array([0, 1])
    """
    if not isinstance(model, Model):
        raise TypeError(f"model is of type {type(model).__name__}, but must be an mlcore model.")
    writer = _Writer()
    header = {
        "format": _FORMAT,
        "version": _FORMAT_VERSION,
        "mlcore": mlcore.__version__,
        "model": writer.node(model, type(model).__name__),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    path = Path(path)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **{_HEADER: text}, **writer.arrays)
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` has written.

    Nothing in the file is executed: it can only name classes of mlcore.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    model : Model
        The saved class, parameters and fitted attributes.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is truncated, damaged, something else, or written by a newer mlcore.

    Examples
    --------
    >>> import mlcore, os, tempfile
    >>> from mlcore.svm import SVC
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     mlcore.save(SVC(C=10.0), path)
    ...     mlcore.load(path)
    SVC(C=10.0)
    """
    if not zipfile.is_zipfile(path):
        with open(path, "rb"):  # raises OSError for a missing file or a folder
            raise ValueError(f"{path} is not an mlcore model file, or it is truncated.")
    try:
        with Archive(path) as arrays:
            header = json.loads(arrays[_HEADER].tobytes().decode()) if _HEADER in arrays else None
            refused = _refusal(header)
            model = None if refused else _Reader(arrays).value(header["model"])
    except (OSError, MemoryError):
        raise
    except _NewerObject as newer:
        refused = (
            f"{newer}, written by mlcore {header.get('mlcore')}, which mlcore {mlcore.__version__} "
            "does not know: install a newer mlcore."
        )
    except Exception as error:  # zip, NumPy, SciPy and JSON raise many types for a damaged file
        what = str(error) if isinstance(error, ValueError | zipfile.BadZipFile) else repr(error)
        raise ValueError(f"{path} is damaged, not a readable mlcore model file: {what}") from None
    if refused:
        raise ValueError(f"{path} {refused}")
    if not isinstance(model, Model):
        raise ValueError(f"{path} is damaged: it describes no model.")
    return model


def _refusal(header):
    """Return what is wrong with the format of a file, None if this mlcore reads it."""
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        return "is an archive, but not of an mlcore model."
    version, writer = header.get("version"), header.get("mlcore")
    if not isinstance(version, int) or version > _FORMAT_VERSION:
        return (
            f"has format {version}, written by mlcore {writer}; mlcore {mlcore.__version__} reads "
            f"formats up to {_FORMAT_VERSION}: install a newer mlcore."
        )
    return None


class _NewerObject(Exception):
    """An object has a version that this mlcore does not know."""


class _Writer:
    """Converter of values to nodes that JSON can hold; collects the arrays, each of them once."""

    def __init__(self):
        self.arrays = {}
        self._kept = {}  # id -> (name, array); the reference keeps the id from being used again

    def node(self, value, place):
        """Return a JSON value: a plain scalar as it is, everything else as {"type": ...}."""
        if type(value) is int and value.bit_length() > 64:  # Python does not print very long ones
            return {"type": "int", "hex": hex(value)}
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Model):
            return self._model(value, place)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value, place)
        if type(value) in (list, tuple):
            items = [self.node(item, f"{place}[{i}]") for i, item in enumerate(value)]
            return {"type": type(value).__name__, "items": items}
        if type(value) is dict:
            items = [
                [self.node(key, f"{place} keys"), self.node(item, f"{place}[{key!r}]")]
                for key, item in value.items()
            ]
            return {"type": "dict", "items": items}
        if is_stored(type(value)):
            return self._object(value, place)
        if isinstance(value, EncodedSamples):
            state = {n: self.node(part, f"{place}.{n}") for n, part in value.__getstate__().items()}
            return {"type": "samples", "class": _path(type(value), place), "state": state}
        if type(value).__name__ in _SPARSE and sp.issparse(value):
            parts = {n: self.node(getattr(value, n), place) for n in ("data", "indices", "indptr")}
            return {"type": type(value).__name__, "shape": list(value.shape), **parts}
        raise TypeError(
            f"{place} is of type {type(value).__name__}, which cannot be saved without pickle: "
            "set it to a plain value first, or use pickle."
        )

    def _model(self, model, place):
        path = _path(type(model), place)
        state = {name: self.node(value, f"{place}.{name}") for name, value in vars(model).items()}
        return {"type": "model", "class": path, "state": state}

    def _object(self, value, place):
        cls = type(value)
        names = fields_of(cls)
        fields = {name: self.node(getattr(value, name), f"{place}.{name}") for name in names}
        version = cls._stored_version
        return {"type": "object", "class": _path(cls, place), "version": version, "fields": fields}

    def _array(self, array, place):
        if array.dtype.kind == "O":
            items = [self.node(item, f"{place} items") for item in array.ravel().tolist()]
            return {"type": "objects", "shape": list(array.shape), "items": items}
        if array.dtype.kind not in "biufcUSmM":
            raise TypeError(f"{place} is an array of type {array.dtype}, which cannot be saved.")
        if isinstance(array, np.generic):
            name = f"array-{len(self.arrays)}"
            self.arrays[name] = np.asarray(array)
            return {"type": "scalar", "name": name}
        if id(array) not in self._kept:
            name = f"array-{len(self.arrays)}"
            self._kept[id(array)] = name, array
            self.arrays[name] = np.asarray(array)
        return {"type": "array", "name": self._kept[id(array)][0]}


class _Reader:
    """Converter of nodes back to values."""

    def __init__(self, arrays):
        self._arrays = arrays

    def value(self, node):
        # JSON's own strings, numbers, booleans and null stand for themselves.
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise TypeError("a bare list")
            return node
        # Models, arrays and numbers.
        kind = node["type"]
        if kind == "model":
            return self._model(node)
        if kind == "array":
            return self._arrays[node["name"]]
        if kind == "scalar":
            return self._arrays[node["name"]][()]
        if kind == "int":
            return int(node["hex"], 16)
        # Containers, whose items are nodes again.
        if kind == "objects":
            items = np.empty(len(node["items"]), dtype=object)
            items[:] = [self.value(item) for item in node["items"]]
            return items.reshape(node["shape"])
        if kind == "list":
            return [self.value(item) for item in node["items"]]
        if kind == "tuple":
            return tuple(self.value(item) for item in node["items"])
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in node["items"]}
        # Objects of registered classes, encoded samples and sparse matrices.
        if kind == "object":
            return self._object(node)
        if kind == "samples":
            cls = _class(node["class"], EncodedSamples)
            samples = cls.__new__(cls)
            samples.__setstate__({n: self.value(inner) for n, inner in node["state"].items()})
            return samples
        return self._sparse(_SPARSE[kind], node)

    def _sparse(self, cls, node):
        """Return a matrix of the arrays as they are: its constructor might copy them."""
        (n, d), parts = node["shape"], [self.value(node[n]) for n in ("data", "indices", "indptr")]
        data, indices, indptr = parts
        kinds = [part.dtype.kind for part in parts]
        one_row_each = len(indptr) == n + 1 and len(data) == len(indices)
        if kinds[0] not in "biufc" or kinds[1:] != ["i", "i"] or not one_row_each:
            raise ValueError("the structure of a sparse matrix does not fit together.")
        matrix = cls((n, d))
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        matrix.check_format(full_check=True)
        return matrix

    def _object(self, node):
        cls, version = _class(node["class"]), node["version"]
        if type(version) is not int or version < 1:
            raise ValueError(f"the file has a {cls.__name__} of version {version!r}.")
        if version > cls._stored_version:
            raise _NewerObject(f"holds a {cls.__name__} of version {version}")
        fields = {name: self.value(inner) for name, inner in node["fields"].items()}
        if version < cls._stored_version:
            fields = cls._from_version(version, fields)
        return restored(cls, fields)

    def _model(self, node):
        model = object.__new__(_class(node["class"], Model))
        model._take_state({name: self.value(inner) for name, inner in node["state"].items()})
        owner, state, parameters = type(model).__name__, vars(model), model._defaults()
        unknown = [n for n in state if not n.endswith("_") and not n.startswith("_")]
        unknown = [n for n in unknown if n not in parameters]
        if unknown:
            raise ValueError(f"{owner} of mlcore {mlcore.__version__} has no parameter {unknown}.")
        lost = [n for n in parameters if n not in state]
        if lost:
            raise ValueError(f"the file is damaged: its {owner} has no {lost}.")
        check_declared(model)
        return model


def _path(cls, place):
    path = f"{cls.__module__}:{cls.__qualname__}"
    if not _CLASS.fullmatch(path):
        raise TypeError(f"{place} is a {path}, but only classes of mlcore can be saved.")
    return path


def _class(path, base=None):
    """Return the class of mlcore that a file names, one of `base`, or a registered one."""
    if not _CLASS.fullmatch(path):
        raise ValueError(f"the file names {path!r}, which is no class of mlcore.")
    module, _, name = path.partition(":")
    family = ".".join(module.split(".")[:2])  # has all models, whose modules may have moved in it
    for place in (module, family) if base is Model else (module,):
        with contextlib.suppress(ImportError, AttributeError):
            cls = getattr(importlib.import_module(place), name)
            break
    else:
        raise ValueError(f"this mlcore {mlcore.__version__} has no {path}.")
    if not (isinstance(cls, type) and (issubclass(cls, base) if base else is_stored(cls))):
        kind = {Model: "model", EncodedSamples: "list of samples", None: "class of stored objects"}
        raise ValueError(f"the file names {path!r}, which is no {kind[base]}.")
    return cls


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
