"""TED and the NCE subset, by hand and on the released file."""

from datetime import datetime

import pytest

from memsif_ray.config import DataConfig
from memsif_ray.datasets import Dataset, LoadReport, load
from memsif_ray.diagnostics.dispersion import (
    Reading,
    changes,
    dispersion,
    evidence_spreads,
    is_non_contiguous,
    summarise,
)
from memsif_ray.types import Category, Conversation, Gold, Message, Question


def made(length, **evidence):
    """One conversation; per question its category, strict ids and repaired ids (positions)."""
    messages = tuple(Message("c1", f"m{i}", i, 1, "Ann", "said", datetime(2024, 1, 1)) for i in range(length))
    ids = {
        name: [tuple(f"m{i}" for i in at) for at in (strict, repaired)]
        for name, (_, strict, repaired) in evidence.items()
    }
    return Dataset(
        name="locomo",
        conversations=(Conversation("c1", "locomo", ("Ann",), messages),),
        questions=tuple(
            Question(name, "c1", n, "?", category)
            for n, (name, (category, *_)) in enumerate(evidence.items())
        ),
        gold={name: Gold(name, "x", repaired) for name, (_, repaired) in ids.items()},
        strict_evidence={name: strict for name, (strict, _) in ids.items()},
        report=LoadReport("locomo", "x", "", None, {}, {}, ()),
    )


def test_dispersion_is_the_share_of_the_history_between_first_and_last():
    assert dispersion([2, 7, 5], 11) == 0.5  # (7 - 2) / (11 - 1)
    assert dispersion([0, 10], 11) == 1.0
    assert dispersion([4], 11) == 0.0
    assert dispersion([0], 1) == 0.0


def test_the_threshold_belongs_to_the_subset_and_one_id_never_does():
    assert is_non_contiguous([0, 3], 11)
    assert not is_non_contiguous([0, 2], 11)
    assert not is_non_contiguous([5], 11)
    assert not is_non_contiguous([], 11)


def test_questions_are_counted_by_hand():
    dataset = made(
        21,
        near=(Category.SINGLE_HOP, [4, 5], [4, 5]),
        close=(Category.TEMPORAL, [1, 5], [1, 5]),
        far=(Category.MULTI_HOP, [0, 8], [0, 8]),
        across=(Category.MULTI_HOP, [0, 20], [0, 20]),
        one=(Category.SINGLE_HOP, [3], [3]),
        none=(Category.KNOWLEDGE, [], []),
        trap=(Category.ADVERSARIAL, [0, 10], [0, 10]),
    )
    spreads = {spread.question_id: spread for spread in evidence_spreads(dataset, Reading.STRICT)}
    assert "trap" not in spreads
    assert (spreads["close"].span, spreads["close"].ted) == (4, 0.2)
    assert (spreads["one"].ted, spreads["one"].reason) == (None, "one_id")
    assert (spreads["none"].span, spreads["none"].reason) == (None, "no_evidence")
    summary = summarise(list(spreads.values()))
    assert (summary.questions, summary.dispersed, summary.bins) == (6, 4, (1, 1, 2))
    assert {c.value: n for c, n in summary.nce.items()} == {"S-hop": 0, "M-hop": 2, "Temp": 0, "Kno": 0}
    assert (summary.mean_ted, summary.mean_span) == (pytest.approx(0.7), 14.0)


def test_a_bin_begins_with_its_bound():
    dataset = made(11, tenth=(Category.TEMPORAL, [4, 5], [4, 5]), limit=(Category.TEMPORAL, [0, 3], [0, 3]))
    assert summarise(evidence_spreads(dataset, Reading.STRICT)).bins == (0, 1, 1)


def test_an_empty_subset_has_no_mean():
    summary = summarise(evidence_spreads(made(5, q=(Category.SINGLE_HOP, [1], [1])), Reading.STRICT))
    assert (summary.bins, summary.mean_ted, summary.mean_span) == ((0, 0, 0), None, None)


def test_what_repairing_changes_is_told_per_question():
    dataset = made(
        11,
        same=(Category.MULTI_HOP, [0, 9], [0, 9]),
        enters=(Category.MULTI_HOP, [], [0, 9]),
        leaves=(Category.MULTI_HOP, [0, 9], [0]),
        gains=(Category.TEMPORAL, [3], [3, 4]),
        ids=(Category.TEMPORAL, [], [3]),
    )
    read = [evidence_spreads(dataset, reading) for reading in (Reading.STRICT, Reading.REPAIRED)]
    assert {change.question_id: change.effect for change in changes(*read)} == {
        "enters": "enters",
        "leaves": "leaves",
        "gains": "gains_ted",
        "ids": "ids",
    }


@pytest.fixture(scope="module")
def locomo(data_dir):
    file = data_dir / "locomo" / "locomo10.json"
    if not file.is_file():
        pytest.skip(f"no {file}")
    return load(DataConfig(dataset="locomo", path=file))


def test_strict_ids_of_the_released_file_give_the_papers_numbers(locomo):
    summary = summarise(evidence_spreads(locomo, Reading.STRICT))
    assert (summary.questions, summary.dispersed, summary.bins) == (1540, 409, (156, 67, 186))
    assert {c.value: n for c, n in summary.nce.items()} == {"S-hop": 0, "M-hop": 152, "Temp": 12, "Kno": 22}
    assert f"{summary.mean_ted:.3f} {summary.mean_span:.1f}" == "0.581 352.6"


def test_repaired_ids_of_the_released_file_add_two_questions(locomo):
    read = [evidence_spreads(locomo, reading) for reading in (Reading.STRICT, Reading.REPAIRED)]
    effects = {change.question_id: change.effect for change in changes(*read)}
    assert [name for name, effect in effects.items() if effect == "enters"] == ["conv-49_q38", "conv-49_q46"]
    assert "leaves" not in effects.values()
    assert summarise(read[1]).bins == (156, 69, 188)
