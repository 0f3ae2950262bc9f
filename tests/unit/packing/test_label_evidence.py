"""What a labelling job asks and offers: sampling, candidate notes, and the cost of evidence."""

import json
from collections import Counter
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from memsif_ray.config import DataConfig
from memsif_ray.datasets import load
from memsif_ray.packing.evidence import gold_notes, retrieved_notes
from memsif_ray.packing.evidence_cost import PAPER_TEST_TYPES, evidence_costs
from memsif_ray.packing.sampling import askable, drawn, evidence_lengths
from memsif_ray.types import Category, Message


class WordTokens:
    """One token per word."""

    exact = True

    def count(self, text: str) -> int:
        return len(text.split())


def record(name: str, kind: str, *turns: str, answer: str = "kite") -> dict:
    """A LongMemEval record whose turns all hold the answer."""
    said = [{"role": "user", "content": text, "has_answer": True} for text in turns]
    return {
        "question_id": name,
        "question_type": kind,
        "question": "What?",
        "question_date": "2023/05/30 (Tue) 10:00",
        "answer": answer,
        "answer_session_ids": [],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["s1"],
        "haystack_sessions": [said],
    }


@pytest.fixture
def load_records(tmp_path):
    def loaded(*records: dict):
        path = tmp_path / "records.json"
        path.write_text(json.dumps(records))
        return load(DataConfig(dataset="longmemeval", path=path))

    return loaded


KINDS = ("single-session-user", "multi-session", "temporal-reasoning", "knowledge-update")


def test_only_questions_with_a_reference_and_evidence_are_asked(load_records):
    dataset = load_records(
        record("good", KINDS[0], "one two"),
        record("no-evidence", KINDS[0]),
        record("trap_abs", KINDS[0], "one"),
        record("no-answer", KINDS[1], "one", answer=" "),
    )
    assert [question.question_id for question in askable(dataset)] == ["good"]


def test_a_sample_has_its_share_of_each_type_and_length_and_hangs_on_the_seed_only(load_records):
    records = [record(f"{kind}-{n:02d}", kind, "word " * (n + 1)) for kind in KINDS[:2] for n in range(12)]
    dataset = load_records(*records)
    sample = drawn(dataset, 12, seed=7)
    assert Counter(question.category for question in sample) == {
        Category.SINGLE_HOP: 6,
        Category.MULTI_HOP: 6,
    }
    lengths = evidence_lengths(dataset)
    thirds = Counter(min(2, int(lengths[q.question_id] / 5 - 1) // 4) for q in sample)
    assert thirds == {0: 4, 1: 4, 2: 4}
    assert sample == drawn(load_records(*records), 12, seed=7)
    assert sample != drawn(dataset, 12, seed=8)
    assert [q.question_id for q in sample] == sorted(
        (q.question_id for q in sample), key=[r["question_id"] for r in records].index
    )
    assert drawn(dataset, 99, seed=7) == drawn(dataset, None, seed=7) == dataset.questions


def test_costs_by_hand(load_records):
    """Evidence of 3; 2 + 4; 5; 8 + 1 words: turns 3 2 4 5 8 1, questions 3 6 5 9."""
    dataset = load_records(
        record("a", KINDS[0], "a b c"),
        record("b", KINDS[1], "a b", "a b c d"),
        record("c", KINDS[2], "a b c d e"),
        record("d", KINDS[3], "a b c d e f g h", "a"),
    )
    bare, packed = evidence_costs(dataset, tokens=WordTokens(), budgets=(2, 5, 8, 9))
    assert (bare.questions, bare.turns, bare.median_turn) == (4, 6, 3.5)
    assert bare.full_fit == {2: 0.0, 5: 0.5, 8: 0.75, 9: 1.0}
    assert bare.like_paper == {}, "too few questions for the paper's split"
    assert packed.median_turn > bare.median_turn, "a line has a date and a speaker"


def test_splits_like_the_papers_weigh_types_as_it_does(load_records):
    """Only knowledge-update evidence fits: 40 of 75 questions, in every such split."""
    names = dict(zip(PAPER_TEST_TYPES, KINDS, strict=True))
    fitting = [record(f"k{n}", KINDS[3], "a") for n in range(PAPER_TEST_TYPES[Category.KNOWLEDGE])]
    others = [
        record(f"{kind}{n}", names[kind], "a b c")
        for kind, size in PAPER_TEST_TYPES.items()
        if kind is not Category.KNOWLEDGE
        for n in range(2 * size)
    ]
    bare, _ = evidence_costs(load_records(*fitting, *others), tokens=WordTokens(), budgets=(2,))
    like = bare.like_paper[2]
    assert (like.mean, like.low, like.high) == pytest.approx((40 / 75,) * 3)
    assert bare.full_fit[2] == pytest.approx(40 / 110)


def message(number: int, text: str) -> Message:
    return Message("c", f"m{number}", number, 1, "Ann", text, datetime(2024, 5, 1, 9))


MESSAGES = [
    message(0, "the weather was fine"),
    message(1, "a red kite and a red hat and a blue coat were in the shop"),
    message(2, " "),
    message(3, "a red kite"),
    message(4, "kites are fun"),
]


def test_gold_notes_stand_in_the_order_of_the_conversation():
    notes = gold_notes(MESSAGES, ("m3", "m0", "m2"))
    assert [note.item_id for note in notes] == ["m0", "m3"], "a blank turn says nothing"
    assert {note.score for note in notes} == {0.0}
    assert notes[1].text.endswith("Ann: a red kite") and "2024" in notes[1].text


def test_retrieved_notes_are_the_best_by_bm25_in_reading_order():
    notes = retrieved_notes(MESSAGES, "Who has a red kite?", turns=20)
    assert [note.item_id for note in notes] == ["m1", "m3", "m4"], "only what shares a word"
    best = sorted(notes, key=lambda note: -note.score)
    assert best[0].item_id == "m3", "both words in a short turn"
    assert [note.item_id for note in retrieved_notes(MESSAGES, "red kite", turns=2)] == ["m1", "m3"]
    assert retrieved_notes(MESSAGES, "zebra", turns=20) == ()


def test_evidence_of_longmemeval_has_the_papers_shape(data_dir: Path):
    from memsif_ray.clients.cl100k import Cl100kCounter

    config = DataConfig(dataset="longmemeval", path=data_dir / "longmemeval" / "evidence_turns_500.json")
    bare, _ = evidence_costs(load(config), tokens=Cl100kCounter(), budgets=(32, 64, 128, 256))
    assert bare.median_turn == 64.5
    assert np.round([100 * share for share in bare.full_fit.values()], 1).tolist() == [2.8, 16.2, 52.1, 88.3]
    inside = {32: 0.013, 64: 0.093, 128: 0.520}
    for budget, paper in inside.items():
        assert bare.like_paper[budget].low <= paper <= bare.like_paper[budget].high
