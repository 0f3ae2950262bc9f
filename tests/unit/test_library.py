import inspect
import threading

import pytest

from memsif_ray import Client, Memory
from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import ActiveFactConfig, MemoryConfig
from memsif_ray.errors import ConfigError, Conflict, DataError, NotFound, ServiceBusy
from memsif_ray.memory.tools import NO_MODEL, Tools
from memsif_ray.service.models import Bundle, OperationStatus

FAR_AWAY = {"add_batch", "audit", "health", "operations"}
"""Verbs of a client that need a service."""
EAGER = MemoryConfig(active=ActiveFactConfig(theta_source=0.0, theta_query=0.0, tau_compatible=-1.0))


def tools_of(script=lambda _: "Comet", embedder=None):
    chat = ScriptedChat(script)
    return Tools(chat, embedder or HashEmbedder(), RuleEntities(), EstimatingCounter(), NO_MODEL)


@pytest.fixture
def memory():
    with Memory(tools=tools_of()) as made:
        yield made


def public(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


def test_three_lines_are_enough(memory):
    memory.add("I adopted a greyhound called Comet yesterday.")
    reply = memory.answer("What is the dog called?")
    assert reply.answer == "Comet"
    assert any("greyhound" in one.text for one in reply.evidence)


def test_the_verbs_are_those_of_a_client():
    assert public(Memory) == public(Client) - FAR_AWAY
    for name in public(Memory) - {"close"}:
        ours = inspect.signature(getattr(Memory, name)).parameters.values()
        theirs = inspect.signature(inspect.unwrap(getattr(Client, name)._build)).parameters.values()
        assert [(p.name, p.kind, p.annotation) for p in ours if p.name != "self"] == [
            (
                p.name,
                p.kind,
                p.annotation.replace("Bundle", "models.Bundle").replace("Policy", "models.Policy"),
            )
            for p in theirs
        ], name


def test_messages_come_in_any_customary_form_and_known_ids_are_skipped(memory):
    turn = {"name": "Rens", "content": "I live in Ghent.", "timestamp": "2024-02-01", "id": "a"}
    assert memory.add([turn, "Comet sleeps."]).accepted == 2
    again = memory.add(turn)
    assert (again.status, again.accepted, again.duplicates) == (OperationStatus.DONE, 0, 1)
    texts = [one.text for one in memory.search("Where does Rens live?").results]
    assert "[1 February 2024] Rens: I live in Ghent." in texts
    assert [m.content for m in memory.messages(page_size=1)] == ["I live in Ghent.", "Comet sleeps."]


@pytest.mark.parametrize("wrong", ["", " \n", {"role": "user"}, {"content": 3}, {"content": "\u200b"}])
def test_a_message_that_says_nothing_is_refused_by_position(memory, wrong):
    with pytest.raises(DataError, match=r"messages\.1"):
        memory.add(["I live in Ghent.", wrong])
    assert list(memory.conversations()) == []


def test_odd_characters_disturb_neither_their_neighbours_nor_the_store(memory):
    odd = [
        "half high \ud83d end",
        "half low \udc4d end",
        "escaped pair \ud83c\udf78 ok",
        "nul\0inside",
        "\u202edetsurt si siht\u202c",
        "zero\u200bwidth\u2060word",
        "הכלב שלי Rex בן 3",
        "plain text",
    ]
    assert memory.add(odd).accepted == 8
    texts = [m.content for m in memory.messages()]
    assert texts[-1] == "plain text"
    assert texts[0] == "half high \ufffd end"
    assert texts[2] == "escaped pair \N{COCKTAIL GLASS} ok"
    assert texts[3] == "nulinside"
    assert "zero" in memory.search("zerowidthword").results[0].text


def test_not_learning_leaves_no_trace(memory):
    memory.add("I adopted a greyhound called Comet.")
    memory.answer("What is the dog called?", learn=False)
    assert list(memory.candidates()) == []
    memory.answer("What is the dog called?")
    assert len(list(memory.candidates())) == 1


def test_what_a_question_brought_about_is_a_memory():
    with Memory(tools=tools_of(), config=EAGER) as memory:
        memory.add("I adopted a greyhound called Comet.")
        (promoted,) = memory.answer("What is the dog called?").promoted
        assert memory.get(promoted).queries == ("What is the dog called?",)
        assert [one.id for one in memory.list(track="active")] == [promoted]


def test_a_request_may_name_a_token_budget(memory):
    memory.add([f"I adopted animal number {n}, a greyhound called Comet {n}." for n in range(8)])

    def tokens(reply):
        return EstimatingCounter().count("\n".join(one.text for one in reply.evidence))

    free = memory.answer("What is the greyhound called?", learn=False)
    capped = memory.answer("What is the greyhound called?", learn=False, max_tokens=40)
    assert 0 < tokens(capped) <= 40 < tokens(free)
    assert {one.id for one in capped.evidence} < {one.id for one in free.evidence}


def test_a_memory_is_corrected_replaced_taken_out_and_erased(memory):
    memory.add({"content": "I love oat milk.", "name": "Rens", "timestamp": "2024-02-01"})
    (fact,) = memory.list()
    corrected = memory.update(fact.id, "Rens loves soy milk.", if_version=fact.version)
    with pytest.raises(Conflict):
        memory.update(fact.id, "No.", if_version=fact.version)
    with pytest.raises(DataError):
        memory.update(fact.id)
    assert memory.delete(fact.id).status == "retracted" and list(memory.list()) == []
    assert memory.restore(fact.id).text == corrected.text
    new = memory.supersede(fact.id, "Rens loves tea.")
    assert [entry.op for entry in memory.history(new.id)] == ["Supersede"]
    assert {one.id for one in memory.list(status="all")} == {fact.id, new.id}
    (source,) = memory.provenance(fact.id).messages
    assert source.content == "I love oat milk."
    assert memory.erase(fact.id, dry_run=True).memories == memory.erase(fact.id).memories == 1
    with pytest.raises(NotFound):
        memory.get(fact.id)
    assert memory.usage().embedded_texts > 0


def test_conversations_do_not_meet(memory):
    memory.add("I love soup.", conversation_id="amy")
    memory.add("I love tea.", conversation_id="bob")
    assert [one.conversation_id for one in memory.conversations(page_size=1)] == ["amy", "bob"]
    assert "tea" not in repr(memory.search("love", conversation_id="amy"))
    assert memory.search("love").results == ()
    with pytest.raises(NotFound):
        memory.list().__next__()
    with pytest.raises(TypeError):
        memory.erase_conversation()
    memory.erase_conversation("amy")
    assert [one.conversation_id for one in memory.conversations()] == ["bob"]


def test_a_file_keeps_it_and_a_bundle_carries_it(tmp_path):
    path = tmp_path / "new folder" / "memory.db"
    with Memory(path=path, tools=tools_of()) as memory:
        memory.add("I love oat milk.")
        (fact,) = memory.list()
    with Memory(path=str(path), tools=tools_of()) as again:
        assert list(again.list()) == [fact]
        bundle = Bundle.model_validate_json(again.export().model_dump_json())
    with Memory(tools=tools_of()) as elsewhere:
        assert elsewhere.import_(bundle).accepted == 1
        assert elsewhere.get(fact.id) == fact


def test_what_is_erased_is_in_no_file(tmp_path):
    with Memory(path=tmp_path / "memory.db", tools=tools_of()) as memory:
        memory.add("My secret word is ptarmigan.")
        memory.answer("What is my secret word?")
        memory.erase_conversation("memory")
        assert b"ptarmigan" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*"))


def test_a_model_that_fails_is_told_and_its_messages_are_digested_with_the_next():
    class Failing(HashEmbedder):
        fails = True

        async def embed(self, texts):
            if self.fails:
                raise ServiceBusy("no embedder today")
            return await super().embed(texts)

    embedder = Failing()
    with Memory(tools=tools_of(embedder=embedder)) as memory:
        failed = memory.add("I love oat milk.")
        assert failed.status is OperationStatus.FAILED and "no embedder today" in failed.error
        with pytest.raises(ServiceBusy):
            memory.search("milk")
        embedder.fails = False
        memory.add("I live in Ghent.")
        assert any("oat milk" in one.text for one in memory.list())


def test_threads_may_share_it(memory):
    def tell(name):
        for n in range(5):
            memory.add({"content": f"{name} saw heron number {n}.", "id": f"{name}{n}"})

    threads = [threading.Thread(target=tell, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(m.id for m in memory.messages()) == [f"{name}{n}" for name in "abc" for n in range(5)]


def test_what_cannot_be_opened_is_refused_and_leaves_no_thread(tmp_path):
    for wrong in ({"path": tmp_path, "store": "sqlite://"}, {"store": "mysql://x"}, {"path": "what?.db"}):
        with pytest.raises(ConfigError):
            Memory(tools=tools_of(), **wrong)
    with pytest.raises(ConfigError):
        Memory(tools=tools_of(), router=tmp_path / "none.json")
    assert "memsif-memory" not in {thread.name for thread in threading.enumerate()}


def test_a_closed_one_says_so(memory):
    memory.close()
    memory.close()
    with pytest.raises(RuntimeError, match="closed"):
        memory.add("hello")
