from __future__ import annotations

import io
import json
from dataclasses import fields
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from analysis.rendering import render_text, to_markdown
from analysis.tables import read_summary, summarise
from memsif_ray.clients.ledger import Call
from memsif_ray.schemas import ANSWERS, CALLS, VERDICTS
from tests.unit.analysis.conftest import small_run

CATEGORY = {"a1": "S-hop", "a2": "M-hop", "a3": "Adv", "b1": "S-hop"}


def _answer(method: str, question: str, run: int = 0, **changes) -> dict:
    row = {
        "run": run,
        "method": method,
        "conversation_id": question[0],
        "question_id": question,
        "question_index": int(question[1]),
        "order": int(question[1]),
        "category": CATEGORY[question],
        "question": "?",
        "answer": "something",
        "error": "",
        "gold_answer": "gold",
        "gold_evidence": ["D1:1"],
        "context": "",
        "context_tokens": 0,
        "context_items": 0,
        "context_message_ids": [],
        "retrieved_ids": [],
        "seconds": 0.5,
    }
    return row | changes


def _verdict(method: str, question: str, outcome: str | None, run: int = 0, **changes) -> dict:
    row = {
        "run": run,
        "method": method,
        "question_id": question,
        "profile": "memsif",
        "outcome": outcome,
        "reason": "",
        "f1": 0.5,
        "evidence_recall": 1.0,
        "abstained": False,
        "date_match": None,
    }
    return row | changes


def _call(
    method: str, stage: str, tokens: tuple[int | None, int | None], latency_s: float, **changes
) -> dict:
    row = {
        "call_key": "k",
        "occurrence": 0,
        "stage": stage,
        "method": method,
        "conversation_id": "a",
        "question_id": "",
        "run": 0,
        "model": "m",
        "prompt_id": "",
        "prompt_fingerprint": "",
        "texts": 0,
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[1],
        "latency_s": latency_s,
        "finish_reason": "stop",
        "outcome": "ok",
        "attempts": 1,
        "error": "",
        "content": "",
    }
    return row | changes


RUN = {
    "answers": (
        ANSWERS,
        [
            *[_answer("memsif", q, run) for q in CATEGORY for run in (0, 1)],
            *[_answer("naive-rag", q, seconds=s) for q, s in (("a1", 0.2), ("a2", 0.5), ("a3", 0.8))],
            _answer("naive-rag", "b1", answer=None, error="ServiceBusy: time-out", seconds=9.0),
        ],
    ),
    "verdicts": (
        VERDICTS,
        [
            _verdict("memsif", "a1", "right", 0),
            _verdict("memsif", "a1", "wrong", 1),
            _verdict("memsif", "a2", "right", 0, f1=None, evidence_recall=None),
            _verdict("memsif", "a2", "invalid", 1, f1=None, evidence_recall=None),
            _verdict("memsif", "a3", "right", 0),
            _verdict("memsif", "a3", "right", 1),
            _verdict("memsif", "b1", "right", 0, f1=1.0),
            _verdict("memsif", "b1", "right", 1, f1=1.0),
            _verdict("memsif", "b1", "wrong", 0, profile="other"),
            _verdict("naive-rag", "a1", "wrong"),
            _verdict("naive-rag", "a2", "right"),
            _verdict("naive-rag", "a3", "wrong"),
            _verdict("naive-rag", "b1", None, f1=0.0),  # failed, so nobody asked a judge: wrong
        ],
    ),
    "calls": (
        CALLS,
        [
            _call("memsif", "boundary", (300, 20), 2.0),
            _call("memsif", "sufficiency", (12, 4), 0.8, question_id="a1"),
            _call("memsif", "answer", (70, 10), 1.0, question_id="a1"),
            _call("memsif", "judge", (800, 8), 4.0, question_id="a1"),
            _call("memsif", "embed", (None, None), 3.0, texts=16),
            _call("naive-rag", "answer", (40, 4), 0.4, question_id="a1"),
            _call("naive-rag", "answer", (None, None), 0.4, question_id="a2"),
            _call("naive-rag", "answer", (None, None), 9.2, question_id="b1", outcome="error:ServiceBusy"),
            _call("naive-rag", "embed", (32, None), 1.0, texts=4),
            _call("", "probe", (9, 9), 9.0),
        ],
    ),
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    for name, (schema, rows) in RUN.items():
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), tmp_path / "tables" / f"{name}.parquet")
    return tmp_path


def test_scores_average_runs_per_question_and_keep_the_unscored_apart(run):
    scores = read_summary(run).scores
    columns = ["category", "n", "scored", "acc", "f1", "evidence_recall", "invalid", "ungraded", "failures"]
    assert scores.filter(method="memsif").select(columns).rows() == [
        ("S-hop", 2, 2, 0.75, 0.75, 1.0, 0, 0, 0),
        ("M-hop", 1, 1, 1.0, None, None, 1, 0, 0),  # one run right, one unreadable
        ("Adv", 1, 1, 1.0, 0.5, 1.0, 0, 0, 0),
        ("Total", 3, 3, pytest.approx(2.5 / 3), 0.75, 1.0, 1, 0, 0),
    ]
    assert scores.filter(method="naive-rag").select(columns).rows() == [
        ("S-hop", 2, 2, 0.0, 0.25, 1.0, 0, 0, 1),
        ("M-hop", 1, 1, 1.0, 0.5, 1.0, 0, 0, 0),
        ("Adv", 1, 1, 0.0, 0.5, 1.0, 0, 0, 0),
        ("Total", 3, 3, pytest.approx(1 / 3), pytest.approx(1 / 3), 1.0, 0, 0, 1),
    ]


