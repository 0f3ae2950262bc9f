"""The diagnosis of delayed utility as tables (MemSIF, Tables 5 and 8 to 10), with the paper's beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.diagnosis.cells import NONE, interval, measured, number, percent, share
from analysis.page import Grid
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.compaction import CAPACITIES, CompactedAnswer
from memsif_ray.diagnostics.dum import DumFindings
from memsif_ray.diagnostics.loss import (
    Correlation,
    Grades,
    Mode,
    aggregate_correlation,
    drop,
    grades,
    question_correlation,
)
from memsif_ray.diagnostics.lshu import (
    EvidenceScore,
    Rate,
    categories,
    pair_rate,
    question_rate,
    score_counts,
    subset,
)
from memsif_ray.statistics.intervals import wilson

_PAPER = published.SOURCE
_MEMORIES = ("memory", *("raw" if c is None else f"c = {c}" for c in CAPACITIES))


def lshu_grids(found: DumFindings, scorer: str, paper: str) -> list[Grid]:
    """What was scored, how often low salience meets high utility, and for which questions.

    Args:
        found: Scores of evidence.
        scorer: Name of the model.
        paper: Whose published numbers to show beside ours; "" for none.
    """
    scores = found.scores
    return [
        _scores_grid(scores, scorer),
        _rates_grid(scores, len(found.questions), paper),
        _subset_grid(scores, paper),
    ]


def loss_grids(found: DumFindings, paper: str) -> list[Grid]:
    """What compaction loses of facts and of answers, and how the two go together.

    Args:
        found: Recoveries and answers.
        paper: Whose published numbers to show beside ours; "" for none.
    """
    return [
        _recovery_grid(found, paper),
        _answer_grid(found.answers, paper),
        _correlation_grid(found, paper),
    ]


def _scores_grid(scores: Sequence[EvidenceScore], scorer: str) -> Grid:
    names = {"salience": "S(e), of utterances", "utility": "U(e, q), of pairs"}
    rows = []
    for one in score_counts(scores):
        missing = ", ".join(f"{n} {reason}" for reason, n in sorted(one.reasons.items()))
        whole = sum(one.levels) + sum(one.reasons.values())
        rows.append((names[one.kind], *(share(n, whole) for n in one.levels), missing or "0"))
    return Grid(
        "dum-scores",
        "Scores",
        ("score", "1", "2", "3", "missing"),
        rows,
        caption=f"By {scorer}. Salience is scored without the question, utility without the answer.",
    )


def _rates_grid(scores: Sequence[EvidenceScore], questions: int, paper: str) -> Grid:
    by_question = question_rate(scores)
    rates = {
        "pairs": pair_rate(scores),
        "questions": by_question,
        "all questions": Rate(by_question.hits, questions - by_question.missing, by_question.missing),
    }
    told = published.LSHUR.get(paper, {})
    header = ("of", "low / critical", "rate", "95 %", "undecided")
    return Grid(
        "lshur",
        "Low-Salience High-Utility Rate (Table 8)",
        (*header, _PAPER) if paper else header,
        [
            (
                name,
                f"{rate.hits:,} / {rate.of:,}",
                measured(rate.share),
                interval(wilson(rate.hits, rate.of)),
                f"{rate.missing:,}",
                *((told.get(name, NONE),) if paper else ()),
            )
            for name, rate in rates.items()
        ],
        caption="Low salience: S ≤ 2; critical: U = 3. A missing score leaves a pair or question undecided "
        "where its place depends on it. All questions: of all that were looked at, critical or not.",
    )


def _subset_grid(scores: Sequence[EvidenceScore], paper: str) -> Grid:
    counts = categories(subset(scores))
    total, told = sum(counts.values()), published.LSHU.get(paper, {})
    rows = [(one.value, share(n, total)) for one, n in counts.items()] + [("total", f"{total:,}")]
    header = ("category", "questions")
    return Grid(
        "lshu",
        "Questions with evidence of low salience and high utility (Table 5)",
        (*header, _PAPER) if paper else header,
        [(*row, told.get(row[0], NONE)) if paper else row for row in rows],
    )


def _recovery_grid(found: DumFindings, paper: str) -> Grid:
    columns = grades(found.recoveries)
    rows = [
        ("facts kept", *(_kept([one for one in found.answers if one.capacity == c]) for c in CAPACITIES)),
        *_labels(("fully recoverable", "partially", "not"), columns),
    ]
    for place, mode in enumerate(Mode):
        rows += [
            (f"DRR {mode.value}", *(measured(one.share(mode)) for one in columns)),
            (f"CDL {mode.value}", *(measured(one.loss(mode)) for one in columns)),
            *_told(f"CDL {mode.value}", published.CDL, paper, place),
        ]
    return Grid(
        "cdl",
        "Compaction Detail Loss (Table 9)",
        _MEMORIES,
        rows,
        caption="A fact is an utterance of the gold evidence; a memory keeps the c most salient of a "
        "question's. Where it keeps all of them it is the raw evidence, and judged as such: only questions "
        "with more than c facts can lose any.",
    )


def _answer_grid(answers: Sequence[CompactedAnswer], paper: str) -> Grid:
    columns = grades(answers)
    rows = _labels(("correct", "partially correct", "wrong"), columns)
    for place, mode in enumerate(Mode):
        rows += [
            (f"ACC {mode.value}", *(measured(one.share(mode)) for one in columns)),
            (f"QAD {mode.value}", *(_dropped(answers, one.capacity, mode) for one in columns)),
            *_told(f"QAD {mode.value}", published.QAD, paper, place),
        ]
    return Grid(
        "qad",
        "Query Answerability Drop (Table 10)",
        _MEMORIES,
        rows,
        caption="QAD is over the questions whose answers from both memories have a grade; (n) where that "
        "is not all of them.",
    )


def _correlation_grid(found: DumFindings, paper: str) -> Grid:
    correlations: dict[tuple[str, Mode], Correlation] = {
        **{("memories", mode): aggregate_correlation(found.recoveries, found.answers, mode) for mode in Mode},
        **{("questions", mode): question_correlation(found.points, mode) for mode in Mode},
    }
    told = published.CORRELATION.get(paper, {})
    header = ("over", "part counts", "r", "points", "missing")
    return Grid(
        "cdl-qad",
        "Pearson's r of CDL and QAD (Figure 8)",
        (*header, _PAPER) if paper else header,
        [
            (
                over,
                mode.value,
                measured(one.r, ".2f"),
                f"{one.points:,}",
                f"{one.missing:,}",
                *((number(told.get((over, mode.value)), ".2f"),) if paper else ()),
            )
            for (over, mode), one in correlations.items()
        ],
        caption="Over memories: one point for each c. Over questions: one for each question and c.",
    )


def _labels(names: Sequence[str], columns: Sequence[Grades]) -> list[tuple[str, ...]]:
    counts = [(one.whole, one.part, one.nothing, one.missing) for one in columns]
    by_label = zip((*names, "missing"), zip(*counts, strict=True), strict=True)
    return [(name, *map(str, numbers)) for name, numbers in by_label]


def _kept(answers: Sequence[CompactedAnswer]) -> str:
    kept = sum(len(one.kept) for one in answers)
    return f"{kept} / {kept + sum(one.dropped for one in answers)}"


def _dropped(answers: Sequence[CompactedAnswer], capacity: int | None, mode: Mode) -> str:
    if capacity is None:
        return NONE
    found = drop(answers, capacity, mode)
    return measured(found.value) + (f" ({found.questions})" if found.missing else "")


def _told(
    name: str, numbers: Mapping[str, Mapping[int | None, tuple[float, float]]], paper: str, place: int
) -> list[tuple[str, ...]]:
    """The paper's row of one mode, if there is one."""
    told = numbers.get(paper)
    if told is None:
        return []
    return [(f"{name}, {_PAPER}", *(percent(told[c][place] if c in told else None) for c in CAPACITIES))]
