"""Blind judging by the majority of three votes (MemSIF, Appendix A.6).

The paper votes at temperature 0, where an engine that is deterministic says three times the same. So each
vote sees what is judged in another order, is sampled a little, and has a seed of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.ports import ChatModel
from memsif_ray.prompts.asking import ATTEMPTS, ask
from memsif_ray.types import CallScope

VOTES = 3
LABEL_TOKENS = 24
"""Tokens of a reply that is one label."""
_TEMPERATURE = 0.3
_UNREADABLE = "unreadable: "

Presented = Callable[[int], Mapping[str, Any]]
"""What the prompt shows to the vote of this number, from 0."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """What came of a vote.

    Attributes:
        label: What more than half of all votes say; None when there is no such label.
        reason: Then, why: `unreadable` when some vote was, else `no_majority`; or what kept it from a vote.
        votes: Each vote's label, or `unreadable: ` and why.
    """

    label: str | None
    reason: str = ""
    votes: tuple[str, ...] = ()

    @property
    def unreadable(self) -> int:
        """Votes that could not be read."""
        return unreadable(self.votes)


def unreadable(votes: Sequence[str]) -> int:
    """How many of these votes could not be read."""
    return sum(vote.startswith(_UNREADABLE) for vote in votes)


def counted(votes: Sequence[str]) -> Ballot:
    """The majority of all votes; one that could not be read counts among them, but for no label."""
    for label, number in Counter(votes).most_common(1):
        if 2 * number > len(votes) and not unreadable([label]):
            return Ballot(label, votes=tuple(votes))
    return Ballot(None, "unreadable" if unreadable(votes) else "no_majority", tuple(votes))


async def decide(
    judge: ChatModel, prompt: str, presented: Presented, *, stage: str, scope: CallScope
) -> Ballot:
    """Ask three times for the `label` that the prompt's schema offers.

    Raises:
        ServiceError: When the judge's endpoint failed.
    """
    votes = []
    for number in range(VOTES):
        try:
            reply = await ask(
                judge,
                prompt,
                stage=stage,
                scope=scope,
                max_tokens=LABEL_TOKENS,
                temperature=_TEMPERATURE,
                seed=number * ATTEMPTS,  # a retry adds one: no two calls share a seed
                **presented(number),
            )
        except ReplyInvalid as exc:
            votes.append(f"{_UNREADABLE}{exc.reason}")
        else:
            votes.append(str(reply["label"]))
    return counted(votes)
