import pytest

from memsif_ray.clients.scripted import ScriptedChat
from memsif_ray.diagnostics.voting import Ballot, counted, decide
from memsif_ray.errors import ServiceBusy
from memsif_ray.types import CallScope

SHOWN = {"question": "Who?", "reference": "Ann", "candidate": "Bo"}


def replies(*texts):
    """A judge that says these, one after the other."""
    left = iter(texts)
    return ScriptedChat(lambda request: next(left))


def label(name):
    return f'{{"label": "{name}"}}'


@pytest.mark.parametrize(
    ("votes", "outcome", "reason"),
    [
        (("FULL", "NONE", "FULL"), "FULL", ""),
        (("FULL", "PARTIAL", "NONE"), None, "no_majority"),
        (("FULL", "FULL", "unreadable: not_json"), "FULL", ""),
        (("FULL", "unreadable: not_json", "NONE"), None, "unreadable"),
        (("unreadable: not_json",) * 3, None, "unreadable"),
    ],
)
def test_more_than_half_of_all_votes_decide(votes, outcome, reason):
    assert counted(votes) == Ballot(outcome, reason, votes)


async def test_votes_differ_in_seed_and_in_what_they_see():
    judge = replies(label("CORRECT"), label("WRONG"), label("CORRECT"))
    ballot = await decide(
        judge,
        "diagnostics/correctness",
        lambda vote: {**SHOWN, "candidate": f"answer {vote}"},
        stage="correctness",
        scope=CallScope(),
    )
    assert (ballot.label, ballot.votes) == ("CORRECT", ("CORRECT", "WRONG", "CORRECT"))
    assert len({request.seed for request in judge.requests}) == 3
    assert [f"answer {n}" in judge.requests[n].user for n in range(3)] == [True] * 3


async def test_an_unreadable_vote_is_asked_again_and_then_counted():
    judge = replies(label("WRONG"), "hm", "well", "no idea", label("WRONG"))
    ballot = await decide(
        judge, "diagnostics/correctness", lambda _: SHOWN, stage="correctness", scope=CallScope()
    )
    assert ballot == Ballot("WRONG", "", ("WRONG", "unreadable: not_json", "WRONG"))
    assert ballot.unreadable == 1


async def test_a_service_that_fails_is_no_vote():
    judge = ScriptedChat(lambda request: ServiceBusy("gone"))
    with pytest.raises(ServiceBusy):
        await decide(
            judge, "diagnostics/correctness", lambda _: SHOWN, stage="correctness", scope=CallScope()
        )
