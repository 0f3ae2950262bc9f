"""SimpleMem: overlapping windows, statements with sources, planned queries, a filter, reflection."""

from datetime import datetime

import pytest

from memsif_ray.methods.simplemem.search import Conditions, Statement
from memsif_ray.types import Context, Note
from tests.unit.methods.by_prompt import asked, by_prompt, stored
from tests.unit.methods.small_histories import history, method_of, question, tools_for

TALK = [
    "I adopted a beagle called Biscuit.",
    "I play the oboe.",
    "Last week I flew to Ghent.",
    "I bought a kayak in Lyon.",
]
PLAN = {"needs": ["the dog"], "queries": ["adopted a beagle called Biscuit"]}
NO_FILTER = {"keywords": [], "persons": [], "location": "", "entities": [], "time": ""}
COMPLETE = {"complete": True, "queries": []}
ONE_EACH = {"dense_top_k": 1, "keyword_top_k": 1, "structured_top_k": 1}


def statement(text, *messages, **fields):
    plain = {"keywords": [], "time": "", "location": "", "persons": [], "entities": [], "topic": ""}
    return {"statement": text, "messages": list(messages), **plain, **fields}


READ = {
    "statements": [
        statement("Ann adopted a beagle called Biscuit.", 1, persons=["Ann Lee"]),
        statement("Bo plays the oboe.", 2, persons=["Bo"]),
        statement("Ann flew to Ghent.", 3, keywords=["plane", "trip"], time="2024-01-25T00:00:00"),
        statement("Bo bought a kayak in Lyon.", 4, location="Lyon, France"),
    ]
}


async def built(*sessions, settings=None, **replies):
    script = {"statements": READ, "plan": PLAN, "analyse": NO_FILTER, "complete": COMPLETE} | replies
    tools = tools_for(by_prompt(**script))
    method = method_of("simplemem", tools, baselines={"simplemem": settings or {}})
    await method.ingest(history(*(sessions or (TALK,))))
    return method, tools


def lines_of(prompt):
    return prompt.partition("<window>\n")[2].partition("\n</window>")[0].splitlines()


def found(context):
    return {mid for item in context.items for mid in item.message_ids}


async def test_windows_of_forty_overlap_by_two():
    texts = [f"message number {n}" for n in range(1, 80)]
    _, tools = await built(texts, statements={"statements": []})
    first, second, third = map(lines_of, asked(tools, "statements"))
    assert [len(window) for window in (first, second, third)] == [40, 40, 3]
    assert first[-2:] == [
        "[39] [1 February 2024] Ann: message number 39",
        "[40] [1 February 2024] Bo: message number 40",
    ]
    assert second[0] == "[1] [1 February 2024] Ann: message number 39"
    assert [line.rpartition(" ")[2] for line in third] == ["77", "78", "79"]


async def test_a_window_that_repeats_everything_is_not_read():
    _, tools = await built(["one kite"] * 40, statements={"statements": []})
    assert len(asked(tools, "statements")) == 1


async def test_the_first_three_statements_of_the_window_before_are_shown():
    _, tools = await built(["a kite"] * 100)
    first, second, third = asked(tools, "statements")
    assert "- " not in first.partition("<window>")[0]
    for prompt in (second, third):
        shown = prompt.partition("</memory>")[0]
        assert shown.count("- ") == 3 and "Ghent" in shown and "kayak" not in shown


async def test_statements_keep_their_sources_and_what_the_model_knows_of_them():
    method, _ = await built()
    notes = method.dump()["notes"]
    assert [note.message_ids for note in notes] == [("D1:1",), ("D1:2",), ("D1:3",), ("D1:4",)]
    assert notes[2].tags == ("plane", "trip")
    assert notes[2].timestamp == datetime(2024, 2, 1, 9) and '"2024-01-25T00:00:00"' in notes[2].detail


async def test_a_statement_without_usable_numbers_rests_on_the_closest_message_or_is_refused():
    odd = [
        statement("Bo plays the oboe.", 9),
        statement("Quantum chromodynamics.", 0),
        statement(" ", 1),
        "no object",
        statement("Ann has a dog.", 1, 1, True, "2"),
    ]
    method, _ = await built(statements={"statements": odd})
    assert [note.message_ids for note in method.dump()["notes"]] == [("D1:2",), ("D1:1",)]
    (decision,) = method.dump()["decisions"]
    assert (decision.outcome, decision.detail) == ("2 statements", "3 refused")


async def test_an_unusable_window_is_kept_verbatim_and_costs_no_other():
    method, _ = await built(
        [f"kite {n}" for n in range(1, 7)],
        settings={"window": 4, "overlap": 2},
        statements=lambda request: None if "kite 5" in request.user else {"statements": []},
    )
    assert [(d.subject_id, d.outcome, d.decided_by) for d in method.dump()["decisions"]] == [
        ("window_0001", "0 statements", "llm"),
        ("window_0002", "verbatim", "fallback"),
    ]
    # What it repeats of the window before had its chance there.
    assert [(n.text, n.message_ids) for n in method.dump()["notes"]] == [
        ("Ann: kite 5", ("D1:5",)),
        ("Bo: kite 6", ("D1:6",)),
    ]


