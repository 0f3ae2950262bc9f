"""A conversation's memory as rows of a database, and what of it changed since it was last stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from pydantic import TypeAdapter, ValidationError

from memsif_ray.errors import DataError
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.record import Record
from memsif_ray.memory.segments import Encoded
from memsif_ray.service.store import StateRow
from memsif_ray.types import (
    CandidateCluster,
    Decision,
    FactOperation,
    Message,
    Op,
    Segment,
    StoredVector,
    Trajectory,
    Vector,
)

Key: TypeAlias = tuple[str, str]
"""Table and key of a row."""

_PLAIN: dict[str, TypeAdapter[Any]] = {
    "fact_operations": TypeAdapter(FactOperation),
    "decisions": TypeAdapter(Decision),
    "clusters": TypeAdapter(CandidateCluster),
}
"""Tables whose values hold no embedding."""
_EMPTY = Record((), {}, (), (), {}, {}, (), lambda _kind, _unit_id: ())


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows to write and to delete, and the record they lead to."""

    put: tuple[StateRow, ...]
    delete: tuple[Key, ...]
    record: Record


class StateKeeper:
    """Knows what of a memory is stored.

    Values are compared by identity: they are frozen, and a memory keeps those that stay the same. So one more
    message costs a scan over references, whatever the size of the memory.

    Args:
        model_id: Embedder whose vectors are stored.
        stored: What is stored already.
    """

    def __init__(self, model_id: str, stored: Record = _EMPTY) -> None:
        """Nothing is compared yet."""
        self._model_id, self._stored = model_id, stored

    def changes(self, memory: ConversationMemory) -> Changes:
        """What has to be written; call `done` when it is."""
        old, new = self._stored, memory.record()
        put = [
            *(row for item in _changed(old.said, new.said) for row in self._message_rows(item, new)),
            *(_unit_row("segments", s.segment_id, s) for s in _changed(old.segments, new.segments)),
            *(
                _unit_row("trajectories", t.trajectory_id, t)
                for t in _changed(old.trajectories, new.trajectories)
            ),
            *(
                _plain_row("decisions", f"{stage}/{place:07d}", decision)
                for stage, made in new.decisions.items()
                for place, decision in _numbered(old.decisions.get(stage, ()), made)
            ),
        ]
        delete: list[Key] = []
        for track, log in new.operations.items():
            self._facts(track, list(_changed(old.operations.get(track, ()), log)), new, put, delete)
        for place, cluster in _numbered(old.clusters, new.clusters):
            before = old.clusters[place] if place < len(old.clusters) else cluster
            self._cluster(before, cluster, new, put, delete)
        return Changes(tuple(put), tuple(delete), new)

    def done(self, changes: Changes) -> None:
        """They are stored."""
        self._stored = changes.record

    def _facts(
        self,
        track: str,
        written: Sequence[FactOperation],
        new: Record,
        put: list[StateRow],
        delete: list[Key],
    ) -> None:
        put.extend(_plain_row("fact_operations", f"{track}/{o.seq:07d}", o) for o in written)
        for fact_id in dict.fromkeys(o.fact.fact_id for o in written if o.op is not Op.REJECT):
            vectors = new.vectors_of("fact", fact_id)
            put.extend(self._vector_row("fact", fact_id, vector) for vector in vectors)
            delete.extend([] if vectors else [("vectors", f"fact/{fact_id}")])

    def _cluster(
        self,
        before: CandidateCluster,
        cluster: CandidateCluster,
        new: Record,
        put: list[StateRow],
        delete: list[Key],
    ) -> None:
        put.append(_plain_row("clusters", cluster.cluster_id, cluster))
        for kind, stored in (("statement", before.statements), ("query", before.queries)):
            vectors = new.vectors_of(kind, cluster.cluster_id)
            units = [f"{cluster.cluster_id}/{i:04d}" for i in range(max(len(vectors), len(stored)))]
            put.extend(map(self._vector_row, [kind] * len(vectors), units, vectors))
            delete.extend(("vectors", f"{kind}/{unit}") for unit in units[len(vectors) :])

    def _message_rows(self, item: Encoded, new: Record) -> Iterator[StateRow]:
        if item.vector is not None:
            message_id = item.message.message_id
            yield self._vector_row("message", message_id, item.vector, new.found[message_id])

    def _vector_row(
        self, kind: str, unit_id: str, vector: Vector, entities: frozenset[str] = frozenset()
    ) -> StateRow:
        content = {
            "kind": kind,
            "unit_id": unit_id,
            "model_id": self._model_id,
            "entities": sorted(entities),
        }
        return StateRow("vectors", f"{kind}/{unit_id}", content, _bytes(vector))


