"""CoM: scores, stop rule and lengths of chains by hand."""

import numpy as np
import pytest

from memsif_ray.errors import ConfigError
from memsif_ray.methods.com import Settings, grow_chains
from tests.unit.methods.small_histories import GivenEmbedder, history, method_of, question, tools_for

QUERY = np.array([1, 0], np.float32)
# Cosines to the query: d 0.96, a 0.8, b 0.8, c 0.6.
D, A, B, C = range(4)
POOL = np.array([[0.96, 0.28], [0.8, 0.6], [0.8, -0.6], [0.6, 0.8]], np.float32)
TEXTS = {"d": POOL[D], "a": POOL[A], "b": POOL[B], "c": POOL[C], "away": [-1, 0], "why?": QUERY}


def chains(**settings):
    return grow_chains(QUERY, POOL, Settings(**settings))


def test_scores_are_relevance_times_coherence_with_the_centroid():
    (chain,) = chains()
    # d: 0.96². a: 0.8 · (a·d = 0.936). c: 0.6 · cos(c, (d + a) / 2 = (0.88, 0.44)) = 0.6 · 0.894427.
    assert [link.row for link in chain] == [D, A, C]
    assert np.allclose([link.score for link in chain], [0.9216, 0.7488, 0.536656])


@pytest.mark.parametrize(("beta", "rows"), [(0.85, [D]), (0.8, [D, A]), (0.4, [D, A, C, B])])
def test_a_chain_ends_below_beta_times_its_last_score(beta, rows):
    # Ratios of one score to the one before: 0.8125, 0.7167, and 0.243 / 0.536656 = 0.453.
    assert [link.row for link in chains(beta=beta)[0]] == rows


def test_a_chain_ends_at_its_greatest_length_and_the_next_takes_what_is_left():
    found = chains(max_len=2, num_chains=3)
    # Second chain: b (0.64 against 0.36), then c scores 0.6 · (b·c = 0) and is left to the third.
    assert [[link.row for link in chain] for chain in found] == [[D, A], [B], [C]]


def test_chains_end_with_the_pool():
    assert len(chains(max_len=4, beta=0, num_chains=9)) == 1


async def com(**settings):
    method = method_of("com", tools_for(embedder=GivenEmbedder(TEXTS)), baselines={"com": settings})
    await method.ingest(history(["c", "b", "away"], [" ", "a", "d"]))
    return method


async def test_the_context_is_in_the_order_of_the_chain_with_dates_speakers_and_scores():
    context = await (await com()).context(question("why?"))
    assert [item.text for item in context.items] == [
        "[8 February 2024] Ann: d",
        "[8 February 2024] Bo: a",
        "[1 February 2024] Ann: c",
    ]
    assert [item.message_ids for item in context.items] == [("D2:3",), ("D2:2",), ("D1:1",)]
    assert np.allclose([item.score for item in context.items], [0.9216, 0.7488, 0.536656])
    assert context.retrieved_ids == ("D2:3", "D2:2", "D1:1", "D1:2")  # then the rest of the pool


async def test_what_points_away_from_the_question_starts_no_chain():
    # (-1)² would be the highest first score of all.
    context = await (await com(num_chains=9, beta=0)).context(question("why?"))
    assert "D1:3" not in context.retrieved_ids


async def test_only_the_pool_is_searched():
    context = await (await com(pool=2, beta=0)).context(question("why?"))
    assert context.retrieved_ids == ("D2:3", "D1:2")  # of a and b, equally near, the earlier turn


async def test_the_budget_holds():
    method = method_of(
        "com",
        tools_for(embedder=GivenEmbedder(TEXTS)),
        memory={"retrieval": {"context_tokens": 14}},
    )
    await method.ingest(history(["c", "b"], ["a", "d"]))
    assert [item.item_id for item in (await method.context(question("why?"))).items] == ["D2:2"]


async def test_a_loaded_memory_answers_alike_and_asks_no_model():
    method = await com()
    tools = tools_for(embedder=GivenEmbedder(TEXTS))
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
