"""Four ways to put candidate notes into a token budget, behind one signature (OAS, 3.1).

`pack(action, notes, question=, budget=, tools=)` gives items that, joined by line breaks, cost at most
`budget` tokens of the answer model's own tokenizer. Items are lines as the answer prompt shows them, so what
was counted is what is read. Each keeps the ids of the messages it rests on.

Notes come in reading order; their `score` says which are best. Lines that are kept stay in reading order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.tools import Tools
from memsif_ray.packing.actions import Action
from memsif_ray.packing.cutting import cut
from memsif_ray.ports import TokenCounter
from memsif_ray.prompts import escape
from memsif_ray.prompts.asking import ask
from memsif_ray.text import clean, is_blank
from memsif_ray.types import ContextItem, Decision, Question

Notes: TypeAlias = Sequence[ContextItem]

_WORDS_PER_TOKEN = 0.7
_FEWEST_WORDS = 5
_OVERRUN = 64
"""Tokens that a model may write beyond the budget; they are cut off, but a sentence may end there."""


class Flag(StrEnum):
    """Why a packing is empty."""

    PACKED = ""
    NOTHING_FOUND = "nothing_found"
    """There was no note to pack."""
    NO_BUDGET = "no_budget"
    """The budget is zero or negative."""
    NOTHING_FITS = "nothing_fits"
    """There were notes, but nothing of them has room."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What an action made of the notes.

    Attributes:
        action: The action that was asked for.
        items: Lines in reading order, texts as the answer prompt shows them.
        tokens: Cost of the lines joined by line breaks.
        flag: Why there are none.
        shortened: Whether a generated text had to be cut.
        decisions: One per text that a model failed to write, so that raw notes stand in its place.
    """

    action: Action
    items: tuple[ContextItem, ...]
    tokens: int
    flag: Flag = Flag.PACKED
    shortened: bool = False
    decisions: tuple[Decision, ...] = ()

    @property
    def text(self) -> str:
        """The lines joined by line breaks."""
        return joined(self.items)


def shown(notes: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
    """Notes that say something, with their texts as the answer prompt shows them."""
    return tuple(replace(note, text=escape(note.text)) for note in notes if not is_blank(note.text))


def joined(items: Iterable[ContextItem]) -> str:
    """Lines as the answer prompt has them."""
    return "\n".join(item.text for item in items)


async def pack(action: Action, notes: Notes, *, question: Question, budget: int, tools: Tools) -> Packed:
    """Put `notes` into `budget` tokens by one action. No model is called when nothing can come of it.

    A reply that stays unusable is recorded as a fallback, and the raw notes take its place.

    Raises:
        ServiceError: When the endpoint failed.
    """
    lines = shown(notes)
    if not lines:
        return Packed(action, (), 0, Flag.NOTHING_FOUND)
    if budget <= 0:
        return Packed(action, (), 0, Flag.NO_BUDGET)
    if action is Action.RETAIN:
        return retained(lines, budget, tokens=tools.tokens)
    return await _WRITERS[action](action, lines, question, budget, tools)


def retained(notes: Notes, budget: int, *, tokens: TokenCounter) -> Packed:
    """Complete notes in rank order; after one that does not fit, smaller ones are still tried.

    Args:
        notes: In reading order, as they are shown.
        budget: Tokens of the joined lines.
        tokens: Counts them.
    """
    best_first = sorted(range(len(notes)), key=lambda place: -notes[place].score)
    return _packed(Action.RETAIN, _fitting(notes, best_first, budget, tokens), tokens)


async def _write_one(action: Action, notes: Notes, question: Question, budget: int, tools: Tools) -> Packed:
    """Merge or abstract: one record that rests on every note."""
    written = await _written(
        action, question, budget, tools, subject="notes", notes=[note.text for note in notes]
    )
    if isinstance(written, Decision):
        return replace(retained(notes, budget, tokens=tools.tokens), action=action, decisions=(written,))
    sources = dict.fromkeys(source for note in notes for source in note.message_ids)
    record = ContextItem(action, action, written, tuple(sources), score=max(n.score for n in notes))
    return _capped(action, record, budget, tools.tokens)


async def _rewrite(action: Action, notes: Notes, question: Question, budget: int, tools: Tools) -> Packed:
    """Every note by itself, with an equal share of the budget to aim at; packed cheapest first."""
    share = budget // len(notes)
    writing = (
        _written(action, question, share, tools, subject=note.item_id, note=note.text) for note in notes
    )
    written = await _all(writing)
    decisions = [one for one in written if isinstance(one, Decision)]
    rewritten = [
        note if isinstance(one, Decision) else replace(note, text=one)
        for note, one in zip(notes, written, strict=True)
    ]
    costs = [tools.tokens.count(note.text) for note in rewritten]
    cheapest_first = sorted(range(len(costs)), key=costs.__getitem__)
    kept = _fitting(rewritten, cheapest_first, budget, tools.tokens)
    if kept:
        packed = _packed(action, kept, tools.tokens)
    else:
        packed = _capped(action, rewritten[cheapest_first[0]], budget, tools.tokens)
    return replace(packed, decisions=tuple(decisions))


_Writer: TypeAlias = Callable[[Action, Notes, Question, int, Tools], Awaitable[Packed]]
_WRITERS: dict[Action, _Writer] = {
    Action.MERGE: _write_one,
    Action.ABSTRACT: _write_one,
    Action.REWRITE: _rewrite,
}


async def _written(
    action: Action,
    question: Question,
    budget: int,
    tools: Tools,
    *,
    subject: str,
    **values: Any,
) -> str | Decision:
    try:
        text = await ask(
            tools.chat,
            f"packing/{action}",
            stage=f"pack_{action}",
            scope=tools.scope_of(question.question_id),
            max_tokens=budget + _OVERRUN,
            seed=tools.seed,
            question=question.text,
            words=max(_FEWEST_WORDS, int(budget * _WORDS_PER_TOKEN)),
            **values,
        )
    except ReplyInvalid as exc:
        return Decision(f"pack_{action}", subject, "retain", "fallback", detail=str(exc))
    line = escape(clean(text))
    if is_blank(line):
        return Decision(f"pack_{action}", subject, "retain", "fallback", detail="blank")
    return line


async def _all(calls: Iterable[Awaitable[str | Decision]]) -> list[str | Decision]:
    """All together. A failure is raised when none is in flight any more: no call outlives its unit."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def _fitting(
    notes: Notes, order: Sequence[int], budget: int, tokens: TokenCounter
) -> tuple[ContextItem, ...]:
    """Whole notes tried in `order`. The joined lines are counted, not their sum: tokens may span a break."""
    kept: list[int] = []
    for place in order:
        trial = sorted([*kept, place])
        if tokens.count(joined(notes[i] for i in trial)) <= budget:
            kept = trial
    return tuple(notes[i] for i in kept)


def _capped(action: Action, item: ContextItem, budget: int, tokens: TokenCounter) -> Packed:
    text = cut(item.text, budget, tokens=tokens)
    items = (replace(item, text=text),) if text else ()
    return replace(_packed(action, items, tokens), shortened=text != item.text)


def _packed(action: Action, items: tuple[ContextItem, ...], tokens: TokenCounter) -> Packed:
    flag = Flag.PACKED if items else Flag.NOTHING_FITS
    return Packed(action, items, tokens.count(joined(items)), flag)
