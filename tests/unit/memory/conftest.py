"""Small builders shared by the memory tests."""

from datetime import datetime

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.memory.tools import NO_MODEL, Tools
from memsif_ray.types import Message


@pytest.fixture
def say():
    """Builds a message; positions count up."""
    made = []

    def build(
        text, *, at="2024-02-01", speaker="Rens", message_id=None, session=1, role="user", caption=None
    ):
        position = len(made)
        made.append(text)
        return Message(
            "c1",
            message_id or f"D{session}:{position + 1}",
            position,
            session,
            speaker,
            text,
            datetime.fromisoformat(at),
            caption,
            role,
        )

    return build


@pytest.fixture
def tools_for():
    """Tools around a scripted chat function, or no usable model at all."""

    def build(script=None, capabilities=NO_MODEL):
        return Tools(
            ScriptedChat(script), HashEmbedder(256), RuleEntities(), EstimatingCounter(), capabilities
        )

    return build
