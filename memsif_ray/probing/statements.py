"""Probes of stages that write statements: they must say what was planted, and little else.

What a stage refuses (statements that are not grounded in their sources) never reaches memory and does not
count, except that whatever it should have said is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from memsif_ray.config import MemoryConfig
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.evidence import distil, extract
from memsif_ray.memory.extraction import Candidate, Extraction, extract_by_model, extract_by_rule
from memsif_ray.memory.grounding import grounded
from memsif_ray.memory.subjects import SubjectRegistry, name_key
from memsif_ray.memory.terms import content_words, stems
from memsif_ray.memory.tools import Tools
from memsif_ray.probing.items import (
    DistilItem,
    ExtractionItem,
    Planted,
    SynthesisItem,
    as_messages,
    load_items,
)
from memsif_ray.probing.trials import Trial
from memsif_ray.prompts.asking import ask
from memsif_ray.text import words
from memsif_ray.types import Category, Question

S = TypeVar("S")
P = TypeVar("P")

_HALF = 0.5
_SHORTER = 0.8
"""A synthesis has at most this share of its notes' words: a list of the notes is no synthesis."""


async def probe_extract(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """Facts of a segment. A statement is right when it says a planted fact of the right subject and type."""

    async def tried(item: ExtractionItem) -> Trial:
        found = await _extraction(item, tools, config, use_llm=use_llm)
        return _matched(found.candidates, item.facts, _says_fact)

    return _sum(await asyncio.gather(*map(tried, load_items("extract", ExtractionItem))))


async def probe_distil(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """Evidence for a question. A statement is right when it carries a planted piece of evidence."""

    async def tried(item: DistilItem) -> Trial:
        messages = as_messages(item.messages)
        subjects = SubjectRegistry(_speakers(item.messages))
        question = Question(item.id, "probe", 0, item.question, Category.SINGLE_HOP)
        if use_llm:
            evidence, made = await distil(
                question, messages, unit_of={}, subjects=subjects, chat=tools.chat, scope=tools.scope
            )
            evidence = () if made.decided_by == "fallback" else evidence
        else:
            evidence = extract(messages, unit_of={}, subjects=subjects)
        return _matched([e.statement for e in evidence], item.words, _says_words)

    return _sum(await asyncio.gather(*map(tried, load_items("distil", DistilItem))))


async def probe_synthesise(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """One statement from notes: right when it is grounded, keeps every planted word and is shorter."""

    async def right(item: SynthesisItem) -> bool:
        statement = await _synthesis(item, tools) if use_llm else "; ".join(item.notes)
        return (
            grounded(statement, item.notes, names=[item.subject]).ok
            and _says_words(statement, item.words)
            and len(words(statement)) <= _SHORTER * len(words(" ".join(item.notes)))
        )

    rights = await asyncio.gather(*map(right, load_items("synthesise", SynthesisItem)))
    return Trial(sum(rights), len(rights), _HALF)


async def _extraction(
    item: ExtractionItem, tools: Tools, config: MemoryConfig, *, use_llm: bool
) -> Extraction:
    messages = as_messages(item.messages, date=item.date)
    subjects = SubjectRegistry(_speakers(item.messages))
    if not use_llm:
        return extract_by_rule(messages, item.id, subjects=subjects)
    return await extract_by_model(
        messages,
        item.id,
        chat=tools.chat,
        types=config.core.types,
        subjects=subjects,
        scope=tools.scope,
    )


async def _synthesis(item: SynthesisItem, tools: Tools) -> str:
    try:
        reply = await ask(
            tools.chat,
            "promote",
            stage="promote",
            scope=tools.scope,
            max_tokens=160,
            subject=item.subject,
            notes=item.notes,
        )
    except ReplyInvalid:
        return ""
    return str(reply["statement"])


def _matched(statements: Sequence[S], planted: Sequence[P], says: Callable[[S, P], bool]) -> Trial:
    right = sum(any(says(statement, fact) for fact in planted) for statement in statements)
    found = sum(any(says(statement, fact) for statement in statements) for fact in planted)
    return Trial(right, len(statements), _HALF, found, len(planted))


def _says_fact(candidate: Candidate, fact: Planted) -> bool:
    subjects = {name_key(name) for name in (fact.subject, *fact.aliases)}
    return (
        name_key(candidate.subject) in subjects
        and candidate.type in fact.types
        and _says_words(candidate.statement, fact.words)
    )


def _says_words(statement: str, wanted: Sequence[str]) -> bool:
    said = set(stems(content_words(statement)))
    return said.issuperset(stems(content_words(" ".join(wanted))))


def _speakers(said: Sequence[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(speaker for speaker, _ in said))


def _sum(trials: Sequence[Trial]) -> Trial:
    return Trial(
        right=sum(t.right for t in trials),
        total=sum(t.total for t in trials),
        chance=_HALF,
        found=sum(t.found for t in trials),
        planted=sum(t.planted for t in trials),
    )
