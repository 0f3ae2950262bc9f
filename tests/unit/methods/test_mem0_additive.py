"""Mem0, 2026: memory only grows, and a search adds words and entities to the cosine."""

import json
import math
import re
from datetime import datetime

import numpy as np
import pytest

from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import RunConfig
from memsif_ray.methods.base import Tools
from memsif_ray.methods.mem0.additive import Mem0Additive, normalised
from memsif_ray.methods.mem0.entities import damping
from memsif_ray.types import Category, Conversation, Message, Note, Question

HOME, CAT = "Ann lives in Lille.", "Ann has a cat."
TALK = Conversation(
    "c",
    "locomo",
    ("Ann", "Bo"),
    tuple(
        Message("c", f"D{n}", n, 1, ("Ann", "Bo")[n % 2], text, datetime(2024, 5, 1))
        for n, text in enumerate(("first", "yes", "second", "no"))
    ),
)


class Named:
    """Entities are the words given, where a text has them."""

    def __init__(self, *names):
        self.names = names

    def extract(self, texts):
        return [frozenset(name for name in self.names if name in text.casefold()) for text in texts]


class Placed:
    """Texts have the cosines given to the first axis, and none to each other beyond that."""

    model_id = "placed"

    def __init__(self, cosines):
        self.cosines = cosines

    async def embed(self, texts):
        assert all(texts)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text):
        vector = np.zeros(2 + len(self.cosines), np.float32)
        cosine = self.cosines.get(text, 1.0)
        vector[0] = cosine
        if text in self.cosines:
            vector[1 + list(self.cosines).index(text)] = math.sqrt(1 - cosine**2)
        return vector


def mem0(script=None, *, entities=(), embedder=None, **settings):
    chat = ScriptedChat(script or (lambda request: AssertionError("no model call")))
    tools = Tools(chat, embedder or HashEmbedder(), Named(*entities), EstimatingCounter())
    return Mem0Additive(RunConfig(baselines={"mem0:2026": settings}), tools), chat


def facts(**found):
    """A script: facts, as (speaker, text), by a word of the newest messages."""

    def script(request):
        window = request.user.split("<window")[1]
        pairs = next((pairs for word, pairs in found.items() if word in window), [])
        if isinstance(pairs, str):
            return pairs
        return json.dumps({"facts": [{"speaker": speaker, "text": text} for speaker, text in pairs]})

    return script


def question(text):
    return Question("q", "c", 0, text, Category.SINGLE_HOP)


async def searched(embedder, *notes, text, entities=()):
    """Scores by note id of a store that holds `notes`."""
    method, _ = mem0(embedder=embedder, entities=entities)
    await method.load(TALK, {"notes": notes, "decisions": []})
    return {item.item_id: item.score for item in (await method.context(question(text))).items}


async def test_memory_only_grows_and_the_same_text_is_stored_once():
    script = facts(
        first=[("Ann", HOME), ("Ann", CAT), ("Ann", HOME)], second=[("Bo", "Bo left."), ("Ann", CAT)]
    )
    method, _ = mem0(script)
    await method.ingest(TALK)
    notes = method.dump()["notes"]
    assert [(note.note_id, note.text, note.tags, note.message_ids) for note in notes] == [
        ("memory_0000", HOME, ("Ann",), ("D0", "D1")),
        ("memory_0001", CAT, ("Ann",), ("D0", "D1")),
        ("memory_0002", "Bo left.", ("Bo",), ("D2", "D3")),
    ]
    refused = [(d.subject_id, d.outcome, d.detail) for d in method.dump()["decisions"]]
    assert refused == [("D0", "duplicate", HOME), ("D2", "duplicate", CAT)]


async def test_an_extraction_sees_the_similar_memories_and_the_messages_before():
    method, chat = mem0(facts(first=[("Ann", "second hand cars please Ann."), ("Ann", CAT)]), similar=1)
    await method.ingest(TALK)
    later = chat.requests[1].user
    assert re.search(r"<memory>\n(.*?)\n</memory>", later, re.S)[1] == "- second hand cars please Ann."
    assert re.search(r"<history>\n(.*?)\n</history>", later, re.S)[1] == "Ann: first\nBo: yes"


async def test_a_fact_about_nobody_who_spoke_is_the_first_speakers():
    method, _ = mem0(facts(first=[("ann ", CAT), ("Zoe", HOME)]))
    await method.ingest(TALK)
    assert [note.tags for note in method.dump()["notes"]] == [("Ann",), ("Ann",)]


