"""Small conversations, and an embedder whose vectors a test writes down."""

from datetime import datetime, timedelta

import numpy as np

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import RunConfig
from memsif_ray.methods import make_method
from memsif_ray.methods.base import Tools
from memsif_ray.types import Category, Conversation, Message, Question

FIRST_DAY = datetime(2024, 2, 1, 9)


class GivenEmbedder:
    """The vectors of a table, scaled to unit length."""

    model_id = "given"

    def __init__(self, vectors):
        self._vectors = vectors

    async def embed(self, texts):
        found = np.array([self._vectors[text] for text in texts], np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def history(*sessions, speakers=("Ann", "Bo"), dataset="locomo", roles=("user", "user")):
    """A conversation of sessions of texts, a week apart, the two speakers by turns."""
    messages = []
    for number, texts in enumerate(sessions):
        for n, text in enumerate(texts):
            messages.append(
                Message(
                    conversation_id="c1",
                    message_id=f"D{number + 1}:{n + 1}",
                    position=len(messages),
                    session=number + 1,
                    speaker=speakers[n % 2],
                    text=text,
                    timestamp=FIRST_DAY + timedelta(weeks=number),
                    role=roles[n % 2],
                )
            )
    return Conversation("c1", dataset, speakers, tuple(messages))


def question(text):
    return Question("q1", "c1", 0, text, Category.SINGLE_HOP)


def tools_for(script=None, embedder=None):
    return Tools(ScriptedChat(script), embedder or HashEmbedder(256), RuleEntities(), EstimatingCounter())


def method_of(name, tools, **settings):
    return make_method(name, RunConfig.model_validate(settings), tools)
