"""The diagnosis of delayed utility as tables (MemSIF, Tables 5 and 8 to 10), with the paper's beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.diagnosis_cells import NONE, interval, measured, number, percent, share
from analysis.intervals import wilson
from analysis.page import Grid
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.compaction import CAPACITIES, CompactedAnswer, Recovery
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

_PAPER = published.SOURCE


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
        _recovery_grid(found.recoveries, found.answers, paper),
        _answer_grid(found.answers, paper),
        _correlation_grid(found, paper),
    ]


def memory_name(capacity: int | None) -> str:
    """`raw evidence`, or the number of utterances kept."""
    return "raw evidence" if capacity is None else f"c = {capacity}"


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
    header = ("of", "low salience / critical", "rate", "95 %", "undecided")
    return Grid(
        "lshur",
        "Low-Salience High-Utility Rate (Table 8)",
        (*header, _PAPER, "its rate") if paper else header,
        [
            (
                name,
                f"{rate.hits:,} / {rate.of:,}",
                measured(rate.share),
                interval(wilson(rate.hits, rate.of)),
                f"{rate.missing:,}",
                *(told.get(name, (NONE, NONE)) if paper else ()),
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


def _recovery_grid(recoveries: Sequence[Recovery], answers: Sequence[CompactedAnswer], paper: str) -> Grid:
    kept = {c: _kept([one for one in answers if one.capacity == c]) for c in CAPACITIES}
    header = ("memory", "facts kept", "full", "partial", "none", "missing")
    shares = ("DRR strict", "CDL strict", "DRR lenient", "CDL lenient")
    return Grid(
        "cdl",
        "Compaction Detail Loss (Table 9)",
        (*header, *shares, *_told_header("CDL", paper)),
        [
            (
                memory_name(one.capacity),
                kept[one.capacity],
                *_labels(one),
                *(measured(value) for mode in Mode for value in (one.share(mode), one.loss(mode))),
                *_told(published.CDL, paper, one.capacity),
            )
            for one in grades(recoveries)
        ],
        caption="A fact is an utterance of the gold evidence; a memory keeps the c most salient of a "
        "question's. Where it keeps all of them it is the raw evidence, and judged as such: only questions "
        "with more than c facts can lose any.",
    )


def _answer_grid(answers: Sequence[CompactedAnswer], paper: str) -> Grid:
    rows = []
    for one in grades(answers):
        drops = [_dropped(answers, one.capacity, mode) for mode in Mode]
        rows.append(
            (
                memory_name(one.capacity),
                *_labels(one),
                *(measured(one.share(mode)) for mode in Mode),
                *drops,
                *_told(published.QAD, paper, one.capacity),
            )
        )
    header = ("memory", "correct", "partial", "wrong", "missing")
    shares = ("ACC strict", "ACC lenient", "QAD strict", "QAD lenient")
    return Grid(
        "qad",
        "Query Answerability Drop (Table 10)",
        (*header, *shares, *_told_header("QAD", paper)),
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


def _labels(one: Grades) -> tuple[str, str, str, str]:
    return str(one.whole), str(one.part), str(one.nothing), str(one.missing)


def _kept(answers: Sequence[CompactedAnswer]) -> str:
    kept = sum(len(one.kept) for one in answers)
    return f"{kept} / {kept + sum(one.dropped for one in answers)}"


def _dropped(answers: Sequence[CompactedAnswer], capacity: int | None, mode: Mode) -> str:
    if capacity is None:
        return NONE
    found = drop(answers, capacity, mode)
    return measured(found.value) + (f" ({found.questions})" if found.missing else "")


def _told_header(name: str, paper: str) -> tuple[str, ...]:
    return (f"{_PAPER}: {name} strict", f"{_PAPER}: lenient") if paper else ()


def _told(
    numbers: Mapping[str, Mapping[int | None, tuple[float, float]]], paper: str, capacity: int | None
) -> tuple[str, ...]:
    if not paper:
        return ()
    strict, lenient = numbers.get(paper, {}).get(capacity, (None, None))
    return percent(strict), percent(lenient)
