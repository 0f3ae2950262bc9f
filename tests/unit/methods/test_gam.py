"""GAM: abstracts in sight of earlier ones, planned tools, pages read once, findings, reflection that ends."""

import pytest

from memsif_ray.methods.room import room
from memsif_ray.types import Context
from tests.unit.methods.by_prompt import asked, by_prompt, stored
from tests.unit.methods.small_histories import history, method_of, question, tools_for

SESSIONS = (
    ["I adopted a beagle called Biscuit.", "A beagle, congratulations!", "\u200b"],
    ["My oboe lesson is on Friday.", "Good luck!"],
    ["We fly to Ghent tomorrow.", "Enjoy the canals."],
)
ALL_PAGES = {"needs": ["what"], "tools": ["page"], "keywords": [], "queries": [], "pages": [1, 2, 3]}
FOUND = {"findings": [{"statement": "Ann adopted a beagle called Biscuit.", "pages": [1]}]}
ENOUGH = {"enough": True, "requests": []}
MORE = {"enough": False, "requests": ["when was it", "who came"]}


def abstract(request):
    date = request.user.partition('date="')[2].partition(" 2024")[0]
    return f"Abstract of {date}"


async def built(sessions=SESSIONS, *, settings=None, **replies):
    script = {"abstract": abstract, "plan": ALL_PAGES, "integrate": FOUND, "reflect": ENOUGH} | replies
    tools = tools_for(by_prompt(**script))
    method = method_of("gam", tools, baselines={"gam": settings or {}})
    await method.ingest(history(*sessions))
    return method, tools


async def test_an_abstract_is_written_in_sight_of_all_earlier_ones():
    method, tools = await built()
    first, second, third = asked(tools, "abstract")
    assert "Abstract of" not in first and "\u200b" not in first
    assert "[1] 1 February 2024: Abstract of 1 February" in second and "[2]" not in second
    assert "[1] 1 February 2024:" in third and "[2] 8 February 2024: Abstract of 8 February" in third
    pages = method.dump()["notes"]
    assert [(page.note_id, page.message_ids) for page in pages] == [
        ("page_0001", ("D1:1", "D1:2")),
        ("page_0002", ("D2:1", "D2:2")),
        ("page_0003", ("D3:1", "D3:2")),
    ]


async def test_only_chosen_tools_search_and_a_page_found_twice_is_read_once():
    plan = {
        "needs": [],
        "tools": ["page", "keyword"],
        "keywords": ["oboe"],
        "queries": ["a beagle called Biscuit"],
        "pages": [2, 3, 9],
    }
    method, tools = await built(plan=plan)
    context = await method.context(question("What happened?"))
    (read,) = asked(tools, "integrate")
    assert [read.index(f"<page>[{n}]") > 0 for n in (2, 3)] == [True, True]
    assert read.count("<page>") == 2
    # The finding cites page 1, which nobody opened: it rests on what was read, and shares no word with it.
    assert context.retrieved_ids == ("D2:1", "D2:2", "D3:1", "D3:2")
    assert context.items[0].message_ids == ()


async def test_vector_search_takes_the_pages_nearest_to_all_queries_together():
    plan = {
        "needs": [],
        "tools": ["vector"],
        "keywords": [],
        "queries": ["We fly to Ghent tomorrow. Enjoy the canals.", "Tomorrow we fly to the canals of Ghent."],
        "pages": [1],
    }
    for top_k, pages in ((1, ["[3]"]), (2, ["[3]", "[2]"])):
        method, tools = await built(plan=plan, settings={"vector_top_k": top_k})
        await method.context(question("Where to?"))
        (read,) = asked(tools, "integrate")
        assert read.count("<page>") == len(pages) and f"<page>{pages[0]} Abstract" in read


async def test_a_chosen_tool_without_words_searches_for_the_request():
    plan = {"needs": [], "tools": ["keyword"], "keywords": [], "queries": [], "pages": []}
    method, tools = await built(plan=plan)
    await method.context(question("When is the oboe lesson?"))
    (read,) = asked(tools, "integrate")
    assert read.count("<page>") == 1 and "<page>[2]" in read


async def test_a_finding_is_dated_and_names_the_messages_it_came_from():
    method, _ = await built()
    context = await method.context(question("Which dog?"))
    (item,) = context.items
    assert (item.kind, item.text) == ("finding", "[1 February 2024] Ann adopted a beagle called Biscuit.")
    assert item.message_ids == ("D1:1", "D1:2")
    assert context.retrieved_ids[:2] == ("D1:1", "D1:2") and len(context.retrieved_ids) == 6


