"""Conversations as the API would tell of them, written down by hand for the inspector to show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memsif_ray.datasets import sample
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
THETA = 0.45


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


def message(position: int, content: str, *, name: str, session: int, at: datetime, key: str) -> SourceMessage:
    return SourceMessage(
        id=f"msg_{key}_{position}",
        position=position,
        session=session,
        role="user",
        name=name,
        content=content,
        timestamp=at,
    )


def ines_and_rowan() -> Recorded:
    """Half a year of two friends, from the bundled sample."""
    history = next(h for h in sample.histories() if h.conversation.conversation_id == "ines-rowan")
    recorded = Recorded(
        "ines-rowan",
        "ines",
        [
            message(m.position, m.text, name=m.speaker, session=m.session, at=m.timestamp, key="ines")
            for m in history.conversation.messages
        ],
    )
    recorded.cut(
        [
            (0, "Marlowe hotel|bookbinding class"),
            (6, "Rowan's knee|swimming"),
            (8, "Biscuit|animal shelter|landlord"),
            (12, "hazelnuts|picnic"),
            (14, "Biscuit|striped rug"),
            (17, "Mr. Abara|bindery|Hebden Bridge"),
            (24, "Ines's mother|blue casserole dish"),
            (28, "bindery|parish registers"),
            (31, "Biscuit|Brooks saddle|Odette"),
            (37, "espresso|moka pot"),
            (40, "Calder Street|rent"),
            (43, "bike course|Femi|Odette"),
            (49, "Abara & Daughter|apprenticeship"),
            (57, "apprenticeship|Garnet Row"),
            (62, "bike course|Biscuit|vet"),
            (67, "tai chi|Odette|concert"),
            (72, "concert|harpsichord|Couperin"),
            (80, "Ines's mother|blue casserole dish"),
            (84, "duck umbrella|lost property"),
            (86, "Station Road|Odette's workshop"),
            (91, "1793 register|bindery"),
            (92, "Ines's mother|cheese pie"),
            (95, "duck umbrella|Gerald"),
            (96, "moka pot|peppermint tea"),
        ],
        open_last=True,
    )
    recorded.join("bindery|Mr. Abara|apprenticeship", 0, 5, 7, 12, 13, 20)
    recorded.join("Biscuit|lurcher", 2, 4, 8, 14)
    recorded.join("Odette|harpsichord", 11, 15, 16, 19)
    recorded.join("blue casserole dish|Ines's mother", 6, 17, 21)
    recorded.join("duck umbrella", 18, 22)
    recorded.join("coffee|moka pot", 9, 23)
    _add_facts(recorded)
    _add_candidates(recorded)
    return recorded


def _add_facts(recorded: Recorded) -> None:
    def day(month, number):
        return datetime(2024, month, number)

    apprentice = recorded.fact(
        "Ines is an apprentice at the bindery Abara & Daughter, four days a week.",
        50, 57,
        type="Occupation", subject="Ines", attribute="job", valid_from=day(6, 3), version=2,
    )  # fmt: skip
    recorded.history[apprentice] = (
        HistoryEntry(
            op="ADD", text="Mr. Abara has offered Ines a post as an apprentice, from 3 June.",
            status="active", at=datetime(2024, 5, 12, 21, 30, tzinfo=UTC), decided_by="model",
            reason="A new job, not yet begun.",
        ),
        HistoryEntry(
            op="UPDATE", text="Ines is an apprentice at the bindery Abara & Daughter, four days a week.",
            status="active", at=datetime(2024, 6, 9, 19, tzinfo=UTC), decided_by="model",
            reason="She has begun: one week as an official apprentice.",
            targets=("mem_ines_1",),
        ),
    )  # fmt: skip
    recorded.fact(
        "Ines works on the front desk of the Marlowe hotel.", 0, 1, 2,
        type="Occupation", subject="Ines", attribute="job", valid_to=day(6, 1),
        status="superseded", replaced_by=apprentice, version=2,
    )  # fmt: skip
    recorded.fact(
        "Ines lives at 14 Garnet Row in Hebden Bridge.", 54, 59, 61,
        type="Location", subject="Ines", attribute="home", valid_from=day(6, 1),
    )  # fmt: skip
    recorded.fact(
        "Ines pays 780 pounds of rent on Calder Street.", 40, 42,
        type="Location", subject="Ines", attribute="home", valid_from=day(3, 3), valid_to=day(6, 1),
    )  # fmt: skip
    recorded.fact(
        "Ines is allergic to hazelnuts: her lips swell up.", 12, 56, 99,
        type="Health", subject="Ines", attribute="allergy",
    )  # fmt: skip
    recorded.fact(
        "Rowan has a grey lurcher called Biscuit.", 9, 14,
        type="Relationship", subject="Rowan", attribute="pet", valid_from=day(3, 23),
    )  # fmt: skip
    recorded.fact(
        "Rowan drinks rooibos instead of espresso.", 37,
        type="Preference", subject="Rowan", attribute="drink", valid_from=day(4, 18), valid_to=day(7, 7),
    )  # fmt: skip
    recorded.fact(
        "Rowan is with Odette, who builds harpsichords.", 35, 47, 68,
        type="Relationship", subject="Rowan", attribute="partner", valid_from=day(5, 10),
    )  # fmt: skip
    recorded.fact(
        "Rowan returned the blue casserole dish on 21 July, full of cheese pie.", 26, 83, 93,
        type="Event", subject="Rowan", attribute="dish", track="active", event_time=day(7, 21),
        queries=("What happened to the blue dish?", "Did Rowan bring the casserole back?"),
    )  # fmt: skip


def _add_candidates(recorded: Recorded) -> None:
    dish = (
        "Rowan brought the blue casserole dish back full of cheese pie.",
        "Ines's mother had been counting her dishes.",
    )
    about = [
        ("Rowan", dish, 3, (26, 83, 93), 0.71, 0.58, "mem_ines_8"),
        ("Ines", ("The duck umbrella came back from Blackpool.",), 2, (84, 95), 0.52, 0.31, None),
        ("Odette", ("Odette plays Couperin when she cannot sleep.",), 1, (75,), 0.24, 0.2, None),
    ]
    asked = ("What happened to the blue dish?", "Did Rowan bring the casserole back?", "Who has mum's dish?")
    for number, (subject, statements, queries, positions, source, query, promoted) in enumerate(about):
        recorded.candidates.append(
            Candidate(
                id=f"cand_ines_{number}",
                subject=subject,
                statements=statements,
                queries=asked[:queries],
                sources=tuple(str(p) for p in positions),
                message_ids=tuple(recorded.messages[p].id for p in positions),
                source_score=source,
                query_score=query,
                theta_source=THETA,
                theta_query=THETA,
                promoted=promoted,
            )
        )


HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def hostile() -> Recorded:
    """Every text is an attack or hard to lay out."""
    texts = [
        HOSTILE,
        "\u202eevil \u2066mixed\u2069 direction",
        "שלום, עברתי לחיפה בחודש מאי. איך מגיעים לשם?",
        "我五月份搬到了乌得勒支，现在每天骑自行车去上班。" * 4,
        "W" * 2_000,
        "A long story 👩‍🍳 " * 1_500,
        "javascript:alert(1) \x1b[31m &lt;b&gt; {{7*7}} ${7*7}",
    ]
    at = datetime(2024, 5, 1, 9)
    name = 'مريم"><svg onload=1>'
    recorded = Recorded(
        HOSTILE.replace("/", "|"),
        "h",
        [message(i, text, name=name, session=1, at=at, key="h") for i, text in enumerate(texts)],
    )
    recorded.cut([(0, HOSTILE), (2, "עברית|中文|" + "W" * 300)])
    recorded.join(HOSTILE, 0, 1)
    recorded.fact(
        HOSTILE, 0, 3, type=HOSTILE, subject=HOSTILE, attribute=HOSTILE, valid_from=at, queries=(HOSTILE,)
    )
    recorded.candidates.append(
        Candidate(
            id="cand_h", subject=HOSTILE, statements=(HOSTILE, "W" * 500), queries=(HOSTILE,), sources=("1",),
            message_ids=("msg_h_0",), source_score=1.0, query_score=0.0, theta_source=THETA,
            theta_query=THETA, promoted=None,
        )
    )  # fmt: skip
    return recorded


def long() -> Recorded:
    """Ten thousand messages in a thousand topics; one fact rests on message 7,003."""
    start = datetime(2023, 1, 1, 8)
    recorded = Recorded(
        "long",
        "l",
        [
            message(
                i, f"This is message number {i}.", name=("Ann", "Bo")[i % 2], session=i // 40,
                at=start + timedelta(days=i // 40, minutes=i % 40), key="l",
            )
            for i in range(10_000)
        ],
    )  # fmt: skip
    recorded.cut([(i * 10, f"topic {i}") for i in range(1_000)])
    for i in range(0, 900, 9):
        recorded.join(f"thread {i}", i, i + 5, i + 31)
    for i in range(120):
        recorded.fact(f"Fact number {i}.", 7_003, type="Event", subject="Ann", valid_from=start)
    return recorded


def sundry() -> list[Recorded]:
    """Enough small conversations for two pages of the list."""
    at = datetime(2024, 2, 1, 10)
    return [
        Recorded(f"s-{i:03d}", f"s{i}", [message(0, "Hello.", name="Ann", session=1, at=at, key=f"s{i}")])
        for i in range(60)
    ]
