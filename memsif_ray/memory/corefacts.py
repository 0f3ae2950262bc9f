"""CoreFact consolidation: Add / Update / Merge / Supersede (MemSIF 3.3).

Guards hold whatever a model says. Only facts about the same subject are offered as targets, so namesakes
and bystanders cannot be fused or retired. Only a fact in the same slot (`attribute`) can be superseded.
Event time decides which of two is current. A decision that cannot be read writes nothing: the candidate
is logged as rejected and stays recoverable from the interaction memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.cues import SINGLE_VALUED
from memsif_ray.memory.extraction import Candidate, Refusal
from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.grounding import grounded
from memsif_ray.ports import ChatModel
from memsif_ray.prompts import load
from memsif_ray.prompts.asking import ask
from memsif_ray.text import words
from memsif_ray.types import CallScope, Decision, Fact, FactOperation, Op, Track, Vector

TAU_SAME = 0.92
"""Cosine at or above which two statements about one subject say the same, whoever decides."""
TAU_RELATED = 0.5
"""Cosine below which (in another slot) a fact is not even offered as a target."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An operation on offered facts. `statement` is the text to keep."""

    op: Op
    targets: tuple[str, ...]
    statement: str
    decided_by: str
    reason: str = ""


Embed = Callable[[str], Awaitable[Vector]]
Consolidator = Callable[[Candidate, Sequence[tuple[Fact, float]]], Awaitable[Choice]]


def choose_by_rule(candidate: Candidate, offered: Sequence[tuple[Fact, float]]) -> Choice:
    """Model-free counterpart: a newer value of a single-valued slot supersedes; anything else is added."""
    if candidate.attribute in SINGLE_VALUED:
        rivals = tuple(f.fact_id for f, _ in offered if f.attribute == candidate.attribute)
        if rivals:
            return Choice(Op.SUPERSEDE, rivals, candidate.statement, "rule", "single-valued slot")
    return Choice(Op.ADD, (), candidate.statement, "rule")


async def choose_by_model(
    candidate: Candidate, offered: Sequence[tuple[Fact, float]], *, chat: ChatModel, scope: CallScope
) -> Choice:
    """Ask an LLM for one operation; targets are limited to the offered facts by the schema itself.

    Raises:
        ServiceError: When the endpoint failed.
    """
    labels = {f"F{i}": fact for i, (fact, _) in enumerate(offered, start=1)}
    try:
        reply = await ask(
            chat,
            "consolidate",
            stage="consolidate",
            scope=scope,
            max_tokens=200,
            schema=_offering(tuple(labels)),
            candidate=candidate,
            date=f"{candidate.learned_at:%Y-%m-%d}",
            existing=[
                {
                    "label": label,
                    "attribute": f.attribute,
                    "date": f"{f.ingested_at:%Y-%m-%d}",
                    "statement": f.statement,
                }
                for label, f in labels.items()
            ],
        )
    except ReplyInvalid as exc:
        return Choice(Op.REJECT, (), candidate.statement, "fallback", str(exc))
    named = dict.fromkeys(t for t in reply["targets"] if isinstance(t, str) and t in labels)
    targets = tuple(labels[label].fact_id for label in named)
    op = Op(reply["op"])
    if op is not Op.ADD and not targets:
        return Choice(Op.REJECT, (), candidate.statement, "fallback", f"{op} without a known target")
    return Choice(op, targets if op is not Op.ADD else (), reply["statement"], "llm")


def _offering(labels: tuple[str, ...]) -> dict[str, object]:
    schema = load("consolidate").schema or {}
    targets = {"type": "array", "maxItems": 3, "items": {"type": "string", "enum": list(labels)}}
    return {**schema, "properties": {**schema["properties"], "targets": targets}}


