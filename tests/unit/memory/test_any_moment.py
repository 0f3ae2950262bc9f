"""A memory that was stored at any moment has the same future as one that never was."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat, reasonable
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import ActiveFactConfig, MemoryConfig, SegmentConfig, TrajectoryConfig
from memsif_ray.errors import ServiceBusy
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import CAPABLE, NO_MODEL, Tools
from memsif_ray.storage.memories import KINDS, encode_memory
from memsif_ray.storage.tables import decode
from memsif_ray.types import Category, Message, Question

# Wide thresholds leave much to the judge, low promotion thresholds let ActiveFacts come about.
EAGER = MemoryConfig(
    segments=SegmentConfig(tau_split=0.1, tau_merge=0.7),
    active=ActiveFactConfig(theta_source=0.1, theta_query=0.1),
)
CONFIGS = {
    "eager": EAGER,
    "no-ts": EAGER.model_copy(update={"segments": SegmentConfig(unit="message")}),
    "no-et": EAGER.model_copy(update={"trajectories": TrajectoryConfig(enabled=False)}),
}
TEXTS = (
    "I adopted a greyhound called Comet yesterday.",
    "Does Comet like the rain?",
    "I moved to Ghent in March.",
    "I take oat milk in my coffee.",
    "Back to soy milk: I love soy milk.",
    "My pottery teacher Wim lives in Ghent.",
    "",
    "Thanks!",
    "Comet chased a cat through the pottery studio.",
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=4)),
        st.tuples(st.just("ask"), st.integers(0, len(TEXTS) - 1)),
        st.tuples(
            st.sampled_from(("settle", "flush", "retract", "reinstate", "correct", "erase")), st.just(0)
        ),
    ),
    min_size=2,
    max_size=12,
)


@dataclass
class Outages:
    """Fails the calls of these numbers, whichever model they go to."""

    numbers: frozenset[int]
    calls: int = 0

    def count(self):
        self.calls += 1
        if self.calls in self.numbers:
            raise ServiceBusy("gone")


class FlakyEmbedder(HashEmbedder):
    def __init__(self, outages):
        super().__init__(32)
        self._outages = outages

    async def embed(self, texts):
        self._outages.count()
        return await super().embed(texts)


class Run:
    """Folds steps; with `stored_after`, the memory is stored and read again after each of these steps."""

    def __init__(self, config, capabilities, failing):
        self.outages, self.config = Outages(frozenset(failing)), config
        self.tools = Tools(
            ScriptedChat(self._say),
            FlakyEmbedder(self.outages),
            RuleEntities(),
            EstimatingCounter(),
            capabilities,
        )
        self.memory = self._empty()
        self.said = 0

    def _say(self, request):
        self.outages.count()
        return reasonable(request)

    def _empty(self):
        return ConversationMemory("c1", config=self.config, tools=self.tools)

    async def take(self, number, step):
        with suppress(ServiceBusy):
            await self._take(number, *step)

    async def _take(self, number, verb, given):
        at = datetime(2024, 3, 1) + timedelta(days=number)
        memory = self.memory
        match verb:
            case "say":
                messages = [self._message(text, at) for text in given]
                await memory.add(messages)
            case "ask":
                asked = Question(f"q{number}", "c1", number, TEXTS[given], Category.SINGLE_HOP, at)
                await memory.learn(asked, await memory.context(asked))
            case "settle" | "flush":
                await getattr(memory, verb)()
            case "reinstate":
                for fact in [o.fact for o in memory.operations() if o.op == "Retract"][-1:]:
                    if (
                        memory.view().core.knows(fact.fact_id)
                        and memory.view().core.get(fact.fact_id).status == "retracted"
                    ):
                        memory.reinstate(fact.fact_id, at)
            case _:
                await self._by_hand(verb, at)

    async def _by_hand(self, verb, at):
        facts = self.memory.facts()
        if not facts:
            return
        fact_id = facts[0].fact_id
        if verb == "retract":
            self.memory.retract(fact_id, at)
        elif verb == "erase":
            self.memory.erase(fact_id)
        else:
            await self.memory.correct(fact_id, at, statement=f"Put right: {facts[0].statement}")

    def _message(self, text, at):
        self.said += 1
        speaker = ("Rens", "Uma")[self.said % 2]
        return Message("c1", f"m{self.said}", self.said - 1, at.day, speaker, TEXTS[text], at)

    def store_and_read(self):
        parts = stored(self.memory.dump())
        tables = {
            name: [v for p in parts.get(name, ()) for v in decode(p, kind)] for name, kind in KINDS.items()
        }
        self.memory = self._empty()
        self.memory.restore(tables)

    def seen(self):
        held = {**self.memory.dump(), "segments": self.memory.segments}
        rows = {name: [part.to_pylist() for part in parts] for name, parts in stored(held).items()}
        return rows, self.memory.facts(), self.outages.calls


def stored(tables):
    return encode_memory(tables, method="memsif", conversation_id="c1", run=None)


@pytest.mark.parametrize("capabilities", [NO_MODEL, CAPABLE], ids=["rule", "llm"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=steps,
    cuts=st.sets(st.integers(0, 11), min_size=1, max_size=4),
    failing=st.sets(st.integers(1, 60), max_size=4),
)
def test_storing_and_reading_changes_nothing_that_comes_later(config, capabilities, steps, cuts, failing):
    async def compare():
        whole, cut = Run(config, capabilities, failing), Run(config, capabilities, failing)
        for number, step in enumerate([*steps, ("settle", 0), ("flush", 0), ("flush", 0)]):
            await whole.take(number, step)
            await cut.take(number, step)
            if number in cuts:
                cut.store_and_read()
            assert cut.seen() == whole.seen()

    asyncio.run(compare())


def two_facts(request):
    """Says of every segment that there are two things in one slot, so that one must be consolidated."""
    if request.stage != "extract":
        return reasonable(request)
    said = next(line for line in request.user.splitlines() if line.startswith("[1]"))[4:].partition(": ")[2]
    facts = [
        {"subject": "Rens", "type": "Event", "attribute": "thing", "statement": text, "messages": [1]}
        for text in (said, " ".join(said.split()[:3]))
    ]
    return json.dumps({"facts": facts})


async def folded(script):
    """What became of a conversation, every failed call being tried again by adding it all once more."""
    tools = Tools(ScriptedChat(script), HashEmbedder(32), RuleEntities(), EstimatingCounter(), CAPABLE)
    memory = ConversationMemory("c1", config=EAGER, tools=tools)
    messages = [
        Message("c1", f"m{i}", i, 1, "Rens", text, datetime(2024, 3, 1) + timedelta(days=i))
        for i, text in enumerate(TEXTS * 2)
    ]
    for _ in range(200):
        with suppress(ServiceBusy):
            await memory.add(messages)
            await memory.flush()
            return memory
    raise AssertionError("never got through")


@pytest.mark.parametrize("stage", ["boundary", "trajectory", "extract", "consolidate"])
async def test_an_outage_never_writes_half_of_a_segment_or_anything_twice(stage):
    failed = set()

    def flaky(request):
        if request.stage == stage and request.user not in failed:
            failed.add(request.user)
            return ServiceBusy("gone")
        return two_facts(request)

    undisturbed, disturbed = await folded(two_facts), await folded(flaky)
    assert failed
    assert disturbed.operations() == undisturbed.operations()
    assert disturbed.dump()["decisions"] == undisturbed.dump()["decisions"]
