"""Candidates and promotion (MemSIF 3.4), and MC-13: the system's own recall is no new evidence."""

from datetime import datetime

import numpy as np
import pytest

from memsif_ray.config import ActiveFactConfig
from memsif_ray.memory.activefacts import ActiveFacts, independent_sources, support
from memsif_ray.memory.facts import FactBook
from memsif_ray.types import Category, Evidence, Op, Question

X, NEAR, FAR = (np.zeros(8, dtype=np.float32) for _ in range(3))
X[0] = FAR[7] = 1.0
NEAR[:2] = np.cos(0.05), np.sin(0.05)


def question(number, text="Can Ann eat nuts?"):
    return Question(f"q{number}", "c1", number, f"{text} {number}", Category.SINGLE_HOP)


def evidence(statement, message_id, subject="Ann"):
    return Evidence(statement, subject, (message_id,), (), datetime(2024, 1, 1))


class Track:
    """ActiveFacts over messages that each belong to a segment of their own."""

    def __init__(self, say, **thresholds):
        async def synthesise(subject, statements):
            return "; ".join(statements), "rule"

        async def embed(text):
            return X

        self.book = FactBook()
        self.facts = ActiveFacts(
            self.book, config=ActiveFactConfig(**thresholds), how="clip", synthesise=synthesise, embed=embed
        )
        self.say, self.messages = say, {}

    async def ask(self, number, query, *found):
        for item, _ in found:
            for message_id in item.message_ids:
                role = "assistant" if message_id.startswith("a") else "user"
                self.messages.setdefault(message_id, self.say("…", message_id=message_id, role=role))
        unit_of = {m: f"seg-{m}" for m in self.messages}
        return await self.facts.observe(
            question(number), query, list(found), messages=self.messages, unit_of=unit_of
        )


def axis(i):
    vector = np.zeros(8, dtype=np.float32)
    vector[0], vector[i] = 0.9, np.sqrt(1 - 0.81)
    return vector


def test_support_is_equation_2():
    pair = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    assert support(2, pair, "clip") == pytest.approx(0.5 * 0.6)
    assert support(1, pair[:1], "clip") == 0.0
    assert support(4, pair[:1], "clip") == pytest.approx(0.75)


async def test_one_source_or_one_query_never_promotes(say):
    track = Track(say)
    await track.ask(1, axis(1), (evidence("Ann avoids nuts", "m1"), X))
    for number in range(2, 6):
        await track.ask(number, axis(number), (evidence("Ann avoids nuts", "m1"), X))
    assert track.facts.candidates().scores(0).source == 0.0
    assert track.book.operations == []


async def test_several_sources_and_recurring_demand_promote_exactly_once(say):
    track = Track(say)
    for number in range(1, 6):
        await track.ask(number, axis(number), (evidence(f"Ann avoids nuts, note {number}", f"m{number}"), X))
    ops = [o.op for o in track.book.operations]
    assert ops[0] is Op.PROMOTE and ops.count(Op.PROMOTE) == 1
    (fact,) = track.book.active()
    assert fact.subject == "Ann"
    assert set(fact.message_ids) == {"m1", "m2", "m3", "m4", "m5"}
    before = list(track.book.operations)
    await track.ask(6, axis(6), (evidence("Ann avoids nuts, note 1", "m1"), X))
    assert track.book.operations == before  # no new source: nothing to bring up to date


async def test_a_near_duplicate_query_is_the_same_demand(say):
    track = Track(say)
    for number, query in enumerate((X, NEAR, X)):
        await track.ask(number, query, (evidence(f"note {number}", f"m{number}"), X))
    assert track.facts.clusters[0].query_ids == ("q0",)
    assert track.facts.candidates().scores(0).query == 0.0


async def test_subjects_and_incompatible_statements_open_clusters_of_their_own(say):
    track = Track(say)
    await track.ask(
        1, X, (evidence("a", "m1"), X), (evidence("b", "m2", subject="Bo"), X), (evidence("c", "m3"), FAR)
    )
    assert [(c.subject, c.statements) for c in track.facts.clusters] == [
        ("Ann", ("a",)), ("Bo", ("b",)), ("Ann", ("c",)),
    ]  # fmt: skip


async def test_the_same_statement_is_kept_once_and_its_sources_add_up(say):
    track = Track(say)
    await track.ask(1, X, (evidence("Ann avoids nuts.", "m1"), X), (evidence("ann avoids NUTS", "m2"), X))
    (cluster,) = track.facts.clusters
    assert cluster.statements == ("Ann avoids nuts.",)
    assert cluster.sources == ("seg-m1", "seg-m2")


@pytest.mark.parametrize(
    ("ids", "count"),
    [
        (["m1", "m1", "m1"], 1),
        (["m1", "a5", "a8"], 1),  # an assistant echoes what memory told it
        (["D1:1", "D4:2", "D9:1"], 3),
        (["a5", "a8"], 1),  # only the assistant ever said it
    ],
)
def test_independent_sources(say, ids, count):
    messages = {m: say("…", message_id=m, role="assistant" if m.startswith("a") else "user") for m in ids}
    assert len(independent_sources(ids, messages, {m: f"seg-{m}" for m in ids})) == count
