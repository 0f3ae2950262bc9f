"""Costs per question: building is shared by the questions, what an answer takes by the answers."""

import polars as pl
import pytest

from analysis.costs import costs
from memsif_ray.schemas import ANSWERS, CALLS
from memsif_ray.storage.tables import encode
from tests.unit.analysis.conftest import complete

WHOSE = {"method": "m", "conversation_id": "a"}
BUILT = {"question_id": "", "prompt_tokens": 120, "texts": 12, "latency_s": 6.0}
ASKED = [{"question_id": "*", "run": run, "prompt_tokens": 6, "texts": 2, "latency_s": 0.5} for run in (0, 1)]


def cost_of(*embedded):
    """The costs of a method that was asked two questions in two runs each."""
    answers = [WHOSE | {"question_id": q, "run": run, "answer": "x"} for q in ("q1", "q2") for run in (0, 1)]
    calls = [WHOSE | {"stage": "embed", "outcome": "ok"} | row for row in embedded]
    tables = {"answers": (answers, ANSWERS), "calls": (calls, CALLS)}
    frames = {
        name: pl.LazyFrame(encode([complete(name, row) for row in rows], schema))
        for name, (rows, schema) in tables.items()
    }
    (row,) = costs(**frames).collect().to_dicts()
    return row


def test_embedding_to_build_is_shared_by_questions_and_embedding_to_answer_by_answers():
    row = cost_of(BUILT, *ASKED)
    assert row["embed_tokens"] == pytest.approx(120 / 2 + 12 / 4)
    assert row["embed_s"] == pytest.approx(6 / 2 + 1 / 4)
    assert row["embedded_texts"] == pytest.approx(12 / 2 + 4 / 4)
    assert (row["tokens"], row["model_s"]) == (0.0, 0.0)


def test_a_later_run_builds_nothing_though_its_rows_name_no_question():
    row = cost_of(BUILT, *(one | {"question_id": ""} for one in ASKED[1:]))
    assert row["embed_tokens"] == pytest.approx(120 / 2 + 6 / 4)


@pytest.mark.parametrize("uncounted", [BUILT, ASKED[0]])
def test_tokens_that_nobody_counted_are_unknown_and_not_zero(uncounted):
    assert cost_of(BUILT, ASKED[0], uncounted | {"prompt_tokens": None})["embed_tokens"] is None


def test_a_method_that_calls_nobody_costs_nothing():
    row = cost_of()
    assert (row["embed_tokens"], row["embed_s"], row["embedded_texts"], row["unmetered"]) == (
        0.0,
        0.0,
        0.0,
        0,
    )
