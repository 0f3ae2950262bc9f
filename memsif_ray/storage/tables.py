"""Frozen values ↔ Arrow ↔ Parquet, always by a written schema.

A nested value (the fact inside a fact operation) is spread over columns of its own fields. A set becomes a
sorted list, a vector a list of 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from memsif_ray.errors import DataError
from memsif_ray.schemas import SCHEMA_VERSION
from memsif_ray.storage.files import write_atomically

T = TypeVar("T")

_VERSION_KEY = b"memsif.schema_version"
_ROWS_PER_GROUP = 65_536


def encode(values: Iterable[Any], schema: pa.Schema, **scope: Any) -> pa.Table:
    """Values (or mappings by column) as a table; `scope` fills columns that are the same in every row.

    Fields without a column are left out.
    """
    rows = [scope | _flat(value) for value in values]
    columns = {name: [_plain(row[name]) for row in rows] for name in schema.names}
    return pa.table(columns, schema=schema)


def decode(table: pa.Table, kind: type[T]) -> list[T]:
    """The values that `encode` made the table from; columns without a field are left out."""
    columns = {name: _column(table.column(name)) for name in table.column_names}
    rows = zip(*columns.values(), strict=True)
    return [_value(kind, dict(zip(columns, row, strict=True))) for row in rows]


def write_table(path: Path, table: pa.Table) -> None:
    """Write one Parquet file, whole or not at all."""
    write_tables(path, table.schema, [table])


def write_tables(path: Path, schema: pa.Schema, parts: Iterable[pa.Table]) -> int:
    """Write parts one after another into one Parquet file; returns the number of rows.

    Parts are gathered into row groups of a good size, so thousands of small ones cost nothing to scan. With
    no part at all the file still has every column.
    """
    marked = schema.with_metadata({_VERSION_KEY: str(SCHEMA_VERSION)})

    def write(draft: Path) -> None:
        with pq.ParquetWriter(draft, marked, compression="zstd") as writer:
            for group in _groups(parts):
                writer.write_table(group.replace_schema_metadata(marked.metadata))

    write_atomically(path, write)
    return int(pq.read_metadata(path).num_rows)


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """Read a file that must have exactly this schema.

    Raises:
        DataError: When the file is missing, damaged, or of another schema or version; names the file.
    """
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as exc:
        raise DataError(f"{path}: no readable Parquet file ({exc})") from exc
    version = (table.schema.metadata or {}).get(_VERSION_KEY, b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise DataError(f"{path}: written with schema version {version}, this program reads {SCHEMA_VERSION}")
    if not table.schema.equals(schema):
        raise DataError(f"{path}: its columns are not those of this program")
    return table.replace_schema_metadata(None)


def _groups(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    gathered: list[pa.Table] = []
    for part in parts:
        gathered.append(part)
        if sum(table.num_rows for table in gathered) >= _ROWS_PER_GROUP:
            yield pa.concat_tables(gathered)
            gathered = []
    if gathered:
        yield pa.concat_tables(gathered)


def _flat(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    row: dict[str, Any] = {}
    for field in fields(value):
        content = getattr(value, field.name)
        row |= _flat(content) if is_dataclass(content) else {field.name: content}
    return row


def _plain(content: Any) -> Any:
    if isinstance(content, frozenset):
        return sorted(content)
    return str(content) if isinstance(content, str) else content  # an enum member is a plain string here


def _column(column: pa.ChunkedArray) -> Sequence[Any]:
    if pa.types.is_list(column.type) and pa.types.is_floating(column.type.value_type):
        # A copy, because a view of one row would keep the whole table in memory.
        return [row.values.to_numpy().astype(np.float32) for row in column]
    return list(column.to_pylist())


def _value(kind: Any, row: dict[str, Any]) -> Any:
    return kind(
        **{
            name: _value(hint, row) if is_dataclass(hint) else _typed(hint, row[name])
            for name, hint in _hints(kind).items()
        }
    )


def _typed(hint: Any, content: Any) -> Any:
    if content is None or isinstance(content, np.ndarray):
        return content
    if get_origin(hint) in (tuple, frozenset):
        return get_origin(hint)(content)
    options = [option for option in get_args(hint) if option is not type(None)]
    wanted = options[0] if options else hint
    return wanted(content) if isinstance(content, str) else content


@lru_cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
