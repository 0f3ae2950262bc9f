"""Tasks of the diagnosis of delayed utility, each of one conversation: scores, then what compaction loses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsif_ray.diagnostics import compaction, scoring
from memsif_ray.diagnostics.compaction import Answering, Case, GoldFact
from memsif_ray.diagnostics.lshu import EvidenceScore
from memsif_ray.diagnostics.scoring import Local, Score
from memsif_ray.memory.evidence import dated_line
from memsif_ray.ports import ChatModel
from memsif_ray.runtime.rowwise import Rows, each
from memsif_ray.runtime.tasks import Result
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.storage.inputs import read_inputs
from memsif_ray.storage.runs import RunFolder
from memsif_ray.types import CallScope, Question

METHOD = "diagnose-dum"
"""What calls of this diagnosis have in the column of the method."""

Pair = tuple[str, str]
"""A question's id and a message id of its evidence."""


@dataclass(frozen=True, slots=True)
class ScoreTask:
    """Scores the evidence of one conversation. It is handed ids of evidence, and no reference answer.

    Attributes:
        pairs: What to score, in the order of rows.
    """

    inputs: RunFolder
    conversation_id: str
    pairs: tuple[Pair, ...]

    @property
    def name(self) -> str:
        """The conversation's id."""
        return self.conversation_id

    @property
    def scope(self) -> CallScope:
        """Of salience, which belongs to no question."""
        return CallScope(METHOD, self.conversation_id)

    async def run(self, bench: Bench) -> Result:
        """Score each distinct utterance once, and each pair once.

        Raises:
            DataError: When the conversation's file is damaged.
        """
        inputs = await asyncio.to_thread(read_inputs, self.inputs, self.conversation_id)
        messages, scorer = inputs.conversation.messages, _judge(bench)
        places = {message.message_id: place for place, message in enumerate(messages)}
        shown = {name: scoring.local(messages, places[name]) for _, name in self.pairs}
        questions = {question.question_id: question for question in inputs.questions}
        saliences = await each(
            shown,
            lambda name: scoring.salience(
                shown[name], scorer=scorer, scope=self.scope, seed=bench.tools.seed
            ),
        )
        utilities = await each(
            self.pairs, lambda pair: self._utility(questions[pair[0]], shown[pair[1]], scorer, bench)
        )
        rows = [self._row(questions[pair[0]], pair[1], saliences, utilities) for pair in self.pairs]
        return _result({"evidence_scores": rows}, {**saliences.failures, **utilities.failures})

    async def _utility(self, question: Question, shown: Local, scorer: ChatModel, bench: Bench) -> Score:
        scope = bench.tools.scope_of(question.question_id)
        return await scoring.utility(shown, question.text, scorer=scorer, scope=scope, seed=bench.tools.seed)

    def _row(
        self, question: Question, name: str, saliences: Rows[str, Score], utilities: Rows[Pair, Score]
    ) -> EvidenceScore:
        pair = (question.question_id, name)
        salience = saliences.values.get(name) or Score(None, saliences.failures.get(name, ""))
        utility = utilities.values.get(pair) or Score(None, utilities.failures.get(pair, ""))
        return EvidenceScore(
            self.conversation_id,
            question.question_id,
            question.category,
            name,
            salience.value,
            salience.reason,
            utility.value,
            utility.reason,
        )


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """Judges what compaction leaves of the evidence of some questions of one conversation.

    Attributes:
        evidence: By question id, the message ids with their salience.
    """

    inputs: RunFolder
    conversation_id: str
    evidence: Mapping[str, Mapping[str, int | None]]
    answering: Answering

    @property
    def name(self) -> str:
        """The conversation's id."""
        return self.conversation_id

    @property
    def scope(self) -> CallScope:
        """That of the conversation."""
        return CallScope(METHOD, self.conversation_id)

    async def run(self, bench: Bench) -> Result:
        """Examine every question.

        Raises:
            DataError: When the conversation's file is damaged.
        """
        cases = await asyncio.to_thread(self._cases)
        judge = _judge(bench)
        found = await each(
            cases,
            lambda name: compaction.examine(
                cases[name], tools=bench.tools, judge=judge, answering=self.answering
            ),
        )
        tables: dict[str, list[Any]] = {"recoveries": [], "compacted_answers": []}
        for name in filter(found.values.__contains__, cases):
            recoveries, answers = found.values[name]
            tables["recoveries"] += recoveries
            tables["compacted_answers"] += answers
        return _result(tables, found.failures)

    def _cases(self) -> dict[str, Case]:
        inputs = read_inputs(self.inputs, self.conversation_id)
        messages = inputs.conversation.messages
        return {
            question.question_id: Case(
                question,
                inputs.gold[question.question_id].answer,
                tuple(
                    GoldFact(message.message_id, dated_line(message), scores[message.message_id])
                    for message in messages
                    if message.message_id in scores
                ),
            )
            for question in inputs.questions
            if (scores := self.evidence.get(question.question_id))
        }


def _judge(bench: Bench) -> ChatModel:
    """Whoever judges; this diagnosis always has one."""
    return bench.judge or bench.tools.chat


def _result(tables: Mapping[str, Sequence[Any]], failures: Mapping[Any, str]) -> Result:
    return Result(tables, len(failures), next(iter(failures.values()), ""))
