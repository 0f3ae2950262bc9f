"""The tools of one worker process, built there from a small specification."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.ledger import Ledger
from memsif_ray.clients.metering import SOME_QUESTION, MeteredChat, MeteredEmbedder
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.stopwatch import Stopwatch
from memsif_ray.clients.tokens import EstimatingCounter, ServedTokenCounter
from memsif_ray.config import ModelConfig, RunConfig
from memsif_ray.methods.base import Tools
from memsif_ray.ports import ChatModel
from memsif_ray.runtime.progress import Tally
from memsif_ray.types import CallScope, ChatReply, ChatRequest


@dataclass(frozen=True, slots=True)
class Bench:
    """What one piece of work is done with.

    Attributes:
        tools: For the method.
        judge: None when answers are not to be graded.
        clock: Seconds, in which a replayed call of the tools takes as long as when it was made.
        unbooked: What is embedded within is charged to nobody.
    """

    tools: Tools
    judge: ChatModel | None
    clock: Callable[[], float] = time.perf_counter
    unbooked: Callable[[], AbstractContextManager[None]] = nullcontext


class Toolbox:
    """Connections and models that all units of a process share, so that its limits hold for all of them."""

    def __init__(self, config: RunConfig, tally: Tally, *, vectors: Path) -> None:
        """Build everything.

        Args:
            config: Names the endpoint of every chat model that will be asked.
            tally: Counts calls and tokens.
            vectors: Folder of the embedding cache, on this machine's own disk.
        """
        self.tally = tally
        self._config = config
        self._chat = _CountedChat(config.model, tally)
        self._judge = _CountedChat(config.judge, tally) if config.judge else self._chat
        self._embedder = make_embedder(config.embedder, vectors)
        self._entities = make_entities(config.entities)
        served = config.model.base_url is not None
        self._tokens = ServedTokenCounter(config.model) if served else EstimatingCounter()

    @contextmanager
    def opened(self, journal: Path, scope: CallScope, *, asking: bool = False) -> Iterator[Bench]:
        """The tools of one piece of work, whose every call goes through the ledger at `journal`.

        With `asking`, what is embedded is for some question, and no part of what building costs.
        """
        config = self._config
        with Ledger(journal) as ledger:
            judge = config.judge or config.model
            stopwatch = Stopwatch()
            embedder = MeteredEmbedder(
                self._embedder,
                ledger,
                scope=replace(scope, question_id=SOME_QUESTION) if asking else scope,
                tokens=self._tokens,
                stopwatch=stopwatch,
            )
            yield Bench(
                Tools(
                    chat=MeteredChat(self._chat, ledger, model_name=config.model.model, stopwatch=stopwatch),
                    embedder=embedder,
                    entities=self._entities,
                    tokens=self._tokens,
                    seed=config.seed + scope.run,
                    scope=scope,
                ),
                MeteredChat(self._judge, ledger, model_name=judge.model) if config.grade else None,
                stopwatch,
                embedder.unbooked,
            )
        self.tally.flush()


class _CountedChat:
    """A `ChatModel` that counts what is really sent. Work that asks nothing needs no endpoint."""

    def __init__(self, config: ModelConfig, tally: Tally) -> None:
        self._config = config
        self._tally = tally

    @cached_property
    def _model(self) -> ChatModel:
        return OpenAIChat(self._config)

    async def complete(self, request: ChatRequest) -> ChatReply:
        reply = await self._model.complete(request)
        self._tally.add(
            calls=1,
            prompt_tokens=reply.prompt_tokens or 0,
            completion_tokens=reply.completion_tokens or 0,
        )
        return reply