class CoreFacts:
    """Writes candidates into a fact book, in order.

    Args:
        book: Where operations go.
        consolidator: Decides when neither identity nor unrelatedness settles it.
        embed: Embeds a statement that a decision has reworded.
        top_k: Facts offered to it.
        trajectory_of: Segment id → trajectory id; facts of the same trajectory are offered first, which
            is how cross-time evidence supplements or reconciles facts that span segments.
    """

    def __init__(
        self,
        book: FactBook,
        *,
        consolidator: Consolidator,
        embed: Embed,
        top_k: int,
        trajectory_of: Callable[[str], str | None],
    ) -> None:
        """Keep the collaborators."""
        self._book, self._consolidator, self._embed, self._top_k = book, consolidator, embed, top_k
        self._trajectory_of = trajectory_of
        self.decisions: list[Decision] = []

    async def write(self, candidate: Candidate, vector: Vector) -> None:
        """Consolidate one candidate whose statement embeds to `vector`."""
        offered = self._related(candidate, vector)
        choice = await self._choose(candidate, offered)
        if choice.op is Op.REJECT:
            return self.refuse(Refusal(candidate, choice.reason), choice.decided_by)
        fact = self._version(candidate, choice)
        if fact.statement != candidate.statement:
            vector = await self._embed(fact.statement)
        self._book.write(
            FactOperation(
                self._book.next_seq, choice.op, fact, choice.targets, choice.decided_by, choice.reason
            ),
            vector,
        )

    async def _choose(self, candidate: Candidate, offered: Sequence[tuple[Fact, float]]) -> Choice:
        twin = next((f for f, cosine in offered if _same(candidate, f, cosine)), None)
        if twin is not None:
            return Choice(Op.UPDATE, (twin.fact_id,), twin.statement, "rule", "adds evidence only")
        if not offered:
            return Choice(Op.ADD, (), candidate.statement, "rule", "nothing related")
        return self._guarded(candidate, await self._consolidator(candidate, offered))

    def _version(self, candidate: Candidate, choice: Choice) -> Fact:
        """The version an operation writes: an Update keeps its target's id, others get a new one."""
        known = [self._book.get(t) for t in choice.targets]
        if choice.op is Op.UPDATE:
            return _with_evidence(self._fact(candidate, known[0].fact_id, choice.statement), known[0])
        fact = self._fact(candidate, self._book.next_id("core"), choice.statement)
        if choice.op is Op.MERGE:
            for merged in known:
                fact = _with_evidence(fact, merged)
        return fact

    def refuse(self, refusal: Refusal, decided_by: str = "rule") -> None:
        """Log a candidate that is not written."""
        fact = self._fact(
            refusal.candidate, f"refused_{self._book.next_seq:05d}", refusal.candidate.statement
        )
        self._book.write(
            FactOperation(self._book.next_seq, Op.REJECT, fact, (), decided_by, refusal.reason), vector=None
        )

    def _related(self, candidate: Candidate, vector: Vector) -> list[tuple[Fact, float]]:
        """Active facts about the same subject that share the slot or the topic, most related first."""
        thread = self._trajectory_of(candidate.segment_id)
        scored = []
        for fact in self._book.about(candidate.subject):
            cosine = float(self._book.vector(fact.fact_id) @ vector)
            same_slot = bool(candidate.attribute) and fact.attribute == candidate.attribute
            same_thread = thread is not None and any(
                self._trajectory_of(s) == thread for s in fact.segment_ids
            )
            if cosine >= TAU_RELATED or same_slot:
                bonus = 0.1 * (fact.type == candidate.type) + 0.1 * same_slot + 0.1 * same_thread
                scored.append((cosine + bonus, fact, cosine))
        scored.sort(key=lambda row: (-row[0], row[1].fact_id))
        return [(fact, cosine) for _, fact, cosine in scored[: self._top_k]]

    def _guarded(self, candidate: Candidate, choice: Choice) -> Choice:
        """The choice without supersessions of other slots; a written text must be grounded in its facts."""
        if choice.op is Op.SUPERSEDE:
            kept = tuple(t for t in choice.targets if self._same_slot(candidate, t))
            if not kept:
                return replace(
                    choice, op=Op.ADD, targets=(), statement=candidate.statement, reason="other slot"
                )
            return replace(choice, targets=kept, statement=candidate.statement)
        if choice.op in (Op.UPDATE, Op.MERGE):
            sources = [candidate.statement, *(self._book.get(t).statement for t in choice.targets)]
            if not grounded(choice.statement, sources, names=[candidate.subject]).ok:
                return replace(choice, statement=candidate.statement, reason="text not grounded")
        return choice

    def _same_slot(self, candidate: Candidate, target: str) -> bool:
        same = bool(candidate.attribute) and self._book.get(target).attribute == candidate.attribute
        if not same:
            self.decisions.append(
                Decision(
                    "supersede", target, "refused", "rule", detail=f"other slot than {candidate.attribute!r}"
                )
            )
        return same

    def _fact(self, candidate: Candidate, fact_id: str, statement: str) -> Fact:
        return Fact(
            fact_id=fact_id,
            track=Track.CORE,
            subject=candidate.subject,
            type=candidate.type,
            attribute=candidate.attribute,
            statement=statement,
            message_ids=candidate.message_ids,
            segment_ids=(candidate.segment_id,) if candidate.segment_id else (),
            ingested_at=candidate.learned_at,
            event_time=candidate.event_time,
            valid_from=candidate.valid_from,
            valid_to=candidate.valid_to,
        )


def _same(candidate: Candidate, fact: Fact, cosine: float) -> bool:
    """Does the candidate add nothing? Close in meaning is not enough: oat milk is not soy milk."""
    new, known = set(words(candidate.statement)), set(words(fact.statement))
    return new == known or (cosine >= TAU_SAME and new <= known)


def _with_evidence(new: Fact, known: Fact) -> Fact:
    """`new` resting on both facts' messages, holding from when the older one began to hold."""
    starts = [t for t in (known.valid_from, new.valid_from) if t is not None]
    return replace(
        new,
        message_ids=tuple(dict.fromkeys((*known.message_ids, *new.message_ids))),
        segment_ids=tuple(dict.fromkeys((*known.segment_ids, *new.segment_ids))),
        valid_from=min(starts) if starts else None,
        event_time=known.event_time or new.event_time,
    )
