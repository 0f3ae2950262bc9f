"""An index made from an earlier one ranks as one that was made anew, whatever the earlier one held."""

import random
from datetime import datetime, timedelta

import numpy as np
import pytest

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.memory.ranking import InteractionIndex
from memsif_ray.memory.segments import Encoded
from memsif_ray.types import Message, Segment, Trajectory

WORDS = ["boat", "harbour", "tea", "kite", "red", "utrecht", "piano", "march", "snow", "bridge"]
EMBEDDER = HashEmbedder(16)


async def _said(rng, number):
    """A message of some length, one in ten of them blank; a session holds six."""
    text = "" if rng.random() < 0.1 else " ".join(rng.choices(WORDS, k=rng.randint(1, 40)))
    vector = (await EMBEDDER.embed([text]))[0] if text else None
    speaker = rng.choice(["Amy", "Bob"])
    at = datetime(2024, 1, 1) + timedelta(hours=number)
    message = Message(
        conversation_id="c",
        message_id=f"m{number}",
        position=number,
        session=number // 6,
        speaker=speaker,
        text=text,
        timestamp=at,
        role="user",
    )
    return Encoded(message, vector, frozenset())


def _structure(messages):
    nowhere = np.zeros(16, np.float32)
    ids = [item.message.message_id for item in messages]
    segments = [
        Segment(f"s{i}", i, i + 4, tuple(ids[i : i + 4]), nowhere, frozenset())
        for i in range(0, len(ids) - 3, 4)
    ]
    thread = tuple(segment.segment_id for segment in segments[::2])
    return segments, [Trajectory("t0", thread, nowhere, frozenset())] if thread else []


@pytest.mark.parametrize("ranking", ["structural", "dense"])
@pytest.mark.parametrize("seed", range(20))
async def test_made_from_an_earlier_one_or_anew(seed, ranking):
    rng = random.Random(seed)
    messages = [await _said(rng, number) for number in range(rng.randint(1, 40))]
    replaced = [await _said(rng, number) for number in range(len(messages), len(messages) + 5)]
    index = None
    for size in rng.choices(range(len(messages) + 1), k=4):  # longer and shorter, and with another end
        held = [*messages[:size], *replaced]
        index = InteractionIndex(held, *_structure(held), ranking=ranking, earlier=index)
    grown = InteractionIndex(messages, *_structure(messages), ranking=ranking, earlier=index)
    anew = InteractionIndex(messages, *_structure(messages), ranking=ranking)
    for limit in (None, 1, 5):
        text = f"Amy {rng.choice(WORDS)} {rng.choice(WORDS)}"
        vector = (await EMBEDDER.embed([text]))[0]
        assert grown.rank(text, vector, limit=limit) == anew.rank(text, vector, limit=limit)
        assert anew.rank(text, vector, limit=limit) == anew.rank(text, vector)[:limit]
