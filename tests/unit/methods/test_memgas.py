"""MemGAS: entropy routing, mixture edges and PageRank by hand; nodes and filter on small histories."""

import json
import re

import numpy as np
import pytest

from memsif_ray.methods.memgas.graph import edges_between, granularity_weights, joined, pagerank, seeds
from tests.unit.methods.small_histories import history, method_of, question, tools_for

SESSIONS = (
    ["The red kite flew high.", "What a kite!"],
    ["My zebra Otto eats apples.", " ", "Otto sleeps a lot."],
    ["Taxes are due in May.", "So many forms."],
    ["We hiked to the lake.", "The lake was cold."],
    ["I bake bread on Sundays.", "Bread with seeds."],
    ["Otto the zebra is ill.", "Poor zebra Otto."],
    ["The violin needs strings.", "New strings cost much."],
)
ASKED = question("What does the zebra Otto eat?")


def columns(*probabilities):
    """Similarities whose softmax at temperature 1 gives these columns."""
    return np.log(np.array(probabilities)).T


UNSURE, SURER, SURE = [0.25] * 4, [0.5, 0.25, 0.125, 0.125], [0.97, 0.01, 0.01, 0.01]
# Entropies in nats: ln 4 = 1.386294, 1.75 ln 2 = 1.213008, and 0.167702.


def test_as_coded_the_less_certain_granularity_weighs_more_when_all_exceed_one_nat():
    weights = granularity_weights(columns(UNSURE, SURER), temperature=1, normalised=False)
    assert np.allclose(weights, [0.386294 / 0.599302, 0.213008 / 0.599302], atol=1e-5)
    assert weights[0] > weights[1]


def test_as_coded_a_mixed_case_gives_a_negative_weight():
    weights = granularity_weights(columns(UNSURE, SURE), temperature=1, normalised=False)
    # (1 - 1.386294, 1 - 0.167702) / 0.446004
    assert np.allclose(weights, [-0.866122, 1.866122], atol=1e-4)


def test_normalised_the_more_certain_granularity_weighs_more():
    weights = granularity_weights(columns(UNSURE, SURER, SURE), temperature=1, normalised=True)
    # 1 - H / ln 4: 0, 0.125, 0.879029
    assert np.allclose(weights, [0, 0.124499, 0.875501], atol=1e-4)


def test_the_temperature_sharpens():
    # Halving it squares the probabilities: (4, 1) / 5 of (2, 1) / 3.
    flat, sharp = columns([2 / 3, 1 / 3]), columns([0.8, 0.2])
    other = columns([0.5, 0.5])
    halved = granularity_weights(np.hstack([flat, other]), temperature=0.5, normalised=True)
    assert np.allclose(halved, granularity_weights(np.hstack([sharp, other]), temperature=1, normalised=True))


def test_where_nothing_can_be_told_granularities_weigh_the_same():
    same = granularity_weights(columns(UNSURE, UNSURE), temperature=1, normalised=True)
    assert np.allclose(same, [0.5, 0.5])
    missing = np.column_stack([columns(UNSURE), np.full(4, np.nan)])
    assert np.allclose(granularity_weights(missing, temperature=1, normalised=True), [1, 0])
    one_session = granularity_weights(np.array([[0.3, 0.9]]), temperature=1, normalised=True)
    assert np.allclose(one_session, [0.5, 0.5])


def test_edges_go_to_the_higher_component_of_the_mixture():
    similarities = np.array([0.10, 0.82, 0.12, 0.80, 0.11, 0.81])
    assert joined(similarities, threshold=30, components=2) == [1, 3, 5]
    # Of the three most similar nodes two are clearly nearer than the third.
    assert joined(np.array([0.10, 0.82, 0.12, 0.5, 0.83]), threshold=3, components=2) == [1, 4]


def test_where_two_groups_cannot_be_told_apart_every_candidate_is_joined():
    assert joined(np.array([0.4]), threshold=30, components=2) == [0]
    assert joined(np.full(5, 0.4), threshold=3, components=2) == [0, 1, 2]


