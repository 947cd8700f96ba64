"""Blocks of Parquet files and other datasets of pyarrow: their row groups, or files."""

import json
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from mlcore.blocks.sequence import Block, Blocks


class Fragment(Block):
    """A row group of a file, or a whole file of another format; features as a table with names."""

    name: str

    def __init__(self, fragment: Any, schema: Any, filter: Any, names: "Names", name: str) -> None:
        self._fragment, self._schema, self._filter = fragment, schema, filter
        self._names, self.name = names, name

    def load(self) -> tuple[Any, Any, Any]:
        features, *others = self._names
        table = self._fragment.to_table(
            schema=self._schema,
            columns=[*features, *(name for name in others if name is not None)],
            filter=self._filter,
        )
        y, weight = (None if name is None else table.column(name).to_numpy() for name in others)
        return table.select(features), y, weight


class Names(NamedTuple):
    """The columns of X, y and sample_weight."""

    features: list[str]
    target: str | None
    weight: str | None


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
        Files, or folders whose files ``*.parquet`` are taken in the order of their names; folders
        in these, named as ``year=2024``, are columns. A dataset is taken as it is, with its
        partitions, its filter, and whatever format it has.
    target, weight : str, optional
        Columns that are y and sample_weight.
    columns : sequence of str, optional
        The features; by default all columns but these two and the index of a pandas data frame.

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
        import pyarrow.dataset  # noqa: F401
    except ImportError:
        raise ImportError("parquet_blocks needs pyarrow: pip install pyarrow.") from None
    roles = target, weight, None if columns is None else list(columns)
    blocks = _of_dataset(path, roles) if hasattr(path, "get_fragments") else _of_files(path, roles)
    if not blocks:
        raise ValueError(f"path={path!r} has no row group, but at least one is needed.")
    return Blocks(blocks)


def _of_dataset(dataset, roles):
    """Return the blocks of a dataset as it is: its schema, partitions, filter and format."""
    schema, blocks = dataset.schema, []
    chosen = getattr(dataset, "_scan_options", {}).get("filter")
    names = _names(schema, "the dataset", *roles)
    # pyarrow shows the fragments of a dataset with a filter by no public name.
    fragments = dataset.get_fragments() if chosen is None else dataset._get_fragments(chosen)
    for fragment in fragments:
        if not hasattr(fragment, "path"):
            raise TypeError(
                f"path is a {type(dataset).__name__}, whose rows are in memory: use "
                "row_blocks(dataset.to_table())."
            )
        blocks += _row_groups(fragment, schema, chosen, names)
    return blocks


def _of_files(path, roles):
    """Return the blocks of files, which must have the same features, and of their partitions."""
    from pyarrow import dataset as ds
    from pyarrow import schema as schema_of

    blocks, first = [], None
    for files, folder in _files(path):
        if not files:
            continue
        hive = {} if folder is None else {"partitioning": "hive", "partition_base_dir": folder}
        whole = ds.dataset(files, format="parquet", **hive)
        fragments = list(whole.get_fragments())
        own = set(fragments[0].physical_schema.names)
        partitions = [field for field in whole.schema if hive and field.name not in own]
        for fragment in fragments:
            physical = fragment.physical_schema
            more = [field for field in partitions if field.name not in physical.names]
            schema = schema_of([*physical, *more], metadata=physical.metadata)
            names = _names(schema, fragment.path, *roles)
            if first is None:
                first = names.features
            elif names.features != first:
                raise ValueError(
                    f"{fragment.path} has the features {names.features}, but the first file "
                    f"{first}."
                )
            blocks += _row_groups(fragment, schema, None, names)
    return blocks


def _row_groups(fragment, schema, chosen, names):
    if not hasattr(fragment, "split_by_row_group"):
        return [Fragment(fragment, schema, chosen, names, str(fragment.path))]
    return [
        Fragment(part, schema, chosen, names, f"row group {group.id} of {part.path}")
        for part in fragment.split_by_row_group()
        for group in part.row_groups
    ]


def _files(path) -> list[tuple[list[str], str | None]]:
    """Return lists of files with the folder, if they are all that it holds."""
    if isinstance(path, (str, PathLike)):
        if not Path(path).is_dir():
            return [([fspath(path)], None)]
        return [([str(file) for file in sorted(Path(path).rglob("*.parquet"))], fspath(path))]
    if isinstance(path, (list, tuple)):
        return [files for one in path for files in _files(one)]
    raise TypeError(
        f"path is of type {type(path).__name__}, but must be a path, a list of paths or a "
        "pyarrow.dataset.Dataset."
    )


def _names(schema, file, target, weight, columns) -> Names:
    names = schema.names
    for parameter, name in (("target", target), ("weight", weight)):
        if name is not None and name not in names:
            raise ValueError(f"{parameter}={name!r} is no column of {file}, which has {names}.")
    if columns is None:
        others = {target, weight, *_index_columns(schema)}
        return Names([name for name in names if name not in others], target, weight)
    unknown = [name for name in columns if name not in names]
    if unknown:
        raise ValueError(f"columns: {unknown} are no columns of {file}, which has {names}.")
    twice = sorted({n for n in columns if list(columns).count(n) > 1 or n in (target, weight)})
    if twice:
        raise ValueError(f"columns: {twice} are named twice, or are target or weight.")
    return Names(columns, target, weight)


def _index_columns(schema) -> list[str]:
    """Return the columns that were the index of a pandas data frame."""
    described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    return [name for name in described.get("index_columns", ()) if isinstance(name, str)]
