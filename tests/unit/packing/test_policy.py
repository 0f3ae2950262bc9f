"""Packing in the read path: the same cap for every method, and a record of what was decided."""

from datetime import datetime

import pytest

from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.config import PackingConfig, RunConfig
from memsif_ray.errors import EmbedderMismatch
from memsif_ray.memory.tools import Tools
from memsif_ray.methods.full_context import FullContext
from memsif_ray.packing.candidates import candidates
from memsif_ray.packing.features import EXTENDED, NAMES, PAPER
from memsif_ray.packing.policy import router_of, within_budget
from memsif_ray.packing.router import Layer, Router, Training
from memsif_ray.types import (
    Category,
    Context,
    ContextItem,
    Conversation,
    Decision,
    Evidence,
    Message,
    Question,
)

DAY = datetime(2024, 5, 1)
QUESTION = Question("q1", "c", 0, "Where does Ann live?", Category.SINGLE_HOP)
EVIDENCE = (Evidence("Ann lives in Ghent", "Ann", ("m1",), (), DAY),)


class Words:
    exact = True

    def count(self, text):
        return len(text.split())


def line(number, text, score=0.0):
    return ContextItem(f"m{number}", "message", text, (f"m{number}",), DAY, score)


CONTEXT = Context(
    (line(1, "one two three", 0.1), line(2, "four five", 0.3), line(3, "six seven eight", 0.2)),
    retrieved_ids=("m2", "m3", "m1"),
    evidence=EVIDENCE,
    decisions=(Decision("sufficiency", "q1", "sufficient", "rule"),),
)


def router(values, *, thresholds=None, feature_set="paper", embedder="hash-64"):
    """Predicts the given utilities, whatever it sees."""
    names = NAMES[feature_set]
    return Router(
        kind="ridge",
        feature_set=feature_set,
        features=names,
        embedder=embedder,
        budgets=(5,),
        layers=(Layer(weights=((0.0,) * len(names),) * 4, bias=values),),
        thresholds=thresholds or {},
        training=Training(fingerprint="f", rows=4, questions=1),
    )


async def packed(config, context=CONTEXT, script=lambda request: "a record", model=None):
    chat = ScriptedChat(script)
    tools = Tools(chat, HashEmbedder(), None, Words())
    shown, packing = await within_budget(context, QUESTION, config=config, router=model, tools=tools)
    return shown, packing, chat


async def test_without_a_budget_nothing_happens():
    shown, packing, chat = await packed(PackingConfig())
    assert shown is CONTEXT and packing is None and chat.requests == []


async def test_retention_under_a_budget_keeps_all_but_the_lines_and_says_what_was_offered():
    shown, packing, _ = await packed(PackingConfig(budget=5))
    assert shown.text == "four five\nsix seven eight"
    assert (shown.retrieved_ids, shown.evidence) == (CONTEXT.retrieved_ids, EVIDENCE)
    assert (packing.action, packing.flag, packing.tokens, packing.packed) == ("retain", "", 5, 2)
    assert (packing.candidates, packing.candidate_tokens, packing.fallbacks) == (3, 8, 0)
    assert packing.utilities == packing.features == ()


async def test_a_generated_record_and_a_fallback_are_recorded():
    shown, packing, _ = await packed(PackingConfig(budget=5, policy="merge"))
    assert shown.text == "a record" and shown.message_ids == {"m1", "m2", "m3"}
    assert packing.action == packing.policy == "merge"
    shown, packing, _ = await packed(PackingConfig(budget=5, policy="merge"), script=lambda request: None)
    assert shown.text == "four five\nsix seven eight" and packing.fallbacks == 1
    assert [decision.kind for decision in shown.decisions] == ["sufficiency", "pack_merge"]


@pytest.mark.parametrize(("feature_set", "names"), [("paper", PAPER), ("extended", EXTENDED)])
async def test_a_router_decides_and_what_it_saw_is_recorded(feature_set, names, tmp_path):
    file = tmp_path / "router.json"
    file.write_text(router((0.2, 0.3, 0.6, 0.1), feature_set=feature_set).model_dump_json())
    config = PackingConfig(budget=5, policy="router", router=file)
    shown, packing, _ = await packed(config, model=router_of(config, embedder="hash-64"))
    assert (packing.action, packing.policy) == ("abstract", "router")
    assert packing.utilities == (0.2, 0.3, 0.6, 0.1)
    assert packing.feature_names == names and len(packing.features) == len(names)
    assert dict(zip(names, packing.features, strict=True))["fit_fraction"] == 2 / 3
    assert shown.text == "a record"


@pytest.mark.parametrize(
    ("thresholds", "action", "reason"),
    [
        ({5: 0.3}, "abstract", ""),
        ({5: 0.5}, "retain", "advantage below the safe threshold"),
        ({5: None}, "retain", "advantage below the safe threshold"),
        ({64: 0.0}, "retain", "no threshold for a budget of 5"),
    ],
)
async def test_a_safe_router_replaces_only_above_its_threshold(thresholds, action, reason, tmp_path):
    config = PackingConfig(budget=5, policy="router-safe", router=tmp_path / "router.json")
    _, packing, _ = await packed(config, model=router((0.2, 0.3, 0.6, 0.1), thresholds=thresholds))
    assert (packing.action, packing.reason) == (action, reason)


async def test_nothing_found_and_no_budget_ask_no_router(tmp_path):
    config = PackingConfig(budget=0, policy="router", router=tmp_path / "router.json")
    shown, packing, chat = await packed(config, model=router((0, 1, 0, 0)))
    assert (packing.flag, packing.action, shown.items) == ("no_budget", "retain", ())
    config = PackingConfig(budget=5, policy="merge")
    shown, packing, chat = await packed(config, Context(()))
    assert (packing.flag, packing.candidates, chat.requests) == ("nothing_found", 0, [])


async def test_a_router_of_another_embedder_is_refused_before_any_question(tmp_path):
    file = tmp_path / "router.json"
    file.write_text(router((0, 1, 0, 0), embedder="other").model_dump_json())
    with pytest.raises(EmbedderMismatch):
        router_of(PackingConfig(budget=5, policy="router", router=file), embedder="hash-64")


def test_candidates_are_the_best_lines_in_reading_order():
    kept = candidates(CONTEXT, cap=6, tokens=Words())
    assert [item.item_id for item in kept] == ["m2", "m3"]


async def test_of_a_whole_history_the_end_that_the_method_keeps_is_kept():
    turns = tuple(Message("c", f"m{n}", n, 1, "Ann", f"thing {n}", DAY) for n in range(9))
    tools = Tools(None, HashEmbedder(), None, Words())
    for keep, kept in (("tail", ["m7", "m8"]), ("head", ["m0", "m1"])):
        method = FullContext(RunConfig(), tools, keep=keep)
        await method.ingest(Conversation("c", "sample", ("Ann",), turns))
        context = await method.context(QUESTION)
        cost = Words().count(context.items[0].text)
        shown, *_ = await packed(PackingConfig(budget=2 * cost), context)
        assert [item.item_id for item in shown.items] == kept


def test_unscored_lines_are_as_good_as_what_was_retrieved():
    plain = Context(tuple(line(n, "a b c d") for n in (1, 2, 9)), ("m2", "m9"))
    assert [item.item_id for item in candidates(plain, cap=8, tokens=Words())] == ["m2", "m9"]
