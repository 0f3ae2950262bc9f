import json

import pytest


def test_the_summary_names_what_failed(memsif, finished):
    result = memsif("show")
    assert result.exit_code == 0
    assert "memsif" in result.stdout and "S-hop 2 (2 scored)" in result.stdout
    assert "failed: question memsif q1: ServiceBusy: no reply within 20 s" in result.stdout


def test_the_summary_as_json_is_one_document(memsif, finished):
    plain = json.loads(memsif("show", "locomo-abc", "--json").stdout)
    assert plain["folder"] == str(finished)
    assert [failure["what"] for failure in plain["failures"]] == ["ask", "question"]
    assert {row["category"] for row in plain["summary"]["scores"]} == {"S-hop", "Total"}


def test_a_story_tells_everything_about_one_question(memsif, finished):
    story = json.loads(memsif("show", finished, "--question", "q0", "--json").stdout)
    (attempt,) = story["attempts"]
    assert story["gold"]["evidence"][0]["text"] == "I live in [bold]Ghent[/bold]."
    assert attempt["decisions"][0]["outcome"] == "insufficient"
    assert [(unit["message_id"], unit["is_gold"]) for unit in attempt["retrieved"]] == [
        ("D1:2", False),
        ("D1:1", True),
    ]
    assert attempt["context"][0]["item_id"] == "ev_000"
    assert [call["stage"] for call in attempt["calls"]] == ["answer", "judge"]
    assert attempt["verdict"]["outcome"] == "right"
    assert [op["fact_id"] for op in attempt["changes"]["fact_operations"]] == ["active_00000"]
    assert attempt["changes"]["clusters"][0]["promoted_fact_id"] == "active_00000"


def test_a_story_for_a_person_shows_texts_as_they_are(memsif, finished):
    shown = memsif("show", "latest", "-q", "q0", "-m", "memsif").stdout
    assert "I live in [bold]Ghent[/bold]." in shown
    for part in (
        "Where does Ann live?",
        "sufficiency",
        "insufficient by rule, score 0.25",
        "GOLD",
        "Promote",
    ):
        assert part in shown


def test_a_question_without_answer_has_a_story_too(memsif, finished):
    shown = memsif("show", "-q", "q1").stdout
    assert "none: ServiceBusy: no reply within 20 s" in shown
    assert "not graded" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("other",), "names no runs in runs; there is locomo-abc123"),
        (("-q", "q9"), "no question 'q9'; its first are q0, q1"),
        (("-q", "q0", "-m", "naive-rag"), "naive-rag was asked"),
    ],
)
def test_what_is_not_there_is_named(memsif, finished, arguments, said):
    result = memsif("show", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_an_ambiguous_beginning_is_refused(memsif, finished):
    (finished.parent / "locomo-abd000").mkdir()
    result = memsif("show", "locomo-ab")
    assert result.exit_code == 2 and "names 2 runs" in result.stderr


def test_a_run_without_tables_says_how_to_finish_it(memsif, finished):
    (finished / "manifest.json").unlink()
    assert "bring it to its end with `memsif run" in memsif("show", finished).stderr
    assert "no run in runs has tables yet" in memsif("show").stderr
