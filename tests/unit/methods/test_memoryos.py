"""MemoryOS: what overflows the queue is chained and filed by topic, and what is hot becomes a profile."""

import json
import math
import re
from datetime import datetime, timedelta

import numpy as np
import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import RunConfig
from memsif_ray.methods.base import Tools
from memsif_ray.methods.memoryos.method import MemoryOS
from memsif_ray.methods.memoryos.pages import Topic, pages_of, sides_of
from memsif_ray.methods.memoryos.sessions import MidTerm, Usage
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.types import Category, Conversation, Message, Note, Question

DAY = datetime(2024, 5, 1)


def talk(*lines, speakers=("Ann", "Bo"), session=lambda n: 1, role=lambda speaker: "user"):
    messages = tuple(
        Message("c", f"D{n}", n, session(n), speaker, text, DAY, role=role(speaker))
        for n, (speaker, text) in enumerate(lines)
    )
    return Conversation("c", "locomo", tuple(speakers), messages)


def exchanges(*texts):
    """One page per text: Ann says it, Bo agrees."""
    return talk(*(line for text in texts for line in (("Ann", text), ("Bo", "I see."))))


def page_text(request):
    """What Ann says on the page (or the first of the pages) that a prompt is about."""
    return re.search(r"<page[^>]*>\nAnn: (.*)", request.user)[1]


def script(**changed):
    """Every page is on its own, about its first word; replies of a stage may be replaced."""
    usual = {
        "continuity": lambda r: {"continues": False},
        "chain": lambda r: {"summary": f"About {page_text(r)}"},
        "topics": lambda r: {
            "topics": [{"summary": page_text(r), "keywords": [page_text(r).split()[0]]}],
        },
        "profile": lambda r: {"profile": "Ann is a gardener."},
        "knowledge": lambda r: {"user": [{"text": "Ann grows roses.", "page": 2}], "other": []},
    } | changed

    def reply(request):
        made = usual[request.stage](request)
        return made if isinstance(made, str) else json.dumps(made)

    return reply


def memoryos(reply, **settings):
    chat = ScriptedChat(reply)
    tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter())
    return MemoryOS(RunConfig(baselines={"memoryos": settings}), tools), chat


async def built(conversation, reply, **settings):
    method, chat = memoryos(reply, **settings)
    await method.ingest(conversation)
    return method, chat


def current(method, kind):
    """The active notes of a kind in their last version."""
    notes = {note.note_id: note for note in method.dump()["notes"]}
    return [note for note in notes.values() if note.kind == kind and note.active]


def question(text="What about roses?", asked_at=None):
    return Question("q1", "c", 0, text, Category.SINGLE_HOP, asked_at)


def vector(*components):
    """Unit vector that starts with `components`; the last axis takes the rest."""
    rest = math.sqrt(max(0.0, 1 - sum(c * c for c in components)))
    return np.array([*components, rest], np.float32)


# Pages


def shape(conversation):
    return [[m.message_id for m in page.messages] for page in pages_of(conversation)]