def test_only_sessions_from_the_sixth_on_look_for_earlier_nodes():
    nodes = np.random.default_rng(1).normal(size=(7, 2, 3)).astype(np.float32)
    nodes[2, 1] = np.nan
    edges = edges_between(nodes, first=5, threshold=30, components=2)
    assert {node for node, _ in edges} == {10, 11, 12, 13}
    assert all(earlier < node // 2 * 2 for node, earlier in edges)
    assert 5 not in {earlier for _, earlier in edges}  # the missing node


def test_seeds_are_the_best_scores_and_never_negative():
    assert seeds(np.array([0.3, -0.5, 0.2, np.nan, 0.1]), 2).tolist() == [0.3, 0, 0.2, 0, 0]
    assert seeds(np.array([0.3, -0.5]), 15).tolist() == [0.3, 0]
    assert not seeds(np.array([-0.3, -0.5]), 1).any()


def test_pagerank_by_hand():
    # 0 - 1, 2 alone, restart at 0 and 2: x0 = 0.5 / (1 - 0.01), x1 = x0 / 10, x2 = 0.5, over their sum.
    ranks = pagerank([(1, 0)], np.array([0.5, 0, 0.5]), damping=0.1)
    assert np.allclose(ranks, [0.478469, 0.047847, 0.473684], atol=1e-6)
    assert np.allclose(pagerank([], np.array([1.0, 3.0]), damping=0.1), [0.25, 0.75])


def test_pagerank_order_a_seed_beside_seeds_beats_a_better_one_alone():
    # Star: 0 joined to the seeds 1, 2 and 3; 4 is a slightly better seed on its own.
    restart = np.array([1.0, 1.0, 1.0, 1.0, 1.1])
    ranks = pagerank([(1, 0), (2, 0), (3, 0)], restart, damping=0.1)
    # x0 = 1 + 0.1 · 3 · x1 and x1 = 1 + 0.1 / 3 · x0 give x0 = 1.313131, x1 = 1.043771, and x4 = 1.1.
    total = 1.313131 + 3 * 1.043771 + 1.1
    assert np.allclose(ranks, np.array([1.313131, 1.043771, 1.043771, 1.043771, 1.1]) / total, atol=1e-6)
    assert np.argsort(-ranks)[:2].tolist() == [0, 4]


def script(request):
    """Summaries and keywords of the first line; the filter keeps lines about apples."""
    lines = [line for line in request.user.splitlines() if line and line[0] != "<"]
    if request.stage == "summary":
        return f"They said: {lines[0].partition(': ')[2]}"
    if request.stage == "keywords":
        return json.dumps({"keywords": [lines[0].split()[-1].strip(".").casefold(), " "]})
    kept = [int(n) for n, text in re.findall(r"^\[(\d+)\] (.+)", request.user, re.M) if "apples" in text]
    return json.dumps({"keep": [*kept, 99]})


async def memgas(name="memgas", script=script, sessions=SESSIONS, **settings):
    method = method_of(name, tools_for(script), **settings)
    await method.ingest(history(*sessions))
    return method


async def test_a_session_has_four_nodes_and_two_calls():
    tools = tools_for(script)
    method = method_of("memgas", tools)
    await method.ingest(history(*SESSIONS))
    second = {note.kind: note for note in method.dump()["notes"] if note.note_id.startswith("s0002/")}
    assert list(second) == ["session", "turns", "summary", "keywords"]
    assert second["session"].text == "Ann: My zebra Otto eats apples.\nAnn: Otto sleeps a lot."
    assert second["summary"].text == "They said: My zebra Otto eats apples."
    assert second["keywords"].text == "apples"
    assert second["keywords"].message_ids == ("D2:1", "D2:3")
    assert [r.stage for r in tools.chat.requests].count("summary") == 7
    assert {(r.temperature, r.max_tokens) for r in tools.chat.requests} == {(0.0, 500)}


async def test_edges_are_links_to_earlier_nodes_and_reach_the_same_animal():
    method = await memgas()
    links = {note.note_id: note.links for note in method.dump()["notes"]}
    assert all(not found for node, found in links.items() if node < "s0006")
    assert "s0002/session" in links["s0006/session"]


async def test_the_context_is_what_the_filter_keeps_of_the_best_sessions():
    context = await (await memgas()).context(ASKED)
    assert [item.text for item in context.items] == [
        "[8 February 2024] Ann: My zebra Otto eats apples.",
        "[8 February 2024] Summary: They said: My zebra Otto eats apples. Keywords: apples",
    ]
    by_kind = {item.kind: item for item in context.items}
    assert by_kind["message"].message_ids == ("D2:1",)
    assert by_kind["summary"].message_ids == ()  # a whole session would claim any evidence in it
    assert {mid[:2] for mid in context.retrieved_ids[:4]} == {"D2", "D6"}
    assert len(context.retrieved_ids) == 14
    assert context.decisions[1].outcome == "2 of 9 lines"


async def test_the_two_routings_are_named_and_weigh_differently():
    as_coded = (await (await memgas()).context(ASKED)).decisions[0]
    normalised = (await (await memgas("memgas:normalised")).context(ASKED)).decisions[0]
    assert (as_coded.outcome, normalised.outcome) == ("code", "normalised")
    # No keyword is in the question, so keywords tell sessions apart least: all entropies exceed 1 nat.
    assert as_coded.detail == "session 0.18, turns 0.20, summary 0.23, keywords 0.38"
    assert normalised.detail == "session 0.37, turns 0.34, summary 0.29, keywords 0.00"


async def test_a_filter_that_keeps_nothing_is_believed_and_one_that_cannot_be_read_is_not():
    def nothing(request):
        return '{"keep": []}' if request.stage == "filter" else script(request)

    def unreadable(request):
        return "the second one" if request.stage == "filter" else script(request)

    assert not (await (await memgas(script=nothing)).context(ASKED)).items
    context = await (await memgas(script=unreadable)).context(ASKED)
    decision = context.decisions[1]
    assert (decision.kind, decision.outcome, decision.decided_by) == ("filter", "unfiltered", "fallback")
    assert "not_json" in decision.detail
    assert len(context.items) == 9


async def test_line_numbers_that_do_not_exist_are_no_empty_choice():
    def wrong(request):
        return '{"keep": [77]}' if request.stage == "filter" else script(request)

    assert (await (await memgas(script=wrong)).context(ASKED)).decisions[1].decided_by == "fallback"


async def test_an_unusable_description_costs_only_its_node():
    def half(request):
        return None if request.stage == "keywords" and "zebra" in request.user else script(request)

    method = await memgas(script=half)
    tables = method.dump()
    lost = {d.subject_id: d for d in tables["decisions"]}
    assert set(lost) == {"s0002/keywords", "s0006/keywords"}
    assert {(d.outcome, d.decided_by) for d in lost.values()} == {("no node", "fallback")}
    assert "s0002/summary" in {note.note_id for note in tables["notes"]}
    assert {mid[:2] for mid in (await method.context(ASKED)).retrieved_ids[:4]} == {"D2", "D6"}


@pytest.mark.parametrize("name", ["memgas", "memgas:normalised"])
async def test_a_loaded_memory_answers_alike_and_ingests_nothing(name):
    method = await memgas(name)
    tools = tools_for(script)
    other = method_of(name, tools)
    await other.load(history(*SESSIONS), method.dump())
    assert not tools.chat.requests
    assert await other.context(ASKED) == await method.context(ASKED)
    assert other.dump() == method.dump()


async def test_the_budget_holds_and_cuts_by_cosine():
    def everything(request):
        if request.stage != "filter":
            return script(request)
        return json.dumps({"keep": list(range(1, 10))})

    method = await memgas(script=everything, memory={"retrieval": {"context_tokens": 41}})
    context = await method.context(ASKED)
    # 20 and 18 tokens, then a summary of 29; a shorter line further down would still have been tried.
    assert [item.message_ids for item in context.items] == [("D6:1",), ("D6:2",)]


@pytest.mark.parametrize("sessions", [(), ([" ", "\u200b"],)])
async def test_of_nothing_said_there_is_no_context(sessions):
    method = await memgas(sessions=sessions)
    assert method.dump() == {"notes": [], "decisions": []}
    assert not (await method.context(ASKED)).items


async def test_one_session_is_enough():
    context = await (await memgas(sessions=SESSIONS[1:2])).context(ASKED)
    assert "D2:1" not in context.retrieved_ids and context.retrieved_ids[0] == "D1:1"
