"""CDL, QAD and their correlation, by hand and against the paper's own tables."""

import pytest

from memsif_ray.diagnostics.compaction import CAPACITIES, CompactedAnswer, Recovery
from memsif_ray.diagnostics.loss import (
    Grades,
    Mode,
    aggregate_correlation,
    drop,
    grades,
    loss_points,
    pearson,
    question_correlation,
)
from memsif_ray.types import Category

S, L = Mode.STRICT, Mode.LENIENT


def recovery(question, capacity, *labels):
    return [
        Recovery("c1", question, Category.SINGLE_HOP, capacity, f"m{n}", label, "" if label else "lost", ())
        for n, label in enumerate(labels)
    ]


def answer(question, capacity, label):
    return CompactedAnswer(
        "c1", question, Category.SINGLE_HOP, capacity, (), 0, "so", label, "" if label else "lost", ()
    )


@pytest.mark.parametrize(
    ("counts", "strict", "lenient"),
    [  # Table 9
        ((120, 15, 11), 17.81, 12.67),
        ((64, 4, 78), 56.16, 54.79),
        ((73, 3, 70), 50.00, 48.97),
        ((74, 6, 66), 49.32, 47.26),
    ],
)
def test_the_papers_cdl(counts, strict, lenient):
    found = Grades(None, *counts, missing=0)
    assert [round(100 * found.loss(mode).value, 2) for mode in Mode] == [strict, lenient]


def labelled(capacity, *counts):
    """Answers with labels of these numbers, questions in an order of their own."""
    names = ["CORRECT", "PARTIAL", "WRONG"]
    labels = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    return [answer(f"q{n}", capacity, label) for n, label in enumerate(labels)]


PAPER = [
    *labelled(None, 56, 21, 23),
    *labelled(2, 31, 25, 44),
    *labelled(4, 31, 35, 34),
    *labelled(8, 40, 29, 31),
]
"""Table 10."""


def test_the_papers_qad():
    drops = {c: [round(100 * drop(PAPER, c, mode).value.value, 2) for mode in Mode] for c in (2, 4, 8)}
    assert drops == {2: [25.0, 23.0], 4: [25.0, 18.0], 8: [16.0, 12.0]}


def test_the_papers_aggregate_correlation():
    """r = 0.58 and 0.94 follow from its own Tables 9 and 10."""
    counts = {None: (120, 15, 11), 2: (64, 4, 78), 4: (73, 3, 70), 8: (74, 6, 66)}
    facts = [
        row
        for capacity, numbers in counts.items()
        for label, count in zip(("FULL", "PARTIAL", "NONE"), numbers, strict=True)
        for row in recovery("q0", capacity, *[label] * count)
    ]
    assert [round(aggregate_correlation(facts, PAPER, mode).r.value, 2) for mode in Mode] == [0.58, 0.94]


def test_what_has_no_label_is_in_no_share():
    rows = recovery("q0", 2, "FULL", "PARTIAL", "NONE", None)
    found = grades(rows)[CAPACITIES.index(2)]
    assert found == Grades(2, whole=1, part=1, nothing=1, missing=1)
    assert found.share(S).value == pytest.approx(1 / 3)
    assert found.loss(L).value == pytest.approx(1 - 1.5 / 3)
    assert grades([])[0].loss(S).reason == "nothing_judged"


def test_qad_is_over_questions_graded_from_both_memories():
    rows = [
        *(answer("a", None, "CORRECT"), answer("a", 2, "PARTIAL")),
        *(answer("b", None, "WRONG"), answer("b", 2, "CORRECT")),
        *(answer("c", None, None), answer("c", 2, "CORRECT")),
        *(answer("d", None, "CORRECT"), answer("d", 2, None)),
    ]
    strict, lenient = (drop(rows, 2, mode) for mode in Mode)
    assert (strict.value.value, strict.questions, strict.missing) == (0.0, 2, 2)
    assert lenient.value.value == (0.5 - 1.0) / 2
    assert drop([], 2, S).value.reason == "nothing_judged"


FACTS = [
    *recovery("a", 2, "FULL", "NONE"),  # CDL 0.5 and 0.5
    *recovery("b", 2, "PARTIAL"),  # 1 and 0.5
    *recovery("c", 2, "FULL"),  # 0 and 0
    *recovery("d", 2, "FULL", None),  # missing
]
ANSWERS = [
    *(answer("a", None, "CORRECT"), answer("a", 2, "PARTIAL")),  # QAD 1 and 0.5
    *(answer("b", None, "CORRECT"), answer("b", 2, "WRONG")),  # 1 and 1
    *(answer("c", None, "CORRECT"), answer("c", 2, "CORRECT")),  # 0 and 0
    *(answer("d", None, "CORRECT"), answer("d", 2, "CORRECT")),
]


def test_a_point_per_question_and_mode():
    points = loss_points(FACTS, ANSWERS)
    assert [(p.mode, p.question_id, p.cdl, p.qad, p.reason) for p in points] == [
        (S, "a", 0.5, 1.0, ""),
        (S, "b", 1.0, 1.0, ""),
        (S, "c", 0.0, 0.0, ""),
        (S, "d", None, 0.0, "facts"),
        (L, "a", 0.5, 0.5, ""),
        (L, "b", 0.5, 1.0, ""),
        (L, "c", 0.0, 0.0, ""),
        (L, "d", None, 0.0, "facts"),
    ]


def test_pearson_over_questions():
    strict = question_correlation(loss_points(FACTS, ANSWERS), S)
    # x = .5, 1, 0 and y = 1, 1, 0: sxy = .5, sxx = .5, syy = 2/3.
    assert strict.r.value == pytest.approx(0.5 / (0.5 * 2 / 3) ** 0.5)
    assert (strict.points, strict.missing) == (3, 1)


@pytest.mark.parametrize(
    ("pairs", "reason", "points", "missing"),
    [
        ([], "too_few", 0, 0),
        ([(0.0, 1.0), (1.0, 0.0)], "too_few", 2, 0),
        ([(0.5, 0.0), (0.5, 1.0), (0.5, 0.3)], "constant", 3, 0),
        ([(0.0, 1.0), (0.1, 1.0), (0.5, 1.0), (None, 0.2), (0.3, None)], "constant", 3, 2),
    ],
)
def test_an_undefined_correlation_has_a_reason(pairs, reason, points, missing):
    found = pearson(pairs)
    assert (found.r.value, found.r.reason, found.points, found.missing) == (None, reason, points, missing)


def test_modes_differ_in_what_a_part_counts():
    assert [[mode.worth(label) for label in ("FULL", "PARTIAL", "NONE")] for mode in Mode] == [
        [1.0, 0.0, 0.0],
        [1.0, 0.5, 0.0],
    ]