def test_a_page_is_what_the_user_side_says_and_what_is_answered():
    lines = (("Bo", "Hi."), ("Ann", "Hi."), ("Bo", "So?"), ("Bo", "Well?"), ("Ann", " "), ("Ann", "Ah."))
    assert shape(talk(*lines)) == [["D0"], ["D1", "D2", "D3"], ["D5"]]
    assert shape(talk(*lines, session=lambda n: 1 + n // 3)) == [["D0"], ["D1", "D2"], ["D3"], ["D5"]]
    assert pages_of(talk(*lines))[1].note.text == "Ann: Hi.\nBo: So?\nBo: Well?"


def test_the_sides_of_an_assistant_of_one_of_two_and_of_many_speakers():
    def sides(*speakers, role=lambda speaker: "user"):
        return sides_of(talk(*((name, "x") for name in speakers), speakers=speakers, role=role))[1:]

    assert sides("assistant", "user", role=str) == ("user", "assistant")
    assert sides("Ann") == ("Ann", "assistant")
    assert sides("Ann", "Bo") == ("Ann", "Bo")
    assert sides("Ann", "Bo", "Cy") == ("Ann", "Bo and Cy")


# Short-term queue and chains


async def test_what_overflows_the_queue_is_filed_oldest_first():
    method, chat = await built(
        exchanges("tea one", "oil two", "fog three", "ice four"), script(), short_term=2
    )
    assert [note.text.split("\n")[0] for note in current(method, "recent")] == [
        "Ann: fog three",
        "Ann: ice four",
    ]
    assert [note.note_id for note in current(method, "page")] == ["page_0000", "page_0001"]
    assert [page_text(r) for r in chat.requests if r.stage == "topics"] == ["tea one", "oil two"]
    assert [r.stage for r in chat.requests].count("continuity") == 1  # the first page has none before it


async def test_a_page_that_continues_points_to_the_one_before_and_shares_its_chain():
    reply = script(continuity=lambda r: {"continues": "more" in page_text(r)})
    texts = ("tea", "more tea", "oil", "more oil", "last")
    method, chat = await built(exchanges(*texts), reply, short_term=1)
    assert [note.links for note in current(method, "page")] == [(), ("page_0000",), (), ("page_0002",)]
    chains = {note.links: note.text for note in current(method, "chain")}
    assert chains == {
        ("page_0000", "page_0001"): "About more tea",
        ("page_0002", "page_0003"): "About more oil",
    }
    carried = [r.user for r in chat.requests if r.stage == "chain" and page_text(r) == "more oil"]
    assert "<summary>\nAbout oil\n</summary>" in carried[0]


# Mid-term sessions


async def mid_term(*, capacity=9, **sessions):
    """Sessions by name, each opened with (cosine to the first axis, keywords), and the book they are in."""

    class Placed:
        model_id = "placed"

        async def embed(self, texts):
            return np.stack([vector(sessions.get(text, (0.0,))[0]) for text in texts])

    book = NoteBook(Placed())
    mid = MidTerm(book, capacity=capacity, threshold=0.6)
    for name, (cosine, keywords) in sessions.items():
        await mid.insert(f"page of {name}", Topic(name, frozenset(keywords)), -vector(cosine), DAY)
    return mid, book


@pytest.mark.parametrize(
    ("cosine", "keywords", "joins"),
    [
        (0.6, (), True),
        (0.59, (), False),
        (0.36, ("tea", "cup", "pot"), True),  # 1 of 4 words shared: 0.36 + 0.25
        (0.34, ("tea", "cup", "pot"), False),
        (0.0, ("tea", "milk"), True),  # the same words: 0 + 1
    ],
)
async def test_a_page_joins_where_cosine_and_jaccard_reach_six_tenths(cosine, keywords, joins):
    mid, book = await mid_term(tea=(cosine, ("tea", "milk")))
    session, score = await mid.insert("new", Topic("query", frozenset(keywords)), vector(1.0), DAY)
    shared = {(): 0, ("tea", "cup", "pot"): 1 / 4, ("tea", "milk"): 1}[keywords]
    assert score == (pytest.approx(cosine + shared, abs=1e-6) if joins else None)
    assert session == ("session_0000" if joins else "session_0001")
    assert book["session_0000"].links == (("page of tea", "new") if joins else ("page of tea",))


async def test_a_page_joins_the_best_session_and_counts_there_once():
    mid, book = await mid_term(far=(0.7, ()), near=(0.9, ()))
    for _ in range(2):
        assert await mid.insert("new", Topic("query", frozenset()), vector(1.0), DAY) == (
            "session_0001",
            pytest.approx(0.9, abs=1e-6),
        )
    usage = Usage.of(book["session_0001"])
    assert (usage.pages, book["session_0001"].links) == (2, ("page of near", "new"))
    assert book["session_0001"].text == "near"


async def test_the_least_used_session_leaves_a_full_memory():
    mid, book = await mid_term(capacity=2, one=(0.1, ("a",)), two=(0.2, ("b",)))
    await mid.visit(["page of one"], DAY)
    await mid.insert("page of three", Topic("three", frozenset("c")), -vector(1.0), DAY)
    assert [note.text for note in book.of_kind("session")] == ["one", "three"]
    assert [(note.text, note.active) for note in book.log][-1] == ("two", False)


def test_heat_is_visits_and_pages_and_recency():
    usage = Usage(DAY, visits=2, pages=1)
    assert usage.heat(DAY) == 4
    assert usage.heat(DAY + timedelta(hours=24)) == pytest.approx(3 + math.exp(-1))
    assert usage.heat(DAY - timedelta(hours=9)) == 4  # never hotter than fresh
    assert Usage.of(Note("s", "session", "", detail=usage.detail)) == usage


# Long-term memory


ONE_TOPIC = {"topics": lambda r: {"topics": [{"summary": "roses", "keywords": ["roses"]}]}}


def roses(count):
    return exchanges(*(f"roses {n}" for n in range(count)))


async def test_a_session_is_analysed_at_a_heat_of_five_and_starts_anew():
    three, chat = await built(roses(4), script(**ONE_TOPIC), short_term=1)  # three pages filed: 3 + 1
    assert current(three, "profile") == [] and "profile" not in {r.stage for r in chat.requests}
    four, chat = await built(roses(5), script(**ONE_TOPIC), short_term=1)  # four pages filed: 4 + 1
    (profile,), (known,), (session,) = (
        current(four, kind) for kind in ("profile", "user_knowledge", "session")
    )
    assert profile.text == "Ann is a gardener."
    assert (known.text, known.message_ids) == ("Ann grows roses.", ("D2", "D3"))  # its second page
    assert Usage.of(session) == Usage(DAY, visits=0, pages=0, uses=4, analysed=4)
    (hot,) = [d for d in four.dump()["decisions"] if d.kind == "analysis"]
    assert (hot.subject_id, hot.score) == ("session_0000", 5.0)
    assert {r.stage for r in chat.requests[-2:]} == {"profile", "knowledge"}


async def test_a_second_analysis_reads_only_new_pages_and_rewrites_the_profile():
    reply = script(**ONE_TOPIC, profile=lambda r: {"profile": "Old." if "roses 0" in r.user else "New."})
    method, chat = await built(roses(9), reply, short_term=1)
    first, second = [r for r in chat.requests if r.stage == "profile"]
    assert "roses 0" in first.user and "roses 4" not in first.user
    assert "<profile>\nOld.\n</profile>" in second.user
    assert "roses 3" not in second.user and "roses 7" in second.user
    versions = [note.text for note in method.dump()["notes"] if note.kind == "profile"]
    assert versions == ["Old.", "New."]


async def test_knowledge_is_a_queue_per_side():
    def knowledge(request):
        found = [{"text": f"Fact {n} of {page_text(request)}.", "page": 99} for n in range(2)]
        return {"user": found, "other": [{"text": "Bo sees.", "page": 1}, {"text": "", "page": 1}, "no"]}

    method, _ = await built(roses(9), script(**ONE_TOPIC, knowledge=knowledge), short_term=1, knowledge=3)
    assert [note.text for note in current(method, "user_knowledge")] == [
        "Fact 1 of roses 0.",
        "Fact 0 of roses 4.",
        "Fact 1 of roses 4.",
    ]
    assert [note.text for note in current(method, "other_knowledge")] == ["Bo sees.", "Bo sees."]
    # A page that does not exist is cited: the one that shares most words stands in.
    assert current(method, "user_knowledge")[1].message_ids == ("D8", "D9")


# Questions


async def test_a_question_visits_the_sessions_it_used_and_may_make_one_hot():
    method, chat = await built(roses(4), script(**ONE_TOPIC), short_term=1)  # heat 4
    before = method.dump()
    context = await method.context(question())
    assert method.dump() == before
    chat.requests.clear()
    await method.learn(question(), context)
    after = method.dump()
    assert after["notes"][: len(before["notes"])] == before["notes"]
    visited = after["notes"][len(before["notes"])]
    assert (visited.kind, Usage.of(visited).visits, Usage.of(visited).heat(DAY)) == ("session", 1, 5.0)
    assert {r.stage for r in chat.requests} == {"profile", "knowledge"}
    assert {r.scope.question_id for r in chat.requests} == {"q1"}
    assert Usage.of(current(method, "session")[0]).visits == 0


async def test_a_visit_long_after_is_no_recent_one_until_it_is_counted():
    method, chat = await built(roses(2), script(**ONE_TOPIC), short_term=1)
    later = question(asked_at=DAY + timedelta(days=30))
    await method.learn(later, await method.context(later))
    assert Usage.of(current(method, "session")[0]) == Usage(DAY + timedelta(days=30), 1, 1, 2)


async def test_the_context_holds_every_kind_of_memory_best_lines_first_to_fit():
    method, _ = await built(roses(6), script(**ONE_TOPIC), short_term=1)
    context = await method.context(question("roses 1 Ann grows"))
    assert {item.kind for item in context.items} == {"profile", "page", "chain", "recent", "user_knowledge"}
    lines = {item.text for item in context.items}
    assert {
        "[1 May 2024] Profile of Ann: Ann is a gardener.",
        "[1 May 2024] Ann: roses 1",
        "[1 May 2024] Summary: About roses 1",
        "[1 May 2024] Ann: Ann grows roses.",
        "[1 May 2024] Ann: roses 5",
    } <= lines
    assert context.retrieved_ids[:2] == ("D2", "D3")
    assert set(context.retrieved_ids) == {f"D{n}" for n in range(10)}
    assert all(item.message_ids for item in context.items if item.kind not in ("profile", "chain"))


async def test_only_the_best_pages_of_the_best_sessions_are_retrieved():
    conversation = exchanges("tea one", "oil two", "fog three", "last")
    method, _ = await built(conversation, script(), short_term=1, top_sessions=1, top_pages=1)
    assert (await method.context(question("oil two?"))).retrieved_ids == ("D2", "D3")


# Replies that cannot be used


@pytest.mark.parametrize("stage", ["continuity", "chain", "topics", "profile", "knowledge"])
async def test_an_unusable_reply_costs_only_what_it_would_have_said(stage):
    broken = {**ONE_TOPIC, stage: lambda r: "no JSON"}
    method, _ = await built(roses(5), script(**broken), short_term=1)
    lost = [d for d in method.dump()["decisions"] if d.decided_by == "fallback"]
    assert lost and all("not_json" in d.detail for d in lost)
    assert len(current(method, "page")) == 4
    retrieved = (await method.context(question("roses 2"))).retrieved_ids
    assert {"D4", "D5"} <= set(retrieved)


async def test_a_page_without_topics_is_filed_under_its_own_text():
    empty = script(topics=lambda r: {"topics": [{"summary": " ", "keywords": []}, "roses"]})
    method, _ = await built(roses(2), empty, short_term=1)
    assert [note.text for note in current(method, "session")] == ["Ann: roses 0\nBo: I see."]
    (decision,) = [d for d in method.dump()["decisions"] if d.kind == "topics"]
    assert (decision.outcome, decision.detail) == ("own text", "no topic")


# Storing


async def test_a_loaded_memory_answers_and_learns_alike_and_asks_nothing_before():
    method, _ = await built(roses(8), script(**ONE_TOPIC), short_term=1)
    again, chat = memoryos(script(), short_term=1)
    await again.load(roses(8), method.dump())
    assert again.dump() == method.dump() and chat.requests == []
    context = await method.context(question())
    assert await again.context(question()) == context
    for memory in (method, again):
        await memory.learn(question(), context)
        await memory.learn(question(), context)
    assert again.dump() == method.dump()
    assert chat.requests != []  # 3 new pages and the visits made it hot: the same calls as in the first


@pytest.mark.parametrize("lines", [(), (("Ann", " "), ("Bo", "\u200b"))])
async def test_nothing_said_is_nothing_stored(lines):
    method, chat = await built(talk(*lines), script())
    context = await method.context(question())
    await method.learn(question(), context)
    assert context.items == () and chat.requests == []
    assert method.dump() == {"notes": [], "decisions": []}
