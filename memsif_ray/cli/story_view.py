"""A question's story for a person, as rich renderables. Texts are data: nothing in them is markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

Row = dict[str, Any]
_SHOWN_RETRIEVED = 12
_FACTS = ("core", "active")


def render_story(story: Row) -> Group:
    """The question once, then every method's attempt in the order in which it happened."""
    return Group(*_question(story), *(part for attempt in story["attempts"] for part in _attempt(attempt)))


def _question(story: Row) -> Iterator[RenderableType]:
    yield Text(story["question"], style="bold")
    about = f"{story['question_id']} · {story['category']} · conversation {story['conversation_id']}"
    yield Text(about + (f" · asked {story['asked_at']:%Y-%m-%d}" if story["asked_at"] else ""), style="dim")
    gold = story["gold"]
    yield _labelled("gold", "(abstain)" if gold["abstain"] else gold["answer"])
    for message in gold["evidence"]:
        yield _labelled("", f"{message['message_id']} {message['speaker']}: {message['text']}")


def _attempt(attempt: Row) -> Iterator[RenderableType]:
    yield Text()
    yield Rule(Text(f"{attempt['method']}, run {attempt['run']}"), align="left")
    yield from _reading(attempt)
    yield _labelled(
        "answer", attempt["answer"] if attempt["answer"] is not None else f"none: {attempt['error']}"
    )
    yield _labelled("verdict", _verdict(attempt["verdict"]))
    yield from _changes(attempt["changes"])
    yield _calls(attempt["calls"])


def _reading(attempt: Row) -> Iterator[RenderableType]:
    facts = [line for line in attempt["context"] if line["kind"] in _FACTS]
    others = [line for line in attempt["context"] if line["kind"] not in _FACTS]
    yield from _listed("facts", [f"{line['item_id']} {line['text']}" for line in facts])
    for decision in attempt["decisions"]:
        score = "" if decision["score"] is None else f", score {decision['score']:.2f}"
        detail = f" ({decision['detail']})" if decision["detail"] else ""
        yield _labelled(decision["kind"], f"{decision['outcome']} by {decision['decided_by']}{score}{detail}")
    yield from _listed("retrieved", _retrieved(attempt["retrieved"]))
    yield from _listed("evidence", [line["text"] for line in others])
    yield _labelled("context", f"{len(attempt['context'])} lines, {attempt['context_tokens']} tokens")


def _retrieved(units: Sequence[Row]) -> list[str]:
    """The best-ranked messages, and gold ones wherever they are."""
    shown = [unit for unit in units if unit["rank"] <= _SHOWN_RETRIEVED or unit["is_gold"]]
    lines = [
        f"{unit['rank']:>3} {unit['message_id']}{' GOLD' if unit['is_gold'] else ''} "
        f"{unit['speaker']}: {unit['text']}"
        for unit in shown
    ]
    return [*lines, f"… {len(units)} in all"] if len(units) > len(shown) else lines


def _verdict(verdict: Row | None) -> str:
    if verdict is None:
        return "none"
    scores = [
        f"{name.replace('_', ' ')} {verdict[name]:.2f}"
        for name in ("f1", "evidence_recall")
        if verdict[name] is not None
    ]
    parts = [verdict["outcome"] or "not graded", *scores, *(["abstained"] if verdict["abstained"] else [])]
    return ", ".join(parts) + (f" ({verdict['reason']})" if verdict["reason"] else "")


def _changes(changes: Row) -> Iterator[RenderableType]:
    yield from _listed(
        "facts changed",
        [
            f"{op['op']} {op['fact_id']} ({op['reason']}): {op['statement']}"
            for op in changes["fact_operations"]
        ],
    )
    yield from _listed(
        "candidates",
        [
            f"{c['cluster_id']} {c['subject']}: {len(c['statements'])} statements, "
            f"{len(c['queries'])} queries, {len(c['sources'])} sources, "
            f"{c['promoted_fact_id'] or 'not promoted'}"
            for c in changes["clusters"]
        ],
    )


def _calls(calls: Sequence[Row]) -> RenderableType:
    if not calls:
        return _labelled("calls", "none")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("call", "tokens in", "out", "seconds", "outcome"):
        table.add_column(title, justify="left" if title in ("call", "outcome") else "right")
    for call in calls:
        numbers = [
            "–" if call[key] is None else f"{call[key]:,}" for key in ("prompt_tokens", "completion_tokens")
        ]
        table.add_row(call["stage"], *numbers, f"{call['latency_s']:.2f}", call["outcome"])
    return table


def _listed(label: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    for n, line in enumerate(lines):
        yield _labelled(label if n == 0 else "", line)


def _labelled(label: str, text: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=13, style="cyan")
    grid.add_column()
    grid.add_row(Text(label), Text(text))
    return Padding(grid, (0, 0))
