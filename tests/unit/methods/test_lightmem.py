"""LightMem: buffers, boundaries and update queues by hand; extraction and sleep on small histories."""

import importlib.util
import json
import re

import numpy as np
import pytest

from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError, ServiceBusy
from memsif_ray.methods.lightmem.buffers import batches, boundaries, topics
from memsif_ray.methods.lightmem.method import LightMem
from memsif_ray.methods.lightmem.sleep import changers, update_queues
from tests.unit.methods.small_histories import history, method_of, question, tools_for


def turned(*cosines):
    """Unit vectors in a plane, each with the given cosine to the one before."""
    angles = np.cumsum([0.0, *np.arccos(cosines)])
    return np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)


def never(buffer):
    return []


def test_the_sensory_buffer_is_cut_before_the_message_that_does_not_fit():
    seen = []

    def cut(buffer):
        seen.append(buffer)
        return [1] if buffer == (0, 1, 2) else []

    # 0, 1, 2 fill 500 of 512; 3 makes them 550. What follows the boundary stays: 1, 2, 3 hold 350; 4 makes
    # them 650, and without a boundary all of them leave.
    assert topics([200, 200, 100, 50, 300], capacity=512, cut=cut) == [(0,), (1, 2, 3), (4,)]
    assert seen == [(0, 1, 2), (1, 2, 3), (4,)]


def test_the_sensory_buffer_holds_exactly_its_capacity():
    assert topics([256, 256], capacity=512, cut=never) == [(0, 1)]
    assert topics([256, 256, 1], capacity=512, cut=never) == [(0, 1), (2,)]


def test_the_sensory_buffer_is_cut_again_until_the_message_fits():
    def after_the_first(buffer):
        return [1] if len(buffer) > 1 else []

    assert topics([200, 200, 100, 500], capacity=512, cut=after_the_first) == [(0,), (1,), (2,), (3,)]


def test_a_message_beyond_the_capacity_is_a_topic_of_its_own():
    assert topics([10, 600, 10], capacity=512, cut=never) == [(0,), (1,), (2,)]
    assert topics([], capacity=512, cut=never) == []


def test_the_threshold_relaxes_only_until_there_is_a_boundary():
    assert boundaries(turned(0.9, 0.45, 0.34, 0.9)) == [3]
    assert boundaries(turned(0.9, 0.44, 0.9, 0.41)) == [2, 4]  # both below 0.45, none below 0.40
    assert boundaries(turned(0.19, 0.24)) == [1]
    assert boundaries(turned(0.9, 0.51)) == []
    assert boundaries(turned()) == []


def test_attention_confirms_boundaries_within_three_positions_of_a_peak():
    vectors = turned(0.1, *[0.9] * 8, 0.1)  # boundaries 1 and 10
    flat = [0.1] * 10
    assert boundaries(vectors, flat) == []  # no peak, no boundary
    peaked = [*flat[:3], 0.5, *flat[4:]]  # the fourth number is the boundary before message 4
    assert boundaries(vectors, peaked) == [1]
    far = [*flat[:5], 0.5, *flat[6:]]  # before message 6: five and four positions away
    assert boundaries(vectors, far) == [1, 10]


def test_the_short_term_buffer_is_emptied_before_it_would_exceed_its_threshold():
    costs = [200, 200, 112, 1, 600, 5]
    segments = [(0,), (1, 2), (3,), (4,), (5,)]
    assert batches(segments, costs, threshold=512) == [[(0,), (1, 2)], [(3,)], [(4,)], [(5,)]]
    assert batches([], costs, threshold=512) == []


def test_an_update_queue_keeps_the_ten_nearest_of_the_earlier_entries():
    queues = update_queues(turned(*[0.999] * 24))
    assert queues[0] == []
    assert [earlier for earlier, _ in queues[4]] == [3, 2, 1, 0]
    assert [earlier for earlier, _ in queues[24]] == list(range(23, 13, -1))
    assert np.isclose(queues[24][0][1], 0.999, atol=1e-5)


def test_a_target_is_changed_by_the_later_entries_near_enough():
    queues = [[], [(0, 0.8)], [(1, 0.79), (0, 0.95)], [(2, 0.9)]]
    assert changers(queues, at_least=0.8) == {0: [1, 2], 2: [3]}


LILLE, GHENT = "Ann says that her home town is Lille", "Ann says that her home town is Ghent"
CAT = "Bo has a cat named Tom"
SESSIONS = (
    ["I live in Lille now.", " ", "Lille is my town."],
    ["Back again.", "My cat is Tom."],
    ["I moved to Ghent!"],
)


