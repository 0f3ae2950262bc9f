"""Another embedder for a store: every vector is made anew, and nothing else changes.

A conversation's vectors are of one embedder, and are replaced in one transaction. So when this is
interrupted, each conversation is whole under the old embedder or under the new one, and the same call goes
on with those that are left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memsif_ray.errors import Conflict, DataError, ServiceBusy
from memsif_ray.memory.matching import Pool
from memsif_ray.ports import Embedder
from memsif_ray.service.store import ConversationRow, MemoryStore, StateRow
from memsif_ray.types import Vector

_PAGE = 100
_TRIES = 3
"""Times that a conversation is begun anew because somebody else changed it."""


@dataclass(frozen=True, slots=True)
class Reembedded:
    """What was done.

    Attributes:
        conversations: All of them.
        changed: Those whose vectors were another embedder's.
        vectors: That were made.
    """

    conversations: int
    changed: int
    vectors: int


async def reembed(
    store: MemoryStore,
    tenants: Collection[str],
    embedder: Embedder,
    *,
    progress: Callable[[ConversationRow, int], None] = lambda _row, _vectors: None,
) -> Reembedded:
    """Replace all vectors that are another embedder's; ids, texts and structures stay.

    A service that runs on the store meanwhile keeps its promises: it loads a changed conversation anew, and
    then refuses it until it is started with the new embedder.

    Args:
        store: Of the conversations.
        tenants: Whose.
        embedder: The new one.
        progress: Told of each conversation that is done, and how many vectors were made for it.

    Raises:
        DataError: When a stored vector belongs to nothing.
        ServiceError: When the embedder or the store failed.
    """
    conversations = changed = vectors = 0
    for tenant in tenants:
        async for row in _conversations(store, tenant):
            made = await _replaced(store, row, embedder)
            conversations, changed, vectors = conversations + 1, changed + (made > 0), vectors + made
            progress(row, made)
    return Reembedded(conversations, changed, vectors)


async def _conversations(store: MemoryStore, tenant: str) -> AsyncIterator[ConversationRow]:
    after = ""
    while rows := await store.conversations(tenant, after=after, limit=_PAGE):
        for row in rows:
            yield row
        after = rows[-1].conversation_id


async def _replaced(store: MemoryStore, row: ConversationRow, embedder: Embedder) -> int:
    for _ in range(_TRIES):
        now = await store.conversation(row.tenant, row.conversation_id)
        state = await store.state(row.key)
        old = [r for r in state if r.table == "vectors" and r.content["model_id"] != embedder.model_id]
        if now is None or not old:
            return 0
        said = {m.message_id: m.content for m in await store.messages(row.key)}
        new = await _anew(state, said, embedder)
        try:
            await store.save(row.key, revision=now.revision, put=new)
        except Conflict:
            continue
        return sum(r.table == "vectors" for r in new)
    raise ServiceBusy(f"somebody else keeps changing {row.conversation_id!r}")


async def _anew(state: Sequence[StateRow], said: Mapping[str, str], embedder: Embedder) -> list[StateRow]:
    """The rows that hold an embedding, with that of `embedder`."""
    rows = [r for r in state if r.table == "vectors"]
    texts = _texts(state, said)
    try:
        embedded = await embedder.embed([texts[r.key] for r in rows])
    except KeyError as exc:
        raise DataError(f"the stored vector {exc.args[0]!r} belongs to nothing") from exc
    vectors = {r.key: vector for r, vector in zip(rows, embedded, strict=True)}
    made = [
        replace(r, content={**r.content, "model_id": embedder.model_id}, vector=_bytes(vectors[r.key]))
        for r in rows
    ]
    return [*made, *_units(state, vectors, embedded.shape[1])]


def _texts(state: Sequence[StateRow], said: Mapping[str, str]) -> dict[str, str]:
    """What each vector is of, by its key.

    A detail that was noted in somebody's own words has the vector of the message that it is from.
    """
    texts = {f"message/{message_id}": text for message_id, text in said.items()}
    own = {r.vector: texts[r.key] for r in state if r.key in texts and r.table == "vectors"}
    for row in sorted(state, key=lambda r: r.key):
        texts.update(_of_row(row))
    noted = [r for r in state if r.table == "vectors" and r.content["kind"] == "statement"]
    return texts | {r.key: own[r.vector] for r in noted if r.vector in own}


def _of_row(row: StateRow) -> Iterator[tuple[str, str]]:
    if row.table == "fact_operations" and row.content["op"] != "Reject":
        fact = row.content["fact"]
        yield f"fact/{fact['fact_id']}", fact["statement"]
    elif row.table == "clusters":
        for kind, many in (("statement", row.content["statements"]), ("query", row.content["queries"])):
            yield from ((f"{kind}/{row.key}/{i:04d}", text) for i, text in enumerate(many))


def _units(state: Sequence[StateRow], vectors: Mapping[str, Vector], dim: int) -> Iterator[StateRow]:
    """Segments and trajectories: the directions of the sums of their messages' vectors."""
    pools: dict[str, Pool] = {}
    for row in sorted((r for r in state if r.table == "segments"), key=lambda r: r.key):
        pools[row.key] = pool = Pool.empty(dim)
        for message_id in row.content["message_ids"]:
            pool.add(vectors.get(f"message/{message_id}"), frozenset())
        yield replace(row, vector=_bytes(pool.direction))
    for row in (r for r in state if r.table == "trajectories"):
        thread = Pool.empty(dim)
        for segment_id in row.content["segment_ids"]:
            thread.absorb(pools[segment_id])
        yield replace(row, vector=_bytes(thread.direction))


def _bytes(vector: Vector) -> bytes:
    return np.asarray(vector).astype("<f4").tobytes()