async def test_the_union_of_all_searches_holds_each_statement_once():
    analysis = NO_FILTER | {"keywords": ["trip"], "location": "Lyon"}
    method, tools = await built(analyse=analysis, settings=ONE_EACH)
    context = await method.context(question("Who plays the oboe?"))
    # The question, the plan's query, the keyword (a tag only) and the location find one statement each.
    assert sorted(item.message_ids for item in context.items) == [("D1:1",), ("D1:2",), ("D1:3",), ("D1:4",)]
    assert context.retrieved_ids[0] in {"D1:1", "D1:2"}
    (shown,) = asked(tools, "complete")
    order = [shown.index(word) for word in ("oboe.", "beagle", "Ghent", "kayak")]
    assert order == sorted(order)


async def test_lines_are_dated_as_evidence_is():
    method, _ = await built(settings=ONE_EACH, plan={"needs": [], "queries": []})
    context = await method.context(question("Who plays the oboe?"))
    assert context.text == "[1 February 2024] Bo plays the oboe."


async def test_without_a_condition_nothing_is_filtered():
    method, _ = await built(settings=ONE_EACH, plan={"needs": [], "queries": []})
    assert found(await method.context(question("Who plays the oboe?"))) == {"D1:2"}


@pytest.mark.parametrize(
    ("conditions", "holds"),
    [
        (Conditions(persons=("ann", "Zoe")), True),
        (Conditions(persons=("Zoe",)), False),
        (Conditions(persons=("Ann",), location="Ghent"), True),
        (Conditions(persons=("Ann",), location="Lyon"), False),
        (Conditions(entities=("Ryanair",)), False),
        (Conditions(period=(datetime(2024, 1, 25), datetime(2024, 1, 26))), True),
        (Conditions(period=(datetime(2024, 2, 1), datetime(2024, 2, 2))), False),
    ],
)
def test_all_kinds_of_conditions_must_hold(conditions, holds):
    one = Statement(
        Note("n", "statement", "Ann flew to Ghent."),
        said_at=datetime(2024, 2, 1, 9),
        happened_at=datetime(2024, 1, 25),
        location="Ghent, Belgium",
        persons=("Ann Lee",),
        entities=("KLM",),
    )
    assert conditions and conditions.hold_of(one) is holds


@pytest.mark.parametrize(
    ("time", "ids"),
    [
        ("in the week of 1 February 2024", {"D1:2", "D1:3", "D1:1", "D1:4"}),  # 25 January is seven days away
        ("on 1 February 2024", {"D1:1", "D1:2", "D1:4"}),
        ("25 January 2024", {"D1:2", "D1:3"}),
        ("in May 2019", {"D1:2"}),
    ],
)
async def test_a_week_is_widened_by_seven_days_on_both_sides(time, ids):
    method, _ = await built(
        analyse=NO_FILTER | {"time": time},
        plan={"needs": [], "queries": []},
        settings={"dense_top_k": 1},
    )
    assert found(await method.context(question("Who plays the oboe?"))) == ids


async def test_reflection_searches_for_what_is_missing_twice_at_most():
    rounds = iter(["adopted a beagle", "flew to Ghent", "a kayak in Lyon"])
    method, tools = await built(
        settings=ONE_EACH,
        plan={"needs": [], "queries": []},
        complete=lambda request: {"complete": False, "queries": [next(rounds)]},
    )
    context = await method.context(question("Who plays the oboe?"))
    assert found(context) == {"D1:2", "D1:1", "D1:3"}
    assert [d.outcome for d in context.decisions if d.kind == "complete"] == ["search on", "search on"]


@pytest.mark.parametrize(
    ("reply", "by"),
    [
        (COMPLETE | {"queries": ["adopted a beagle"]}, "llm"),
        ({"complete": False, "queries": []}, "llm"),
        ("?", "fallback"),
    ],
)
async def test_reflection_ends_when_nothing_is_wanted(reply, by):
    method, tools = await built(settings=ONE_EACH, plan={"needs": [], "queries": []}, complete=reply)
    context = await method.context(question("Who plays the oboe?"))
    assert found(context) == {"D1:2"}
    assert [d.decided_by for d in context.decisions if d.kind == "complete"] == [by]


async def test_reflection_ends_when_a_search_finds_nothing_new():
    method, tools = await built(
        settings=ONE_EACH,
        plan={"needs": [], "queries": []},
        complete={"complete": False, "queries": ["plays oboe"]},
    )
    await method.context(question("Who plays the oboe?"))
    assert len(asked(tools, "complete")) == 1


async def test_unusable_planning_leaves_the_question_itself():
    method, _ = await built(settings=ONE_EACH, plan="?", analyse="?")
    context = await method.context(question("Who plays the oboe?"))
    assert found(context) == {"D1:2"}
    assert [(d.kind, d.outcome, d.decided_by) for d in context.decisions[:2]] == [
        ("plan", "question only", "fallback"),
        ("analyse", "question only", "fallback"),
    ]


async def test_a_restored_memory_gives_the_same_context():
    analysis = NO_FILTER | {"keywords": ["trip"], "location": "Lyon"}
    method, _ = await built(analyse=analysis)
    expected = await method.context(question("Who plays the oboe?"))
    tools = tools_for(by_prompt(plan=PLAN, analyse=analysis, complete=COMPLETE))
    other = method_of("simplemem", tools)
    await other.load(history(TALK), stored(method.dump()))
    assert tools.chat.requests == []
    assert await other.context(question("Who plays the oboe?")) == expected
    assert other.dump() == method.dump()


@pytest.mark.parametrize("session", [[], [" ", "\u200b"]])
async def test_nothing_said_is_nothing_known(session):
    method, tools = await built(session)
    assert await method.context(question("Which dog?")) == Context(())
    assert tools.chat.requests == []


async def test_a_blank_question_finds_nothing():
    method, _ = await built()
    assert await method.context(question("\u2009")) == Context(())