def test_costs_leave_judge_and_embedding_apart(run):
    memsif, naive = read_summary(run).costs.to_dicts()
    assert memsif == {
        "method": "memsif",
        "questions": 4,
        "answers": 8,
        "tokens": 320 / 4 + (16 + 80) / 8,  # built once for four questions, asked twice
        "model_s": 2.0 / 4 + (0.8 + 1.0) / 8,
        "build_tokens": 80.0,
        "build_s": 0.5,
        "retrieval_tokens": 2.0,
        "retrieval_s": 0.1,
        "answer_tokens": 10.0,
        "answer_s": 0.125,
        "judge_tokens": 101.0,
        "judge_s": 0.5,
        "embed_tokens": None,  # written when nobody counted yet
        "embed_s": 3.0 / 4,  # for building
        "embedded_texts": 16 / 4,
        "wall_s": 0.5,
        "p50_s": 0.5,
        "p95_s": 0.5,
        "unmetered": 0,
    }
    assert naive == memsif | {
        "method": "naive-rag",
        "answers": 4,
        **{"tokens": 11.0, "model_s": 2.5, "build_tokens": 0.0, "build_s": 0.0},
        **{"retrieval_tokens": 0.0, "retrieval_s": 0.0, "answer_tokens": 11.0, "answer_s": 2.5},
        **{"judge_tokens": 0.0, "judge_s": 0.0, "embed_tokens": 8.0, "embed_s": 0.25, "embedded_texts": 1.0},
        # Of three answered questions, 0.2, 0.5 and 0.8 s; the failed one took 9.
        **{"wall_s": 10.5 / 4, "p50_s": 0.5, "p95_s": pytest.approx(0.77)},
        "unmetered": 1,
    }


