"""Mem0, 2025: facts per speaker, and the four operations that keep them true."""

import json
import re
from datetime import datetime

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import RunConfig
from memsif_ray.errors import ServiceBusy
from memsif_ray.methods.base import Tools
from memsif_ray.methods.mem0.batches import batches_of
from memsif_ray.methods.mem0.classic import Mem0
from memsif_ray.types import Category, Conversation, Message, Question

HOME = "Ann lives in Lille."
CAT = "Ann has a cat."
TEA = "Ann likes tea."


def talk(*lines, speakers=("Ann", "Bo"), per_session=4, roles=None):
    """A conversation of (speaker, text) lines, `per_session` a session, a session a week."""
    messages = tuple(
        Message(
            conversation_id="c",
            message_id=f"D{n}",
            position=n,
            session=1 + n // per_session,
            speaker=speaker,
            text=text,
            timestamp=datetime(2024, 5, 1 + 7 * (n // per_session)),
            role=(roles or {}).get(speaker, "user"),
        )
        for n, (speaker, text) in enumerate(lines)
    )
    return Conversation("c", "locomo", tuple(speakers), messages)


def mem0(script, **settings):
    chat = ScriptedChat(script)
    tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter())
    return Mem0(RunConfig(baselines={"mem0": {"summary_every": 0, **settings}}), tools), chat


def said(request):
    """What the newest messages of an extraction or a summary say."""
    return request.user.split("<window")[1]


def number_of(request, text):
    """The integer by which an update prompt calls a memory."""
    return int(re.search(rf"\[(\d+)\] {re.escape(text)}", request.user)[1])


def replies(facts, actions):
    """A script: `facts` by a word of the newest messages, `actions` by a word of the new facts."""

    def script(request):
        if request.stage == "summary":
            return json.dumps({"summary": "so far"})
        if request.stage == "extract":
            found = next((value for key, value in facts.items() if key in said(request)), [])
            return found if isinstance(found, str) else json.dumps({"facts": found})
        new = request.user.split("<facts>")[1]
        found = next((value for key, value in actions.items() if key in new), None)
        if found is None:
            added = re.findall(r"NEW: (.*)", new)
            found = [{"event": "ADD", "id": -1, "text": text} for text in added]
        return json.dumps({"actions": found(request) if callable(found) else found})

    return script


ONE_SIDE = {"Bo": "assistant"}
TWO_BATCHES = talk(("Ann", "first"), ("Bo", "yes"), ("Ann", "second"), ("Bo", "no"), roles=ONE_SIDE)


async def test_the_four_operations_address_memories_by_the_integers_on_offer():
    def second(request):
        return [
            {"event": "UPDATE", "id": number_of(request, HOME), "text": "Ann lives in old Lille."},
            {"event": "DELETE", "id": number_of(request, CAT), "text": ""},
            {"event": "ADD", "id": -1, "text": "Ann gave her cat away."},
            {"event": "NONE", "id": number_of(request, TEA), "text": ""},
        ]

    facts = {"first": [HOME, CAT, TEA], "second": ["Ann lives in old Lille and gave her cat away; tea."]}
    method, _ = mem0(replies(facts, {"old Lille": second}))
    await method.ingest(TWO_BATCHES)
    history = [(note.note_id, note.detail, note.text, note.active) for note in method.dump()["notes"]]
    assert history == [
        ("m0-0001", "ADD", HOME, True),
        ("m0-0002", "ADD", CAT, True),
        ("m0-0003", "ADD", TEA, True),
        ("m0-0001", "UPDATE", "Ann lives in old Lille.", True),
        ("m0-0002", "ADD", CAT, False),  # deleted: the last version of a note that is not active
        ("m0-0004", "ADD", "Ann gave her cat away.", True),
    ]
    assert [d.outcome for d in method.dump()["decisions"]] == [
        *("ADD", "ADD", "ADD"),
        *("UPDATE", "DELETE", "ADD", "NONE"),
    ]
    updated = method.dump()["notes"][3]
    assert updated.message_ids == ("D0", "D1", "D2", "D3")
    context = await method.context(question("Where does Ann live? A cat? Tea?"))
    assert sorted(item.text for item in context.items) == [
        "[1 May 2024] Ann: Ann gave her cat away.",
        "[1 May 2024] Ann: Ann likes tea.",
        "[1 May 2024] Ann: Ann lives in old Lille.",
    ]


@pytest.mark.parametrize(
    "action",
    [
        {"event": "UPDATE", "id": 7, "text": "Ann flies."},
        {"event": "UPDATE", "id": "0", "text": "Ann flies."},
        {"event": "UPDATE", "id": True, "text": "Ann flies."},
        {"event": "UPDATE", "id": 0, "text": " "},
        {"event": "DELETE", "id": -1, "text": ""},
        {"event": "ADD", "id": -1, "text": ""},
        {"event": "MERGE", "id": 0, "text": "Ann flies."},
        "DELETE 0",
    ],
    ids=str,
)
async def test_an_operation_on_nothing_that_was_offered_is_refused(action):
    method, _ = mem0(replies({"first": [HOME, CAT], "second": ["Ann flies."]}, {"flies": [action]}))
    await method.ingest(TWO_BATCHES)
    assert [note.text for note in method.dump()["notes"]] == [HOME, CAT]
    refused = method.dump()["decisions"][-1]
    assert (refused.kind, refused.subject_id, refused.outcome) == ("update", "Ann/D2", "refused")
    assert refused.decided_by == "rule" and refused.detail


async def test_a_memory_is_not_changed_after_its_deletion_in_the_same_reply():
    def twice(request):
        number = number_of(request, HOME)
        return [
            {"event": "DELETE", "id": number, "text": ""},
            {"event": "UPDATE", "id": number, "text": "Ann lives on."},
        ]

    method, _ = mem0(replies({"first": [HOME], "second": ["Ann moved."]}, {"moved": twice}))
    await method.ingest(TWO_BATCHES)
    assert [note.active for note in method.dump()["notes"]] == [True, False]
    assert [d.outcome for d in method.dump()["decisions"]] == ["ADD", "DELETE", "refused"]


async def test_each_fact_brings_its_nearest_memories_and_each_memory_is_offered_once():
    facts = {"first": [HOME, CAT, TEA], "second": ["Ann has a black cat.", "Ann has two cats: a cat."]}
    method, chat = mem0(replies(facts, {}), similar=1)
    await method.ingest(TWO_BATCHES)
    offered = re.findall(r"^\[\d+\] (.*)$", chat.requests[-1].user, re.M)
    assert offered == [CAT]


async def test_batches_end_with_their_session_and_see_what_was_said_before():
    messages = talk(*[("Ann", f"line {n}") for n in range(5)], per_session=3).messages
    batches = batches_of(messages, size=2, recent=2)
    shape = [([m.position for m in batch.messages], [m.position for m in batch.recent]) for batch in batches]
    assert shape == [([0, 1], []), ([2], [0, 1]), ([3, 4], [1, 2])]


async def test_the_summary_is_carried_on_and_shown_to_later_batches():
    def script(request):
        if request.stage == "summary":
            old = re.search(r"<summary>\n(.*?)\n?</summary>", request.user, re.S)[1]
            return json.dumps({"summary": f"{old}+{'first' if 'first' in said(request) else 'second'}"})
        return json.dumps({"facts": []})

    lines = [("Ann", "first"), ("Bo", "yes"), ("Ann", "second"), ("Bo", "no"), ("Ann", "third")]
    method, chat = mem0(script, summary_every=2)
    await method.ingest(talk(*lines, roles=ONE_SIDE))
    shown = [
        re.search(r"<summary>\n(.*?)\n?</summary>", request.user, re.S)[1]
        for request in chat.requests
        if request.stage == "extract"
    ]
    assert shown == ["", "+first", "+first+second"]


async def test_every_speaker_has_a_store_and_the_context_holds_all_of_them():
    def script(request):
        if request.stage == "extract":
            owner = re.search(r"facts about (\w+)", request.system)[1]
            return json.dumps({"facts": [f"{owner} likes tea."] if "tea?" in said(request) else []})
        return replies({}, {})(request)

    method, chat = mem0(script)
    await method.ingest(talk(("Ann", "tea?"), ("Bo", "tea!"), ("Cy", "yes."), speakers=("Ann", "Bo", "Cy")))
    context = await method.context(question("Who likes tea?"))
    assert sorted(item.text for item in context.items) == [
        f"[1 May 2024] {name}: {name} likes tea." for name in ("Ann", "Bo", "Cy")
    ]
    assert [request.stage for request in chat.requests[:6]] == ["extract"] * 6  # 3 speakers, 2 batches


async def test_an_assistant_owns_no_store_and_a_lone_speaker_owns_one():
    method, chat = mem0(replies({"hello": ["The user likes tea."]}, {}))
    lines = (("user", "hello"), ("assistant", "hello"))
    await method.ingest(talk(*lines, speakers=("user", "assistant"), roles={"assistant": "assistant"}))
    assert [note.tags for note in method.dump()["notes"]] == [("user",)]
    lone, _ = mem0(replies({"hello": [TEA]}, {}))
    await lone.ingest(talk(("Ann", "hello"), speakers=("Ann",)))
    assert [note.tags for note in lone.dump()["notes"]] == [("Ann",)]


async def test_an_unusable_reply_costs_its_batch_and_is_a_decision():
    facts = {"first": "no JSON", "second": [HOME]}
    method, chat = mem0(replies(facts, {}))
    await method.ingest(TWO_BATCHES)
    assert [note.text for note in method.dump()["notes"]] == [HOME]
    lost = method.dump()["decisions"][0]
    assert (lost.kind, lost.subject_id, lost.outcome, lost.decided_by) == (
        *("extract", "Ann/D0", "skipped", "fallback"),
    )
    assert "not_json" in lost.detail
    assert sum("first" in said(r) for r in chat.requests if r.stage == "extract") == 2  # asked twice


async def test_an_unusable_update_costs_its_batch():
    def script(request):
        if request.stage == "update" and CAT in request.user.split("<facts>")[1]:
            return "{}"
        return replies({"first": [CAT], "second": [HOME]}, {})(request)

    method, _ = mem0(script)
    await method.ingest(TWO_BATCHES)
    assert [note.text for note in method.dump()["notes"]] == [HOME]
    assert [d.outcome for d in method.dump()["decisions"]] == ["skipped", "ADD"]


async def test_a_service_that_fails_is_nobodys_decision():
    method, _ = mem0(lambda request: ServiceBusy("gone"))
    with pytest.raises(ServiceBusy):
        await method.ingest(TWO_BATCHES)


async def test_a_loaded_memory_gives_the_same_context_and_asks_nothing():
    method, _ = mem0(replies({"first": [HOME, CAT], "second": [TEA]}, {}))
    await method.ingest(TWO_BATCHES)
    again, chat = mem0(lambda request: AssertionError("no model call"))
    await again.load(TWO_BATCHES, method.dump())
    asked = question("Does Ann like tea?")
    assert await again.context(asked) == await method.context(asked)
    assert (await again.context(asked)).retrieved_ids[:2] == ("D2", "D3")
    assert again.dump() == method.dump() and chat.requests == []


async def test_nothing_said_is_nothing_stored():
    for lines in ((), (("Ann", " "), ("Bo", "\u200b"))):
        method, chat = mem0(lambda request: AssertionError("no model call"), summary_every=1)
        await method.ingest(talk(*lines))
        assert (await method.context(question("Anything?"))).items == ()
        assert chat.requests == []


def question(text):
    return Question("q", "c", 0, text, Category.SINGLE_HOP)
