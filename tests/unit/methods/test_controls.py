"""Retrieval and other controls: what each one shows, on a conversation small enough to check by eye."""

from datetime import datetime

import numpy as np
import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import RunConfig
from memsif_ray.errors import RequestRefused
from memsif_ray.evaluation.abstention import abstains
from memsif_ray.evaluation.metrics import locomo_score
from memsif_ray.methods import make_method
from memsif_ray.methods.base import Tools
from memsif_ray.methods.full_context import PROMPT_RESERVE
from memsif_ray.methods.naive_rag import fused
from memsif_ray.runtime.asking import ask_in_order
from memsif_ray.types import Category, Conversation, Gold, Message, Question

LINES = (
    "The kite is red.",
    "Nice weather today.",
    "My zebra Otto eats apples.",
    "He sleeps a lot.",
    "We fly the kite at the beach.",
    "",
    "Apples are cheap this week.",
)
HISTORY = Conversation(
    "c1",
    "locomo",
    ("Ann", "Bo"),
    tuple(
        Message("c1", f"D{1 + n // 4}:{n}", n, 1 + n // 4, "Ann", text, datetime(2024, 2, 1 + n // 4))
        for n, text in enumerate(LINES)
    ),
)


def question(text, name="q0"):
    return Question(name, "c1", 0, text, Category.SINGLE_HOP)


class CountingEmbedder(HashEmbedder):
    texts = 0

    async def embed(self, texts):
        self.texts += len(texts)
        return await super().embed(texts)


def tools_for(script=None):
    return Tools(ScriptedChat(script), CountingEmbedder(256), RuleEntities(), EstimatingCounter())


async def built(name, tools=None, **settings):
    method = make_method(name, RunConfig.model_validate(settings), tools or tools_for())
    await method.ingest(HISTORY)
    return method


async def test_bm25_finds_only_turns_that_share_a_word_and_embeds_nothing():
    tools = tools_for()
    method = await built("bm25", tools)
    context = await method.context(question("What does the zebra eat?"))
    assert context.retrieved_ids == ("D1:2",)
    assert (await method.context(question("Is there a volcano?"))).items == ()
    both = await method.context(question("Which apples did Otto the zebra like?"))
    assert both.retrieved_ids == ("D1:2", "D2:6")
    assert tools.embedder.texts == 0


def test_reciprocal_ranks_are_added_up():
    """Turn 1 is 2nd and 1st, turn 0 is 1st and 3rd, turn 2 is 3rd only, turn 3 is in none."""
    dense, words = np.array([0, 1, 2]), np.array([1, 4, 0])
    scores = {0: 1 / 61 + 1 / 63, 1: 1 / 62 + 1 / 61, 2: 1 / 63, 4: 1 / 62}
    assert fused([dense, words], 5).tolist() == sorted(scores, key=lambda i: -scores[i]) == [1, 0, 4, 2]


async def test_hybrid_ranks_by_both_and_lists_in_time_order():
    tools = tools_for()
    method = await built("hybrid", tools)
    context = await method.context(question("Where do we fly the kite?"))
    assert context.retrieved_ids[0] == "D2:4"
    assert set(context.retrieved_ids) == {f"D{1 + n // 4}:{n}" for n, text in enumerate(LINES) if text}
    assert [item.timestamp for item in context.items] == sorted(item.timestamp for item in context.items)
    assert tools.embedder.texts == 6 + 1


async def test_neighbours_are_shown_next_to_their_turn_and_stop_at_the_end_of_a_session():
    settings = {"memory": {"retrieval": {"context_tokens": 75}}}  # three turns
    zebra, beach = question("What does the zebra Otto eat?"), question("Do we fly the kite at the beach?")
    wide = await built("naive-rag:neighbours", **settings)
    context = await wide.context(zebra)
    assert [item.item_id for item in context.items] == ["D1:1", "D1:2", "D1:3"]
    assert context.retrieved_ids == (await (await built("naive-rag")).context(zebra)).retrieved_ids
    shown = [item.item_id for item in (await wide.context(beach)).items]
    assert {"D2:4", "D2:6"} <= set(shown)  # D2:5 is blank; D1:3 is another session
    assert "D1:3" not in shown


def window_for(lines):
    """A window that leaves room for some lines of this history."""
    return lines * 30 + PROMPT_RESERVE + 512


@pytest.mark.parametrize(("name", "missing"), [("full-context", "D1:0"), ("full-context:head", "D2:6")])
async def test_what_does_not_fit_is_dropped_at_the_named_end(name, missing):
    method = await built(name, model={"context_window": window_for(2)})
    kept = [item.item_id for item in (await method.context(question("Anything?"))).items]
    spoken = [m.message_id for m in HISTORY.messages if m.text]
    assert 0 < len(kept) < len(spoken)
    assert missing not in kept
    assert kept == (spoken[-len(kept) :] if name == "full-context" else spoken[: len(kept)])


async def test_a_whole_history_is_never_cut():
    method = await built("full-context:whole")
    assert len((await method.context(question("Anything?"))).items) == 6
    short = await built("full-context:whole", model={"context_window": window_for(2)})
    with pytest.raises(RequestRefused, match="do not fit a window of"):
        await short.context(question("Anything?"))


async def test_a_history_that_is_too_long_is_a_failed_question_with_a_reason():
    tools, config = tools_for(), RunConfig.model_validate({"model": {"context_window": window_for(2)}})
    method = make_method("full-context:whole", config, tools)
    await method.ingest(HISTORY)
    (asked,) = [one async for one in ask_in_order(method, [question("Hm?")], tools=tools, config=config)]
    assert asked.answer.text is None
    assert "context_length_exceeded" in asked.answer.error
    assert isinstance(asked.failure, RequestRefused)
    assert tools.chat.requests == []


async def test_the_oracle_shows_the_gold_turns_and_nothing_else():
    method = await built("oracle")
    assert (await method.context(question("What does Otto eat?"))).items == ()
    method.see_evidence({"q0": ("D2:4", "D1:0", "D2:5", "D9:9"), "q1": ()})
    context = await method.context(question("What is flown where?"))
    assert [item.item_id for item in context.items] == ["D1:0", "D2:4"]
    assert (await method.context(question("Who?", "q1"))).items == ()


async def test_always_abstain_abstains_without_a_call():
    tools, config = tools_for(), RunConfig()
    method = make_method("abstain", config, tools)
    await method.ingest(HISTORY)
    (asked,) = [one async for one in ask_in_order(method, [question("Hm?")], tools=tools, config=config)]
    assert abstains(asked.answer.text)
    to_abstain, to_answer = Gold("q0", "", trap="a zebra", abstain=True), Gold("q0", "a zebra")
    assert locomo_score(asked.answer.text, to_abstain, Category.ADVERSARIAL) == 1.0
    assert locomo_score(asked.answer.text, to_answer, Category.SINGLE_HOP) == 0.0
    assert tools.chat.requests == [] and tools.embedder.texts == 0
