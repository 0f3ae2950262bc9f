"""CoM: scores, stop rule and anchors of chains by hand."""

import numpy as np
import pytest

from memsif_ray.errors import ConfigError
from memsif_ray.methods.com import Settings, grow_chains
from tests.unit.methods.small_histories import history, method_of, question, tools_for

QUERY = np.array([1, 0], np.float32)
# Cosines to the query: d 0.96, a 0.8, b 0.8, c 0.6.
D, A, B, C = range(4)
POOL = np.array([[0.96, 0.28], [0.8, 0.6], [0.8, -0.6], [0.6, 0.8]], np.float32)
VECTORS = {"d": POOL[D], "a": POOL[A], "b": POOL[B], "c": POOL[C]}
TEXTS = {**VECTORS, "away": [-1, 0], "why?": QUERY}


class SumsUp:
    """Embeds turns by the table; several turns as one text by the sum of their vectors."""

    model_id = "sums"

    async def embed(self, texts):
        parts = [[part.rpartition(": ")[2] for part in text.split("\n\n")] for text in texts]
        found = np.array([np.sum([TEXTS[p] for p in several], axis=0) for several in parts], np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


async def chains(pool=POOL, **settings):
    names = ["d", "a", "b", "c"][: len(pool)]
    return await grow_chains(QUERY, pool, names, settings=Settings(**settings), embedder=SumsUp())


async def test_scores_are_relevance_times_coherence_with_the_chain_as_one_text():
    (chain,) = await chains(num_chains=1)
    # d: 0.96. a: 0.8 · (a·d = 0.936). c: 0.6 · cos(c, d + a = (1.76, 0.88)) = 0.6 · 0.894427.
    # b: 0.8 · cos(b, d + a + c = (2.36, 1.68)) = 0.8 · 0.303774 is less than half of c's score.
    assert [link.row for link in chain] == [D, A, C]
    assert np.allclose([link.score for link in chain], [0.96, 0.7488, 0.536656])


@pytest.mark.parametrize(("beta", "rows"), [(0.8, [D]), (0.75, [D, A]), (0.4, [D, A, C, B])])
async def test_a_chain_ends_below_beta_times_its_last_score(beta, rows):
    # Ratios of one score to the one before: 0.78, 0.7167, and 0.243 / 0.536656 = 0.453.
    assert [link.row for link in (await chains(beta=beta, num_chains=1))[0]] == rows


async def test_each_anchor_grows_a_chain_of_its_own_from_the_whole_pool():
    found = await chains(num_chains=2, beta=0.75)
    # a: 0.8. d: 0.96 · 0.936 = 0.89856. Then c: 0.536656 of 0.89856 is too little.
    assert [[link.row for link in chain] for chain in found] == [[D, A], [A, D]]
    assert np.allclose([link.score for link in found[1]], [0.8, 0.89856])


async def test_there_are_no_more_chains_than_turns():
    assert len(await chains(POOL[:2], num_chains=9)) == 2
    assert await chains(POOL[:0]) == []


async def com(**settings):
    method = method_of("com", tools_for(embedder=SumsUp()), baselines={"com": settings})
    await method.ingest(history(["c", "b", "away"], [" ", "a", "d"]))
    return method


async def test_the_context_is_in_the_order_of_the_chain_with_dates_speakers_and_scores():
    context = await (await com(num_chains=1)).context(question("why?"))
    assert [item.text for item in context.items] == [
        "[8 February 2024] Ann: d",
        "[8 February 2024] Bo: a",
        "[1 February 2024] Ann: c",
    ]
    assert [item.message_ids for item in context.items] == [("D2:3",), ("D2:2",), ("D1:1",)]
    assert np.allclose([item.score for item in context.items], [0.96, 0.7488, 0.536656])
    assert context.retrieved_ids == ("D2:3", "D2:2", "D1:1", "D1:2")  # then the rest of the pool


async def test_a_turn_of_two_chains_is_shown_twice_under_two_names():
    # b is the second anchor. Then d: 0.96 · 0.6 = 0.576, 0.72 of b's 0.8; a would follow in a larger pool.
    context = await (await com(num_chains=2, beta=0.72, pool=2)).context(question("why?"))
    assert [item.item_id for item in context.items] == ["D2:3", "D1:2+1", "D2:3+1"]
    assert context.retrieved_ids == ("D2:3", "D1:2")


async def test_what_points_away_from_the_question_starts_no_chain():
    # (-1) · cos(it, a chain that points to the question) would be the highest score of all.
    context = await (await com(num_chains=9, beta=0)).context(question("why?"))
    assert "D1:3" not in context.retrieved_ids


async def test_only_the_pool_is_searched():
    context = await (await com(pool=2, beta=0)).context(question("why?"))
    assert context.retrieved_ids == ("D2:3", "D1:2")  # of a and b, equally near, the earlier turn


async def test_the_budget_holds():
    method = method_of(
        "com",
        tools_for(embedder=SumsUp()),
        memory={"retrieval": {"context_tokens": 14}},
    )
    await method.ingest(history(["c", "b"], ["a", "d"]))
    assert [item.item_id for item in (await method.context(question("why?"))).items] == ["D2:2"]


async def test_a_loaded_memory_answers_alike_and_asks_no_model():
    method = await com()
    tools = tools_for(embedder=SumsUp())
    other = method_of("com", tools)
    await other.load(history(["c", "b", "away"], [" ", "a", "d"]), method.dump())
    assert await other.context(question("why?")) == await method.context(question("why?"))
    assert not tools.chat.requests


@pytest.mark.parametrize("sessions", [(), ([" ", "\u200b"],)])
async def test_of_nothing_said_there_is_no_context(sessions):
    method = method_of("com", tools_for())
    await method.ingest(history(*sessions))
    assert not (await method.context(question("why?"))).items


async def test_a_blank_question_has_no_context():
    assert not (await (await com()).context(question(" "))).items


def test_a_wrong_setting_is_named():
    with pytest.raises(ConfigError, match=r"baselines\.com: beta"):
        method_of("com", tools_for(), baselines={"com": {"beta": 2}})