def script(request, action="ignore", memory=""):
    """A fact per place or pet that a message names, citing that message; one action for every target."""
    if request.stage == "update":
        return json.dumps({"action": action, "memory": memory})
    facts = [
        {"source": int(number), "fact": fact}
        for number, text in re.findall(r"^\[(\d+)\] \w+: (.+)", request.user, re.M)
        for word, fact in (("live in Lille", LILLE), ("cat", CAT), ("Ghent", GHENT))
        if word in text
    ]
    return json.dumps({"facts": facts})


async def lightmem(script=script, sessions=SESSIONS, dataset="locomo", **settings):
    tools = tools_for(script)
    method = method_of("lightmem:nocompress", tools, **settings)
    await method.ingest(history(*sessions, dataset=dataset))
    return method


def small_batches(**settings):
    return {"baselines": {"lightmem": {"short_term_tokens": 1, "sensory_tokens": 12, **settings}}}


async def test_entries_name_their_message_its_time_and_its_speaker():
    entries = (await lightmem()).dump()["notes"][:3]
    assert [(note.text, note.message_ids, note.tags) for note in entries] == [
        (LILLE, ("D1:1",), ("Ann",)),
        (CAT, ("D2:2",), ("Bo",)),
        (GHENT, ("D3:1",), ("Ann",)),
    ]
    # The second message of its session, half a second after the first.
    assert entries[1].timestamp.isoformat() == "2024-02-08T09:00:00.500000"
    assert json.loads(entries[1].detail) == {"weekday": "Thursday", "topic": 2}


async def test_a_batch_is_one_call_that_shows_dates_and_topics():
    method = await lightmem()
    (call,) = [r for r in method._tools.chat.requests if r.stage == "extract"]
    assert call.user.split("\n") == [
        *("<topic>", "On Thursday, 1 February 2024:", "[1] Ann: I live in Lille now."),
        *("[2] Ann: Lille is my town.", "</topic>"),
        *("<topic>", "On Thursday, 8 February 2024:", "[3] Ann: Back again.", "</topic>"),
        *("<topic>", "On Thursday, 8 February 2024:", "[4] Bo: My cat is Tom.", "</topic>"),
        *("<topic>", "On Thursday, 15 February 2024:", "[5] Ann: I moved to Ghent!", "</topic>"),
    ]


async def test_the_queue_points_to_earlier_entries():
    current = {note.note_id: note for note in (await lightmem()).dump()["notes"]}
    assert current["entry_0000"].links == ()
    assert current["entry_0002"].links[0] == "entry_0000"


async def test_sleep_updates_a_target_from_later_entries():
    merged = "Ann lived in Lille and says that her home town is Ghent"
    method = await lightmem(lambda request: script(request, "update", merged))
    (call,) = [r for r in method._tools.chat.requests if r.stage == "update"]
    assert (
        f"OLD (1 February 2024): {LILLE}" in call.user and f"NEWER (15 February 2024): {GHENT}" in call.user
    )
    changed = method.dump()["notes"][-1]
    assert (changed.note_id, changed.text, changed.message_ids) == ("entry_0000", merged, ("D1:1", "D3:1"))
    context = await method.context(question("Ann lived in Lille and her home town"))
    assert context.retrieved_ids[:2] == ("D1:1", "D3:1")  # found by its new text


async def test_sleep_deletes_a_target():
    method = await lightmem(lambda request: script(request, "delete"))
    items = (await method.context(question("home town"))).items
    assert [item.item_id for item in items] == ["entry_0001", "entry_0002"]
    assert method.dump()["notes"][-1].active is False


async def test_sleep_ignores_a_target_and_says_so():
    method = await lightmem()
    assert [(d.kind, d.subject_id, d.outcome, d.decided_by) for d in method.dump()["decisions"]] == [
        ("extract", "D1:1", "3 facts", "llm"),
        ("update", "entry_0000", "ignore", "llm"),
    ]
    assert len((await method.context(question("home town"))).items) == 3


async def test_below_the_score_nothing_is_asked():
    method = await lightmem(baselines={"lightmem": {"update_score": 0.99}})
    assert "update" not in {r.stage for r in method._tools.chat.requests}


async def test_an_update_without_a_text_leaves_the_target_as_it_is():
    method = await lightmem(lambda request: script(request, "update", " "))
    decision = method.dump()["decisions"][-1]
    assert (decision.outcome, decision.decided_by) == ("ignore", "fallback")
    assert method._book["entry_0000"].text == LILLE


async def test_an_unusable_extraction_costs_only_its_batch():
    def half(request):
        return "Lille!" if "live in Lille" in request.user else script(request)

    method = await lightmem(half, **small_batches())
    decisions = method.dump()["decisions"]
    assert (decisions[0].subject_id, decisions[0].outcome, decisions[0].decided_by) == (
        "D1:1",
        "no facts",
        "fallback",
    )
    assert "not_json" in decisions[0].detail
    assert [note.text for note in method._book] == [CAT, GHENT]


