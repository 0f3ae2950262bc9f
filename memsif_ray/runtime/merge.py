"""All units of a run as one file per table, rows in an order that does not depend on who finished first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from memsif_ray.clients.ledger import Ledger
from memsif_ray.runtime.units import Unit, UnitRecord
from memsif_ray.schemas import TABLES, UNITS
from memsif_ray.storage.inputs import Listed
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.storage.tables import encode

OF_INPUTS = ("conversations", "messages", "questions", "gold")
OF_UNITS = (
    "segments",
    "trajectories",
    "fact_operations",
    "decisions",
    "clusters",
    "notes",
    "retrievals",
    "packings",
    "answers",
    "verdicts",
)
"""Not `vectors`: they are large, and only a method that loads its memory reads them, where they are."""


def merge(
    folder: RunFolder, listed: Sequence[Listed], records: Sequence[UnitRecord], *, about: dict[str, object]
) -> None:
    """Write every table, then the manifest with `about` in it.

    Raises:
        DataError: When a unit's file is not the one that was written.
    """
    units = sorted((record.unit for record in records), key=_order)
    inputs = [folder.inputs(entry.conversation_id) for entry in listed]
    outputs = [unit.folder(folder) for unit in units]
    tables: dict[str, Iterable[pa.Table]] = {
        **{name: parts_of(inputs, name) for name in OF_INPUTS},
        **{name: parts_of(outputs, name) for name in OF_UNITS},
        "calls": _calls(folder, units),
        "units": [encode(sorted(records, key=lambda record: _order(record.unit)), UNITS)],
    }
    folder.tables.write(tables, about)


def _order(unit: Unit) -> tuple[str, str, int]:
    return unit.method, unit.conversation_id, -1 if unit.run is None else unit.run


def parts_of(folders: Sequence[SealedFolder], name: str) -> Iterator[pa.Table]:
    """One table of every folder that has it."""
    return (folder.read(name) for folder in folders if name in folder.names())


def _calls(folder: RunFolder, units: Sequence[Unit]) -> Iterator[pa.Table]:
    for unit in units:
        with Ledger(unit.ledger(folder)) as ledger:
            yield encode(ledger.rows(), TABLES["calls"])
