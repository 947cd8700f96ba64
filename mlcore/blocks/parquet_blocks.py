"""Blocks of Parquet files: their row groups."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from mlcore.blocks.sequence import Block, Blocks


class RowGroup(Block):
    """A row group of a file, features as a table with names."""

    def __init__(
        self, path: str, group: int, features: list[str], target: str | None, weight: str | None
    ) -> None:
        self._path, self._group = path, group
        self._features, self._target, self._weight = features, target, weight
        self.name = f"row group {group} of {path}"

    def load(self) -> tuple[Any, Any, Any]:
        import pyarrow.parquet as pq

        others = [name for name in (self._target, self._weight) if name is not None]
        with pq.ParquetFile(self._path) as file:
            table = file.read_row_group(self._group, columns=[*self._features, *others])
        y, weight = (
            None if name is None else table.column(name).to_numpy()
            for name in (self._target, self._weight)
        )
        return table.select(self._features), y, weight


def parquet_blocks(
    path: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
) -> Blocks:
    """Return the row groups of Parquet files as blocks.

    Parameters
    ----------
    path : path-like, list of these, or pyarrow.dataset.Dataset
        Files, or folders whose files ``*.parquet`` are taken in the order of their names.
    target, weight : str, optional
        Columns that are y and sample_weight.
    columns : sequence of str, optional
        The features; by default all columns but these two.

    Returns
    -------
    Blocks
        Tables with the names of their columns, which models keep and compare; nulls are NaN.

    Raises
    ------
    ImportError
        Without pyarrow.
    OSError
        If there is no such file.
    TypeError, ValueError
        If there are no files or rows, a column is not in a file, or is named twice.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from mlcore.blocks import parquet_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.parquet")
    ...     table = pa.table({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0], "label": [0, 1, 0]})
    ...     pq.write_table(table, path, row_group_size=2)
    ...     blocks = parquet_blocks(path, target="label")
    ...     X, y, _ = blocks[1].load()
    >>> len(blocks), X.column_names, y
    (2, ['a', 'b'], array([0]))
    """
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("parquet_blocks needs pyarrow: pip install pyarrow.") from None
    blocks, first = [], None
    for file in _files(path):
        metadata = pq.read_metadata(file)
        names = metadata.schema.to_arrow_schema().names
        features = _features(names, file, target, weight, columns)
        if first is None:
            first = features
        elif features != first:
            raise ValueError(f"{file} has the features {features}, but the first file {first}.")
        blocks += [
            RowGroup(file, group, features, target, weight)
            for group in range(metadata.num_row_groups)
        ]
    if not blocks:
        raise ValueError(f"path={path!r} has no row group, but at least one is needed.")
    return Blocks(blocks)


def _files(path) -> list[str]:
    if isinstance(path, (str, PathLike)):
        if not Path(path).is_dir():
            return [fspath(path)]
        return [str(file) for file in sorted(Path(path).rglob("*.parquet"))]
    if hasattr(path, "get_fragments"):
        return list(path.files)
    if isinstance(path, (list, tuple)):
        return [file for one in path for file in _files(one)]
    raise TypeError(
        f"path is of type {type(path).__name__}, but must be a path, a list of paths or a "
        "pyarrow.dataset.Dataset."
    )


def _features(names, file, target, weight, columns):
    for parameter, name in (("target", target), ("weight", weight)):
        if name is not None and name not in names:
            raise ValueError(f"{parameter}={name!r} is no column of {file}, which has {names}.")
    if columns is None:
        return [name for name in names if name not in (target, weight)]
    unknown = [name for name in columns if name not in names]
    if unknown:
        raise ValueError(f"columns: {unknown} are no columns of {file}, which has {names}.")
    twice = sorted({n for n in columns if list(columns).count(n) > 1 or n in (target, weight)})
    if twice:
        raise ValueError(f"columns: {twice} are named twice, or are target or weight.")
    return list(columns)
