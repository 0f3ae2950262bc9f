"""xMemory: boundaries, predict and calibrate, coverage, priority, the uncertainty gate and its stop rules."""

import numpy as np
import pytest

from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.xmemory.doubt import LOGPROBS, PROXY, Doubt
from memsif_ray.methods.xmemory.search import Hierarchy, Hit, ReadingLimits, cover, gate
from memsif_ray.types import Context, Note
from tests.unit.methods.by_prompt import asked, by_prompt, stored
from tests.unit.methods.small_histories import GivenEmbedder, history, method_of, question, tools_for

TALK = (
    ["I adopted a beagle called Biscuit.", "A beagle called Biscuit, lovely!"],
    ["My beagle called Biscuit adopted a kitten.", "Biscuit the beagle is kind."],
)


def narrate(request):
    return {"title": "A beagle", "narrative": "Ann adopted a beagle called Biscuit."}


def facts(request):
    kitten = "kitten" in request.user
    return {"facts": [{"statement": f"Ann adopted a {'kitten' if kitten else 'beagle'}.", "messages": [1]}]}


BUILDING = {
    "boundary": {"boundary": True},
    "narrate": narrate,
    "predict": "Ann walked Biscuit.",
    "facts": facts,
    "theme": "Ann and her animals.",
    "probe": "a beagle",
}


async def built(*sessions, settings=None, **replies):
    tools = tools_for(by_prompt(**(BUILDING | replies)))
    method = method_of("xmemory", tools, baselines={"xmemory": settings or {}})
    await method.ingest(history(*(sessions or TALK)))
    return method, tools


def notes_of(method, kind):
    return [note for note in method.dump()["notes"] if note.kind == kind]


# Episodes


async def test_a_boundary_is_asked_for_only_between_the_least_and_the_greatest_size():
    texts = [f"kite {n}" for n in range(1, 8)]
    method, tools = await built(texts)
    assert [len(note.message_ids) for note in notes_of(method, "episode")] == [2, 2, 2, 1]
    # The first message opens an episode unasked, the second and every other one is too early.
    assert len(asked(tools, "boundary")) == 3

    never = {"writing": {"buffer_max": 3}}
    method, tools = await built(texts, settings=never, boundary={"boundary": False})
    assert [len(note.message_ids) for note in notes_of(method, "episode")] == [3, 3, 1]
    decided = [
        (d.subject_id, d.outcome, d.detail) for d in method.dump()["decisions"] if d.kind == "boundary"
    ]
    assert decided[:3] == [("D1:2", "append", "too few"), ("D1:3", "append", ""), ("D1:4", "split", "full")]


async def test_a_boundary_is_decided_in_sight_of_the_episode_so_far():
    _, tools = await built(boundary={"boundary": False})
    first, second = asked(tools, "boundary")
    assert "Bo: A beagle called Biscuit, lovely!" in first
    assert "<utterance>[8 February 2024] Ann: My beagle called Biscuit adopted a kitten.</utterance>" in first
    assert "adopted a kitten" in second.partition("</episode>")[0]


async def test_unusable_replies_cost_only_what_they_were_about():
    lost = {"narrate": lambda request: None if "kitten" in request.user else narrate(request)}
    method, _ = await built(**lost, boundary="?", settings={"writing": {"buffer_max": 2}})
    first, second = notes_of(method, "episode")
    assert first.text == "A beagle. Ann adopted a beagle called Biscuit."
    assert second.text.startswith("Talk of 8 February 2024. Ann: My beagle called Biscuit adopted")
    assert [(d.subject_id, d.outcome) for d in method.dump()["decisions"] if d.decided_by == "fallback"] == [
        ("episode_0002", "excerpt")
    ]


# Facts


