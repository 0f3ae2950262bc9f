"""Is the judge right by people's measure? Agreement of two annotators, and of the judge with both.

MemSIF, Appendix D.1 and Table 14. Where the two differ, their adjudicated label counts; without one the
answer is left out of the comparison with the judge, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from analysis.agreement import Compared, Measured, measure
from analysis.sheet import Drawn
from memsif_ray.evaluation.agreement import mean_of_known

Labels = Mapping[str, bool | None]
"""By answer id; None or no entry where there is no label."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What people's labels say about a judge.

    Attributes:
        humans: One annotator against the other, by dataset.
        judge: The judge against the adjudicated label, by dataset.
        by_method: The same by system.
        overall: Means over the datasets with equal weight, as in the paper: `human_agreement`,
            `human_kappa`, `judge_agreement`, `judge_kappa`; None where no dataset has a value.
        judge_only: Answers that the judge accepts and people reject.
        humans_only: Answers that people accept and the judge rejects.
        undecided: Ids on which the annotators differ and nobody adjudicated.
        unlabelled: Ids that an annotator left blank.
        unjudged: Ids without a readable verdict of the judge.
    """

    humans: tuple[Measured, ...]
    judge: tuple[Measured, ...]
    by_method: tuple[Measured, ...]
    overall: Mapping[str, float | None]
    judge_only: int
    humans_only: int
    undecided: tuple[str, ...]
    unlabelled: tuple[str, ...]
    unjudged: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def validate(
    drawn: Sequence[Drawn], first: Labels, second: Labels, *, judge: Labels, adjudicated: Labels
) -> Validation:
    """Compare two annotators with each other, and a judge with what they agree on.

    Args:
        drawn: The sampled answers.
        first: One annotator's labels.
        second: The other's.
        judge: The judge's.
        adjudicated: Labels on which the annotators settled where they had differed.
    """
    settled = {one.answer_id: _settled(one.answer_id, first, second, adjudicated) for one in drawn}

    def compared(ours: Labels, theirs: Labels, kind: Callable[[Drawn], str]) -> tuple[Measured, ...]:
        pairs = [
            Compared(kind(one), one.question_id, ours.get(one.answer_id), theirs.get(one.answer_id))
            for one in drawn
        ]
        return tuple(row for row in measure(pairs) if row.kind != "all")

    humans = compared(first, second, lambda one: one.dataset)
    judged = compared(judge, settled, lambda one: one.dataset)
    ids = [one.answer_id for one in drawn]
    both = [(judge[name], settled[name]) for name in ids if judge.get(name) is not None]
    blank = [name for name in ids if first.get(name) is None or second.get(name) is None]
    return Validation(
        humans,
        judged,
        compared(judge, settled, lambda one: one.system),
        {
            "human_agreement": mean_of_known(row.agreement for row in humans),
            "human_kappa": mean_of_known(row.kappa.point for row in humans),
            "judge_agreement": mean_of_known(row.agreement for row in judged),
            "judge_kappa": mean_of_known(row.kappa.point for row in judged),
        },
        judge_only=both.count((True, False)),
        humans_only=both.count((False, True)),
        undecided=tuple(name for name in ids if settled[name] is None and name not in blank),
        unlabelled=tuple(blank),
        unjudged=tuple(name for name in ids if judge.get(name) is None),
    )


def _settled(name: str, first: Labels, second: Labels, adjudicated: Labels) -> bool | None:
    one, other = first.get(name), second.get(name)
    return one if one == other else adjudicated.get(name)
