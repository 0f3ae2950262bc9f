"""Blind judging of pairs."""

import pytest

from memsif_ray.clients.scripted import ScriptedChat
from memsif_ray.diagnostics.pairs import ADJACENT, NEIGHBOUR, SampledPair
from memsif_ray.diagnostics.validation import BucketRate, PairJudgement, judge_pair, rates, shown
from memsif_ray.types import CallScope


def pair(kind=ADJACENT, number=0):
    return SampledPair(
        pair_id=f"{kind}:canary:{number}",
        kind=kind,
        bucket="canary-bucket",
        conversation_id="canary-conversation",
        left=3,
        right=4,
        left_message_ids=("D1:7",),
        right_message_ids=("D1:9",),
        left_text="about a kite",
        right_text="about a boat",
        value=0.123456,
    )


@pytest.mark.parametrize(("kind", "said"), [(ADJACENT, "SHIFT"), (NEIGHBOUR, "SAME")])
async def test_the_judge_sees_two_texts_and_nothing_else(kind, said):
    judge = ScriptedChat(lambda request: f'{{"label": "{said}"}}')
    judged = await judge_pair(pair(kind), judge=judge, scope=CallScope())
    assert (judged.label, judged.votes) == (said, (said,) * 3)
    for request in judge.requests:
        text = f"{request.system}\n{request.user}"
        assert "about a kite" in text and "about a boat" in text
        assert not any(hidden in text for hidden in ("canary", "D1:", "0.12", "volatil", "distance", "near"))


def test_which_text_comes_first_is_drawn_for_pair_and_vote():
    first = {(n, vote): shown(pair(number=n), vote)[0] for n in range(40) for vote in range(3)}
    for vote in range(3):
        kites = sum(first[n, vote] == "about a kite" for n in range(40))
        assert 8 < kites < 32
    assert any(len({first[n, vote] for vote in range(3)}) == 2 for n in range(40))
    assert shown(pair(), 1) == shown(pair(), 1)


def judged(kind, bucket, *labels):
    votes = {None: ("SAME", "unreadable: not_json", "SHIFT")}
    return [PairJudgement("p", kind, bucket, "c", one, "", votes.get(one, (one,) * 3)) for one in labels]


def test_rates_are_over_pairs_with_a_label():
    found = {
        (one.kind, one.bucket): one
        for one in rates(
            [*judged(ADJACENT, "high", "SHIFT", "SAME", "SAME", None), *judged(NEIGHBOUR, "far", "SAME")]
        )
    }
    assert len(found) == 6
    assert found[ADJACENT, "high"] == BucketRate(ADJACENT, "high", 1, 3, missing=1, unreadable=1)
    assert found[ADJACENT, "high"].share.value == pytest.approx(1 / 3)
    assert found[NEIGHBOUR, "far"].share.value == 1.0
    assert found[NEIGHBOUR, "near"].share.reason == "nothing_judged"
