"""The read path: facts → sufficiency → query-local evidence → answer context (MemSIF 3.4, 3.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memsif_ray.config import RetrievalConfig
from memsif_ray.memory.budget import Item, fit
from memsif_ray.memory.dates import parse_question_time, spoken
from memsif_ray.memory.evidence import dated_line, distil, extract
from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.ranking import InteractionIndex, Ranked
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.sufficiency import sufficient_by_model, sufficient_by_rule
from memsif_ray.memory.tools import Tools
from memsif_ray.prompts import escape
from memsif_ray.text import words
from memsif_ray.types import Context, ContextItem, Decision, Evidence, Fact, Message, Question, Track, Vector

EVIDENCE_SHARE = 0.75
"""Share of the token budget that evidence may take before facts get their turn."""

_PAST = re.compile(
    r"\b(?:used to|before|previous(?:ly)?|formerly|originally|history|over time|how (?:often|many times)|"
    r"chang\w+)\b",
    re.I,
)
"""Words of a question about how things were."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question with what retrieval needs of it."""

    question: Question
    vector: Vector


class MemoryReader:
    """Builds answer contexts. Changes no state.

    Args:
        config: Budget, depth and who decides.
        tools: Models and token counter.
        subjects: Canonical names.
        books: CoreFact and ActiveFact books.
        messages: Message id → message.
        unit_of: Message id → segment id.
    """

    def __init__(
        self,
        *,
        config: RetrievalConfig,
        tools: Tools,
        subjects: SubjectRegistry,
        books: Sequence[FactBook],
        messages: Mapping[str, Message],
        unit_of: Mapping[str, str],
    ) -> None:
        """Keep the collaborators."""
        self._config, self._tools, self._subjects = config, tools, subjects
        self._books, self._messages, self._unit_of = books, messages, unit_of

    async def context(self, query: Query, index: InteractionIndex) -> Context:
        """The evidence for one question, at most `context_tokens` tokens.

        Raises:
            ServiceError: When a model endpoint failed.
        """
        facts = self.retrieve_facts(query)
        if self._config.evidence == "none":
            return Context(self._facts_alone(facts))
        decision = await self._sufficiency(query.question, [fact_line(f) for f, _ in facts])
        if decision.outcome == "sufficient":
            return Context(self._facts_alone(facts), decisions=(decision,))
        ranked = index.rank(query.question.text, query.vector)
        evidence, made = await self._evidence(query.question, ranked)
        items = self._compose(evidence, facts, self._budget)
        return Context(
            items=tuple(items),
            retrieved_ids=tuple(r.message_id for r in ranked),
            evidence=evidence,
            decisions=(decision, made),
        )

    def retrieve_facts(self, query: Query) -> list[tuple[Fact, float]]:
        """Best facts of both tracks by cosine; replaced versions too when the question looks back."""
        k, replaced = self._config.facts_top_k, _looks_back(query.question)
        found = [hit for book in self._books for hit in book.search(query.vector, k, replaced=replaced)]
        return sorted(found, key=lambda hit: -hit[1])[:k]

    def _facts_alone(self, facts: Sequence[tuple[Fact, float]]) -> tuple[ContextItem, ...]:
        return tuple(self._fit([fact_item(f, s) for f, s in facts], _text, self._config.context_tokens))

    async def _sufficiency(self, question: Question, lines: Sequence[str]) -> Decision:
        if not self._tools.capabilities.uses_llm("sufficiency", self._config.sufficiency):
            return sufficient_by_rule(question, lines)
        scope = self._tools.scope_of(question.question_id)
        return await sufficient_by_model(question, lines, chat=self._tools.chat, scope=scope)

    async def _evidence(
        self, question: Question, ranked: Sequence[Ranked]
    ) -> tuple[tuple[Evidence, ...], Decision]:
        """Evidence from as many of the best-ranked messages as fit the budget."""
        best = (self._messages[r.message_id] for r in ranked)
        chosen = self._fit(best, dated_line, self._budget)
        if not self.distils or not chosen:
            made = extract(chosen, unit_of=self._unit_of, subjects=self._subjects)
            return made, Decision("evidence", question.question_id, "extract", "rule")
        return await distil(
            question,
            chosen,
            unit_of=self._unit_of,
            subjects=self._subjects,
            chat=self._tools.chat,
            scope=self._tools.scope_of(question.question_id),
        )

    @property
    def distils(self) -> bool:
        """Does an LLM write the evidence, instead of near-verbatim extraction?"""
        return self._tools.capabilities.uses_llm("distil", self._config.evidence)

    @property
    def _budget(self) -> int:
        """Tokens that a context with evidence may take."""
        whole = self._config.context_tokens
        return whole if self.distils else min(whole, self._config.extract_tokens)

    def _compose(
        self, evidence: Sequence[Evidence], facts: Sequence[tuple[Fact, float]], budget: int
    ) -> list[ContextItem]:
        """Evidence first, then facts that say more than it, then the rest of the evidence; in time order."""
        lines = [evidence_item(i, item) for i, item in enumerate(evidence)]
        first = self._fit(lines, _text, int(EVIDENCE_SHARE * budget))
        covered = {m for item in first for m in item.message_ids}
        added = [
            fact_item(f, s) for f, s in facts if not covered.issuperset(f.message_ids) and self._says_more(f)
        ]
        rest = [item for item in lines if item not in first]
        chosen = self._fit([*first, *added, *rest], _text, budget)
        return sorted(chosen, key=lambda item: (item.timestamp is None, item.timestamp, item.item_id))

    def _says_more(self, fact: Fact) -> bool:
        """Is a fact more than an excerpt of its message, which was ranked lower for a reason?"""
        if len(fact.message_ids) != 1 or fact.valid_to is not None:
            return True
        return not set(words(fact.statement)) <= set(words(dated_line(self._messages[fact.message_ids[0]])))

    def _fit(self, items: Iterable[Item], text_of: Callable[[Item], str], budget: int) -> list[Item]:
        return fit(items, lambda item: f"{text_of(item)}\n", tokens=self._tools.tokens, budget=budget)


def _text(item: ContextItem) -> str:
    return item.text


def _looks_back(question: Question) -> bool:
    named = parse_question_time(question.text, question.asked_at)
    return named is not None or _PAST.search(question.text) is not None


def fact_line(fact: Fact) -> str:
    """A fact as one line of notes, with the interval in which it held when that is over."""
    begins = fact.valid_from or fact.ingested_at
    when = spoken(begins) + (f" until {spoken(fact.valid_to)}" if fact.valid_to else "")
    return f"[{when}] {escape(fact.statement)}"


def fact_item(fact: Fact, score: float) -> ContextItem:
    """A fact as a context line."""
    kind = "core" if fact.track is Track.CORE else "active"
    return ContextItem(fact.fact_id, kind, fact_line(fact), fact.message_ids, fact.ingested_at, score)


def message_item(message: Message, score: float = 0.0) -> ContextItem:
    """A message as a context line."""
    line, said = dated_line(message), message.message_id
    return ContextItem(said, "message", line, (said,), message.timestamp, score)


def evidence_item(number: int, item: Evidence) -> ContextItem:
    """Evidence as a context line."""
    return ContextItem(
        f"ev_{number:03d}", "evidence", item.statement, item.message_ids, item.timestamp, item.score
    )
