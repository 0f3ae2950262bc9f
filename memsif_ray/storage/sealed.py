"""Folders of tables that count as there only together, and only as they were written."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from memsif_ray.errors import DataError
from memsif_ray.schemas import SCHEMA_VERSION, TABLES
from memsif_ray.storage.files import read_json, sha256, write_json
from memsif_ray.storage.tables import read_table, write_tables


@dataclass(frozen=True, slots=True)
class SealedFolder:
    """Parquet tables, and a mark written last that knows the size and digest of each.

    Attributes:
        path: Where the tables are.
        mark: The file that says they are whole; nobody reads a folder without it.
    """

    path: Path
    mark: Path

    def write(self, tables: Mapping[str, Iterable[pa.Table]], about: Mapping[str, Any]) -> None:
        """Write every table from its parts, then the mark with `about` in it."""
        self.clear()
        seals = {name: self._write_one(name, parts) for name, parts in tables.items()}
        write_json(self.mark, {**about, "schema_version": SCHEMA_VERSION, "tables": seals})

    def about(self) -> dict[str, Any] | None:
        """What the mark says, or None unless all tables are there as written.

        Sizes are compared here and digests on reading, because a start looks at thousands of folders.
        """
        said = read_json(self.mark)
        if said is None or said["schema_version"] != SCHEMA_VERSION:
            return None
        whole = all(_size(self.file(name)) == seal["bytes"] for name, seal in said["tables"].items())
        return dict(said) if whole else None

    def read(self, name: str) -> pa.Table:
        """One table.

        Raises:
            DataError: When it is not the one that was written.
        """
        path = self.file(name)
        said = read_json(self.mark)
        if said is None or _size(path) is None or sha256(path) != said["tables"][name]["sha256"]:
            raise DataError(f"{path}: missing or damaged; start the run again to repair it")
        return read_table(path, TABLES[name])

    def names(self) -> frozenset[str]:
        """The tables that were written."""
        said = read_json(self.mark)
        return frozenset(said["tables"]) if said else frozenset()

    def file(self, name: str) -> Path:
        """Where a table is."""
        return self.path / f"{name}.parquet"

    def clear(self) -> None:
        """Remove the mark, then what it stood for."""
        self.mark.unlink(missing_ok=True)
        if self.path.is_dir():
            shutil.rmtree(self.path)

    def _write_one(self, name: str, parts: Iterable[pa.Table]) -> dict[str, Any]:
        path = self.file(name)
        rows = write_tables(path, TABLES[name], parts)
        return {"rows": rows, "bytes": _size(path), "sha256": sha256(path)}


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
