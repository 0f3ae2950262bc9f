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
    return await _WRITERS[action](lines, _Order(action, question, budget, tools))


def retained(notes: Notes, budget: int, *, tokens: TokenCounter) -> Packed:
    """Complete notes in rank order; after one that does not fit, smaller ones are still tried.

    Args:
        notes: In reading order, as they are shown.
        budget: Tokens of the joined lines.
        tokens: Counts them.
    """
    best_first = sorted(range(len(notes)), key=lambda place: -notes[place].score)
    kept = _fitting(notes, best_first, budget=budget, tokens=tokens)
    return _packed(Action.RETAIN, kept, tokens=tokens)


@dataclass(frozen=True, slots=True)
class _Order:
    """What a model is to write: which action, for which question, within how many tokens."""

    action: Action
    question: Question
    budget: int
    tools: Tools


async def _write_one(notes: Notes, order: _Order) -> Packed:
    """Merge or abstract: one record that rests on every note."""
    tokens, budget = order.tools.tokens, order.budget
    written = await _written(order, "notes", notes=[note.text for note in notes])
    if isinstance(written, Decision):
        return replace(retained(notes, budget, tokens=tokens), action=order.action, decisions=(written,))
    sources = dict.fromkeys(source for note in notes for source in note.message_ids)
    best = max(note.score for note in notes)
    record = ContextItem(order.action, order.action, written, tuple(sources), score=best)
    return _capped(record, order)


async def _rewrite(notes: Notes, order: _Order) -> Packed:
    """Every note by itself, with an equal share of the budget to aim at; packed cheapest first."""
    tokens = order.tools.tokens
    share = replace(order, budget=order.budget // len(notes))
    written = await _all(_written(share, note.item_id, note=note.text) for note in notes)
    decisions = [one for one in written if isinstance(one, Decision)]
    rewritten = [
        note if isinstance(one, Decision) else replace(note, text=one)
        for note, one in zip(notes, written, strict=True)
    ]
    costs = [tokens.count(note.text) for note in rewritten]
    cheapest_first = sorted(range(len(costs)), key=costs.__getitem__)
    kept = _fitting(rewritten, cheapest_first, budget=order.budget, tokens=tokens)
    cheapest = rewritten[cheapest_first[0]]
    packed = _packed(order.action, kept, tokens=tokens) if kept else _capped(cheapest, order)
    return replace(packed, decisions=tuple(decisions))


_WRITERS: dict[Action, Callable[[Notes, _Order], Awaitable[Packed]]] = {
    Action.MERGE: _write_one,
    Action.ABSTRACT: _write_one,
    Action.REWRITE: _rewrite,
}


async def _written(order: _Order, subject: str, **values: Any) -> str | Decision:
    """One text on one line, or why there is none."""
    stage = f"pack_{order.action}"
    try:
        text = await ask(
            order.tools.chat,
            f"packing/{order.action}",
            stage=stage,
            scope=order.tools.scope_of(order.question.question_id),
            max_tokens=order.budget + _OVERRUN,
            seed=order.tools.seed,
            question=order.question.text,
            words=max(_FEWEST_WORDS, int(order.budget * _WORDS_PER_TOKEN)),
            **values,
        )
    except ReplyInvalid as exc:
        return Decision(stage, subject, "retain", "fallback", detail=str(exc))
    line = escape(clean(text))
    return Decision(stage, subject, "retain", "fallback", detail="blank") if is_blank(line) else line


async def _all(calls: Iterable[Awaitable[str | Decision]]) -> list[str | Decision]:
    """All together. A failure is raised when none is in flight any more: no call outlives its unit."""
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def _fitting(
    notes: Notes, places: Sequence[int], *, budget: int, tokens: TokenCounter
) -> tuple[ContextItem, ...]:
    """Whole notes, tried in the order of `places`. Joined lines are counted: tokens may span a line break."""
    kept: list[int] = []
    for place in places:
        trial = sorted([*kept, place])
        if tokens.count(joined(notes[i] for i in trial)) <= budget:
            kept = trial
    return tuple(notes[i] for i in kept)


def _capped(item: ContextItem, order: _Order) -> Packed:
    text = cut(item.text, order.budget, tokens=order.tools.tokens)
    items = (replace(item, text=text),) if text else ()
    return replace(_packed(order.action, items, tokens=order.tools.tokens), shortened=text != item.text)


def _packed(action: Action, items: tuple[ContextItem, ...], *, tokens: TokenCounter) -> Packed:
    flag = Flag.PACKED if items else Flag.NOTHING_FITS
    return Packed(action, items, tokens.count(joined(items)), flag)
