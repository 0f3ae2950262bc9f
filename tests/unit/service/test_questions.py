"""Reads: whole snapshots that never go back, and never wait (MC-25); search, answers, learning."""

import asyncio
import re

import pytest

from memsif_ray.clients.scripted import reasonable
from memsif_ray.config import ActiveFactConfig, MemoryConfig
from memsif_ray.errors import NotFound
from memsif_ray.memory.tools import CAPABLE
from memsif_ray.service.backend import Paging
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.models import AnswerRequest, SearchRequest
from memsif_ray.service.settings import ServiceConfig
from tests.unit.service.memory_store import InMemoryStore
from tests.unit.service.serving import ME, said, tools_of

ALL = Paging(limit=1000)
EAGER = MemoryConfig(active=ActiveFactConfig(theta_source=0.0, theta_query=0.0, tau_compatible=-1.0))


def ask(query, **more):
    return SearchRequest(conversation_id="c1", query=query, **more)


def question(text, **more):
    return AnswerRequest(conversation_id="c1", question=text, **more)


async def filled(service, **config):
    one = service(**config)
    await one.ingest(
        ME,
        said(
            {"id": "a", "content": "I love oat milk.", "timestamp": "2024-02-01T09:00:00", "name": "Rens"},
            {"id": "b", "content": "I live in Ghent.", "timestamp": "2024-04-01T09:00:00", "name": "Rens"},
            {"id": "c", "content": "Comet hates rain.", "timestamp": "2024-05-01T09:00:00", "name": "Uma"},
            wait=True,
        ),
    )
    return one


async def test_queries_between_writes_see_one_whole_state_that_never_goes_back(service):
    one = service()
    seen = {client: [] for client in range(3)}

    async def write():
        for number in range(1, 31):
            text = f"I love soup number {number}."
            await one.ingest(ME, said({"id": f"m{number}", "content": text}, wait=number % 3 == 0))

    async def read(client):
        while not writing.done():
            found = await one.search(ME, ask("soup number", top_k=200))
            said_so = {
                int(re.search(r"number (\d+)", f.text)[1]) for f in found.results if f.type == "message"
            }
            told = {int(re.search(r"number (\d+)", f.text)[1]) for f in found.results if f.type == "core"}
            assert said_so == set(range(1, max(said_so, default=0) + 1))
            assert told == said_so
            seen[client].append(max(said_so, default=0))
            await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    await asyncio.gather(writing, *(read(client) for client in seen))
    assert all(values == sorted(values) for values in seen.values())
    assert len({value for values in seen.values() for value in values}) > 3  # they did interleave
    await one.ingest(ME, said("The end.", wait=True))
    memories = (await one.memories(ME, "c1", ALL, status="all")).results
    assert "soup number 30" in memories[-1].text


async def test_a_slow_answer_blocks_neither_writes_nor_searches(service):
    gate = asyncio.Event()

    class Slow:
        async def complete(self, request):
            if request.stage == "answer":
                await gate.wait()
            return await self.inner.complete(request)

    one = await filled(service)
    slow = Slow()
    slow.inner, wrapped = one._tools.chat, one._tools
    object.__setattr__(wrapped, "chat", slow)
    answering = asyncio.create_task(one.answer(ME, question("Where does Rens live?")))
    await asyncio.sleep(0.01)
    await one.ingest(ME, said("I love tea.", wait=True))
    assert any("tea" in f.text for f in (await one.search(ME, ask("tea"))).results)
    assert not answering.done()
    gate.set()
    assert all("tea" not in e.text for e in (await answering).evidence)  # it saw the moment it was asked at


async def test_search_finds_facts_and_messages_with_their_scores_and_sources(service):
    one = await filled(service)
    found = await one.search(ME, ask("oat milk", include={"provenance", "trace"}))
    best = {f.type: f for f in reversed(found.results)}
    assert best["core"].message_ids == ("a",) and best["core"].id.startswith("mem_")
    assert best["message"].id == "a" and "lexical" in best["message"].score_parts
    assert best["core"].provenance[0].content == "I love oat milk."
    assert [f.score for f in found.results] == sorted((f.score for f in found.results), reverse=True)
    assert (await one.search(ME, ask("oat milk", types=["core"]))).results[0].type == "core"
    assert {f.type for f in (await one.search(ME, ask("oat", types=["message"]))).results} == {"message"}
    assert (await one.search(ME, ask("oat", types=["Preference"]))).results[0].id == best["core"].id
    assert (await one.search(ME, ask("oat", types=["Relation"]))).results == ()
    past = await one.search(ME, ask("Ghent", as_of="2024-03-01T00:00:00Z"))
    assert past.results and all("Ghent" not in f.text for f in past.results)
    assert found.usage.embedded_texts == 1 and found.usage.model_calls == 0


