"""Classes of plain objects that files of models may hold: NamedTuples and frozen dataclasses."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def stored(*, version: int) -> Callable[[_Class], _Class]:
    """Return a decorator that lets files hold the objects of a class, by its name and version.

    The class has a table of its fields, ``_stored = {"origin": "float64 f"}``, as described in
    `mlcore.estimator.persistence.declared`. A file is read without a call of the constructor;
    `_check_loaded` checks the rest. `version` grows by 1 when the fields change; from 2 on the
    class method ``_from_version(version, fields)`` returns older, unchecked fields as they are now.
    """

    def register(cls: _Class) -> _Class:
        frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen
        if not frozen and not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            raise TypeError(f"{cls.__name__} is neither a NamedTuple nor a frozen dataclass.")
        if set(fields_of(cls)) != declared(cls).keys():
            raise TypeError(f"{cls.__name__} has other fields than its table _stored.")
        if version > 1 and not hasattr(cls, "_from_version"):
            raise TypeError(f"{cls.__name__} of version {version} has no _from_version.")
        cls._stored_version = version
        return cls

    return register


def is_stored(cls: type) -> bool:
    """Return True if a class, and not only one that it inherits from, is registered."""
    return "_stored_version" in vars(cls)


def fields_of(cls: type) -> Iterable[str]:
    """Return the names of the fields of a NamedTuple or dataclass."""
    return cls._fields if issubclass(cls, tuple) else [f.name for f in dataclasses.fields(cls)]


def declared(cls: type) -> dict[str, Any]:
    """Return the lines of a class of models or of objects, those of its bases first."""
    lines: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        lines |= vars(base).get("_stored", {})
    return lines


def restored(cls: type, fields: dict[str, Any]) -> Any:
    """Return an object of `cls`, a registered class, made without a call of the constructor.

    `fields` are its values by name; ValueError if one is missing, or there is another.
    """
    names = list(fields_of(cls))
    if fields.keys() != set(names):
        raise ValueError(f"{cls.__name__} has fields {list(fields)}, but must have {names}.")
    if issubclass(cls, tuple):
        return tuple.__new__(cls, [fields[name] for name in names])
    value = object.__new__(cls)
    for name in names:
        object.__setattr__(value, name, fields[name])
    return value
