"""Irregular evidence entries (case MC-41): the forms found in the released files, and near misses."""

import pytest

from memsif_ray.datasets.evidence import parse_dialogue_ids, read_evidence, strict_evidence

KNOWN = {"D1:2", "D1:3", "D4:4", "D4:5", "D4:6", "D8:6", "D9:1", "D9:17", "D11:26", "D30:5"}

RAW_TO_IDS = [
    ("D8:6; D9:17", ("D8:6", "D9:17"), "split"),
    ("D9:1 D4:4 D4:6", ("D9:1", "D4:4", "D4:6"), "split"),
    ("D:11:26", ("D11:26",), "rewritten"),
    ("D30:05", ("D30:5",), "rewritten"),
    ("D", (), "unreadable"),
    ("D4:5", ("D4:5",), None),
    (" D1:2 ", ("D1:2",), "rewritten"),
    ("D1:2,D1:3", ("D1:2", "D1:3"), "split"),
    ("", (), "unreadable"),
    ("D0:1", (), "absent"),
    ("session 3", (), "unreadable"),
    ("D4:5 D4:99", ("D4:5",), "absent"),
]


def read(*entries: str):
    return read_evidence(entries, KNOWN, conversation_id="c", question_index=7)


@pytest.mark.parametrize(("raw", "ids", "kind"), RAW_TO_IDS)
def test_entry(raw: str, ids: tuple[str, ...], kind: str | None) -> None:
    reading = read(raw)
    assert reading.ids == ids
    assert [(repair.raw, repair.ids, repair.kind) for repair in reading.repairs] == (
        [(raw, ids, kind)] if kind else []
    )


def test_a_well_formed_id_of_no_message_is_read_but_not_resolved() -> None:
    assert parse_dialogue_ids("D0:1") == ("D0:1",)
    reading = read("D0:1", "D4:5")
    assert (reading.ids, reading.read, reading.resolved) == (("D4:5",), 2, 1)


def test_a_repeated_id_counts_once() -> None:
    reading = read("D4:5", "D4:5")
    assert (reading.ids, reading.read, reading.resolved) == (("D4:5",), 2, 2)
    assert [repair.kind for repair in reading.repairs] == ["duplicate"]


def test_no_evidence_is_listed() -> None:
    (repair,) = read().repairs
    assert (repair.kind, repair.conversation_id, repair.question_index) == ("no_evidence", "c", 7)


def test_ids_of_another_shape_are_kept_when_they_exist() -> None:
    reading = read_evidence(["turn-9"], {"turn-9"}, conversation_id="c", question_index=0)
    assert reading.ids == ("turn-9",)
    assert reading.repairs == ()


def test_strict_reading_repairs_nothing() -> None:
    entries = ["D8:6; D9:17", "D4:5", "D:11:26", "D30:05", "D4:5", "D0:1"]
    assert strict_evidence(entries, KNOWN) == ("D4:5",)