async def test_only_what_a_prediction_missed_is_extracted():
    method, tools = await built()
    (prediction,) = asked(tools, "predict")
    assert (
        "- [1 February 2024] Ann adopted a beagle." in prediction and "<topic>A beagle</topic>" in prediction
    )
    first, second = asked(tools, "facts")
    assert "<draft></draft>" in first  # a cold start
    assert "<draft>Ann walked Biscuit.</draft>" in second
    assert [(n.text, n.message_ids, n.links) for n in notes_of(method, "fact")] == [
        ("Ann adopted a beagle.", ("D1:1",), ("episode_0001",)),
        ("Ann adopted a kitten.", ("D2:1",), ("episode_0002",)),
    ]


async def test_facts_below_the_threshold_predict_nothing():
    _, tools = await built(settings={"writing": {"known_at_least": 0.99}})
    assert asked(tools, "predict") == []


async def test_an_unusable_prediction_and_unusable_facts_are_decisions():
    method, tools = await built(
        predict=None, facts=lambda request: "?" if "kitten" in request.user else facts(request)
    )
    assert "<draft></draft>" in asked(tools, "facts")[1]
    assert [(d.kind, d.subject_id) for d in method.dump()["decisions"] if d.decided_by == "fallback"] == [
        ("predict", "episode_0002"),
        ("facts", "episode_0002"),
    ]
    assert [note.text for note in notes_of(method, "fact")] == ["Ann adopted a beagle."]


async def test_a_fact_without_usable_numbers_rests_on_the_closest_message():
    odd = {"facts": [{"statement": "Somebody is kind.", "messages": [7]}, {"statement": 3}, "x"]}
    method, _ = await built(TALK[1], facts=odd)
    assert [note.message_ids for note in notes_of(method, "fact")] == [("D1:2",)]


async def test_themes_hold_their_facts_and_a_theme_of_one_is_its_fact():
    together = {"themes": {"attach": 0.3, "attach_roomy": 0.3}}
    method, _ = await built(settings=together)
    assert [(n.text, n.links) for n in notes_of(method, "theme")] == [
        ("Ann and her animals.", ("episode_0001_01", "episode_0002_01"))
    ]
    method, tools = await built(settings={"themes": {"attach": 0.99, "attach_roomy": 0.99}})
    assert [note.text for note in notes_of(method, "theme")] == [
        "Ann adopted a beagle.",
        "Ann adopted a kitten.",
    ]
    assert asked(tools, "theme") == []


# Choosing


def test_cover_weighs_new_ground_against_similarity():
    scores = np.array([0.9, 0.8, 0.1, 0.5])
    graph = np.array([[1], [0], [3], [2]])
    # First round: each covers 2 of 4, so similarity decides: 0. Then 1 brings nothing new: 0.3 · 0.8 = 0.24,
    # while 3 brings 0.7 · 2 / 4 + 0.3 · 0.5 = 0.5.
    assert cover([0, 1, 2, 3], scores, graph, limit=2, weight=0.7) == [0, 3]
    assert cover([0, 1, 2, 3], scores, graph, limit=9, weight=0.7) == [0, 3, 1, 2]
    assert cover([0, 1, 2, 3], scores, graph, limit=2, weight=0.0) == [0, 1]
    # What is no candidate counts for nothing.
    assert cover([1, 2], scores, graph, limit=1, weight=0.7) == [1]
    assert cover([], scores, graph, limit=2, weight=0.7) == []


async def test_the_pool_is_ordered_by_scaled_score_and_half_of_the_best_fact():
    angles = {"a": 0, "b": 30, "c": 60, "far": 90, "fact": 0}
    vectors = {name: [np.cos(np.radians(d)), np.sin(np.radians(d))] for name, d in angles.items()}
    book = NoteBook(GivenEmbedder(vectors))
    await book.write([Note(f"e_{name}", "episode", name) for name in ("far", "c", "b", "a")])
    fact = Hit(Note("f", "fact", "fact", links=("e_c",)), 0.8)
    weak = Hit(Note("g", "fact", "fact", links=("e_c", "e_far")), 0.2)
    hierarchy = Hierarchy(book, neighbours=10)
    query = np.array([1, 0], np.float32)
    pool = hierarchy.pool(query, [fact, weak], ReadingLimits(episodes_top_k=2))
    # Cosines 1, 0.866, 0.5 and 0 are scaled already; c adds 0.5 · 0.8 = 0.4, far 0.5 · 0.2 = 0.1.
    assert [hit.note.note_id for hit in pool] == ["e_a", "e_c", "e_b", "e_far"]
    assert pool[1].score == pytest.approx(0.5)
    # Without a fact only the two nearest are in.
    near = hierarchy.pool(query, [], ReadingLimits(episodes_top_k=2))
    assert [hit.note.note_id for hit in near] == ["e_a", "e_b"]


