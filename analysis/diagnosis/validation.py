"""What a judge says of sampled pairs as tables (MemSIF, Tables 6 and 7), with the paper's beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.diagnosis.cells import interval, measured, percent
from analysis.page import Grid
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.pairs import ADJACENT, NEIGHBOUR
from memsif_ray.diagnostics.validation import BucketRate, PairJudgement, rates
from memsif_ray.diagnostics.voting import VOTES
from memsif_ray.statistics.intervals import wilson

_TITLES = {
    ADJACENT: ("shift-rates", "Semantic shifts by volatility (Table 6)", "volatility", "shifts / judged"),
    NEIGHBOUR: ("thread-rates", "Same threads by distance (Table 7)", "distance", "same thread / judged"),
}


def validation_grids(judgements: Sequence[PairJudgement], judge: str, paper: str) -> list[Grid]:
    """The rate of every bucket, for adjacent pairs and for neighbours.

    Args:
        judgements: Of all pairs.
        judge: Name of the model.
        paper: Whose published numbers to show beside ours; "" for none.
    """
    found = rates(judgements)
    return [_grid(kind, [one for one in found if one.kind == kind], judge, paper) for kind in _TITLES]


def _grid(kind: str, found: Sequence[BucketRate], judge: str, paper: str) -> Grid:
    name, title, divided, counted = _TITLES[kind]
    told = published.VALIDATION.get(paper, {})
    header = (divided, counted, "rate", "95 %", "no label", "unreadable votes")
    return Grid(
        name,
        title,
        (*header, published.SOURCE) if paper else header,
        [
            (
                one.bucket,
                f"{one.found} / {one.judged}",
                measured(one.share),
                interval(wilson(one.found, one.judged)),
                str(one.missing),
                str(one.unreadable),
                *((percent(told.get((kind, one.bucket))),) if paper else ()),
            )
            for one in found
        ],
        caption=f"By {judge}, blind, majority of {VOTES} votes; without a majority there is no label.",
    )