async def test_a_search_can_be_confined_to_messages_by_their_metadata(service):
    one = service()
    texts = {"a": "I love oat milk.", "b": "I love soy milk.", "c": "I love goat milk."}
    told = {"a": {"app": "x", "draft": True}, "b": {"app": "y", "draft": 1}, "c": {}}
    await one.ingest(
        ME, said(*({"id": i, "content": t, "metadata": told[i]} for i, t in texts.items()), wait=True)
    )

    async def found(**filters):
        results = (await one.search(ME, ask("milk", filters=filters))).results
        assert {"core", "message"} <= {f.type for f in results} or not results
        return {i for f in results for i in f.message_ids}

    assert await found() == {"a", "b", "c"}
    assert await found(app="x") == {"a"} and await found(app="x", draft=True) == {"a"}
    assert await found(draft=1) == {"b"}  # in JSON true is not 1
    assert await found(app="x", draft=1) == await found(other=None) == set()


async def test_search_within_tokens_keeps_to_them_and_says_what_it_did(service):
    one = await filled(service)
    found = await one.search(ME, ask("oat milk", max_tokens=20, consolidation="auto", include={"trace"}))
    assert found.results
    assert one._tools.tokens.count("\n".join(f.text for f in found.results)) <= 20
    (packing,) = [t for t in found.trace if t["kind"] == "packing"]
    assert (packing["action"], packing["reason"]) == ("retain", "no router is configured")
    merged = await one.search(ME, ask("oat milk", max_tokens=40, consolidation="merge"))
    assert [f.type for f in merged.results] == ["merge"] and merged.usage.model_calls == 1


async def test_an_unknown_conversation_has_no_results_and_no_answer(service):
    one = service()
    assert (await one.search(ME, ask("anything"))).results == ()
    with pytest.raises(NotFound):
        await one.answer(ME, question("Anything?"))


async def test_an_answer_tells_its_evidence_and_learns_for_good(service):
    one = await filled(service, script=reasonable, memory=EAGER)
    promoted = []
    for text in ("What does Rens drink at work?", "Where did Rens grow up?"):
        told = await one.answer(ME, question(text))
        assert told.answer and told.evidence and told.usage.model_calls
        promoted += told.promoted
    (memory, *_) = [await one.memory(ME, m) for m in promoted]
    assert memory.track == "active" and memory.queries
    (candidate, *_) = (await one.candidates(ME, "c1", ALL)).results
    assert candidate.promoted == promoted[0] and candidate.theta_source == 0.0
    again = service(script=reasonable, memory=EAGER)
    assert await again.memory(ME, promoted[0]) == await one.memory(ME, promoted[0])
    assert (await again.candidates(ME, "c1", ALL)).results[0] == candidate


async def test_without_learn_nothing_is_written(service, store):
    one = await filled(service, script=reasonable, memory=EAGER)
    row = await store.conversation("acme", "c1")
    await one.answer(ME, question("What does Rens drink at work?", learn=False))
    assert (await store.conversation("acme", "c1")).revision == row.revision
    assert (await one.candidates(ME, "c1", ALL)).results == ()


async def test_usage_is_counted_and_no_text_is_kept(service):
    one = await filled(service, script=reasonable, capabilities=CAPABLE)
    before = await one.usage(ME)
    await one.answer(ME, question("Where does Rens live?", learn=False))
    after = await one.usage(ME)
    assert after.requests == before.requests + 1
    assert after.model_calls > before.model_calls and after.prompt_tokens > before.prompt_tokens
    assert (await one.load()).usage.model_calls == after.model_calls
    log = (await one.audit(ME, ALL)).results
    assert [e.action for e in log] == ["ingest"] and "oat" not in repr(log)


async def test_pages_cover_a_list_once(service):
    one = await filled(service)
    seen, cursor = [], None
    while True:
        part = await one.messages(ME, "c1", Paging(limit=2, cursor=cursor))
        seen += [m.id for m in part.results]
        cursor = part.next_cursor
        if cursor is None:
            break
    assert seen == ["a", "b", "c"]


async def test_candidates_are_those_that_are_stored(clock):
    class Slow(InMemoryStore):
        held, saving, gate = False, asyncio.Event(), asyncio.Event()

        async def save(self, *args, **more):
            if self.held:
                self.saving.set()
                await self.gate.wait()
            return await super().save(*args, **more)

    store = Slow(clock)
    one = Conversations(store, tools_of(), ServiceConfig(prompt_facts=False), clock)
    await one.ingest(ME, said("I adopted a greyhound called Comet.", wait=True))
    store.held = True
    asking = asyncio.create_task(one.answer(ME, question("What is the greyhound called?")))
    await asyncio.wait(
        {asking, asyncio.create_task(store.saving.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    assert not asking.done()
    assert (await one.candidates(ME, "c1", ALL)).results == ()
    store.gate.set()
    await asking
    assert (await one.candidates(ME, "c1", ALL)).results
