import polars as pl
import pytest

from memsif_ray import Memory
from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import PackingConfig
from memsif_ray.errors import DataError
from memsif_ray.memory.tools import NO_MODEL, Tools
from memsif_ray.storage.memories import encode_memory
from memsif_ray.storage.tables import write_table


@pytest.fixture
def memory():
    tools = Tools(
        ScriptedChat(lambda _: "Comet"), HashEmbedder(), RuleEntities(), EstimatingCounter(), NO_MODEL
    )
    with Memory(tools=tools) as made:
        yield made


def test_three_lines_are_enough(memory):
    memory.add("I adopted a greyhound called Comet.")
    reply = memory.answer("What is the dog called?")
    assert reply.text == "Comet"
    assert "greyhound" in reply.context.text


def test_messages_come_in_any_customary_form_and_known_ids_are_skipped(memory):
    turn = {
        "role": "user",
        "name": "Rens",
        "content": "I live in Ghent.",
        "timestamp": "2024-02-01",
        "id": "a",
    }
    assert memory.add([turn, "Comet sleeps."]) == 2
    assert memory.add(turn) == 0
    assert "[1 February 2024] Rens: I live in Ghent." in memory.search("Where does Rens live?").text


@pytest.mark.parametrize("wrong", ["", " \n", {"role": "user"}, {"content": 3}, {"content": "\u200b"}])
def test_a_message_that_says_nothing_is_refused_by_position(memory, wrong):
    with pytest.raises(DataError, match="message 0"):
        memory.add(wrong)


def test_odd_characters_disturb_neither_their_neighbours_nor_parquet(memory, tmp_path):
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
    assert memory.add(odd) == 8
    memory._run(memory._memory.flush())
    (table,) = encode_memory(memory._memory.dump(), method="memsif", conversation_id="c1", run=None)[
        "messages"
    ]
    write_table(tmp_path / "messages.parquet", table)
    texts = pl.read_parquet(tmp_path / "messages.parquet")["text"].to_list()
    assert [t.encode() for t in texts][-1] == b"plain text"
    assert texts[0] == "half high \ufffd end"
    assert texts[2] == "escaped pair \N{COCKTAIL GLASS} ok"
    assert texts[3] == "nulinside"
    assert "zero" in memory.search("zerowidthword").text


def test_not_learning_leaves_no_trace(memory):
    memory.add("I adopted a greyhound called Comet.")
    memory.answer("What is the dog called?", learn=False)
    assert memory._memory.dump()["clusters"] == []
    memory.answer("What is the dog called?")
    assert len(memory._memory.dump()["clusters"]) == 1


def test_a_request_may_name_a_token_budget(memory):
    memory.add([f"I adopted animal number {n}, a greyhound called Comet {n}." for n in range(8)])
    free = memory.answer("What is the greyhound called?", learn=False)
    capped = memory.answer("What is the greyhound called?", learn=False, packing=PackingConfig(budget=40))
    assert free.packing is None and EstimatingCounter().count(free.context.text) > 40
    assert 0 < EstimatingCounter().count(capped.context.text) == capped.packing.tokens <= 40
    assert set(capped.context.items) < set(free.context.items)
