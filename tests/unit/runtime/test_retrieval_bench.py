from dataclasses import replace
from datetime import datetime

import pytest

from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import RuleEntities, make_entities
from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.config import DataConfig, EmbedderConfig
from memsif_ray.datasets import Dataset, LoadReport, load
from memsif_ray.errors import ConfigError
from memsif_ray.runtime.retrieval_bench import as_markdown, retrieval_bench
from memsif_ray.types import Category, Conversation, Gold, Message, Question

TEXTS = (
    "The parrot is called Biscuit.",
    " ",
    "I repaired the ferry engine.",
    "Nothing new today.",
    "Biscuit the parrot learned to whistle.",
)


@pytest.fixture
def dataset():
    messages = tuple(
        Message("c1", f"D{i}:1", i, i + 1, "Rens", text, datetime(2024, 2, 1 + i))
        for i, text in enumerate(TEXTS)
    )
    asked = {
        "q0": ("Who repaired the ferry engine?", Category.SINGLE_HOP, ("D2:1",)),
        "q1": ("What do we know of the parrot Biscuit?", Category.MULTI_HOP, ("D0:1", "D4:1")),
        "q2": ("What is unknown?", Category.KNOWLEDGE, ()),
        "q3": ("Who flew to Oslo?", Category.ADVERSARIAL, ("D3:1",)),
    }
    return Dataset(
        name="sample",
        conversations=(Conversation("c1", "sample", ("Rens",), messages),),
        questions=tuple(
            Question(key, "c1", i, text, category)
            for i, (key, (text, category, _)) in enumerate(asked.items())
        ),
        gold={key: Gold(key, "answer", ids) for key, (_, _, ids) in asked.items()},
        strict_evidence={key: ids for key, (_, _, ids) in asked.items()},
        report=LoadReport("sample", "literal", "", None, {}, {}, ()),
    )


async def bench(dataset, budgets):
    return await retrieval_bench(
        dataset, embedder=HashEmbedder(256), entities=RuleEntities(), budgets=budgets
    )


async def test_only_answerable_questions_with_evidence_count(dataset):
    rows = await bench(dataset, (1000,))
    assert {(row.questions, row.nce_questions) for row in rows} == {(2, 1)}
    assert {row.ranking for row in rows} >= {"dense messages", "BM25 messages", "structural"}


async def test_a_budget_that_holds_everything_finds_everything_and_none_finds_nothing(dataset):
    for row in await bench(dataset, (0, 1000)):
        assert dict(row.recall) == dict(row.nce_recall) == {0: 0.0, 1000: 1.0}


async def test_the_best_message_is_packed_first(dataset):
    rows = {row.ranking: row for row in await bench(dataset, (17,))}  # room for one line
    assert rows["structural"].recall[17] == pytest.approx((1 + 0.5) / 2)


async def test_without_scattered_evidence_there_is_no_nce_column(dataset):
    alone = replace(dataset, questions=dataset.questions[:1])
    rows = await bench(alone, (1000,))
    assert rows[0].nce_recall == {1000: None}
    assert "–" in as_markdown(rows)


async def test_nothing_to_retrieve_is_refused(dataset):
    with pytest.raises(ConfigError, match="no question"):
        await bench(replace(dataset, questions=dataset.questions[2:]), (1000,))


async def test_tables_hold_every_ranking(dataset):
    rows = await bench(dataset, (100, 200))
    table = as_markdown(rows)
    assert table.splitlines()[0] == "| ranking | all@100 | all@200 | NCE@100 | NCE@200 | ms/question |"
    assert all(row.ranking in table for row in rows)


@pytest.mark.model
async def test_structure_beats_both_of_its_ingredients_on_locomo(data_dir):
    config = DataConfig(
        dataset="locomo",
        path=data_dir / "locomo" / "locomo10.json",
        conversations=("conv-30",),
        adversarial=False,
    )
    rows = await retrieval_bench(
        load(config), embedder=make_embedder(EmbedderConfig()), entities=make_entities("auto")
    )
    recall = {row.ranking: row.recall[1024] for row in rows}
    assert recall["structural"] > max(found for name, found in recall.items() if name != "structural")
