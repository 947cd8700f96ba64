"""Arrays of an .npz file, each read whole with its checksum, in memory of the file's own size."""

import os
import zipfile
from typing import Any, Self

import numpy as np

_SUFFIX = ".npy"
_AT_ONCE = 2**16  # bytes
_KINDS = "biufcUSmM"
_ENCRYPTED = 1  # flag of a member


class Archive:
    """Arrays of an archive by name, read when they are asked for; a context manager.

    No array is larger than the file: members are uncompressed and disjoint, else ValueError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._zip = zipfile.ZipFile(path)
        self._read: dict[str, np.ndarray] = {}
        members = self._zip.infolist()
        self._members = {member.filename: member for member in members}
        if len(self._members) < len(members):
            self._zip.close()
            raise ValueError("two members have the same name.")
        if sum(member.file_size for member in members) > os.path.getsize(path):
            self._zip.close()
            raise ValueError("its members claim to be larger than the file.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name + _SUFFIX in self._members

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._read:
            self._read[name] = self._array(self._members[name + _SUFFIX])
        return self._read[name]

    def _array(self, member: zipfile.ZipInfo) -> np.ndarray:
        """Return the array of a member, whose checksum is compared as its end is reached."""
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & _ENCRYPTED:
            raise ValueError(f"{member.filename} is compressed or encrypted.")
        with self._zip.open(member) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError(f"{member.filename} has another format than save writes.")
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
            size = dtype.itemsize
            for length in shape:
                size *= length
            if dtype.kind not in _KINDS or min(shape, default=0) < 0 or not dtype.itemsize:
                raise ValueError(f"{member.filename} is an array of {dtype}, {shape}.")
            if file.tell() + size != member.file_size:
                raise ValueError(
                    f"{member.filename} says that it has {size} bytes in an array of {dtype}, "
                    f"{shape}, but has {member.file_size - file.tell()}."
                )
            array = np.empty(shape, dtype, order="F" if by_columns else "C")
            flat = array.reshape(-1, order="F" if by_columns else "C").view(np.uint8)
            for start in range(0, size, _AT_ONCE):
                part = file.read(min(_AT_ONCE, size - start))
                flat[start : start + len(part)] = np.frombuffer(part, np.uint8)
                if start + len(part) != min(start + _AT_ONCE, size):
                    raise ValueError(f"{member.filename} is cut.")
            if file.read(1):
                raise ValueError(f"{member.filename} goes on behind its array.")
        return array