async def test_a_fact_without_a_message_is_refused_and_counted():
    def astray(request):
        facts = [{"source": 99, "fact": "x"}, {"source": 1, "fact": " "}, {"source": 1, "fact": CAT}, "loose"]
        return json.dumps({"facts": facts})

    method = await lightmem(astray)
    assert [note.text for note in method._book] == [CAT]
    assert method.dump()["decisions"][0].detail == "3 refused"


async def test_an_outage_is_no_empty_memory():
    with pytest.raises(ServiceBusy):
        await lightmem(lambda request: ServiceBusy("down"))


async def test_lines_are_dated_and_attributed_and_in_order_of_time():
    context = await (await lightmem()).context(question("What is the home town of Ann?"))
    assert [item.text for item in context.items] == [
        f"[1 February 2024] Ann: {LILLE}",
        f"[8 February 2024] Bo: {CAT}",
        f"[15 February 2024] Ann: {GHENT}",
    ]
    assert context.retrieved_ids[-1] == "D2:2"
    assert context.items[0].score > context.items[1].score


async def test_the_budget_keeps_the_nearest_entry():
    method = await lightmem(memory={"retrieval": {"context_tokens": 20}})
    context = await method.context(question(CAT))
    assert [item.item_id for item in context.items] == ["entry_0001"]
    assert len(context.retrieved_ids) == 3


@pytest.mark.parametrize(("dataset", "expected"), [("locomo", 60), ("longmemeval", 20)])
async def test_as_many_entries_are_retrieved_as_published(dataset, expected):
    def many(request):
        if request.stage == "update":
            return script(request)
        return json.dumps({"facts": [{"source": 1, "fact": f"fact number {n}"} for n in range(80)]})

    method = await lightmem(many, SESSIONS[:1], dataset, memory={"retrieval": {"context_tokens": 9000}})
    assert len((await method.context(question("fact"))).items) == expected


@pytest.mark.parametrize(("assistant", "shown"), [(False, 1), (True, 2)])
async def test_an_assistants_turns_are_left_out_unless_asked_for(assistant, shown):
    tools = tools_for(script)
    method = method_of("lightmem:nocompress", tools, baselines={"lightmem": {"assistant": assistant}})
    await method.ingest(history(["I live in Lille now.", "Nice!"], roles=("user", "assistant")))
    assert len(re.findall(r"^\[\d+\]", tools.chat.requests[0].user, re.M)) == shown


async def test_a_loaded_memory_answers_alike_and_asks_no_model():
    method = await lightmem(lambda request: script(request, "delete"))
    tools = tools_for()
    other = method_of("lightmem:nocompress", tools)
    await other.load(history(*SESSIONS), method.dump())
    asked = question("What is the home town of Ann?")
    assert await other.context(asked) == await method.context(asked)
    assert other.dump() == method.dump()
    assert not tools.chat.requests


@pytest.mark.parametrize("sessions", [(), ([" ", "\u200b"],)])
async def test_of_nothing_said_there_is_no_context(sessions):
    method = await lightmem(sessions=sessions)
    assert method.dump() == {"notes": [], "decisions": []}
    assert not (await method.context(question("home town"))).items


class FirstWords:
    """A compressor that keeps the first words, and whose attention peaks before the third message."""

    def __init__(self):
        self.attended = []

    def compress(self, text, *, rate):
        words = text.split()
        return " ".join(words[: round(rate * len(words))])

    def attention(self, texts):
        self.attended.append(tuple(texts))
        return [1.0, *(0.5 if n == 2 else 0.1 for n in range(2, len(texts)))]


async def test_with_a_compressor_models_read_compressed_messages():
    tools, compressor = tools_for(script), FirstWords()
    method = LightMem(RunConfig(), tools, compressor=compressor)
    assert method.name == "lightmem"
    await method.ingest(history(["one two three four five", "six seven eight nine ten"]))
    assert "[1] Ann: one two three\n[2] Bo: six seven eight\n" in tools.chat.requests[0].user
    assert compressor.attended == [("one two three", "six seven eight")]


@pytest.mark.skipif(importlib.util.find_spec("llmlingua") is not None, reason="the compressor is installed")
def test_without_the_package_the_published_variant_names_the_remedy():
    with pytest.raises(ConfigError, match=r"memsif-ray\[compressor\].*weights.*lightmem:nocompress"):
        method_of("lightmem", tools_for())


def test_a_wrong_setting_is_named():
    with pytest.raises(ConfigError, match=r"baselines\.lightmem: rate"):
        method_of("lightmem:nocompress", tools_for(), baselines={"lightmem": {"rate": 0}})
