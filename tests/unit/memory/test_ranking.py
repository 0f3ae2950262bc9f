import math

import numpy as np
import pytest

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.memory.ranking import InteractionIndex, standardised
from memsif_ray.memory.segments import Encoded
from memsif_ray.text import is_blank
from memsif_ray.types import Segment, Trajectory

EMBEDDER = HashEmbedder(128)


async def encoded(messages):
    return [
        Encoded(m, None if is_blank(m.content) else (await EMBEDDER.embed([m.content]))[0], frozenset())
        for m in messages
    ]


async def ranked(messages, query, *, ranking="structural", segments=(), trajectories=()):
    index = InteractionIndex(await encoded(messages), segments, trajectories, ranking=ranking)
    return index.rank(query, (await EMBEDDER.embed(["blank" if is_blank(query) else query]))[0])


def segment(number, messages):
    ids = tuple(m.message_id for m in messages)
    first = messages[0].position
    return Segment(f"seg_{number}", first, first + len(ids), ids, np.zeros(128, np.float32), frozenset())


@pytest.mark.parametrize("ranking", ["structural", "dense"])
@pytest.mark.parametrize("count", [0, 1, 2])
async def test_every_spoken_message_is_ranked_once_however_few(say, ranking, count):
    messages = [say("The ferry leaves at nine."), say("Bring the red tent.")][:count]
    found = await ranked(messages, "When does the ferry leave?", ranking=ranking)
    assert sorted(r.position for r in found) == list(range(count))
    assert all(math.isfinite(r.score) for r in found)
    if count:
        assert found[0].message_id == messages[0].message_id


@pytest.mark.parametrize("ranking", ["structural", "dense"])
async def test_a_blank_message_is_never_ranked_and_shifts_no_other(say, ranking):
    messages = [say("Hello there."), say(" \u200b\n"), say("The parrot is called Biscuit.")]
    found = await ranked(messages, "What is the parrot called?", ranking=ranking)
    assert [(r.message_id, r.position) for r in found][0] == (messages[2].message_id, 2)
    assert {r.position for r in found} == {0, 2}


@pytest.mark.parametrize("query", ["", "  ", "\u200b", "\u00a0\n"])
async def test_a_blank_query_finds_nothing(say, query):
    assert await ranked([say("Hello there.")], query) == []


async def test_only_blank_messages_find_nothing(say):
    assert await ranked([say(""), say(" ")], "Anything?") == []


@pytest.mark.parametrize("ranking", ["structural", "dense"])
async def test_identical_messages_tie_in_order_of_position(say, ranking):
    messages = [say("Same words.", session=i) for i in range(1, 7)]
    found = await ranked(messages, "Something else entirely", ranking=ranking)
    assert [r.position for r in found] == list(range(6))
    assert all(math.isfinite(r.score) for r in found)


async def test_no_shared_word_leaves_the_dense_order(say):
    messages = [say("Alpha beta.", session=1), say("Gamma delta.", session=2)]
    found = await ranked(messages, "Zulu yankee xray")
    assert {r.parts["lexical"] for r in found} == {0.0}
    assert len(found) == 2


async def test_a_question_of_function_words_only_still_ranks(say):
    found = await ranked([say("Alpha beta."), say("The cat sat.")], "What is it that they do?")
    assert len(found) == 2


async def test_chinese_text_is_found_by_its_words(say):
    messages = [say("今天天气很好。"), say("我的猫叫咪咪。", session=2), say("明天去爬山。", session=3)]
    found = await ranked(messages, "猫叫什么名字?")
    assert found[0].position == 1


async def test_word_forms_are_brought_together(say):
    messages = [say("I was hiking alone.", session=1), say("We cooked lentils.", session=2)]
    assert (await ranked(messages, "Who hikes?"))[0].position == 0


async def test_an_answer_is_found_through_the_question_before_it(say):
    messages = [
        say("What did you name the parrot?", speaker="Lotte", session=2),
        say("Biscuit!", session=2),
        *(say(f"Filler number {n} about trains.", session=n) for n in range(3, 9)),
    ]
    found = await ranked(messages, "What is the parrot's name?")
    assert {r.position for r in found[:2]} == {0, 1}


async def test_neighbours_of_another_session_say_nothing_about_a_message(say):
    messages = [say("The parrot is called Biscuit.", session=1), say("Good morning.", session=2)]
    found = await ranked(messages, "parrot Biscuit")
    assert found[0].position == 0
    assert found[1].parts["lexical"] < 0


async def test_a_long_message_speaks_for_itself(say):
    parrot = "The parrot is called Biscuit."
    essay = " ".join(f"chapter{n}" for n in range(100))
    messages = [say(parrot), say(essay), say(parrot, session=2), say("Yes!", session=2)]
    found = {r.position: r for r in await ranked(messages, "parrot Biscuit")}
    assert found[3].parts["lexical"] > found[1].parts["lexical"]
    assert found[3].parts["dense"] > found[1].parts["dense"]


async def test_turns_of_whom_the_question_names_come_first(say):
    messages = [say("I bought a red bicycle.", speaker=s, session=i) for i, s in ((1, "Rens"), (2, "Lotte"))]
    assert (await ranked(messages, "What did Lotte buy?"))[0].position == 1
    both = await ranked(messages, "What did Lotte and Rens buy?")
    assert both[0].parts["speaker"] == both[1].parts["speaker"]


async def test_a_name_that_is_a_function_word_prefers_nobody(say):
    messages = [say("I went home.", speaker="Will"), say("I stayed.", speaker="Lotte")]
    assert {r.parts["speaker"] for r in await ranked(messages, "Where will she go?")} == {0.0}


async def test_messages_of_the_same_trajectory_follow_what_was_found(say):
    messages = [say(f"Quite different topic {n}.", session=n) for n in range(1, 9)]
    messages += [say("The parrot escaped.", session=9)]
    segments = [segment(i, [m]) for i, m in enumerate(messages)]
    story = Trajectory("traj_0", ("seg_2", "seg_8"), np.zeros(128, np.float32), frozenset())
    found = {r.position: r for r in await ranked(messages, "parrot", segments=segments, trajectories=[story])}
    assert found[2].parts["thread"] == found[8].parts["thread"] > 0
    assert sum(r.parts["thread"] > 0 for r in found.values()) <= 4


async def test_scores_are_the_sum_of_their_parts(say):
    messages = [say("The parrot is called Biscuit."), say("Bring the red tent."), say("Nine o'clock.")]
    for found in await ranked(messages, "red tent"):
        assert found.score == pytest.approx(sum(found.parts.values()))


async def test_dense_is_the_plain_cosine(say):
    messages = [say("The parrot is called Biscuit."), say("Bring the red tent.")]
    query = (await EMBEDDER.embed(["red tent"]))[0]
    for found in await ranked(messages, "red tent", ranking="dense"):
        vector = (await EMBEDDER.embed([messages[found.position].content]))[0]
        assert found.score == pytest.approx(float(vector @ query), abs=1e-6)


def test_a_constant_has_no_spread():
    assert standardised(np.full(5, 0.1, np.float32)).tolist() == [0.0] * 5
    assert standardised(np.array([0.3])).tolist() == [0.0]
    assert standardised(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]
