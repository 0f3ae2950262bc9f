"""Small builders of the service tests."""

from datetime import UTC, datetime, timedelta

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.memory.tools import NO_MODEL, Tools
from memsif_ray.service.backend import Caller
from memsif_ray.service.models import IngestRequest

ME = Caller("acme", "key_1", "req_1")


class Clock:
    def __init__(self):
        self.time = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)

    def __call__(self):
        return self.time

    def pass_by(self, **much):
        self.time += timedelta(**much)


def tools_of(script=None, capabilities=NO_MODEL, embedder=None):
    return Tools(
        ScriptedChat(script), embedder or HashEmbedder(64), RuleEntities(), EstimatingCounter(), capabilities
    )


def said(*messages, conversation_id="c1", **more):
    return IngestRequest(conversation_id=conversation_id, messages=list(messages), **more)


class Gated(HashEmbedder):
    """Embeds when its gate is open."""

    def __init__(self, gate):
        super().__init__(64)
        self._gate = gate

    async def embed(self, texts):
        await self._gate.wait()
        return await super().embed(texts)
