import json

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.errors import ServiceBusy
from memsif_ray.memory.tools import Tools
from memsif_ray.probing.items import (
    BoundaryItem,
    ConsolidationItem,
    DistilItem,
    ExtractionItem,
    SufficiencyItem,
    SynthesisItem,
    TrajectoryItem,
    load_items,
)
from memsif_ray.probing.probe import probe_model
from memsif_ray.types import ChatRequest


def tools_with(script) -> Tools:
    return Tools(ScriptedChat(script), HashEmbedder(), RuleEntities(), EstimatingCounter())


async def measured(script) -> dict:
    profile = await probe_model("scripted", tools_with(script), progress=lambda decision: None)
    return {one.decision: one for one in profile.measured}


def oracle(request: ChatRequest) -> str:
    """Knows every item by its texts."""
    return json.dumps(_ANSWERS[request.stage](request.user))


def _item(decision, kind, user, text_of):
    """The item whose text is in the prompt; of several, the one with the longest text."""
    fitting = [item for item in load_items(decision, kind) if text_of(item) in user]
    return max(fitting, key=lambda item: len(text_of(item)))


def _boundary(user):
    item = _item("boundary", BoundaryItem, user, lambda i: f"NEW {i.message[0]}: {i.message[1]}")
    return {"continues": item.continues}


def _trajectory(user):
    item = _item("trajectory", TrajectoryItem, user, lambda i: i.segment.messages[0][1])
    yes = item.compatible
    return {"candidates": [{"id": "T1", "same_event": yes, "continues_task": yes, "consistent": True}]}


def _sufficiency(user):
    return {"sufficient": _item("sufficiency", SufficiencyItem, user, lambda i: i.question).sufficient}


def _consolidate(user):
    item = _item("consolidate", ConsolidationItem, user, lambda i: i.candidate.statement)
    return {
        "op": item.op,
        "targets": [] if item.op == "Add" else ["F1"],
        "statement": item.candidate.statement,
    }


def _extract(user):
    item = _item("extract", ExtractionItem, user, lambda i: i.messages[0][1])
    facts = []
    for fact in item.facts:
        number = next(n for n, (_, text) in enumerate(item.messages, 1) if all(w in text for w in fact.words))
        statement = f"{fact.subject}: {item.messages[number - 1][1]}"
        facts.append(
            {
                "subject": fact.subject,
                "type": fact.types[0],
                "attribute": "x",
                "statement": statement,
                "messages": [number],
            }
        )
    return {"facts": facts}


def _distil(user):
    item = _item("distil", DistilItem, user, lambda i: i.question)
    found = []
    for words in item.words:
        number, (speaker, text) = next(
            (n, said) for n, said in enumerate(item.messages, 1) if all(w in said[1] for w in words)
        )
        found.append({"statement": f"{speaker}: {text}", "subject": speaker, "notes": [number]})
    return {"evidence": found}


def _promote(user):
    item = _item("synthesise", SynthesisItem, user, lambda i: i.notes[0])
    return {"statement": f"{item.subject}: {' '.join(item.words)}"}


_ANSWERS = {
    "boundary": _boundary,
    "trajectory": _trajectory,
    "sufficiency": _sufficiency,
    "consolidate": _consolidate,
    "extract": _extract,
    "distil": _distil,
    "promote": _promote,
}


async def test_a_model_that_knows_everything_is_trusted_with_everything():
    found = await measured(oracle)
    assert {decision: one.model.score for decision, one in found.items()} == dict.fromkeys(found, 1.0)
    assert all(one.trusted for one in found.values()), found


async def test_a_model_that_always_agrees_is_not_trusted():
    found = await measured(
        lambda request: json.dumps(
            {"continues": True} if request.stage == "boundary" else {"sufficient": True}
        )
    )
    assert (found["boundary"].model.right, found["boundary"].model.total) == (10, 20)
    assert not any(one.trusted for one in found.values())


@pytest.mark.parametrize("said", [None, "", "yes!", '{"continues": "maybe"}'])
async def test_unreadable_replies_are_never_right(said):
    found = await measured(lambda request: said)
    assert all(one.model.right == 0 for one in found.values())


async def test_a_failing_service_is_no_measurement():
    with pytest.raises(ServiceBusy):
        await measured(lambda request: ServiceBusy("down"))
