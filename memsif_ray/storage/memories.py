"""A method's memory as tables, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from memsif_ray.methods.base import Tables
from memsif_ray.schemas import TABLES
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.storage.tables import decode, encode
from memsif_ray.types import (
    CandidateCluster,
    Decision,
    FactOperation,
    Message,
    Note,
    Segment,
    StoredVector,
    Trajectory,
)

KINDS: Mapping[str, type] = {
    "messages": Message,
    "segments": Segment,
    "trajectories": Trajectory,
    "fact_operations": FactOperation,
    "decisions": Decision,
    "clusters": CandidateCluster,
    "notes": Note,
    "vectors": StoredVector,
}
"""The tables that a memory may have, and the value that a row of each holds."""


def encode_memory(
    dump: Mapping[str, Sequence[Any]], *, method: str, conversation_id: str, run: int | None
) -> dict[str, list[pa.Table]]:
    """A dump as one part per table that has any row.

    Raises:
        KeyError: When a method dumps a table that no memory has.
    """
    scope = {"method": method, "conversation_id": conversation_id, "run": run}
    unknown = dump.keys() - KINDS.keys()
    if unknown:
        raise KeyError(f"{method} dumps unknown tables: {', '.join(sorted(unknown))}")
    return {name: [encode(values, TABLES[name], **scope)] for name, values in dump.items() if values}


def read_memory(sealed: SealedFolder) -> Tables:
    """The dump that building wrote, every table included.

    Raises:
        DataError: When a file is not the one that was written.
    """
    written = sealed.names()
    return {name: decode(sealed.read(name), kind) if name in written else [] for name, kind in KINDS.items()}


def added(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]]) -> Tables:
    """What a memory holds more than before. Its tables only grow at the end, so lengths tell."""
    return {name: values[len(before.get(name, ())) :] for name, values in after.items()}