def restored(
    memory: ConversationMemory, rows: Sequence[StateRow], messages: Sequence[Message], *, model_id: str
) -> StateKeeper:
    """Fill an empty memory from stored rows; returns what knows that they are stored.

    Args:
        memory: To be filled.
        rows: All of the conversation, in the order in which each was first put.
        messages: All stored ones, in order. Those that the rows do not cover are left out.
        model_id: The embedder in use.

    Raises:
        DataError: When a row is not what `changes` writes.
        EmbedderMismatch: When the vectors are another embedder's.
    """
    try:
        tables = _tables(rows)
        memory.restore({**tables, "messages": _covered(messages, tables)})
    except (ValidationError, KeyError, TypeError, ValueError, IndexError) as exc:
        raise DataError(f"stored state cannot be read: {exc}") from exc
    return StateKeeper(model_id, memory.record())


def _tables(rows: Sequence[StateRow]) -> dict[str, list[Any]]:
    tables: dict[str, list[Any]] = {name: [] for name in (*_PLAIN, "segments", "trajectories", "vectors")}
    for row in sorted(rows, key=lambda row: row.key):
        tables[row.table].append(_value(row))
    return tables


def _covered(messages: Sequence[Message], tables: Mapping[str, Sequence[Any]]) -> Sequence[Message]:
    """Messages up to the last that has a vector or is in a segment; a blank one may come again."""
    known = {v.unit_id for v in tables["vectors"] if v.kind == "message"}
    known.update(message_id for segment in tables["segments"] for message_id in segment.message_ids)
    last = max((i for i, m in enumerate(messages) if m.message_id in known), default=-1)
    return messages[: last + 1]


def _changed(old: Sequence[Any], new: Sequence[Any]) -> Iterator[Any]:
    return (value for _, value in _numbered(old, new))


def _numbered(old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Places and values of what is not the same object as before; such sequences never get shorter."""
    common = len(old)
    for place, value in enumerate(new):
        if place >= common or old[place] is not value:
            yield place, value


def _plain_row(table: str, key: str, value: Any) -> StateRow:
    return StateRow(table, key, _PLAIN[table].dump_python(value, mode="json"))


def _unit_row(table: str, key: str, unit: Segment | Trajectory) -> StateRow:
    content: dict[str, Any] = {"entities": sorted(unit.entities)}
    if isinstance(unit, Segment):
        content |= {"start": unit.start, "stop": unit.stop, "message_ids": list(unit.message_ids)}
    else:
        content |= {"segment_ids": list(unit.segment_ids)}
    return StateRow(table, key, content, _bytes(unit.embedding))


def _value(row: StateRow) -> Any:
    content = row.content
    if row.table in _PLAIN:
        return _PLAIN[row.table].validate_python(content)
    vector, entities = (
        np.frombuffer(row.vector or b"", dtype="<f4").astype(np.float32),
        frozenset(content["entities"]),
    )
    if row.table == "segments":
        ids = tuple(content["message_ids"])
        return Segment(row.key, content["start"], content["stop"], ids, vector, entities)
    if row.table == "trajectories":
        return Trajectory(row.key, tuple(content["segment_ids"]), vector, entities)
    return StoredVector(content["kind"], content["unit_id"], content["model_id"], vector, entities)


def _bytes(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()