# The gate


def doubting(*uncertainties, script=lambda request: "Ghent"):
    values = iter(uncertainties)
    tools = tools_for()
    chat = ScriptedChat(script, logprob=lambda request: -next(values))
    tools = type(tools)(chat, HashEmbedder(), tools.entities, tools.tokens)
    return Doubt(question("Where?"), tools=tools, window=4096), chat


async def ruled(*uncertainties, limits=ReadingLimits()):  # noqa: B008
    doubt, chat = doubting(*uncertainties)
    pool = [Hit(Note(f"e{n}", "episode", f"episode {n}"), 1.0) for n in range(12)]
    base = [Hit(Note("t", "theme", "a theme"), 1.0)]
    selected, decisions = await gate(question("Where?"), base, pool, doubt=doubt, limits=limits)
    return selected, decisions, [request.user for request in chat.requests]


async def test_gains_select_expand_or_count_as_low():
    # Gains: 0.25 (not above 0.25), 0.5, −0.375, then −0.5 and −0.5 from the third selection on.
    selected, decisions, prompts = await ruled(2.0, 1.75, 1.25, 1.625, 2.125, 2.125)
    assert [(hit.note.note_id, hit.expanded) for hit in selected] == [
        ("e0", False),
        ("e1", True),
        ("e2", False),
    ]
    assert [d.outcome for d in decisions[1:]] == ["select", "expand", "select", "low", "low"]
    assert decisions[1].score == pytest.approx(0.25)
    assert (decisions[0].kind, decisions[0].outcome, decisions[0].score) == ("uncertainty", LOGPROBS, 2.0)
    assert "a theme" in prompts[0] and "episode" not in prompts[0]
    # Those selected stay in sight of the next one; those that are low do not.
    assert ["episode 2" in p and "episode 3" not in p for p in prompts] == [False] * 3 + [True, False, True]


async def test_a_gain_of_exactly_the_threshold_is_low():
    selected, decisions, _ = await ruled(1.0, 1.5, limits=ReadingLimits(select_gain=-0.5))
    assert [d.outcome for d in decisions[1:]] == ["low"]


@pytest.mark.parametrize("before", [(), (1.0,), (1.0, 1.0)])
async def test_one_low_episode_of_the_first_three_ends_it(before):
    selected, decisions, prompts = await ruled(1.0, *before, 2.0)
    assert len(prompts) == len(before) + 2
    # The first candidate is taken when nothing was selected.
    assert [hit.note.note_id for hit in selected] == [f"e{n}" for n in range(max(1, len(before)))]


async def test_two_low_episodes_of_the_first_ten_end_it():
    # Fourth and sixth are low; a single one after the third goes on.
    _, decisions, prompts = await ruled(1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 2.0)
    assert [d.outcome for d in decisions[1:]] == ["select", "select", "select", "low", "select", "low"]
    assert len(prompts) == 7


async def test_uncertainties_of_two_measures_are_not_compared():
    said = iter([None, *["in Ghent"] * 9])
    doubt = Doubt(question("Where is Ann?"), tools=tools_for(lambda request: next(said)), window=4096)
    pool = [Hit(Note(f"e{n}", "episode", "Ann is in Ghent."), 1.0) for n in range(2)]
    selected, decisions = await gate(question("Where is Ann?"), [], pool, doubt=doubt, limits=ReadingLimits())
    # The first reply was unusable, 5 at the most; the next ones are shares: 1 at the most, then 0.
    assert decisions[1].score == pytest.approx(1.0)