async def test_research_ends_when_the_findings_suffice():
    rounds = iter([MORE, ENOUGH])
    method, tools = await built(reflect=lambda request: next(rounds))
    context = await method.context(question("Which dog?"))
    plans, reads = asked(tools, "plan"), asked(tools, "integrate")
    assert (len(plans), len(reads), len(asked(tools, "reflect"))) == (2, 2, 2)
    assert "<question>Which dog?</question>" in plans[0]
    assert "<question>when was it who came</question>" in plans[1]
    assert "Biscuit. (pages 1)" in reads[1] and "(pages" not in reads[0]
    assert [d.outcome for d in context.decisions if d.kind == "reflect"] == ["go on", "enough"]


async def test_research_ends_after_three_rounds():
    method, tools = await built(reflect=MORE)
    await method.context(question("Which dog?"))
    assert [len(asked(tools, name)) for name in ("plan", "integrate", "reflect")] == [3, 3, 2]


async def test_what_integrates_to_nothing_leaves_earlier_findings():
    replies = iter([FOUND, {"findings": []}, {"findings": [{"statement": " "}, 7]}])
    method, _ = await built(reflect=MORE, integrate=lambda request: next(replies))
    context = await method.context(question("Which dog?"))
    assert [item.text for item in context.items] == ["[1 February 2024] Ann adopted a beagle called Biscuit."]


async def test_an_unusable_abstract_costs_only_its_session():
    method, tools = await built(
        abstract=lambda request: None if 'date="8 February' in request.user else abstract(request)
    )
    decisions = method.dump()["decisions"]
    assert [(d.subject_id, d.outcome, d.decided_by) for d in decisions] == [
        ("page_0001", "written", "llm"),
        ("page_0002", "excerpt", "fallback"),
        ("page_0003", "written", "llm"),
    ]
    assert "no_content" in decisions[1].detail
    assert "[2] 8 February 2024: Ann: My oboe lesson is on Friday." in asked(tools, "abstract")[-1]


async def test_an_unusable_plan_searches_with_the_question_and_unusable_findings_are_messages():
    method, _ = await built(plan="?", integrate="?", reflect="?")
    context = await method.context(question("What is the beagle called?"))
    assert [(d.kind, d.outcome, d.decided_by) for d in context.decisions] == [
        ("plan", "keyword, vector", "fallback"),
        ("integrate", "kept", "fallback"),
        ("reflect", "stop", "fallback"),
    ]
    # Both messages say "beagle"; "Biscuit" is called so in the first.
    assert [item.message_ids for item in context.items] == [("D1:1",), ("D1:2",)]
    assert context.items[0].text == "[1 February 2024] Ann: I adopted a beagle called Biscuit."


async def test_a_restored_memory_gives_the_same_context():
    method, _ = await built()
    expected = await method.context(question("Which dog?"))
    tools = tools_for(by_prompt(plan=ALL_PAGES, integrate=FOUND, reflect=ENOUGH))
    other = method_of("gam", tools)
    await other.load(history(*SESSIONS), stored(method.dump()))
    assert tools.chat.requests == []
    assert await other.context(question("Which dog?")) == expected
    assert other.dump() == method.dump()


@pytest.mark.parametrize("sessions", [(), ([" ", "\u200b"],)])
async def test_nothing_said_is_nothing_known(sessions):
    method, tools = await built(sessions)
    assert await method.context(question("Which dog?")) == Context(())
    assert tools.chat.requests == []


async def test_a_blank_question_finds_nothing():
    method, _ = await built()
    assert await method.context(question(" ")) == Context(())


async def test_prompts_stay_inside_the_window():
    tools = tools_for(by_prompt(abstract=abstract, plan=ALL_PAGES, integrate=FOUND, reflect=ENOUGH))
    settings = {"model": {"context_window": 2048}, "baselines": {"gam": {"research_tokens": 256}}}
    method = method_of("gam", tools, **settings)
    await method.ingest(history(*(["kite " * 3000, "boat " * 3000] for _ in range(3))))
    await method.context(question("Which dog?"))
    count = tools.tokens.count
    assert all(count(r.system) + count(r.user) + r.max_tokens <= 2048 for r in tools.chat.requests)
    (read,) = asked(tools, "integrate")
    assert read.count("<page>") == 3 and count(read) > room(2048, reply=256) / 2