def test_gains_are_paired_and_clustered_by_conversation(run):
    (gain,) = read_summary(run).gains.to_dicts()
    # Differences 0.5 and 0 in conversation a, 1 in b: means of resamples are 0.25, 0.5 or 1.
    assert (gain["method"], gain["n"], gain["point"], gain["low"], gain["high"]) == (
        *("naive-rag", 3, 0.5),
        *(0.25, 1.0),
    )
    # a1 is right in one of two runs, so it is left out; a2 agrees; b1 is the one discordant pair.
    assert (gain["only_ours"], gain["only_theirs"], gain["undecided"], gain["p"]) == (1, 0, 1, 1.0)
    (stratified,) = read_summary(run, stratified=True).gains.to_dicts()
    assert (stratified["low"], stratified["high"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_every_cell_has_a_wilson_interval_over_its_questions(run):
    scores = read_summary(run).scores.filter(method="memsif")
    cells = {row["category"]: (row["acc_low"], row["acc_high"]) for row in scores.to_dicts()}
    # z = 1.959964; one question of one: low = 1 / (1 + z²).
    assert cells["M-hop"] == pytest.approx((0.2065, 1.0), abs=5e-5)
    # 1.5 of 2: centre (0.75 + z²/4) / (1 + z²/2), half width z √(0.1875/2 + z²/16) / (1 + z²/2).
    assert cells["S-hop"] == pytest.approx((0.1979, 0.9733), abs=5e-5)


def test_runs_are_compared_and_their_orders_counted(run):
    (spread,) = read_summary(run).spread.to_dicts()  # naive-rag ran once
    # ACC 3/3 in run 0; in run 1 a1 is wrong, a2 unreadable, b1 right: 1/2. F1 0.75 in both.
    assert spread == {
        "method": "memsif",
        "runs": 2,
        "orders": 1,
        **{"mean": 0.75, "sd": pytest.approx(0.125**0.5), "low": 0.5, "high": 1.0},
        **{"f1_mean": 0.75, "f1_sd": 0.0, "f1_low": 0.75, "f1_high": 0.75},
    }
    file = run / "tables" / "answers.parquet"
    turned = pl.when(run=1).then(-pl.col("question_index")).otherwise("question_index").alias("order")
    pl.read_parquet(file).with_columns(turned).write_parquet(file)
    assert read_summary(run).spread["orders"].item() == 2


def test_without_verdicts_nothing_is_scored_as_zero(run):
    (run / "tables" / "verdicts.parquet").unlink()
    summary = read_summary(run)
    assert summary.scores["acc"].null_count() == summary.scores.height
    naive = summary.scores.filter(method="naive-rag", category="Total").to_dicts()[0]
    assert (naive["ungraded"], naive["failures"], naive["acc_low"]) == (2, 1, None)
    (gain,) = summary.gains.to_dicts()
    assert (gain["n"], gain["point"], gain["flag"]) == (0, None, "empty")
    assert "| memsif | – | – | – | – |" in to_markdown(summary)


def test_a_method_that_nobody_graded_has_no_accuracy_though_another_was(write_run):
    rows = small_run({"memsif": "rrrr", "mem0": "rrrr"}, failed="0")
    for verdict in rows["verdicts"]:
        verdict["outcome"] = verdict["outcome"] if verdict["method"] == "memsif" else None
    summary = read_summary(write_run("half", rows))
    assert "| invalid | ungraded | failed |" in to_markdown(summary)
    scores = summary.scores.filter(category="Total")
    # q0 failed in both. It is wrong for memsif, which a judge has seen, and nothing yet for mem0.
    assert scores.select("method", "scored", "acc").rows() == [("mem0", 0, None), ("memsif", 3, 2 / 3)]


@pytest.mark.parametrize("graded", [0, 1, 2])
def test_failures_are_no_accuracy_while_most_answers_wait_for_a_judge(write_run, graded):
    rows = small_run({"memsif": "rrr", "mem0": "rrr"}, failed="0")
    waiting = {("mem0", f"q{n}") for n in (1, 2)[graded:]}
    for verdict in rows["verdicts"]:
        if (verdict["method"], verdict["question_id"]) in waiting:
            verdict["outcome"] = None
    summary = read_summary(write_run("half", rows))
    total = summary.scores.filter(method="mem0", category="Total").to_dicts()[0]
    # One of three failed. With none of the others graded it would be 0; with one it is 1/2, and said to be.
    assert (total["acc"], total["ungraded"]) == ([None, 1 / 2, 2 / 3][graded], len(waiting))
    assert summary.gains["n"].item() == [0, 2, 3][graded]
    assert ("| ungraded |" in to_markdown(summary)) == bool(waiting)


def test_a_method_that_fails_throughout_is_wrong_once_others_were_graded(write_run):
    rows = small_run({"memsif": "rrr", "mem0": "rrr"})
    for row in rows["answers"] + rows["verdicts"]:
        if row["method"] == "mem0":
            row |= {"answer": None} if "answer" in row else {"outcome": None}
    scores = read_summary(write_run("lost", rows)).scores.filter(category="Total")
    assert scores.select("method", "scored", "acc").rows() == [("mem0", 3, 0.0), ("memsif", 3, 1.0)]


def test_an_unknown_profile_reads_no_verdict(run):
    assert read_summary(run, profile="longmemeval").scores["scored"].sum() == 0


def test_an_empty_run_has_empty_tables(tmp_path):
    summary = read_summary(tmp_path)
    assert summary.as_dict() == {"scores": [], "costs": [], "gains": [], "spread": []}
    assert to_markdown(summary).startswith("| method | ACC |")


def test_a_run_of_one_method_has_no_gain(run):
    kept = pl.col("method") == "memsif"
    tables = {
        name: pl.LazyFrame(pa.Table.from_pylist(rows, schema=schema)) for name, (schema, rows) in RUN.items()
    }
    summary = summarise(**{name: table.filter(kept) for name, table in tables.items()})
    assert summary.gains.height == 0
    assert summary.costs.height == 1


def test_the_markdown_tables_are_as_expected(run):
    accuracy, beside, caption = to_markdown(read_summary(run)).split("\n\n")
    assert accuracy.splitlines() == [
        "| method | S-hop | M-hop | ACC | gain [95 %] |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| memsif | 75.0 | 100.0 | 83.3 | – |",
        "| naive-rag | 0.0 | 100.0 | 33.3 | +50.0 [+25.0, +100.0] |",
    ]
    assert beside.splitlines() == [
        "| method | F1 | recall | Adv | invalid | failed | tok/q | s/q |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| memsif | 75.0 | 100.0 | 100.0 | 1 | 0 | 92 | 0.72 |",
        "| naive-rag | 33.3 | 100.0 | 0.0 | 0 | 1 | 11+ | 2.50 |",
    ]
    assert "Adversarial questions count in Adv only" in caption


def test_an_undefined_interval_is_named_not_drawn(run):
    for table in ("answers", "verdicts"):
        file = run / "tables" / f"{table}.parquet"
        pq.write_table(pq.read_table(file, filters=[("question_id", "!=", "b1")]), file)
    assert "| +25.0 [" not in to_markdown(read_summary(run))
    assert "(one cluster)" in to_markdown(read_summary(run))


@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_shows_the_same_cells_uncut(run, width):
    console = Console(file=io.StringIO(), width=width)
    console.print(render_text(read_summary(run)))
    shown = console.file.getvalue()
    for cell in ("naive-rag", "+50.0 [+25.0, +100.0]", "83.3", "11+"):
        assert cell in shown
    assert "…" not in shown


def test_a_summary_is_plain_data(run):
    plain = read_summary(run).as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_the_calls_table_has_the_columns_of_the_ledger():
    assert CALLS.names == [field.name for field in fields(Call)]