async def test_ten_episodes_are_probed_at_most():
    selected, _, prompts = await ruled(*[1.0] * 20)
    assert (len(selected), len(prompts)) == (10, 11)


async def test_log_probabilities_are_asked_of_a_greedy_answer_of_twenty_tokens():
    doubt, chat = doubting(0.75)
    assert await doubt.of(["Ann lives in Ghent."]) == 0.75
    (request,) = chat.requests
    assert (request.max_tokens, request.temperature, request.logprobs) == (20, 0.0, True)


async def test_without_log_probabilities_missing_words_stand_in():
    doubt = Doubt(question("Where does Ann live?"), tools=tools_for(lambda request: "in Ghent"), window=4096)
    # Of ann, live and ghent the context says two, then all, then none.
    assert await doubt.of(["Ann lived abroad."]) == pytest.approx(1 / 3)
    assert await doubt.of(["Ann lives in Ghent."]) == 0
    assert await doubt.of([]) == 1
    decision = doubt.decision(1 / 3)
    assert (decision.outcome, decision.decided_by) == (PROXY, "rule")


async def test_the_measure_never_changes_within_a_question():
    values = iter([-0.5, None])
    tools = tools_for()
    chat = ScriptedChat(lambda request: "Ghent", logprob=lambda request: next(values))
    doubt = Doubt(
        question("Where?"),
        tools=type(tools)(chat, HashEmbedder(), tools.entities, tools.tokens),
        window=4096,
    )
    assert [await doubt.of(["Ghent"]), await doubt.of(["Ghent"])] == [0.5, 5.0]


async def test_an_unusable_answer_is_the_greatest_uncertainty():
    said = iter([None, "Ghent", None])
    doubt = Doubt(question("Where?"), tools=tools_for(lambda request: next(said)), window=4096)
    assert [await doubt.of(["Ghent"]) for _ in range(3)] == [5.0, 0.0, 1.0]
    assert doubt.decision(5.0).detail == "2 unusable"
    lost = Doubt(question("Where?"), tools=tools_for(lambda request: None), window=4096)
    assert await lost.of(["Ghent"]) == 5.0
    assert (lost.decision(5.0).outcome, lost.decision(5.0).decided_by) == ("none", "fallback")


# The whole


async def test_a_context_holds_themes_facts_episodes_and_expanded_messages():
    method, _ = await built(settings={"reading": {"expand_gain": -0.4}})
    context = await method.context(question("Which animal did Ann adopt?"))
    assert {item.kind for item in context.items} == {"theme", "fact", "episode", "message"}
    texts = {item.item_id: item.text for item in context.items}
    assert texts["episode_0001_01"] == "[1 February 2024] Ann adopted a beagle."
    assert texts["D2:1"] == "[8 February 2024] Ann: My beagle called Biscuit adopted a kitten."
    assert set(context.retrieved_ids) == {"D1:1", "D1:2", "D2:1", "D2:2"}
    assert [d.kind for d in context.decisions] == ["uncertainty", "episode", "episode"]


async def test_a_restored_memory_gives_the_same_context():
    method, _ = await built()
    expected = await method.context(question("Which animal did Ann adopt?"))
    tools = tools_for(by_prompt(probe="a beagle"))
    other = method_of("xmemory", tools)
    await other.load(history(*TALK), stored(method.dump()))
    assert tools.chat.requests == []
    assert await other.context(question("Which animal did Ann adopt?")) == expected
    assert other.dump() == method.dump()


async def test_without_facts_episodes_are_still_found():
    method, _ = await built(facts={"facts": []}, settings={"reading": {"expand_gain": 9}})
    context = await method.context(question("Which animal did Ann adopt?"))
    assert [item.kind for item in context.items] == ["episode", "episode"]


@pytest.mark.parametrize("session", [[], [" ", "\u200b"]])
async def test_nothing_said_is_nothing_known(session):
    method, tools = await built(session)
    assert await method.context(question("Which dog?")) == Context(())
    assert tools.chat.requests == []


async def test_a_blank_question_finds_nothing():
    method, _ = await built()
    assert await method.context(question(" ")) == Context(())
