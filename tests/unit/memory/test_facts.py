"""The fact log: MC-08 (nothing is lost when a mind changes) and MC-09 (event time decides)."""

from dataclasses import replace
from datetime import datetime
from itertools import permutations

import numpy as np
import pytest

from memsif_ray.memory.facts import FactBook, fold
from memsif_ray.types import Fact, FactOperation, Op, Track


def day(text):
    return datetime.fromisoformat(text)


def fact(fact_id, statement, learned, *, begins=None, ends=None, subject="Odd", attribute="milk"):
    return Fact(
        fact_id, Track.CORE, subject, "Preference", attribute, statement, ("m",), ("s",), day(learned),
        valid_from=day(begins or learned), valid_to=None if ends is None else day(ends),
    )  # fmt: skip


OAT = fact("f1", "Odd takes oat milk", "2023-03-01")
SOY = fact("f2", "Odd takes soy milk", "2023-04-10")
OAT_AGAIN = fact("f3", "Odd takes oat milk", "2023-06-02")
LOG = [
    FactOperation(0, Op.ADD, OAT),
    FactOperation(1, Op.SUPERSEDE, SOY, ("f1",)),
    FactOperation(2, Op.SUPERSEDE, OAT_AGAIN, ("f2",)),
]


def live(facts):
    return [f.statement for f in facts.values() if f.status == "active"]


def test_every_version_keeps_its_interval():
    intervals = [(f.statement, f.valid_from, f.valid_to) for f in fold(LOG).values()]
    assert intervals == [
        ("Odd takes oat milk", day("2023-03-01"), day("2023-04-10")),
        ("Odd takes soy milk", day("2023-04-10"), day("2023-06-02")),
        ("Odd takes oat milk", day("2023-06-02"), None),
    ]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_at_no_moment_are_zero_versions_live(length):
    assert len(live(fold(LOG[:length]))) == 1


def test_what_held_in_may_and_what_memory_believed_in_may():
    assert [f.statement for f in fold(LOG, valid_at=day("2023-05-15")).values()] == ["Odd takes soy milk"]
    assert live(fold(LOG, as_of=day("2023-05-15"))) == ["Odd takes soy milk"]
    assert live(fold(LOG, as_of=day("2023-03-15"))) == ["Odd takes oat milk"]


def test_an_interval_ends_before_its_last_instant():
    (held,) = fold(LOG, valid_at=day("2023-04-10")).values()
    assert held.statement == "Odd takes soy milk"


def test_a_late_report_about_the_past_does_not_retire_the_present():
    ghent = fact("f1", "Mirre lives in Ghent", "2023-09-01", subject="Mirre", attribute="home")
    oslo = fact("f2", "Mirre lived in Oslo", "2023-09-02", begins="2019-01-01", ends="2020-01-01")
    facts = fold([FactOperation(0, Op.ADD, ghent), FactOperation(1, Op.SUPERSEDE, oslo, ("f1",))])
    assert live(facts) == ["Mirre lives in Ghent"]
    assert facts["f2"].valid_to == day("2020-01-01")
    assert [
        f.fact_id for f in fold([FactOperation(0, Op.ADD, oslo)], valid_at=day("2019-06-01")).values()
    ] == ["f2"]


@pytest.mark.parametrize("order", list(permutations([OAT, SOY, OAT_AGAIN])))
def test_any_order_of_learning_gives_the_same_live_value(order):
    log = []
    for i, version in enumerate(order):
        current = tuple(f.fact_id for f in fold(log).values() if f.status == "active")
        log.append(FactOperation(i, Op.SUPERSEDE if current else Op.ADD, version, current))
    assert [f.fact_id for f in fold(log).values() if f.status == "active"] == ["f3"]


def unit(*numbers):
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def book_of(log):
    book = FactBook()
    for i, operation in enumerate(log):
        book.write(operation, unit(1, i, 0))
    return book


def test_search_sees_live_versions_and_replaced_ones_only_on_request():
    book = book_of(LOG)
    assert [f.fact_id for f, _ in book.search(unit(1, 0, 0), 5)] == ["f3"]
    assert [f.fact_id for f, _ in book.search(unit(1, 0, 0), 5, replaced=True)] == ["f1", "f2", "f3"]


def test_merged_facts_are_never_found_but_stay_in_the_log():
    merged = replace(OAT, fact_id="f9", statement="Odd takes oat milk in coffee")
    book = book_of([LOG[0], FactOperation(1, Op.MERGE, merged, ("f1",))])
    assert [f.fact_id for f, _ in book.search(unit(1, 0, 0), 5, replaced=True)] == ["f9"]
    assert book.get("f1").replaced_by == "f9"
    assert len(book.operations) == 2


def test_a_rejected_candidate_is_a_row_and_never_a_fact():
    book = book_of(
        [LOG[0], FactOperation(1, Op.REJECT, replace(SOY, fact_id="refused"), reason="not grounded")]
    )
    assert [f.fact_id for f in book.active()] == ["f1"]
    assert book.operations[1].reason == "not grounded"


def test_exact_search_agrees_with_a_plain_sort_at_any_size():
    rng = np.random.default_rng(3)
    book = FactBook()
    vectors = rng.standard_normal((300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for i, vector in enumerate(vectors):
        book.write(FactOperation(i, Op.ADD, replace(OAT, fact_id=f"f{i:03d}")), vector)
    query = vectors[7]
    wanted = [f"f{i:03d}" for i in np.argsort(-(vectors @ query), kind="stable")[:10]]
    assert [f.fact_id for f, _ in book.search(query, 10)] == wanted
    assert FactBook().search(query, 10) == []


def test_a_book_restored_from_its_log_answers_alike():
    book = book_of(LOG)
    again, vectors = FactBook(), dict(book.vectors())
    for operation in book.operations:
        again.write(operation, vectors[operation.fact.fact_id])
    assert again.active() == book.active()
    assert again.search(unit(1, 2, 0), 3) == book.search(unit(1, 2, 0), 3)
