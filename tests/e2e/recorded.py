"""A backend that reads from recordings of conversations, and how to write one down."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memsif_ray.errors import NotFound, ServiceBusy
from memsif_ray.service.models import (
    AnswerResult,
    Candidate,
    ConversationOut,
    Found,
    HistoryEntry,
    Memory,
    Page,
    Provenance,
    SearchResult,
    SegmentOut,
    SourceMessage,
    TrajectoryOut,
    Usage,
)
from memsif_ray.text import words

LEARNED = datetime(2024, 9, 1, 12, tzinfo=UTC)


@dataclass
class Recorded:
    """One conversation and all that memory made of it."""

    conversation_id: str
    key: str
    messages: list[SourceMessage]
    segments: list[SegmentOut] = field(default_factory=list)
    trajectories: list[TrajectoryOut] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    history: dict[str, tuple[HistoryEntry, ...]] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)

    def cut(self, starts: Sequence[tuple[int, str]], *, open_last: bool = False) -> None:
        """Segments that begin at these positions; the text beside one is its entities, separated by `|`."""
        stops = [start for start, _ in starts[1:]] + [len(self.messages)]
        for number, ((start, entities), stop) in enumerate(zip(starts, stops, strict=True)):
            part = self.messages[start:stop]
            self.segments.append(
                SegmentOut(
                    id=f"seg_{self.key}_{number:04d}",
                    message_ids=tuple(m.id for m in part),
                    start=start,
                    stop=stop,
                    began=part[0].timestamp,
                    ended=part[-1].timestamp,
                    trajectory_id=None,
                    entities=tuple(filter(None, entities.split("|"))),
                    open=open_last and number == len(starts) - 1,
                )
            )

    def join(self, entities: str, *numbers: int) -> None:
        """A trajectory through these segments."""
        found = TrajectoryOut(
            id=f"trj_{self.key}_{len(self.trajectories)}",
            segment_ids=tuple(self.segments[number].id for number in numbers),
            entities=tuple(entities.split("|")),
        )
        self.trajectories.append(found)
        for number in numbers:
            self.segments[number] = self.segments[number].model_copy(update={"trajectory_id": found.id})

    def fact(self, text: str, *positions: int, type: str, subject: str, attribute: str = "", **more) -> str:
        """A memory that rests on the messages at these positions."""
        memory = Memory(
            id=f"mem_{self.key}_{len(self.memories)}",
            conversation_id=self.conversation_id,
            text=text,
            type=type,
            subject=subject,
            attribute=attribute,
            message_ids=tuple(self.messages[p].id for p in positions),
            ingested_at=LEARNED,
            **{"track": "core", "status": "active", "version": 1} | more,
        )
        self.memories.append(memory)
        self.history[memory.id] = (
            HistoryEntry(
                op="ADD", text=text, status="active", at=LEARNED, decided_by="model", reason="New in memory."
            ),
        )
        return memory.id


class RecordedBackend:
    """The reading half of `Backend`, over recordings.

    Attributes:
        recordings: By conversation id.
        asked: Requests to search and answer, as they came.
        faults: Names of methods that fail.
    """

    def __init__(self, recordings: Sequence[Recorded]) -> None:
        self.recordings = {recorded.conversation_id: recorded for recorded in recordings}
        self.asked = []
        self.faults = set()

    def _of(self, conversation_id, method):
        if method in self.faults:
            raise ServiceBusy("the store is locked", code="store_busy")
        if conversation_id not in self.recordings:
            raise NotFound(f"there is no conversation {conversation_id!r}")
        return self.recordings[conversation_id]

    def _memory(self, memory_id):
        for recorded in self.recordings.values():
            for memory in recorded.memories:
                if memory.id == memory_id:
                    return recorded, memory
        raise NotFound("there is no such memory")

    async def conversations(self, caller, paging):
        found = [
            ConversationOut(
                conversation_id=name,
                messages=len(recorded.messages),
                created_at=LEARNED,
                updated_at=LEARNED,
            )
            for name, recorded in sorted(self.recordings.items())
        ]
        return _page(found, paging)

    async def messages(self, caller, conversation_id, paging):
        return _page(self._of(conversation_id, "messages").messages, paging)

    async def segments(self, caller, conversation_id, paging):
        return _page(self._of(conversation_id, "segments").segments, paging)

    async def trajectories(self, caller, conversation_id, paging):
        return _page(self._of(conversation_id, "trajectories").trajectories, paging)

    async def candidates(self, caller, conversation_id, paging):
        return _page(self._of(conversation_id, "candidates").candidates, paging)

    async def memories(self, caller, conversation_id, paging, *, track=None, status="active", **_):
        found = self._of(conversation_id, "memories").memories
        wanted = [m for m in found if track in (None, m.track) and (status == "all" or m.status == "active")]
        return _page(wanted, paging)

    async def history(self, caller, memory_id):
        recorded, memory = self._memory(memory_id)
        return recorded.history[memory.id]

    async def provenance(self, caller, memory_id):
        recorded, memory = self._memory(memory_id)
        resting = set(memory.message_ids)
        segments = tuple(s for s in recorded.segments if resting & set(s.message_ids))
        touched = {s.id for s in segments}
        return Provenance(
            memory=memory,
            messages=tuple(m for m in recorded.messages if m.id in resting),
            segments=segments,
            trajectories=tuple(t for t in recorded.trajectories if touched & set(t.segment_ids)),
            queries=memory.queries,
        )

    async def search(self, caller, request):
        self.asked.append(request)
        return SearchResult(results=self._found(request.conversation_id, request.query, "search"))

    async def answer(self, caller, request):
        self.asked.append(request)
        found = self._found(request.conversation_id, request.question, "answer")
        return AnswerResult(
            answer=found[0].text if found else None,
            error="" if found else "memory has nothing about it",
            evidence=found,
            sufficient=bool(found),
            usage=Usage(prompt_tokens=412, completion_tokens=18, model_calls=1, embedded_texts=1),
        )

    def _found(self, conversation_id, query, method):
        recorded = self._of(conversation_id, method)
        asked = set(words(query))
        facts = [
            (len(asked & set(words(m.text))), m.id, m.track, m.text, m.message_ids, m.valid_from)
            for m in recorded.memories
        ]
        said = [
            (len(asked & set(words(m.content))), m.id, "message", m.content, (m.id,), None)
            for m in recorded.messages[:500]
        ]
        best = sorted((hit for hit in facts + said if hit[0]), key=lambda hit: -hit[0])[:6]
        return tuple(
            Found(
                id=id,
                type=type,
                text=text,
                score=shared / len(asked),
                score_parts={"words": shared / len(asked)},
                message_ids=ids,
                valid_from=since,
            )
            for shared, id, type, text, ids, since in best
        )

    async def check(self):
        """All is well."""

    async def close(self):
        """Nothing is open."""


def _page(items, paging):
    start = int(paging.cursor or 0)
    stop = start + paging.limit
    return Page(results=tuple(items[start:stop]), next_cursor=str(stop) if stop < len(items) else None)
