"""Whether a judge sees the shifts and threads that the measures find (MemSIF, Appendix A.4, Tables 6, 7).

The judge sees two texts and nothing else: neither bucket nor value, and which text comes first is drawn for
each vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memsif_ray.diagnostics.measured import Measured
from memsif_ray.diagnostics.pairs import ADJACENT, BUCKETS, NEIGHBOUR, SampledPair
from memsif_ray.diagnostics.sampling import SEED, seeded_sample
from memsif_ray.diagnostics.voting import decide, unreadable
from memsif_ray.ports import ChatModel
from memsif_ray.types import CallScope

PROMPTS: Mapping[str, str] = {ADJACENT: "diagnostics/shift", NEIGHBOUR: "diagnostics/thread"}
"""What a judge is asked, by kind of pair."""
FOUND: Mapping[str, str] = {ADJACENT: "SHIFT", NEIGHBOUR: "SAME"}
"""The label whose rate is reported."""


@dataclass(frozen=True, slots=True)
class PairJudgement:
    """What a judge says of a pair: a row of [`PAIR_JUDGEMENTS`][memsif_ray.schemas.PAIR_JUDGEMENTS].

    Attributes:
        label: `SHIFT` or `SAME` of adjacent pairs, `SAME` or `DIFFERENT` of neighbours; None when missing.
        reason: Then, why.
        votes: As in [`Ballot`][memsif_ray.diagnostics.voting.Ballot].
    """

    pair_id: str
    kind: str
    bucket: str
    conversation_id: str
    label: str | None
    reason: str
    votes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BucketRate:
    """One bucket: a row of Tables 6 and 7.

    Attributes:
        found: Pairs with the label of `FOUND`.
        judged: Pairs with a label.
        missing: Pairs without.
        unreadable: Votes that could not be read, of all pairs.
    """

    kind: str
    bucket: str
    found: int
    judged: int
    missing: int
    unreadable: int

    @property
    def share(self) -> Measured:
        """`found / judged`; without a judged pair, `nothing_judged`."""
        return Measured(self.found / self.judged) if self.judged else Measured(None, "nothing_judged")


def shown(pair: SampledPair, vote: int) -> tuple[str, ...]:
    """The two texts, in an order drawn for this pair and vote."""
    sides = {f"{pair.pair_id}/left": pair.left_text, f"{pair.pair_id}/right": pair.right_text}
    return tuple(sides[name] for name in seeded_sample(sides, 2, seed=SEED + vote))


async def judge_pair(pair: SampledPair, *, judge: ChatModel, scope: CallScope) -> PairJudgement:
    """Judge one pair by three votes.

    Raises:
        ServiceError: When the judge's endpoint failed.
    """
    ballot = await decide(
        judge,
        PROMPTS[pair.kind],
        lambda vote: {"excerpts": shown(pair, vote)},
        stage="validation",
        scope=scope,
    )
    return PairJudgement(
        pair.pair_id,
        pair.kind,
        pair.bucket,
        pair.conversation_id,
        ballot.label,
        ballot.reason,
        ballot.votes,
    )


def rates(judgements: Sequence[PairJudgement]) -> list[BucketRate]:
    """The rate of every bucket, also of one without a pair."""
    return [
        _rate(kind, bucket, [one for one in judgements if (one.kind, one.bucket) == (kind, bucket)])
        for kind, buckets in BUCKETS.items()
        for bucket in buckets
    ]


def _rate(kind: str, bucket: str, rows: Sequence[PairJudgement]) -> BucketRate:
    labels = [row.label for row in rows if row.label is not None]
    return BucketRate(
        kind,
        bucket,
        found=labels.count(FOUND[kind]),
        judged=len(labels),
        missing=len(rows) - len(labels),
        unreadable=sum(unreadable(row.votes) for row in rows),
    )