async def test_memories_share_an_entity_by_its_name_or_by_a_very_near_one():
    near = {"lille": 0.99, "rijsel": 1.0, "ghent": 0.9}
    method, _ = mem0(
        facts(
            first=[("Ann", "from lille"), ("Ann", "to ghent")], second=[("Bo", "off to rijsel, not lille")]
        ),
        entities=("lille", "rijsel", "ghent"),
        embedder=Placed(near),
    )
    await method.ingest(TALK)
    notes = method.dump()["notes"]
    names = {note.note_id: note.text for note in notes if note.kind == "entity"}
    assert list(names.values()) == ["lille", "ghent"]  # "rijsel" has a cosine of 0.99 to "lille"
    links = [[names[link] for link in note.links] for note in notes if note.kind == "memory"]
    assert links == [["lille"], ["ghent"], ["lille"]]


def test_damping_and_sigmoid_by_hand():
    assert damping(1) == 1
    assert damping(101) == pytest.approx(1 / 11)
    assert normalised(5, terms=3) == normalised(7, terms=4) == normalised(12, terms=99) == 0.5
    assert normalised(7, terms=3) == pytest.approx(1 / (1 + math.exp(-1.4)))


async def test_without_a_shared_word_or_entity_the_score_is_the_cosine_and_low_ones_are_gated():
    embedder = Placed({"red": 0.6, "blue": 0.8, "grey": 0.05})
    notes = [Note(text, "memory", text, ("D0",), tags=("Ann",)) for text in ("red", "blue", "grey")]
    assert await searched(embedder, *notes, text="Colours?") == pytest.approx({"red": 0.6, "blue": 0.8})


async def test_an_entity_lifts_its_memories_and_the_sum_is_divided_by_its_maximum():
    embedder = Placed({"red": 0.6, "blue": 0.8, "pink": 0.05, "rose": 0.99})
    notes = [
        Note("e", "entity", "rose"),
        Note("red", "memory", "red", ("D0",), tags=("Ann",), links=("e",)),
        Note("blue", "memory", "blue", ("D1",), tags=("Ann",)),
        Note("pink", "memory", "pink", ("D1",), tags=("Ann",), links=("e",)),
    ]
    scores = await searched(embedder, *notes, text="A rose?", entities=("rose",))
    boost = 0.5 * 1 * (1 / 1.001)  # cosine 1 to its own name, and two memories have it
    assert scores == pytest.approx({"red": (0.6 + boost) / 1.5, "blue": 0.8 / 1.5})


async def test_a_shared_word_adds_its_bm25_through_the_sigmoid():
    embedder = Placed({"kites": 0.6})
    note = Note("kites", "memory", "kites", ("D0",), tags=("Ann",))
    bm25 = math.log(1 + 0.5 / 1.5) * 1 / (1 + 1.2)  # one document, of average length, with the word once
    expected = (0.6 + 1 / (1 + math.exp(-0.7 * (bm25 - 5)))) / 2
    assert await searched(embedder, note, text="kite?") == pytest.approx({"kites": expected}, abs=1e-6)


async def test_an_unusable_reply_costs_its_batch_and_is_a_decision():
    method, _ = mem0(facts(first="no JSON", second=[("Ann", CAT)]))
    await method.ingest(TALK)
    assert [note.text for note in method.dump()["notes"]] == [CAT]
    (lost,) = method.dump()["decisions"]
    assert (lost.kind, lost.subject_id, lost.outcome, lost.decided_by) == (
        "extract",
        "D0",
        "skipped",
        "fallback",
    )


async def test_a_loaded_memory_gives_the_same_context_and_asks_nothing():
    method, _ = mem0(facts(first=[("Ann", HOME), ("Ann", CAT)]), entities=("lille", "cat"))
    await method.ingest(TALK)
    again, chat = mem0(entities=("lille", "cat"))
    await again.load(TALK, method.dump())
    asked = question("Is there a cat in Lille?")
    assert await again.context(asked) == await method.context(asked)
    assert {item.text for item in (await again.context(asked)).items} == {
        "[1 May 2024] Ann: Ann has a cat.",
        "[1 May 2024] Ann: Ann lives in Lille.",
    }
    assert again.dump() == method.dump() and chat.requests == []


async def test_nothing_said_is_nothing_stored():
    method, chat = mem0()
    await method.ingest(Conversation("c", "locomo", ("Ann",), ()))
    assert (await method.context(question("Anything?"))).items == ()
    assert method.dump() == {"notes": [], "decisions": []} and chat.requests == []
