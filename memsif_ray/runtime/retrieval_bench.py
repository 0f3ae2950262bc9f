"""How much gold evidence each ranking brings into a token budget. Needs an embedder, but no LLM.

Every ranking is packed by one rule: best first, what does not fit is passed over, and a message costs
its line with speaker and session date, at four characters per token.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from memsif_ray.config import MemoryConfig
from memsif_ray.datasets import Dataset
from memsif_ray.diagnostics.dispersion import is_non_contiguous
from memsif_ray.errors import ConfigError
from memsif_ray.evaluation.metrics import evidence_recall
from memsif_ray.memory.budget import fit
from memsif_ray.memory.encoding import Encoder
from memsif_ray.memory.matching import Phi
from memsif_ray.memory.presets import resolve_thresholds
from memsif_ray.memory.structure import structure_by_rule
from memsif_ray.ports import Embedder, EntityExtractor
from memsif_ray.runtime.rankings import Rankings, Unit
from memsif_ray.types import Category, Conversation, Message, Question, Vector

BUDGETS = (1024, 2048)


@dataclass(frozen=True, slots=True)
class RetrievalRow:
    """One ranking's result.

    Attributes:
        ranking: Its name.
        recall: Tokens → mean share of a question's gold messages among those packed.
        nce_recall: The same for questions with non-contiguous evidence; None when there are none.
        questions: Questions with gold evidence, adversarial ones left out.
        nce_questions: Those of them with at least two strict gold ids and TED ≥ 0.3.
        ms_per_question: Ranking alone; the question is embedded before.
    """

    ranking: str
    recall: Mapping[int, float]
    nce_recall: Mapping[int, float | None]
    questions: int
    nce_questions: int
    ms_per_question: float


class CharacterTokens:
    """Four characters per token, so that results depend on no tokenizer."""

    exact = False

    def count(self, text: str) -> int:
        """A quarter of the characters, rounded."""
        return round(len(text) / 4)


async def retrieval_bench(
    dataset: Dataset,
    *,
    embedder: Embedder,
    entities: EntityExtractor,
    config: MemoryConfig | None = None,
    budgets: Sequence[int] = BUDGETS,
) -> list[RetrievalRow]:
    """Evidence recall of each ranking within token budgets, over every question with gold evidence.

    Segments and trajectories are built by rule, with the thresholds of the embedder.

    Raises:
        ConfigError: When no question has gold evidence.
        ServiceError: When the embedder failed.
    """
    config = config or MemoryConfig()
    scores: defaultdict[str, _Scores] = defaultdict(_Scores)
    for conversation in dataset.conversations:
        asked = await _asked(dataset, conversation, embedder)
        if asked:
            rankings = await _built(conversation, embedder, entities, config)
            for name, ranking in rankings.by_name().items():
                scores[name].add(asked, ranking, rankings.messages, budgets)
    if not scores:
        raise ConfigError(f"no question of {dataset.name!r} has gold evidence to retrieve")
    return [found.row(name) for name, found in scores.items()]


def as_markdown(rows: Sequence[RetrievalRow]) -> str:
    """A table with one line per ranking."""
    budgets = list(rows[0].recall)
    head = [
        "ranking",
        *(f"all@{budget}" for budget in budgets),
        *(f"NCE@{budget}" for budget in budgets),
        "ms/question",
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)]]
    for row in rows:
        shown = [*row.recall.values(), *row.nce_recall.values()]
        cells = ["–" if value is None else f"{value:.3f}" for value in shown]
        lines.append([row.ranking, *cells, f"{row.ms_per_question:.1f}"])
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    counts = (
        f"{rows[0].questions} questions with gold evidence, {rows[0].nce_questions} of them non-contiguous."
    )
    return f"{table}\n\nMean recall of gold messages within a token budget; {counts}\n"


@dataclass(frozen=True, slots=True)
class _Asked:
    question: Question
    vector: Vector
    gold: tuple[str, ...]
    scattered: bool


@dataclass(slots=True)
class _Scores:
    recall: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    scattered: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(
        self,
        asked: Sequence[_Asked],
        ranking: Callable[[str, Vector], Sequence[Unit]],
        messages: Sequence[Message],
        budgets: Sequence[int],
    ) -> None:
        lines = {message.message_id: _line(message) for message in messages}
        for item in asked:
            began = time.perf_counter()
            units = ranking(item.question.text, item.vector)
            self.seconds.append(time.perf_counter() - began)
            self.scattered.append(item.scattered)
            texts = {unit: "\n".join(lines[message_id] for message_id in unit) for unit in units}
            for budget in budgets:
                packed = fit(units, texts.__getitem__, tokens=CharacterTokens(), budget=budget)
                found = {message_id for unit in packed for message_id in unit}
                self.recall[budget].append(evidence_recall(item.gold, found) or 0.0)

    def row(self, name: str) -> RetrievalRow:
        nce = {
            budget: [value for value, scattered in zip(values, self.scattered, strict=True) if scattered]
            for budget, values in self.recall.items()
        }
        return RetrievalRow(
            ranking=name,
            recall={budget: fmean(values) for budget, values in self.recall.items()},
            nce_recall={budget: fmean(values) if values else None for budget, values in nce.items()},
            questions=len(self.scattered),
            nce_questions=sum(self.scattered),
            ms_per_question=1000 * fmean(self.seconds),
        )


async def _built(
    conversation: Conversation, embedder: Embedder, entities: EntityExtractor, config: MemoryConfig
) -> Rankings:
    items = await Encoder(embedder, entities, conversation.speakers).encode(conversation.messages)
    structure = await structure_by_rule(
        items,
        resolve_thresholds(config, embedder.model_id),
        phi=Phi(config.matching.alpha, config.matching.normalisation),
        top_k=config.trajectories.top_k,
    )
    return Rankings(items, structure)


async def _asked(dataset: Dataset, conversation: Conversation, embedder: Embedder) -> list[_Asked]:
    kept = [
        question
        for question in dataset.questions
        if question.conversation_id == conversation.conversation_id
        and question.category is not Category.ADVERSARIAL
        and dataset.gold[question.question_id].evidence
    ]
    if not kept:
        return []
    vectors = await embedder.embed([question.text for question in kept])
    position = {message.message_id: message.position for message in conversation.messages}
    return [
        _Asked(
            question,
            vector,
            dataset.gold[question.question_id].evidence,
            is_non_contiguous(
                [position[i] for i in dataset.strict_evidence[question.question_id]], len(position)
            ),
        )
        for question, vector in zip(kept, vectors, strict=True)
    ]


def _line(message: Message) -> str:
    return f"[{message.timestamp:%I:%M %p on %d %B, %Y}] {message.speaker}: {message.content}"
