"""The online protocol for one conversation: context → answer → learn, then the next question."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace

from memsif_ray.config import RunConfig
from memsif_ray.errors import MemsifError, ReplyInvalid, ServiceBusy
from memsif_ray.evaluation.protocol import question_order
from memsif_ray.methods.answering import answer_from
from memsif_ray.methods.base import AnswersItself, MemoryMethod, Tools
from memsif_ray.packing.policy import Packing, router_of, within_budget
from memsif_ray.packing.router import Router
from memsif_ray.runtime.contained import contained
from memsif_ray.runtime.units import ROW_ERRORS, reason_of
from memsif_ray.types import Answer, Context, Question

GIVE_UP_AFTER = 3
"""Questions in a row that a busy service failed, each for its whole deadline, before a unit gives up."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what came of it.

    Attributes:
        order: Place in the online order, from 0.
        context: What the answer prompt shows: the method's context, or what packing made of it.
        failure: What a later start may mend. An unusable reply is no failure: it is what the model said,
            and the ledger would only repeat it.
        seconds: Wall clock of retrieval, packing and answer, in which a replayed call takes as long as when
            it was made; learning is not part of it.
        packing: How the context was made to fit; None in a run without a token budget.
    """

    question: Question
    order: int
    context: Context
    answer: Answer
    failure: MemsifError | None = None
    seconds: float = 0.0
    packing: Packing | None = None


async def ask_in_order(
    method: MemoryMethod,
    questions: Iterable[Question],
    *,
    tools: Tools,
    config: RunConfig,
    clock: Callable[[], float] = time.perf_counter,
) -> AsyncIterator[Asked]:
    """Ask the questions of one conversation strictly one after the other; yields each with its outcome.

    Every run has the same order unless `config.order` says otherwise; runs have different `tools.seed`.

    A question that fails is an outcome too, and teaches nothing. When the service seems to be gone, the
    remaining questions are outcomes that say so.

    Args:
        method: A memory that is built or loaded.
        questions: Of its conversation.
        tools: What answers.
        config: Of the run.
        clock: Seconds, of which each question is told how many it took.
    """
    busy: list[Asked] = []
    router = router_of(config.packing, embedder=tools.embedder.model_id)
    seed = tools.seed if config.order == "per-run" else config.seed
    for order, question in enumerate(question_order(questions, seed)):
        if len(busy) >= GIVE_UP_AFTER:
            yield not_asked(question, order, busy[-1].answer.error, failure=busy[-1].failure)
            continue
        asked = await _ask(method, question, order, tools=tools, config=config, router=router, clock=clock)
        busy = [*busy, asked] if isinstance(asked.failure, ServiceBusy) else []
        yield asked


def not_asked(question: Question, order: int, reason: str, *, failure: MemsifError | None) -> Asked:
    """The outcome of a question that nobody was in a state to answer."""
    answer = Answer(question.question_id, None, f"not asked: {reason}")
    return Asked(question, order, Context(()), answer, failure)


async def _ask(
    method: MemoryMethod,
    question: Question,
    order: int,
    *,
    tools: Tools,
    config: RunConfig,
    router: Router | None,
    clock: Callable[[], float],
) -> Asked:
    started = clock()
    asked = Asked(question, order, Context(()), Answer(question.question_id, None))
    try:
        with contained(method.name):
            found = await method.context(question)
        shown, packing = await within_budget(
            found, question, config=config.packing, router=router, tools=tools
        )
        asked = replace(asked, context=shown, packing=packing)
        answer = await _answer(method, question, asked.context, tools=tools, config=config)
        asked = replace(asked, answer=answer, seconds=clock() - started)
        if config.state == "online":  # else every question meets the memory as it was built
            with contained(method.name):
                await method.learn(question, found)  # a small answer prompt teaches no less
    except ROW_ERRORS as exc:
        failure = None if isinstance(exc, ReplyInvalid) else exc
        return replace(asked, answer=replace(asked.answer, error=reason_of(exc)), failure=failure)
    return asked


async def _answer(
    method: MemoryMethod, question: Question, context: Context, *, tools: Tools, config: RunConfig
) -> Answer:
    if isinstance(method, AnswersItself):
        with contained(method.name):
            return Answer(question.question_id, await method.answer(question, context))
    return await answer_from(
        context,
        question,
        tools=tools,
        max_tokens=config.answer_max_tokens,
        temperature=config.answer_temperature,
    )
