"""Pages of small runs, as a reader finds them; numbers are worked out by hand."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from analysis.report.writing import write_report
from memsif_ray.schemas import TABLES
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.storage.tables import encode
from tests.unit.analysis.conftest import complete, small_run, written

METHODS = {"memsif": "rrwr", "naive-rag": "wwww", "memsif:no-ts": "rwwr"}


def table(page: Path, name: str) -> list[list[str]]:
    with (page.parent / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def headings(page: Path) -> list[str]:
    return re.findall(r'<h2 id="s\d+">(.*?)</h2>', page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("report")
    return write_report([written(root, "locomo-1", small_run(METHODS, failed="2"))], root / "out")


def test_the_main_table_puts_the_reference_first_and_adversarial_questions_apart(page):
    header, *rows = table(page, "main")
    assert header == [
        "Method",
        "S-hop",
        "Temp",
        "ACC",
        "F1",
        "Recall",
        "Adv. ACC",
        "Adv. F1",
        "Failed",
        "Unscored",
        "Fallbacks",
    ]
    # q2 (S-hop) failed for all, which is wrong. F1 of a right answer is 1, of a wrong one 0.25.
    assert rows == [
        ["memsif", "50.0", "100.0", "66.7", "75.0", "100.0", "100.0", "100.0", "1", "0", "0"],
        ["memsif:no-ts", "50.0", "0.0", "33.3", "50.0", "100.0", "100.0", "100.0", "1", "0", "0"],
        ["naive-rag", "0.0", "0.0", "0.0", "25.0", "100.0", "0.0", "25.0", "1", "0", "0"],
    ]


def test_best_and_second_best_are_marked_and_ties_share(page):
    html = page.read_text(encoding="utf-8")
    assert html.count('<td class="number best">66.7<') >= 1
    assert html.count('<td class="number second">33.3<') >= 1
    latex = (page.parent / "tables" / "main.tex").read_text(encoding="utf-8")
    assert latex.count(r"\textbf{50.0}") == 2  # S-hop


def test_a_dagger_wants_an_interval_without_zero(write_run, tmp_path):
    # Conversation a: +1 and 0; b: +1. Resamples give 1/2, 2/3 or 1.
    run = write_run("locomo-1", small_run({"memsif": "rrr", "naive-rag": "wrw"}))
    page = write_report([run], tmp_path / "out")
    assert table(page, "main")[2][3] == "33.3†"
    assert table(page, "differences")[1][2] == "+66.7 [+50.0, +100.0]"


def test_differences_have_both_tests(page):
    header, naive = (table(page, "differences")[n] for n in (0, 2))
    row = dict(zip(header, naive, strict=True))
    # Conversation a: +1 and +1; b: 0 (both failed). Resamples give 0, 2/3 or 1.
    assert (row["Method"], row["n"], row["Δ ACC [95 %]"]) == ("naive-rag", "3", "+66.7 [+0.0, +100.0]")
    assert (row["Only ours"], row["Only theirs"], row["p"]) == ("2", "0", "0.500")


def test_ablations_are_losses_against_the_whole_system(page):
    header, whole, variant = table(page, "ablations")
    assert dict(zip(header, whole, strict=True))["Loss in ACC [95 %]"] == "–"
    assert dict(zip(header, variant, strict=True))["Loss in ACC [95 %]"].startswith("+33.3")


def test_costs_are_those_of_table_18(page):
    assert table(page, "costs")[1] == ["memsif", "66.7", "75.0", "100", "0.50"]
    assert table(page, "cost-tokens")[1] == ["memsif", "0", "0", "100", "0", "0", "0.0"]


def test_a_run_with_failures_is_not_complete(page):
    html = page.read_text(encoding="utf-8")
    assert "incomplete: 3 of 12 answers failed (ServiceBusy: no reply)" in html
    assert table(page, "runs")[1][-1] == "incomplete"


def test_work_that_is_not_done_is_listed(write_run, tmp_path):
    rows = small_run({"memsif": "rrrr"})
    whose = {"method": "memsif", "conversation_id": "b", "stage": "build"}
    rows["units"] = [whose | {"status": "done"}, whose | {"status": "failed", "reason": "DataError: empty"}]
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out")
    assert "locomo-1: incomplete: units of work not done: 1" in page.read_text(encoding="utf-8")
    assert table(page, "unfinished")[1:] == [
        ["locomo-1", "memsif", "b", "build", "failed", "DataError: empty"]
    ]


def test_a_failure_tells_what_led_to_it(page):
    html = page.read_text(encoding="utf-8")
    # One of memsif (q2), two of memsif:no-ts (q1, q2), all four of naive-rag.
    assert html.count("<details>") == 7 + 1  # and the configuration
    assert "7 of 7 answers that failed" in html
    for text in (
        "naive-rag · a · S-hop · wrong · What &amp; why 0?",
        "memsif · b · S-hop · failed · What &amp; why 2?",
        "none: ServiceBusy: no reply",
        "D1:1: Ann: I live in &lt;Ghent&gt;.",
        "sufficiency of q0: insufficient by rule, score 0.250 (no facts)",
    ):
        assert text in html


def test_decisions_about_what_memory_made_of_the_evidence_belong_to_the_story(write_run, tmp_path):
    """Of pages, windows, batches and segments: whatever a method decides about, if the evidence is in it."""
    rows = small_run({"memsif": "wrrr", "memoryos": "wrrr", "simplemem": "wrrr", "mem0": "wrrr"})
    held = {"conversation_id": "a", "message_ids": ["D1:0", "D1:1"]}
    rows["segments"] = [{**held, "method": "memsif", "segment_id": "seg_0003"}]
    rows["notes"] = [
        {**held, "method": "memoryos", "note_id": "page_0007"},
        {**held, "method": "memoryos", "note_id": "page_0008", "message_ids": ["D1:2"]},
        {**held, "method": "simplemem", "note_id": "window_0002_01"},
        {**held, "method": "mem0", "note_id": "m0-0001"},
    ]
    about = [
        ("memsif", "trajectory", "seg_0003"),
        ("memsif", "boundary", "D1:0"),
        ("memoryos", "chain", "page_0007"),
        ("memoryos", "chain", "page_0008"),
        ("simplemem", "statements", "window_0002"),
        ("mem0", "update", "Ann/m0-0001"),
        ("mem0", "extract", "Ann/D1:0"),
    ]
    rows["decisions"] = [
        {"method": m, "conversation_id": c, "kind": kind, "subject_id": subject, "outcome": f"done in {c}"}
        for m, kind, subject in about
        for c in "ab"
    ]
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out").read_text(encoding="utf-8")
    told = re.findall(r"(\w+ of [\w/:-]+): done in (\w)", page)
    assert told == [
        *[("trajectory of seg_0003", "a"), ("boundary of D1:0", "a")],
        *[("update of Ann/m0-0001", "a"), ("extract of Ann/D1:0", "a")],
        ("chain of page_0007", "a"),
        ("statements of window_0002", "a"),
    ]


def test_failures_are_bounded_with_their_total(write_run, tmp_path):
    run = write_run("locomo-1", small_run({"memsif": "wwww", "naive-rag": "wwww"}))
    html = write_report([run], tmp_path / "out", failures_shown=1).read_text(encoding="utf-8")
    assert html.count("<details>") == 2 + 1
    assert "2 of 8 answers" in html


@pytest.mark.parametrize(
    ("rows", "sections"),
    [
        (small_run({"memsif": "rwrr"}), ["Accuracy", "Cost", "Failures", "Provenance"]),
        (
            small_run(METHODS, graded=False),
            [*("Accuracy", "Significance", "Cost", "Ablations"), "Failures", "Provenance"],
        ),
        (small_run({"memsif": "wwww"}, failed="0123"), ["Accuracy", "Cost", "Failures", "Provenance"]),
        (small_run({}), ["Results", "Failures", "Provenance"]),
        ({}, ["Results", "Failures", "Provenance"]),
    ],
    ids=["one method", "no judge", "failures only", "no questions", "nothing"],
)
def test_a_run_that_lacks_something_has_a_page_all_the_same(write_run, tmp_path, rows, sections):
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out")
    assert headings(page) == sections
    assert not re.search(r">\s*(nan|None|null)\b", page.read_text(encoding="utf-8"))


def test_without_a_judge_accuracy_is_absent_not_zero(write_run, tmp_path):
    page = write_report([write_run("locomo-1", small_run(METHODS, graded=False))], tmp_path / "out")
    row = dict(zip(*table(page, "main")[:2], strict=True))
    assert (row["ACC"], row["F1"], row["Unscored"]) == ("–", "75.0", "4")
    assert "there is no ACC" in page.read_text(encoding="utf-8")
    assert not (page.parent / "figures" / "accuracy-by-category.svg").exists()
    assert (page.parent / "figures" / "f1-by-category.svg").exists()


def test_a_method_that_is_partly_graded_is_named_and_one_that_hardly_is_has_no_accuracy(write_run, tmp_path):
    rows = small_run({"memsif": "rrrr", "mem0": "rrwr", "gam": "rrrr"}, failed="0")
    for verdict in rows["verdicts"]:
        if (verdict["method"], verdict["question_id"]) in [("mem0", "q1"), ("gam", "q1"), ("gam", "q2")]:
            verdict["outcome"] = None
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out")
    header, *told = table(page, "main")
    found = {row[0]: dict(zip(header, row, strict=True)) for row in told}
    assert {name: row["ACC"] for name, row in found.items()} == {"memsif": "66.7", "gam": "–", "mem0": "0.0"}
    assert (found["gam"]["Adv. ACC"], found["gam"]["Unscored"]) == ("100.0", "2")
    html = page.read_text(encoding="utf-8")
    assert "Answers of gam (2), mem0 (1) have no verdict" in html
    assert "mem0 · b · S-hop · wrong" in html  # what was judged wrong is told all the same


def test_one_conversation_has_differences_without_an_interval_and_a_reason(write_run, tmp_path):
    rows = small_run({"memsif": "rr", "naive-rag": "ww"})
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out")
    row = dict(zip(*table(page, "differences"), strict=True))
    assert row["Δ ACC [95 %]"] == "+100.0"
    assert row["Without interval because"].startswith("one conversation only")
    assert table(page, "main")[2][3] == "0.0"  # no dagger


def test_one_question_of_longmemeval_is_named_as_such(write_run, tmp_path):
    rows = small_run({"memsif": "r", "naive-rag": "w"}, dataset="longmemeval")
    page = write_report([write_run("longmemeval-1", rows)], tmp_path / "out")
    row = dict(zip(*table(page, "differences"), strict=True))
    assert row["Without interval because"] == "one question only: nothing to resample"


def test_runs_of_different_settings_stand_side_by_side(write_run, tmp_path):
    runs = [
        write_run(
            f"locomo-{budget}",
            small_run({"memsif": outcomes, "naive-rag": "wwww"}),
            {"packing": {"budget": budget}, "execution": {"shards": budget}},
        )
        for budget, outcomes in ((512, "wrwr"), (1024, "rrwr"))
    ]
    page = write_report(runs, tmp_path / "out")
    assert [row[0] for row in table(page, "main")[1:]] == [
        "memsif [budget=512]",
        "memsif [budget=1024]",
        "naive-rag [budget=512]",
        "naive-rag [budget=1024]",
    ]
    assert table(page, "sensitivity-memsif")[:3] == [
        ["Run", "packing.budget", "ACC", "F1", "Recall", "Tokens"],
        ["memsif [budget=512]", "512", "33.3", "50.0", "100.0", "100"],
        ["memsif [budget=1024]", "1024", "66.7", "75.0", "100.0", "100"],
    ]
    curve = (page.parent / "figures" / "budget-packing-budget.svg").read_text(encoding="utf-8")
    assert ">512<" in curve and ">1,024<" in curve and ">naive-rag<" in curve


def test_two_datasets_are_never_mixed(write_run, tmp_path):
    runs = [write_run(f"{name}-1", small_run(METHODS, dataset=name)) for name in ("locomo", "longmemeval")]
    page = write_report(runs, tmp_path / "out")
    assert headings(page)[0] == "Accuracy on locomo"
    assert table(page, "main-locomo")[1][0] == table(page, "main-longmemeval")[1][0] == "memsif"
    # Questions are resampled within categories there: q1 alone of Temp is always +1.
    assert table(page, "differences-locomo") != table(page, "differences-longmemeval")


def test_judge_profiles_stand_beside_each_other_and_one_is_chosen(write_run, tmp_path):
    rows = small_run({"memsif": "rwwr"})
    rows["verdicts"] += [v | {"profile": "lenient", "outcome": "right"} for v in rows["verdicts"]]
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out", profile="lenient")
    assert table(page, "judges") == [
        ["Method", "lenient", "memsif", "lenient, Adv.", "memsif, Adv."],
        ["memsif", "100.0", "33.3", "100.0", "100.0"],
    ]
    assert table(page, "main")[1][3] == "100.0"


def test_later_gradings_of_a_run_are_read_too(write_run, tmp_path):
    run = write_run("locomo-1", small_run({"memsif": "rwwr"}))
    rows = [
        complete("verdicts", v | {"profile": "lenient", "outcome": "right"})
        for v in small_run({"memsif": "rwwr"})["verdicts"]
    ]
    later = SealedFolder(run / "grades" / "lenient" / "tables", run / "grades" / "lenient" / "manifest.json")
    later.write({"verdicts": [encode(rows, TABLES["verdicts"])]}, {})
    page = write_report([run], tmp_path / "out")
    assert table(page, "judges")[1] == ["memsif", "100.0", "33.3", "100.0", "100.0"]
    assert table(page, "main")[1][3] == "33.3"  # the run's own profile


def test_judge_tokens_and_prompts_are_those_of_the_verdicts_shown(write_run, tmp_path):
    rows = small_run({"memsif": "rwwr"})
    judged = rows["calls"][0] | {"stage": "judge", "model": "own", "prompt_id": "judge_memsif"}
    rows["calls"].append(judged | {"prompt_tokens": 400, "completion_tokens": 0})
    run = write_run("locomo-1", rows)
    lenient = [complete("verdicts", v | {"profile": "lenient"}) for v in rows["verdicts"]]
    call = judged | {"model": "other", "prompt_id": "judges/lenient", "prompt_tokens": 4000}
    tables = {
        "verdicts": [encode(lenient, TABLES["verdicts"])],
        "calls": [encode([complete("calls", call | {"completion_tokens": 0})], TABLES["calls"])],
    }
    later = SealedFolder(run / "grades" / "lenient" / "tables", run / "grades" / "lenient" / "manifest.json")
    later.write(tables, {"profile": "lenient", "complete": False})
    for profile, tokens in (("memsif", "100"), ("lenient", "1,000")):  # of four questions
        page = write_report([run], tmp_path / profile, profile=profile)
        assert table(page, "cost-tokens")[1][4] == tokens
    stages = [(row[0].rpartition(": ")[2], row[1], row[2]) for row in table(page, "prompts")]
    assert ("locomo-1", "judge", "own") in stages and ("lenient", "judge", "other") in stages
    assert "the grading lenient lacks verdicts" in page.read_text()


def test_replies_that_could_not_be_used_are_counted_though_nothing_failed(write_run, tmp_path):
    rows = small_run({"memsif": "rwwr", "mem0": "rrrr"})
    lost = {"method": "mem0", "conversation_id": "a", "run": 0}
    for outcome in ("ok", "invalid:truncated", "invalid:truncated", "invalid:truncated"):
        rows["calls"].append({**lost, "stage": "extract", "model": "m", "outcome": outcome})
    rows["decisions"].append({**lost, "kind": "extract", "subject_id": "s", "decided_by": "fallback"})
    ours = {"method": "memsif", "conversation_id": "a"}
    for outcome in ("2 facts", "failed"):
        rows["decisions"].append({**ours, "kind": "extract", "outcome": outcome, "decided_by": "llm"})
    rows["fact_operations"] = [
        {**ours, "seq": n, "track": "core", "op": "Reject", "decided_by": by}
        for n, by in enumerate(("llm", "fallback", "rule"))
    ]
    page = write_report([write_run("locomo-1", rows)], tmp_path / "out")
    assert table(page, "unusable-replies")[1:] == [["mem0", "extract", "4", "3", "75.0"]]
    assert table(page, "fallbacks")[1:] == [
        ["memsif", "core facts", "3", "1", "33.3"],
        ["memsif", "extract", "2", "1", "50.0"],
        ["mem0", "extract", "1", "1", "100.0"],
    ]
    assert [row[-1] for row in table(page, "main")] == ["Fallbacks", "2", "1"]
    assert (page.parent / "tables" / "fallbacks.tex").exists()


def test_another_reference_or_the_first_method_if_it_never_ran(write_run, tmp_path):
    run = write_run("locomo-1", small_run({"bm25": "rrrr", "hybrid": "wwww"}))
    assert table(write_report([run], tmp_path / "a", reference="hybrid"), "main")[1][0] == "hybrid"
    assert table(write_report([run], tmp_path / "b"), "main")[1][0] == "bm25"


def test_the_same_runs_give_the_same_bytes(write_run, tmp_path):
    run = write_run("locomo-1", small_run(METHODS))
    pages = [write_report([run], tmp_path / place).read_bytes() for place in ("a", "b")]
    assert pages[0] == pages[1]


def test_provenance_names_models_prompts_and_data(page):
    assert table(page, "prompts")[1] == ["locomo-1", "answer", "m", "answer", "–", "12"]
    header, *rows = table(page, "data")
    assert [row[1] for row in rows] == ["conversations", "gold", "messages", "questions"]
    assert all(re.fullmatch("[0-9a-f]{64}", row[3]) for row in rows)


def test_provenance_names_the_file_that_was_read(tmp_path):
    run = written(tmp_path, "locomo-1", small_run(METHODS))
    mark = run / "manifest.json"
    data = {"source": "locomo10.json", "sha256": "ab" * 32, "release": "LoCoMo", "settings": "0"}
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "data": data}))
    first = table(write_report([run], tmp_path / "out"), "data")[1]
    assert first == ["locomo-1", "locomo10.json (LoCoMo)", "–", "ab" * 32]
