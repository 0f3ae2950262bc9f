from __future__ import annotations

import pyarrow as pa

from memsif_ray.evaluation.judge import grade_by_rule
from memsif_ray.evaluation.scoring import verdict_row
from memsif_ray.schemas import VERDICTS
from memsif_ray.types import Answer, Category, Gold, Outcome, Question, Verdict


def _row(question: Question, gold: Gold, answer: Answer, verdict: Verdict | None) -> dict:
    row = verdict_row(question, gold, answer, context_ids={"D1:1"}, verdict=verdict, method="memsif", run=0)
    (read,) = pa.Table.from_pylist([row], schema=VERDICTS).to_pylist()
    assert read == row
    return row


def test_an_ungraded_answer_still_has_f1_and_recall():
    question = Question("q1", "26", 0, "When?", Category.TEMPORAL)
    row = _row(question, Gold("q1", "May", ("D1:1", "D2:2")), Answer("q1", "in May"), None)
    assert (row["outcome"], row["f1"] > 0.6, row["evidence_recall"]) == (None, True, 0.5)


def test_an_abstention_is_graded_by_rule_and_has_no_recall_without_evidence():
    question = Question("q5", "26", 0, "Which opera?", Category.ADVERSARIAL)
    gold, answer = Gold("q5", "", trap="a sea opera", abstain=True), Answer("q5", "Not mentioned.")
    row = _row(question, gold, answer, grade_by_rule(question, gold, answer))
    assert (row["outcome"], row["f1"], row["evidence_recall"], row["abstained"]) == ("right", 1.0, None, True)


def test_a_missing_answer_scores_zero_where_there_is_a_reference():
    question = Question("q1", "26", 0, "When?", Category.TEMPORAL)
    answer = Answer("q1", None, "ServiceBusy: time-out")
    verdict = grade_by_rule(question, Gold("q1", "May"), answer)
    assert verdict == Verdict("q1", Outcome.WRONG, "memsif", "ServiceBusy: time-out")
    assert _row(question, Gold("q1", "May"), answer, verdict)["f1"] == 0.0


def test_a_date_is_matched_exactly_where_the_reference_is_one():
    question = Question("q1", "26", 0, "When?", Category.TEMPORAL)
    for text, matched in (("On May 7th, 2023.", True), ("8 May 2023", False), ("", False)):
        row = _row(question, Gold("q1", "7 May 2023"), Answer("q1", text), None)
        assert row["date_match"] is matched
    assert _row(question, Gold("q1", "last week"), Answer("q1", "May"), None)["date_match"] is None
